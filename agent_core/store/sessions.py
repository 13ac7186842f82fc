"""Sessions, their messages, and what a crash leaves behind.

Source: SESS-12, SESS-15, INT-04, INT-09.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from agent_core import limits, messages
from agent_core.errors import StoreError
from agent_core.messages import Message, ShellRun, ToolResult, Usage
from agent_core.names import SHELL
from agent_core.ports import TodoItem
from agent_core.store.db import Database
from agent_core.store.fork import fork_title, forked
from agent_core.store.notes import Notes
from agent_core.store.owner import new_owner
from agent_core.store.trash import purge
from agent_core.store.views import Views

log = logging.getLogger(__name__)

T = TypeVar("T")

Check = Callable[[], None]
"""Called inside the transaction, before anything is written: raises StoreError when the writer has been given up.

Whoever writes to the session after that finds either all of it or nothing, and nothing comes later.
"""

# Kinds of ports.Effect that leave nothing behind when they are cut short.
HARMLESS_KINDS = frozenset({"none", "read", "person"})

NOT_RUN = "[interrupted] This call was not run: the program ended before it began. Call it again if it is still needed."
CUT_SHORT = (
    "[interrupted] The program ended before this call was finished. It changes nothing; call it again if it is still "
    "needed."
)
UNKNOWN = (
    "[interrupted] The program ended while this call was under way. It may have taken effect in whole, in part or not "
    "at all. Check what is there before you repeat it."
)


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


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one model used in a session."""

    model: str
    requests: int
    usage: Usage


# `list` is a method below, so the annotations of the class need other names for the type.
Rows: TypeAlias = list[SessionRow]
Messages: TypeAlias = list[Message]
Names: TypeAlias = list[str]

_SELECT = """
    SELECT s.id, s.title, s.workspace, s.model, s.provider, s.mode, s.created, s.updated, s.message_count, s.turn_count,
        (SELECT coalesce(sum(prompt_tokens), 0) FROM session_model_usage u WHERE u.session_id = s.id),
        (SELECT coalesce(sum(completion_tokens), 0) FROM session_model_usage u WHERE u.session_id = s.id),
        s.seen,
        EXISTS (
            SELECT 1 FROM messages m
            WHERE m.session_id = s.id AND m.role = 'assistant'
            AND m.position > (SELECT position FROM messages WHERE session_id = s.id AND uid = s.seen)
            AND CASE WHEN json_valid(m.body) THEN json_type(m.body, '$.tool_calls') IS NULL END
        ),
        s.persona, s.temperature, s.reasoning_effort, coalesce(s.parent_session_id, '')
    FROM sessions s
    WHERE s.deleted_at IS NULL
"""
_TURN_START = "role = 'user' AND origin IN ('', 'queue')"  # the same test as Message.starts_turn
_PRIVATE = "private"  # kind of the effect of a shell command that the model is not told of


