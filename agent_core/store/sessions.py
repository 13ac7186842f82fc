"""Sessions, their messages, and what a crash leaves behind.

Source: SESS-12, SESS-15, INT-04, INT-09.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from agent_core import limits, messages
from agent_core.errors import StoreError
from agent_core.messages import Message
from agent_core.names import SHELL
from agent_core.ports.means import Goal, TodoItem
from agent_core.records import dataclass
from agent_core.store.audit import Audit
from agent_core.store.changes import Changes, check, count, no_session, revision
from agent_core.store.children import CHILD, Children, clear_children
from agent_core.store.db import LOCKED, Budget, Database
from agent_core.store.fork import fork_title, forked
from agent_core.store.lease import Leases
from agent_core.store.mending import Effect, cut_off, has_all_results, mend
from agent_core.store.notes import Notes
from agent_core.store.owner import life_of, new_owner
from agent_core.store.trash import purge
from agent_core.store.undo import TURN_START, forget_undone, put_back, take_out_from, take_out_turns
from agent_core.store.usage import Costs
from agent_core.store.views import Views

log = logging.getLogger(__name__)

T = TypeVar("T")

Check = Callable[[], None]
"""Called inside the transaction, before anything is written: raises StoreError when the writer has been given up.

Whoever writes to the session after that finds either all of it or nothing, and nothing comes later.
"""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """What is known of a session without its messages. Times are seconds since the epoch."""

    id: str
    title: str
    workspace: str
    model: str
    provider: str
    mode: str
    created: float
    updated: float
    messages: int
    turns: int
    prompt_tokens: int
    completion_tokens: int
    seen: str = ""
    """The uid of the newest message the person has seen; empty: never noted."""
    unread: bool = False
    """A turn has ended behind that message."""
    persona: str = ""
    temperature: float | None = None
    reasoning_effort: str = ""
    parent: str = ""
    """The session this one was forked from."""
    model_chosen: bool = False
    """A person chose the model for this session."""
    model_config: str = ""
    """More of its own settings: a JSON object, or ""."""


@dataclass(frozen=True, slots=True)
class SessionSize:
    """What a session takes in the database, in bytes of its messages."""

    id: str
    title: str
    workspace: str
    updated: float
    messages: int
    size: int
    deleted: bool


# `list` is a method below, so the annotations of the class need other names for the type.
Rows: TypeAlias = list[SessionRow]
Messages: TypeAlias = list[Message]
Names: TypeAlias = list[str]
Effects: TypeAlias = list[Effect]
Sizes: TypeAlias = list[SessionSize]

_SELECT = """
    SELECT s.id, s.title, s.workspace, s.model, s.provider, s.mode, s.created, s.updated, s.message_count, s.turn_count,
        coalesce(s.input_tokens, 0), coalesce(s.output_tokens, 0),
        s.seen,
        EXISTS (
            SELECT 1 FROM messages m
            WHERE m.session_id = s.id AND m.role = 'assistant'
            AND m.position > (SELECT position FROM messages WHERE session_id = s.id AND uid = s.seen)
            AND CASE WHEN json_valid(m.body) THEN json_type(m.body, '$.tool_calls') IS NULL END
        ),
        s.persona, s.temperature, s.reasoning_effort, coalesce(s.parent_session_id, ''), s.model_chosen,
        coalesce(s.model_config, '')
    FROM sessions s
    WHERE s.deleted_at IS NULL
