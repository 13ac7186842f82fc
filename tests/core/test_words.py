"""Messages, events and scopes: the data everything else passes around."""

import json
import threading
from dataclasses import fields

import pytest

from agent_core import events, messages
from agent_core.background import Task
from agent_core.cancel import CancelScope
from agent_core.delegation import AgentRow
from agent_core.errors import Interrupted
from agent_core.knowledge import Memory
from agent_core.messages import DiffLine, FileDiff, Hunk, ImagePart, Message, ToolCall, ToolResult, Usage
from agent_core.ports.asking import Question
from agent_core.ports.means import TodoItem
from agent_core.servers import FormField, ServerRow
from tests.rows import each_row

DIFF = FileDiff(
    "src/日期.py", (Hunk(3, 3, (DiffLine("remove", "a", 3), DiffLine("add", "b\u2028", None, 3))),), 1, 1, lines_after=9
)
RESULT = ToolResult("c1", "edit_file", "done", True, "done", "+1 -1", ("x",), (DIFF,), 0.25)

MESSAGES = [
    Message("user", "修好 parse_date", parts=(ImagePart("image/png", "aGk="),), origin="steer"),
    Message(
        "assistant",
        "",
        tool_calls=(ToolCall("c1", "grep", {"q": "x"}, None, {"sig": "s"}),),
        reasoning="hm",
        reasoning_seconds=1.25,
        usage=Usage(10, 2, 12, 4, None),
        extra={"reasoning_details": [1]},
        finish="tool_calls",
    ),
    Message("assistant", "half", interrupted=True),
    messages.tool(RESULT),
]

