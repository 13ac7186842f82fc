"""What a model's tokens cost, and how many it takes: dated data, and what the user's config says instead.

Every figure is an estimate from the date in `prices.json`. A model that is not known has no price, which is not 0;
servers on this machine and free models cost 0. Source: LLM-34.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from agent_core.messages import Usage
from agent_core.records import dataclass

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Of those read from the cache; None: as `input`."""
    cache_write: float | None = None
    """Of those written to it; None: as `input`."""


@dataclass(frozen=True, slots=True)
class Price:
    """What one model costs."""

    rates: Rates
    tiers: tuple[tuple[int, Rates], ...] = ()
    """(above so many tokens of prompt, what the whole request costs), rising."""
    as_of: str = ""
    """The date of the figures, or where they are from: "config", "local"."""
    source: str = ""

    def rates_for(self, prompt_tokens: int) -> Rates:
        found = self.rates
        for above, rates in self.tiers:
            if prompt_tokens > above:
                found = rates
        return found


HOUR_WRITE = 1.6
"""What a write that is kept for an hour costs against one that is kept for five minutes: 2 and 1.25 times the input."""


def for_an_hour(price: Price) -> Price:
    """`price` with what servers take for a cache that is kept for an hour; most take nothing for writes at all."""

    def hour(rates: Rates) -> Rates:
        return replace(rates, cache_write=rates.cache_write * HOUR_WRITE) if rates.cache_write else rates

    return replace(price, rates=hour(price.rates), tiers=tuple((above, hour(rates)) for above, rates in price.tiers))


FREE = Price(Rates(0.0, 0.0), as_of="local")


def cost(price: Price | None, usage: Usage) -> float | None:
    """US dollars of one request; None when its price, or what it used, is not known."""
    if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return 0.0 if price is not None and price.as_of == FREE.as_of else None
    rates = price.rates_for(usage.prompt_tokens)
    cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
    written = min(usage.cache_write_tokens or 0, usage.prompt_tokens - cached)
    fresh = usage.prompt_tokens - cached - written
    return (
        fresh * rates.input
        + cached * (rates.input if rates.cached is None else rates.cached)
        + written * (rates.input if rates.cache_write is None else rates.cache_write)
        + output_tokens(usage) * rates.output
    ) / MILLION


def output_tokens(usage: Usage) -> int:
    """The tokens that are paid as output. Some servers count reasoning beside the answer: then only the total tells."""
    sent, answer, reasoning = usage.prompt_tokens or 0, usage.completion_tokens or 0, usage.reasoning_tokens or 0
    beside = bool(reasoning) and usage.total_tokens == sent + answer + reasoning
    return answer + reasoning if beside else answer


def price_of(provider: str, model: str, overrides: Mapping[str, Any] | None = None) -> Price | None:
    """The price of `model` at `provider`. `overrides` is the `prices` of the provider's entry in the config.

    There, `input`, `output`, `cached` and `cache_write` stand by model; a name that ends with * is any that begins so.
    """
    for name in sorted(overrides or {}, key=len, reverse=True):
        entry = (overrides or {})[name]
        if isinstance(entry, Mapping) and _is_meant(name, model) and (rates := _rates(entry)) is not None:
            return Price(rates, as_of="config", source=f"providers.{provider}.prices")
    if model.endswith(":free"):
        return Price(FREE.rates, as_of=FREE.as_of, source="free")
    found = _find(provider, model)
    if found is None:
        return None
    entry, of = found
    rates = _rates(entry)
    tiers = tuple((int(tier["above"]), r) for tier in entry.get("tiers", ()) if (r := _rates(tier)) is not None)
    return Price(rates, tiers, str(of["as_of"]), str(of["source"])) if rates is not None else None


def context_of(provider: str, model: str) -> int | None:
    """How many tokens `model` takes in all, where that is known. Aggregators and local servers are not asked here."""
    found = _find(provider, model)
    return int(found[0]["context"]) if found is not None and "context" in found[0] else None


def _is_meant(name: str, model: str) -> bool:
    return model.startswith(name[:-1]) if name.endswith("*") else _same_model(name, model)


def _rates(entry: Mapping[str, Any]) -> Rates | None:
    """The figures of an entry; None when one that is needed is missing or none is a price."""

    def figure(name: str) -> float | None:
        value = entry.get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None

    sent, answered = figure("input"), figure("output")
    if sent is None or answered is None:
        return None
    return Rates(sent, answered, figure("cached"), figure("cache_write"))


# What may follow a model's name without making it another model: a date, a number of three or more digits, a stage.
_RELEASE = re.compile(
    r"(?:[-@:](?:20\d\d-?\d\d-?\d\d|\d{6,8}|\d{3,4}|\d\d-\d\d|latest|preview|exp|beta|stable|v\d+|it|instruct))*\Z"
)


def _same_model(name: str, model: str) -> bool:
    """Whether `model` is `name`, or a release of it."""
    name, model = name.lower(), model.lower()
    return model.startswith(name) and _RELEASE.match(model, len(name)) is not None


def _find(provider: str, model: str) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """The entry of a model, the one with the longest name that fits, and the list it stands in."""
    providers = _data()["providers"]
    listed = providers.get(provider)
    if listed is None:
        return None
    if same := listed.get("as"):
        return _find(same, model)
    model = model.removeprefix("models/")
    fitting = [name for name in listed["models"] if _same_model(name, model)]
    if fitting:
        return listed["models"][max(fitting, key=len)], listed
    vendor, slash, rest = model.partition("/")
    if slash and (at := listed.get("vendors", {}).get(vendor)):
        # An aggregator writes claude-sonnet-4.5 for what its vendor calls claude-sonnet-4-5.
        return _find(at, rest) or _find(at, rest.replace(".", "-"))
    return None


@cache
def _data() -> Mapping[str, Any]:
    text = resources.files("agent_core.llm").joinpath("prices.json").read_text("utf-8")
    data: Mapping[str, Any] = json.loads(text)
    return data
