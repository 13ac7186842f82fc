"""What a session tells, line by line: tables of events and the lines they become."""

from dataclasses import replace

import pytest

from agent_core import events, messages
from agent_core.background import Task
from agent_core.delegation import AgentRow
from agent_core.knowledge import Memory
from agent_core.messages import Message, Usage
from agent_core.ports.asking import Question
from agent_core.ports.means import TodoItem
from agent_core.servers import ServerRow
from nanoherm_tui.i18n import set_language
from nanoherm_tui.plain.answer import Answer
from nanoherm_tui.plain.teller import Teller, history_lines
from nanoherm_tui.plain.waits import MODEL, Waits
from nanoherm_tui.session_view import SessionView
from tests.rows import each_row


@pytest.fixture(autouse=True)
def english():
    set_language("en")
    yield
    set_language("en")


def tells(*happened, loaded=True):
    """Each of these events with its lines, as the face takes them one after the other."""
    view = SessionView(session=None)
    view.loaded = loaded
    teller = Teller(view)
    for event in happened:
        yield event, teller.tell(event)
        view.take((event,))


def told(*happened, loaded=True):
    """The lines for these events."""
    return [line for _, lines in tells(*happened, loaded=loaded) for line in lines]


def task(state, **more):
    return Task("t1", "s", "make\x1b[2J", "/w", "workspace-write", 1, 0.0, state, **more)


def agent(state, **more):
    return AgentRow("agent-1", "reviewer", "look\nat it", state, 0.0, **more)


