"""Who answers in a session, with what settings, and what that costs: the desk over real servers of several wires."""

from __future__ import annotations

import io
import json
import threading
import time

import pytest

from agent_core import events, headless
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.intents import SetModel, SetOptions, Submit
from agent_core.mind import prompt
from agent_core.names import PERSONAS
from tests.fakes.wire_server import Answer, Call, Count, Failure, WireServer

READ = Answer(calls=[Call("read_file", {"path": "a.txt"})], reasoning="I look first")


@pytest.fixture
def desk(tmp_path):
    hosts = []
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("words\n")

    def make(config=None, env=None, **overrides):
        home = tmp_path / "home" / ".nanohermes"
        home.mkdir(parents=True, exist_ok=True)
        if config is not None:
            (home / "config.yaml").write_text(json.dumps(config))
        full = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", **(env or {})}
        hosts.append(Host(Launch(work, full, overrides)))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


class Listener:
    """What a session tells."""

    def __init__(self, session):
        self.session, self.seen = session, []
        self._came = threading.Event()
        session.mailbox.listen(lambda urgent: self._came.set())

    def until(self, holds, seconds=10.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.seen += [e.event for e in self.session.mailbox.drain()]
            if found := [e for e in self.seen if holds(e)]:
                return found[-1]
            self._came.wait(0.02)
            self._came.clear()
        raise AssertionError([type(e).__name__ for e in self.seen])

    def turn(self, text="go"):
        """Run a turn; returns its end. `seen` is then what came with it."""
        self.seen = []
        self.session.send(Submit(text))
        return self.until(lambda e: isinstance(e, events.TurnFinished))

    def of(self, kind):
        return [e for e in self.seen if isinstance(e, kind)]


def servers_config(default="one/m1", **entries):
    """`entries`: (server, wire) or server, by name."""
    table = {}
    for name, entry in entries.items():
        server, wire = entry if isinstance(entry, tuple) else (entry, "chat_completions")
        table[name] = {"base_url": server.base_url, "api_mode": wire}
    provider, _, model = default.partition("/")
    return {"model": {"provider": provider, "default": model}, "providers": table, "retry": {"base_ms": 1}}


# -- another model in a session ---------------------------------------------------------------------------------------

WIRES = ("chat_completions", "anthropic_messages", "responses")


@pytest.mark.parametrize("before", WIRES)
@pytest.mark.parametrize("after", WIRES)
def test_another_model_goes_on_with_the_history_whatever_wire_either_speaks(desk, before, after):
    with WireServer(READ, Answer("it says words")) as one, WireServer(READ, Answer("still words")) as two:
        host = desk(servers_config(one=(one, before), two=(two, after)))
        listener = Listener(host.new())
        assert listener.turn().outcome == "completed"
        listener.session.send(SetModel("two/m2"))
        assert listener.turn("again").text == "still words"
        assert listener.session.stored
        messages = host.store.messages(listener.session.id)
        assert [m.model for m in messages if m.role == "assistant"] == ["m1", "m1", "m2", "m2"]
        assert len(one.requests) == len(two.requests) == 2


def test_a_chosen_model_acts_on_the_next_request_of_a_running_turn(desk):
    with WireServer(READ, Answer("never")) as one, WireServer(Answer("I am two")) as two:
        host = desk(servers_config(one=one, two=two))
        listener = Listener(host.new())
        one.refuse = lambda body: listener.session.send(SetModel("two/m2")) or None
        assert listener.turn().text == "I am two"
        assert (len(one.requests), len(two.requests)) == (1, 1)


def test_a_model_that_cannot_be_had_is_told_and_the_old_one_stays(desk):
    with WireServer(Answer("I am one")) as one:
        host = desk(servers_config(one=one))
        listener = Listener(host.new())
        for provider, code in (("groq", "no_key"), ("nowhere", "unknown_provider")):
            listener.session.send(SetModel("x", provider))
            listener.until(lambda e, code=code: isinstance(e, events.ErrorRaised) and e.code == code)
        assert listener.turn().text == "I am one"


def test_the_choice_is_stored_with_the_session_and_fails_without_another_in_its_place(desk):
    with WireServer(Answer("I am one")) as one, WireServer(Answer("I am two")) as two:
        config = servers_config(one=one, two=two)
        config["fallback_providers"] = [{"provider": "one", "model": "spare"}]
        host = desk(config)
        listener = Listener(host.new())
        listener.session.send(SetModel("m2", "two"))  # before there is anything to store
        assert listener.turn().text == "I am two"
        host.close()
        again = Listener(desk().open(listener.session.id))
        again.until(lambda e: isinstance(e, events.ModelChanged) and (e.model, e.provider) == ("m2", "two"))
        two.refuse = lambda body: Failure("server")
        end = again.turn()
        assert (end.outcome, end.error_code, one.requests) == ("failed", "server", [])
        again.session.send(SetModel(""))  # the configured one
        assert again.turn().text == "I am one"


def test_a_model_named_on_the_command_line_goes_before_the_sessions_own_and_has_no_stand_in(desk):
    with WireServer(Answer("I am one")) as one, WireServer(Answer("I am two")) as two:
        config = servers_config(one=one, two=two)
        config["fallback_providers"] = [{"provider": "two", "model": "spare"}]
        first = Listener(desk(config).new())
        first.session.send(SetModel("m2", "two"))
        assert first.turn().text == "I am two"
        host = desk(**{"model.default": "one/m1"})
        again = Listener(host.open(first.session.id))
        assert again.turn().text == "I am one"
        asked = len(two.requests)
        one.refuse = lambda body: Failure("server")
        assert again.turn().error_code == "server"
        assert len(two.requests) == asked


def test_how_much_the_model_takes_is_known_before_the_first_request(desk):
    host = desk(env={"OPENAI_API_KEY": "sk-not-a-real-one"}, **{"model.provider": "openai"})
    state = host.model.settle()
    assert host.new().context().window == host.models.window_of("openai", state.endpoint.model) is not None
    host = desk(**{"model.base_url": "http://127.0.0.1:9/v1", "model.default": "m"})
    assert host.new().context().window is None


# -- somebody stands in ---------------------------------------------------------------------------------------------


def test_who_answers_instead_of_whom_and_why_is_told_and_the_message_names_who_did(desk, monkeypatch):
    with WireServer(Answer("I am one")) as one, WireServer(READ, Answer("I am two")) as two:
        config = servers_config(one=one, two=(two, "anthropic_messages"))
        config["fallback_providers"] = [{"provider": "two", "model": "m2"}]
        host = desk(config)
        monkeypatch.setattr(host.models, "window_of", lambda provider, model: 7000 if model == "m2" else 9000)
        listener = Listener(host.new())
        one.refuse = lambda body: Failure("quota")
        assert listener.turn().text == "I am two"
        [notice] = [e for e in listener.of(events.Notice) if e.code == "fallback"]
        assert (notice.params["model"], notice.params["instead"], notice.params["code"]) == ("m2", "m1", "quota")
        assert {e.context_window for e in listener.of(events.UsageReported)} == {7000}  # of the one that answers
        assert "used up" in notice.text
        assert [e.model for e in listener.of(events.ModelChanged)] == ["m1", "m2", "m1"]
        ended = listener.seen.index(listener.of(events.TurnFinished)[0])
        changed = listener.seen.index(listener.of(events.ModelChanged)[1])
        assert changed < ended
        stored = [m.model for m in host.store.messages(listener.session.id) if m.role == "assistant"]
        assert stored == ["m2", "m2"]
        assert len(one.requests) == 1  # an empty account is not asked again, and not at each step
        assert host.store.get(listener.session.id).model == "m1"
        listener.turn("more")  # it rests
        assert len(one.requests) == 1
        assert [e.code for e in listener.of(events.Notice)] == ["fallback_resting"]


def test_keys_are_read_anew_for_each_turn_and_never_told(desk, tmp_path):
    with WireServer(Answer("ok"), key="sk-second-0002") as one:
        config = servers_config(one=one)
        config["providers"]["one"]["api_key_env"] = ["ONE_KEY"]
        host = desk(config)
        env_file = tmp_path / "home/.nanohermes/.env"
        env_file.write_text("ONE_KEY=sk-first-00001\n")
        env_file.chmod(0o600)
        listener = Listener(host.new())
        assert listener.turn().error_code == "auth"
        env_file.write_text("ONE_KEY=sk-first-00001\nONE_KEY_2=sk-second-0002\n")
        assert listener.turn().outcome == "completed"
        told = [e for e in listener.of(events.Notice) if e.code == "key_rotated"]
        assert [(e.params["key"], e.params["next"]) for e in told] == [("ONE_KEY", "ONE_KEY_2")]
        assert "sk-" not in repr(listener.seen)
        for key in ("sk-first-00001", "sk-second-0002"):
            assert key not in host.redact(f"it is {key}")


def test_a_configured_model_whose_key_is_gone_is_stood_in_for_and_that_is_told(desk):
    with WireServer(Answer("I am two")) as two:
        config = servers_config(default="openai/gpt-5", two=two)
        config["fallback_providers"] = [{"provider": "two", "model": "m2"}]
        listener = Listener(desk(config).new())
        assert listener.turn().text == "I am two"
        [told] = [e for e in listener.of(events.Notice) if e.code == "fallback_missing"]
        assert "no key for OpenAI" in told.text
        del config["fallback_providers"]
        alone = Listener(desk(config).new())
        assert alone.turn().error_code == "no_key"


# -- a session's own settings ---------------------------------------------------------------------------------------


def test_settings_act_on_the_next_request_and_are_there_again_after_a_resume(desk):
    with WireServer(READ, Answer("done")) as one:
        config = servers_config(one=one)
        config["personalities"] = {"pirate": "Speak like a pirate."}
        host = desk(config)
        listener = Listener(host.new())
        one.refuse = lambda body: listener.session.send(SetOptions("pirate", 0.25, "low")) or None
        listener.turn()
        first, second = one.bodies
        assert ("temperature" in first, "reasoning_effort" in first) == (False, False)
        assert (second["temperature"], second["reasoning_effort"]) == (0.25, "low")
        assert "pirate" not in str(first["messages"][0])
        assert "Speak like a pirate." in str(second["messages"][0])
        host.close()
        again = Listener(desk().open(listener.session.id))
        told = again.until(lambda e: isinstance(e, events.OptionsChanged))
        assert (told.persona, told.temperature, told.reasoning_effort) == ("pirate", 0.25, "low")
        again.turn()
        assert (one.bodies[-1]["temperature"], one.bodies[-1]["reasoning_effort"]) == (0.25, "low")
        assert one.bodies[-1]["messages"][0] == second["messages"][0]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (SetOptions(persona="nobody"), "unknown_persona"),
        (SetOptions(temperature=2.5), "bad_temperature"),
        (SetOptions(temperature=float("nan")), "bad_temperature"),
        (SetOptions(reasoning_effort="enormous"), "bad_effort"),
    ],
)
def test_a_setting_that_cannot_be_is_told_and_changes_nothing(desk, wanted, code):
    with WireServer(Answer("ok")) as one:
        listener = Listener(desk(servers_config(one=one)).new())
        listener.session.send(wanted)
        listener.until(lambda e: isinstance(e, events.ErrorRaised) and e.code == code)
        listener.turn()
        assert "temperature" not in one.bodies[-1]
        assert set(listener.of(events.OptionsChanged)) <= {events.OptionsChanged()}


