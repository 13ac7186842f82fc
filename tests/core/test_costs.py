"""What requests cost: dated prices, the sums that are kept, and the budgets that are hard."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from agent_core.errors import BudgetReached, ConfigError
from agent_core.llm.prices import FREE, Price, Rates, context_of, cost, for_an_hour, price_of
from agent_core.llm.providers import PRESETS
from agent_core.messages import Message, Usage, user
from agent_core.mind import budget
from agent_core.mind.budget import Budget, Need, Used
from agent_core.mind.meter import Meter, prompt_tokens
from agent_core.ports.model import Delta, LlmReply, LlmRequest, ToolSchema
from agent_core.store.sessions import Store
from agent_core.store.usage import Booking
from tests.rows import each_row

# -- prices -----------------------------------------------------------------------------------------------------------

MODELS = {
    # (provider, model) → the name in the data, None: no price is known
    ("openai", "gpt-5"): "gpt-5",
    ("openai", "gpt-5-2025-08-07"): "gpt-5",
    ("openai", "GPT-5"): "gpt-5",
    ("openai", "gpt-5-mini-2025-08-07"): "gpt-5-mini",
    ("openai", "gpt-5.1-codex-mini"): "gpt-5.1-codex-mini",
    ("openai", "gpt-5.99"): None,  # another model, not a release of gpt-5
    ("openai", "gpt-5-brandnew"): None,
    ("openai", "gpt"): None,
    ("azure", "gpt-4o-mini"): "gpt-4o-mini",
    ("anthropic", "claude-sonnet-4-5-20250929"): "claude-sonnet-4-5",
    ("anthropic", "claude-opus-4-8-20260601"): "claude-opus-4-8",
    ("anthropic", "claude-sonnet-4-9"): None,
    ("anthropic", "claude-sonnet-6"): None,
    ("openrouter", "anthropic/claude-sonnet-4.5"): "claude-sonnet-4-5",
    ("openrouter", "openai/gpt-5"): "gpt-5",
    ("openrouter", "nobody/x"): None,
    ("openrouter", "claude-sonnet-4.5"): None,
    ("gemini", "models/gemini-2.5-pro-preview-05-06"): "gemini-2.5-pro",
    ("groq", "llama-3.3-70b-versatile"): "llama-3.3-70b-versatile",
    ("custom", "gpt-5"): None,
    ("nobody", "gpt-5"): None,
}


def data():
    return json.loads(resources.files("agent_core.llm").joinpath("prices.json").read_text())["providers"]


def rates_in_data(name):
    return next(e["models"][name]["input"] for e in data().values() if name in e.get("models", {}))


@each_row(("asked", "name"), MODELS.items())
def test_a_model_is_found_by_its_longest_name_and_a_release_of_it_too(asked, name):
    price = price_of(*asked)
    assert (price and price.rates.input) == (name and rates_in_data(name))
    if price is not None:
        assert price.as_of[:2] == "20"
        assert price.source


def test_the_data_has_a_date_and_a_source_for_every_list_and_no_price_that_cannot_be():
    for name, entry in data().items():
        assert name in PRESETS
        if "as" in entry:
            assert entry["as"] in data()
            continue
        assert len(entry["as_of"]) == 10
        assert entry["source"]
        assert entry["models"]
        for model, figures in entry["models"].items():
            assert 0 <= figures.get("cached", 0) <= figures["input"] <= figures["output"] * 4, model
            assert price_of(name, model) is not None
            assert 1_000 < figures["context"] <= 10_000_000
            rising = [tier["above"] for tier in figures.get("tiers", ())]
            assert rising == sorted(rising)
    for preset in PRESETS.values():
        if preset.default_model and preset.needs_key:
            assert price_of(preset.name, preset.default_model) is not None, preset.default_model
            assert context_of(preset.name, preset.default_model), preset.default_model


RATES = Price(Rates(10.0, 100.0, cached=1.0, cache_write=12.5))
COSTS = {
    "what was sent and what came": (RATES, Usage(1000, 100), 0.02),
    "what was cached is cheaper": (RATES, Usage(1000, 0, cached_tokens=900), 0.0019),
    "what was written to the cache is dearer": (
        RATES, Usage(1000, 0, cached_tokens=400, cache_write_tokens=600), 0.0079),
    "without a price for the cache it is as the rest": (
        Price(Rates(10.0, 100.0)), Usage(1000, 0, cached_tokens=400, cache_write_tokens=600), 0.01),
    "reasoning is in the answer": (RATES, Usage(0, 100, 100, reasoning_tokens=80), 0.01),
    "or beside it, as the total tells": (RATES, Usage(0, 100, 180, reasoning_tokens=80), 0.018),
    "more cached than sent cannot be": (RATES, Usage(100, 0, cached_tokens=500), 0.0001),
    "a long prompt has another price": (
        Price(Rates(1.0, 1.0), ((1000, Rates(2.0, 2.0)), (5000, Rates(4.0, 4.0)))), Usage(5001, 0), 5001 * 4e-6),
    "up to its bound not yet": (Price(Rates(1.0, 1.0), ((1000, Rates(2.0, 2.0)),)), Usage(1000, 0), 1000e-6),
    "what is not known is not nothing": (RATES, Usage(1000, None), None),
    "no price": (None, Usage(1, 1), None),
    "on this machine nothing, whatever was used": (FREE, Usage(), 0.0),
}  # fmt: skip


@each_row(("price", "usage", "expected"), COSTS.values(), ids=COSTS)
def test_a_request_costs(price, usage, expected):
    assert cost(price, usage) == (None if expected is None else pytest.approx(expected))


OVERRIDES = {
    "by name": ({"m": {"input": 1, "output": 2}}, "m", 1.0),
    "for a release of it": ({"m": {"input": 1, "output": 2}}, "m-2025-01-01", 1.0),
    "for all that begin so": ({"qwen*": {"input": 3, "output": 2}}, "qwen3:30b", 3.0),
    "the longest name first": ({"q*": {"input": 3, "output": 2}, "qwen*": {"input": 4, "output": 2}}, "qwen3", 4.0),
    "over what is known": ({"gpt-5": {"input": 0.5, "output": 2}}, "gpt-5", 0.5),
    "one that lacks a figure is none": ({"gpt-5": {"input": 0.5}}, "gpt-5", 1.25),
    "nor is one that is no number": ({"gpt-5": {"input": "x", "output": True}}, "gpt-5", 1.25),
    "nor is one below nothing": ({"gpt-5": {"input": -1, "output": 1}}, "gpt-5", 1.25),
    "nor is a text": ({"gpt-5": "cheap"}, "gpt-5", 1.25),
}


@each_row(("overrides", "model", "expected"), OVERRIDES.values(), ids=OVERRIDES)
def test_a_price_from_the_config_goes_first(overrides, model, expected):
    price = price_of("openai", model, overrides)
    assert price.rates.input == expected
    assert (price.as_of == "config") is (expected != 1.25)


def test_a_cache_that_is_kept_for_an_hour_is_dearer_to_write():
    price = for_an_hour(price_of("anthropic", "claude-haiku-5-5"))
    assert (price.rates.cache_write, price.rates.cached) == (pytest.approx(0.2), 0.01)
    assert price.tiers[0][1].cache_write == pytest.approx(1.0)
    assert for_an_hour(price_of("openai", "gpt-5")) == price_of("openai", "gpt-5")


# -- budgets ----------------------------------------------------------------------------------------------------------


def need(tokens=100, cost=0.1):
    return Need(tokens, cost, "prov", "mod")


VERDICTS = {
    "no bound": (Budget(), Used(10**9, 10**6, 10**6), need(), None),
    "within": (Budget(1000, 1.0, 1.0), Used(900, 0.9, 59.9), need(), None),
    "the prompt counts": (Budget(tokens=1000), Used(901), need(), "budget_tokens"),
    "used up": (Budget(tokens=1000), Used(1000), need(1), "budget_tokens"),
    "money": (Budget(cost=1.0), Used(cost=0.95), need(), "budget_cost"),
    "money that is not spent": (Budget(cost=1.0), Used(10**9, 0.9), need(), None),
    "time": (Budget(minutes=2), Used(seconds=120), need(), "budget_minutes"),
    "a price that is not known": (Budget(cost=1.0), Used(), need(cost=None), "budget_unpriced"),
    "is no matter without a bound on money": (Budget(tokens=1000, minutes=1), Used(), need(cost=None), None),
    "what is free is never too dear": (Budget(cost=0.01), Used(), need(cost=0.0), None),
}


@each_row(("bound", "used", "wanted", "code"), VERDICTS.values(), ids=VERDICTS)
def test_a_budget_lets_a_request_go_or_says_why_not(bound, used, wanted, code):
    verdict = budget.check(bound, used, wanted)
    assert (verdict and verdict.code) == code
    if isinstance(verdict, BudgetReached):
        setting = code.replace("_", ".")
        assert f"--set {setting}=N" in verdict.text
        assert "/new" in verdict.text
    elif verdict is not None:
        assert isinstance(verdict, ConfigError)
        assert "providers.prov.prices.mod" in verdict.text
        assert "/model" in verdict.text


# -- what is kept -----------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "state.db")
    yield store
    store.close()


def child_of(store, parent, source=""):
    row = store.create("/w")
    store.database.write(
        lambda c: c.execute("UPDATE sessions SET parent_session_id = ?, source = ? WHERE id = ?",
                            (parent, source, row.id)))  # fmt: skip
    return row.id


def test_sums_are_kept_by_model_and_say_what_is_missing_of_them(store):
    session = store.create("/w").id
    for booking in (
        Booking("a", Usage(10, 1, 11, cached_tokens=4), 0.25, "2025-01-01"),
        Booking("a", Usage(5, 2, 7, reasoning_tokens=1), 0.25, "2025-02-02"),
        Booking("b", Usage(), None),
    ):
        store.costs.book(session, booking, 1.5)
    spent = store.costs.spent(session)
    a, b = spent.models
    assert (a.model, a.requests, a.cost, a.unpriced, a.pricing) == ("a", 2, 0.5, 0, "2025-02-02")
    assert (a.usage.cached_tokens, a.usage.reasoning_tokens) == (4, 1)
    assert (b.requests, b.cost, b.unpriced, b.usage) == (1, 0.0, 1, Usage())
    assert (spent.tokens, spent.cost, spent.is_partial, spent.requests, spent.seconds) == (18, 0.5, True, 3, 4.5)


def test_a_session_without_a_known_price_costs_nobody_knows_what(store):
    session = store.create("/w").id
    assert store.costs.spent(session).cost == 0.0  # nothing was asked
    store.costs.book(session, Booking("b", Usage(1, 1), None))
    assert store.costs.spent(session).cost is None


def test_children_count_towards_their_parent_and_a_fork_does_not(store):
    root = store.create("/w").id
    child = child_of(store, root)
    grandchild = child_of(store, child, "subagent")
    fork = store.fork(root).id
    child_of_fork = child_of(store, fork)
    for session, tokens in ((root, 1), (child, 10), (grandchild, 100), (fork, 1000), (child_of_fork, 10_000)):
        store.costs.book(session, Booking("m", Usage(tokens, 0), 1.0), 60.0)
    spent = {name: store.costs.spent(s) for name, s in (("root", root), ("child", child), ("fork", fork))}
    assert {name: s.tokens for name, s in spent.items()} == {"root": 111, "child": 110, "fork": 11_000}
    assert {name: s.cost for name, s in spent.items()} == {"root": 3.0, "child": 2.0, "fork": 2.0}
    assert spent["root"].seconds == 60.0  # its children ran within its own turns
    payers = [store.costs.payer(s) for s in (root, child, grandchild, fork, child_of_fork)]
    assert payers == [root, root, root, fork, fork]


def test_a_circle_of_parents_is_no_endless_loop(store):
    a = store.create("/w").id
    b = child_of(store, a)
    store.database.write(lambda c: c.execute("UPDATE sessions SET parent_session_id = ? WHERE id = ?", (b, a)))
    store.costs.book(a, Booking("m", Usage(1, 0), 1.0))
    assert store.costs.spent(b).tokens == 1
    assert store.costs.payer(b) in (a, b)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


REQUEST = LlmRequest((user("x" * 400),))


def meter_of(store, bound, session=None, price=RATES):
    session = session or store.create("/w").id
    clock = Clock()
    meter = Meter(store.costs, session, lambda provider, model: price, lambda: bound, clock)
    meter.begin("p", "m")
    return meter, clock, session


def test_the_tokens_of_a_child_end_the_parents_budget_and_the_parents_end_the_childs(store):
    root = store.create("/w").id
    child = child_of(store, root)
    bound = Budget(tokens=1000)
    for one in (root, child):
        meter_of(store, bound, one)[0].guard(REQUEST, print)
    store.costs.book(child, Booking("m", Usage(950, 0), None))
    for one in (root, child):
        with pytest.raises(BudgetReached):
            meter_of(store, bound, one)[0].guard(REQUEST, print)


def test_the_time_of_a_turn_counts_while_it_runs_and_is_kept_with_its_requests(store):
    meter, clock, session = meter_of(store, Budget(minutes=1))
    clock.now = 40.0
    meter.guard(REQUEST, print)
    meter.book(LlmReply("x", usage=Usage(1, 1), model="m"))
    assert store.costs.spent(session).seconds == 40.0
    clock.now = 59.0
    meter.guard(REQUEST, print)
    clock.now = 61.0
    with pytest.raises(BudgetReached) as caught:
        meter.guard(REQUEST, print)
    assert caught.value.code == "budget_minutes"
    meter.end()
    assert store.costs.spent(session).seconds == 61.0
    clock.now = 1_000.0
    meter.begin("p", "m")  # between turns no time runs
    with pytest.raises(BudgetReached):
        meter.guard(REQUEST, print)
    meter.end()
    assert store.costs.spent(session).seconds == 61.0


def test_another_model_that_is_asked_in_its_place_is_checked_before_it_is(store):
    meter, _, _ = meter_of(store, Budget(cost=1.0))
    meter._price = lambda provider, model: RATES if model == "m" else None
    told = []
    sink = meter.guard(REQUEST, told.append)
    sink(Delta("text", "x"))
    with pytest.raises(ConfigError) as caught:
        sink(Delta("switch", "", {"provider": "p2", "model": "m2"}))
    assert (caught.value.code, len(told)) == ("budget_unpriced", 1)


def test_a_request_is_checked_again_before_it_is_tried_again(store):
    meter, clock, _ = meter_of(store, Budget(minutes=1))
    sink = meter.guard(REQUEST, print)
    sink(Delta("retry", "Trying again."))
    clock.now = 61.0
    with pytest.raises(BudgetReached):
        sink(Delta("retry", "Trying again."))


def test_a_try_that_broke_off_counts_though_nobody_says_how_much_it_was(store):
    meter, _, session = meter_of(store, Budget())
    meter.guard(REQUEST, print)(Delta("reset"))
    bill = meter.book(LlmReply("x", usage=Usage(1000, 100), model="m"))
    assert (bill.session_cost, bill.at_least) == (pytest.approx(0.02), True)
    assert store.costs.spent(session).requests == 2


def test_what_the_server_did_not_count_is_booked_as_not_known(store):
    meter, _, session = meter_of(store, Budget())
    bill = meter.book(LlmReply("x", model="m"))
    assert (bill.cost, bill.session_cost, bill.at_least) == (None, None, True)
    bill = meter.book(LlmReply("x", usage=Usage(1000, 100), model="m"))
    assert (bill.cost, bill.session_cost, bill.at_least) == (pytest.approx(0.02), pytest.approx(0.02), True)
    assert store.costs.spent(session).requests == 2


def test_a_prompts_tokens_are_estimated_from_its_texts_and_tools():
    plain = prompt_tokens(LlmRequest((user("a" * 4000),)))
    assert 900 < plain < 1200
    assert 900 < prompt_tokens(LlmRequest((user("汉" * 1000),))) < 1400
    tool = ToolSchema("t", "d" * 4000, {"type": "object"})
    assert prompt_tokens(LlmRequest((Message("system", "s"),), (tool,))) > 900