EVENTS = [
    events.TurnStarted("t"),
    events.UserMessage("m", "hi", "steer", 2),
    events.StepStarted(1),
    events.TextDelta("a"),
    events.ReasoningDelta("b"),
    events.PartialDropped(),
    events.AssistantMessage("m", "text", "why", True, 1.5, True),
    events.ToolArriving("write_file", 12_340),
    events.ToolQueued("c", "grep", "x"),
    events.ToolStarted("c"),
    events.ToolProgress("c", "line"),
    events.ToolEnded("c1", False, "已停止", 1.5),
    events.ToolFinished("c", "edit_file", False, "failed", "text", ("l",), (DIFF,), 0.1),
    events.QuestionAsked(Question("edit", "Change a", "mode ask", diffs=(DIFF,), choices=("x", "y")), 5.0),
    events.QuestionAsked(
        Question(
            "form", "Fill in", server="s", form=(FormField("n", "N", "choices", default=("a",), choices=(("a", "A"),)),)
        ),
        5.0,
    ),
    events.QuestionClosed("q", "refuse", "timeout"),
    events.PlanChanged((TodoItem("read", "completed"), TodoItem("fix"))),
    events.UsageReported(Usage(1, 2, 3), 3, 100, "m", 0.25, 1.5, True),
    events.UsageLoaded(Usage(1, 2, 3), 1.5, True),
    events.Notice("retry", "again", "warning", {"n": 1}),
    events.ErrorRaised("auth", "wrong key", {"provider": "x"}),
    events.PendingChanged(("a",), ("b", "c")),
    events.TextReturned("a"),
    events.ModeChanged("plan"),
    events.ModeToConfirm("auto", "workspace-write"),
    events.GoalChanged("all tests pass", "reached", "6 passed"),
    events.ModelChanged("m", "p", "M"),
    events.OptionsChanged("pirate", 0.5, "high", ("web_fetch",)),
    events.TitleChanged("t"),
    events.StateChanged("asking"),
    events.HistoryChanged(tuple(MESSAGES)),
    events.CompactionStarted(84),
    events.CompactionFinished("m", "summary", 84),
    events.ViewChanged(("m", "n"), "dropped"),
    events.Resting(),
    events.HeldElsewhere(4242, 5.0),
    events.TasksChanged(
        (Task("t1", "s", "make serve", "/ws", "workspace-write", 42, 1.5, "killed", 2.5, None, 9, 7, "上"),)
    ),
    events.FilesRolledBack("t", ("src/日期.py",), ("a.py: changed since",), True),
    events.AgentsReturned("m", "all of it", (AgentRow("agent-2", "worker", "t", "failed", 1.5, group="g"),)),
    events.AgentsChanged((AgentRow("agent-1", "reviewer", "看 a.py", "done", 1.5, 2.5, "s2", "m", 3, 900, "", "ok"),)),
    events.ServersChanged((ServerRow("github", "failed", "http", "yours", problem="HTTP 502", retry_at=9.5),)),
    events.Remembered(
        (Memory("m1", "lesson", "用 uv", 1.5, "s", "/ws", "distilled", observed="a turn", derived=("m0",)),),
        True,
        (Memory("m2", "fact", "alt"),),
    ),
    events.Recalled((Memory("m1", "lesson", "用 uv"),)),
    events.TurnFinished("t", "completed", 2, 3.5, "text"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.role)
def test_a_message_comes_back_from_json_equal(message):
    assert messages.from_json(json.loads(json.dumps(messages.to_json(message)))) == message


@each_row("event", EVENTS, ids=lambda e: type(e).__name__)
def test_an_event_comes_back_from_json_equal(event):
    envelope = events.Envelope("s", 7, 1.5, event)
    assert events.from_json(json.loads(json.dumps(events.to_json(envelope)))) == envelope


def test_every_event_type_has_a_line_of_documentation_and_a_row_above():
    assert {type(e) for e in EVENTS} == set(events.EVENT_TYPES.values())
    for event_type in events.EVENT_TYPES.values():
        generated = f"{event_type.__name__}({', '.join(f.name for f in fields(event_type))})"
        if event_type not in (events.ModeChanged, events.StateChanged, events.TitleChanged):
            assert event_type.__doc__, generated
            assert not event_type.__doc__.startswith(event_type.__name__ + "("), generated


def test_usage_adds_up_and_keeps_unknown_unknown():
    assert Usage(1, None, 3) + Usage(2, 5, None) == Usage(3, 5, 3)
    assert (Usage() + Usage()).prompt_tokens is None


def test_surrogate_halves_are_joined_and_lone_ones_replaced():
    assert messages.clean_surrogates("a\ud83d\ude00b") == "a😀b"
    assert messages.clean_surrogates("a\ud83d") == "a\ufffd"


def test_an_assistant_message_with_nothing_in_it_is_empty():
    assert Message("assistant", "").is_empty
    assert not MESSAGES[1].is_empty


class TestCancelScope:
    def test_closers_run_once_and_in_children_too(self):
        scope = CancelScope()
        child = scope.child()
        called = []
        child.on_cancel(lambda: called.append("child"))
        with scope.closing(lambda: called.append("released")):
            pass
        scope.cancel()
        scope.cancel()
        assert called == ["child"]
        assert child.cancelled

    def test_a_closer_added_too_late_runs_at_once(self):
        scope = CancelScope()
        scope.cancel()
        called = []
        scope.on_cancel(lambda: called.append(1))
        assert called == [1]
        assert scope.child().cancelled

    def test_a_failing_closer_does_not_keep_the_others_from_running(self):
        scope = CancelScope()
        called = []
        scope.on_cancel(lambda: 1 / 0)
        scope.on_cancel(lambda: called.append(1))
        scope.cancel()
        assert called == [1]

    def test_take_reads_and_clears(self):
        scope = CancelScope()
        scope.cancel()
        assert scope.take() is True
        assert scope.take() is False
        scope.check()

    def test_check_raises_and_wait_wakes(self):
        scope = CancelScope()
        threading.Timer(0.02, scope.cancel).start()
        assert scope.wait(5.0)
        with pytest.raises(Interrupted):
            scope.check()

    def test_a_closed_child_is_forgotten_by_its_parent(self):
        scope = CancelScope()
        with scope.child() as child:
            pass
        scope.cancel()
        assert not child.cancelled
