"""What was used over days: sums over all sessions. Source: CFG-12, LLM-34.

Requests are counted by session, not by day: tokens and dollars are those of the sessions that were used within the
time, whole. What is told by day, by hour and by tool is of the messages themselves, each once however often a fork
copied it. Deleted sessions count until they are gone for good, and what was undone was used all the same.
"""

from __future__ import annotations

import sqlite3
import time
from datetime import date, timedelta
from typing import Any

from agent_core import messages
from agent_core.messages import Usage
from agent_core.records import dataclass
from agent_core.store.children import CHILD
from agent_core.store.db import Database
from agent_core.store.usage import ModelCost, Spent


@dataclass(frozen=True, slots=True)
class DayUse:
    """One day by the clock of this machine."""

    day: str
    """As 2026-07-01."""
    turns: int = 0
    tokens: int = 0
    """Of the answers and what was sent for them; not of summaries and reviews."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    name: str
    calls: int
    failed: int
    """Refused ones too."""


@dataclass(frozen=True, slots=True)
class Insights:
    days: int
    """How many days back, today included; 0: all there is."""
    sessions: int
    """Those that were used then, but for sub-agents'."""
    agents: int
    """Sessions of sub-agents that were."""
    turns: int
    """What the person asked."""
    spent: Spent
    """By these sessions and their sub-agents, by model, the dearest and largest first."""
    by_day: tuple[DayUse, ...]
    """The oldest first, none left out between the first that was used and today; at most `days`."""
    by_hour: tuple[int, ...]
    """Turns that began in each of the 24 hours of a day."""
    tools: tuple[ToolUse, ...]
    """The most used first."""


_TIME = "s.updated >= ?1"
_SENT = f"""
    SELECT m.uid, min(m.created) AS at FROM messages m JOIN sessions s ON s.id = m.session_id
    WHERE m.created >= ?1 AND m.role = 'user' AND m.origin IN ('', 'queue') AND s.source != '{CHILD}' GROUP BY m.uid
"""


def _of(path: str) -> str:
    return f"CASE WHEN json_valid(m.body) THEN json_extract(m.body, '$.{path}') END"


def insights(database: Database, days: int = 0, now: float | None = None) -> Insights:
    """Sum up the last `days` days, today included; 0: everything. Raises StoreError; blocks on the disk."""
    now = time.time() if now is None else now
    today = date.fromtimestamp(now)
    begin = today - timedelta(days=days - 1) if days else None
    since = (time.mktime(begin.timetuple()) if begin else 0.0,)
    with database.read() as c:
        kinds = f"SELECT count(*) FILTER (WHERE s.source != '{CHILD}'), count(*) FILTER (WHERE s.source = '{CHILD}'), "
        sessions, agents, seconds = c.execute(
            f"{kinds} coalesce(sum(s.run_seconds) FILTER (WHERE s.source != '{CHILD}'), 0) "
            f"FROM sessions s WHERE {_TIME}",
            since,
        ).fetchone()
        spent = Spent(_models(c, since), seconds)
        turns = dict(c.execute(f"SELECT date(at, 'unixepoch', 'localtime'), count(*) FROM ({_SENT}) GROUP BY 1", since))
        hours = dict(
            c.execute(
                f"SELECT 0 + strftime('%H', at, 'unixepoch', 'localtime'), count(*) FROM ({_SENT}) GROUP BY 1", since
            )
        )
        used = f"coalesce({_of('usage.prompt_tokens')}, 0) + coalesce({_of('usage.completion_tokens')}, 0)"
        tokens = dict(
            c.execute(
                "SELECT date(at, 'unixepoch', 'localtime'), sum(used) FROM ("
                f"SELECT min(m.created) AS at, max({used}) AS used FROM messages m "
                "WHERE m.created >= ?1 AND m.role = 'assistant' GROUP BY m.uid) GROUP BY 1",
                since,
            )
        )
        tools = c.execute(
            "SELECT name, count(*), sum(ok = 0) FROM ("
            f"SELECT max({_of('result.name')}) AS name, min({_of('result.ok')}) AS ok FROM messages m "
            "WHERE m.created >= ?1 AND m.role = 'tool' GROUP BY m.uid) WHERE name != '' "
            "GROUP BY name ORDER BY count(*) DESC, name",
            since,
        ).fetchall()
    return Insights(
        days,
        sessions,
        agents,
        sum(turns.values()),
        spent,
        _by_day(turns, tokens, begin, today),
        tuple(hours.get(hour, 0) for hour in range(24)),
        tuple(ToolUse(name, calls, failed) for name, calls, failed in tools),
    )


def _models(c: sqlite3.Connection, since: tuple[Any, ...]) -> tuple[ModelCost, ...]:
    sums = ", ".join(f"sum(u.{field})" for field in messages.USAGE_FIELDS)  # over nothing but NULLs NULL: not known
    rows = c.execute(
        "SELECT u.model, sum(u.requests), sum(u.estimated_cost_usd), sum(u.unpriced_requests), "
        f"max(u.pricing_version), {sums} FROM session_model_usage u JOIN sessions s ON s.id = u.session_id "
        f"WHERE {_TIME} GROUP BY u.model "
        "ORDER BY sum(u.estimated_cost_usd) DESC, coalesce(sum(u.total_tokens), 0) DESC, u.model",
        since,
    ).fetchall()
    return tuple(
        ModelCost(model, requests, Usage(*counts), cost, unpriced, pricing)
        for model, requests, cost, unpriced, pricing, *counts in rows
    )


def _by_day(turns: dict[str, int], tokens: dict[str, int], begin: date | None, today: date) -> tuple[DayUse, ...]:
    """Every day from the first that was used, or `begin` where that is later, to today."""
    used = sorted({*turns, *tokens})
    if not used:
        return ()
    first = max(filter(None, (date.fromisoformat(used[0]), begin)))
    last = max(today, date.fromisoformat(used[-1]))  # a clock that was ahead
    days = [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]
    return tuple(DayUse(day, turns.get(day, 0), tokens.get(day, 0)) for day in days)
