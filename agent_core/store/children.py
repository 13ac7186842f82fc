"""The sessions of sub-agents: rows of their own, children of the session that asked for them. Source: SUB-02, SESS-14.

What a child uses counts towards its parent (store/usage.py). A child is deleted, restored and expires with its parent,
and no list of sessions has it.
"""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import replace
from typing import Any, Final

from agent_core import limits, messages
from agent_core.delegation import AgentRow, AgentState
from agent_core.records import dataclass
from agent_core.store.changes import Changes
from agent_core.store.db import Database
from agent_core.store.lease import Leases

CHILD: Final = "child"
"""`sessions.source` of such a session."""
_AGENT: Final = "agent"
"""In `sessions.model_config`: what is known of a sub-agent beside its words."""
CLEARED: Final = "cleared"
"""`sessions.end_reason` of one whose parent was emptied: what it used counts on, nothing else of it is left."""
_ENDED: Final[dict[str, AgentState]] = {"done": "done", "failed": "failed", "interrupted": "interrupted"}


@dataclass(frozen=True, slots=True)
class Birth:
    """What a child begins with, before it has a place at the gate and a model. Texts are free of keys."""

    agent_id: str
    name: str
    task: str
    workspace: str
    mode: str
    group: str = ""
    background: bool = False


class Children:
    """Of all sessions. Safe to use from any thread; blocks on the disk. Methods raise StoreError."""

    def __init__(self, database: Database, leases: Leases, changes: Changes) -> None:
        self._db = database
        self._leases = leases
        self._changes = changes

    def begin(self, parent: str, birth: Birth) -> str:
        """Make a child's session; gives its id."""
        session_id, now = messages.new_id(), time.time()
        known = {"id": birth.agent_id, "name": birth.name, "group": birth.group, "background": birth.background}
        facts = json.dumps({_AGENT: known}, ensure_ascii=False)
        texts = (birth.task, birth.workspace, facts)
        title, workspace, facts = (messages.clean_surrogates(text) for text in texts)
        values = (session_id, title, workspace, birth.mode, now, now, parent, CHILD, facts)

        def work(c: sqlite3.Connection) -> None:
            c.execute(
                "INSERT INTO sessions (id, title, workspace, model, provider, mode, created, updated, "
                "parent_session_id, source, model_config) VALUES (?, ?, ?, '', '', ?, ?, ?, ?, ?, ?)",
                values,
            )

        self._db.write(work, "transcript")
        self._changes.loaded(session_id, 0)
        return session_id

    def connected(self, session_id: str, model: str, provider: str) -> None:
        """Note which model a child has."""
        names = (messages.clean_surrogates(model), messages.clean_surrogates(provider))

        def work(c: sqlite3.Connection) -> None:
            c.execute("UPDATE sessions SET model = ?, provider = ? WHERE id = ?", (*names, session_id))

        self._db.write(work, "transcript")

    def end(self, session_id: str, row: AgentRow) -> None:
        """Note how a child has ended."""
        facts = {"id": row.id, "name": row.name, "group": row.group, "background": row.background}
        facts |= {"steps": row.steps, "preview": row.preview}
        text = messages.clean_surrogates(json.dumps({_AGENT: facts}, ensure_ascii=False))

        def work(c: sqlite3.Connection) -> None:
            c.execute(
                "UPDATE sessions SET ended_at = ?, end_reason = ?, model_config = ? WHERE id = ?",
                (row.ended, row.state, text, session_id),
            )

        self._db.write(work, "transcript")

    def of(self, parent: str) -> tuple[AgentRow, ...]:
        """The last sub-agents of a session, the newest last. One whose program was killed has been interrupted."""
        with self._db.read() as c:
            rows = c.execute(
                "SELECT s.id, title, model, created, updated, ended_at, end_reason, model_config, "
                "coalesce(input_tokens, 0) + coalesce(output_tokens, 0) FROM sessions s "
                "WHERE parent_session_id = ? AND source = ? AND deleted_at IS NULL "
                "AND coalesce(end_reason, '') != ? ORDER BY created DESC, rowid DESC LIMIT ?",
                (parent, CHILD, CLEARED, limits.AGENTS_SHOWN),
            ).fetchall()
            found = [self._row(*row) for row in reversed(rows)]
            return tuple(replace(row, **_left(c, row.session_id)) if _was_cut_off(row) else row for row in found)

    def at_work(self, session_id: str) -> bool:
        """It is a child, and runs in this program now."""
        if not self._leases.is_ours(session_id):
            return False
        with self._db.read() as c:
            return (
                c.execute("SELECT 1 FROM sessions WHERE id = ? AND source = ?", (session_id, CHILD)).fetchone()
                is not None
            )

    def _row(
        self,
        session_id: str,
        task: str,
        model: str,
        created: float,
        updated: float,
        ended: float | None,
        reason: str | None,
        config: str | None,
        tokens: int,
    ) -> AgentRow:
        facts = _facts(config)
        state: AgentState = _ENDED.get(reason or "", "interrupted")
        if ended is None:
            at_work = self._leases.is_ours(session_id) or self._leases.holder(session_id) is not None
            state, ended = ("running", None) if at_work else ("interrupted", updated)
        steps = facts.get("steps")
        return AgentRow(
            str(facts.get("id", "agent")),
            str(facts.get("name", "")),
            task,
            state,
            created,
            ended,
            session_id,
            model,
            steps if isinstance(steps, int) else 0,
            tokens,
            preview=str(facts.get("preview", "")),
            group=str(facts.get("group", "")),
            background=facts.get("background") is True,
        )


def clear_children(c: sqlite3.Connection, parent: str) -> None:
    """Leave nothing of a session's children but what they have used: the session is emptied."""
    children = f"SELECT id FROM sessions WHERE parent_session_id = ? AND source = '{CHILD}'"
    c.execute(f"DELETE FROM messages WHERE session_id IN ({children})", (parent,))
    c.execute(f"DELETE FROM open_effects WHERE session_id IN ({children})", (parent,))
    c.execute(
        "UPDATE sessions SET title = '', model_config = '', end_reason = ?, message_count = 0, turn_count = 0, "
        f"tool_call_count = 0, revision = revision + 1 WHERE id IN ({children})",
        (CLEARED, parent),
    )


def _was_cut_off(row: AgentRow) -> bool:
    """Nobody noted how it has ended: its program was killed."""
    return row.state == "interrupted" and not row.steps and not row.preview


def _left(c: sqlite3.Connection, session_id: str) -> dict[str, Any]:
    """What a child that was cut off has left: how many steps, and the beginning of its last words."""
    said = "FROM messages WHERE session_id = ? AND role = 'assistant'"
    (steps,) = c.execute(f"SELECT count(*) {said}", (session_id,)).fetchone()
    last = c.execute(
        f"SELECT substr(content, 1, ?) {said} AND coalesce(content, '') != '' ORDER BY rowid DESC LIMIT 1",
        (limits.AGENT_PREVIEW, session_id),
    ).fetchone()
    return {"steps": steps, "preview": last[0] if last is not None else ""}


def _facts(config: str | None) -> dict[str, Any]:
    try:
        found = json.loads(config or "{}")
    except ValueError:
        return {}
    facts = found.get(_AGENT) if isinstance(found, dict) else None
    return facts if isinstance(facts, dict) else {}
