"""A stop in whatever a turn may be doing: it ends at once, the next request is valid, and the next turn works."""

import io
import json
import os
import signal
import sqlite3
import threading
import time
from dataclasses import replace

import pytest

from agent_core import events, headless, intents, limits
from agent_core.errors import Interrupted
from agent_core.messages import new_id
from agent_core.ports.model import Delta
from agent_core.ports.tools import ToolOutput
from tests.core.session_support import call, say
from tests.core.test_loop import a_tool, results, with_tools
from tests.core.test_store_lease import until

STOP = limits.TURN_STOP + limits.SQLITE_BUSY  # a try that is under way waits that long; and the machine may be busy


def deaf_to_nothing(partial="", kind="text"):
    """A request that is under way until it is cancelled."""

    def reply(request, sink, cancel):
        if partial:
            sink(Delta(kind, partial))
        cancel.wait(20)
        raise Interrupted

    return reply


def sleeper(args, ctx):
    ctx.cancel.wait(20)
    raise Interrupted


SLEEPS = with_tools(a_tool("sleeper", sleeper), a_tool("quick", lambda args, ctx: "unused"))


def started(t):
    t.session.send(intents.Submit("go"))


def before_the_worker_wakes(t):
    started(t)


def while_the_reply_is_awaited(t):
    started(t)
    t.wait(events.StepStarted)


def while_the_answer_streams(t):
    started(t)
    t.wait(events.TextDelta)


def in_a_retrys_pause(t):
    started(t)
    t.wait(events.Notice)


def while_one_tool_runs(t):
    started(t)
    t.wait(events.ToolStarted)


def while_several_tools_run(t):
    started(t)
    t.wait(events.ToolStarted, count=2)


def while_a_question_waits(t):
    started(t)
    t.wait(events.QuestionAsked)


REPLIES = {
    before_the_worker_wakes: (deaf_to_nothing(),),
    while_the_reply_is_awaited: (deaf_to_nothing(),),
    while_the_answer_streams: (deaf_to_nothing("half an ans"),),
    in_a_retrys_pause: (deaf_to_nothing("busy", "retry"),),
    while_one_tool_runs: (call(("sleeper", {}), ("list_dir", {"path": "."})),),
    while_several_tools_run: (call(("sleeper", {}), ("sleeper", {}), ("list_dir", {"path": "."})),),
    while_a_question_waits: (call(("list_dir", {"path": "."}), ("write_file", {"path": "a", "content": "x"})),),
}


def is_valid(messages):
    """Every call has its result right behind it, in order, and there is no other."""
    waiting = []
    for message in messages:
        assert not message.is_empty
        if message.role == "tool":
            assert message.result.call_id == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [c.id for c in message.tool_calls]
    assert waiting == []
    return True


def stopped(t, count=1):
    """Press stop; the turn's end, which must come at once."""
    begun = time.monotonic()
    t.session.send(intents.Interrupt())
    end = t.wait(events.TurnFinished, count=count)
    assert time.monotonic() - begun < STOP
    return end


@pytest.mark.parametrize("moment", REPLIES, ids=lambda m: m.__name__)
def test_a_stop_ends_the_turn_at_once_and_the_next_one_works(table, moment):
    t = table(*REPLIES[moment], **SLEEPS)
    moment(t)
    assert stopped(t).outcome == "interrupted"
    assert is_valid(t.store.messages(t.session.id))
    t.model.replies = [say("fine")]
    end = t.turn("again", count=2)
    assert (end.outcome, end.text) == ("completed", "fine")
    assert is_valid(m for m in t.model.requests[-1].messages if m.role != "system")
    assert t.session.state == "idle"


def test_a_stop_between_the_reply_and_its_tools_runs_none_of_them(table):
    ran = []

    def reply(request, sink, cancel):
        t.session.send(intents.Interrupt())
        return call(("put", {"path": "a"}), ("put", {"path": "b"}))

    t = table(reply, say("fine"), **with_tools(a_tool("put", lambda args, ctx: ran.append(args), "write", ("path",))))
    assert t.turn("go").outcome == "interrupted"
    assert ran == []
    assert t.turn("again", count=2).outcome == "completed"
    assert [(r.outcome, r.effect) for r in results(t)] == [("not started", "none")] * 2


def test_a_stop_while_idle_stops_nothing_that_comes_later(table):
    t = table(say("fine"))
    t.session.send(intents.Interrupt())
    assert t.turn("go").outcome == "completed"
    t.session.send(intents.Interrupt())
    assert t.turn("again", count=2).outcome == "completed"


def test_a_stop_with_the_last_word_does_not_begin_what_waits(table):
    def answer(request, sink, cancel):
        t.session.send(intents.Queue("later"))
        t.session.send(intents.Interrupt())
        return say("done")

    t = table(answer, say("fine"))
    t.turn("go")
    assert t.wait(events.TextReturned).text == "later"
    assert len(t.model.requests) == 1
    assert t.turn("again", count=2).outcome == "completed"


def test_a_stop_before_there_is_a_connection(table):
    t = table(say("fine"))
    gate = threading.Event()
    connect = t.services.connect

    def slow(*which):
        gate.wait(0.5)
        return connect(*which)

    t.services = replace(t.services, connect=slow)
    t.session = t.open(new_id(), stored=False)
    started(t)
    t.wait(events.TurnStarted)
    assert stopped(t).outcome == "interrupted"
    gate.set()
    assert t.turn("again", count=2).outcome == "completed"


