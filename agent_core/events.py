"""What a session tells whoever listens: frozen dataclasses with a JSON round trip.

Each event goes out in an Envelope with the session's id, a number that grows by one within the session, and the time.
`type` in JSON is the class name in snake_case; the set is documented in docs/events.md and stable.
"""

from __future__ import annotations

import re
from dataclasses import field, fields
from typing import Any, Literal, get_args

from agent_core import messages
from agent_core.background import Task
from agent_core.delegation import AgentRow
from agent_core.intents import Decision
from agent_core.knowledge import Memory
from agent_core.messages import FileDiff, Message, ToolResult, Usage, View
from agent_core.names import Mode
from agent_core.ports.asking import Question
from agent_core.ports.means import TodoItem
from agent_core.records import dataclass
from agent_core.servers import FormField, ServerRow

SessionState = Literal["idle", "running", "stopping", "asking", "failed"]
Outcome = Literal["completed", "interrupted", "cap", "failed"]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A worker has taken up the user's message."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A user message was stored: the turn's first, or a steer at a step boundary."""

    message_id: str
    text: str
    origin: str = ""
    images: int = 0


@dataclass(frozen=True, slots=True)
class AgentsReturned:
    """What sub-agents in the background have come to was stored: it begins the turn, or stands before what does."""

    message_id: str
    text: str
    """All that the model is told."""
    agents: tuple[AgentRow, ...]
    """Whose results these are."""


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A model round trip begins; the first of a turn is 1."""

    step: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class PartialDropped:
    """A retry begins: the text and reasoning of this step so far are void."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """The step's reply is complete (or cut short) and stored; its text replaces what was streamed."""

    message_id: str
    text: str
    reasoning: str = ""
    interrupted: bool = False
    """It is not whole: it was stopped, or its connection broke."""
    seconds: float = 0.0
    stopped: bool = False
    """Somebody has stopped it."""


@dataclass(frozen=True, slots=True)
class ToolArriving:
    """The reply is writing a call, and takes its time; the step's reply, or what it is replaced by, ends that."""

    name: str
    """As the model writes it."""
    characters: int
    """Of its arguments, so far."""


@dataclass(frozen=True, slots=True)
class ToolQueued:
    """The reply asks for this call; it waits for its turn or for consent. Or the person runs a command ("shell")."""

    call_id: str
    name: str
    subject: str
    private: bool = False
    """The person's own command, of which the model is not told."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The call has been allowed and begins."""

    call_id: str


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running call's newest line."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """The call has ended before one that comes before it: its result is stored, and told, behind that one's."""

    call_id: str
    ok: bool
    outcome: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The call has its result, stored."""

    call_id: str
    name: str
    ok: bool
    outcome: str
    text: str
    preview: tuple[str, ...] = ()
    diffs: tuple[FileDiff, ...] = ()
    seconds: float = 0.0


def finished(result: ToolResult) -> ToolFinished:
    """The event that tells of a result."""
    return ToolFinished(
        result.call_id,
        result.name,
        result.ok,
        result.outcome,
        result.text,
        result.preview,
        result.diffs,
        result.seconds,
    )


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """A person has to decide; `deadline` is in seconds since the epoch."""

    question: Question
    deadline: float


@dataclass(frozen=True, slots=True)
class QuestionClosed:
    """The question is answered, timed out, or void because the turn was stopped."""

    question_id: str
    decision: Decision
    by: str


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The todo list as it is now."""

    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Tokens of one request (an increment), how full the context is after it, and what it has cost.

    Costs are US dollars, estimated from dated prices; null: not known.
    """

    usage: Usage
    context_tokens: int | None = None
    context_window: int | None = None
    model: str = ""
    """Who answered."""
    cost: float | None = None
    session_cost: float | None = None
    """Of the session and its children so far."""
    at_least: bool = False
    """`session_cost` is not all: some requests' prices are not known."""


@dataclass(frozen=True, slots=True)
class UsageLoaded:
    """A stored session was opened: what it and its children have used until now, and cost."""

    usage: Usage
    session_cost: float | None = None
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class CompactionStarted:
    """The older part of what requests hold is being summarised."""

    messages: int
    """How many messages go out of requests."""


