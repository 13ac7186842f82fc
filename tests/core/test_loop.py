"""The loop under calls that never end, tools that do not exist, turns that go in circles, and words from the person."""

import threading
import time

import pytest

from agent_core import events, intents, limits
from agent_core.errors import Interrupted, ProviderError
from agent_core.messages import ImagePart, ToolCall
from agent_core.mind import view
from agent_core.mind.guard import GuardRules
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.asking import Question
from agent_core.ports.model import Delta, LlmReply
from agent_core.ports.tools import Prepared, Tool, ToolOutput
from agent_core.tools.builtin import builtin_tools
from tests.core.session_support import call, say


def a_tool(name, run, kind="read", properties=(), seconds=lambda args: 0.0, ask=None):
    """A tool whose work is `run(args, ctx)`."""

    def prepare(args, ctx):
        return Prepared(NoAction(), lambda box: run(args, ctx))

    schema = {"type": "object", "properties": {p: {"type": "string"} for p in properties}, "required": []}
    return Tool(name, "for a test", schema, lambda args: Effect(kind, tuple(args.values())), lambda args: "", prepare,
                seconds=seconds)  # fmt: skip


def with_tools(*tools):
    return {"tools": (*builtin_tools(), *tools)}


def told(t, request=-1):
    """The messages of a request but the system's."""
    return [m for m in t.model.requests[request].messages if m.role != "system"]


def results(t, request=-1):
    return [m.result for m in t.model.requests[request].messages if m.role == "tool"]


# -- time ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [0, 3], ids=["alone", "beside others"])
def test_a_call_that_never_ends_is_given_up_and_the_turn_goes_on(table, beside):
    release, late = threading.Event(), threading.Event()

    def stuck(args, ctx):
        release.wait(20)
        late.set()
        return ToolOutput("too late")

    t = table(
        call(("stuck", {}), *[("list_dir", {"path": "."})] * beside), say("went on"),
        batch_timeout=1.5, **with_tools(a_tool("stuck", stuck)),
    )  # fmt: skip
    assert t.turn("go").outcome == "completed"
    came = results(t)
    assert [r.name for r in came] == ["stuck", *["list_dir"] * beside]
    assert (came[0].ok, came[0].effect, came[0].outcome) == (False, "unknown", "gave no answer")
    assert "Check before you repeat it" in came[0].text
    assert all(r.ok for r in came[1:])
    stored = t.store.messages(t.session.id)
    release.set()
    assert late.wait(5)
    time.sleep(0.1)
    assert t.store.messages(t.session.id) == stored, "what comes later goes nowhere"


def test_a_given_up_call_is_told_to_stop(table):
    told = threading.Event()

    def listens(args, ctx):
        ctx.cancel.wait(20)
        told.set()
        return ToolOutput("stopped")

    t = table(call(("listens", {})), say("on"), batch_timeout=1.5, **with_tools(a_tool("listens", listens)))
    assert t.turn("go").outcome == "completed"
    assert told.wait(5)


def test_what_a_given_up_call_gives_late_takes_no_place_while_another_one_waits(table):
    given_up = threading.Event()

    def late(args, ctx):
        ctx.cancel.wait(20)
        given_up.set()
        return ToolOutput("too late")

    def asks(args, ctx):
        return ToolOutput(ctx.asker.ask(Question("ask_user", "which?"), ctx.cancel).text)

    t = table(call(("asks", {}), ("late", {})), say("on"), batch_timeout=0.5,
              **with_tools(a_tool("asks", asks), a_tool("late", late)))  # fmt: skip
    t.session.send(intents.Submit("go"))
    question = t.wait(events.QuestionAsked).question
    assert given_up.wait(10)
    time.sleep(0.2)  # as long as its result takes to come
    t.session.send(intents.Answer(question.id, "once", "this one"))
    assert t.wait(events.TurnFinished).outcome == "completed"
    assert results(t)[0].text == "this one"
    assert results(t)[1].outcome == "gave no answer"
    assert len(t.of(events.ToolFinished)) == 2


def test_the_time_a_person_takes_does_not_count(table):
    t = table(call(("ask_user", {"question": "which?"}), ("ask_user", {"question": "and?"})), say("thanks"),
              batch_timeout=0.8)  # fmt: skip
    t.session.send(intents.Submit("go"))
    for number in (1, 2):
        question = t.wait(events.QuestionAsked, count=number).question
        time.sleep(1.0)
        t.session.send(intents.Answer(question.id, "once", f"answer {number}"))
    assert t.wait(events.TurnFinished).outcome == "completed"
    assert [f"answer {n}" in r.text for n, r in enumerate(results(t), 1)] == [True, True]


