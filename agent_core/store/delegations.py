"""What sub-agents in the background have been asked for and have come to, until the model has been told.

Source: SUB-11.

Such work is of one program: where that ended, by a kill too, what had not come to an end has been interrupted. A row
goes on being there when it was told of. Everything about the sub-agent beside its result is in its session
(store/children.py).
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Final

from agent_core import messages
from agent_core.records import dataclass
from agent_core.store.db import Database
from agent_core.store.owner import life_of

_TOLD: Final = "told"
_RUNNING: Final = "running"


@dataclass(frozen=True, slots=True)
class Asked:
    """One of the sub-agents of a call."""

    child: str
    """Its session."""
    task: str
    """One line, free of keys."""


@dataclass(frozen=True, slots=True)
class Left:
    """What came of one that the model was not told of."""

    call: str
    """Which call's: the id of the message that tells of them all."""
    child: str
    result: str | None
    """What is told; None: its program ended before it did."""


class Delegations:
    """Of all sessions. Safe to use from any thread; blocks on the disk. Methods raise StoreError."""

    def __init__(self, database: Database, owner: str) -> None:
        self._db = database
        self._owner = owner

    def begin(self, parent: str, call: str, asked: Sequence[Asked]) -> None:
        """All that one call asks for. `call`: the id that the message with its results will have."""
        now = time.time()
        # Who runs it stands where the result will: there is none before its end.
        owner = json.dumps({"owner": self._owner})
        rows = [
            (f"{call}.{number}", parent, one.child, _RUNNING, messages.clean_surrogates(one.task), owner, now)
            for number, one in enumerate(asked)
        ]

        def work(c: sqlite3.Connection) -> None:
            c.executemany(
                "INSERT INTO async_delegations (id, parent_session_id, child_session_id, status, task, result, "
                "created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

        self._db.write(work, "transcript")

    def end(self, child: str, state: str, result: str) -> None:
        """One has come to its end."""

        def work(c: sqlite3.Connection) -> None:
            c.execute(
                "UPDATE async_delegations SET status = ?, result = ?, finished_at = ? "
                "WHERE child_session_id = ? AND status = ?",
                (state, messages.clean_surrogates(result), time.time(), child, _RUNNING),
            )

        self._db.write(work, "transcript")

    def told(self, calls: Iterable[str]) -> None:
        """The messages with these ids are in the conversation."""
        patterns = [(f"{call}.%",) for call in calls]

        def work(c: sqlite3.Connection) -> None:
            c.executemany(f"UPDATE async_delegations SET status = '{_TOLD}' WHERE id LIKE ?", patterns)

        self._db.write(work, "transcript")

    def left(self, parent: str) -> tuple[Left, ...]:
        """Those of a session that no message has told of and nobody works at any more, in the order of asking.

        Of a call of which one is still at work, in another program too, none is among them.
        """
        with self._db.read() as c:
            rows = c.execute(
                "SELECT id, child_session_id, status, result FROM async_delegations WHERE parent_session_id = ? "
                "AND status != ? AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id = parent_session_id "
                "AND m.uid = substr(async_delegations.id, 1, instr(async_delegations.id, '.') - 1)) "
                "ORDER BY created_at, length(id), id",
                (parent, _TOLD),
            ).fetchall()
        found: dict[str, list[Left]] = {}
        at_work: set[str] = set()
        for name, child, status, result in rows:
            call = str(name).partition(".")[0]
            runs = status == _RUNNING
            if runs and _lives(result):
                at_work.add(call)
            found.setdefault(call, []).append(Left(call, child or "", None if runs else result or ""))
        return tuple(one for call, several in found.items() if call not in at_work for one in several)


def _lives(result: str | None) -> bool:
    """Whether the program of a row that has no result yet still runs, or may."""
    try:
        noted = json.loads(result or "{}")
    except ValueError:
        return False
    return isinstance(noted, dict) and life_of(str(noted.get("owner", ""))) != "gone"


def clear_delegations(c: sqlite3.Connection, parent: str) -> None:
    """The session is emptied: nothing of it is to be told any more."""
    c.execute("DELETE FROM async_delegations WHERE parent_session_id = ?", (parent,))