@dataclass(frozen=True, slots=True)
class CompactionFinished:
    """The summary is stored and stands for them; with an empty `message_id` all is as it was."""

    message_id: str = ""
    text: str = ""
    messages: int = 0


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """The person has dropped, pinned or given back messages (SetView)."""

    message_ids: tuple[str, ...]
    view: View


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know; `code` and `params` are for translation, `text` is the English."""

    code: str
    text: str
    level: Literal["info", "warning"] = "info"
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ErrorRaised:
    """The turn, or an intent, failed."""

    code: str
    text: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingChanged:
    """Texts that wait: steers for the next step boundary, prompts for after the turn."""

    steers: tuple[str, ...] = ()
    queued: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextReturned:
    """A pending text was taken back, or outlived the program; it belongs in the composer again."""

    text: str


@dataclass(frozen=True, slots=True)
class ModeChanged:
    mode: Mode


@dataclass(frozen=True, slots=True)
class ModeToConfirm:
    """The mode was not switched: here it needs SetMode with `confirmed`, once."""

    mode: Mode
    sandbox: str
    """What commands would run in, unasked (Box.words)."""


@dataclass(frozen=True, slots=True)
class GoalChanged:
    """What mode goal works towards. `evidence` is what the model showed when it declared it reached."""

    text: str
    state: Literal["", "open", "reached", "given_up"]
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """`label` is what a person reads; it says so when the model is a scripted demo."""

    model: str
    provider: str
    label: str


@dataclass(frozen=True, slots=True)
class OptionsChanged:
    """The session's own settings as they are now."""

    persona: str = ""
    temperature: float | None = None
    reasoning_effort: str = ""
    tools_off: tuple[str, ...] | None = None
    """Tools that are switched off; None: as configured."""


@dataclass(frozen=True, slots=True)
class TitleChanged:
    title: str


@dataclass(frozen=True, slots=True)
class StateChanged:
    state: SessionState


@dataclass(frozen=True, slots=True)
class HistoryChanged:
    """The whole history as it is now: the session was opened, messages were taken out, or it was emptied."""

    messages: tuple[Message, ...] = ()
    earlier: int = 0
    """How many come before `messages`: of a long session its end is told, `Host.earlier` gives the rest."""


@dataclass(frozen=True, slots=True)
class Resting:
    """The session rests (intents.Rest): it holds no history, no connection and no thread until it is woken."""


@dataclass(frozen=True, slots=True)
class HeldElsewhere:
    """Another program runs a turn in the session; what it stores is read along, and a turn here waits for its end.

    `pid` 0: no longer.
    """

    pid: int
    since: float = 0.0
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class TasksChanged:
    """The session's commands in the background as they are now, the newest last."""

    tasks: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True)
class FilesRolledBack:
    """Files were brought back to what they were before a turn, or, with `redo`, to what a rollback had taken away."""

    turn_id: str
    paths: tuple[str, ...]
    left: tuple[str, ...] = ()
    """Those that were left as they are, each with the reason: "src/a.py: changed since"."""
    redo: bool = False


@dataclass(frozen=True, slots=True)
class AgentsChanged:
    """The session's sub-agents as they are now, the newest last."""

    agents: tuple[AgentRow, ...]


