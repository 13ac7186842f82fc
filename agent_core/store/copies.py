"""Sessions that are copies: forks of others, and conversations from elsewhere. Inside a transaction of the caller's."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from agent_core import messages
from agent_core.messages import Message
from agent_core.store.bodies import insert
from agent_core.store.fork import fork_title
from agent_core.store.rows import SessionRow, clean, recount, row_of


def copy(c: sqlite3.Connection, session_id: str, end: int) -> SessionRow:
    """A new session with what another says up to the position `end`, its plan and its settings."""
    source = row_of(c, session_id)
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
    recount(c, new)
    return row_of(c, new)


def take_in(
    c: sqlite3.Connection, key: str, row: SessionRow, conversation: Sequence[Message], bodies: Sequence[str]
) -> tuple[SessionRow, bool]:
    """See `Store.adopt`; `key`: what the session is remembered by, `bodies`: the messages as JSON."""
    there = c.execute(
        "SELECT s.id FROM state_meta m JOIN sessions s ON s.id = m.value WHERE m.key = ? AND s.deleted_at IS NULL",
        (key,),
    ).fetchone()
    if there is not None:
        return row_of(c, there[0]), False
    c.execute(
        "INSERT INTO sessions (id, title, workspace, model, provider, created, updated, source) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 'import')",
        (row.id, *map(clean, (row.title, row.workspace, row.model, row.provider)), row.created, row.updated),
    )
    for position, (message, body) in enumerate(zip(conversation, bodies, strict=True), 1):
        insert(c, row.id, message, body, position)
    recount(c, row.id)
    seen = conversation[-1].id if conversation else ""
    c.execute("UPDATE sessions SET updated = ?, seen = ? WHERE id = ?", (row.updated, seen, row.id))
    c.execute("INSERT OR REPLACE INTO state_meta VALUES (?, ?)", (key, row.id))
    return row_of(c, row.id), True