"""
TOOLS_OFF = "tools_off"  # in sessions.model_config: the names of the tools that are switched off
_OWN = f"AND s.source != '{CHILD}'"
_ITS_CHILDREN = f"parent_session_id = ? AND source = '{CHILD}'"
_IS_OBJECT = "CASE WHEN json_valid(model_config) THEN json_type(model_config) = 'object' END"
_SETTINGS = f"CASE WHEN {_IS_OBJECT} THEN model_config ELSE '{{}}' END"
_PRIVATE = "private"  # kind of the effect of a shell command that the model is not told of


class Store:
    """All sessions of a home. Safe to use from any thread; every change is on disk before its method returns.

    Methods that are given the id of a session that does not exist raise StoreError "no_session".
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._owner = owner = new_owner()
        self.leases = Leases(database, owner)
        self._changes = Changes(database, self.leases)
        self.notes = Notes(database, owner)
        self.views = Views(database, owner, self._changes)
        self.costs = Costs(database)
        self.children = Children(database, self.leases, self._changes)
        self.audit = Audit(database)

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

    # -- sessions -------------------------------------------------------------------------------------------------

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
        values = (session_id, _clean(title), _clean(workspace), _clean(model), _clean(provider), mode, now, now)

        def work(c: sqlite3.Connection) -> SessionRow:
            c.execute(
                "INSERT INTO sessions (id, title, workspace, model, provider, mode, created, updated) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            c.execute("UPDATE sessions SET updated = ? WHERE id = ?", (_used_now(c, session_id), session_id))
            return _row(c, session_id)

        row = self._db.write(work, "transcript")
        self._changes.loaded(session_id, 0)
        return row

    def get(self, session_id: str) -> SessionRow:
        with self._db.read() as c:
            return _row(c, session_id)

    def list(self, limit: int = limits.SESSIONS_LISTED, workspace: str | None = None) -> Rows:
        """Sessions, the one used last first; of one workspace if given. Those of sub-agents are none of them."""
        with self._db.read() as c:
            return _rows(
                c,
                f"{_OWN} AND (?1 IS NULL OR s.workspace = ?1) ORDER BY s.updated DESC, s.rowid DESC LIMIT ?2",
                (None if workspace is None else _clean(workspace), limit),
            )

    def latest(self, workspace: str) -> SessionRow | None:
        """The session with messages that was used last in `workspace`."""
        with self._db.read() as c:
            found = _rows(
                c,
                f"{_OWN} AND s.workspace = ? AND s.message_count > 0 ORDER BY s.updated DESC, s.rowid DESC LIMIT 1",
                (_clean(workspace),),
            )
        return found[0] if found else None

    def find(self, text: str, workspace: str | None = None) -> SessionRow:
        """The session meant by `text`: an id, the start of an id, a title, or a part of a title, tried in this order.

        Sessions of `workspace` are preferred when several fit; those of sub-agents go by their id alone. Raises
        StoreError "no_session" or "ambiguous_session"; the latter's text and `candidates` list them.
        """
        with self._db.read() as c:
            rows = _rows(c, "ORDER BY s.updated DESC, s.rowid DESC", ())
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
        self._set(session_id, "title", _clean(title))

    def set_mode(self, session_id: str, mode: str) -> None:
        self._set(session_id, "mode", mode)

    def set_model(self, session_id: str, model: str, provider: str, *, chosen: bool = False) -> None:
        """Note which model answers. `chosen`: a person has said so for this session."""

        def work(c: sqlite3.Connection) -> None:
            _touched(
                session_id,
                c.execute(
                    "UPDATE sessions SET model = ?, provider = ?, model_chosen = ? WHERE id = ?",
                    (_clean(model), _clean(provider), int(chosen), session_id),
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
        off = None if tools_off is None else json.dumps([_clean(name) for name in tools_off])
        values = (_clean(persona), temperature, _clean(reasoning_effort), off, off, session_id)

        def work(c: sqlite3.Connection) -> None:
            _touched(
                session_id,
                c.execute(
                    "UPDATE sessions SET persona = ?, temperature = ?, reasoning_effort = ?, "
                    f"model_config = CASE WHEN ? IS NULL THEN json_remove({_SETTINGS}, '$.{TOOLS_OFF}') "
                    f"ELSE json_set({_SETTINGS}, '$.{TOOLS_OFF}', json(?)) END WHERE id = ?",
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
            c.execute(f"UPDATE sessions SET deleted_at = ? WHERE {_ITS_CHILDREN}", (now, session_id))

        self._changes.make(session_id, work)

    def restore(self, session_id: str) -> SessionRow:
        """Bring a deleted session back. Raises StoreError "no_session" when it was purged meanwhile."""

        def work(c: sqlite3.Connection) -> SessionRow:
            c.execute("UPDATE sessions SET deleted_at = NULL WHERE id = ?", (session_id,))
            c.execute(f"UPDATE sessions SET deleted_at = NULL WHERE {_ITS_CHILDREN}", (session_id,))
            return _row(c, session_id)

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
                f"SELECT id FROM sessions s WHERE updated < ? AND deleted_at IS NULL {_OWN} "
                "AND NOT EXISTS (SELECT 1 FROM drafts WHERE session_id = s.id) "
                "AND NOT EXISTS (SELECT 1 FROM pending WHERE session_id = s.id) "
                "AND NOT EXISTS (SELECT 1 FROM hunk_comments WHERE session_id = s.id) "
                "AND NOT EXISTS (SELECT 1 FROM session_turn_leases WHERE conversation_id = s.id)",
                (unused_since,),
            ).fetchall()
            gone = [(time.time(), session_id) for (session_id,) in old if session_id not in keep]
            c.executemany("UPDATE sessions SET deleted_at = ? WHERE id = ?", gone)
            c.executemany(f"UPDATE sessions SET deleted_at = ? WHERE {_ITS_CHILDREN}", gone)
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
        with self._db.read() as c, _snapshot(c):
            loaded = _load(c, session_id)
        taken = len(forked(loaded.messages, through))
        end = loaded.positions[taken - 1] if taken else 0

        def work(c: sqlite3.Connection) -> SessionRow:
            source = _row(c, session_id)
            titles = {title for (title,) in c.execute("SELECT title FROM sessions WHERE deleted_at IS NULL")}
            new, now = messages.new_id(), time.time()
            c.execute(
                "INSERT INTO sessions (id, title, workspace, model, provider, mode, created, updated, todos, goal, "
                "persona, temperature, reasoning_effort, model_chosen, model_config, parent_session_id, source) "
                "SELECT ?, ?, workspace, model, provider, mode, ?, ?, todos, goal, "
                "persona, temperature, reasoning_effort, model_chosen, model_config, id, 'fork' "
                "FROM sessions WHERE id = ?",
                (new, fork_title(source.title, titles), now, now, session_id),
            )
            c.execute(
                "INSERT INTO messages (session_id, uid, position, role, origin, created, body, view) "
                "SELECT ?, uid, position, role, origin, created, body, view FROM messages "
                "WHERE session_id = ? AND position <= ?",
                (new, session_id, end),
            )
            c.execute(
                "UPDATE sessions SET seen = coalesce((SELECT uid FROM messages WHERE session_id = ?1 "
                "ORDER BY position DESC LIMIT 1), '') WHERE id = ?1",
                (new,),
            )
            _recount(c, new)
            return _row(c, new)

        return self._db.write(work)

    def adopt(self, source: str, row: SessionRow, conversation: Sequence[Message]) -> tuple[SessionRow, bool]:
        """Store a session from elsewhere; of `row` the title, workspace, model, provider and times count.

        Once for each `source`: while the session it came to is there, that one is given back, with False.
        """
        bodies = [_body(message) for message in conversation]
        key = f"import:{source}"

        def work(c: sqlite3.Connection) -> tuple[SessionRow, bool]:
            there = c.execute(
                "SELECT s.id FROM state_meta m JOIN sessions s ON s.id = m.value WHERE m.key = ? "
                "AND s.deleted_at IS NULL",
                (key,),
            ).fetchone()
            if there is not None:
                return _row(c, there[0]), False
            c.execute(
                "INSERT INTO sessions (id, title, workspace, model, provider, created, updated, source) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, 'import')",
                (row.id, *map(_clean, (row.title, row.workspace, row.model, row.provider)), row.created, row.updated),
            )
            for position, (message, body) in enumerate(zip(conversation, bodies, strict=True), 1):
                _insert(c, row.id, message, body, position)
            _recount(c, row.id)
            seen = conversation[-1].id if conversation else ""
            c.execute("UPDATE sessions SET updated = ?, seen = ? WHERE id = ?", (row.updated, seen, row.id))
            c.execute("INSERT OR REPLACE INTO state_meta VALUES (?, ?)", (key, row.id))
            return _row(c, row.id), True

        return self._db.write(work)

    # -- the conversation -----------------------------------------------------------------------------------------

    def append(self, session_id: str, message: Message, allowed: Check = lambda: None) -> None:
        """Store `message` at the end. A message that is stored already (same id) or empty is not stored again.

        A result also closes its call's open effect, and takes what was decided about the call along if that was not
        stored with its start. Nothing is stored when `allowed` raises.
        """
        if message.is_empty:
            return
        body = _body(message)
        call_id = message.result.call_id if message.result is not None else None

        def work(c: sqlite3.Connection) -> None:
            allowed()
            if call_id is not None:
                self.audit.put(c, session_id, call_id)
            if not _insert(c, session_id, message, body, _next_position(c, session_id)):
                return
            forget_undone(c, session_id)
            if call_id is not None:
                c.execute(
                    "DELETE FROM open_effects WHERE session_id = ? AND call_id = ?",
                    (session_id, messages.clean_surrogates(call_id)),
                )
            c.execute(
                "UPDATE sessions SET updated = ?, message_count = message_count + 1, turn_count = turn_count + ?, "
                "tool_call_count = tool_call_count + ? WHERE id = ?",
                (_used_now(c, session_id), int(message.starts_turn), int(message.role == "tool"), session_id),
            )

        self._changes.make(session_id, work, "transcript")
        if call_id is not None:
            self.audit.written(session_id, call_id)

    def effect_started(
        self, session_id: str, call_id: str, name: str, kind: str, allowed: Check = lambda: None
    ) -> None:
        """Note that a call begins now, and what was decided about it.

        Until its result is stored, a crash leaves its effect unknown.
        """
        self._begin(session_id, call_id, name, kind, "", allowed)

    def shell_started(self, session_id: str, call_id: str, command: str, private: bool) -> None:
        """Note that a command of the person's own begins now; after a crash `recover` tells of it."""
        self._begin(session_id, call_id, SHELL, _PRIVATE if private else "command", command)

    def _begin(
        self, session_id: str, call_id: str, name: str, kind: str, subject: str, allowed: Check = lambda: None
    ) -> None:
        def work(c: sqlite3.Connection) -> None:
            allowed()
            check(c, session_id)
            if name != SHELL:  # the person may run a command of their own beside another program's turn
                self.leases.fence(c, session_id)
            c.execute(
                "INSERT OR REPLACE INTO open_effects (session_id, call_id, name, kind, subject, owner, started) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (session_id, messages.clean_surrogates(call_id), _clean(name), kind, _clean(subject), self._owner,
                 time.time()),
            )  # fmt: skip
            self.audit.put(c, session_id, call_id)

        self._db.write(work, "transcript")
        self.audit.written(session_id, call_id)

    def put_aside(self, session_id: str, message: Message) -> bool:
        """Store the message of a finished shell command where it disturbs no step; `place` gives it its position.

        False, and nothing is stored, when `recover` has already told of the command as one that was cut off.
        """
        run = message.shell
        assert run is not None
        body, call_id = _body(message), run.result.call_id

        def work(c: sqlite3.Connection) -> bool:
            check(c, session_id)
            begun = c.execute("DELETE FROM open_effects WHERE session_id = ? AND call_id = ?", (session_id, call_id))
            return begun.rowcount == 1 and _insert(c, session_id, message, body, None)

        return self._db.write(work, "transcript")

    def place(self, session_id: str, uid: str, allowed: Check = lambda: None) -> None:
        """Make a message that was put aside the conversation's last. One that has its place keeps it."""

        def work(c: sqlite3.Connection) -> None:
            allowed()
            placed = c.execute(
                "UPDATE messages SET position = ? WHERE session_id = ? AND uid = ? AND position IS NULL",
                (_next_position(c, session_id), session_id, uid),
            )
            if placed.rowcount:
                forget_undone(c, session_id)
                _recount(c, session_id)

        self._changes.make(session_id, work, "transcript")

    def messages(self, session_id: str) -> Messages:
        """The conversation as stored. A row that cannot be read is left out and logged."""
        with self._db.read() as c:
            return _load(c, session_id).messages

    def end(self, session_id: str, most: int) -> tuple[Messages, int]:
        """The last messages of the conversation as stored, `most` or fewer, and how many come before them.

        They begin with a turn or a step, so that no result is without its call.
        """
        with self._db.read() as c, _snapshot(c):
            return _load_end(c, session_id, most)

    def before(self, session_id: str, uid: str) -> Messages:
        """What the conversation holds before the message `uid`, as stored."""
        with self._db.read() as c:
            rows = c.execute(
                f"{_BODIES} AND position < (SELECT position FROM messages WHERE session_id = ?1 AND uid = ?2) "
                "ORDER BY position",
                (session_id, uid),
            )
            return [m for uid, body, view, _ in rows if (m := _parsed(session_id, uid, body, view)) is not None]

    def read_along(self, session_id: str, most: int) -> tuple[Messages, int]:
        """The end of the conversation as another program's turn has it so far, and how many come before; see `end`.

        Nothing is mended, its calls are under way. The person's own commands that have no place in it yet come last.
        """
        with self._db.read() as c, _snapshot(c):
            number = revision(c, session_id)
            found, earlier = _load_end(c, session_id, most)
            aside = _load_aside(c, session_id)
        self._changes.loaded(session_id, number)
        return [*found, *aside], earlier

    def has_moved(self, session_id: str) -> bool:
        """Whether the conversation is another one than this program has loaded or made."""
        with self._db.read() as c:
            return not self._changes.is_known(session_id, revision(c, session_id))

    def recover(self, session_id: str, running: Collection[str] = (), budget: Budget = "activity") -> Messages:
        """The conversation made fit for the next request; what had to be mended is stored too. Source: INT-09.

        Only for a session without a running turn of this program: a call under way would be taken for one that a crash
        cut off. `running` are the call ids of the person's own commands that still run. Raises StoreError
        "session_in_use" when it is another program that runs a turn there. When others hold the database for longer
        than the budget "activity", what was mended is given all the same; until it is stored, `has_moved` is true.
        """
        with self._db.read() as c, _snapshot(c):
            loaded = _load(c, session_id)
            effects, aside = self._left_open(c, session_id, running), _load_aside(c, session_id)
        mended = _mended(loaded, effects, aside)
        if not effects and mended == loaded.messages:
            self._changes.loaded(session_id, loaded.revision)
            return loaded.messages

        def work(c: sqlite3.Connection) -> tuple[Messages, int]:
            self.leases.fence(c, session_id)
            now = loaded if loaded.revision == revision(c, session_id) else _load(c, session_id)
            effects = self._left_open(c, session_id, running)
            mended = _mended(now, effects, _load_aside(c, session_id))
            c.executemany(
                "DELETE FROM open_effects WHERE session_id = ? AND call_id = ?",
                [(session_id, effect.call_id) for effect in effects],
            )
            if mended == now.messages:
                return now.messages, now.revision
            _rearrange(c, session_id, now, mended)
            _recount(c, session_id)
            return mended, count(c, session_id)

        try:
            mended, number = self._db.write(work, budget)
        except StoreError as error:
            if budget != "activity" or error.code not in LOCKED:
                raise
            log.warning("session %s is not mended yet: %s", session_id, error)
        else:
            self._changes.loaded(session_id, number)
        return mended

    def is_whole(self, session_id: str, running: Collection[str] = ()) -> bool:
        """True when `recover` would find nothing to mend. Looks at the calls and results of the conversation alone."""
        with self._db.read() as c, _snapshot(c):
            number = revision(c, session_id)
            if self._left_open(c, session_id, running) or _load_aside(c, session_id):
                return False
            if not has_all_results(c.execute(_CALLS, (session_id,))):
                return False
        self._changes.loaded(session_id, number)
        return True

    def _left_open(self, c: sqlite3.Connection, session_id: str, running: Collection[str]) -> Effects:
        """Calls that have begun and have no result, without commands that a person runs now, here or elsewhere."""
        rows = c.execute(
            "SELECT call_id, name, kind, subject, started, owner FROM open_effects WHERE session_id = ? "
            "ORDER BY started",
            (session_id,),
        ).fetchall()
        return [
            Effect(*row)
            for *row, owner in rows
            if row[0] not in running and not (row[1] == SHELL and owner != self._owner and life_of(owner) == "lives")
        ]

    def undo(self, session_id: str, turns: int = 1) -> int:
        """Take the last `turns` user turns out of the conversation; returns how many there were to take.

        They stay in the file, for `redo`, until something new is said. Raises StoreError "bad_undo". Source: INT-04.
        """
        return self._rearranged(session_id, lambda c: take_out_turns(c, session_id, turns))

    def rewind(self, session_id: str, message_id: str) -> int:
        """Take a message and everything after it out, as `undo` does; returns how many turns began there.

        Raises StoreError "no_message" when the conversation does not hold it.
        """
        return self._rearranged(session_id, lambda c: take_out_from(c, session_id, message_id))

    def redo(self, session_id: str) -> int:
        """Put back what the last `undo` or `rewind` took out; returns how many turns, 0 when there is nothing."""
        return self._rearranged(session_id, lambda c: put_back(c, session_id))

    def _rearranged(self, session_id: str, move: Callable[[sqlite3.Connection], int]) -> int:
        def work(c: sqlite3.Connection) -> int:
            turns = move(c)
            _recount(c, session_id)
            return turns

        return self._changes.make(session_id, work)

    def reset(self, session_id: str) -> None:
        """Empty the conversation, with its plan, its sub-agents and the comments on its changes; the session, its title
        and its usage stay."""

        def work(c: sqlite3.Connection) -> None:
            c.execute("UPDATE sessions SET todos = '[]', goal = '{}' WHERE id = ?", (session_id,))
            c.execute("DELETE FROM messages WHERE session_id = ?", (session_id,))
            c.execute("DELETE FROM open_effects WHERE session_id = ?", (session_id,))
            c.execute("DELETE FROM hunk_comments WHERE session_id = ?", (session_id,))
            clear_children(c, session_id)
            _recount(c, session_id)

        self._changes.make(session_id, work)

    # -- beside the conversation ----------------------------------------------------------------------------------

    def set_todos(self, session_id: str, items: Sequence[TodoItem]) -> None:
        plain = [{"text": messages.clean_surrogates(item.text), "status": item.status} for item in items]
        text = json.dumps(plain, ensure_ascii=False)

        def work(c: sqlite3.Connection) -> None:
            c.execute("UPDATE sessions SET todos = ? WHERE id = ?", (text, session_id))

        self._changes.make(session_id, work, "transcript")

    def todos(self, session_id: str) -> tuple[TodoItem, ...]:
        with self._db.read() as c:
            check(c, session_id)
            (text,) = c.execute("SELECT todos FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return tuple(TodoItem(**item) for item in json.loads(text))

    def set_goal(self, session_id: str, goal: Goal) -> None:
        text = json.dumps({"text": goal.text, "state": goal.state, "evidence": goal.evidence}, ensure_ascii=False)

        def work(c: sqlite3.Connection) -> None:
            c.execute("UPDATE sessions SET goal = ? WHERE id = ?", (text, session_id))

        self._changes.make(session_id, work, "transcript")

    def goal(self, session_id: str) -> Goal:
        with self._db.read() as c:
            check(c, session_id)
            (text,) = c.execute("SELECT goal FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return Goal(**json.loads(text))

    def _set(self, session_id: str, column: str, value: str) -> None:
        """Change one column of a session; `column` is a name from this file, never from outside."""
        self._db.write(
            lambda c: _touched(
                session_id, c.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, session_id))
            )
        )


# -- rows ---------------------------------------------------------------------------------------------------------


def _rows(c: sqlite3.Connection, condition: str, values: tuple[Any, ...]) -> list[SessionRow]:
    """Rows of sessions that are not deleted; `condition` begins with AND or ORDER BY."""
    found = (SessionRow(*row) for row in c.execute(_SELECT + condition, values).fetchall())
    return [replace(row, unread=bool(row.unread), model_chosen=bool(row.model_chosen)) for row in found]


def _row(c: sqlite3.Connection, session_id: str) -> SessionRow:
    found = _rows(c, "AND s.id = ?", (session_id,))
    if not found:
        raise no_session(session_id)
    return found[0]


def _touched(session_id: str, cursor: sqlite3.Cursor) -> None:
    if cursor.rowcount == 0:
        raise no_session(session_id)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A conversation as stored: its messages, the place each of them has, and its revision."""

    messages: Messages
    positions: list[int]
    revision: int


def end_of(history: Sequence[Message], most: int) -> int:
    """Where the end of a history begins, of `most` messages or fewer: with a turn, in a very long one with a step."""
    if len(history) < most:
        return 0
    places = range(max(0, len(history) - most), len(history))
    turn = next((at for at in places if history[at].starts_turn), None)
    return turn if turn is not None else next((at for at in places if history[at].role == "assistant"), 0)


_BODIES = "SELECT uid, CAST(body AS BLOB), view, position FROM messages WHERE session_id = ?1 AND position IS NOT NULL"


_CALLS = """
    SELECT role, CASE WHEN NOT json_valid(body) THEN '' WHEN role = 'assistant' THEN json_extract(body, '$.tool_calls')
        WHEN role = 'tool' THEN json_extract(body, '$.result.call_id') END
    FROM messages WHERE session_id = ? AND position IS NOT NULL ORDER BY position
"""
"""Of each message its role, and an assistant's calls as JSON or a result's call id; "" for one that cannot be read."""


def _load(c: sqlite3.Connection, session_id: str) -> _Loaded:
    number = revision(c, session_id)
    rows = c.execute(f"{_BODIES} ORDER BY position", (session_id,))
    found, positions = [], []
    for uid, body, view, position in rows:
        message = _parsed(session_id, uid, body, view)
        if message is not None:
            found.append(message)
            positions.append(position)
    return _Loaded(found, positions, number)


def _load_end(c: sqlite3.Connection, session_id: str, most: int) -> tuple[Messages, int]:
    rows = c.execute(f"{_BODIES} ORDER BY position DESC LIMIT ?", (session_id, most)).fetchall()
    parsed = [(at, _parsed(session_id, uid, body, view)) for uid, body, view, at in reversed(rows)]
    found = [(at, message) for at, message in parsed if message is not None]
    found = found[end_of([message for _, message in found], most) :]
    first = found[0][0] if found else 0
    (earlier,) = c.execute(
        "SELECT count(*) FROM messages WHERE session_id = ? AND position < ?", (session_id, first)
    ).fetchone()
    return [message for _, message in found], earlier


def _load_aside(c: sqlite3.Connection, session_id: str) -> list[Message]:
    """Shell commands that were put aside and have no place yet."""
    rows = c.execute(
        "SELECT uid, CAST(body AS BLOB), view FROM messages "
        "WHERE session_id = ? AND position IS NULL AND undone IS NULL "
        "AND origin = 'shell' ORDER BY id",
        (session_id,),
    ).fetchall()
    return [message for row in rows if (message := _parsed(session_id, *row)) is not None]


def _parsed(session_id: str, uid: str, body: bytes, view: messages.View) -> Message | None:
    """A message from its row; None when its body cannot be read. Its id is the row's: copies share their bodies."""
    try:
        data = json.loads(body.decode("utf-8"))
        data["id"] = uid
        if view:
            data["view"] = view
        return messages.from_json(data)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        # One spoiled row must not take the whole conversation with it.
        log.warning("message %s of session %s cannot be read: %s", uid, session_id, e)
        return None


def _mended(loaded: _Loaded, effects: Sequence[Effect], aside: Sequence[Message]) -> list[Message]:
    """The conversation with one result a call, then the person's own commands that ended, or were cut off."""
    kinds = {effect.call_id: effect.kind for effect in effects if effect.name != SHELL}
    return [
        *mend(loaded.messages, kinds),
        *aside,
        *(cut_off(effect, effect.kind == _PRIVATE) for effect in effects if effect.name == SHELL),
    ]


@contextmanager
def _snapshot(c: sqlite3.Connection) -> Iterator[None]:
    """Everything that is read inside is of one moment."""
    c.execute("BEGIN")
    try:
        yield
    finally:
        c.execute("ROLLBACK")


def _insert(c: sqlite3.Connection, session_id: str, message: Message, body: str, position: int | None) -> bool:
    cursor = c.execute(
        "INSERT INTO messages (session_id, uid, position, role, origin, created, body, view) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id, uid) DO NOTHING",
        (session_id, message.id, position, message.role, message.origin, message.created, body, message.view),
    )
    return cursor.rowcount == 1


def _next_position(c: sqlite3.Connection, session_id: str) -> int:
    (last,) = c.execute("SELECT max(position) FROM messages WHERE session_id = ?", (session_id,)).fetchone()
    return 1 if last is None else int(last) + 1


def _rearrange(c: sqlite3.Connection, session_id: str, loaded: _Loaded, mended: Sequence[Message]) -> None:
    """Make `mended` the conversation, from the first difference on.

    What it lacks of what was loaded goes; rows that could not be read stay, set aside.
    """
    pairs = zip(loaded.messages, mended, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
    base = loaded.positions[same - 1] if same else 0
    c.execute("UPDATE messages SET position = NULL WHERE session_id = ? AND position > ?", (session_id, base))
    old = {message.id: message for message in loaded.messages[same:]}
    for position, message in enumerate(mended[same:], base + 1):
        was = old.pop(message.id, None)
        if was is None and _insert(c, session_id, message, _body(message), position):
            continue
        place = (position, session_id, message.id)
        c.execute("UPDATE messages SET position = ? WHERE session_id = ? AND uid = ?", place)
        if was is not None and was is not message:
            c.execute(
                "UPDATE messages SET body = ?, edits = edits + 1 WHERE session_id = ? AND uid = ?",
                (_body(message), session_id, message.id),
            )
    c.executemany("DELETE FROM messages WHERE session_id = ? AND uid = ?", [(session_id, uid) for uid in old])


def _recount(c: sqlite3.Connection, session_id: str) -> None:
    c.execute(
        "UPDATE sessions SET updated = ?2, (message_count, turn_count, tool_call_count) = "
        f"(SELECT count(*), coalesce(sum({TURN_START}), 0), coalesce(sum(role = 'tool'), 0) FROM messages "
        "WHERE session_id = ?1 AND position IS NOT NULL) WHERE id = ?1",
        (session_id, _used_now(c, session_id)),
    )


def _used_now(c: sqlite3.Connection, session_id: str) -> float:
    """The time now, but behind that of every other use in the session's folder.

    A clock that was set back by hours must not change which session was used last. What lies further ahead was
    stamped by a clock that was quite wrong, and is no measure.
    """
    now = time.time()
    (newest,) = c.execute(
        "SELECT max(updated) FROM sessions WHERE workspace = (SELECT workspace FROM sessions WHERE id = ?) "
        "AND updated < ?",
        (session_id, now + limits.CLOCK_AHEAD),
    ).fetchone()
    return now if newest is None or newest < now else float(newest) + 0.001


def _body(message: Message) -> str:
    """The message as JSON. Control characters, NUL too, are escaped by JSON and so come back as they were."""
    message = replace(message, view="") if message.view else message  # it has a column
    return messages.clean_surrogates(json.dumps(messages.to_json(message), ensure_ascii=False, separators=(",", ":")))


def _clean(text: str) -> str:
    """`text` fit for a column: lone surrogates cannot be encoded, and many tools end a value at a NUL."""
    return messages.clean_surrogates(text).replace("\0", "\ufffd")