def test_neither_does_the_time_until_a_command_is_allowed(table):
    t = table(call(("run_command", {"command": "sh -c 'echo done'", "timeout": 1})), say("ok"), batch_timeout=0.5,
              command_timeout=0.5)  # fmt: skip
    t.session.send(intents.Submit("go"))
    question = t.wait(events.QuestionAsked).question
    time.sleep(0.6)
    t.session.send(intents.Answer(question.id, "once"))
    t.wait(events.TurnFinished)
    assert "done" in results(t)[0].text


def test_who_asked_for_more_time_has_it(table, monkeypatch):
    monkeypatch.setattr(limits, "BATCH_SLACK", 0.1)
    slow = a_tool("slow", lambda args, ctx: time.sleep(0.5) or ToolOutput("done"), seconds=lambda args: 5.0)
    t = table(call(("slow", {})), say("ok"), batch_timeout=0.2, **with_tools(slow))
    t.turn("go")
    assert results(t)[0].text == "done"


def test_the_longest_time_asked_for_counts_for_the_round(table):
    t = table(call(("run_command", {"command": "sh -c true", "timeout": 600})), say("ok"), command_timeout=30)
    t.session.send(intents.Submit("go"))
    t.wait(events.QuestionAsked)
    box = t.session._turns.kit.toolbox(t.workspace, None, None, lambda event: None, lambda: ("ask", "untrusted"), None)

    def command(**arguments):
        return ToolCall("c", "run_command", {"command": "x", **arguments})

    assert box.longest([command(), command(timeout="500"), ToolCall("d", "glob", {"pattern": "*"})]) == 500
    assert box.longest([command()]) == 30
    assert box.longest([command(timeout="long"), ToolCall("d", "none", {})]) == 0
    t.session.send(intents.Interrupt())
    t.wait(events.TurnFinished)


def test_two_names_of_one_file_are_written_one_after_the_other(table):
    order = []

    def write(args, ctx):
        order.append(f"+{args['path']}")
        time.sleep(0.05)
        order.append(f"-{args['path']}")
        return ToolOutput("written")

    t = table(
        call(*[("put", {"path": p}) for p in ("a.txt", "link/a.txt", "A.TXT", "./x/../a.txt")]), say("ok"),
        **with_tools(a_tool("put", write, "write", ("path",))),
    )  # fmt: skip
    (t.workspace / "link").symlink_to(t.workspace)
    assert t.turn("go").outcome == "completed"
    assert [one[0] for one in order] == ["+", "-"] * 4, "never two at once"


# -- names that no tool has ---------------------------------------------------------------------------------------


def test_a_tool_called_by_another_programs_name_is_found_and_the_model_is_told(table):
    t = table(call(("functions.ListDir", {"path": "."}), ("red_file", {"path": "a"}), ("red_file", {})), say("ok"))
    (t.workspace / "a").write_text("content\n")
    t.turn("go")
    first, second, third = results(t)
    assert first.text.startswith("[There is no tool functions.ListDir; this is what list_dir gave.]\na")
    assert "content" in second.text
    assert "read_file" in second.text
    assert third.outcome == "unknown tool", "its arguments do not fit, so it may be anything"
    assert [e.name for e in t.of(events.ToolQueued)] == ["list_dir", "read_file", "red_file"]


def test_the_third_round_of_nothing_but_unknown_tools_ends_the_turn(table):
    nonsense = call(("summon", {}), ("conjure", {}))
    t = table(LlmReply("I will try.", tool_calls=nonsense.tool_calls, finish="tool_calls"), nonsense)
    end = t.turn("go")
    assert (end.outcome, end.error_code, end.steps, end.text) == ("failed", "unknown_tools", 3, "I will try.")
    error = t.of(events.ErrorRaised)[0]
    assert "summon" in error.text
    assert "/model" in error.text
    assert len(results(t)) == 4, "each call was answered"


def test_one_known_tool_among_them_is_no_such_round(table):
    nonsense, mixed = call(("summon", {})), call(("summon", {}), ("list_dir", {"path": "."}))
    t = table(nonsense, nonsense, mixed, nonsense, nonsense, say("done"))
    assert t.turn("go").outcome == "completed"


# -- circles ------------------------------------------------------------------------------------------------------