QUEUED = events.ToolQueued("c1", "run_command", "ls\x1b]0;x\x07 -l")
FINISHED = events.ToolFinished("c1", "run_command", True, "exit 0", "a", ("a",), (), 2.0)
TEA = Memory("m", "fact", "likes tea")
SAYS = [
    ([events.TurnStarted("t"), events.StepStarted(1), events.StepStarted(2)], ["The turn begins.", "Step 2."]),
    ([QUEUED, events.ToolStarted("c1")], ["Runs: run_command ls␛]0;x␇ -l"]),
    (
        [QUEUED, events.ToolFinished("c1", "run_command", False, "exit 1", "", ("no\x07",), (), 1.25)],
        ["Not done: run_command ls␛]0;x␇ -l: exit 1, 1.2 s", "  no␇"],
    ),
    (
        [events.ToolQueued("c", "shell", "pwd"), events.ToolFinished("c", "shell", True, "exit 0", "/w\n/x\n")],
        ["Done: shell pwd: exit 0, 0.0 s", "/w", "/x"],
    ),
    ([events.ReasoningDelta("a"), events.ReasoningDelta("b")], ["Thinking."]),
    (
        [events.TurnStarted("t"), events.UserMessage("1", "first"), events.UserMessage("2", "then\nthis", "steer")],
        ["The turn begins.", "Told to the model: then this"],
    ),
    (
        [
            events.TurnStarted("t"),
            events.UsageReported(Usage(1200, 300, 1500), 1500, 3000, cost=0.02),
            events.TurnFinished("t", "completed", 2, 3.14),
        ],
        ["The turn begins.", "The turn is done: 3.1 s, 2 steps, 1.2k tokens in, 300 out, $0.02, context 50% full."],
    ),
    (
        [events.TurnFinished("t", "failed", 1, 1.0, error_code="x")],
        ["The turn has failed: 1.0 s, 1 step."],
    ),
    (
        [events.PlanChanged((TodoItem("a", "completed"), TodoItem("b\nc", "in_progress"), TodoItem("d")))],
        ["Plan, 1 of 3 done:", "  done: a", "  now: b c", "  open: d"],
    ),
    (
        [events.PendingChanged(("x",), ()), events.PendingChanged(("x",), ("y",))],
        ["To be told at the next step: x", "To be sent after the turn: y"],
    ),
    ([events.ModeChanged("ask")], []),  # as it is
    ([events.ModeChanged("auto")], ["Mode auto: works in the sandbox without asking."]),
    ([events.ModelChanged("m", "p", "M at P")], ["Model: M at P"]),
    ([events.TitleChanged("A title"), events.TitleChanged("A title")], ["Title: A title"]),
    ([events.Notice("x", "Take\x1b care", "warning")], ["Warning: Take␛ care"]),
    ([events.ErrorRaised("x", "It broke.")], ["Error: It broke."]),
    (
        [events.CompactionStarted(12), events.CompactionFinished("m", "s", 12)],
        ["Compacting 12 messages.", "Compacted: 12 messages became a summary"],
    ),
    (
        [events.TasksChanged((task("running"),)), events.TasksChanged((task("ended", exit_code=2),))],
        ["Task t1 begins: make␛[2J", "Task t1, exit code 2: make␛[2J"],
    ),
    (
        [events.AgentsChanged((agent("running"),)), events.AgentsChanged((agent("done", preview="fine"),))],
        ["Sub-agent agent-1 reviewer begins: look at it", "Sub-agent agent-1 reviewer, done: fine"],
    ),
    (
        [events.AgentsReturned("m", "all", (agent("done"), replace(agent("failed"), id="agent-2")))],
        ["Sub-agents report: agent-1, agent-2; 1 of 2 done"],
    ),
    (
        [events.ServersChanged((ServerRow("git", "starting"),)), events.ServersChanged((ServerRow("git", "ready"),))],
        ["MCP server git: starting", "MCP server git: runs"],
    ),
    (
        [events.QuestionAsked(Question("ask_user", "", id="q"), 9e9), events.QuestionClosed("q", "once", "person")],
        ["Answered."],
    ),
    (
        [events.QuestionAsked(Question("command", "", id="q"), 9e9), events.QuestionClosed("q", "once", "person")],
        ["Allowed once."],
    ),
    ([events.Remembered((Memory("m", "fact", "likes tea"),))], ["remembered: likes tea"]),
    (
        [events.Recalled((TEA,)), events.Recalled((TEA,)), events.Recalled(())],
        ["Told of what is remembered: 1, first: likes tea"],
    ),
    (  # of calls side by side: the end is told when it is, the result's first lines with whose they are
        [QUEUED, events.ToolEnded("c1", True, "exit 0", 2.0), FINISHED],
        ["Done: run_command ls␛]0;x␇ -l: exit 0, 2.0 s"] * 2 + ["  a"],
    ),
    (
        [QUEUED, events.ToolEnded("c1", True, "exit 0", 2.0), replace(FINISHED, preview=())],
        ["Done: run_command ls␛]0;x␇ -l: exit 0, 2.0 s"],
    ),
    (
        [events.QuestionAsked(Question("command", "", id="q"), 9e9), events.QuestionClosed("q", "refuse", "timeout")],
        ["No answer in time, so it is refused."],
    ),
    ([events.StateChanged("stopping"), events.StateChanged("stopping")], ["Stopping."]),
    ([events.HeldElsewhere(0)], ["No other program uses the session any more."]),
    (
        [events.ViewChanged(("1", "2"), "pinned"), events.ViewChanged(("1",), "")],
        [
            "Pinned in requests: 2",
            "Given back to requests: 1",
        ],
    ),
    (
        [events.OptionsChanged(temperature=0.5)],
        [
            "Persona: none, Temperature: 0.5, Effort: as configured",
        ],
    ),
    ([events.TextReturned("a\nb")], ["Back in your line: a b"]),
    (
        [events.TextDelta("half\n"), events.PartialDropped()],
        [
            "",
            "Answer:",
            "half",
            "That answer was cut off and does not count. It begins anew.",
        ],
    ),
    (
        [events.AssistantMessage("m", "Said.", interrupted=True, stopped=True)],
        ["", "Answer:", "Said.", "", "Stopped."],
    ),
    (
        [events.AssistantMessage("m", "Said.", interrupted=True)],
        ["", "Answer:", "Said.", "", "The answer breaks off here."],
    ),
    ([events.HistoryChanged((messages.user("q"),))], ["Session: New session. Messages: 1", "You said:", "q"]),
    (
        [events.AgentsReturned("m", "all of it", (agent("done"), agent("failed")))],
        ["Sub-agents report: agent-1, agent-1; 1 of 2 done"],
    ),
    ([events.Resting()], ["It rests until it is opened again."]),
    ([events.GoalChanged("win", "reached", "tests pass")], ["The goal is reached: win", "Evidence: tests pass"]),
    (
        [events.FilesRolledBack("t", ("a.py",), ("b.py: changed since",))],
        ["Rolled back, /rollback redo takes it back:", "  a.py", "Left as they are:", "  b.py: changed since"],
    ),
]


@each_row(("happened", "lines"), SAYS, ids=lambda value: type(value[0]).__name__ if value else "none")
def test_a_change_is_a_line_of_words(happened, lines):
    assert told(*happened) == lines


