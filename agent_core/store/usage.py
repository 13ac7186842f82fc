"""What sessions have used: tokens, money and time, by model. Source: LLM-34, SESS-14.

A session's children (its sub-agents' sessions) count towards it; a fork goes its own way and does not.
"""

from __future__ import annotations

import sqlite3

from agent_core import messages
from agent_core.messages import Usage
from agent_core.records import dataclass
from agent_core.store.changes import check
from agent_core.store.db import Database

FORK = "fork"
"""`sessions.source` of a session that was forked from its parent."""


@dataclass(frozen=True, slots=True)
class Booking:
    """What one request used."""

    model: str
    usage: Usage
    cost: float | None
    """US dollars; None: the price is not known."""
    pricing: str = ""
    """Where the price is from, or its date."""


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What one model used in a session and its children."""

    model: str
    requests: int
    usage: Usage
    cost: float
    """US dollars of the requests whose price was known."""
    unpriced: int
    """How many requests there were of the others."""
    pricing: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What a session and its children have used."""

    models: tuple[ModelCost, ...] = ()
    seconds: float = 0.0
    """The session's own turns, in which its children run."""

    @property
    def usage(self) -> Usage:
        return sum((model.usage for model in self.models), Usage())

    @property
    def tokens(self) -> int:
        return (self.usage.prompt_tokens or 0) + (self.usage.completion_tokens or 0)

    @property
    def requests(self) -> int:
        return sum(model.requests for model in self.models)

    @property
    def cost(self) -> float | None:
        """US dollars; None: no price is known. With `is_partial`, at least so much."""
        known = sum(model.requests - model.unpriced for model in self.models)
        return sum(model.cost for model in self.models) if known or not self.models else None

    @property
    def is_partial(self) -> bool:
        """Some requests' prices are not known."""
        return any(model.unpriced for model in self.models)


# ?1 and all below it.
_TREE = f"""
    WITH RECURSIVE tree (id) AS (
        SELECT ?1
        UNION
        SELECT s.id FROM sessions s JOIN tree ON s.parent_session_id = tree.id WHERE s.source != '{FORK}'
    )
"""


class Costs:
    """Of all sessions. Safe to use from any thread; blocks on the disk. Methods raise StoreError."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def book(self, session_id: str, booking: Booking, seconds: float = 0.0) -> None:
        """Count one request, and the seconds that its turn has run since the last one."""
        fields = messages.USAGE_FIELDS
        adding = ", ".join(
            f"{f} = CASE WHEN excluded.{f} IS NULL THEN {f} ELSE coalesce({f}, 0) + excluded.{f} END" for f in fields
        )
        counts = [getattr(booking.usage, f) for f in fields]
        model = messages.clean_surrogates(booking.model).replace("\0", "\ufffd")
        values = (session_id, model, *counts, booking.cost or 0.0, int(booking.cost is None), booking.pricing)

        def work(c: sqlite3.Connection) -> None:
            check(c, session_id)
            c.execute(
                f"INSERT INTO session_model_usage (session_id, model, requests, {', '.join(fields)}, "
                "estimated_cost_usd, unpriced_requests, pricing_version) "
                f"VALUES (?, ?, 1{', ?' * (len(fields) + 3)}) "
                f"ON CONFLICT (session_id, model) DO UPDATE SET requests = requests + 1, {adding}, "
                "estimated_cost_usd = estimated_cost_usd + excluded.estimated_cost_usd, "
                "unpriced_requests = unpriced_requests + excluded.unpriced_requests, "
                "pricing_version = CASE excluded.pricing_version WHEN '' THEN pricing_version "
                "ELSE excluded.pricing_version END",
                values,
            )
            _add_seconds(c, session_id, seconds)

        self._db.write(work, "transcript")

    def add_seconds(self, session_id: str, seconds: float) -> None:
        """Count seconds that a turn has run."""
        self._db.write(lambda c: _add_seconds(c, session_id, seconds), "activity")

    def spent(self, session_id: str) -> Spent:
        """What a session and its children have used; nothing for one that is not stored."""
        fields = messages.USAGE_FIELDS
        # A sum over nothing but NULLs is NULL: not known.
        sums = ", ".join(f"sum({f})" for f in fields)
        with self._db.read() as c:
            rows = c.execute(
                f"{_TREE} SELECT model, sum(requests), sum(estimated_cost_usd), sum(unpriced_requests), "
                f"max(pricing_version), {sums} FROM session_model_usage WHERE session_id IN tree "
                "GROUP BY model ORDER BY model",
                (session_id,),
            ).fetchall()
            own = c.execute("SELECT run_seconds FROM sessions WHERE id = ?", (session_id,)).fetchone()
        models = tuple(
            ModelCost(model, requests, Usage(*counts), cost, unpriced, pricing)
            for model, requests, cost, unpriced, pricing, *counts in rows
        )
        return Spent(models, own[0] if own else 0.0)

    def payer(self, session_id: str) -> str:
        """Whose budget a session's requests count towards: the topmost of those it is a child of, else itself."""
        with self._db.read() as c:
            found = c.execute(
                "WITH RECURSIVE line (id, parent, depth) AS ("
                f"  SELECT id, CASE source WHEN '{FORK}' THEN NULL ELSE parent_session_id END, 0 "
                "  FROM sessions WHERE id = ?1"
                "  UNION "
                f"  SELECT s.id, CASE s.source WHEN '{FORK}' THEN NULL ELSE s.parent_session_id END, depth + 1 "
                "  FROM sessions s JOIN line ON s.id = line.parent WHERE depth < 100"
                ") SELECT id FROM line ORDER BY depth DESC LIMIT 1",
                (session_id,),
            ).fetchone()
        return found[0] if found else session_id


def _add_seconds(c: sqlite3.Connection, session_id: str, seconds: float) -> None:
    if seconds > 0:
        c.execute("UPDATE sessions SET run_seconds = run_seconds + ? WHERE id = ?", (seconds, session_id))
