"""Changes of conversations: made only by the program whose turn it is, and counted, so that others see them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import TypeVar

from agent_core.errors import StoreError
from agent_core.names import APP
from agent_core.store.db import Budget, Database
from agent_core.store.lease import Leases

T = TypeVar("T")


class Changes:
    """What one program does to conversations, and which revision of each it has in memory. Safe from any thread."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._db = database
        self._leases = leases
        self._lock = threading.Lock()
        self._known: dict[str, int] = {}
        self._ahead: dict[str, set[int]] = {}
        """Our own changes behind one that is not known (yet): threads may report theirs out of order."""

    def make(self, session_id: str, work: Callable[[sqlite3.Connection], T], budget: Budget = "normal") -> T:
        """Run `work`, which changes a conversation, in one transaction, and count its revision.

        Raises StoreError: "no_session", those of `Leases.fence`, and what `Database.write` raises.
        """

        def whole(c: sqlite3.Connection) -> tuple[T, int]:
            check(c, session_id)
            self._leases.fence(c, session_id)
            return work(c), count(c, session_id)

        result, number = self._db.write(whole, budget)
        with self._lock:
            self._ahead.setdefault(session_id, set()).add(number)
            self._advance(session_id)
        return result

    def loaded(self, session_id: str, number: int) -> None:
        """The conversation was read as it was at this revision."""
        with self._lock:
            self._known[session_id] = number
            self._advance(session_id)

    def is_known(self, session_id: str, number: int) -> bool:
        """Whether what this program has in memory is the conversation at this revision."""
        with self._lock:
            return self._known.get(session_id) == number

    def _advance(self, session_id: str) -> None:
        known, ahead = self._known.get(session_id), self._ahead.get(session_id, set())
        if known is None:
            return
        while known + 1 in ahead:
            known += 1
        self._known[session_id] = known
        self._ahead[session_id] = {number for number in ahead if number > known}


def revision(c: sqlite3.Connection, session_id: str) -> int:
    """How often the conversation was changed. Raises StoreError "no_session"."""
    found = c.execute("SELECT revision FROM sessions WHERE id = ? AND deleted_at IS NULL", (session_id,)).fetchone()
    if found is None:
        raise no_session(session_id)
    return int(found[0])


def count(c: sqlite3.Connection, session_id: str) -> int:
    """Count one more change; returns the new revision."""
    c.execute("UPDATE sessions SET revision = revision + 1 WHERE id = ?", (session_id,))
    (number,) = c.execute("SELECT revision FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return int(number)


def check(c: sqlite3.Connection, session_id: str) -> None:
    """Raises StoreError "no_session" when there is none, or it is deleted."""
    revision(c, session_id)


def no_session(text: str) -> StoreError:
    """The error of a session that is not there."""
    return StoreError(
        "no_session",
        f"There is no session {text.strip()!r}. `{APP} sessions list`, or /resume, shows which there are.",
        session=text,
    )
