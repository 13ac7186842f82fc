"""The seams with several implementations, and the data that crosses them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from agent_core import limits
from agent_core.background import Task, TaskOutput
from agent_core.cancel import CancelScope
from agent_core.intents import Decision
from agent_core.knowledge import Typed
from agent_core.lookup import SearchEngine, WebHit, WebPlace, WebText
from agent_core.messages import EffectState, FileDiff, ImagePart, Message, ToolCall, Usage, new_id
from agent_core.names import Mode, Needs
from agent_core.records import dataclass
from agent_core.sandbox.policy import Box, SandboxPolicy
from agent_core.servers import FormField

Args = Mapping[str, Any]

# -- the model ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolSchema:
    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments: type, properties, required, enum, items, default only."""


@dataclass(frozen=True, slots=True)
class LlmRequest:
    messages: tuple[Message, ...]
    """The system message first. The client maps them to its wire; it never changes them."""
    tools: tuple[ToolSchema, ...] = ()
    model: str = ""
    """Empty: the client's own."""
    stream: bool = True
    temperature: float | None = None
    reasoning_effort: str | None = None
    max_tokens: int | None = None
    tool_choice: str | None = None
    """None = "auto" when there are tools."""
    cache_ttl: Literal["", "5m", "1h"] = "5m"
    """How long a server that wants to be told shall remember the request; empty: not at all (CFG-09)."""
    lasting: int = 0
    """How many characters of the first system message stay, while the rest may change from turn to turn."""
    turn: str = ""
    """The turn it belongs to: with a new one, what was tried in place of the first choice is forgotten (LLM-22)."""


Finish = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(frozen=True, slots=True)
class LlmReply:
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish: Finish = "stop"
    model: str = ""
    provider: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """To be sent back with the assistant message (Message.extra)."""
    dropped_tool_calls: int = 0
    """Calls whose arguments were cut by the output limit; they are not in `tool_calls` and must not be run."""

    @property
    def is_empty(self) -> bool:
        return not (self.text.strip() or self.tool_calls)


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply while it arrives.

    kind "text", "reasoning": more of it. "tool": a call is being written, `text` is its name so far. "reset": a retry
    begins, what was delivered is void. "retry": `text` says why and what happens next in plain words. "switch": from
    here on another model answers, `text` says who, instead of whom and why; `params` has its provider and model.
    """

    kind: Literal["text", "reasoning", "tool", "reset", "retry", "switch"]
    text: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


DeltaSink = Callable[[Delta], None]


class LlmClient(Protocol):
    """One model server. Safe to use from one thread at a time."""

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        """One reply, retries included.

        Raises ProviderError when no usable reply can be had, Interrupted within a second of `cancel`.
        """
        ...

    def close(self) -> None: ...


# -- asking a person ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """Something only a person may decide. Without a person the answer is no."""

    kind: Literal["command", "edit", "read", "web", "ask_user", "plan", "server", "keep", "form", "visit"]
    """"server": call a tool of an MCP server; "keep": write to memory or a skill; "form": fill in what a server asks;
    "visit": open an address that a server names."""
    title: str
    """What will happen, one line: "Run a command", "Change src/dates.py"."""
    rule: str = ""
    """The name of the rule that stopped it: "mode ask", "dangerous: recursive removal"."""
    command: str = ""
    cwd: str = ""
    path: str = ""
    """The file that would be read."""
    lends: tuple[str, ...] = ()
    """Names of the variables that commands would get with it."""
    url: str = ""
    """The page that would be fetched, whole."""
    query: str = ""
    """What the web would be searched for."""
    host: str = ""
    """Whom that goes to, as a person reads it."""
    server: str = ""
    """The MCP server that is meant, or asks."""
    tool: str = ""
    """The tool of it, by its title and name."""
    form: tuple[FormField, ...] = ()
    agent: str = ""
    """The sub-agent that asks: "agent-2 reviewer"; empty: the session itself."""
    sandbox: str = ""
    """What the command would run in, in words (Box.words); empty: it is none."""
    diffs: tuple[FileDiff, ...] = ()
    text: str = ""
    """The plan, what ask_user asks, or why a command asks."""
    choices: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ("once", "session", "refuse")
    grant: str = ""
    """What "session" would allow, spelled out."""
    pattern: str = ""
    """What "always" would write into the grants, as `Answer.pattern` may change it; empty: it is not offered."""
    call_id: str = ""
    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True)
class Reply:
    """`decision` is refuse also for a timeout or when nobody is there; `by` tells which."""

    decision: Decision
    text: str = ""
    by: Literal["person", "timeout", "unattended", "interrupt"] = "person"
    pattern: str = ""
    """With "always": what is granted (Answer.pattern)."""
    refused: tuple[str, ...] = ()
    """Hunks that are left out (Answer.refused)."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Of a form, by field (Answer.values)."""


