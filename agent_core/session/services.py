"""What the desk hands to every session: plain values, functions, and the services that all sessions share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent_core import limits
from agent_core.after_edit import CheckSet
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.events import Event, Notice
from agent_core.grants_file import GrantsFile
from agent_core.hooks import HookSet
from agent_core.images.kept import WithImages
from agent_core.intents import Intent
from agent_core.jobs.registry import SessionJobs
from agent_core.knowledge import Expansion
from agent_core.llm.prices import Price
from agent_core.messages import Message
from agent_core.mind.budget import Budget
from agent_core.mind.compaction import Options
from agent_core.mind.guard import USUAL, GuardRules
from agent_core.names import ApprovalPolicy, Mode, SandboxMode
from agent_core.ports.commands import TerminalBackend
from agent_core.ports.extras import Extra
from agent_core.ports.means import PastPassage
from agent_core.ports.model import LlmClient, LlmRequest
from agent_core.ports.tools import IsHidden, ResultBounds, Tool
from agent_core.records import dataclass
from agent_core.sandbox.policy import Apart, Box, SandboxPolicy
from agent_core.spill import NANO
from agent_core.store.notes import Note
from agent_core.store.sessions import Store
from agent_core.toolsets import NOT_OFFERED

if TYPE_CHECKING:
    from agent_core.checkpoints.keeper import Checkpoints
    from agent_core.mind.turn import TurnTools
    from agent_core.web.session import WebOptions


@dataclass(frozen=True, slots=True)
class Connection:
    """A model to talk to, and what to call it. `label` says so when it is a scripted demo."""

    client: LlmClient
    provider: str
    model: str
    label: str
    context_window: int | None = None
    behind: tuple[str, str] | None = None
    """Provider and model that answer where these are the names of a mixture of agents; None: they are who answers."""

    @property
    def answers(self) -> tuple[str, str]:
        """Who answers and is paid for it: provider and model."""
        return self.behind or (self.provider, self.model)


class Connect(Protocol):
    def __call__(self, model: str, provider: str = "", stand_ins: Sequence[Any] = (), /) -> Connection:
        """A new client for a model that was chosen, or for the configured one and what stands in for it when "".

        `provider`: whose model it is, where that is known. `stand_ins`: what stands in for a chosen one, entries as in
        fallback_providers; nothing does by itself. Raises ConfigError.
        """
        ...


Confine = Callable[[Box], SandboxPolicy | None]


@dataclass(frozen=True, slots=True)
class Containment:
    """How far the kernel holds commands on this machine, and what the person has set."""

    sandbox: SandboxMode = "workspace-write"
    kernel: bool = False
    network: bool = False
    accepted: bool = False
    missing: tuple[str, ...] = ()
    """Layers this machine lacks, by name, while the kernel confines all the same ("mount view", "cgroup")."""
    why: str = ""
    """Without `kernel`: the layer that is missing and the call that failed, in a few words."""

    @property
    def has_none(self) -> bool:
        """The person wants commands confined and the kernel cannot: what runs, runs without."""
        return not self.kernel and self.sandbox != "danger-full-access"


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Which model reviews commands before a person is asked; empty: the session's own."""

    model: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Walls:
    """How the commands of one session in its workspace are confined."""

    policy: Confine = lambda box: None
    """Of a box; None: nothing is enforced. Raises SandboxError."""
    gap: Callable[[], str] = lambda: ""
    """What the kernel would have to keep from commands here and cannot (Situation.gap). May take half a second once."""
    apart: Callable[[SandboxPolicy], Apart] | None = None
    """The same policy with a folder and a group of its own, for a command that may outlive the session. None: it cannot
    be had."""
    warm: Callable[[], None] = lambda: None
    """A command may come soon. Does not wait."""


@contextmanager
def nothing_apart(scope: CancelScope, words: str) -> Iterator[TurnTools]:
    """Of who runs no turns. Raises Interrupted."""
    raise Interrupted
    yield


@dataclass(frozen=True, slots=True)
class Seat:
    """The session that an extra is for."""

    session_id: str
    workspace: Path
    emit: Callable[[Event], None]
    """Tells the session's listener; from any thread."""
    turn: Callable[[], TurnTools | None] = lambda: None
    """What the turn that runs works with: a call of it may pass that on. None: none runs."""
    heed: Callable[[Callable[[Intent], None]], None] = lambda heeds: None
    """Have a function called with each intent for an extra (StopAgent, SteerAgent). On a face's thread: it returns at
    once."""
    apart: Callable[[CancelScope, str], AbstractContextManager[TurnTools]] = nothing_apart
    """What work beside the turns works with, until the block ends: as the turn that runs has it, with this stop and a
    record of changed files of its own, which these words name. Raises Interrupted when no turn has been."""
    come: Callable[[], None] = lambda: None
    """Something is there that begins a turn (ports.Returning). From any thread; does not wait."""
    lend: Callable[[Mapping[str, str]], None] = lambda variables: None
    """Give the session's commands these variables from now on."""


