"""A session that nobody needs goes to rest, holds nothing meanwhile, and goes on as it was."""

import gc
import queue
import threading
import time
import weakref

import pytest

from agent_core import events, intents
from agent_core.hooks import Hook, HookSet
from agent_core.messages import ToolCall
from agent_core.ports.actions import ReadAction
from agent_core.ports.means import TodoItem
from agent_core.ports.model import LlmReply
from tests.core.session_support import Table, call, say


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("session-")]


def until(what, seconds=10.0):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.005)
    return found


def rest(table):
    """Have it rest; its events so far are forgotten."""
    count = len(table.of(events.Resting))
    table.session.send(intents.Rest())
    table.wait(events.Resting, count=count + 1)
    until(lambda: table.session.rests)
    table.seen.clear()


class Closes:
    """A model that counts its connections."""

    def __init__(self, model):
        self.model = model
        self.closed = 0

    def complete(self, request, sink, cancel):
        return self.model.complete(request, sink, cancel)

    def close(self):
        self.closed += 1


def test_at_rest_it_has_no_thread_no_history_and_no_connection_and_the_next_turn_goes_on_with_all_of_them(tmp_path):
    table = Table(tmp_path, say("One."), say("Two."))
    line = table.model = Closes(table.model)
    before = len(threads())
    table.turn("first")
    held = weakref.ref(table.session._worker.conversation)
    rest(table)
    until(lambda: len(threads()) == before)
    gc.collect()
    assert held() is None
    assert line.closed == 1
    assert table.session.said() == ()
    table.turn("second")
    said = [message.text for message in line.model.requests[-1].messages if message.role != "system"]
    assert said == ["first", "One.", "second"]
    history = table.of(events.HistoryChanged)[0]
    assert [message.text for message in history.messages] == ["first", "One."]


def test_what_was_settled_in_it_still_holds_after_a_rest(tmp_path):
    plan = {"todos": [{"content": "read", "status": "in_progress"}]}
    table = Table(tmp_path, call(("todo_write", plan)), say("Planned."), personas=lambda: {"pirate": "Speak so."})
    session = table.session
    table.turn("plan it")
    session.send(intents.SetMode("plan"))
    session.send(intents.SetPolicy("always"))
    session.send(intents.SetOptions(persona="pirate", temperature=0.5))
    session.send(intents.Rename("a name"))
    session.grants.grant_path("notes.txt", read_only=True)
    table.wait(events.OptionsChanged)
    until(lambda: table.store.get(session.id).persona == "pirate")
    rest(table)
    session.start()
    table.wait(events.HistoryChanged)
    assert (session.mode, session.ways[1], session.title) == ("plan", "always", "a name")
    assert session.grants.covers(ReadAction("notes.txt"))
    assert table.wait(events.PlanChanged).items == (TodoItem("read", "in_progress"),)
    assert table.wait(events.OptionsChanged).persona == "pirate"
    session.send(intents.Undo())
    assert table.wait(events.HistoryChanged, count=2).messages == ()


def test_the_system_prompt_is_byte_equal_after_a_rest(tmp_path):
    table = Table(tmp_path, say("One."), say("Two."))
    table.turn("first")
    rest(table)
    table.turn("second")
    first, second = (request.messages[0].text for request in table.model.requests)
    assert first == second


def at_work(table):
    table.session.send(intents.Submit("work"))
    until(lambda: table.model.requests)


def in_a_command(table):
    table.session.send(intents.Shell("sleep 20"))
    table.wait(events.ToolStarted)


def with_a_text_that_came_back(table):
    at_work(table)
    table.session.send(intents.Queue("later"))
    table.session.send(intents.Interrupt())
    table.wait(events.TextReturned)
    table.wait(events.TurnFinished)


@pytest.mark.parametrize("begin", [at_work, in_a_command, with_a_text_that_came_back])
def test_it_does_not_rest_while_something_runs_or_waits(tmp_path, begin):
    def hang(request, sink, cancel):
        with cancel.closing(stopped.set):
            stopped.wait(20)
        return LlmReply("Late.", model="m")

    stopped = threading.Event()
    table = Table(tmp_path, hang)
    begin(table)
    table.session.send(intents.Rest())
    table.session.send(intents.Rename("behind it"))
    if begin is not at_work:  # whose worker comes to it after the turn
        until(lambda: table.session.title == "behind it")
        assert not table.of(events.Resting)
        assert not table.session.rests
    else:
        assert not table.session.rests
    table.session.send(intents.Interrupt())
    table.session.close()
    table.session.join(5)


def test_what_is_sent_while_it_lies_down_is_never_lost(tmp_path):
    table = Table(tmp_path, say("Yes."))
    for number in range(40):
        table.session.send(intents.Rest())
        time.sleep(0.0005 * (number % 5))
        table.turn(f"turn {number}", count=number + 1)
    asked = [message.text for message in table.store.messages(table.session.id) if message.role == "user"]
    assert asked == [f"turn {number}" for number in range(40)]