class Asker(Protocol):
    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        """Wait for a person's answer. Raises Interrupted when the turn is stopped meanwhile."""
        ...


DecidedBy = Literal["rules", "grant", "person", "reviewer", "hook", "timeout", "unattended", "interrupt"]


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision about something that was to be done, for the record: what, by which rule, who, when."""

    kind: Literal["command", "edit", "read", "web", "server", "keep", "tool", "mode", "grant", "trust"]
    what: str
    """The command, the paths, the mode, the pattern: without keys and control bytes, bounded."""
    verdict: Literal["allow", "refuse"]
    rule: str
    by: DecidedBy
    cwd: str = ""
    sandbox: str = ""
    """What a command was to run in (Box.words)."""
    call_id: str = ""
    when: float = field(default_factory=time.time)
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Review:
    """What the auxiliary model says about a command that would be asked about (APPR-11)."""

    verdict: Literal["approve", "deny", "escalate"]
    text: str = ""
    """Why, where that is known: one line, cleaned."""


# -- commands -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended. Streams are head and tail joined by a truncation marker when they were longer."""

    exit_code: int | None
    """None when it was killed or did not start."""
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False
    keyless: bool = False
    """It was ended because it waited for keys: nobody can press one."""
    interrupted: bool = False
    signal: int | None = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    left_running: tuple[int, ...] = ()
    """Process ids of children that outlived the shell; they were ended with the call unless they have become a task."""
    left_as: str = ""
    """The task that they have become."""


class TerminalBackend(Protocol):
    def execute(
        self,
        command: str,
        cwd: Path,
        *,
        box: Box,
        timeout: float,
        env: Mapping[str, str],
        cancel: CancelScope,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecResult:
        """Run `command` with `sh -c`, in `box`. Never raises for what the command does.

        Raises OSError when none can be started, SandboxError when the box cannot be made: then nothing has run.
        """
        ...


# -- tools --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effect:
    """What a call touches, told from its arguments alone: for scheduling, interrupts, and recovery after a crash."""

    kind: Literal["none", "read", "write", "command", "person"]
    paths: tuple[str, ...] = ()
    """As given in the arguments; calls with a common path are run one after the other if one writes."""


@dataclass(frozen=True, slots=True)
class ReadAction:
    path: str
    lends: tuple[str, ...] = ()
    """Names of variables of the person's that the session's commands get with it: a skill wants them."""


@dataclass(frozen=True, slots=True)
class EditAction:
    diffs: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True)
class CommandAction:
    command: str
    cwd: str
    needs: Needs = ""
    """What it is said to need beyond the sandbox."""


@dataclass(frozen=True, slots=True)
class NoAction:
    """Nothing that a rule could stop: the todo list, a question to the person."""


@dataclass(frozen=True, slots=True)
class WebAction:
    """Something is asked of a server on the web, by the program itself."""

    url: str
    """The page, or what is searched for."""
    host: str
    """Whom it goes to: what a grant is for."""
    is_search: bool = False
    shown: str = ""
    """The host as a person reads it, where that is something else."""


@dataclass(frozen=True, slots=True)
class ServerAction:
    """A tool of an MCP server is called: the server is a program of the user's, outside the sandbox."""

    server: str
    tool: str
    """By the server's own name."""
    identity: str = ""
    """A digest of what the server is: its command or its address. A grant is for that one, not for whatever has its
    name."""
    title: str = ""
    arguments: str = ""
    """As a person reads them."""
    trusted: bool = False
    """The user trusts the server (`trust: true`): only then its own words about a tool lower anything (R30)."""
    reads: bool = False
    """A trusted server says that it only reads."""
    destroys: bool = False
    """The server says that it may destroy something."""


@dataclass(frozen=True, slots=True)
class KeepAction:
    """Something is written that later sessions are told: a memory, a skill."""

    title: str
    """One line: what it would do."""
    diffs: tuple[FileDiff, ...] = ()
    asks: bool = True
    """A person is to see it first; else it is done and shown."""
    is_note: bool = False
    """A memory: a text for models alone, no file that anybody works with."""


