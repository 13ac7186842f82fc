"""A live session, its worker and its questions, over a real store and real tools; only the model is played."""

import threading
import time
from dataclasses import replace

import pytest

from agent_core import events, intents, limits
from agent_core.errors import ConfigError, Interrupted, ProviderError
from agent_core.messages import ImagePart, ToolCall, Usage, new_id
from agent_core.ports.extras import Guidance
from agent_core.ports.model import Delta, LlmReply
from tests.core.session_support import call, say


def test_a_turn_answers_and_everything_is_stored(table):
    t = table(say("Hello", Usage(10, 2, 12)))
    end = t.turn("Hi\nthere")
    assert (end.outcome, end.text, end.steps) == ("completed", "Hello", 1)
    assert [(m.role, m.text) for m in t.store.messages(t.session.id)] == [("user", "Hi\nthere"), ("assistant", "Hello")]
    assert t.of(events.TitleChanged)[0].title == "Hi"
    assert t.store.get(t.session.id).title == "Hi"
    assert t.of(events.UsageReported)[0].context_tokens == 12
    assert t.session.state == "idle"


def test_tool_results_go_back_in_call_order_and_an_unknown_tool_is_a_result(table):
    t = table(call(("list_dir", {"path": "."}), ("no_such_tool", {}), ("glob", {"pattern": "*.py"})), say("done"))
    (t.workspace / "a.py").write_text("x")
    assert t.turn("look").outcome == "completed"
    tools = [m for m in t.model.requests[1].messages if m.role == "tool"]
    assert [m.result.name for m in tools] == ["list_dir", "no_such_tool", "glob"]
    assert "Unknown tool" in tools[1].text
    assert not tools[1].result.ok
    assert "a.py" in tools[2].text


def test_the_system_prompt_and_the_tools_are_equal_in_every_request(table):
    t = table(call(("list_dir", {"path": "."})), say("done"))
    t.turn("one")
    t.turn("two", count=2)
    prompts = {(r.messages[0].text, repr(r.tools)) for r in t.model.requests}
    assert len(t.model.requests) == 3
    assert len(prompts) == 1


def test_an_edit_asks_and_a_refusal_changes_nothing(table):
    t = table(call(("write_file", {"path": "a.txt", "content": "new\n"})), say("ok"))
    t.session.send(intents.Submit("write"))
    asked = t.wait(events.QuestionAsked)
    assert asked.question.kind == "edit"
    assert asked.question.diffs[0].path == "a.txt"
    assert t.session.state == "asking"
    assert not (t.workspace / "a.txt").exists()
    t.session.send(intents.Answer(asked.question.id, "refuse", "use b.txt"))
    t.wait(events.TurnFinished)
    assert not (t.workspace / "a.txt").exists()
    refusal = t.model.requests[1].messages[-1]
    assert "refused" in refusal.text
    assert "use b.txt" in refusal.text
    assert refusal.result.effect == "none"


def test_an_answer_for_the_session_covers_the_next_edit(table):
    write = [call(("write_file", {"path": f"{n}.txt", "content": "x\n"})) for n in "ab"]
    t = table(write[0], write[1], say("ok"))
    t.session.send(intents.Submit("write"))
    t.session.send(intents.Answer(t.wait(events.QuestionAsked).question.id, "session"))
    t.wait(events.TurnFinished)
    assert (t.workspace / "a.txt").exists()
    assert (t.workspace / "b.txt").exists()
    assert len(t.of(events.QuestionAsked)) == 1


def test_a_command_may_be_edited_before_it_runs_and_the_floor_still_holds(table):
    run = call(("run_command", {"command": "python3 -c 'print(1)'"}))
    t = table(run, run, say("ok"))
    t.session.send(intents.Submit("run"))
    first = t.wait(events.QuestionAsked)
    t.session.send(intents.Answer(first.question.id, "once", "python3 -c 'print(2)'"))
    second = t.wait(events.QuestionAsked, count=2)
    t.session.send(intents.Answer(second.question.id, "once", "mkfs -t ext4 /dev/sdz9"))
    t.wait(events.TurnFinished)
    results = [m.result for m in t.model.requests[-1].messages if m.role == "tool"]
    assert "2" in results[0].text
    assert "print(2)" in results[0].text
    assert results[1].outcome == "refused"