def test_a_text_on_its_way_and_one_that_comes_between_its_two_looks_keep_it_awake(tmp_path):
    table = Table(tmp_path, say("Yes."))
    table.turn("first")
    session, tries = table.session, queue.SimpleQueue()
    give, let_go, lie_down = session._give, session._turns.let_go, session._lie_down
    is_on_its_way, may_arrive = threading.Event(), threading.Event()

    def slowly(intent):
        is_on_its_way.set()
        assert may_arrive.wait(10)
        give(intent)

    def noted(worker):
        rests = lie_down(worker)
        tries.put(rests)
        return rests

    session._lie_down, session._give = noted, slowly
    sender = threading.Thread(target=session.send, args=(intents.Submit("second"),))
    sender.start()
    assert is_on_its_way.wait(10)
    session.send(intents.Rest())
    assert tries.get(timeout=10) is False
    may_arrive.set()
    sender.join(10)
    assert table.wait(events.TurnFinished, count=2).text == "Yes."

    session._give = give
    session._turns.let_go = lambda worker: (let_go(worker), session.send(intents.Submit("third")))
    session.send(intents.Rest())
    assert tries.get(timeout=10) is False
    session._turns.let_go = let_go
    assert table.wait(events.TurnFinished, count=3).text == "Yes."


def test_a_rest_that_fails_leaves_a_session_that_works(tmp_path):
    def fails(session_id):
        raise OSError("the folder of its walls is gone")

    table = Table(tmp_path, say("One."), say("Two."), rests=fails)
    table.turn("first")
    table.session.send(intents.Rest())
    assert table.wait(events.ErrorRaised).code == "crash"
    assert not table.session.rests
    assert table.turn("second", count=2).text == "Two."
    table.session.close()
    table.session.join(10)


def test_a_session_at_rest_is_closed_without_being_woken(tmp_path):
    table = Table(tmp_path, say("One."))
    table.turn("first")
    rest(table)
    table.session.close()
    table.session.send(intents.Submit("too late"))
    table.session.join(1)
    assert table.session.rests
    assert [message.text for message in table.store.messages(table.session.id)] == ["first", "One."]


def test_a_call_that_was_cut_off_by_a_rest_does_not_exist(tmp_path):
    """Its own worker lies down, never under a turn: each call has its result when it wakes."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("words\n")
    reply = LlmReply(tool_calls=(ToolCall("c1", "read_file", {"path": "a.txt"}),), finish="tool_calls", model="m")
    table = Table(tmp_path, reply, say("Read."))
    table.session.send(intents.Submit("read"))
    for _ in range(50):
        table.session.send(intents.Rest())
    table.wait(events.TurnFinished)
    table.wait(events.Resting)
    messages = table.store.messages(table.session.id)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]


def test_a_rest_is_no_end_its_hooks_run_once_when_the_session_is_closed_at_rest(tmp_path):
    kinds = ("SessionStart", "SessionEnd")
    hooks = HookSet(tuple(Hook(kind, f"echo {kind} >> ran", "h") for kind in kinds))
    table = Table(tmp_path, say("x"), hooks=lambda workspace: hooks)
    ran = tmp_path / "ws" / "ran"
    for number in (1, 2):
        table.turn("go", count=1)
        rest(table)
        assert ran.read_text().split() == ["SessionStart"], number
    table.session.close()
    table.session.join(10)
    assert ran.read_text().split() == ["SessionStart", "SessionEnd"]


def test_a_queued_message_keeps_it_awake_until_it_was_answered(tmp_path):
    def slowly(request, sink, cancel):
        going.wait(20)
        return LlmReply("Yes.", model="m")

    going = threading.Event()
    table = Table(tmp_path, slowly, say("Yes."))
    at_work(table)
    table.session.send(intents.Queue("later"))
    table.session.send(intents.Rest())
    going.set()
    table.wait(events.TurnFinished, count=2)
    said = [message.text for message in table.store.messages(table.session.id) if message.role == "user"]
    assert said == ["work", "later"]
    rest(table)


@pytest.mark.parametrize("rested", [False, True])
def test_what_is_said_to_a_session_that_was_closed_waits_for_who_opens_it_again_and_begins_nothing(tmp_path, rested):
    table = Table(tmp_path, say("One."))
    table.turn("first")
    if rested:
        rest(table)
    table.session.close()
    for intent in (intents.Submit("late"), intents.Queue("later"), intents.Resend("x", "again")):
        table.session.send(intent)
    table.session.send(intents.Shell("touch made"))
    table.session.join(10)
    table.session.close()
    assert [event.text for event in table.of(events.TextReturned)] == ["late", "later", "again"]
    assert [text for _, text in table.kept[-1].texts] == ["late", "later", "again"], "noted, should nobody hear it"
    assert not table.session.busy
    assert table.of(events.ToolQueued) == []
    assert not (table.workspace / "made").exists()