def test_a_persona_may_be_written_as_hermes_has_it_and_one_that_is_gone_has_no_words(desk):
    with WireServer(Answer("ok")) as one:
        config = servers_config(one=one)
        config["agent"] = {"personalities": {"calm": {"system_prompt": "Be calm.", "tone": "Softly."}}}
        host = desk(config)
        assert host.personas()["calm"] == "Be calm.\nSoftly."
        listener = Listener(host.new())
        listener.session.send(SetOptions("calm"))
        listener.turn()
        assert "Be calm.\\nSoftly." in json.dumps(one.bodies[0]["messages"][0])
        host.close()
        del config["agent"]
        again = Listener(desk(config).open(listener.session.id))
        again.turn()
        assert "Be calm" not in json.dumps(one.bodies[-1]["messages"][0])


def test_personas_come_with_the_program_and_the_config_goes_before_them(desk):
    with WireServer(Answer("ok")) as one:
        config = servers_config(one=one)
        config["personalities"] = {"teacher": "Teach.", "reviewer": ""}
        found = desk(config).personas()
        assert set(PERSONAS) - set(found) == {"reviewer"}
        assert found["teacher"] == "Teach."
        assert found["concise"] == prompt.text("persona_concise")


# -- what it costs ----------------------------------------------------------------------------------------------------