def test_what_goes_in_circles_is_told_with_the_newest_result_and_to_the_person_once(table):
    missing = call(("read_file", {"path": "missing"}))
    t = table(missing, missing, missing, say("ok"))
    t.turn("go")
    first, second, third = results(t)
    assert "failed" not in first.text
    assert second.text.endswith("[This call has failed 2 times with the same arguments. Change them, or do it another "
                                "way.]")  # fmt: skip
    assert "failed 3 times" in third.text
    assert [n.code for n in t.of(events.Notice)] == ["loop_same_call"]
    assert not any("failed" in m.text for m in t.model.requests[-1].messages if m.role != "tool")


def test_unattended_the_call_is_blocked_and_then_the_turn_ended(table):
    ran = []

    def broken(args, ctx):
        ran.append(1)
        return ToolOutput("no luck", ok=False)

    t = table(call(("broken", {})), guard=GuardRules(hard_stop=True), **with_tools(a_tool("broken", broken)))
    end = t.turn("go")
    assert (end.outcome, end.error_code) == ("failed", "loop_halted")
    assert len(ran) == limits.GUARD_SAME_CALL_BLOCK
    assert len(t.model.requests) == limits.GUARD_SAME_TOOL_HALT
    stored = [m.result for m in t.store.messages(t.session.id) if m.result]
    assert stored[-1].outcome == "blocked"
    assert "was not run again" in stored[-1].text
    assert "tool_loop_guardrails" in t.of(events.ErrorRaised)[0].text


def test_with_a_person_there_the_turn_goes_on_to_its_cap(table):
    t = table(call(("read_file", {"path": "missing"})), max_steps=12)
    assert t.turn("go").outcome == "cap"
    assert all("was not run again" not in m.text for m in t.store.messages(t.session.id))


# -- redirect -----------------------------------------------------------------------------------------------------


def test_a_redirect_cuts_the_reply_keeps_what_was_said_and_goes_on_in_the_same_turn(table):
    def talks(request, sink, cancel):
        sink(Delta("text", "Half an answ"))
        cancel.wait(10)
        raise Interrupted

    t = table(talks, say("the other way"))
    t.session.send(intents.Submit("go"))
    t.wait(events.TextDelta)
    begun = time.monotonic()
    t.session.send(intents.Redirect("rather the other way"))
    end = t.wait(events.TurnFinished)
    assert time.monotonic() - begun < limits.TURN_STOP
    assert (end.outcome, end.text, len(t.of(events.TurnStarted))) == ("completed", "the other way", 1)
    said = [(m.role, m.text, m.interrupted) for m in told(t, 1)]
    assert said == [
        ("user", "go", False), ("assistant", "Half an answ", True), ("user", "rather the other way", False)
    ]  # fmt: skip
    assert t.turn("again", count=2).outcome == "completed", "it was cut once only"


def test_a_redirect_in_a_retrys_pause_and_before_the_first_word_leaves_no_empty_answer(table):
    def waits(request, sink, cancel):
        sink(Delta("retry", "busy"))
        cancel.wait(10)
        raise Interrupted

    t = table(waits, say("ok"))
    t.session.send(intents.Submit("go"))
    t.wait(events.Notice)
    t.session.send(intents.Redirect("this way"))
    t.wait(events.TurnFinished)
    assert [m.text for m in told(t, 1)] == ["go", "this way"]


def test_a_request_does_not_end_with_the_reply_that_a_redirect_cut_when_that_was_taken_back(table):
    def talks(request, sink, cancel):
        sink(Delta("text", "Half an answ"))
        cancel.wait(10)
        raise Interrupted

    t = table(talks, say("a whole answer"), say("more"))
    t.session.send(intents.Submit("go"))
    t.wait(events.TextDelta)
    with t.session._lock:  # before the worker takes it up
        t.session.send(intents.Redirect("rather the other way"))
        t.session.send(intents.TakeBack())
    end = t.wait(events.TurnFinished)
    assert (end.outcome, end.text) == ("completed", "a whole answer")
    assert [(m.role, m.text) for m in told(t, 1)] == [("user", "go")]
    t.turn("again", count=2)
    assert [m.text for m in told(t, 2)] == ["go", "Half an answ", view.ANEW, "a whole answer", "again"]


def test_during_tools_a_redirect_waits_for_the_step_boundary_and_cuts_nothing_later(table):
    gate = threading.Event()
    t = table(call(("slow", {})), say("done"),
              **with_tools(a_tool("slow", lambda args, ctx: gate.wait(10) and ToolOutput("slept"))))  # fmt: skip
    t.session.send(intents.Submit("go"))
    t.wait(events.ToolStarted)
    t.session.send(intents.Redirect("this too"))
    gate.set()
    assert t.wait(events.TurnFinished).text == "done"
    assert [m.text for m in t.model.requests[1].messages[-2:]] == ["slept", "this too"]
    assert len(t.model.requests) == 2


