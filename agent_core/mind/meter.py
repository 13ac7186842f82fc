"""What a session's requests use: asked for before each of them, booked after it. Source: LLM-08, LLM-34."""

from __future__ import annotations

import time
from collections.abc import Callable

from agent_core import limits
from agent_core.errors import abandoned
from agent_core.llm.prices import Price, cost
from agent_core.messages import Usage
from agent_core.mind import budget, view
from agent_core.mind.budget import Budget, Need, Used
from agent_core.ports.model import Delta, DeltaSink, LlmReply, LlmRequest
from agent_core.records import dataclass
from agent_core.store.usage import Booking, Costs, Spent


@dataclass(frozen=True, slots=True)
class Bill:
    """What one request has cost, and the session with its children so far. US dollars; None: not known."""

    cost: float | None
    session_cost: float | None
    at_least: bool
    """`session_cost` is not all: some requests' prices are not known."""
    window: int | None = None
    """How many tokens the model that answered takes, where that is known."""


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """What a session and its children have used, and what they may use."""

    spent: Spent
    budget: Budget


class Meter:
    """Of one session. Used by its worker alone; `clock` gives monotonic seconds."""

    def __init__(
        self,
        costs: Costs,
        session_id: str,
        price: Callable[[str, str], Price | None],
        allowed: Callable[[], Budget],
        clock: Callable[[], float] = time.monotonic,
        window: Callable[[str, str], int | None] = lambda provider, model: None,
    ) -> None:
        """`price` and `window` by provider and model. `allowed` is asked before each request."""
        self._costs = costs
        self._session_id = session_id
        self._price = price
        self._allowed = allowed
        self._clock = clock
        self._window = window
        self._since: float | None = None
        """When the seconds that are not booked yet began; None: no turn runs."""
        self._payer = ""
        self._asked = ("", "")
        self._estimated = 0
        self._closed = False
        self._factor = 1.0
        """Tokens that the server counts for one of ours."""

    def begin(self, provider: str, model: str) -> None:
        """A turn begins, or goes on, with this model."""
        self._asked = provider, model
        if self._since is None:
            self._since = self._clock()

    def close(self) -> None:
        """Refuse everything from now on: who works here was given up. From any thread."""
        self._closed = True

    def end(self) -> None:
        """The turn is over. Raises StoreError."""
        self._check_open()
        seconds, self._since = self._seconds(), None
        if seconds >= 1.0:  # less is not worth a write
            self._costs.add_seconds(self._session_id, seconds)

    def guard(self, request: LlmRequest, sink: DeltaSink, asked: tuple[str, str] | None = None) -> DeltaSink:
        """Check the budget for `request`; returns `sink` with a check before it is tried again or another model is
        asked in its place. A try that broke off after it had begun is booked: it was paid for.

        `asked` are the provider and model, where they are not the session's. Raises what `budget.check` returns, and
        StoreError. Models that are asked beside it are checked together: none of them is booked before all have ended.
        """
        who = asked or self._asked
        self._check(request, *who)
        beside = Need(0, 0.0, "", "")

        def checking(delta: Delta) -> None:
            nonlocal who, beside
            if delta.kind == "reset":
                self.book(LlmReply(provider=who[0], model=who[1]))
            if delta.kind == "switch":
                who = self._asked = str(delta.params["provider"]), str(delta.params["model"])
            if delta.kind == "ask_beside":
                beside = self._check(delta.params["request"], delta.params["provider"], delta.params["model"], beside)
            if delta.kind in ("switch", "retry", "advice"):
                self._check(request, *who)
            sink(delta)

        return checking

    def book(self, reply: LlmReply, *, is_beside: bool = False) -> Bill:
        """Count what a request used, also where the server did not say how much. Raises StoreError.

        `is_beside`: it is not the one that was checked last, so it tells nothing about our estimates.
        """
        self._check_open()
        provider, model = reply.provider or self._asked[0], reply.model or self._asked[1]
        price = self._price(provider, model)
        usage = reply.usage or Usage()
        if usage.prompt_tokens and self._estimated and not is_beside:
            low, high = limits.TOKEN_FACTOR
            self._factor = min(high, max(low, usage.prompt_tokens / self._estimated))
        paid = cost(price, usage)
        seconds = self._seconds()
        booking = Booking(model, usage, paid, price.as_of if price is not None else "")
        self._costs.book(self._session_id, booking, seconds)
        if self._since is not None:
            self._since += seconds
        spent = self._costs.spent(self._session_id)
        return Bill(paid, spent.cost, spent.is_partial, self._window(provider, model))

    def _check_open(self) -> None:
        if self._closed:
            raise abandoned()

    def _seconds(self) -> float:
        return 0.0 if self._since is None else self._clock() - self._since

    def _check(self, request: LlmRequest, provider: str, model: str, beside: Need | None = None) -> Need:
        """Raises when the budget does not allow it; gives what it needs, with what those `beside` it do."""
        bound, beside = self._allowed(), beside or Need(0, 0.0, "", "")
        if not bound.is_set:
            return beside
        self._payer = self._payer or self._costs.payer(self._session_id)
        spent = self._costs.spent(self._payer)
        money = (spent.cost or 0.0) + (beside.cost or 0.0)
        used = Used(spent.tokens + beside.tokens, money, spent.seconds + self._seconds())
        self._estimated = prompt_tokens(request)
        tokens = round(self._estimated * self._factor)
        price = self._price(provider, model)
        need = Need(tokens, cost(price, Usage(tokens, 0)), provider, model)
        if (refusal := budget.check(bound, used, need)) is not None:
            raise refusal
        return Need(beside.tokens + tokens, (beside.cost or 0.0) + (need.cost or 0.0), provider, model)


def prompt_tokens(request: LlmRequest) -> int:
    """About how many tokens a request's prompt has."""
    tools = sum(view.token_count(f"{tool.name}{tool.description}{tool.parameters}") for tool in request.tools)
    return tools + sum(view.weight(message).tokens for message in request.messages)
