"""A search's filters in SQL: the sessions in which is looked, and which of their messages fit."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

from agent_core import limits
from agent_core.search_filters import Filters
from agent_core.store.children import CHILD

Candidate = tuple[str, str, float]
"""Session, uid of the message ("": the title), rank."""

_NAME: Final = "substr(workspace, 1 + length(rtrim(workspace, replace(workspace, '/', ''))))"
_FOLDER: Final = f"""
    CASE WHEN ?3 = '' THEN 1
         WHEN ?3 LIKE '/%' THEN workspace = ?3 OR substr(workspace, 1, length(?3) + 1) = rtrim(?3, '/') || '/'
         WHEN instr(?3, '/') THEN instr(lower(workspace), lower(?3))
         ELSE instr(lower({_NAME}), lower(?3)) END
"""
_MODEL: Final = """
    (?4 = '' OR instr(lower(model), lower(?4)) OR EXISTS (
        SELECT 1 FROM session_model_usage u WHERE u.session_id = sessions.id AND instr(lower(u.model), lower(?4))))
"""
_WHO: Final = {
    "": "1",
    "user": "m.role = 'user' AND m.origin NOT IN ('shell', 'summary')",
    "model": "(m.role = 'assistant' OR m.origin = 'summary')",
    "tool": "(m.role = 'tool' OR m.origin = 'shell')",
}


def sessions_of(c: sqlite3.Connection, filters: Filters, leave_out: str) -> dict[str, str]:
    """Ids and sources of the sessions that fit, but for deleted ones and `leave_out`."""
    return dict(
        c.execute(
            "SELECT id, source FROM sessions WHERE deleted_at IS NULL AND id != ?1 AND (?2 = '' OR workspace = ?2) "
            f"AND {_FOLDER} AND {_MODEL}",
            (leave_out, filters.workspace, filters.folder, filters.model),
        ).fetchall()
    )


def choices(c: sqlite3.Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders and the models of all sessions but sub-agents', those used last first."""
    found = (
        c.execute(
            f"SELECT {column} FROM sessions WHERE deleted_at IS NULL AND source != ? AND {column} != '' "
            f"GROUP BY {column} ORDER BY max(updated) DESC LIMIT ?",
            (CHILD, limits.SEARCH_CHOICES),
        )
        for column in ("workspace", "model")
    )
    folders, models = (tuple(name for (name,) in rows) for rows in found)
    return folders, models


def of_messages(filters: Filters) -> bool:
    """Whether not every message of a session that fits does."""
    return bool(filters.who) or filters.since is not None or filters.before is not None


def narrow(c: sqlite3.Connection, candidates: Sequence[Candidate], filters: Filters) -> list[Candidate]:
    """Those that are in a conversation now, were said in time and by whom was meant, in the same order.

    A title is nobody's; its time is when its session was used last.
    """
    titles = "1" if not filters.who else "0"
    wanted = json.dumps([[session, uid] for session, uid, _ in candidates])
    kept = c.execute(
        "SELECT j.key FROM json_each(?1) j CROSS JOIN messages m "
        "ON m.session_id = json_extract(j.value, '$[0]') AND m.uid = json_extract(j.value, '$[1]') "
        "WHERE m.position IS NOT NULL AND (?2 IS NULL OR m.created >= ?2) AND (?3 IS NULL OR m.created < ?3) "
        f"AND {_WHO[filters.who]} "
        "UNION ALL "
        "SELECT j.key FROM json_each(?1) j CROSS JOIN sessions s ON s.id = json_extract(j.value, '$[0]') "
        f"WHERE json_extract(j.value, '$[1]') = '' AND {titles} "
        "AND (?2 IS NULL OR s.updated >= ?2) AND (?3 IS NULL OR s.updated < ?3)",
        (wanted, filters.since, filters.before),
    ).fetchall()
    return [candidates[at] for (at,) in sorted(kept)]
