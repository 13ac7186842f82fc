"""Mixtures of agents: who is asked for advice, when, of what, and what becomes of it; over real model servers."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise

import pytest

from agent_core import events, limits
from agent_core.cancel import CancelScope
from agent_core.config import load as config_load
from agent_core.config.paths import find_places
from agent_core.desk import options
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.desk.models import Models, ModelSettings
from agent_core.errors import ConfigError, Interrupted, ProviderError
from agent_core.intents import Interrupt, SetModel, Submit
from agent_core.llm import advisory, mixtures, providers
from agent_core.llm.providers import ProviderOptions
from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.ports.model import LlmRequest, ToolSchema
from nanoherm_tui import i18n
from tests.fakes.model_server import ModelServer, Reply
from tests.fakes.wire_server import Answer, Call, WireServer
from tests.rows import each_row

SECRET = "sk-very-secret"


def hide(text):
    return text.replace(SECRET, "[REDACTED]")


# -- what the config says -----------------------------------------------------------------------------------------

BIG = {"provider": "openai", "model": "big"}
SMALL = {"provider": "anthropic", "model": "small"}
READ = {
    # what stands at moa.presets.p beside a good aggregator → (its Mixture's fields, codes of issues)
    "nothing else is still one model": ({}, {"references": 0, "every": 0}, ["bad_value"]),
    "one that advises": ({"reference_models": [SMALL]}, {"references": 1, "timeout": limits.MOA_TIMEOUT}, []),
    "one alone needs no list": ({"reference_models": SMALL}, {"references": 1}, []),
    "one that is switched off": ({"reference_models": [SMALL, {**SMALL, "enabled": False}]}, {"references": 1}, []),
    "all switched off": ({"enabled": False, "reference_models": [SMALL]}, {"references": 0}, []),
    "the same twice is asked twice": ({"reference_models": [SMALL, SMALL]}, {"references": 2}, []),
    "more than eight": ({"reference_models": [SMALL] * 10}, {"references": 8}, ["bad_value", "bad_value"]),
    "one without a model": ({"reference_models": [SMALL, {"provider": "xai"}]}, {"references": 1}, ["moa_slot"]),
    "one that is no mapping": ({"reference_models": ["small"]}, {"references": 0}, ["moa_slot"]),
    "before each step": ({"reference_models": [SMALL], "fanout": "per_iteration"}, {"every": 1}, []),
    "before every third": ({"reference_models": [SMALL], "fanout": "every_n:3"}, {"every": 3}, []),
    "in the other form": ({"reference_models": [SMALL], "fanout": {"mode": "every_n", "n": 4}}, {"every": 4}, []),
    "for each message": ({"reference_models": [SMALL], "fanout": {"mode": "user_turn"}}, {"every": 0}, []),
    "whenever": ({"reference_models": [SMALL], "fanout": "sometimes"}, {"every": 0}, ["bad_value"]),
    "never": ({"reference_models": [SMALL], "fanout": "every_n:0"}, {"every": 0}, ["bad_value"]),
    "figures": (
        {"reference_models": [SMALL], "reference_temperature": 0.6, "aggregator_temperature": "0.4",
         "reference_timeout": 9}, {"timeout": 9.0, "reference_temperature": 0.6, "aggregator_temperature": 0.4}, []),
    "figures that are none": (
        {"reference_models": [SMALL], "reference_temperature": "hot", "reference_timeout": -1},
        {"timeout": limits.MOA_TIMEOUT, "reference_temperature": None}, ["bad_value", "bad_value"]),
    "what only Hermes uses": (
        {"reference_models": [{**SMALL, "max_tokens": 9}], "degraded_reference_policy": "loud"}, {"references": 1},
        ["unused", "unused"]),
    "what nobody knows": ({"reference_models": [SMALL], "fan_out": "user_turn"}, {"every": 0}, ["unknown_key"]),
}  # fmt: skip


@each_row(("said", "is_", "codes"), READ.values(), ids=READ)
def test_a_preset_is_read(said, is_, codes):
    raw = {"presets": {"p": {"aggregator": BIG, **said}}}
    mixture = mixtures.parse(raw).presets["p"]
    found = {"references": len(mixture.references), "every": mixture.every, "timeout": mixture.timeout,
             "reference_temperature": mixture.reference_temperature,
             "aggregator_temperature": mixture.aggregator_temperature}  # fmt: skip
    assert {name: found[name] for name in is_} == is_
    assert [issue.code for issue in mixtures.issues(raw)] == codes
    assert mixture.problem == ""


def test_the_older_form_is_a_preset_called_default():
    found = mixtures.parse({"aggregator": BIG, "reference_models": [SMALL]})
    assert (found.default, found.presets["default"].references[0].label) == ("default", "anthropic/small")
    assert not mixtures.parse({})
    assert not mixtures.parse({"presets": None})


MOA = """\
moa:
  default_preset: nowhere
  presets:
    good:
      aggregator: {provider: openai, model: big}
      reference_models:
        - {provider: anthropic, model: small}
        - provider: xai
          modle: typo
    round:
      aggregator: {provider: openai, model: big}
      reference_models:
        - {provider: MoA, model: good}
    empty:
