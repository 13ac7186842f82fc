"""What a fork takes along, and what it is called. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from agent_core.errors import StoreError
from agent_core.messages import Message

_FORK: Final = re.compile(r" \(fork(?: \d+)?\)\Z")


def forked(conversation: Sequence[Message], through: str = "") -> list[Message]:
    """What a copy takes along: whole steps only, and with `through` only up to the end of that message's turn.

    It ends before the first call that has no result: its step is still under way. Raises StoreError
    "no_message" when no message has the uid `through`.
    """
    end = _end_of_turn(conversation, through) if through else len(conversation)
    taken = list(conversation[:end])
    answered = {message.result.call_id for message in taken if message.result is not None}
    for index, message in enumerate(taken):
        if any(call.id not in answered for call in message.tool_calls):
            del taken[index:]
            break
    return taken


def _end_of_turn(conversation: Sequence[Message], uid: str) -> int:
    at = next((index for index, message in enumerate(conversation) if message.id == uid), None)
    if at is None:
        raise StoreError("no_message", "That message is not in the session any more. Choose another one.", uid=uid)
    return next((i for i in range(at + 1, len(conversation)) if conversation[i].starts_turn), len(conversation))


def fork_title(title: str, taken: Collection[str]) -> str:
    """A title no session has: "name (fork)", then "name (fork 2)"; that of a session without one stays empty."""
    name = _FORK.sub("", title)
    if not name:
        return ""
    number, made = 1, f"{name} (fork)"
    while made in taken:
        number += 1
        made = f"{name} (fork {number})"
    return made