def test_an_answer_that_was_not_offered_is_not_taken(table):
    t = table(call(("write_file", {"path": "a.txt", "content": "x"})), say("ok"), approval_timeout=0.3)
    t.session.send(intents.Submit("write"))
    question = t.wait(events.QuestionAsked).question
    t.session.send(intents.Answer(question.id, "always"))
    t.session.send(intents.Answer("another id", "once"))
    t.wait(events.TurnFinished)
    assert t.of(events.QuestionClosed)[0].by == "timeout"
    assert "silence is not consent" in t.model.requests[1].messages[-1].text
    assert not (t.workspace / "a.txt").exists()


def test_without_a_person_what_would_ask_is_refused_at_once(table):
    t = table(call(("write_file", {"path": "a.txt", "content": "x"}), ("ask_user", {"question": "which?"})), say("ok"),
              unattended=True)  # fmt: skip
    assert t.turn("write").outcome == "completed"
    assert t.of(events.QuestionAsked) == []
    assert not (t.workspace / "a.txt").exists()


def test_plan_mode_refuses_edits_and_exit_plan_leads_out_of_it(table):
    t = table(call(("write_file", {"path": "a.txt", "content": "x\n"})), call(("exit_plan", {"plan": "1. write"})),
              call(("write_file", {"path": "a.txt", "content": "x\n"})), say("ok"))  # fmt: skip
    t.session.send(intents.SetMode("plan"))
    t.session.send(intents.Submit("plan it"))
    plan = t.wait(events.QuestionAsked)
    assert plan.question.kind == "plan"
    assert "exit_plan" in {tool.name for tool in t.model.requests[0].tools}
    t.session.send(intents.Answer(plan.question.id, "once"))
    edit = t.wait(events.QuestionAsked, count=2)
    assert edit.question.kind == "edit"
    assert t.session.mode == "ask"
    t.session.send(intents.Answer(edit.question.id, "once"))
    t.wait(events.TurnFinished)
    assert (t.workspace / "a.txt").read_text() == "x\n"
    assert "exit_plan" not in {tool.name for tool in t.model.requests[2].tools}


def test_modes_that_need_the_sandbox_are_refused_with_words(table):
    t = table(say("x"))
    t.session.send(intents.SetMode("auto"))
    assert t.wait(events.ErrorRaised).code == "mode_needs_sandbox"
    assert t.session.mode == "ask"


def test_a_steer_arrives_at_the_next_step_and_a_queued_text_after_the_turn(table):
    gate = threading.Event()

    def slow(request, sink, cancel):
        gate.wait(5)
        return call(("list_dir", {"path": "."}))

    t = table(slow, say("one"), say("two"))
    t.session.send(intents.Submit("start"))
    t.wait(events.StepStarted)
    t.session.send(intents.Steer("look at b too"))
    t.session.send(intents.Queue("later"))
    assert t.wait(events.PendingChanged, count=2).steers == ("look at b too",)
    gate.set()
    t.wait(events.TurnFinished, count=2)
    second, third = t.model.requests[1].messages, t.model.requests[2].messages
    assert (second[-1].role, second[-1].text, second[-1].origin) == ("user", "look at b too", "steer")
    assert third[-1].text == "later"
    assert [e.outcome for e in t.of(events.TurnFinished)] == ["completed", "completed"]


def test_a_steer_that_comes_with_the_last_answer_starts_another_step(table):
    def answer(request, sink, cancel):
        t.session.send(intents.Steer("and c"))
        return say("done")

    t = table(answer, say("c too"))
    assert t.turn("go").text == "c too"
    assert t.model.requests[1].messages[-1].text == "and c"


