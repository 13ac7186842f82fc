"""Hard bounds on what a session and its children may use: tokens, money, minutes. Pure; meter.py has the figures."""

from __future__ import annotations

from agent_core.errors import BudgetReached, ConfigError
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """0 = no bound."""

    tokens: int = 0
    """Of all requests, what was sent and what came."""
    cost: float = 0.0
    """US dollars."""
    minutes: float = 0.0
    """That turns have run."""

    @property
    def is_set(self) -> bool:
        return bool(self.tokens or self.cost or self.minutes)


@dataclass(frozen=True, slots=True)
class Used:
    """What has been used so far."""

    tokens: int = 0
    cost: float = 0.0
    """What is known of it."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Need:
    """What the next request is known to use: its prompt."""

    tokens: int
    cost: float | None
    """None: the model's price is not known."""
    provider: str
    model: str


def check(budget: Budget, used: Used, need: Need) -> BudgetReached | ConfigError | None:
    """Why the next request may not be sent, None when it may.

    BudgetReached "budget_tokens", "budget_cost" or "budget_minutes"; ConfigError "budget_unpriced": there is a bound on
    money, and the price of the model is not known.
    """
    if budget.minutes and used.seconds >= budget.minutes * 60:
        return _reached("budget_minutes", f"{budget.minutes:g} min", f"{used.seconds / 60:.1f} min are used")
    if budget.tokens and used.tokens + need.tokens > budget.tokens:
        words = f"{used.tokens:,} are used, and the next request needs about {need.tokens:,}"
        return _reached("budget_tokens", f"{budget.tokens:,} tokens", words)
    if not budget.cost:
        return None
    if need.cost is None:
        return ConfigError(
            "budget_unpriced",
            f"budget.cost is set, but what {need.model} of {need.provider} costs is not known. Give its price for a "
            f"million tokens in the config, at providers.{need.provider}.prices.{need.model}: {{input: 1.0, output: "
            "2.0}, or choose another model with /model, or set budget.cost to 0.",
            model=need.model,
            provider=need.provider,
        )
    if used.cost + need.cost > budget.cost:
        words = f"${used.cost:.2f} are used, and the next request costs at least ${need.cost:.2f}"
        return _reached("budget_cost", f"${budget.cost:g}", words)
    return None


def _reached(code: str, bound: str, words: str) -> BudgetReached:
    setting = code.replace("_", ".", 1)
    return BudgetReached(
        code,
        f"The session's budget of {bound} is reached: {words}. Raise {setting} in the config or with --set "
        f"{setting}=N (0 = no bound) and resume the session, or start a new one with /new.",
        bound=bound,
        used=words,
        setting=setting,
    )