PRICES = {"m1": {"input": 1000, "output": 10_000, "cached": 100}}
COUNT = Count(prompt=1000, reply=10, cached=500)


def priced(server, **more):
    config = servers_config(one=server)
    config["providers"]["one"]["prices"] = PRICES
    return {**config, **more}


def test_a_turn_tells_its_cost_and_a_resumed_session_what_it_has_cost_so_far(desk):
    with WireServer(Answer("ok", count=COUNT)) as one:
        host = desk(priced(one))
        listener = Listener(host.new())
        listener.turn()
        [told] = listener.of(events.UsageReported)
        expected = (500 * 1000 + 500 * 100 + 10 * 10_000) / 1e6
        assert (told.model, told.cost, told.session_cost) == ("m1", pytest.approx(expected), pytest.approx(expected))
        listener.turn()
        assert listener.of(events.UsageReported)[0].session_cost == pytest.approx(2 * expected)
        usage = host.usage(listener.session.id)
        assert [(m.model, m.requests, m.usage.cached_tokens, m.pricing) for m in usage.spent.models] == [
            ("m1", 2, 1000, "config")
        ]
        host.close()
        again = Listener(desk().open(listener.session.id))
        loaded = again.until(lambda e: isinstance(e, events.UsageLoaded))
        assert (loaded.usage.prompt_tokens, loaded.session_cost) == (2000, pytest.approx(2 * expected))


