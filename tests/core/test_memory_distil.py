"""What is made of turns that have ended: which are looked at, what is believed, and that nobody waits for it."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

import pytest

from agent_core import events, intents, limits
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.errors import Interrupted, ProviderError
from agent_core.extras.learning import Learner
from agent_core.extras.memory import MemoryOptions
from agent_core.knowledge import Memory
from agent_core.memory.entries import Entries
from agent_core.messages import Message, ToolCall, ToolResult, Usage, tool, user
from agent_core.mind import distil
from agent_core.mind.budget import Budget
from agent_core.mind.meter import Meter
from agent_core.ports.extras import EndedTurn
from agent_core.ports.model import LlmReply
from agent_core.session.services import Connection, Seat
from agent_core.store.sessions import Store
from agent_core.tools.remember import Keeping
from tests.core.session_support import PlayedModel, call, say
from tests.core.test_memory import KEY, REFUSED, Remembering, hide
from tests.fakes.model_server import ModelServer, Reply
from tests.rows import each_row

CALLED = Message("assistant", "", tool_calls=(ToolCall("c1", "read_file", {}),))
RESULT = tool(ToolResult("c1", "read_file", "The tests need Redis on port 7000.", outcome="1 line"))


def ended(text, answer="done", *messages, completed=True):
    return EndedTurn("t1", completed, text, answer, (user(text), *messages), "m", "test")


@each_row(
    ("turn", "looked_at"),
    [
        (ended("ok"), False),
        (ended("thanks"), False),
        (ended("好的"), False),
        (ended("特别好"), False),
        (ended("x" * limits.DISTIL_LEAST), True),
        (ended("ok", "done", CALLED, RESULT), True),
        (ended("no, use uv"), True),
        (ended("don't"), True),
        (ended("不要用 pip"), True),
        (ended("错了,用 uv"), True),
        (ended("以后用 uv"), True),
        (ended("x" * limits.DISTIL_LEAST, completed=False), False),
        (ended("no, use uv", "", CALLED, RESULT, completed=False), False),
        (replace(ended("no, use uv"), stood_in=True), False),
        (ended("go on", "done", user("no, use uv", origin="steer")), True),
        (ended("go on", "done", user("no, use uv", origin="note")), False),
    ],
)
def test_only_turns_in_which_something_can_have_been_learnt_are_looked_at(turn, looked_at):
    assert distil.is_worth_it(turn) is looked_at


# -- what is believed ---------------------------------------------------------------------------------------------

TURN = ended("Please use uv, we do not use pip here.", "I installed it with uv.", CALLED, RESULT)
KNOWN = (Memory("k1", "fact", "The tests need Redis."), Memory("k2", "fact", "Nothing."))


def entry(**more):
    return {"kind": "preference", "text": "Use uv, not pip.", "quote": "we do not use pip here", **more}


def read(*entries, reply=None):
    shown = distil.material(TURN, KNOWN)
    return distil.read(reply or LlmReply(json.dumps(list(entries))), shown, KNOWN)


@pytest.mark.parametrize(
    "proposed",
    [
        entry(),
        entry(kind="correction", quote="Please USE  uv,"),
        entry(kind="fact", text="Redis is on port 7000.", quote="Redis on port 7000"),  # of a tool's result
        entry(kind="lesson", quote="I installed it with uv"),  # of the answer
    ],
)
def test_an_entry_that_shows_words_of_the_turn_is_believed(proposed):
    (((memory, everywhere),),) = (read(proposed),)
    assert (memory.kind, memory.text, memory.origin) == (proposed["kind"], proposed["text"], "distilled")
    assert memory.observed == " ".join(proposed["quote"].split())
    assert not everywhere
    assert not memory.verified


@each_row(
    "proposed",
    [
        entry(quote="we always use poetry here"),  # nobody said that
        entry(quote=""),
        entry(quote="uv"),  # stands everywhere
        entry(quote=None),
        entry(quote="Redis on port 7000"),  # what a file says is no wish of the person's
        entry(kind="correction", quote="I installed it with uv"),  # nor is what the model said
        entry(kind="order"),
        entry(text=" "),
        entry(text=["a"]),
        "text",
        None,
        7,
    ],
)
def test_an_entry_that_the_turn_does_not_bear_out_is_dropped(proposed):
    assert read(proposed) == ()


@each_row(
    ("text", "count"),
    [
        (json.dumps([entry()]), 1),
        (f"Here you are:\n```json\n{json.dumps([entry()])}\n```\n", 1),
        (json.dumps([entry()] * 9), limits.DISTIL_ENTRIES),
        ("[]", 0),
        ("", 0),
        ("nothing worth it", 0),
        ('[{"kind": ', 0),
        (json.dumps({"kind": "fact"}), 0),
        ("[" * 50_000 + "]" * 50_000, 0),
    ],
)
def test_whatever_the_answer_is_it_makes_a_few_entries_at_most(text, count):
    assert len(read(reply=LlmReply(text))) == count


def test_what_an_entry_builds_on_is_kept_with_it():
    (((memory, everywhere),),) = (read(entry(builds_on=[1, 1, 2, 9, 0, "x"], everywhere=True)),)
    assert memory.derived == ("k1", "k2")
    assert everywhere


def test_what_the_person_put_in_while_the_turn_ran_is_their_own_word_and_a_note_of_the_programs_is_not():
    turn = ended("fix it", "done", user("we do not use pip here", origin="steer"), user("use conda", origin="note"))
    shown = distil.material(turn, ())
    for quote, believed in (("we do not use pip here", 1), ("use conda", 0)):
        assert len(distil.read(LlmReply(json.dumps([entry(quote=quote)])), shown, ())) == believed


def test_what_is_shown_of_a_turn_is_bounded_and_fenced():
    huge = ended("u" * 50_000, "a" * 50_000, *[m for _ in range(60) for m in (CALLED, RESULT)])
    shown = distil.material(huge, ())
    assert len(json.dumps(shown)) < 2 * limits.DISTIL_TEXT + limits.DISTIL_STEPS * (limits.DISTIL_RESULT + 200) + 1000
    asked = distil.request(shown, "m")
    _, mark, *_ = asked.messages[1].text.split()
    assert asked.messages[1].text.count(mark) == 2
    assert not asked.stream
    assert distil.request(shown, "m").messages[1].text.split()[1] != mark


# -- in a session -------------------------------------------------------------------------------------------------

LEARNS = MemoryOptions(distils=True)
FOUND = say(json.dumps([entry()]), usage=Usage(50, 5))


def learning(tmp_path, *replies, played=(FOUND,), options=LEARNS, **more):
    table = Remembering(tmp_path, *replies, options=options, **more)
    table.learning = PlayedModel(*played)
    return table


def until(check, seconds=10.0):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_a_turn_taught_is_kept_shown_paid_for_and_told_to_the_next(tmp_path):
    table = learning(tmp_path, say("I installed it with uv.", usage=Usage(10, 1)), played=(FOUND, say("[]")))
    table.turn("Please use uv, we do not use pip here.")
    (told,) = (table.wait(events.Remembered),)
    (memory,) = told.memories
    assert (memory.text, memory.source, memory.origin) == ("Use uv, not pip.", table.session.id, "distilled")
    assert memory.scope == str(table.workspace)
    assert memory.observed == "we do not use pip here"
    assert table.memories.list() == (memory,)
    assert table.store.costs.spent(table.session.id).tokens == 66
    table.turn("install requests with pip or uv", count=2)
    assert "Use uv, not pip." in table.sent()
    until(lambda: len(table.learning.requests) == 2)
    asked = json.loads(table.learning.requests[1].messages[1].text.split("\n")[1])
    assert asked["known"] == ["1. preference: Use uv, not pip."]
    assert asked["said"] == "install requests with pip or uv"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (say("fine"), "ok"),
        (ProviderError("server", "broken", retryable=False), "Please use uv, we do not use pip here."),
    ],
)
def test_a_turn_that_teaches_nothing_or_fails_is_not_looked_at(tmp_path, reply, text):
    table = learning(tmp_path, reply)
    table.turn(text)
    table.session.close()
    assert table.learning.requests == []


@pytest.mark.parametrize(
    "played",
    [
        ProviderError("server", "broken", retryable=False),
        ValueError("a bug"),
        say("no JSON"),
        say(json.dumps([entry(text=REFUSED["an order"])])),
    ],
)
def test_whatever_goes_wrong_with_it_the_session_goes_on_and_nothing_is_kept(tmp_path, played):
    table = learning(tmp_path, say("ok"), played=(played, FOUND))
    table.turn("Please use uv, we do not use pip here.")
    until(lambda: len(table.learning.requests) == 1)
    assert table.turn("Once more: we do not use pip here.", count=2).outcome == "completed"
    table.wait(events.Remembered)
    assert len(table.memories.list()) == 1


def test_a_budget_that_is_used_up_allows_no_look(tmp_path):
    table = learning(tmp_path, say("ok", usage=Usage(900, 10)), budget=lambda: Budget(tokens=1_000))
    table.turn("Please use uv, we do not use pip here.")
    time.sleep(0.2)
    table.session.close()
    assert table.learning.requests == []


def test_a_turn_that_begins_goes_first_and_what_was_given_up_is_looked_at_after_it(tmp_path):
    begun, given_up = threading.Event(), threading.Event()

    def hangs(request, sink, cancel):
        begun.set()
        while not cancel.cancelled:
            time.sleep(0.005)
        given_up.set()
        raise Interrupted

    table = learning(tmp_path, say("I installed it with uv."), played=(hangs, FOUND, say("[]")))
    table.turn("Please use uv, we do not use pip here.")
    assert begun.wait(10)
    table.turn("and now something else, with other words", count=2)
    assert given_up.is_set()
    table.wait(events.Remembered)
    until(lambda: len(table.learning.requests) == 3)
    said = [json.loads(r.messages[1].text.split("\n")[1])["said"][:6] for r in table.learning.requests]
    assert said == ["Please", "Please", "and no"]


def test_closing_a_session_gives_it_up_at_once(tmp_path):
    begun = threading.Event()

    def hangs(request, sink, cancel):
        begun.set()
        time.sleep(0.05)
        cancel.check()
        while True:
            cancel.check()
            time.sleep(0.005)

    table = learning(tmp_path, say("ok"), played=(hangs,))
    table.turn("Please use uv, we do not use pip here.")
    assert begun.wait(10)
    started = time.monotonic()
    table.extra.close()
    assert time.monotonic() - started < 5
    table.extra.ended(ended("x" * 30))  # nothing begins behind a closed door
    assert table.memories.list() == ()
    assert len(table.learning.requests) == 1


def test_with_write_approval_what_a_turn_taught_waits_for_a_person(tmp_path):
    waiting = []
    options = MemoryOptions(distils=True, asks=lambda: True)
    table = learning(tmp_path, say("ok"), options=options, stage=waiting.append)
    table.turn("Please use uv, we do not use pip here.")
    assert table.wait(events.Remembered).pending
    assert [memory.text for memory in waiting] == ["Use uv, not pip."]
    assert table.memories.list() == ()


def test_keys_are_not_shown_to_the_model_that_looks(tmp_path):
    table = learning(tmp_path, call(("list_dir", {"path": "."})), say(f"The key is {KEY}."), played=(say("[]"),))
    table.turn(f"Please use {KEY} for staging, will you?")
    until(lambda: table.learning.requests)
    text = "".join(message.text for message in table.learning.requests[0].messages)
    assert KEY not in text
    assert hide(KEY) in text


# -- at the desk --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "launch", "learns"),
    [
        ("", {}, True),
        ("", {"demo": True}, False),
        ("", {"unattended": True}, False),
        ("memory:\n  distil: always\n", {"unattended": True}, True),
        ("memory:\n  distil: off\n", {}, False),
        ("memory:\n  enabled: false\n", {}, False),
    ],
)
def test_turns_are_looked_at_where_a_person_sits(tmp_path, config, launch, learns):
    home = tmp_path / "home"
    (home / ".nanohermes").mkdir(parents=True)
    (home / ".nanohermes" / "config.yaml").write_text(config)
    with ModelServer([Reply("ok")]) as server:
        keys = {"model.base_url": server.base_url, "model.default": "custom/test-model"}
        env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "NANOHERMES_API_KEY": "x"}
        host = Host(Launch(tmp_path, env, keys, **launch))
        try:
            extras = host._extras(Seat("s1", tmp_path, lambda event: None))
            assert any(getattr(extra, "_learner", None) for extra in extras) is learns
        finally:
            host.close()


def test_a_whole_program_keeps_what_a_turn_taught(tmp_path):
    home = tmp_path / "home"
    with ModelServer([Reply("I installed it with uv.")]) as server:
        server.found = json.dumps([entry(), entry(text="Invented.", quote="nobody said that")])
        keys = {"model.base_url": server.base_url, "model.default": "custom/test-model"}
        env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "NANOHERMES_API_KEY": "x"}
        host = Host(Launch(tmp_path, env, keys))
        try:
            session = host.new()
            session.send(intents.Submit("Please use uv, we do not use pip here."))
            until(host.memory.list, 30.0)
        finally:
            host.close()
        assert server.violations == []
        assert len(server.requests) == len(server.distilled) == 1
    assert [memory.text for memory in host.memory.list()] == ["Use uv, not pip."]


def test_a_turn_is_looked_at_by_one_thread_also_when_the_one_before_is_slow_to_give_way(tmp_path):
    began, go, at_once = threading.Event(), threading.Event(), []

    class Slow(PlayedModel):
        inside = 0

        def complete(self, request, sink, cancel):
            self.inside += 1
            at_once.append(self.inside)
            began.set()
            go.wait(10)
            self.inside -= 1
            return super().complete(request, sink, cancel)

    model = Slow(say("[]"))
    keeping = Keeping(Entries(tmp_path / "memory.json", hide), "/ws", "s1", hide, lambda memory, waits: None)
    store = Store.open(tmp_path / "state.db")
    meter = Meter(store.costs, "s1", lambda *_: None, Budget)
    learner = Learner(keeping, lambda name, provider: Connection(model, "test", "m", "M"), meter, lambda event: None)
    learner.learn(TURN)
    assert began.wait(10)
    began.clear()
    learner.give_way()
    learner.learn(TURN)
    began.wait(0.3)  # in vain
    go.set()
    until(lambda: not learner.is_learning)
    assert set(at_once) == {1}
    learner.close()
    store.close()