@dataclass(frozen=True, slots=True)
class ServersChanged:
    """The MCP servers as they are now, in the order of the config."""

    servers: tuple[ServerRow, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """Something was written to memory or taken out of it, or waits there for a person."""

    memories: tuple[Memory, ...]
    pending: bool = False
    gone: tuple[Memory, ...] = ()
    """What the model has taken out, or would."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The memories that this turn's requests hold, the best first; none: nothing remembered has to do with it."""

    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn has ended and the session is ready for the next prompt."""

    turn_id: str
    outcome: Outcome
    steps: int
    seconds: float
    text: str = ""
    """The final answer."""
    error_code: str = ""


Event = (
    TurnStarted
    | UserMessage
    | AgentsReturned
    | StepStarted
    | TextDelta
    | ReasoningDelta
    | PartialDropped
    | AssistantMessage
    | ToolArriving
    | ToolQueued
    | ToolStarted
    | ToolProgress
    | ToolEnded
    | ToolFinished
    | QuestionAsked
    | QuestionClosed
    | PlanChanged
    | UsageReported
    | UsageLoaded
    | CompactionStarted
    | CompactionFinished
    | ViewChanged
    | Notice
    | ErrorRaised
    | PendingChanged
    | TextReturned
    | ModeChanged
    | ModeToConfirm
    | GoalChanged
    | ModelChanged
    | OptionsChanged
    | TitleChanged
    | StateChanged
    | HistoryChanged
    | Resting
    | HeldElsewhere
    | TasksChanged
    | FilesRolledBack
    | AgentsChanged
    | ServersChanged
    | Remembered
    | Recalled
    | TurnFinished
)

# Events a face shows at once rather than with the next batch.
URGENT: tuple[type, ...] = (QuestionAsked, QuestionClosed, ErrorRaised, ToolStarted, TurnFinished)


@dataclass(frozen=True, slots=True)
class Envelope:
    session_id: str
    seq: int
    time: float
    event: Event


def type_name(event_type: type) -> str:
    """TurnStarted → "turn_started"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event_type.__name__).lower()


EVENT_TYPES: dict[str, type[Event]] = {type_name(t): t for t in get_args(Event)}


def to_json(envelope: Envelope) -> dict[str, Any]:
    """One event as plain data: type, session_id, seq, time, then the event's own fields."""
    event = envelope.event
    out: dict[str, Any] = {
        "type": type_name(type(event)),
        "session_id": envelope.session_id,
        "seq": envelope.seq,
        "time": envelope.time,
    }
    for f in fields(event):
        out[f.name] = _plain(getattr(event, f.name))
    return out


def from_json(data: dict[str, Any]) -> Envelope:
    """The inverse of `to_json`. Raises KeyError for an unknown type."""
    event_type = EVENT_TYPES[data["type"]]
    values: dict[str, Any] = {}
    for f in fields(event_type):
        if f.name not in data:
            continue
        value = data[f.name]
        if f.name == "diffs":
            value = tuple(messages.diff_from_json(d) for d in value)
        elif f.name == "usage":
            value = messages.usage_from_json(value)
        elif f.name == "messages" and isinstance(value, list):
            value = tuple(messages.from_json(m) for m in value)
        elif f.name == "items":
            value = tuple(TodoItem(**i) for i in value)
        elif f.name == "tasks":
            value = tuple(Task(**task) for task in value)
        elif f.name == "agents":
            value = tuple(AgentRow(**row) for row in value)
        elif f.name == "servers":
            value = tuple(ServerRow(**row) for row in value)
        elif f.name in ("memories", "gone"):
            value = tuple(Memory(**{**one, "derived": tuple(one.get("derived", ()))}) for one in value)
        elif f.name == "question":
            value = Question(
                **{
                    **value,
                    "diffs": tuple(messages.diff_from_json(d) for d in value["diffs"]),
                    "choices": tuple(value["choices"]),
                    "decisions": tuple(value["decisions"]),
                    "lends": tuple(value.get("lends", ())),
                    "form": tuple(_form_field(field) for field in value.get("form", ())),
                }
            )
        elif isinstance(value, list):
            value = tuple(value)
        values[f.name] = value
    return Envelope(data["session_id"], data["seq"], data["time"], event_type(**values))


def _form_field(data: dict[str, Any]) -> FormField:
    default = data["default"]
    choices = tuple((value, title) for value, title in data["choices"])
    return FormField(
        **{**data, "choices": choices, "default": tuple(default) if isinstance(default, list) else default}
    )


def _plain(value: Any) -> Any:
    if isinstance(value, FileDiff):
        return messages.diff_to_json(value)
    if isinstance(value, Message):
        return messages.to_json(value)
    if isinstance(value, Usage):
        return messages.usage_to_json(value)
    if isinstance(value, (Question, Task, TodoItem, AgentRow, ServerRow, Memory, FormField)):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value
