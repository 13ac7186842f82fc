"""What was used over days: sums over all sessions. Source: CFG-12, LLM-34.

Tokens, dollars and time count on the day they were booked (usage.py). Turns, hours and tools are of the messages
themselves, each once however often a fork copied it. Deleted sessions count until they are gone for good, and what was
undone was used all the same.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from agent_core.records import dataclass
from agent_core.store.children import CHILD
from agent_core.store.db import Database
from agent_core.store.usage import SUMS, Spent, model_cost


@dataclass(frozen=True, slots=True)
class DayUse:
    """One day by the clock of this machine."""

    day: str
    """As 2026-07-01."""
    turns: int = 0
    tokens: int = 0
    """Of all requests of the day."""
    cost: float = 0.0
    """US dollars of those whose price was known."""
    prompt: int = 0
    """Tokens that were sent."""
    cached: int = 0
    """How many of those the server had already."""


@dataclass(frozen=True, slots=True)
class FolderUse:
    """What the sessions of one folder used, and those of their sub-agents that work there."""

    folder: str
    sessions: int
    """Without sub-agents'."""
    tokens: int
    cost: float
    """US dollars of the requests whose price was known."""
    unpriced: int
    """How many requests there were of the others."""


LENGTHS = (1, 2, 4, 8, 16, 32, 64)
"""Turns from which a session counts as longer than those before: 1, 2 to 3, 4 to 7, and so on."""


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
    """Then, by model, the dearest and largest first; the seconds are those of the sessions' own turns."""
    by_day: tuple[DayUse, ...]
    """The oldest first, none left out between the first that was used and today; at most `days`."""
    by_hour: tuple[int, ...]
    """Turns that began in each of the 24 hours of a day."""
    tools: tuple[ToolUse, ...]
    """The most used first."""
    folders: tuple[FolderUse, ...] = ()
    """The dearest and largest first."""
    lengths: tuple[int, ...] = ()
    """How many of `sessions` have so many turns in all, for each of LENGTHS; those without a turn are left out."""


_SENT = f"""
    SELECT m.uid, min(m.created) AS at FROM messages m JOIN sessions s ON s.id = m.session_id
    WHERE m.created >= ?1 AND m.role = 'user' AND m.origin IN ('', 'queue') AND s.source != '{CHILD}' GROUP BY m.uid
"""


_LENGTH = " ".join(f"WHEN s.turn_count >= {least} THEN {least}" for least in reversed(LENGTHS))


def _of(path: str) -> str:
    return f"CASE WHEN json_valid(m.body) THEN json_extract(m.body, '$.{path}') END"


def insights(database: Database, days: int = 0, now: float | None = None) -> Insights:
    """Sum up the last `days` days, today included; 0: everything. Raises StoreError; blocks on the disk."""
    now = time.time() if now is None else now
    today = date.fromtimestamp(now)
    begin = today - timedelta(days=days - 1) if days else None
    since = (time.mktime(begin.timetuple()) if begin else 0.0,)
    first_day = (begin.isoformat() if begin else "",)
    with database.read() as c:
        sessions, agents = c.execute(
            f"SELECT count(*) FILTER (WHERE s.source != '{CHILD}'), count(*) FILTER (WHERE s.source = '{CHILD}') "
            "FROM sessions s WHERE s.updated >= ? OR s.id IN (SELECT session_id FROM session_day_usage WHERE day >= ?)",
            (*since, *first_day),
        ).fetchone()
        (seconds,) = c.execute(
            "SELECT coalesce(sum(d.run_seconds), 0) FROM session_day_time d JOIN sessions s ON s.id = d.session_id "
            f"WHERE d.day >= ? AND s.source != '{CHILD}'",
            first_day,
        ).fetchone()
        models = c.execute(
            f"SELECT u.model, {SUMS} FROM session_day_usage u WHERE u.day >= ? GROUP BY u.model "
            "ORDER BY sum(u.estimated_cost_usd) DESC, coalesce(sum(u.total_tokens), 0) DESC, u.model",
            first_day,
        ).fetchall()
        used = c.execute(
            "SELECT day, sum(coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)), sum(estimated_cost_usd), "
            "sum(coalesce(prompt_tokens, 0)), sum(coalesce(cached_tokens, 0)) "
            "FROM session_day_usage WHERE day >= ? GROUP BY day",
            first_day,
        ).fetchall()
        turns = dict(c.execute(f"SELECT date(at, 'unixepoch', 'localtime'), count(*) FROM ({_SENT}) GROUP BY 1", since))
        hours = dict(
            c.execute(
                f"SELECT 0 + strftime('%H', at, 'unixepoch', 'localtime'), count(*) FROM ({_SENT}) GROUP BY 1", since
            )
        )
        folders = c.execute(
            f"SELECT s.workspace, count(DISTINCT CASE WHEN s.source != '{CHILD}' THEN s.id END), "
            "sum(coalesce(u.prompt_tokens, 0) + coalesce(u.completion_tokens, 0)) AS tokens, "
            "sum(u.estimated_cost_usd) AS cost, sum(u.unpriced_requests) "
            "FROM session_day_usage u JOIN sessions s ON s.id = u.session_id WHERE u.day >= ? "
            "GROUP BY s.workspace ORDER BY cost DESC, tokens DESC, s.workspace",
            first_day,
        ).fetchall()
        lengths = dict(
            c.execute(
                f"SELECT CASE {_LENGTH} END, count(*) FROM sessions s WHERE s.turn_count > 0 AND s.source != '{CHILD}' "
                "AND (s.updated >= ? OR s.id IN (SELECT session_id FROM session_day_usage WHERE day >= ?)) GROUP BY 1",
                (*since, *first_day),
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
        Spent(tuple(model_cost(*row) for row in models), seconds),
        _by_day(turns, {day: sums for day, *sums in used}, begin, today),
        tuple(hours.get(hour, 0) for hour in range(24)),
        tuple(ToolUse(name, calls, failed) for name, calls, failed in tools),
        tuple(FolderUse(*folder) for folder in folders),
        tuple(lengths.get(least, 0) for least in LENGTHS),
    )


def _by_day(
    turns: Mapping[str, int], spent: Mapping[str, Sequence[Any]], begin: date | None, today: date
) -> tuple[DayUse, ...]:
    """Every day from the first that was used, or `begin` where that is later, to today."""
    used = sorted({*turns, *spent})
    if not used:
        return ()
    first = max(filter(None, (date.fromisoformat(used[0]), begin)))
    last = max(today, date.fromisoformat(used[-1]))  # a clock that was ahead
    days = [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]
    return tuple(DayUse(day, turns.get(day, 0), *spent.get(day, ())) for day in days)