def test_a_stop_while_the_history_is_compacted(table):
    summarising = threading.Event()

    def model(request, sink, cancel):
        if request.tools:
            return say("word " * 400)
        summarising.set()
        cancel.wait(20)
        raise Interrupted

    t = table(model)
    for number in range(8):
        t.turn(f"turn {number} " + "x" * 2_000, count=number + 1)
    before = t.store.messages(t.session.id)
    t.session.send(intents.Compact())
    assert summarising.wait(10)
    begun = time.monotonic()
    t.session.send(intents.Interrupt())
    while t.session.busy and time.monotonic() - begun < 10:
        time.sleep(0.01)
    assert time.monotonic() - begun < STOP
    assert t.store.messages(t.session.id) == before
    assert t.turn("again", count=9).outcome == "completed"


@pytest.mark.parametrize("what", ["the message", "a result"])
def test_a_stop_while_another_program_holds_the_database(table, tmp_path, what):
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None, check_same_thread=False)

    def reply(request, sink, cancel):
        return call(("hold", {}))

    def hold(args, ctx):
        other.execute("BEGIN IMMEDIATE")
        return ToolOutput("held")

    t = table(say("hello"), reply, say("fine"), **with_tools(a_tool("hold", hold)))
    t.turn("first")
    if what == "the message":
        other.execute("BEGIN IMMEDIATE")
    t.session.send(intents.Submit("go"))
    t.wait(events.TurnStarted, count=2)
    if what == "a result":
        t.wait(events.ToolStarted)
    time.sleep(0.2)
    end = stopped(t, count=2)
    assert (end.outcome, end.error_code) == ("interrupted", "store_locked_at_stop")
    assert "held by another program" in t.of(events.ErrorRaised)[0].text
    returned = [e.text for e in t.of(events.TextReturned)]
    assert returned == (["go"] if what == "the message" else [])
    other.execute("ROLLBACK")
    other.close()
    t.model.replies = [say("fine")]
    assert t.turn("again", count=3).outcome == "completed"
    assert is_valid(m for m in t.model.requests[-1].messages if m.role != "system")


BESIDE_A_TURN = {
    "a change of the history before it": (intents.Undo(), intents.Submit("go")),
    "a setting before it": (intents.SetMode("plan"), intents.Submit("go")),
    "a compaction": (intents.Compact(),),
    "a command of the person's own": (intents.Shell("touch ran"),),
}


@pytest.mark.parametrize("sent", BESIDE_A_TURN.values(), ids=BESIDE_A_TURN)
def test_a_stop_ends_whatever_waits_for_a_database_that_another_program_holds(table, sent, tmp_path):
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    t = table(say("hello"))
    t.turn("first")
    other.execute("BEGIN IMMEDIATE")
    for intent in sent:
        t.session.send(intent)
    until(lambda: t.session.busy)
    begun = time.monotonic()
    t.session.send(intents.Interrupt())
    until(lambda: not t.session.busy)
    assert time.monotonic() - begun < limits.WRITE_BUDGET / 2
    assert t.session.state == "idle"
    assert [e.text for e in t.of(events.TextReturned)] == [i.text for i in sent if isinstance(i, intents.Submit)]
    assert not (t.workspace / "ran").exists()
    other.close()
    assert t.turn("again", count=len(t.of(events.TurnFinished)) + 1).outcome == "completed"


def test_a_call_that_cannot_be_noted_down_is_given_up_at_once_by_a_stop_and_never_runs(table, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ACTIVITY_BUDGET", 0.05)
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    t = table(call(("run_command", {"command": "touch ran"})))
    t.session.send(intents.Submit("go"))
    question = t.wait(events.QuestionAsked).question
    other.execute("BEGIN IMMEDIATE")
    t.session.send(intents.Answer(question.id, "once"))
    time.sleep(0.1)
    assert stopped(t).outcome == "interrupted"
    other.close()
    t.model.replies = [say("fine")]
    assert t.turn("again", count=2).outcome == "completed"
    (result,) = (m.result for m in t.store.messages(t.session.id) if m.result is not None)
    assert result.effect == "none"
    assert not (t.workspace / "ran").exists()


def test_a_given_up_worker_does_not_keep_the_next_one_from_the_database(table, tmp_path):
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    t = table(say("fine"))
    t.turn("first")
    other.execute("BEGIN IMMEDIATE")
    t.session.send(intents.Submit("go"))
    t.wait(events.TurnStarted, count=2)
    t.session.send(intents.Interrupt(abandon=True))
    assert t.session.state == "idle"
    other.execute("ROLLBACK")
    other.close()
    begun = time.monotonic()
    assert t.wait(events.TextReturned).text == "go"
    assert time.monotonic() - begun < 5
    end = t.turn("again", count=2)
    assert (end.outcome, end.error_code) == ("completed", "")
    assert [m.text for m in t.store.messages(t.session.id) if m.role == "user"] == ["first", "again"]


def test_without_a_screen_a_second_stop_ends_the_run_though_its_step_is_stuck(table):
    go = threading.Event()

    def stuck(request, sink, cancel):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)  # two that come at once are one
        go.wait(20)
        return say("late")

    t, out = table(stuck), io.StringIO()
    late = threading.Timer(15, lambda: t.session.tell(events.TurnFinished("late", "failed", 0, 0.0)))
    late.start()
    try:
        assert headless.run(None, t.session, "go", "json", out) == 130
        assert json.loads(out.getvalue())["outcome"] == "interrupted"
    finally:
        late.cancel()
        go.set()