Action = ReadAction | EditAction | CommandAction | WebAction | ServerAction | KeepAction | NoAction


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back; the registry turns it into a clamped, redacted ToolResult."""

    text: str
    outcome: str = ""
    ok: bool = True
    effect: EffectState = "none"
    preview: tuple[str, ...] = ()
    diffs: tuple[FileDiff, ...] = ()
    images: tuple[ImagePart, ...] = ()
    """For a model that sees."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that has been checked and worked out but has changed nothing yet.

    `run` does exactly what `action` says and was approved; a file that changed in between makes it raise ToolFailure.
    It is given the box that the rules have chosen for a command; what is none has no use for it.
    `path_verdict` "ask" means a path rule wants a person's consent whatever the mode, and `path_rule` names it.
    """

    action: Action
    run: Callable[[Box], ToolOutput]
    path_verdict: Literal["allow", "ask"] = "allow"
    path_rule: str = ""
    seal: Callable[[Box], str] = lambda box: ""
    """A digest of all that `run` would do now, for what cannot see by itself that it is no longer what was approved."""
    without: Callable[[frozenset[str]], Prepared] | None = None
    """The same change without these hunks ("file.hunk", as in Answer.refused); None: it cannot be divided.

    Its action has the diffs of what is left. Raises ToolFailure when nothing is.
    """


@dataclass(frozen=True, slots=True)
class Goal:
    """What mode goal works towards. `evidence` is what the model showed when it declared it reached."""

    text: str = ""
    state: Literal["", "open", "reached", "given_up"] = ""
    """Empty: there was never one."""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class TodoItem:
    text: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


class TodoList(Protocol):
    """The session's plan; writing it also tells the listeners."""

    def read(self) -> tuple[TodoItem, ...]: ...
    def write(self, items: tuple[TodoItem, ...]) -> None: ...


class ChangeLog(Protocol):
    """Keeps what a turn changes in files, so that it can be taken back. Safe to use from several threads."""

    def file(self, path: Path, before: bytes | None, after: bytes | None, mode: int | None = None) -> None:
        """A tool is about to turn one content of a file into another; None: there is no file. To be called before it.

        `path`: resolved. `mode`: the permissions of what is there. Raises StoreError when it cannot be kept durably;
        then nothing may be changed.
        """
        ...

    def command(self, box: Box, *, beside: bool = False) -> Callable[[], None]:
        """A command that may write is about to run; what it gives is to be called when the command has ended.

        What changes in the workspace between the two is the turn's; of one that runs `beside` the conversation it may
        as well be the person's. May wait a moment for files to be looked at.
        """
        ...


class NoChangeLog:
    """Keeps nothing."""

    def file(self, path: Path, before: bytes | None, after: bytes | None, mode: int | None = None) -> None:
        return None

    def command(self, box: Box, *, beside: bool = False) -> Callable[[], None]:
        return lambda: None


class TaskRunner(Protocol):
    """The commands of one session that run in the background. Safe to use from several threads."""

    @property
    def read_to(self) -> MutableMapping[str, int]:
        """Up to where the model has read the output of each task, in bytes."""
        ...

    def start(
        self, command: str, cwd: Path, *, box: Box, env: Mapping[str, str], ended: Callable[[], None] = ...
    ) -> Task:
        """Begin one. `ended` is called when it has. Raises OSError, SandboxError, ToolFailure (too many)."""
        ...

    def list(self) -> tuple[Task, ...]: ...

    def when_ended(self, task_id: str, call: Callable[[], None]) -> None:
        """Have `call` called when a task has ended; at once when it has."""
        ...

    def saw_end(self, task_id: str) -> None:
        """The model is being told how this one is: where it has ended, no note has to say so."""
        ...

    def output(self, task_id: str, start: int, limit: int) -> TaskOutput:
        """At most `limit` bytes of output from `start` on. Raises ToolFailure when there is no such task."""
        ...

    def kill(self, task_id: str) -> Task:
        """End it, TERM and then KILL; returns when it is gone. Raises ToolFailure when there is no such task."""
        ...


class Web(Protocol):
    """What a session asks of the web. Safe to use from several threads."""

    def place(self, url: str) -> WebPlace:
        """Judge an address without asking anybody. Raises ToolFailure when it is never fetched."""
        ...

    def kept(self, url: str) -> WebText | None:
        """The page, when it has been read in this session and is still held."""
        ...

    def page(
        self, place: WebPlace, cancel: CancelScope, sandbox: SandboxPolicy | None, may_visit: Callable[[str], bool]
    ) -> WebText:
        """Fetch the page; a person has agreed. `sandbox`: for the program that reads it. `may_visit`: whether a
        redirect to another host may be followed. Raises Interrupted, ToolFailure."""
        ...

    def engine(self) -> SearchEngine:
        """Who would be asked. Raises ToolFailure when none can be."""
        ...

    def check_words(self, words: str) -> None:
        """Raise ToolFailure for a query that would tell a key to whoever is asked."""
        ...

    def search(self, query: str, limit: int, cancel: CancelScope) -> tuple[WebHit, ...]:
        """The best results. Raises Interrupted, ToolFailure."""
        ...


