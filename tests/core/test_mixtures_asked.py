"""The models of a mixture are asked for advice: all at once, when it is due, and who fails is left out."""

from __future__ import annotations

import json
import threading
import time

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.desk.models import Models, ModelSettings
from agent_core.errors import Interrupted, ProviderError
from agent_core.llm import mixtures
from agent_core.llm.providers import ProviderOptions
from agent_core.messages import Message, user
from agent_core.ports.model import LlmRequest
from nanoherm_tui import i18n
from tests.core.mixture_support import KEYS, advising, mixtures_made, steps
from tests.fakes.model_server import ModelServer, Reply


@pytest.fixture
def mixed():
    with mixtures_made() as made:
        yield made


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