def test_every_kind_of_event_is_met_in_both_languages_without_a_control_byte():
    """Whatever comes, it is told or passed over: no event of the core is unknown here."""
    for language in ("en", "zh"):
        set_language(language)
        for happened, _ in SAYS:
            for line in told(*happened):
                assert line.isprintable() or line == ""
                assert "{" not in line
                assert "plain." not in line


# Kinds of events that are no lines of their own, and where what they say is said.
ELSEWHERE = {
    events.ToolQueued: "the question that it waits for, or its begin",
    events.ToolProgress: "what takes long is told of with its newest line (Waits)",
    events.ToolArriving: "waiting for the model tells it (Waits)",
    events.QuestionAsked: "put with all that is to be known, or told to wait in another session",
    events.ModeToConfirm: "asked: consents.confirm_mode",
    events.UsageReported: "the end of the turn",
    events.UsageLoaded: "/usage",
}


def test_every_kind_of_event_there_is_becomes_words_or_is_said_elsewhere():
    worded = {type(event) for happened, _ in SAYS for event, lines in tells(*happened) if lines}
    assert worded.isdisjoint(ELSEWHERE)
    assert worded | ELSEWHERE.keys() == set(events.EVENT_TYPES.values())


def test_nothing_of_a_session_is_told_before_its_history_is_there():
    assert told(events.ModeChanged("plan"), events.TitleChanged("old"), loaded=False) == []


PIECES = [
    (["one\ntwo", " more\nthree"], "one\ntwo more\nthree", ["", "Answer:", "one", "two more", "three", ""]),
    (["\n\n", "late"], "late", ["", "Answer:", "late", ""]),
    (["same\n"], "same\n", ["", "Answer:", "same", ""]),
    ([], "whole\nat once", ["", "Answer:", "whole", "at once", ""]),
    (
        ["key sk-1\nrest"],
        "key [hidden]\nrest",
        ["", "Answer:", "key sk-1", "The answer as it is stored:", "", "Answer:", "key [hidden]", "rest", ""],
    ),
    (["\ttab\x1b[2J\n"], "\ttab\x1b[2J", ["", "Answer:", "\ttab␛[2J", ""]),
    ([], "", []),
]


@each_row(("pieces", "text", "lines"), PIECES)
def test_an_answer_is_given_out_in_whole_lines_once(pieces, text, lines):
    answer = Answer()
    given = [line for piece in pieces for line in answer.more(piece)]
    assert given + answer.whole(text) == lines


def test_what_a_retry_makes_void_is_said_and_not_taken_back():
    answer = Answer()
    assert answer.more("half\na") == ["", "Answer:", "half"]
    assert answer.void() == ["That answer was cut off and does not count. It begins anew."]
    assert answer.more("a new one\n") == ["", "Answer:", "a new one"]
    assert Answer().void() == []


def test_a_stored_session_is_told_by_its_last_exchange():
    said = (messages.user("old"), Message("assistant", "long ago"), messages.user("new"), Message("assistant", "now"))
    assert history_lines("T", said, 6) == ["Session: T. Messages: 10", "You said:", "new", "", "Answer:", "now", ""]


STILL = [
    (9.9, []), (10.0, ["Still running: make, 10.0 s"]), (12.0, []), (61.0, ["Still running: make, 1m 01s"]), (90.0, []),
    (119.0, []), (120.0, ["Still running: make, 2m 00s"]), (1000.0, ["Still running: make, 16m 40s"]), (1019.0, []),
    (1020.0, ["Still running: make, 17m 00s"]),
]  # fmt: skip


def test_what_takes_long_is_told_of_ever_more_rarely_and_never_late_in_a_heap():
    waits = Waits()
    waits.begin("c", "make", 0.0)
    for now, lines in STILL:
        assert waits.due(now) == lines, now
    assert waits.next == 1080.0
    waits.end("c")
    assert waits.next == float("inf")


def test_a_wait_tells_its_newest_line_once_and_the_models_has_words_of_its_own():
    waits = Waits()
    waits.begin("c", "make", 0.0)
    waits.begin(MODEL, "", 0.0)
    waits.heard("c", "1 of 2\x1b[2J\nmore")
    waits.heard("unknown", "x")
    assert waits.due(10.0) == [
        "Still running: make, 10.0 s; its newest line: 1 of 2␛[2J more",
        "Still waiting for the model, 10.0 s",
    ]
    waits.heard(MODEL, "write_file, 1.2k characters so far")
    assert waits.due(30.0) == [
        "Still running: make, 30.0 s",
        "Still writing a call: write_file, 1.2k characters so far, 30.0 s",
    ]
