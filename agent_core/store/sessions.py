"""The sessions of a home: to make, to list, to find, to change, to copy, to throw away.

Source: SESS-12.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from agent_core import limits, messages
from agent_core.errors import StoreError
from agent_core.messages import Message
from agent_core.store.audit import Audit
from agent_core.store.bodies import body_of, load, snapshot
from agent_core.store.changes import no_session
from agent_core.store.children import CHILD, Children
from agent_core.store.conversations import Conversations
from agent_core.store.copies import copy, take_in
from agent_core.store.db import Database
from agent_core.store.delegations import Delegations
from agent_core.store.fork import forked
from agent_core.store.lease import Leases
from agent_core.store.notes import Notes
from agent_core.store.owner import new_owner
from agent_core.store.rows import (
    ITS_CHILDREN,
    OWN,
    SETTINGS,
    TOOLS_OFF,
    SessionRow,
    SessionSize,
    clean,
    row_of,
    rows_where,
    touched,
    used_now,
)
from agent_core.store.trash import purge
from agent_core.store.usage import Costs
from agent_core.store.views import Views

# `list` is a method below, so the annotations of the class need other names for the type.
Rows: TypeAlias = list[SessionRow]
Names: TypeAlias = list[str]
Sizes: TypeAlias = list[SessionSize]


class Store(Conversations):
    """All sessions of a home, with their conversations.

    Safe to use from any thread; every change is on disk before its method returns.

    Methods that are given the id of a session that does not exist raise StoreError "no_session".
    """

    def __init__(self, database: Database) -> None:
        owner = new_owner()
        super().__init__(database, owner, Leases(database, owner), Audit(database))
        self.notes = Notes(database, owner)
        self.views = Views(database, owner, self._changes)
        self.costs = Costs(database)
        self.children = Children(database, self.leases, self._changes)
        self.delegations = Delegations(database, owner)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Raises StoreError when the file is of a newer version, another program's, locked, or out of reach."""
        return cls(Database.open(path))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What opening had to do that the user should know, such as setting a damaged file aside."""
        return self._db.warnings

    @property
    def database(self) -> Database:
        """For rooms that are built over a store."""
        return self._db

    def close(self) -> None:
        self._db.close()

    def create(
        self,
        workspace: str,
        *,
        model: str = "",
        provider: str = "",
        mode: str = "ask",
        title: str = "",
        session_id: str | None = None,
    ) -> SessionRow:
        session_id, now = session_id or messages.new_id(), time.time()
        values = (session_id, clean(title), clean(workspace), clean(model), clean(provider), mode, now, now)

        def work(c: sqlite3.Connection) -> SessionRow:
            c.execute(
                "INSERT INTO sessions (id, title, workspace, model, provider, mode, created, updated) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            c.execute("UPDATE sessions SET updated = ? WHERE id = ?", (used_now(c, session_id), session_id))
            return row_of(c, session_id)

        row = self._db.write(work, "transcript")
        self._changes.loaded(session_id, 0)
        return row

    def get(self, session_id: str) -> SessionRow:
        with self._db.read() as c:
            return row_of(c, session_id)

    def list(self, limit: int = limits.SESSIONS_LISTED, workspace: str | None = None) -> Rows:
        """Sessions, the one used last first; of one workspace if given. Those of sub-agents are none of them."""
        with self._db.read() as c:
            return rows_where(
                c,
                f"{OWN} AND (?1 IS NULL OR s.workspace = ?1) ORDER BY s.updated DESC, s.rowid DESC LIMIT ?2",
                (None if workspace is None else clean(workspace), limit),
            )

    def latest(self, workspace: str) -> SessionRow | None:
        """The session with messages that was used last in `workspace`."""
        with self._db.read() as c:
            found = rows_where(
                c,
                f"{OWN} AND s.workspace = ? AND s.message_count > 0 ORDER BY s.updated DESC, s.rowid DESC LIMIT 1",
                (clean(workspace),),
            )
        return found[0] if found else None

    def find(self, text: str, workspace: str | None = None) -> SessionRow:
        """The session meant by `text`: an id, the start of an id, a title, or a part of a title, tried in this order.

        Sessions of `workspace` are preferred when several fit; those of sub-agents go by their id alone. Raises
        StoreError "no_session" or "ambiguous_session"; the latter's text and `candidates` list them.
        """
        with self._db.read() as c:
            rows = rows_where(c, "ORDER BY s.updated DESC, s.rowid DESC", ())
            children = {id_ for (id_,) in c.execute("SELECT id FROM sessions WHERE source = ?", (CHILD,))}
        wanted = text.strip().casefold()
        tests: tuple[Callable[[SessionRow], bool], ...] = (
            lambda row: row.id == wanted,
            lambda row: row.id.startswith(wanted),
            lambda row: row.title.casefold() == wanted and row.id not in children,
            lambda row: wanted in row.title.casefold() and row.id not in children,
        )
        for fits in tests if wanted else ():
            found = [row for row in rows if fits(row)]
            if len(found) > 1 and workspace is not None:
                found = [row for row in found if row.workspace == workspace] or found
            if len(found) == 1:
                return found[0]
            if found:
                shown = "".join(f"\n  {row.id[:8]}  {row.title or 'untitled'}" for row in found[:10])
                raise StoreError(
                    "ambiguous_session",
                    f"{len(found)} sessions fit {text.strip()!r}. Name one by its id:{shown}",
                    candidates=tuple(row.id for row in found),
                )
        raise no_session(text)

    def rename(self, session_id: str, title: str) -> None:
        self._set(session_id, "title", clean(title))

    def set_mode(self, session_id: str, mode: str) -> None:
        self._set(session_id, "mode", mode)

    def set_model(self, session_id: str, model: str, provider: str, *, chosen: bool = False) -> None:
        """Note which model answers. `chosen`: a person has said so for this session."""

        def work(c: sqlite3.Connection) -> None:
            touched(
                session_id,
                c.execute(
                    "UPDATE sessions SET model = ?, provider = ?, model_chosen = ? WHERE id = ?",
                    (clean(model), clean(provider), int(chosen), session_id),
                ),
            )

        self._db.write(work, "transcript")

    def set_options(
        self,
        session_id: str,
        persona: str,
        temperature: float | None,
        reasoning_effort: str,
        tools_off: Sequence[str] | None = None,
    ) -> None:
        """Note a session's own settings (intents.SetOptions)."""
        off = None if tools_off is None else json.dumps([clean(name) for name in tools_off])
        values = (clean(persona), temperature, clean(reasoning_effort), off, off, session_id)

        def work(c: sqlite3.Connection) -> None:
            touched(
                session_id,
                c.execute(
                    "UPDATE sessions SET persona = ?, temperature = ?, reasoning_effort = ?, "
                    f"model_config = CASE WHEN ? IS NULL THEN json_remove({SETTINGS}, '$.{TOOLS_OFF}') "
                    f"ELSE json_set({SETTINGS}, '$.{TOOLS_OFF}', json(?)) END WHERE id = ?",
                    values,
                ),
            )

        self._db.write(work)

    def delete(self, session_id: str) -> None:
        """Hide a session: it is neither listed nor found nor opened until it is restored or purged.

        Raises StoreError "session_in_use" while another program runs a turn there.
        """

        def work(c: sqlite3.Connection) -> None:
            now = time.time()
            c.execute("UPDATE sessions SET deleted_at = ? WHERE id = ?", (now, session_id))
            c.execute(f"UPDATE sessions SET deleted_at = ? WHERE {ITS_CHILDREN}", (now, session_id))

        self._changes.make(session_id, work)

    def restore(self, session_id: str) -> SessionRow:
        """Bring a deleted session back. Raises StoreError "no_session" when it was purged meanwhile."""

        def work(c: sqlite3.Connection) -> SessionRow:
            c.execute("UPDATE sessions SET deleted_at = NULL WHERE id = ?", (session_id,))
            c.execute(f"UPDATE sessions SET deleted_at = NULL WHERE {ITS_CHILDREN}", (session_id,))
            return row_of(c, session_id)

        return self._db.write(work)

    def purge(self, deleted_before: float, left_before: float) -> Names:
        """Remove for good what was deleted long ago; see `trash.purge`."""
        return purge(self._db, deleted_before, left_before)

    def shrink(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Give the room of what was purged back to the disk; see `Database.shrink`."""
        self._db.shrink(stopped)

    def expire(self, unused_since: float, keep: Collection[str] = ()) -> int:
        """Delete the sessions last used before a time; returns how many.

        Not those of `keep`, with something unsent in them, or in which a turn runs.
        """

        def work(c: sqlite3.Connection) -> int:
            old = c.execute(
                f"SELECT id FROM sessions s WHERE updated < ? AND deleted_at IS NULL {OWN} "
                "AND NOT EXISTS (SELECT 1 FROM drafts WHERE session_id = s.id) "
                "AND NOT EXISTS (SELECT 1 FROM pending WHERE session_id = s.id) "
                "AND NOT EXISTS (SELECT 1 FROM hunk_comments WHERE session_id = s.id) "
                "AND NOT EXISTS (SELECT 1 FROM session_turn_leases WHERE conversation_id = s.id)",
                (unused_since,),
            ).fetchall()
            gone = [(time.time(), session_id) for (session_id,) in old if session_id not in keep]
            c.executemany("UPDATE sessions SET deleted_at = ? WHERE id = ?", gone)
            c.executemany(f"UPDATE sessions SET deleted_at = ? WHERE {ITS_CHILDREN}", gone)
            return len(gone)

        return self._db.write(work)

    def sizes(self) -> Sizes:
        """All sessions by what they take, the largest first, with deleted ones that can still be restored."""
        with self._db.read() as c:
            rows = c.execute(
                "SELECT s.id, s.title, s.workspace, s.updated, s.message_count, "
                "coalesce(sum(length(CAST(m.body AS BLOB))), 0) AS size, s.deleted_at IS NOT NULL "
                "FROM sessions s LEFT JOIN messages m ON m.session_id = s.id GROUP BY s.id ORDER BY size DESC, s.id"
            ).fetchall()
        return [replace(SessionSize(*row), deleted=bool(row[-1])) for row in rows]

    def fork(self, session_id: str, through: str = "") -> SessionRow:
        """A new session with a copy of the conversation and the plan; see `fork.forked` for what it takes along.

        Bodies are copied inside the database, so that others wait for a long conversation only shortly.
        """
        with self._db.read() as c, snapshot(c):
            loaded = load(c, session_id)
        taken = len(forked(loaded.messages, through))
        end = loaded.positions[taken - 1] if taken else 0
        return self._db.write(lambda c: copy(c, session_id, end))

    def adopt(self, source: str, row: SessionRow, conversation: Sequence[Message]) -> tuple[SessionRow, bool]:
        """Store a session from elsewhere; of `row` the title, workspace, model, provider and times count.

        Once for each `source`: while the session it came to is there, that one is given back, with False.
        """
        bodies = [body_of(message) for message in conversation]
        return self._db.write(lambda c: take_in(c, f"import:{source}", row, conversation, bodies))

    def _set(self, session_id: str, column: str, value: str) -> None:
        """Change one column of a session; `column` is a name from this file, never from outside."""
        self._db.write(
            lambda c: touched(
                session_id, c.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, session_id))
            )
        )