class Store:
    """All sessions of a home. Safe to use from any thread; every change is on disk before its method returns.

    Methods that are given the id of a session that does not exist raise StoreError "no_session".
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        owner = new_owner()
        self.notes = Notes(database, owner)
        self.views = Views(database, owner)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Raises StoreError when the file is of a newer version, another program's, locked, or out of reach."""
        return cls(Database.open(path))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What opening had to do that the user should know, such as setting a damaged file aside."""
        return self._db.warnings

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
            return _row(c, session_id)

        return self._db.write(work)

    def get(self, session_id: str) -> SessionRow:
        with self._db.read() as c:
            return _row(c, session_id)

    def list(self, limit: int = limits.SESSIONS_LISTED, workspace: str | None = None) -> Rows:
        """Sessions, the one used last first; of one workspace if given."""
        with self._db.read() as c:
            return _rows(
                c,
                "AND (?1 IS NULL OR s.workspace = ?1) ORDER BY s.updated DESC, s.rowid DESC LIMIT ?2",
                (None if workspace is None else _clean(workspace), limit),
            )

    def latest(self, workspace: str) -> SessionRow | None:
        """The session with messages that was used last in `workspace`."""
        with self._db.read() as c:
            found = _rows(
                c,
                "AND s.workspace = ? AND s.message_count > 0 ORDER BY s.updated DESC, s.rowid DESC LIMIT 1",
                (_clean(workspace),),
            )
        return found[0] if found else None

    def find(self, text: str, workspace: str | None = None) -> SessionRow:
        """The session meant by `text`: an id, the start of an id, a title, or a part of a title, tried in this order.

        Sessions of `workspace` are preferred when several fit. Raises StoreError "no_session" or "ambiguous_session";
        the latter's text and `candidates` list them.
        """
        with self._db.read() as c:
            rows = _rows(c, "ORDER BY s.updated DESC, s.rowid DESC", ())
        wanted = text.strip().casefold()
        tests: tuple[Callable[[SessionRow], bool], ...] = (
            lambda row: row.id == wanted,
            lambda row: row.id.startswith(wanted),
            lambda row: row.title.casefold() == wanted,
            lambda row: wanted in row.title.casefold(),
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
        raise _no_session(text)

    def rename(self, session_id: str, title: str) -> None:
        self._set(session_id, "title", _clean(title))

    def set_mode(self, session_id: str, mode: str) -> None:
        self._set(session_id, "mode", mode)

    def set_model(self, session_id: str, model: str, provider: str) -> None:
        def work(c: sqlite3.Connection) -> None:
            _touched(
                session_id,
                c.execute(
                    "UPDATE sessions SET model = ?, provider = ? WHERE id = ?",
                    (_clean(model), _clean(provider), session_id),
                ),
            )

        self._db.write(work)

    def delete(self, session_id: str) -> None:
        """Hide a session: it is neither listed nor found nor opened until it is restored or purged."""

        def work(c: sqlite3.Connection) -> None:
            _check(c, session_id)
            c.execute("UPDATE sessions SET deleted_at = ? WHERE id = ?", (time.time(), session_id))

        self._db.write(work)

    def restore(self, session_id: str) -> SessionRow:
        """Bring a deleted session back. Raises StoreError "no_session" when it was purged meanwhile."""

        def work(c: sqlite3.Connection) -> SessionRow:
            c.execute("UPDATE sessions SET deleted_at = NULL WHERE id = ?", (session_id,))
            return _row(c, session_id)

        return self._db.write(work)

    def purge(self, deleted_before: float, left_before: float) -> Names:
        """Remove for good what was deleted long ago; see `trash.purge`."""
        return purge(self._db, deleted_before, left_before)

    def fork(self, session_id: str, through: str = "") -> SessionRow:
        """A new session with a copy of the conversation and the plan; see `fork.forked` for what it takes along."""

        def work(c: sqlite3.Connection) -> SessionRow:
            source = _row(c, session_id)
            copies = forked(_load(c, session_id), through)
            titles = {title for (title,) in c.execute("SELECT title FROM sessions WHERE deleted_at IS NULL")}
            new, now = messages.new_id(), time.time()
            c.execute(
                "INSERT INTO sessions (id, title, workspace, model, provider, mode, created, updated, seen, todos, "
                "persona, temperature, reasoning_effort, parent_session_id) "
                "SELECT ?, ?, workspace, model, provider, mode, ?, ?, ?, todos, "
                "persona, temperature, reasoning_effort, id FROM sessions WHERE id = ?",
                (new, fork_title(source.title, titles), now, now, copies[-1].id if copies else "", session_id),
            )
            for position, message in enumerate(copies, 1):
                _insert(c, new, message, _body(message), position)
            _recount(c, new)
            return _row(c, new)

        return self._db.write(work)

    # -- the conversation -----------------------------------------------------------------------------------------

    def append(self, session_id: str, message: Message, check: Check = lambda: None) -> None:
        """Store `message` at the end. A message that is stored already (same id) or empty is not stored again.

        A result also closes its call's open effect. Nothing is stored when `check` raises.
        """
        if message.is_empty:
            return
        body = _body(message)

        def work(c: sqlite3.Connection) -> None:
            check()
            _check(c, session_id)
            if not _insert(c, session_id, message, body, _next_position(c, session_id)):
                return
            if message.result is not None:
                c.execute(
                    "DELETE FROM open_effects WHERE session_id = ? AND call_id = ?",
                    (session_id, messages.clean_surrogates(message.result.call_id)),
                )
            c.execute(
                "UPDATE sessions SET updated = ?, message_count = message_count + 1, turn_count = turn_count + ? "
                "WHERE id = ?",
                (time.time(), int(message.starts_turn), session_id),
            )

        self._db.write(work)

    def effect_started(self, session_id: str, call_id: str, name: str, kind: str, check: Check = lambda: None) -> None:
        """Note that a call begins now. Until its result is stored, a crash leaves its effect unknown."""
        self._begin(session_id, call_id, name, kind, "", check)

    def shell_started(self, session_id: str, call_id: str, command: str, private: bool) -> None:
        """Note that a command of the person's own begins now; after a crash `recover` tells of it."""
        self._begin(session_id, call_id, SHELL, _PRIVATE if private else "command", command)

    def _begin(
        self, session_id: str, call_id: str, name: str, kind: str, subject: str, check: Check = lambda: None
    ) -> None:
        def work(c: sqlite3.Connection) -> None:
            check()
            _check(c, session_id)
            c.execute(
                "INSERT OR REPLACE INTO open_effects (session_id, call_id, name, kind, started, subject) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (session_id, messages.clean_surrogates(call_id), _clean(name), kind, time.time(), _clean(subject)),
            )

        self._db.write(work)

    def put_aside(self, session_id: str, message: Message) -> bool:
        """Store the message of a finished shell command where it disturbs no step; `place` gives it its position.

        False, and nothing is stored, when `recover` has already told of the command as one that was cut off.
        """
        run = message.shell
        assert run is not None
        body, call_id = _body(message), run.result.call_id

        def work(c: sqlite3.Connection) -> bool:
            _check(c, session_id)
            begun = c.execute("DELETE FROM open_effects WHERE session_id = ? AND call_id = ?", (session_id, call_id))
            return begun.rowcount == 1 and _insert(c, session_id, message, body, None)

        return self._db.write(work)

    def place(self, session_id: str, uid: str, check: Check = lambda: None) -> None:
        """Make a message that was put aside the conversation's last. One that has its place keeps it."""

        def work(c: sqlite3.Connection) -> None:
            check()
            _check(c, session_id)
            placed = c.execute(
                "UPDATE messages SET position = ? WHERE session_id = ? AND uid = ? AND position IS NULL",
                (_next_position(c, session_id), session_id, uid),
            )
            if placed.rowcount:
                _recount(c, session_id)

        self._db.write(work)

    def messages(self, session_id: str) -> Messages:
        """The conversation as stored. A row that cannot be read is left out and logged."""
        with self._db.read() as c:
            _check(c, session_id)
            return _load(c, session_id)

    def recover(self, session_id: str, running: Collection[str] = ()) -> Messages:
        """The conversation made fit for the next request; what had to be mended is stored too. Source: INT-09.

        Only for a session without a running turn: a call under way would be taken for one that a crash cut off.
        `running` are the call ids of the person's own commands that still run.
        """

        def work(c: sqlite3.Connection) -> Messages:
            _check(c, session_id)
            stored = _load(c, session_id)
            begun = [
                effect
                for effect in c.execute(
                    "SELECT call_id, name, kind, subject, started FROM open_effects WHERE session_id = ? "
                    "ORDER BY started",
                    (session_id,),
                ).fetchall()
                if effect[0] not in running
            ]
            mended = mend(stored, {call_id: kind for call_id, name, kind, _, _ in begun if name != SHELL})
            mended += _load_aside(c, session_id)
            mended += [_cut_off(*effect) for effect in begun if effect[1] == SHELL]
            if mended != stored:
                _rearrange(c, session_id, stored, mended)
                _recount(c, session_id)
            c.executemany(
                "DELETE FROM open_effects WHERE session_id = ? AND call_id = ?",
                [(session_id, effect[0]) for effect in begun],
            )
            return mended

        return self._db.write(work)

    def undo(self, session_id: str, turns: int = 1) -> int:
        """Take the last `turns` user turns out of the conversation; returns how many there were to take.

        A turn is a user message and everything after it; a steer belongs to the turn it came in. Raises StoreError
        "bad_undo" when `turns` is not positive. Source: INT-04.
        """
        if turns < 1:
            raise StoreError("bad_undo", f"Cannot undo {turns} turns. Give a number from 1 up.", turns=turns)

        def work(c: sqlite3.Connection) -> int:
            _check(c, session_id)
            starts = c.execute(
                f"SELECT position FROM messages WHERE session_id = ? AND position IS NOT NULL AND {_TURN_START} "
                "ORDER BY position DESC LIMIT ?",
                (session_id, turns),
            ).fetchall()
            if starts:
                c.execute("DELETE FROM messages WHERE session_id = ? AND position >= ?", (session_id, starts[-1][0]))
                # A command of the person's own may still run.
                c.execute("DELETE FROM open_effects WHERE session_id = ? AND name != ?", (session_id, SHELL))
                _recount(c, session_id)
            return len(starts)

        return self._db.write(work)

    def reset(self, session_id: str) -> None:
        """Empty the conversation and the plan; the session, its title and its usage stay."""

        def work(c: sqlite3.Connection) -> None:
            _touched(session_id, c.execute("UPDATE sessions SET todos = '[]' WHERE id = ?", (session_id,)))
            c.execute("DELETE FROM messages WHERE session_id = ?", (session_id,))
            c.execute("DELETE FROM open_effects WHERE session_id = ?", (session_id,))
            _recount(c, session_id)

        self._db.write(work)

    # -- beside the conversation ----------------------------------------------------------------------------------

    def add_usage(self, session_id: str, model: str, usage: Usage) -> None:
        """Count one request's tokens."""
        fields = messages.USAGE_FIELDS
        adding = ", ".join(
            f"{f} = CASE WHEN excluded.{f} IS NULL THEN {f} ELSE coalesce({f}, 0) + excluded.{f} END" for f in fields
        )
        values = [getattr(usage, f) for f in fields]

        def work(c: sqlite3.Connection) -> None:
            _check(c, session_id)
            c.execute(
                f"INSERT INTO session_model_usage (session_id, model, requests, {', '.join(fields)}) "
                f"VALUES (?, ?, 1{', ?' * len(fields)}) "
                f"ON CONFLICT (session_id, model) DO UPDATE SET requests = requests + 1, {adding}",
                (session_id, _clean(model), *values),
            )

        self._db.write(work)

    def usage(self, session_id: str) -> tuple[ModelUsage, ...]:
        """Tokens by model, in the order of their names."""
        with self._db.read() as c:
            _check(c, session_id)
            rows = c.execute(
                f"SELECT model, requests, {', '.join(messages.USAGE_FIELDS)} FROM session_model_usage "
                "WHERE session_id = ? ORDER BY model",
                (session_id,),
            ).fetchall()
        return tuple(ModelUsage(model, requests, Usage(*counts)) for model, requests, *counts in rows)

    def set_todos(self, session_id: str, items: Sequence[TodoItem]) -> None:
        plain = [{"text": messages.clean_surrogates(item.text), "status": item.status} for item in items]
        self._set(session_id, "todos", json.dumps(plain, ensure_ascii=False))

    def todos(self, session_id: str) -> tuple[TodoItem, ...]:
        with self._db.read() as c:
            _check(c, session_id)
            (text,) = c.execute("SELECT todos FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return tuple(TodoItem(**item) for item in json.loads(text))

    def _set(self, session_id: str, column: str, value: str) -> None:
        """Change one column of a session; `column` is a name from this file, never from outside."""
        self._db.write(
            lambda c: _touched(
                session_id, c.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, session_id))
            )
        )