class FileMemory(Protocol):
    """Which content of a file the model has seen, by hash: a write over anything else is refused.

    What changed while a command of the session's own ran is taken for its doing (tools.base.check_seen).
    """

    def saw(self, path: Path, digest: str) -> None: ...
    def seen(self, path: Path) -> str | None: ...

    def ran(self, since: int, until: int) -> None:
        """A command of the session's own has run; times in ns since the epoch."""
        ...

    def ran_at(self, when: int) -> bool:
        """Did such a command run at that time?"""
        ...


@dataclass(frozen=True, slots=True)
class PastPassage:
    """What an earlier session says: one row, free of keys."""

    title: str
    """Of the session; empty: it has none."""
    folder: str
    """The workspace of that session."""
    when: float
    """Seconds since the epoch."""
    speaker: str
    """user, assistant, thought, summary, title, or the name of a tool."""
    text: str


def _nothing_past(query: str, limit: int) -> tuple[PastPassage, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class ResultBounds:
    """How much of results a model is given (`tool_output.profile`, LIM-17)."""

    most: int
    """Of one result that is given whole."""
    preview: int
    """Of one that is longer, and so lies in a file."""
    turn: int = 0
    """Of all results of a turn; what comes after that is previewed. 0: no bound."""
    mcp: int = 0
    """As `most`, of what an MCP server gave; 0: the same."""
    characters: bool = False
    """These are characters, not bytes."""

    def size(self, text: str) -> int:
        return len(text) if self.characters else len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Checked:
    """What the project's own checks say of files that were changed."""

    text: str = ""
    """For the model; empty: there were none."""
    failed: bool = False


IsHidden = Callable[[str, bool], str]
"""For an absolute, resolved path and whether it is a folder: the rule that hides it from reading, or ""."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call may use. One per call."""

    workspace: Path
    """Absolute and resolved; the root of everything a file tool may write."""
    home: Path
    """The user's home, for `~/`."""
    data_home: Path
    """Our own home (NANOHERMES_HOME)."""
    cancel: CancelScope
    asker: Asker
    backend: TerminalBackend
    todos: TodoList
    files: FileMemory
    env: Mapping[str, str] = field(default_factory=dict)
    """The environment of commands, already free of secrets."""
    confine: Callable[[Box], SandboxPolicy | None] = lambda box: None
    """The policy of a box, for a program that a tool itself starts; None: it cannot be, or need not be, confined."""
    command_timeout: float = 180.0
    bounds: ResultBounds = ResultBounds(limits.TOOL_RESULT, limits.TOOL_RESULT)
    """Of results; a tool that knows what to leave out does so by itself."""
    respect_gitignore: bool = True
    """What .gitignore names is left out unless a call asks for it."""
    keys: Callable[[], Iterable[str]] = lambda: ()
    """What must not reach a file of our own, by its value."""
    progress: Callable[[str], None] = lambda text: None
    """Show a line of output on the call's card while it runs."""
    recall: Callable[[str, int], tuple[PastPassage, ...]] = _nothing_past
    """The best passages of all other sessions, at most so many. Raises StoreError."""
    read_paths: tuple[Path, ...] = ()
    """Folders outside the workspace that reading is always allowed in."""
    add_dirs: tuple[Path, ...] = ()
    """Folders beside the workspace that are worked in like it."""
    safe_roots: tuple[Path, ...] = ()
    """When given, nothing outside them is written."""
    hidden: Callable[[], IsHidden] | None = None
    """The deny-read list as it stands; None: only what is known for secret by its name."""
    leave_mode: Callable[[Mode], Mode] = lambda left: "ask"
    """Go back to the mode before this one, from the next step on, unless the person has chosen another meanwhile;
    gives the name of the one that holds then (exit_plan, goal_done)."""
    goal_reached: Callable[[str], None] = lambda evidence: None
    """Declare the goal reached (goal_done). Raises StoreError."""
    changes: ChangeLog = field(default_factory=NoChangeLog)
    """Where each change of a file is kept before it is made."""
    after_edit: Callable[[Iterable[Path], ToolContext], Checked] = lambda paths, ctx: Checked()
    """Run the project's own checks on files that a call has just written (resolved paths), in this context of the call.
    They may have rewritten the files."""
    tasks: TaskRunner | None = None
    """None: nothing can run in the background."""
    web: Web | None = None
    """None: there is no way to the web."""
    may_visit: Callable[[str], bool] = lambda host: False
    """Whether pages of this host may be fetched without asking."""
    sees_images: bool = False
    """The model can be shown images."""
    call_id: str = ""
    mode: str = "ask"
    can_ask: bool = True
    """A person may be asked for more than a command's box gives."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool the model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Callable[[Args], Effect]
    subject: Callable[[Args], str]
    """The tool card's subject: a path, a pattern, a command. Must bear any arguments."""
    prepare: Callable[[Args, ToolContext], Prepared]
    """Check, read, work out; change nothing. Raises ToolFailure with words for the model."""
    modes: tuple[str, ...] = ()
    """Modes the tool is offered in; empty = all."""
    seconds: Callable[[Args], float] = lambda args: 0.0
    """How long a call asks to take, for a tool that can be asked. Gets arguments that fit the schema."""
    toolset: str = ""
    """Of a tool of an extra: the set it is switched off with, "mcp:NAME"; what stands before a colon is one as well."""
    foreign: bool = False
    """Its schema is somebody else's, who judges the arguments: what the schema does not name is passed on."""

    @property
    def schema(self) -> ToolSchema:
        return ToolSchema(self.name, self.description, self.parameters)


# -- what a session has beside the built-in tools ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guidance:
    """What the system prompt says for an extra, each part with its own heading, or empty."""

    stable: str = ""
    """The same in every session: an index of skills, what servers say about themselves."""
    frozen: str = ""
    """As it was when the session began: a snapshot of memories."""


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that has come to its end, for what learns from turns."""

    turn_id: str
    completed: bool
    """It came to an answer by itself: only such a turn may be learnt from (LOOP-05)."""
    text: str
    """What the person said."""
    answer: str
    messages: tuple[Message, ...]
    """All of the turn, in order."""
    model: str = ""
    provider: str = ""
    stood_in: bool = False
    """Another model than this one has answered (LLM-22)."""


class Extra(Protocol):
    """Something that gives one session tools and words beside the built-in ones: memory, skills, sub-agents, MCP.

    Made when it is first needed, at the latest by the first turn. Safe to use from several threads.
    """

    def tools(self) -> tuple[Tool, ...]:
        """Its tools as they are when a turn begins; does not wait for anything slow."""
        ...

    def guidance(self) -> Guidance:
        """Asked when the session's prompt is made."""
        ...

    def news(self) -> str:
        """What the model is to be told of changes since `guidance` or the last call; asked when a turn begins."""
        ...

    def begin(self, text: str, cancel: CancelScope) -> str:
        """A turn begins with this message of the person's: what its requests hold in front of it, and no later ones.

        It is not stored. Raises Interrupted.
        """
        ...

    def ended(self, turn: EndedTurn) -> None:
        """Called when a turn has ended, before that is told. Returns at once."""
        ...

    def close(self) -> None:
        """The session is closed. Returns within a second."""
        ...


@runtime_checkable
class Opening(Protocol):
    """An extra with something to begin, or to tell, before the first turn."""

    def opened(self) -> None:
        """A person looks at the session; may come again. Called in no thread of a screen or a turn. Does not wait."""
        ...


@runtime_checkable
class Settling(Protocol):
    """An extra whose tools may have to be waited for."""

    def settle(self, cancel: CancelScope) -> None:
        """A turn is about to begin, and asks for the tools after this. Waits within bounds.

        Raises AgentError when the turn cannot begin, Interrupted.
        """
        ...


@runtime_checkable
class Learning(Protocol):
    """An extra that goes on working when a turn has ended, for later ones."""

    @property
    def is_learning(self) -> bool:
        """It is at work. Turns that begin, and closing the session, cut it short."""
        ...


@runtime_checkable
class Typing(Protocol):
    """An extra that a person can also type something of: a skill, a prompt of a server. Safe to use from several
    threads."""

    def typed(self) -> tuple[Typed, ...]:
        """What can be typed now; does not wait."""
        ...

    def expand(self, name: str, argument: str) -> str:
        """What one of them stands for, for the model, with what was typed behind its name.

        A turn has begun; it may have to wait for a server until that ends. Raises AgentError, Interrupted.
        """
        ...
