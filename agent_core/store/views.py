"""What a session's requests were made of, beside its words: what the person dropped or pinned, the prompt as it was
sent, and the lock of a compaction (COMP-19, LOOP-16)."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection

from agent_core import limits
from agent_core.messages import View, clean_surrogates
from agent_core.records import dataclass
from agent_core.store.changes import Changes
from agent_core.store.db import Database
from agent_core.store.lease import machine_seconds
from agent_core.store.owner import life_of


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """The system prompt and the order of the tools as they were sent last."""

    text: str = ""
    tools: tuple[str, ...] = ()
    """Names of all the session's tools, in order."""
    identity: str = ""
    """What they were made from; empty: nothing was sent yet."""


class Views:
    """Of all sessions. Safe to use from any thread; blocks on the disk."""

    def __init__(self, database: Database, owner: str, changes: Changes) -> None:
        self._db = database
        self._changes = changes
        self._owner = owner

    def set(self, session_id: str, uids: Collection[str], view: View) -> None:
        """Note what requests make of messages. Raises StoreError."""

        def work(c: sqlite3.Connection) -> None:
            rows = [(view, session_id, uid) for uid in uids]
            c.executemany("UPDATE messages SET view = ? WHERE session_id = ? AND uid = ?", rows)

        self._changes.make(session_id, work)

    # -- the prompt -----------------------------------------------------------------------------------------------

    def prompt(self, session_id: str) -> SentPrompt:
        """What was sent last; empty for a session that is not stored. Raises StoreError."""
        with self._db.read() as c:
            row = c.execute(
                "SELECT system_prompt, tools, prompt_identity FROM sessions WHERE id = ?", (session_id,)
            ).fetchone()
        if row is None or not row[2]:
            return SentPrompt()
        return SentPrompt(row[0], tuple(json.loads(row[1])), row[2])

    def keep_prompt(self, session_id: str, prompt: SentPrompt) -> None:
        """Note what is sent from now on. Raises StoreError."""
        values = (clean_surrogates(prompt.text), json.dumps(prompt.tools), prompt.identity, session_id)
        self._db.write(
            lambda c: c.execute(
                "UPDATE sessions SET system_prompt = ?, tools = ?, prompt_identity = ? WHERE id = ?", values
            )
        )

    # -- the lock -------------------------------------------------------------------------------------------------

    def lock(self, session_id: str) -> bool:
        """Begin to compact a session; False while another program that still runs does. Raises StoreError."""

        def work(c: sqlite3.Connection) -> bool:
            now = machine_seconds()
            held = c.execute(
                "SELECT holder, expires_at FROM compression_locks WHERE session_id = ?", (session_id,)
            ).fetchone()
            if held is not None and held[0] != self._owner and now < held[1] and life_of(held[0]) != "gone":
                return False
            c.execute(
                "INSERT OR REPLACE INTO compression_locks (session_id, holder, acquired_at, expires_at) "
                "VALUES (?, ?, ?, ?)",
                (session_id, self._owner, time.time(), now + limits.COMPACTION_LOCK),
            )
            return True

        return self._db.write(work)

    def unlock(self, session_id: str) -> None:
        """The compaction has ended. Raises StoreError; the lock then ends with its time."""
        self._db.write(
            lambda c: c.execute(
                "DELETE FROM compression_locks WHERE session_id = ? AND holder = ?", (session_id, self._owner)
            )
        )