# -- mending ------------------------------------------------------------------------------------------------------


def mend(stored: Sequence[Message], open_effects: Mapping[str, str]) -> list[Message]:
    """`stored` with exactly one result for each call, in call order, right after the message that asked for them.

    A call without a result gets one that says what is known of it; `open_effects` maps the id of a call that had
    begun to its kind. Results that no call asked for are left out. Source: INT-09.
    """
    out: list[Message] = []
    for block in _blocks(stored):
        head, rest = block[0], block[1:]
        results: dict[str, list[Message]] = {}
        for message in block:
            if message.result is not None:
                results.setdefault(message.result.call_id, []).append(message)
        if head.role != "tool":
            out.append(head)
        for call in head.tool_calls:
            waiting = results.get(call.id)
            out.append(waiting.pop(0) if waiting else _interrupted(call.id, call.name, open_effects.get(call.id)))
        out.extend(message for message in rest if message.role != "tool")
    return out


def _blocks(stored: Sequence[Message]) -> Iterable[list[Message]]:
    """Each assistant message with what follows it, up to the next; what comes before the first is a block too."""
    block: list[Message] = []
    for message in stored:
        if message.role == "assistant" and block:
            yield block
            block = []
        block.append(message)
    if block:
        yield block


def _interrupted(call_id: str, name: str, kind: str | None) -> Message:
    """A result for a call that has none. `kind` is None when the call had not begun."""
    if kind is None:
        result = ToolResult(call_id, name, NOT_RUN, ok=False, outcome="not run")
    elif kind in HARMLESS_KINDS:
        result = ToolResult(call_id, name, CUT_SHORT, ok=False, outcome="interrupted")
    else:
        result = ToolResult(call_id, name, UNKNOWN, ok=False, effect="unknown", outcome="interrupted")
    return messages.tool(result)


