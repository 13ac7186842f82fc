"""What is known of a session, as its row has it."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import replace
from typing import Any

from agent_core import limits, messages
from agent_core.records import dataclass
from agent_core.store.changes import no_session
from agent_core.store.children import CHILD
from agent_core.store.undo import TURN_START


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
OWN = f"AND s.source != '{CHILD}'"
ITS_CHILDREN = f"parent_session_id = ? AND source = '{CHILD}'"
_IS_OBJECT = "CASE WHEN json_valid(model_config) THEN json_type(model_config) = 'object' END"
SETTINGS = f"CASE WHEN {_IS_OBJECT} THEN model_config ELSE '{{}}' END"


def rows_where(c: sqlite3.Connection, condition: str, values: tuple[Any, ...]) -> list[SessionRow]:
    """Rows of sessions that are not deleted; `condition` begins with AND or ORDER BY."""
    found = (SessionRow(*row) for row in c.execute(_SELECT + condition, values).fetchall())
    return [replace(row, unread=bool(row.unread), model_chosen=bool(row.model_chosen)) for row in found]


def row_of(c: sqlite3.Connection, session_id: str) -> SessionRow:
    found = rows_where(c, "AND s.id = ?", (session_id,))
    if not found:
        raise no_session(session_id)
    return found[0]


def touched(session_id: str, cursor: sqlite3.Cursor) -> None:
    if cursor.rowcount == 0:
        raise no_session(session_id)


def recount(c: sqlite3.Connection, session_id: str) -> None:
    c.execute(
        "UPDATE sessions SET updated = ?2, (message_count, turn_count, tool_call_count) = "
        f"(SELECT count(*), coalesce(sum({TURN_START}), 0), coalesce(sum(role = 'tool'), 0) FROM messages "
        "WHERE session_id = ?1 AND position IS NOT NULL) WHERE id = ?1",
        (session_id, used_now(c, session_id)),
    )


def used_now(c: sqlite3.Connection, session_id: str) -> float:
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


def clean(text: str) -> str:
    """`text` fit for a column: lone surrogates cannot be encoded, and many tools end a value at a NUL."""
    return messages.clean_surrogates(text).replace("\0", "\ufffd")