def test_pending_texts_can_be_taken_back(table):
    gate = threading.Event()
    t = table(lambda *a: say("x") if gate.wait(5) else say("late"), say("y"))
    t.session.send(intents.Submit("start"))
    t.wait(events.StepStarted)
    t.session.send(intents.Steer("s"))
    t.session.send(intents.Queue("q"))
    t.session.send(intents.TakeBack())
    t.session.send(intents.TakeBack())
    t.session.send(intents.TakeBack())
    gate.set()
    t.wait(events.TurnFinished)
    assert [e.text for e in t.of(events.TextReturned)] == ["q", "s"]
    assert len(t.model.requests) == 1


def waits_for_cancel(partial=""):
    def reply(request, sink, cancel):
        if partial:
            sink(Delta("text", partial))
        cancel.wait(10)
        raise Interrupted

    return reply


def test_how_long_the_reasoning_took_is_kept_with_it(table):
    def reply(request, sink, cancel):
        for piece in ("first", ", then"):
            sink(Delta("reasoning", piece))
            cancel.wait(0.05)
        return LlmReply("done", reasoning="first, then", model="m")

    t = table(reply)
    t.turn("go")
    kept = t.store.messages(t.session.id)[-1]
    assert kept.reasoning == "first, then"
    assert 0.05 <= kept.reasoning_seconds < 5


def test_of_a_call_that_takes_long_to_write_it_is_told_how_far_it_has_come(table, monkeypatch):
    def writes(request, sink, cancel):
        sink(Delta("tool", "todo_read"))
        sink(Delta("arguments", '{"a"'))  # at once: nobody waits for it
        monkeypatch.setattr(limits, "ARRIVING_TOLD", 0.0)
        sink(Delta("tool", "todo_write"))
        for piece in ('{"b": ', "12}"):
            sink(Delta("arguments", piece))
        sink(Delta("reset"))
        sink(Delta("arguments", "of no call"))
        return say("done")

    t = table(writes)
    t.turn("go")
    told = [e for e in t.seen if isinstance(e, events.ToolArriving)]
    assert told[-1] == events.ToolArriving("todo_write", 9)  # the one before may have made room for it
    assert {e.name for e in told} == {"todo_write"}


def test_a_stop_in_the_middle_of_an_answer_keeps_what_was_said(table):
    t = table(waits_for_cancel("half an ans"), say("whole"))
    t.session.send(intents.Submit("go"))
    t.wait(events.TextDelta)
    t.session.send(intents.Queue("not now"))
    begun = time.monotonic()
    t.session.send(intents.Interrupt())
    assert t.wait(events.TurnFinished).outcome == "interrupted"
    assert time.monotonic() - begun < limits.TURN_STOP
    kept = t.store.messages(t.session.id)[-1]
    assert (kept.text, kept.interrupted, kept.is_stopped) == ("half an ans", True, True)
    assert t.of(events.AssistantMessage)[-1].stopped
    assert [e.text for e in t.of(events.TextReturned)] == ["not now"]
    assert t.turn("again", count=2).outcome == "completed"


def test_a_stop_during_a_command_gives_every_call_a_result(table, tmp_path):
    t = table(call(("run_command", {"command": "trap '' INT TERM; sleep 100"}), ("list_dir", {"path": "."})), say("ok"))
    t.session.send(intents.Submit("go"))
    t.session.send(intents.Answer(t.wait(events.QuestionAsked).question.id, "once"))
    t.wait(events.ToolStarted)
    time.sleep(0.3)
    begun = time.monotonic()
    t.session.send(intents.Interrupt())
    assert t.wait(events.TurnFinished).outcome == "interrupted"
    assert time.monotonic() - begun < limits.TURN_STOP
    results = [m.result for m in t.store.messages(t.session.id) if m.role == "tool"]
    assert [r.name for r in results] == ["run_command", "list_dir"]
    assert results[0].effect == "unknown"
    assert results[1].effect == "none"
    assert t.turn("again", count=2).outcome == "completed"


def test_a_stop_while_a_question_waits_refuses_it(table):
    t = table(call(("write_file", {"path": "a.txt", "content": "x"})), say("ok"))
    t.session.send(intents.Submit("go"))
    question = t.wait(events.QuestionAsked).question
    t.session.send(intents.Interrupt())
    assert t.wait(events.TurnFinished).outcome == "interrupted"
    assert t.of(events.QuestionClosed) == [events.QuestionClosed(question.id, "refuse", "interrupt")]
    assert not (t.workspace / "a.txt").exists()