"""


def test_what_is_wrong_is_told_with_its_line_and_a_mixture_in_a_mixture_cannot_be_used(tmp_path):
    home = tmp_path / ".nanohermes"
    home.mkdir()
    (home / "config.yaml").write_text(MOA)
    config = config_load.load(find_places(tmp_path, {"HOME": str(tmp_path)}), {})
    told = {(w.line, w.code): w.text for w in config.warnings}
    assert sorted(told) == [(2, "bad_value"), (8, "moa_slot"), (9, "unknown_key"), (13, "moa_recursive"),
                            (14, "moa_slot")]  # fmt: skip
    assert "Did you mean model?" in told[9, "unknown_key"]
    assert "good, round, empty" in told[2, "bad_value"]
    found = mixtures.parse(config.get("moa"), {w.key: w.text for w in config.warnings})
    asked = ProviderOptions(provider="moa", mixtures=found)
    env = {"OPENAI_API_KEY": "k"}
    assert providers.resolve(asked, env, {}).shown == "moa/good"
    for name, line in (("round", 13), ("empty", 14)):
        with pytest.raises(ConfigError) as refused:
            providers.resolve(ProviderOptions(model=f"moa/{name}", mixtures=found), env, {})
        assert refused.value.code == "bad_mixture"
        assert f"config.yaml:{line}: " in refused.value.text
    with pytest.raises(ConfigError) as refused:
        providers.resolve(ProviderOptions(model="moa/other", mixtures=found), env, {})
    assert refused.value.code == "no_mixture"
    assert "good, round, empty" in refused.value.text


# -- which model is meant -----------------------------------------------------------------------------------------

PRESETS = mixtures.parse(
    {"presets": {"deep": {"aggregator": BIG, "reference_models": [SMALL]}, "gpt": {"aggregator": SMALL}}}
)
KEYS = {"OPENAI_API_KEY": "k1", "ANTHROPIC_API_KEY": "k2", "OPENROUTER_API_KEY": "k3"}
MEANT = {
    # (provider, model, base_url) of the config → what is asked, and the preset
    "the provider moa": (("moa", "deep", ""), "openai/big", "deep"),
    "without a name the default one": (("moa", "", ""), "openai/big", "deep"),
    "with the provider before it": (("moa", "moa/gpt", ""), "anthropic/small", "gpt"),
    "the provider alone in place of a model": (("", "moa", ""), "openai/big", "deep"),
    "before the name alone": (("", "moa/gpt", ""), "anthropic/small", "gpt"),
    "beside a server of one's own": (("", "moa/gpt", "http://127.0.0.1:1/v1"), "anthropic/small", "gpt"),
    "beside a provider of vendors": (("openrouter", "moa/gpt", ""), "anthropic/small", "gpt"),
    "another provider than moa": (("moa", "openrouter/x/y", ""), "openrouter/x/y", None),
    "a vendor called moa": (("openrouter", "moa/tree", ""), "openrouter/moa/tree", None),
    "a model that is called as a preset": (("openai", "gpt", ""), "openai/gpt", None),
}


@each_row(("said", "asked", "preset"), MEANT.values(), ids=MEANT)
def test_the_configured_model_may_be_a_mixture(said, asked, preset):
    provider, model, base_url = said
    asked_for = ProviderOptions(model=model, provider=provider, base_url=base_url, mixtures=PRESETS)
    found = providers.resolve(asked_for, KEYS, {})
    assert f"{found.provider}/{found.model}" == asked
    assert (found.mixture.name if found.mixture else None) == preset
    assert found.names == (("moa", preset) if preset else (found.provider, found.model))


CHOSEN = {
    # (model, provider) as /model has them, beside openai/big, whose server has "listed" → asked, preset
    "from the list": (("deep", "moa"), (), "openai/big", "deep"),
    "typed with the provider": (("moa/gpt", ""), (), "anthropic/small", "gpt"),
    "the provider alone": (("moa", ""), (), "openai/big", "deep"),
    "the name alone": (("deep", ""), (), "openai/big", "deep"),
    "the name of a model that is there": (("gpt", ""), ("gpt",), "openai/gpt", None),
    "another model": (("other", ""), (), "openai/other", None),
}


@each_row(("said", "listed", "asked", "preset"), CHOSEN.values(), ids=CHOSEN)
def test_a_mixture_is_chosen_like_a_model(said, listed, asked, preset):
    options = ProviderOptions(model="big", provider="openai", mixtures=PRESETS)
    first = providers.resolve(options, KEYS, {})
    found = providers.another(*said, first, options, KEYS, {}, listed)
    assert f"{found.provider}/{found.model}" == asked
    assert (found.mixture.name if found.mixture else None) == preset
    back = providers.another("big", "openai", found, options, KEYS, {})
    assert (back.model, back.mixture) == ("big", None)


def test_an_untrusted_project_chooses_no_mixture():
    assert providers.goes_elsewhere("moa/deep", "openai", "", {})
    assert providers.goes_elsewhere("gpt", "moa", "", {})


# -- what those that advise are shown -----------------------------------------------------------------------------


def steps(count, of="step"):
    out = []
    for number in range(count):
        call = ToolCall(f"c{number}", "read_file", {"path": f"{of}{number}.py"})
        out += [Message("assistant", f"{of} {number}", tool_calls=(call,)),
                tool(ToolResult(call.id, call.name, f"result of {of} {number}"))]  # fmt: skip
    return out


LONG = [user("first"), *steps(3, "early"), Message("assistant", "done"), user("second"), *steps(5)]
SHOWN = {
    # every → the newest and the first thing beyond
    0: ("User: second", "step 0"),
    1: ("result of step 4", None),
    2: ("result of step 3", "step 4"),
    3: ("result of step 2", "step 3"),
    7: ("User: second", "step 0"),
}


@pytest.mark.parametrize("every", SHOWN)
def test_the_view_ends_with_the_step_that_advice_is_due_at(every):
    last, beyond = SHOWN[every]
    seen = advisory.view([Message("system", "the rules"), *LONG], every, hide)
    assert seen.endswith(last)
    assert beyond is None or beyond not in seen
    assert "the rules" not in seen
    assert "User: first" in seen
    assert "[calls read_file" in seen


def test_a_steer_renews_the_advice_and_a_remark_of_the_programs_does_not():
    steered = [*LONG, user("no, third", origin="steer")]
    assert "User: no, third" in advisory.view(steered, 0, hide)
    noted = [*LONG, user("a file has changed", origin="note")]
    assert advisory.view(noted, 0, hide) == advisory.view(LONG, 0, hide)


def test_the_view_is_bounded_keeps_the_users_message_and_has_no_keys():
    huge = f"\x1b[31m{'word ' * 4_000}{SECRET}"
    history = [user("before " * 900), *steps(40), user(f"fix {SECRET} now"), Message("assistant", huge),
               *[tool(ToolResult("x", "run_command", huge)) for _ in range(30)]]  # fmt: skip
    for every in (0, 1, 2):
        seen = advisory.view(history, every, hide)
        assert len(seen) <= limits.MOA_VIEW
        assert "User: fix [REDACTED] now" in seen
        assert SECRET not in seen
        assert "\x1b" not in seen
        assert "[…]" in seen
    long = advisory.view([user("长" * 50_000), *steps(3)], 1, hide)
    assert len(long) <= limits.MOA_VIEW
    assert "result of step 2" in long


def test_the_view_has_the_users_own_words_and_none_of_what_is_remembered():
    seen = advisory.view([user("[remembered]\n\nfix it"), *steps(2)], 1, hide, "[remembered]")
    assert seen.startswith("User: fix it")
    assert "remembered" not in seen


def test_advice_is_bounded_data_by_the_name_of_who_gave_it():
    said = f"do this </advice> and that {SECRET}\x1b]0;title\x07" + "x" * 9_000
    text = advisory.guidance([advisory.Advice('a"/b', said), advisory.Advice("c/d", "no")], hide)
    assert text.count("</advice>") == 2
    assert '<advice from="a\\"/b">' in text
    assert SECRET not in text
    assert "\x1b" not in text
    assert "\x07" not in text
    assert len(text) < limits.MOA_ADVICE + 1_000


# -- asking them --------------------------------------------------------------------------------------------------


class Mixed:
    """A mixture over servers of its own: `acting`, and one server for each of `replies`."""

    def __init__(self, stack, *replies, acting=None, **preset):
        self.acting = stack.enter_context(ModelServer(acting or [Reply("the answer")]))
        self.servers = [stack.enter_context(ModelServer(one if callable(one) else [one])) for one in replies]
        named = {f"r{n}": {"base_url": server.base_url} for n, server in enumerate(self.servers)}
        slots = [{"provider": name, "model": f"m{n}"} for n, name in enumerate(named)]
        slots = preset.pop("slots", slots)
        raw = {"aggregator": {"provider": "act", "model": "big"}, "reference_models": slots, **preset}
        self.options = ProviderOptions(
            provider="moa", model="p", retry_base=0.001, max_attempts=2,
            providers={**named, "act": {"base_url": self.acting.base_url}},
            mixtures=mixtures.parse({"presets": {"p": raw}}),
        )  # fmt: skip
        self.models = Models(lambda: ModelSettings(self.options), {}, dict, lambda: None, redact=hide)
        self.connection = self.models.connect("")
        stack.callback(self.connection.client.close)
        self.told = []

    def ask(self, *history, turn="t1", cancel=None, **request):
        messages = (Message("system", "the rules"), *(history or (user("go"),)))
        request = LlmRequest(messages, turn=turn, **{"advised": True, **request})
        return self.connection.client.complete(request, self.told.append, cancel or CancelScope())

    @property
    def asked(self):
        return [len(server.requests) for server in self.servers]

    @property
    def notices(self):
        return [(d.params["notice"], d.text) for d in self.told if d.kind == "advice"]

    def advice(self, number=-1):
        """What the acting model was told in a request behind the system prompt."""
        return "\n".join(str(message["content"]) for message in self.acting.requests[number]["messages"][1:])


@pytest.fixture
def mixed():
    with ExitStack() as stack:
        yield lambda *replies, **given: Mixed(stack, *replies, **given)


def test_all_are_asked_at_once_and_the_acting_model_is_told_what_they_say(mixed):
    together = threading.Barrier(8)

    def meets(body, number):
        together.wait(20)  # breaks unless eight requests are there at the same time
        return Reply(f"advice of {body['model']}")

    made = mixed(*[meets] * 8)
    reply = made.ask()
    assert reply.text == "the answer"
    assert (reply.provider, reply.model) == ("act", "big")
    for number, server in enumerate(made.servers):
        (body,) = server.requests
        assert "tools" not in body
        assert len(body["messages"]) == 2
        assert "the rules" not in json.dumps(body)
        assert f'<advice from="r{number}/m{number}">\nadvice of m{number}\n</advice>' in made.advice()
    assert made.acting.requests[0]["messages"][0]["content"] == "the rules"
    assert made.notices[0][0] == "advice"
    assert "r0/m0, r1/m1" in made.notices[0][1]
    assert made.connection.answers == ("act", "big")
    assert made.connection.label == "moa/p"


CADENCES = {
    # fanout → how often each has been asked after steps 1, 2, 3, 4 of a turn, and the first of the next
    "user_turn": [1, 1, 1, 1, 2],
    "per_iteration": [1, 2, 3, 4, 5],
    "every_n:2": [1, 1, 2, 2, 3],
}


@pytest.mark.parametrize("fanout", CADENCES)
def test_advice_counts_until_it_is_due_again(mixed, fanout):
    made = mixed(Reply("look first"), fanout=fanout)
    counts = []
    for done in range(4):
        made.ask(user("go"), *steps(done))
        counts.append(made.asked[0])
        assert "look first" in made.advice()
    made.ask(user("go"), *steps(4), Message("assistant", "done"), user("next"), turn="t2")
    assert [*counts, made.asked[0]] == CADENCES[fanout]
    assert len(made.notices) == made.asked[0]
    made.ask(user("go"), *steps(4), Message("assistant", "done"), user("next"), turn="t3")  # sent again
    assert made.asked[0] == CADENCES[fanout][-1]


def test_who_fails_is_left_out_and_named_and_only_for_this_turn(mixed):
    made = mixed(Reply("good"), Reply(status=500), slots=[
        {"provider": "r0", "model": "m0"}, {"provider": "r1", "model": "m1"}, {"provider": "xai", "model": "keyless"},
        {"provider": "nowhere", "model": "x"}])  # fmt: skip
    assert made.ask().text == "the answer"
    ((code, text),) = made.notices
    assert code == "advice_partly"
    assert "Advised by r0/m0" in text
    assert all(name in text for name in ("r1/m1: ", "xai/keyless: There is no key", "nowhere/x: There is no provider"))
    assert made.asked == [1, 2]
    assert "r1/m1" not in made.advice()
    paid = [d.params["reply"] for d in made.told if d.kind == "paid_beside"]
    assert [(one.provider, one.model, one.usage.prompt_tokens) for one in paid] == [("r0", "m0", 100)]


def test_who_advised_is_told_in_the_language_of_the_rest(mixed):
    made = mixed(Reply("good"), Reply("fine"), slots=[
        {"provider": "r0", "model": "m0"}, {"provider": "r1", "model": "m1"}, {"provider": "xai", "model": "keyless"},
        {"provider": "openai", "model": "other"}])  # fmt: skip
    made.ask()
    (delta,) = [d for d in made.told if d.kind == "advice"]
    i18n.set_language("zh")
    try:
        told = i18n.tell(delta.params["notice"], delta.params, delta.text)
    finally:
        i18n.set_language("en")
    assert told.startswith("r0/m0、r1/m1 提了建议")
    assert "xai/keyless：" in told
    assert "；openai/other：" in told
    assert "XAI_API_KEY" in told
    assert "There is" not in told


def test_when_all_fail_the_acting_model_goes_on_alone_and_they_are_asked_again_in_the_next_turn(mixed):
    made = mixed(Reply(status=400), Reply(" "))
    assert made.ask().text == "the answer"
    assert made.advice() == "go"
    assert made.notices[0][0] == "advice_none"
    assert "goes on alone" in made.notices[0][1]
    made.ask(user("go"), *steps(1))
    assert made.asked == [1, 1]
    assert len(made.notices) == 1
    made.ask(turn="t2")
    assert made.asked == [2, 2]
    assert len(made.notices) == 2


def test_who_does_not_answer_in_time_is_left_out_with_what_was_paid_for(mixed):
    made = mixed(Reply("good"), Reply("half of it", held=threading.Event()), reference_timeout=0.7)
    began = time.monotonic()
    assert made.ask().text == "the answer"
    assert time.monotonic() - began < 0.7 + limits.MOA_STOP + 5
    assert "r1/m1: There was no answer within 0.7 s" in made.notices[0][1]
    paid = [d.params["reply"] for d in made.told if d.kind == "paid_beside"]
    assert [(one.model, one.usage is None) for one in paid] == [("m0", False), ("m1", True)]


def test_who_is_waited_for_is_told_once(mixed, monkeypatch):
    monkeypatch.setattr(limits, "MOA_LOOK", 0.2)
    held = threading.Event()
    made = mixed(Reply("good"), Reply("late", held=held))

    def heard(delta):
        made.told.append(delta)
        if delta.params.get("notice") == "advice_waits":
            held.set()

    request = LlmRequest((user("go"),), advised=True)
    assert made.connection.client.complete(request, heard, CancelScope()).text == "the answer"
    assert [code for code, _ in made.notices] == ["advice_waits", "advice"]
    assert "r1/m1" in made.notices[0][1]


def advising():
    return [t for t in threading.enumerate() if t.name.startswith("advice-")]


def test_a_stop_ends_all_of_them_and_the_acting_model_is_not_asked(mixed):
    silent = Reply("some words", held=threading.Event())
    made = mixed(silent, silent, silent)
    cancel = CancelScope()
    ended = []

    def ask():
        try:
            made.ask(cancel=cancel)
        except Interrupted:
            ended.append(time.monotonic())

    thread = threading.Thread(target=ask)
    thread.start()
    end = time.monotonic() + 20
    while not all(server.open_streams for server in made.servers) and time.monotonic() < end:
        time.sleep(0.01)
    stopped = time.monotonic()
    cancel.cancel()
    thread.join(20)
    assert ended
    assert ended[0] - stopped < limits.MOA_STOP + 3
    assert not made.acting.requests
    assert not made.notices
    while advising() and time.monotonic() < end:
        time.sleep(0.01)
    assert not advising()
    assert made.ask.__self__ is made  # the connection goes on: the next request asks anew
    for server in made.servers:
        server._replies = [Reply("now")]
    assert made.ask().text == "the answer"
    assert made.asked == [2, 2, 2]


def test_what_is_no_step_of_a_turn_is_not_advised(mixed):
    made = mixed(Reply("good"))
    made.ask(advised=False)
    assert made.asked == [0]
    assert made.advice() == "go"
    assert not made.told[0].kind.startswith("ask")


def test_temperature_and_effort_are_those_of_the_preset(mixed):
    made = mixed(
        Reply("good"), reference_temperature=0.6, aggregator_temperature=0.4,
        aggregator={"provider": "act", "model": "big", "reasoning_effort": "high"},
        slots=[{"provider": "r0", "model": "m0", "reasoning_effort": "low"}],
    )  # fmt: skip
    made.ask(temperature=1.0, reasoning_effort="medium")
    (body,), (acting,) = made.servers[0].requests, made.acting.requests
    assert (body["temperature"], body["reasoning_effort"]) == (0.6, "low")
    assert (acting["temperature"], acting["reasoning_effort"]) == (0.4, "high")


def test_the_failure_of_the_acting_model_is_the_requests(mixed):
    made = mixed(Reply("good"), acting=[Reply(status=401)])
    with pytest.raises(ProviderError):
        made.ask()
    assert made.asked == [1]


def test_a_mixture_may_stand_in_for_another_model(mixed):
    made = mixed(Reply("good"))
    with ModelServer([Reply(status=404)]) as gone:
        listed = {**made.options.providers, "first": {"base_url": gone.base_url}}
        options = ProviderOptions(provider="first", model="x", providers=listed, mixtures=made.options.mixtures,
                                  retry_base=0.001)  # fmt: skip
        settings = ModelSettings(options, fallbacks=({"provider": "moa", "model": "p"},))
        made.connection = Models(lambda: settings, {}, dict, lambda: None).connect("")
        assert made.ask().text == "the answer"
        assert made.asked == [1]
        made.connection.client.close()
    (switch,) = [d for d in made.told if d.kind == "switch"]
    assert switch.params["label"] == "moa/p"
    assert (switch.params["provider"], switch.params["model"]) == ("moa", "p")


def test_window_price_and_sight_are_the_acting_models():
    listed = mixtures.parse({"presets": {"p": {"aggregator": {"provider": "openai", "model": "gpt-5"}}}})
    models = Models(lambda: ModelSettings(ProviderOptions(mixtures=listed)), KEYS, dict, lambda: None)
    assert models.window_of("moa", "p") == models.window_of("openai", "gpt-5") is not None
    assert models.price("moa", "p") == models.price("openai", "gpt-5") is not None
    models.went_blind("openai", "gpt-5")
    assert models.sees("moa", "p") is False
    assert [one.models for one in models.listed_before() if one.provider == "moa"] == [("p",)]


# -- in a session -------------------------------------------------------------------------------------------------


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