def test_idle_a_redirect_begins_a_turn(table):
    t = table(say("ok"))
    t.session.send(intents.Redirect("hello"))
    assert t.wait(events.TurnFinished).outcome == "completed"


# -- retry, resend, rewind, redo ----------------------------------------------------------------------------------


def texts(t):
    return [m.text for m in t.store.messages(t.session.id)]


def test_the_last_turn_is_tried_again_with_its_images_and_what_was_added_to_it(table):
    gate = threading.Event()
    t = table(lambda *a: gate.wait(5) and call(("list_dir", {"path": "."})), say("first"), say("second"))
    picture = ImagePart("image/png", "aGk=")
    t.session.send(intents.Submit("look", (picture,)))
    t.wait(events.StepStarted)
    t.session.send(intents.Steer("closely"))
    gate.set()
    t.wait(events.TurnFinished)
    t.session.send(intents.Retry())
    assert t.wait(events.TurnFinished, count=2).text == "second"
    assert texts(t) == ["look", "closely", "second"]
    assert told(t)[0].parts == (picture,)


def test_a_turn_that_failed_before_it_answered_can_be_tried_again(table):
    t = table(ProviderError("auth", "no key"), say("now it works"))
    t.turn("hello")
    assert t.session.state == "failed"
    t.session.send(intents.Retry())
    assert t.wait(events.TurnFinished, count=2).outcome == "completed"
    assert texts(t) == ["hello", "now it works"]


def test_with_nothing_said_there_is_nothing_to_try_again(table):
    t = table(say("x"))
    t.session.send(intents.Retry())
    assert t.wait(events.Notice).code == "nothing_to_retry"
    t.wait(events.StateChanged, count=2)
    assert t.session.state == "idle"
    assert t.turn("now").outcome == "completed"


def test_an_earlier_message_is_sent_otherwise_in_its_place(table):
    t = table(say("one"), say("two"), say("new"))
    t.turn("first")
    t.turn("second", count=2)
    first, second = t.session.said()
    assert [(s.text, s.turns) for s in (first, second)] == [("first", 2), ("second", 1)]
    t.session.send(intents.Resend(first.id, "first, otherwise"))
    assert t.wait(events.TurnFinished, count=3).text == "new"
    assert texts(t) == ["first, otherwise", "new"]
    assert [m.text for m in told(t)] == ["first, otherwise"]


def test_a_message_that_is_gone_takes_the_new_one_back_to_the_composer(table):
    t = table(say("one"), say("two"))
    t.turn("first")
    t.session.send(intents.Resend("0" * 32, "otherwise"))
    assert t.wait(events.TurnFinished, count=2).error_code == "no_message"
    assert [e.text for e in t.of(events.TextReturned)] == ["otherwise"]
    assert texts(t) == ["first", "one"]


def test_what_was_taken_out_comes_back_whole_until_something_new_is_said(table):
    t = table(say("one"), say("two"), say("three"))
    t.turn("first")
    t.turn("second", count=2)
    whole = t.store.messages(t.session.id)
    t.session.send(intents.Rewind(t.session.said()[0].id))
    t.wait(events.HistoryChanged, count=2)
    assert texts(t) == []
    t.session.send(intents.Redo())
    t.wait(events.HistoryChanged, count=3)
    assert t.store.messages(t.session.id) == whole
    t.session.send(intents.Redo())
    assert t.wait(events.Notice).code == "nothing_to_redo"


@pytest.mark.parametrize("intent", [intents.Retry(), intents.Resend("x", "words"), intents.Rewind("x"), intents.Undo(),
                                    intents.Redo()], ids=lambda i: type(i).__name__)  # fmt: skip
def test_under_a_running_turn_the_conversation_is_not_rearranged(table, intent):
    gate = threading.Event()
    t = table(lambda *a: gate.wait(10) and say("done"))
    t.session.send(intents.Submit("go"))
    t.wait(events.StepStarted)
    t.session.send(intent)
    assert t.wait(events.Notice).code == "busy"
    gate.set()
    t.wait(events.TurnFinished)
    assert texts(t) == ["go", "done"]
    assert [e.text for e in t.of(events.TextReturned)] == (["words"] if isinstance(intent, intents.Resend) else [])