def test_a_second_stop_gives_a_stuck_worker_up_and_the_session_goes_on(table):
    release = threading.Event()

    def deaf(request, sink, cancel):
        release.wait(20)
        return say("too late")

    t = table(deaf, say("fresh"))
    t.session.send(intents.Submit("go"))
    t.wait(events.StepStarted)
    t.session.send(intents.Interrupt())
    t.session.send(intents.Interrupt(abandon=True))
    end = time.monotonic() + 2
    while t.session.busy and time.monotonic() < end:
        time.sleep(0.01)
    assert t.session.state == "idle"
    assert t.turn("again").text == "fresh"
    release.set()
    time.sleep(0.2)
    assert "too late" not in [m.text for m in t.store.messages(t.session.id)]
    assert len(t.of(events.TurnFinished)) == 1


def test_what_a_given_up_worker_fails_at_is_not_heard_of(table):
    t, begun, release = table(say("fresh")), threading.Event(), threading.Event()

    def stuck(*which):
        if begun.is_set():
            return connect(*which)
        begun.set()
        release.wait(20)
        raise ZeroDivisionError

    connect = t.services.connect
    t.services = replace(t.services, connect=stuck)
    t.session = t.open(t.session.id, stored=False)
    t.session.send(intents.Submit("go"))
    assert begun.wait(10)
    stale = t.session._worker
    t.session.send(intents.Interrupt(abandon=True))
    release.set()
    stale.thread.join(10)
    assert t.turn("again", count=1).text == "fresh"
    assert t.of(events.ErrorRaised) == []


def test_a_failing_model_ends_the_turn_with_its_reason_and_the_message_stays(table):
    t = table(ProviderError("auth", "The key was refused."), say("better"))
    end = t.turn("go")
    assert (end.outcome, end.error_code) == ("failed", "auth")
    assert t.of(events.ErrorRaised)[0].text == "The key was refused."
    assert t.store.messages(t.session.id)[0].text == "go"
    assert t.session.state == "failed"
    assert t.turn("again", count=2).outcome == "completed"


def test_without_a_model_the_message_is_kept_and_the_reason_told(table, tmp_path):
    t = table(say("x"))

    def connect(name):
        raise ConfigError("no_key", "Set OPENAI_API_KEY.")

    t.services = replace(t.services, connect=connect)
    t.session = t.open(new_id(), stored=False)
    end = t.turn("go")
    assert (end.outcome, end.error_code) == ("failed", "no_key")
    assert [m.text for m in t.store.messages(t.session.id)] == ["go"]


def test_an_unexpected_crash_is_an_outcome_and_the_worker_lives(table):
    t = table(ZeroDivisionError("oops"), say("fine"))
    assert t.turn("go").error_code == "crash"
    assert t.turn("again", count=2).text == "fine"


def test_an_empty_answer_is_asked_again_once_then_told_and_never_stored(table):
    t = table(say(""), say("Now."), say(""), say(""), say("x"))
    assert t.turn("go").text == "Now."
    assert t.turn("and", count=2).error_code == "empty_reply"
    assert [m.role for m in t.store.messages(t.session.id)] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("finish", "codes"), [("stop", []), ("length", ["cut_by_length"]), ("content_filter", ["cut_by_filter"])]
)
def test_an_answer_that_is_not_whole_is_told_so(table, finish, codes):
    t = table(LlmReply("I wri", finish=finish))
    t.session.start()
    assert t.turn("write").outcome == "completed"
    assert [e.code for e in t.of(events.Notice)] == codes


def test_a_call_cut_by_the_output_limit_is_not_run_and_the_model_is_told(table):
    cut = LlmReply("I write it.", finish="length", dropped_tool_calls=1)
    t = table(cut, say("In pieces then."), cut, cut, say("x"))
    assert t.turn("go").text == "In pieces then."
    told = t.model.requests[1].messages[-1]
    assert (told.role, told.origin) == ("user", "note")
    assert "was not run" in told.text
    assert [e.code for e in t.of(events.Notice)] == ["call_cut"]
    assert t.turn("again", count=2).error_code == "call_cut_again"


