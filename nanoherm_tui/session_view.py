"""What the screen knows of one session besides its transcript: status, questions, plan, pending texts.

A reducer like the transcript's: events in, the names of what changed out. No Textual here.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from agent_core import events
from agent_core.messages import FileDiff, Message, Usage
from agent_core.records import dataclass
from nanoherm_tui.calls import Call, Calls
from nanoherm_tui.panes.comments import Comments
from nanoherm_tui.text import Cost
from nanoherm_tui.transcript.model import TranscriptModel

if TYPE_CHECKING:
    from agent_core.background import Task
    from agent_core.delegation import AgentRow
    from agent_core.events import Event, SessionState
    from agent_core.knowledge import Memory
    from agent_core.names import Mode
    from agent_core.ports.asking import Question
    from agent_core.ports.means import TodoItem
    from agent_core.session.live import LiveSession

Part = Literal[
    "status", "list", "title", "plan", "questions", "pending", "diffs", "error", "returned", "mode", "context",
    "options", "consent", "tasks", "files", "memory", "servers", "turns",
]  # fmt: skip

# What is in requests has changed.
_FILLING = (
    events.UserMessage,
    events.AgentsReturned,
    events.AssistantMessage,
    events.ToolFinished,
    events.CompactionFinished,
    events.ViewChanged,
    events.HistoryChanged,
    events.ModeChanged,
    events.ModelChanged,
    events.UsageReported,
)


def count_running(tasks: Iterable[Task]) -> int:
    """How many of these commands in the background have not ended."""
    return sum(task.state == "running" for task in tasks)


def count_beside(tasks: Iterable[Task], agents: Iterable[AgentRow]) -> int:
    """How many commands in the background and sub-agents have not ended."""
    return count_running(tasks) + sum(agent.ended is None for agent in agents)


@dataclass(frozen=True, slots=True)
class Waiting:
    question: Question
    deadline: float
    """Seconds since the epoch."""


@dataclass(slots=True)
class SessionView:
    """One session as the screen shows it. Lives on the screen's thread only."""

    session: LiveSession
    model: TranscriptModel = field(default_factory=TranscriptModel)
    state: SessionState = "idle"
    title: str = ""
    branch: str = ""
    mode: Mode = "ask"
    asked_mode: Mode | None = None
    """The mode that somebody asked for last, until the session has answered."""
    to_confirm: events.ModeToConfirm | None = None
    """The mode that the session wants a person's word for first."""
    goal: str = ""
    """What mode goal works towards; empty: nothing, or not any more."""
    model_label: str = ""
    waiting: list[Waiting] = field(default_factory=list)
    plan: tuple[TodoItem, ...] = ()
    tasks: tuple[Task, ...] = ()
    """Its commands in the background, the newest last."""
    agents: tuple[AgentRow, ...] = ()
    """Its sub-agents, the newest last."""
    comments: Comments = field(default_factory=Comments)
    """What the person says about hunks and has not sent yet."""
    recalled: tuple[Memory, ...] = ()
    """What the newest turn was told of what is remembered."""
    rewind_to: str = ""
    """The message to rewind to once files have been rolled back, where somebody wanted both."""
    rewind_due: bool = False
    """They have been, and the session only has to be free."""
    rolled_back: list[str] = field(default_factory=list)
    """Paths that have become others by a rollback, for whoever looks at files."""
    steers: tuple[str, ...] = ()
    queued: tuple[str, ...] = ()
    held: events.HeldElsewhere | None = None
    """Another program runs a turn here."""
    answering: tuple[str, str] = ("", "")
    """The model that answers, and its provider."""
    options: events.OptionsChanged = field(default_factory=events.OptionsChanged)
    asked: tuple[events.OptionsChanged, str] | None = None
    """Settings somebody asked for, and what to say once the session has them: it may refuse."""
    usage: Usage = field(default_factory=Usage)
    cost: Cost | None = None
    """Of the session and its children; None: nothing was asked yet."""
    context_percent: int | None = None
    step: int = 0
    turn_started: float = 0.0
    """Monotonic seconds; 0 while idle."""
    opened: float = field(default_factory=time.time)
    updated: float = 0.0
    """When a turn last began or ended here; 0 where none has."""
    unread: bool = False
    loaded: bool = False
    """The history has come."""
    greeted: bool = False
    """The demo's first message has been offered."""
    stored: bool = False
    work: Calls = field(default_factory=Calls)
    """Its tool calls, and what they changed."""
    errors: list[events.ErrorRaised] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    """Pending texts that came back, for the composer to take."""

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def calls(self) -> dict[str, Call]:
        """By call id."""
        return self.work.by_id

    @property
    def diffs(self) -> deque[FileDiff]:
        """What the session has changed, the newest first."""
        return self.work.diffs

    def look_at_branch(self) -> None:
        """Read the branch that is checked out in the session's folder. Reads files: not on the screen's thread."""
        from agent_core.mind.prompt import git_branch

        self.branch = git_branch(self.session.workspace)

    def take(self, batch: Iterable[Event]) -> set[Part]:
        """Reduce a batch. Returns the parts of the screen that may have changed; a delta changes none of them."""
        changed: set[Part] = set()
        for event in batch:
            self._take(event, changed)
        return changed

    def _take(self, event: Event, changed: set[Part]) -> None:
        if isinstance(event, _FILLING):
            changed.add("context")
        match event:
            case events.TextDelta() | events.ReasoningDelta() | events.ToolArriving() | events.ToolProgress():
                return
            case events.StateChanged(state):
                self.state = state
                changed |= {"status", "list"}
            case events.TurnStarted():
                self.turn_started, self.step, self.stored = time.monotonic(), 0, True
                self.rewind_to, self.rewind_due = "", False
                self.updated = time.time()
                changed |= {"status", "list"}
            case events.StepStarted(step):
                self.step = step
                changed.add("status")
            case events.TurnFinished():
                self.turn_started, self.unread, self.updated = 0.0, True, time.time()
                changed |= {"status", "list", "turns"}
            case events.TitleChanged(title):
                self.title = title
                changed |= {"title", "list"}
            case events.ModeChanged(mode):
                self.mode, self.to_confirm = mode, None
                self._mode_answered(mode)
                changed |= {"status", "mode"}
            case events.ModeToConfirm(mode):
                if self.asked_mode in (None, mode):  # else another one was asked for meanwhile
                    self.to_confirm = event
                    changed.add("consent")
                self._mode_answered(mode)
            case events.GoalChanged(text, state):
                self.goal = text if state == "open" else ""
                changed.add("status")
            case events.ModelChanged(model, provider, label):
                self.answering, self.model_label = (model, provider), label
                changed.add("status")
            case events.OptionsChanged():
                self.options = event
                changed.add("options")
            case events.UsageLoaded(usage, cost, at_least):
                self.usage, self.cost = usage, Cost(cost, at_least)
                changed.add("status")
            case events.UsageReported(usage, tokens, window):
                self.usage += usage
                self.cost = Cost(event.session_cost, event.at_least)
                if tokens is not None:  # else it is no step's: the window holds what it held
                    self.context_percent = round(100 * tokens / window) if window else None
                changed.add("status")
            case events.CompactionStarted() if not self.turn_started:
                self.step = 0  # it is no step of the last turn
                changed.add("status")
            case events.CompactionFinished(message_id) if message_id:
                self.context_percent = None  # unknown until the next reply
                changed.add("status")
            case events.PlanChanged(items):
                self.plan = items
                changed.add("plan")
            case events.TasksChanged(tasks):
                if count_running(tasks) != count_running(self.tasks):
                    changed.add("status")
                self.tasks = tasks
                changed.add("tasks")
            case events.AgentsChanged(agents):
                if count_beside((), agents) != count_beside((), self.agents):
                    changed.add("status")
                self.agents = agents
                changed.add("tasks")
            case events.FilesRolledBack(_, paths):
                self.rolled_back += paths
                self.rewind_due = bool(self.rewind_to)
                changed |= {"files", "turns"}
            case events.Recalled(memories):
                self.recalled = memories
                changed.add("memory")
            case events.Remembered():
                changed.add("memory")
            case events.ServersChanged():
                changed.add("servers")
            case events.QuestionAsked(question, deadline):
                self.waiting.append(Waiting(question, deadline))
                changed |= {"questions", "status", "list"}
            case events.QuestionClosed(question_id):
                self.waiting = [w for w in self.waiting if w.question.id != question_id]
                changed |= {"questions", "status", "list"}
            case events.PendingChanged(steers, queued):
                self.steers, self.queued = steers, queued
                changed.add("pending")
            case events.HeldElsewhere(pid):
                self.held = event if pid else None
                changed.add("pending")
            case events.TextReturned(text):
                self.returned.append(text)
                changed.add("returned")
            case events.ErrorRaised(code):
                if code == "mode_needs_sandbox":
                    self.asked_mode = None
                self.errors.append(event)
                changed.add("error")
            case events.ToolQueued():
                self.work.take(event)
                self.stored = True
            case events.ToolFinished():
                if self.work.take(event):
                    changed.add("diffs")
            case events.HistoryChanged(messages):
                self.loaded = True
                self.stored = self.stored or bool(messages)
                self.work.load(messages)
                changed |= {"diffs", "title"}
            case _:
                return

    @property
    def mode_in_turn(self) -> Mode:
        """From which the next one in turn is reckoned: the one that is, or is about to be."""
        return self.asked_mode or (self.to_confirm.mode if self.to_confirm is not None else self.mode)

    def _mode_answered(self, mode: Mode) -> None:
        if self.asked_mode == mode:
            self.asked_mode = None

    def put_away(self) -> None:
        """It rests: what is read again when it wakes goes. Its transcript is the transcript's to let go of."""
        self.loaded = False
        self.work.load(())

    def prepend(self, messages: Iterable[Message]) -> None:
        """Take in what was said before the history that came."""
        self.work.prepend(messages)
