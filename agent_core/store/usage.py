"""What sessions have used: tokens, money and time, by model and by day. Source: LLM-34, SESS-14.

Each request is counted twice in one transaction: in the sums of its session, and in those of its day, so that the days
of a session always add up to it. A session's children (its sub-agents' sessions) count towards it; a fork goes its own
way and does not.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Final

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


SUMS: Final = ", ".join(
    [
        "sum(u.requests)",
        "sum(u.estimated_cost_usd)",
        "sum(u.unpriced_requests)",
        "max(u.pricing_version)",
        *(f"sum(u.{field})" for field in messages.USAGE_FIELDS),  # over nothing but NULLs NULL: not known
    ]
)
"""What `model_cost` reads, of rows `u` of one model."""


def model_cost(model: str, requests: int, cost: float, unpriced: int, pricing: str, *counts: int | None) -> ModelCost:
    """A model's name and its SUMS as a record."""
    return ModelCost(model, requests, Usage(*counts), cost, unpriced, pricing)


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

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds since the epoch: what is booked is of the day that it tells, where this machine is."""
        self._db = database
        self._clock = clock

    def book(self, session_id: str, booking: Booking, seconds: float = 0.0) -> None:
        """Count one request, and the seconds that its turn has run since the last one."""
        counts = [getattr(booking.usage, field) for field in messages.USAGE_FIELDS]
        model = messages.clean_surrogates(booking.model).replace("\0", "\ufffd")
        values = (*counts, booking.cost or 0.0, int(booking.cost is None), booking.pricing)
        day = self._day()

        def work(c: sqlite3.Connection) -> None:
            check(c, session_id)
            _add_request(c, "session_model_usage", {"session_id": session_id, "model": model}, values)
            _add_request(c, "session_day_usage", {"session_id": session_id, "day": day, "model": model}, values)
            _add_seconds(c, session_id, day, seconds)

        self._db.write(work, "transcript")

    def add_seconds(self, session_id: str, seconds: float) -> None:
        """Count seconds that a turn has run."""
        day = self._day()
        self._db.write(lambda c: _add_seconds(c, session_id, day, seconds), "activity")

    def _day(self) -> str:
        return date.fromtimestamp(self._clock()).isoformat()

    def spent(self, session_id: str) -> Spent:
        """What a session and its children have used; nothing for one that is not stored."""
        with self._db.read() as c:
            rows = c.execute(
                f"{_TREE} SELECT u.model, {SUMS} FROM session_model_usage u WHERE u.session_id IN tree "
                "GROUP BY u.model ORDER BY u.model",
                (session_id,),
            ).fetchall()
            own = c.execute("SELECT run_seconds FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return Spent(tuple(model_cost(*row) for row in rows), own[0] if own else 0.0)

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


def _add_request(c: sqlite3.Connection, table: str, key: Mapping[str, str], values: Sequence[object]) -> None:
    """Add one request to the row of `key`, made where it is not there yet."""
    fields = messages.USAGE_FIELDS
    adding = ", ".join(
        f"{f} = CASE WHEN excluded.{f} IS NULL THEN {f} ELSE coalesce({f}, 0) + excluded.{f} END" for f in fields
    )
    c.execute(
        f"INSERT INTO {table} ({', '.join(key)}, requests, {', '.join(fields)}, "
        "estimated_cost_usd, unpriced_requests, pricing_version) "
        f"VALUES ({'?, ' * len(key)}1{', ?' * len(values)}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET requests = requests + 1, {adding}, "
        "estimated_cost_usd = estimated_cost_usd + excluded.estimated_cost_usd, "
        "unpriced_requests = unpriced_requests + excluded.unpriced_requests, "
        "pricing_version = CASE excluded.pricing_version WHEN '' THEN pricing_version "
        "ELSE excluded.pricing_version END",
        (*key.values(), *values),
    )


def _add_seconds(c: sqlite3.Connection, session_id: str, day: str, seconds: float) -> None:
    if (
        seconds > 0
        and c.execute("UPDATE sessions SET run_seconds = run_seconds + ? WHERE id = ?", (seconds, session_id)).rowcount
    ):  # a session that is gone has no days
        c.execute(
            "INSERT INTO session_day_time (session_id, day, run_seconds) VALUES (?, ?, ?) "
            "ON CONFLICT (session_id, day) DO UPDATE SET run_seconds = run_seconds + excluded.run_seconds",
            (session_id, day, seconds),
        )