@dataclass(frozen=True, slots=True)
class SessionServices:
    """What the desk hands to every session."""

    store: Store
    connect: Connect
    tools: Callable[[], tuple[Tool, ...]]
    """Always the same ones, in the same order; asked first when the first turn begins."""
    backend: Callable[[Confine], TerminalBackend]
    home: Path
    data_home: Path
    command_env: Mapping[str, str]
    redact: Callable[[str], str]
    context: Callable[[Path], tuple[str, tuple[Notice, ...]]]
    """The fenced text of a workspace's context files, and notices about them."""
    identity: Callable[[], str] = lambda: ""
    compaction: Options = field(default_factory=Options)
    keys: Callable[[], Iterable[str]] = lambda: ()
    """What `redact` knows to be secret by its value."""
    keep: Callable[[Note], None] = lambda note: None
    """Have a note written down soon. Never blocks."""
    recall: Callable[[str, int, str], tuple[PastPassage, ...]] = lambda query, limit, session_id: ()
    """The best passages of all sessions but the one named last. Raises StoreError."""
    containment: Callable[[], Containment] = Containment
    """What commands run in, asked anew at each call: a person may have accepted something meanwhile."""
    tasks: Callable[[str, Callable[[Event], None]], SessionJobs | None] = lambda session_id, emit: None
    """The commands of a session that run in the background; None: there can be none. Changes are told."""
    confinement: Callable[[str, Path], Walls] = lambda session_id, workspace: Walls()
    """The walls of a session in a workspace; the same ones each time."""
    rests: Callable[[str], None] = lambda session_id: None
    """A session goes to rest: what stands ready for its next turn may go, its walls too."""
    mode_confirmed: Callable[[Path, Mode], bool] = lambda workspace, mode: False
    """Whether entering the mode asks no more in a workspace. May read a file."""
    confirm_mode: Callable[[Path, Mode], None] = lambda workspace, mode: None
    """Entering it asks no more there. Raises ConfigError when that cannot be noted for good."""
    tools_off: tuple[str, ...] = tuple(sorted(NOT_OFFERED))
    """Names of tools and of sets of them that a session begins without (agent.disabled_toolsets)."""
    unattended: bool = False
    policy: ApprovalPolicy = "untrusted"
    deny: Callable[[], Iterable[str]] = tuple
    """Patterns of commands that are never run (approvals.deny), as they are when asked."""
    grants: GrantsFile | None = None
    """What was allowed for good; None: nothing can be."""
    approval_timeout: float = limits.APPROVAL_TIMEOUT
    review: ReviewOptions | None = None
    """An auxiliary model is asked before a person is (approvals.mode smart); None: it is not."""
    command_timeout: float = limits.COMMAND_TIMEOUT
    web: Callable[[], WebOptions] | None = None
    """How the web is reached; None: not at all."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts of the web that may be asked without a person (web.allow_hosts), as in HostGrant."""
    respect_gitignore: bool = True
    read_paths: tuple[Path, ...] = ()
    """Folders outside the workspace that are searched like it: those of skills."""
    add_dirs: tuple[Path, ...] = ()
    """Folders beside the workspace that are worked in like it, resolved."""
    safe_roots: tuple[Path, ...] = ()
    """When given, tools write only below them."""
    hidden: Callable[[Path], Callable[[], IsHidden] | None] = lambda workspace: None
    """For a workspace: ToolContext.hidden."""
    hooks: Callable[[Path], HookSet] = lambda workspace: HookSet()
    """Those that count in a workspace now. Reads files."""
    checks: Callable[[Path], CheckSet] = lambda workspace: CheckSet()
    """The checks that run after a change of files in a workspace, as they count now (after_edit). Reads files."""
    max_steps: int = limits.MAX_STEPS
    batch_timeout: float = limits.BATCH_TIMEOUT
    guard: GuardRules = USUAL
    result_bounds: ResultBounds = NANO
    request: LlmRequest = field(default_factory=lambda: LlmRequest(()))
    model_named: bool = False
    """The model was named for this run: it goes before what was chosen in a session once."""
    personas: Callable[[], Mapping[str, str]] = dict
    """The texts of the configured personas by their names."""
    window: Callable[[str, str], int | None] = lambda provider, model: None
    """How many tokens a provider's model takes, where that is known by now; of the configured one for "", "". May read
    files then."""
    price: Callable[[str, str], Price | None] = lambda provider, model: None
    """What a provider's model costs, where that is known."""
    sees: Callable[[str, str], bool | None] = lambda provider, model: None
    """Whether a provider's model can be shown images; None: not known."""
    went_blind: Callable[[str, str], None] = lambda provider, model: None
    """Its server has refused images."""
    attach: Callable[[Message, int], WithImages] = lambda message, had: WithImages(message)
    """A person's message with the images that its text names. Reads files."""
    budget: Callable[[], Budget] = Budget
    """What a session may use."""
    checkpoints: Callable[[], Checkpoints | None] = lambda: None
    """Where what turns change in files is kept; None: nowhere. Asked first when the first turn begins."""
    expand: Callable[[str, Path, str], Expansion | None] = lambda session_id, workspace, text: None
    """What a text stands for that a person typed in a session, when it is a command that becomes a message; None: it is
    none. Raises AgentError. Reads files."""
    extras: Callable[[Seat], tuple[Extra, ...]] = lambda seat: ()
    """What a session has beside the built-in tools, in this order; asked once, when its first turn begins."""