def test_a_model_on_this_machine_costs_nothing_and_another_without_a_price_nobody_knows_what(desk):
    with WireServer(Answer("ok")) as one:
        config = servers_config(one=one)
        config["providers"]["one"]["preset"] = "vllm"
        host = desk(config)
        listener = Listener(host.new())
        listener.turn()
        assert listener.of(events.UsageReported)[0].session_cost == 0.0
    with WireServer(Answer("ok")) as one:
        host = desk(servers_config(one=one))
        listener = Listener(host.new())
        listener.turn()
        told = listener.of(events.UsageReported)[0]
        assert (told.cost, told.session_cost, told.at_least) == (None, None, True)


BUDGETS = {
    "tokens": ({"tokens": 14_000}, "budget_tokens"),
    "money": ({"cost": 14.0}, "budget_cost"),
}


@pytest.mark.parametrize(("bound", "code"), BUDGETS.values(), ids=BUDGETS)
def test_a_budget_ends_the_turn_before_the_request_that_would_pass_it(desk, bound, code):
    with WireServer(Answer(calls=[Call("read_file", {"path": "a.txt"})], count=Count(prompt=5_000, reply=10))) as one:
        host = desk(priced(one, budget=bound))
        listener = Listener(host.new())
        end = listener.turn()
        assert (end.outcome, end.error_code, len(one.requests)) == ("cap", code, 2)
        [told] = listener.of(events.ErrorRaised)
        assert f"--set {code.replace('_', '.')}=N" in told.text
        assert host.store.messages(listener.session.id)[-1].result is not None  # the history is whole
        asked = len(one.requests)
        assert listener.turn("more").outcome == "cap"
        assert len(one.requests) == asked


def test_a_budget_of_money_refuses_a_model_whose_price_is_not_known(desk):
    with WireServer(Answer("ok")) as one:
        listener = Listener(desk(servers_config(one=one), **{"budget.cost": "1.5"}).new())
        end = listener.turn()
        assert (end.outcome, end.error_code, one.requests) == ("failed", "budget_unpriced", [])
        assert "providers.one.prices.m1" in listener.of(events.ErrorRaised)[0].text


def test_without_a_screen_a_budget_ends_with_its_exit_code_and_the_result_has_the_cost(desk, capsys):
    with WireServer(Answer("ok", count=COUNT)) as one:
        host, out = desk(priced(one)), io.StringIO()
        assert headless.run(host, host.new(), "hi", "json", out) == 0
        result = json.loads(out.getvalue())
        assert result["cost"] == {"turn_usd": 0.65, "session_usd": 0.65, "at_least": False}
        host.close()
        host, out = desk(priced(one, budget={"tokens": 10})), io.StringIO()
        assert headless.run(host, host.new(), "hi", "json", out) == 3
        assert json.loads(out.getvalue())["errors"][0]["code"] == "budget_tokens"
        assert "--set budget.tokens=N" in capsys.readouterr().err


# -- what there is to choose from -------------------------------------------------------------------------------------


def test_the_models_of_every_provider_that_is_set_up_are_listed_at_once_and_asked_once(desk):
    with WireServer(Answer("ok")) as one, WireServer(Answer("ok")) as two:
        config = servers_config(one=one, two=two)
        config["providers"]["dead"] = {"base_url": "http://127.0.0.1:9/v1", "model": "silent"}
        host = desk(config)
        before = {each.provider: each.models for each in host.models.listed_before()}
        assert before == {"one": ("m1",), "two": (), "dead": ("silent",)}
        listed = {each.provider: each for each in host.models.listed()}
        assert listed["one"].models == ("m1", "test-model")
        assert listed["two"].models == ("test-model",)
        assert listed["dead"].problem
        assert host.models.listed_before() == tuple(listed.values())


def test_the_demo_costs_nothing(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    host = Host(Launch(work, {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}, {}, demo=True))
    assert host.models.price("demo", "demo").rates.input == 0
    host.close()