@pytest.mark.parametrize("again", ["", "Another one "], ids=["once", "and the next try too"])
def test_what_was_said_before_a_connection_was_lost_for_good_is_kept_with_a_mark(table, again):
    def breaks(request, sink, cancel):
        sink(Delta("text", "Half an ans"))
        sink(Delta("reset"))
        if again:
            sink(Delta("text", again))
        raise ProviderError("network", "The server is gone.")

    t = table(breaks, say("whole"))
    assert t.turn("go").error_code == "network"
    kept = t.store.messages(t.session.id)[-1]
    assert (kept.text, kept.interrupted, kept.is_stopped) == (again or "Half an ans", True, False)
    assert not t.of(events.AssistantMessage)[-1].stopped
    seen = t.of((events.TextDelta, events.PartialDropped))
    shown = [event.text if isinstance(event, events.TextDelta) else "dropped" for event in seen]
    assert shown == ["Half an ", "dropped", *([again] if again else [])], "nothing of one try is shown with the next"


def test_what_waited_behind_a_turn_that_failed_comes_back_and_begins_nothing(table):
    gate = threading.Event()

    def fails(request, sink, cancel):
        gate.wait(5)
        raise ProviderError("auth", "The key is refused.")

    t = table(fails)
    t.session.send(intents.Submit("go"))
    t.wait(events.StepStarted)
    t.session.send(intents.Queue("next"))
    t.wait(events.PendingChanged)
    gate.set()
    assert t.wait(events.TurnFinished).outcome == "failed"
    assert t.wait(events.TextReturned).text == "next"
    assert len(t.model.requests) == 1


def test_images_of_a_queued_message_come_along(table):
    gate = threading.Event()
    t = table(lambda *a: say("x") if gate.wait(5) else say("late"), say("y"))
    t.session.send(intents.Submit("start"))
    t.wait(events.StepStarted)
    t.session.send(intents.Submit("look", (ImagePart("image/png", "aGk="),)))
    gate.set()
    t.wait(events.TurnFinished, count=2)
    assert t.model.requests[1].messages[-1].parts == (ImagePart("image/png", "aGk="),)


def test_the_step_cap_ends_the_turn(table):
    t = table(call(("list_dir", {"path": "."})), max_steps=3)
    end = t.turn("loop")
    assert (end.outcome, end.steps) == ("cap", 3)
    assert len(t.model.requests) == 3


def test_cut_arguments_are_answered_and_not_run(table):
    t = table(
        LlmReply(tool_calls=(ToolCall("c1", "write_file", {}, "Unterminated string"),), finish="tool_calls"), say("ok")
    )
    t.turn("go")
    assert "not a valid JSON object" in t.model.requests[1].messages[-1].text


def test_keys_in_results_are_redacted_before_they_are_stored(table):
    t = table(call(("read_file", {"path": "a.txt"})), say("ok"))
    (t.workspace / "a.txt").write_text("key = sk-very-secret\n")
    t.turn("read")
    stored = t.store.messages(t.session.id)
    assert "[REDACTED]" in stored[2].text
    assert "sk-very-secret" not in str(stored)


@pytest.mark.parametrize(
    ("thoughts", "kept"),
    [
        ({"reasoning_content": "It is sk-very-secret."}, {"reasoning_content": "It is [REDACTED]."}),
        (
            {"thinking_blocks": [{"type": "thinking", "thinking": "sk-very-secret", "signature": "s1", "at": [0, 0]},
                                 {"type": "thinking", "thinking": "Of nothing.", "signature": "s2", "at": [0, 0]}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "Of nothing.", "signature": "s2", "at": [0, 0]}]},
        ),
        (
            {"response_items": [{"type": "reasoning", "id": "r", "encrypted_content": "gAAA",
                                 "summary": [{"type": "summary_text", "text": "sk-very-secret"}]}]},
            {"response_items": [{"type": "reasoning", "id": "r", "encrypted_content": "gAAA",
                                 "summary": [{"type": "summary_text", "text": "[REDACTED]"}]}]},
        ),
    ],
)  # fmt: skip
def test_what_a_model_thought_of_a_key_goes_back_to_it_and_is_stored_without(table, thoughts, kept):
    t = table(LlmReply("Fine.", extra=thoughts, model="m"), say("Yes."))
    t.turn("my key is sk-very-secret")
    t.turn("still there?", count=2)
    assert t.model.requests[-1].messages[2].extra == thoughts, "as it came: its server may have signed it"
    (stored,) = [m for m in t.store.messages(t.session.id) if m.text == "Fine."]
    assert stored.extra == kept


