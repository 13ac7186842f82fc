"""What is thrown away for good, long after it was deleted."""

from __future__ import annotations

import re
import sqlite3
from typing import Final

from agent_core.store.db import Database

_SPILL_NAME: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}\.txt")  # as spill.py names its files
_NOTES: Final = ("drafts", "pending")
_LEFT: Final = (
    "SELECT session_id FROM {0} WHERE updated < ? AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = {0}.session_id)"
)
_NOBODYS: Final = "created < ? AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = decisions.session_id)"


def purge(database: Database, deleted_before: float, left_before: float) -> list[str]:
    """Remove sessions deleted before a time, with the record of what was decided in them; and notes that no session
    took over, and decisions of no session, before another (since the epoch).

    Returns the names of the spill files that only the removed sessions spoke of. Raises StoreError.
    """
    with database.read() as c:
        old = [id_ for (id_,) in c.execute("SELECT id FROM sessions WHERE deleted_at < ?", (deleted_before,))]
        left = [c.execute(_LEFT.format(table), (left_before,)).fetchone() for table in _NOTES]
        left.append(c.execute(f"SELECT 1 FROM decisions WHERE {_NOBODYS} LIMIT 1", (left_before,)).fetchone())
        if not old and not any(left):
            return []
        # Of all sessions, in one pass: a fork speaks of the same files.
        names: dict[str, set[str]] = {}
        for session_id, body in c.execute("SELECT session_id, body FROM messages WHERE instr(body, '.txt')"):
            for name in _SPILL_NAME.findall(body):
                names.setdefault(name, set()).add(session_id)

    def work(c: sqlite3.Connection) -> set[str]:
        gone = {
            session_id
            for session_id in old
            if c.execute("DELETE FROM sessions WHERE id = ? AND deleted_at < ?", (session_id, deleted_before)).rowcount
        }
        for table in _NOTES:
            c.executemany(f"DELETE FROM {table} WHERE session_id = ?", [(session_id,) for session_id in gone])
            c.execute(f"DELETE FROM {table} WHERE session_id IN ({_LEFT.format(table)})", (left_before,))
        c.executemany("DELETE FROM decisions WHERE session_id = ?", [(session_id,) for session_id in gone])
        c.executemany("DELETE FROM async_delegations WHERE parent_session_id = ?", [(one,) for one in gone])
        c.execute(f"DELETE FROM decisions WHERE {_NOBODYS}", (left_before,))
        return gone

    gone = database.write(work)
    return sorted(name for name, owners in names.items() if owners <= gone)