def _cut_off(call_id: str, name: str, kind: str, command: str, started: float) -> Message:
    """What is known of a command of the person's own that ran when the program ended."""
    result = ToolResult(call_id, name, UNKNOWN, ok=False, effect="unknown", outcome="interrupted")
    return replace(messages.shell(ShellRun(command, result, kind == _PRIVATE)), created=started)


# -- rows ---------------------------------------------------------------------------------------------------------


def _rows(c: sqlite3.Connection, condition: str, values: tuple[Any, ...]) -> list[SessionRow]:
    """Rows of sessions that are not deleted; `condition` begins with AND or ORDER BY."""
    found = (SessionRow(*row) for row in c.execute(_SELECT + condition, values).fetchall())
    return [replace(row, unread=bool(row.unread)) for row in found]


def _row(c: sqlite3.Connection, session_id: str) -> SessionRow:
    found = _rows(c, "AND s.id = ?", (session_id,))
    if not found:
        raise _no_session(session_id)
    return found[0]


def _check(c: sqlite3.Connection, session_id: str) -> None:
    """Raises StoreError "no_session". Cheap: `_row` also looks for what is unread, and every change asks first."""
    if not c.execute("SELECT 1 FROM sessions WHERE id = ? AND deleted_at IS NULL", (session_id,)).fetchone():
        raise _no_session(session_id)