def test_keys_in_changes_and_in_what_the_model_says_are_redacted_too(table):
    write = call(("write_file", {"path": "a.txt", "content": "key = sk-very-secret\n"}))
    t = table(write, say("I wrote sk-very-secret."))
    t.session.send(intents.Submit("write"))
    asked = t.wait(events.QuestionAsked)
    assert "sk-very-secret" in str(asked.question.diffs)  # what is approved is shown exactly
    t.session.send(intents.Answer(asked.question.id, "once"))
    assert "sk-very-secret" not in t.wait(events.TurnFinished).text
    assert (t.workspace / "a.txt").read_text() == "key = sk-very-secret\n"
    results = [m for m in t.store.messages(t.session.id) if m.role == "tool" or not m.tool_calls]
    assert "sk-very-secret" not in str(results)
    assert t.of(events.AssistantMessage)[-1].text == "I wrote [REDACTED]."


def test_keys_the_user_types_and_the_model_passes_on_are_used_but_not_stored(table):
    read = call(("grep", {"pattern": "sk-very-secret", "path": "."}))
    t = table(read, say("ok"))
    t.turn("look for sk-very-secret")
    assert t.of(events.UserMessage)[0].text == "look for [REDACTED]"
    assert t.of(events.TitleChanged)[0].title == "look for [REDACTED]"
    sent = t.model.requests[1].messages
    assert sent[1].text == "look for sk-very-secret"
    assert sent[2].tool_calls[0].arguments["pattern"] == "sk-very-secret"
    assert "sk-very-secret" not in str(t.store.messages(t.session.id))


def test_undo_takes_the_last_turn_out_and_tells_the_listener(table):
    t = table(say("one"), say("two"), say("three"))
    t.turn("a")
    t.turn("b", count=2)
    t.session.send(intents.Undo(1))
    t.wait(events.HistoryChanged, count=2)
    t.turn("c", count=3)
    assert [m.text for m in t.model.requests[2].messages[1:]] == ["a", "one", "c"]


def test_a_stored_session_goes_on_where_it_ended(table):
    t = table(say("one"), say("two"))
    t.turn("a")
    t.session.close()
    t.session.join(2)
    t.session = t.open(t.session.id, stored=True)
    t.session.start()
    history = t.wait(events.HistoryChanged, count=2)
    assert [m.text for m in history.messages] == ["a", "one"]
    t.turn("b", count=2)
    assert [m.text for m in t.model.requests[1].messages[1:]] == ["a", "one", "b"]


class Fails:
    """An extra for which all goes wrong at the end: the machine has no more threads, say."""

    def tools(self):
        return ()

    def guidance(self):
        return Guidance()

    def news(self):
        return ""

    def begin(self, text, cancel):
        return ""

    def ended(self, turn):
        raise RuntimeError("can't start new thread")

    def close(self):
        raise RuntimeError("can't start new thread")


class Counts(Fails):
    def __init__(self):
        self.heard = []

    def ended(self, turn):
        self.heard.append("ended")

    def close(self):
        self.heard.append("closed")


def test_an_extra_that_fails_at_the_end_takes_the_end_from_nobody_else(table):
    counts, shut = Counts(), []
    t = table(say("Hello"), extras=lambda seat: (Fails(), counts))
    t.model.close = lambda: shut.append("model")
    assert t.turn("Hi").outcome == "completed"
    t.session.close()
    t.session.join(10)
    assert (counts.heard, shut) == (["ended", "closed"], ["model"])
