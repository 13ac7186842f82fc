"""Which two sessions are to be compared: as typed, else a fork and what it was forked from. Reads the store."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from agent_core.errors import StoreError

if TYPE_CHECKING:
    from agent_core.desk.host import Host

Both = tuple[str, str]
"""Ids of the two."""


def names_in(argument: str) -> list[str]:
    """What the words name: one session, or two; more than two words are one title."""
    try:
        words = shlex.split(argument)
    except ValueError:  # a quotation mark alone
        words = argument.split()
    return words if len(words) <= 2 else [argument]


def which_two(host: Host, here: str, names: list[str]) -> Both | None:
    """The sessions with these titles or ids; of one, `here` and that one; of none, `here` and its fork or its origin.

    None: there is no second one. Raises StoreError for a name that is no session's.
    """
    if not names:
        return _relative(host, here)
    if len(names) == 2:
        try:
            return host.find(names[0]).id, host.find(names[1]).id
        except StoreError:
            names = [" ".join(names)]  # a title of two words
    other = host.find(names[0]).id
    return (here, other) if here else None


def _relative(host: Host, here: str) -> Both | None:
    """The session that `here` was forked from, or the newest fork of it."""
    rows = host.store.list()
    ids = {row.id for row in rows}
    parent = next((row.parent for row in rows if row.id == here), "")
    if parent in ids:
        return parent, here
    fork = next((row.id for row in rows if row.parent == here), "")
    return (here, fork) if fork else None