def _no_session(text: str) -> StoreError:
    return StoreError(
        "no_session", f"There is no session {text.strip()!r}. -r without a name, or /resume, lists them.", session=text
    )


def _touched(session_id: str, cursor: sqlite3.Cursor) -> None:
    if cursor.rowcount == 0:
        raise _no_session(session_id)


def _load(c: sqlite3.Connection, session_id: str) -> list[Message]:
    return _parsed(
        session_id,
        c.execute(
            "SELECT uid, body, view FROM messages WHERE session_id = ? AND position IS NOT NULL ORDER BY position",
            (session_id,),
        ).fetchall(),
    )


def _load_aside(c: sqlite3.Connection, session_id: str) -> list[Message]:
    """Shell commands that were put aside and have no place yet."""
    return _parsed(
        session_id,
        c.execute(
            "SELECT uid, body, view FROM messages WHERE session_id = ? AND position IS NULL AND undone IS NULL "
            "AND origin = 'shell' ORDER BY id",
            (session_id,),
        ).fetchall(),
    )


def _parsed(session_id: str, rows: Sequence[tuple[str, str, messages.View]]) -> list[Message]:
    out: list[Message] = []
    for uid, body, view in rows:
        try:
            message = messages.from_json(json.loads(body))
            out.append(replace(message, view=view) if view else message)
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            # One spoiled row must not take the whole conversation with it.
            log.warning("message %s of session %s cannot be read: %s", uid, session_id, e)
    return out


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


def _rearrange(c: sqlite3.Connection, session_id: str, stored: Sequence[Message], mended: Sequence[Message]) -> None:
    """Make `mended` the conversation. What it lacks of `stored` goes; rows that could not be read stay, set aside."""
    c.execute("UPDATE messages SET position = NULL WHERE session_id = ?", (session_id,))
    for position, message in enumerate(mended, 1):
        moved = c.execute(
            "UPDATE messages SET position = ? WHERE session_id = ? AND uid = ?", (position, session_id, message.id)
        )
        if moved.rowcount == 0:
            _insert(c, session_id, message, _body(message), position)
    kept = {message.id for message in mended}
    for message in stored:
        if message.id not in kept:
            c.execute("DELETE FROM messages WHERE session_id = ? AND uid = ?", (session_id, message.id))


def _recount(c: sqlite3.Connection, session_id: str) -> None:
    c.execute(
        "UPDATE sessions SET updated = ?2, (message_count, turn_count) = "
        f"(SELECT count(*), coalesce(sum({_TURN_START}), 0) FROM messages "
        "WHERE session_id = ?1 AND position IS NOT NULL) WHERE id = ?1",
        (session_id, time.time()),
    )


def _body(message: Message) -> str:
    """The message as JSON. Control characters, NUL too, are escaped by JSON and so come back as they were."""
    message = replace(message, view="") if message.view else message  # it has a column
    return messages.clean_surrogates(json.dumps(messages.to_json(message), ensure_ascii=False, separators=(",", ":")))


def _clean(text: str) -> str:
    """`text` fit for a column: lone surrogates cannot be encoded, and many tools end a value at a NUL."""
    return messages.clean_surrogates(text).replace("\0", "\ufffd")
