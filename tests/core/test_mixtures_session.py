"""A session whose model is a mixture: what it costs, on every wire, and the models of its sub-agents."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from itertools import pairwise

import pytest

from agent_core import events, limits
from agent_core.config import load as config_load
from agent_core.config.paths import find_places
from agent_core.desk import options
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.desk.models import Models, ModelSettings
from agent_core.intents import Interrupt, SetModel, Submit
from agent_core.llm import providers
from agent_core.messages import Message, ToolResult, tool, user
from agent_core.ports.model import ToolSchema
from tests.core.mixture_support import BIG, KEYS, SMALL, advising, mixtures_made, steps
from tests.fakes.model_server import Reply
from tests.fakes.wire_server import Answer, Call, WireServer


@pytest.fixture
def mixed():
    with mixtures_made() as made:
        yield made


@pytest.fixture
def desk(tmp_path, mixed):
    """A program run whose config has the mixture `p` of the servers, and whose own model is another one."""
    hosts = []
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("words\n")

    def made(*replies, config=None, **given):
        prices = {"m*": {"input": 10, "output": 10}, "big": {"input": 100, "output": 100}}
        of = mixed(*replies, **given)
        listed = {name: {**entry, "prices": prices} for name, entry in of.options.providers.items()}
        slots = [{"provider": f"r{n}", "model": f"m{n}"} for n in range(len(replies))]
        preset = {"aggregator": {"provider": "act", "model": "big"}, "reference_models": slots}
        preset |= {key: value for key, value in given.items() if key != "acting"}
        said = {
            "model": {"provider": "moa", "default": "p"},
            "providers": listed,
            "moa": {"presets": {"p": preset}},
            "memory": {"enabled": False},
            "retry": {"base_ms": 1},
            **(config or {}),
        }
        home = tmp_path / "home" / ".nanohermes"
        home.mkdir(parents=True)
        (home / "config.yaml").write_text(json.dumps(said))
        env = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
        hosts.append(Host(Launch(tmp_path / "work", env, {})))
        return hosts[-1], of

    yield made
    for host in hosts:
        host.close()


class Heard:
    """A session with what it tells."""

    def __init__(self, host):
        self.session, self.seen = host.new(), []

    def until(self, holds, seconds=20.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.seen += [e.event for e in self.session.mailbox.drain()]
            if found := [e for e in self.seen if holds(e)]:
                return found[-1]
            time.sleep(0.01)
        raise AssertionError(self.seen)

    def turn(self, text):
        self.seen = []
        self.session.send(Submit(text))
        return self.until(lambda e: isinstance(e, events.TurnFinished))

    def of(self, kind):
        return [e for e in self.seen if isinstance(e, kind)]


READS = Reply(calls=[("read_file", {"path": "a.txt"})])


def test_a_turn_counts_what_advice_costs_and_keeps_none_of_it(desk):
    host, of = desk(Reply("advice one"), Reply("advice two"), acting=[READS, Reply("the answer")])
    heard = Heard(host)
    assert heard.turn("go").text == "the answer"
    assert of.asked == [1, 1]
    assert len(of.acting.requests) == 2
    assert all("advice one" in of.advice(n) for n in (0, 1))
    spent = host.store.costs.spent(heard.session.id)
    assert {m.model: (m.requests, m.usage.prompt_tokens) for m in spent.models} == {
        "m0": (1, 100), "m1": (1, 100), "big": (2, 200)}  # fmt: skip
    told = heard.of(events.UsageReported)
    assert sum((e.usage for e in told[1:]), told[0].usage) == spent.usage
    assert spent.cost == pytest.approx((2 * 110 * 10 + 2 * 110 * 100) / 1e6) == told[-1].session_cost
    assert [e.code for e in heard.of(events.Notice)] == ["advice"]
    assert heard.of(events.ModelChanged)[0].label == "moa/p"
    kept = json.dumps([m.text for m in host.store.messages(heard.session.id)])
    assert "the answer" in kept
    assert "advice" not in kept
    row = host.store.get(heard.session.id)
    assert (row.model, row.provider) == ("p", "moa")


def test_a_budget_holds_for_advice_too(desk):
    host, of = desk(Reply("one"), Reply("two"), config={"budget": {"tokens": 6_000}})
    heard = Heard(host)
    heard.turn("go")
    assert of.asked == [1, 1]
    big = Reply("much", usage={"prompt_tokens": 90_000, "completion_tokens": 1, "total_tokens": 90_001})
    of.servers[0]._replies = of.servers[1]._replies = [big]
    ended = heard.turn("again")
    assert ended.error_code == "budget_tokens"
    assert len(of.acting.requests) == 1


@pytest.mark.parametrize("wire", ["chat_completions", "anthropic_messages", "responses"])
def test_every_wire_takes_advice_behind_results_and_the_conversation_before_it_stays_as_it_was(mixed, wire):
    made = mixed(Reply("look first"), fanout="per_iteration")
    answers = [
        Answer(calls=[Call("read_file", {"path": "a.txt"})], reasoning="I look"),
        Answer("done"),
        Answer("again"),
    ]
    with WireServer(*answers) as acting:
        entry = {"base_url": acting.base_url, "api_mode": wire, "api_key": "k"}
        made.options = replace(made.options, providers={**made.options.providers, "act": entry})
        made.connection = made.models.connect("")
        schema = ToolSchema("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
        asked = {"tools": (schema,)}
        said = [user("go")]
        reply = made.ask(*said, **asked)
        said.append(Message("assistant", reply.text, tool_calls=reply.tool_calls, extra=reply.extra, model=reply.model,
                            reasoning=reply.reasoning))  # fmt: skip
        said.append(tool(ToolResult(reply.tool_calls[0].id, "read_file", "words")))
        reply = made.ask(*said, **asked)
        said += [Message("assistant", reply.text, extra=reply.extra, model=reply.model), user("more")]
        made.ask(*said, turn="t2", **asked)
        made.connection.client.close()
    history = [bare(body.get("messages") or body.get("input")) for body in acting.bodies]
    assert made.asked == [3]
    assert len(history) == 3  # none was refused and sent again
    assert [json.dumps(one).count("</advice>") for one in history] == [1, 2, 3]
    for before, after in pairwise(history):
        assert after[: len(before)] == before


def bare(value):
    """A request without the marks of caches."""
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key != "cache_control"}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def test_a_small_window_holds_little_advice(mixed):
    made = mixed(Reply("x" * 9_000), Reply("y" * 9_000))
    made.models = Models(lambda: ModelSettings(made.options, window=4_000), {}, dict, lambda: None)
    made.connection = made.models.connect("")
    made.ask()
    assert 1_000 < len(made.advice()) < 2_700
    made.connection.client.close()


def test_old_advice_goes_all_at_once_when_it_has_become_too_long(mixed, monkeypatch):
    monkeypatch.setattr(limits, "MOA_KEPT", 3_000)
    made = mixed(Reply("x" * 900), fanout="per_iteration")
    said, held = [user("go")], []
    for number in range(6):
        made.ask(*said)
        held.append(made.advice().count("</advice>"))
        said += steps(1, f"s{number} ")
    assert held == [1, 2, 1, 2, 1, 2]


def test_a_sub_agent_without_a_model_of_its_own_has_the_mixture(desk):
    def acts(body, number):
        told = str(body["messages"][-1]["content"])
        if "count the files" in told:
            return Reply("there are three")
        return Reply("so be it") if body["messages"][-1]["role"] == "tool" else hands_over

    hands_over = Reply(calls=[("subagent", {"name": "worker", "task": "count the files"})])
    host, of = desk(Reply("advice"), acting=acts, config={"delegation": {"builtin_agents": True}})
    heard = Heard(host)
    assert heard.turn("go").text == "so be it"
    assert of.asked == [2]
    assert "count the files" in json.dumps(of.servers[0].requests[1])
    spent = host.store.costs.spent(heard.session.id)
    assert {m.model: m.requests for m in spent.models} == {"m0": 2, "big": 3}


def test_a_session_goes_to_a_mixture_and_back(desk):
    host, of = desk(Reply("advice"), config={"model": {"provider": "act", "default": "big"}})
    heard = Heard(host)
    heard.turn("go")
    assert of.asked == [0]
    heard.session.send(SetModel("p"))
    heard.until(lambda e: isinstance(e, events.ModelChanged) and e.label == "moa/p")
    heard.turn("go on")
    assert of.asked == [1]
    assert "advice" in of.advice()
    heard.session.send(SetModel(""))
    heard.until(lambda e: isinstance(e, events.ModelChanged) and e.label == "big")
    heard.turn("and on")
    assert of.asked == [1]
    assert "advice" not in of.advice()


def test_a_stopped_turn_leaves_nobody_asking(desk):
    silent = Reply("some words", held=threading.Event())
    host, of = desk(silent, silent)
    heard = Heard(host)
    heard.session.send(Submit("go"))
    end = time.monotonic() + 20
    while not all(server.open_streams for server in of.servers) and time.monotonic() < end:
        time.sleep(0.01)
    heard.session.send(Interrupt())
    assert heard.until(lambda e: isinstance(e, events.TurnFinished)).outcome == "interrupted"
    while advising() and time.monotonic() < end:
        time.sleep(0.01)
    assert not advising()
    assert not of.acting.requests
    spent = host.store.costs.spent(heard.session.id)
    assert {m.model for m in spent.models} <= {"m0", "m1"}  # those that had come to words: they were paid for


# -- the model of sub-agents --------------------------------------------------------------------------------------


CHILDREN = {
    # delegation in the config → provider, model and address that a sub-agent is asked at
    "nothing is the parent's": ({}, None),
    "a model of another provider": ({"model": "openai/mini"}, ("openai", "mini", "https://api.openai.com/v1")),
    "provider and model apart": (
        {"provider": "openai", "model": "mini"}, ("openai", "mini", "https://api.openai.com/v1")),
    "a provider's usual model": ({"provider": "openai"}, ("openai", "gpt-5", "https://api.openai.com/v1")),
    "a server of their own": (
        {"base_url": "http://127.0.0.1:9/v1", "model": "tiny", "api_key_env": "TINY_KEY"},
        ("delegation", "tiny", "http://127.0.0.1:9/v1")),
    "an address without a model": ({"base_url": "http://127.0.0.1:9/v1"}, None),
    "a mixture": ({"model": "moa/deep"}, ("openai", "big", "https://api.openai.com/v1")),
}  # fmt: skip


@pytest.mark.parametrize(("said", "asked"), CHILDREN.values(), ids=CHILDREN)
def test_sub_agents_have_the_model_that_the_config_gives_them(tmp_path, said, asked):
    home = tmp_path / ".nanohermes"
    home.mkdir()
    presets = {"deep": {"aggregator": BIG, "reference_models": [SMALL]}}
    config = {"model": {"provider": "anthropic", "default": "own"}, "delegation": said, "moa": {"presets": presets}}
    (home / "config.yaml").write_text(json.dumps(config))
    loaded = config_load.load(find_places(tmp_path, {"HOME": str(tmp_path)}), {})
    assert loaded.warnings == ()
    crew = options.crew(loaded)
    assert bool(crew.model or crew.provider) == (asked is not None)
    if asked is None:
        return
    keys = {**KEYS, "TINY_KEY": "t", "NANOHERMES_API_KEY": "mine"}
    models = Models(lambda: options.models(loaded), keys, dict, lambda: None)
    (found,) = models.plan(options.models(loaded), crew.model, crew.provider, crew.fallbacks).endpoints
    assert (found.provider, found.model, found.base_url) == asked
    assert found.key is not None
    assert found.key.reveal() == ("t" if found.provider == "delegation" else "k1")
    assert "TINY_KEY" in providers.variables(options.provider(loaded)) or asked[0] != "delegation"


def test_how_deep_sub_agents_go_is_fixed_and_told(tmp_path):
    home = tmp_path / ".nanohermes"
    home.mkdir()
    (home / "config.yaml").write_text("delegation:\n  max_spawn_depth: 2\n")
    (warning,) = config_load.load(find_places(tmp_path, {"HOME": str(tmp_path)}), {}).warnings
    assert (warning.line, warning.code) == (2, "bad_value")
    assert "must be 1, which is fixed" in warning.text
