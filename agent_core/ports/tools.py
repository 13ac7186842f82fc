"""A tool, what one call of it may use, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.messages import EffectState, FileDiff, ImagePart
from agent_core.names import Mode
from agent_core.ports.actions import Action, Effect
from agent_core.ports.asking import Asker
from agent_core.ports.commands import TaskRunner, TerminalBackend
from agent_core.ports.means import ChangeLog, FileMemory, NoChangeLog, PastPassage, TodoList, Web
from agent_core.ports.model import ToolSchema
from agent_core.records import dataclass
from agent_core.sandbox.policy import Box, SandboxPolicy

Args = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back; tools/call.py turns it into a clamped, redacted ToolResult."""

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
    off_with: str = ""
    """The tool that has to be off too before calls of this one are refused: off by itself, it is only not offered."""
    foreign: bool = False
    """Its schema is somebody else's, who judges the arguments: what the schema does not name is passed on."""

    @property
    def schema(self) -> ToolSchema:
        return ToolSchema(self.name, self.description, self.parameters)
