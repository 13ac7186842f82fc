"""The desk: builds everything, owns it, and offers the methods that every face calls (UI-05, UI-14).

This is the composition root: the only room that reads the config and hands plain values to the others. Methods read
and write files unless they say otherwise; a face calls them off its screen thread.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core import after_edit, context_files, kept_images, limits, options, spill
from agent_core.after_edit import CheckSet
from agent_core.config import load as config_load
from agent_core.config import write as config_write
from agent_core.config.dotenv import set_variable
from agent_core.config.live import LiveTexts
from agent_core.config.load import Config, ConfigWarning
from agent_core.config.paths import Places, find_places
from agent_core.credentials import Secret, find_key
from agent_core.errors import AgentError, ConfigError, MemoryFailure, StoreError
from agent_core.events import Notice
from agent_core.file_desk import FileDesk
from agent_core.grants_file import GrantsFile
from agent_core.hooks import HookSet, users_hooks
from agent_core.intents import Interrupt, SetMode, Submit
from agent_core.jobs import Jobs
from agent_core.kept_images import KeptImages
from agent_core.knowledge import Expansion, Memory, Pending
from agent_core.llm import providers
from agent_core.log import install_hooks, write_crash
from agent_core.log import setup as setup_log
from agent_core.messages import Comment, FileDiff, Message, new_id
from agent_core.meter import Meter, SessionUsage
from agent_core.model_choice import ModelChoice, ModelState, check_address
from agent_core.models import Models
from agent_core.names import (
    APPROVAL_POLICIES,
    MODES_ALONE,
    SEARCH_KEYS,
    SKILLS_DIR,
    TASKS_DIR,
    ApprovalPolicy,
    Mode,
)
from agent_core.notebook import Notebook
from agent_core.ports.asking import Decided
from agent_core.ports.extras import Extra, Opening
from agent_core.ports.means import PastPassage
from agent_core.ports.tools import Tool
from agent_core.process import families
from agent_core.process.command import LocalBackend
from agent_core.records import dataclass
from agent_core.safety.redact import redact
from agent_core.sandbox.env import child_env
from agent_core.sandbox.policy import Box, SandboxPolicy
from agent_core.services import Connection, Seat, SessionServices
from agent_core.session import LiveSession
from agent_core.store import exchange
from agent_core.store.audit import Entry, for_the_record
from agent_core.store.changes import no_session
from agent_core.store.notes import Commented, Draft, Seen
from agent_core.store.rows import SessionRow
from agent_core.store.sessions import Store
from agent_core.trust import Standing, projects_hooks
from agent_core.trusting import Answer, Trusting
from agent_core.walls_desk import WallsDesk

if TYPE_CHECKING:
    from agent_core.checkpoints import Checkpoints
    from agent_core.checkpoints import Options as CheckpointOptions
    from agent_core.config.settings import Setting
    from agent_core.disk_report import DiskReport
    from agent_core.extras.server_desk import ServerDesk
    from agent_core.mailbox import Mailbox
    from agent_core.memory import Memories
    from agent_core.memory.desk import MemoryDesk
    from agent_core.memory.pending import PendingWrites
    from agent_core.permissions import Allowed, Permissions
    from agent_core.skills.desk import SkillDesk
    from agent_core.skills.discover import Finder, Shelf
    from agent_core.snippets import Snippets
    from agent_core.store.insights import Insights
    from agent_core.store.search import Search, SearchHit
    from agent_core.tool_list import ToolEntry
    from agent_core.typed_commands import TypedCommands, TypedList
    from agent_core.web import WebOptions
    from agent_core.worktrees import Worktrees

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Launch:
    """What the command line decided."""

    cwd: Path
    env: Mapping[str, str]
    overrides: Mapping[str, Any]
    """Config keys by their dotted name."""
    unattended: bool = False
    mode: Mode | None = None
    yolo: bool = False
    """Nothing is asked and nothing confined, for this run; what it stands for is in `overrides` (A7)."""
    demo: bool = False
    """Use the scripted demo whatever is configured."""
    add_dirs: tuple[Path, ...] = ()
    """Folders that may be written in this run, beside those of the config."""
    hooks_file: Path | None = None
    """Hooks of this run, beside the configured ones."""
    subagents_file: Path | None = None
    """Sub-agents of this run, beside those that are defined."""
    servers_file: Path | None = None
    """MCP servers of this run, beside the configured ones."""


class Host:
    """Everything one program run has. Close it when done."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.places: Places = find_places(launch.cwd, launch.env)
        self.grants = GrantsFile(self.places.grants_file)
        self._lock = threading.RLock()
        self._named_keys: tuple[str, ...] = ()
        self._key_names: frozenset[str] = frozenset()
        """Variables that may hold a key of this program's."""
        self.trusting = Trusting(self.places, launch.env, self.grants, self.redact, self._put_on_record)
        self.standing: Standing
        """How what the project of the start brings stood when the config was read."""
        self.models = Models(
            lambda: options.models(self.config),
            launch.env,
            self._read_keys,
            lambda: self.model.state.endpoint,
        )
        self.config: Config = self._read_config()
        self.denied = LiveTexts("approvals.deny", self.places.config_files, self._load_config)
        """Patterns of commands that are never run: an edit of the config acts on the next one."""
        self.hook_problems: tuple[ConfigError, ...] = self._hooks(self.standing, self.config).problems
        """Why hooks that are declared do not run; for the face to tell."""
        self.store = Store.open(self.places.state_db)  # first: it makes our home, or says why it cannot
        setup_log(self.places.logs_dir, self.config.get("logging.level"), self.redact)
        install_hooks(self.places.logs_dir, self.redact)
        self.images = KeptImages(self.places.data_home / kept_images.FOLDER)
        """Copies of the images in drafts and queues."""
        self._sessions: dict[str, LiveSession] = {}
        self._samples: list[Path] = []
        """Scratch folders made in this run; those of sessions that were never stored go with it."""
        self.tasks = Jobs(self.places.data_home / TASKS_DIR, self.redact, self._keys)
        """Commands in the background: to look at (intents KillTask, KeepTask)."""
        self.files = FileDesk(self.places, lambda: self.config, self._workspace_of, self.redact)
        self.walls = WallsDesk(
            self.places,
            launch.env,
            self.grants,
            lambda: self.config,
            lambda: options.walls(self.config, self.places),
            self.files.hidden,
            self._put_on_record,
        )
        self._closing = threading.Event()
        self._notebook = Notebook(self.store.notes, self._keys, self._notes_failed)
        self.model = ModelChoice(
            lambda: options.provider(self.config), launch.env, lambda: self.config.dotenv, demo=launch.demo
        )
        threading.Thread(target=self._throw_away, name="purge", daemon=True).start()

    # -- the model ----------------------------------------------------------------------------------------------

    def look_again(self) -> ModelState:
        """Read the config anew and look for a model from the start."""
        self.config = self._read_config()
        return self.model.look_again()

    def connect(self, model: str, provider: str = "") -> Connection:
        """A new client for a model that a person chose, or for the configured one and what stands in for it when "".

        `provider`: whose model it is, when that is known; else it may stand before the model. Raises ConfigError.
        """
        if self.model.settle().demo and not model.removeprefix("demo"):
            return self.model.connect_demo()
        return self.models.connect(model, provider)

    def _read_keys(self) -> Mapping[str, str]:
        """What the .env files hold now: a key that was changed counts from the next turn on (LLM-30)."""
        dotenv = config_load.read_dotenv(self.places)
        self._know_keys(dotenv)
        return dotenv

    def personas(self) -> dict[str, str]:
        """The texts of the configured personas by their names."""
        return options.personas(self.config)

    def usage(self, session_id: str) -> SessionUsage:
        """What a session and its children have used, and may use. Raises StoreError."""
        return SessionUsage(self.store.costs.spent(session_id), options.budget(self.config))

    def insights(self, days: int = 0) -> Insights:
        """What was used in all sessions of the last `days` days; 0: ever. Raises StoreError."""
        from agent_core.store.insights import insights  # no start waits for it

        return insights(self.store.database, days)

    def save_setup(self, provider: str, key: str, model: str, base_url: str = "") -> ModelState:
        """Store a provider: the key in the 0600 .env, the rest in the config. Raises ConfigError, having stored nothing
        where the address cannot be one. An empty `model`: the first that the server offers, which is asked for it."""
        check_address(provider, base_url)
        model = model or str(self.model.try_out(provider, key, "", base_url).params.get("model", ""))
        if key:
            preset = providers.PRESETS.get(provider)
            name = preset.key_env[0] if preset is not None and preset.key_env else "NANOHERMES_API_KEY"
            set_variable(self.places.env_file, name, key)
        self.save_settings({"model.provider": provider, "model.default": model, "model.base_url": base_url or None})
        return self.look_again()

    # -- settings -----------------------------------------------------------------------------------------------

    def get_settings(self) -> Config:
        return self.config

    # -- what folders bring -------------------------------------------------------------------------------------

    def answer_trust(self, standing: Standing, answer: Answer, workspace: Path | None = None) -> Standing:
        """Keep what a person answered to what a folder brings, as it was shown to them; it acts at once.

        Gives how the workspace stands now: files that have changed since they were shown ask again. Raises ConfigError
        when the answer cannot be kept, StoreError.
        """
        self.trusting.answer(standing, answer)
        self.look_again()
        return self.trusting.look(workspace)

    def hooks(self, workspace: Path) -> HookSet:
        """The hooks that count in a workspace now. What has changed since it was trusted counts no more."""
        standing, config = self._settings_in(workspace)
        found = self._hooks(standing, config)
        told = {problem.text for problem in self.hook_problems}
        found = replace(found, problems=tuple(problem for problem in found.problems if problem.text not in told))
        if standing.state == "changed" and not self.launch.unattended:
            found += HookSet(problems=(standing.problem,))
        return found

    def checks(self, workspace: Path) -> CheckSet:
        """The checks that run after a change of files in a workspace now (after_edit)."""
        return after_edit.parse(self._settings_in(workspace)[1].get("after_edit"))

    def _settings_in(self, workspace: Path) -> tuple[Standing, Config]:
        """What a workspace brings and how that stands now, and the settings that hold there."""
        standing = self.trusting.look(workspace)
        if workspace != self.places.workspace:
            places = self.trusting.places_of(workspace)
            return standing, config_load.load(places, self.launch.env, self.launch.overrides, standing.config)
        trusted = standing.config.trusted or self.standing.config.trusted
        if trusted and standing.config != self.standing.config:
            self.look_again()
        return standing, self.config

    def _hooks(self, standing: Standing, config: Config) -> HookSet:
        own = users_hooks(self.places, config.get("hooks"), self.launch.hooks_file)
        return own + projects_hooks(standing)

    @property
    def warnings(self) -> tuple[ConfigWarning, ...]:
        """Of the config, but for what waits for the project to be trusted: that is shown as a whole."""
        return tuple(warning for warning in self.config.warnings if warning.code != "not_trusted")

    def _put_on_record(self, folder: Path, decided: Decided) -> None:
        """A person's decision about a folder, or about the machine. Raises StoreError."""
        self.store.audit.add("", "" if folder == Path() else str(folder), decided)

    def look_at_settings(self) -> tuple[Setting, ...]:
        """Every setting as the files say it now, without secrets, with the place each value is from. Reads files."""
        from agent_core.config.settings import settings  # no start waits for it

        with self._lock:
            return settings(self._read_config(), self._keys())

    def save_settings(self, changes: Mapping[str, Any]) -> None:
        """Write keys to the user's config, one after the other under one lock; only their lines change."""
        with self._lock:
            for key, value in changes.items():
                config_write.set_key(self.places.config_file, key, value)
            self.config = self._read_config()

    # -- sessions -----------------------------------------------------------------------------------------------

    def sessions(self) -> list[SessionRow]:
        """Stored sessions, newest first."""
        return self.store.list()

    def live(self, session_id: str) -> LiveSession | None:
        """The open session of this id. Does not block."""
        return self._sessions.get(session_id)

    def _here(self, session_id: str) -> LiveSession:
        """An open session. Raises StoreError "no_session": it was deleted, or the program ends, meanwhile."""
        live = self._sessions.get(session_id)
        if live is None:
            raise no_session(session_id)
        return live

    def new(self, folder: Path | None = None) -> LiveSession:
        """A fresh session in `folder` (else where the program was started; in the demo, a scratch copy of the sample).

        It is stored with its first message. Raises AgentError "not_a_folder".
        """
        if folder is None:
            folder = self._sample_folder() if self.model.state.demo else self.places.workspace
        elif not folder.is_dir():
            raise AgentError(
                "not_a_folder", f"{folder} is no folder, or is closed to you. Choose another one.", path=str(folder)
            )
        now = time.time()
        row = SessionRow(
            id=new_id(),
            title="",
            workspace=str(folder.resolve()),
            model="",
            provider="",
            mode=self._first_mode(folder),
            created=now,
            updated=now,
            messages=0,
            turns=0,
            prompt_tokens=0,
            completion_tokens=0,
        )
        return self._open(row, stored=False)

    def _first_mode(self, folder: Path) -> Mode:
        """The mode that new sessions begin in; to act alone was asked for in the folder of this run only."""
        mode = self.launch.mode or "ask"
        here = folder.resolve() == self.places.workspace or folder in self._samples or self.launch.yolo
        return mode if here or mode not in MODES_ALONE else "ask"

    def open(self, session_id: str) -> LiveSession:
        """The session with this id, loaded by its own worker. Raises StoreError when there is none, or when it is that
        of a sub-agent at work."""
        with self._lock:
            live = self._sessions.get(session_id)
        if live is None and self.store.children.at_work(session_id):
            text = "A sub-agent is at work in this session. Look at it in the dock's tab of tasks until it has ended."
            raise StoreError("agent_at_work", text)
        return live or self._open(self.store.get(session_id), stored=True)

    def _workspace_of(self, session_id: str) -> Path:
        live = self._sessions.get(session_id)  # none: it was put away while its files were asked for
        return live.workspace if live is not None else Path(self.store.get(session_id).workspace)

    def find(self, text: str) -> SessionRow:
        """The session meant by an id, the start of one, or a title. Raises StoreError."""
        return self.store.find(text, str(self.places.workspace))

    def latest(self) -> SessionRow | None:
        """The newest session of this workspace."""
        return self.store.latest(str(self.places.workspace))

    @cached_property
    def searching(self) -> Search:
        """Search over all sessions, for who wants more than `search` gives."""
        from agent_core.store.search import Search

        return Search(self.store, self.places.search_db, self.places.jieba_dir, self.redact, self._keys)

    def search(self, query: str, workspace: str | None = None, limit: int = limits.SEARCH_HITS) -> list[SearchHit]:
        """Messages of all sessions, or of those of one folder, in which everything stands; the best first.

        Takes up to limits.SEARCH_WAIT when much has been written since the last search. Raises StoreError.
        """
        return list(self.searching.find(query, workspace, limit).hits)

    def _recall(self, query: str, limit: int, leave_out: str) -> tuple[PastPassage, ...]:
        found = self.searching.find(query, limit=limit, leave_out=leave_out, agents=False, size=limits.RECALL_PASSAGE)
        return tuple(
            PastPassage(hit.session.title, hit.session.workspace, hit.created, hit.speaker, hit.snippet)
            for hit in found.hits
        )

    def _open(self, row: SessionRow, *, stored: bool) -> LiveSession:
        if not Path(row.workspace).is_dir():
            raise StoreError(
                "workspace_gone",
                f"The session's folder {row.workspace} does not exist any more. Make it again, or start a new session.",
                workspace=row.workspace,
            )
        session = LiveSession(self._services(), row, stored=stored)
        with self._lock:
            self._sessions[row.id] = session
        session.start()
        return session

    def _services(self) -> SessionServices:
        get = self.config.get
        policy: ApprovalPolicy = next((p for p in APPROVAL_POLICIES if p == get("approvals.policy")), "untrusted")
        return SessionServices(
            store=self.store,
            connect=self.connect,
            tools=_tools,
            tools_off=tuple(get("agent.disabled_toolsets")),
            backend=LocalBackend,
            home=self.places.home,
            data_home=self.places.data_home,
            command_env=child_env(self.launch.env),
            redact=self.redact,
            keys=self._keys,
            context=self._context,
            identity=lambda: context_files.identity(self.places),
            keep=self._notebook.keep,
            recall=self._recall,
            containment=self.walls.containment,
            confinement=self.walls.of,
            rests=self._rests,
            tasks=self.tasks.of,
            unattended=self.launch.unattended,
            policy=policy,
            deny=self.denied,
            grants=self.grants,
            mode_confirmed=lambda workspace, mode: self.grants.mode_confirmed(str(workspace), mode),
            confirm_mode=self.walls.confirm_mode,
            approval_timeout=get("approvals.timeout"),
            review=options.review(self.config, self.places),
            hooks=self.hooks,
            checks=self.checks,
            command_timeout=get("terminal.timeout"),
            web=self._web,
            allow_hosts=tuple(get("web.allow_hosts")),
            respect_gitignore=get("files.respect_gitignore"),
            read_paths=(
                *(folder / SKILLS_DIR for folder in self.places.skill_homes),
                *self.places.folders(get("skills.external_dirs")),
            ),
            add_dirs=self.places.folders(get("sandbox.add_dirs")),
            safe_roots=self.places.folders(get("files.write_safe_roots")),
            hidden=lambda workspace: lambda: self.files.hidden(workspace),
            compaction=options.compaction(self.config),
            max_steps=get("agent.max_turns") or 0,
            batch_timeout=get("agent.batch_timeout"),
            guard=options.guard(self.config, unattended=self.launch.unattended),
            result_bounds=spill.PROFILES[get("tool_output.profile")],
            request=options.request(self.config),
            model_named=options.is_model_named(self.config),
            personas=self.personas,
            price=self.models.price,
            sees=self.models.sees,
            went_blind=self.models.went_blind,
            attach=self.images.attach,
            window=self.models.window_of,
            budget=lambda: options.budget(self.config),
            checkpoints=lambda: self.checkpoints if self.config.get("checkpoints.enabled") else None,
            expand=self._expand,
            extras=self._extras,
        )

    def _extras(self, seat: Seat) -> tuple[Extra, ...]:
        """What a session has beside the built-in tools, as the config wants it."""
        made: list[Extra] = []
        if self.config.get("skills.enabled"):
            made.append(self._skills_extra(seat))
        if self.config.get("memory.enabled"):
            made.append(self._memory_extra(seat))
        if self.config.get("delegation.enabled"):
            made.append(self._agents_extra(seat))
        if not self.launch.demo:
            made.append(self.servers.extra(seat))
        return tuple(made)

    def begin_servers(self, session_id: str) -> None:
        """Start the MCP servers of whose tools nothing is known, so that they are there with the session's first turn.

        What is wrong with them is told in the session. Does not wait for them; without any it loads nothing.
        """
        live = self._sessions.get(session_id)
        if live is None or self.launch.demo or self._closing.is_set():
            return
        own = (self.places.data_home / "mcp.json").exists() or self.launch.servers_file is not None
        if own or self.config.mapping("mcp_servers") or _may_name_servers(self.trusting.look(live.workspace)):
            for extra in live.extras:
                if isinstance(extra, Opening):
                    extra.opened()

    @cached_property
    def servers(self) -> ServerDesk:
        """The MCP servers: to look at, to start anew, to log in at. Its methods read files."""
        from agent_core.extras.server_desk import Ground, ServerDesk  # no start waits for it

        def walls(workspace: Path) -> SandboxPolicy | None:
            return self.walls.of(f"servers of {workspace}", workspace).policy(Box("workspace-write"))

        return ServerDesk(
            Ground(
                self.places,
                self.launch.env,
                lambda workspace: (self.trusting.places_of(workspace), self.trusting.look(workspace)),
                self._read_keys,
                self.redact,
                self._keys,
                self._hide,
                walls,
                self.launch.unattended,
                self.launch.servers_file,
                self.launch.overrides,
            )
        )

    def _agents_extra(self, seat: Seat) -> Extra:
        from agent_core.extras.agents import AgentsExtra
        from agent_core.subagents import definitions

        def found() -> definitions.Found:
            standing, config = self._settings_in(seat.workspace)
            with_shipped = config.get("delegation.builtin_agents")
            places, file = self.trusting.places_of(seat.workspace), self.launch.subagents_file
            return definitions.counting(places, standing, file, with_shipped=with_shipped)

        return AgentsExtra(self._services(), seat, found, lambda: options.crew(self._settings_in(seat.workspace)[1]))

    @cached_property
    def memory(self) -> Memories:
        """What is remembered over sessions."""
        if self.config.get("memory.engine") == "markdown":
            from agent_core.memory.markdown import Pages  # no start waits for either

            return Pages(self.places.memories_dir, self.redact)
        from agent_core.memory.entries import Entries
        from agent_core.memory.recall import Recall, Words

        wait = limits.MEMORY_WORDS_ALONE if self.launch.unattended else limits.MEMORY_WORDS
        by_words = self.config.get("memory.tokenizer") == "jieba"
        words = Words(self.searching.words, wait) if by_words else None
        return Entries(self.places.memory_file, self.redact, Recall(words))

    def recollect(self) -> None:
        """Look through what is remembered if turns will: to cut 10,000 memories into words takes half a second once."""
        if self.config.get("memory.enabled") and self.config.get("memory.engine") == "bm25":
            with suppress(MemoryFailure):  # a turn tells it
                self.memory.search("", 1)

    @cached_property
    def pending(self) -> PendingWrites:
        """Writes to memory and to skills that wait for a person."""
        from agent_core.memory.pending import PendingWrites

        return PendingWrites(self.places.data_home)

    @cached_property
    def memory_desk(self) -> MemoryDesk:
        """What a person does with what is remembered."""
        from agent_core.memory.desk import MemoryDesk

        return MemoryDesk(self.memory, self.pending, lambda decided: self._put_on_record(Path(), decided))

    @cached_property
    def skills(self) -> SkillDesk:
        """What a person does with skills, and who finds and writes them."""
        from agent_core.skills.desk import SkillDesk, SkillGround
        from agent_core.skills.write import Writer

        def look(finder: Finder, workspace: Path) -> Shelf:
            more = self.places.folders(self.config.get("skills.external_dirs"))
            return finder.look(self.trusting.places_of(workspace), self.trusting.look(workspace), more)

        ground = SkillGround(
            look,
            lambda: tuple(self.config.get("skills.disabled")),
            lambda: tuple(self.config.get("agent.disabled_toolsets")),
            self._for_commands,
            self.launch.env.get("PATH", ""),
        )
        writer = Writer(self.places.data_home, self.places.home, self.redact)
        return SkillDesk(ground, writer, self.pending, lambda decided: self._put_on_record(Path(), decided))

    def _for_commands(self, name: str) -> str:
        """What a variable holds that a skill's commands may be given: never a key that this program itself uses."""
        from agent_core.sandbox.env import may_be_lent

        if name in self._key_names or not may_be_lent(name):
            return ""
        return self.launch.env.get(name, "") or self._read_keys().get(name, "")

    def _hide(self, values: Iterable[str]) -> None:
        """Have these values hidden wherever they show."""
        with self._lock:
            self._named_keys = (*self._named_keys, *(set(values) - set(self._named_keys)))

    def _skills_extra(self, seat: Seat) -> Extra:
        from agent_core.extras.skills import SkillOptions, SkillsExtra

        opts = SkillOptions(
            lambda: bool(self.config.get("skills.write_approval")), not self.launch.unattended, self._hide
        )
        return SkillsExtra(seat, self.skills.of(seat.workspace), self.skills.writer, self.pending, opts)

    def _memory_extra(self, seat: Seat) -> Extra:
        from agent_core.extras.memory import MemoryOptions, memory_extra
        from agent_core.memory.markdown import Pages
        from agent_core.memory.staging import stage

        get = self.config.get
        attended = not self.launch.unattended and not self.model.settle().demo
        opts = MemoryOptions(
            top=get("memory.top_k"),
            asks=lambda: bool(self.config.get("memory.write_approval")),
            distils=get("memory.distil") == "always" or (get("memory.distil") == "attended" and attended),
            unattended=self.launch.unattended,
        )
        meter = Meter(self.store.costs, seat.session_id, self.models.price, lambda: options.budget(self.config))
        memories = self.memory
        if isinstance(memories, Pages):
            from agent_core.extras.memory_pages import pages_extra

            return pages_extra(seat, memories, opts, self.redact, self.connect, meter, self.pending)

        def put_aside(memory: Memory) -> Pending:
            return stage(self.pending, memory)

        return memory_extra(seat, memories, opts, self.redact, self.connect, meter, put_aside)

    def _web(self) -> WebOptions:
        """How sessions reach the web; a key of a search engine that was changed counts from the next search on."""
        from agent_core import web_search  # no start waits for it
        from agent_core.web import WebOptions
        from agent_core.web_door import Door

        get = self.config.get

        def key_of(names: Sequence[str]) -> Secret | None:
            return find_key(names, self.launch.env, self._read_keys())

        def engine() -> web_search.Chosen:
            return web_search.choose(get("web.search_backend").strip(), get("web.searxng_url").strip(), key_of)

        return WebOptions(Door(proxy=get("web.proxy"), hide=self.redact), engine, self._keys)

    def _context(self, workspace: Path) -> tuple[str, tuple[Notice, ...]]:
        if not self.config.get("context_files.enabled"):
            return "", ()
        loaded = context_files.load(workspace, self.places)
        return loaded.text, loaded.notices

    def _sample_folder(self) -> Path:
        """A fresh copy of the demo's sample project, outside everything that belongs to the user."""
        folder = Path(tempfile.mkdtemp(prefix="nanoherm-demo-")) / "shop"
        self._samples.append(folder)
        with resources.as_file(resources.files("agent_core.demo").joinpath("sample")) as sample:
            shutil.copytree(sample, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        return folder

    def submit(self, session_id: str, text: str) -> None:
        """Start a turn (run_task). Does not block."""
        self._here(session_id).send(Submit(text))

    def stop(self, session_id: str) -> None:
        """Stop the running turn (stop_task). Does not block."""
        self._here(session_id).send(Interrupt())

    def set_mode(self, session_id: str, mode: Mode) -> None:
        """Switch the mode from the next step on. Does not block."""
        self._here(session_id).send(SetMode(mode))

    def reset(self, session_id: str) -> LiveSession:
        """Empty a session's history; its id stays. Raises StoreError."""
        live = self._forget(session_id)
        if live is not None:
            live.join(limits.TURN_STOP)  # what it still has to store is of the history that goes
        self.store.reset(session_id)
        return self.open(session_id)

    def delete(self, session_id: str) -> None:
        """Close a session and hide it; `restore` brings it back for limits.DELETED_KEPT. Raises StoreError."""
        live = self._forget(session_id)
        if live is not None:
            live.join(limits.TURN_STOP)  # what it still has to store belongs to it
            if not live.stored:
                return
        self.tasks.delete(session_id)
        self.store.delete(session_id)

    def restore(self, session_id: str) -> SessionRow:
        """Bring a deleted session back. Raises StoreError "no_session" when it is gone for good."""
        return self.store.restore(session_id)

    def fork(self, session_id: str, through: str = "") -> LiveSession:
        """A copy of a session that goes its own way, up to its last whole step.

        With `through`, the uid of a message, only up to the end of that message's turn. Usage is not copied, files
        are shared. Raises StoreError "no_session" or "no_message".
        """
        return self._open(self.store.fork(session_id, through), stored=True)

    def rename(self, session_id: str, title: str) -> None:
        """Give a stored session another title. One that is open is told by an intent instead."""
        self.store.rename(session_id, title)

    def _forget(self, session_id: str) -> LiveSession | None:
        with self._lock:
            live = self._sessions.pop(session_id, None)
        if live is not None:
            live.close()
            self._forget_servers(live.workspace)
        self.tasks.let_go(session_id)
        self.walls.put_away(session_id)
        return live

    def _rests(self, session_id: str) -> None:
        """A session goes to rest, on its own thread."""
        self.walls.put_away(session_id)
        if (live := self._sessions.get(session_id)) is not None:
            self._forget_servers(live.workspace, session_id)

    def _forget_servers(self, workspace: Path, leaving: str = "") -> None:
        """End the servers of a workspace in which no session is open and awake any more, but for the one `leaving`."""
        awake = [live for live in tuple(self._sessions.values()) if not live.rests and live.id != leaving]
        if "servers" in self.__dict__ and all(live.workspace != workspace for live in awake):
            self.servers.forget(workspace)

    # -- what is typed and becomes a message ------------------------------------------------------------------------

    @cached_property
    def typed_commands(self) -> TypedCommands:
        """What a person may type after "/" that becomes a message: files of commands/, skills, prompts of servers."""
        from agent_core import init_prompt
        from agent_core.typed_commands import TypedCommands  # no start waits for it

        def init(workspace: Path, wish: str) -> str:
            if self.model.state.demo:
                raise AgentError(
                    "init_needs_model",
                    "The demo is scripted and reads no project. /setup connects a model; then /init writes AGENTS.md.",
                )
            return self.redact(init_prompt.text(workspace, wish, self.files.hidden(workspace)))

        def extras(session_id: str) -> tuple[Extra, ...]:
            live = self._sessions.get(session_id)
            return live.extras if live is not None else ()

        return TypedCommands(lambda w: (self.trusting.places_of(w), self.trusting.look(w)), extras, init)

    def _expand(self, session_id: str, workspace: Path, text: str) -> Expansion | None:
        return self.typed_commands.expand(session_id, workspace, text)

    def typed(self, session_id: str) -> TypedList:
        """What can be typed in an open session, and what is wrong with files that should say so. Raises StoreError."""
        return self.typed_commands.list(session_id, self._here(session_id).workspace)

    def snippets(self, session_id: str) -> Snippets:
        """The texts that can be put into a draft of an open session. Reads files. Raises StoreError."""
        from agent_core.snippets import snippets

        workspace = self._here(session_id).workspace
        return snippets(self.trusting.places_of(workspace), self.trusting.look(workspace).accepted("snippet"))

    # -- notes: drafts, what waits, what was seen ---------------------------------------------------------------

    def keep_draft(self, session_id: str, text: str) -> None:
        """Have a session's unsent text written down; "" forgets it. Does not block.

        Until the session is stored its draft belongs to the workspace: the next start there finds it.
        """
        live = self._sessions.get(session_id)
        workspace = str(live.workspace) if live is not None else ""
        self._notebook.keep(Draft(session_id, workspace, text))

    def draft(self, session_id: str) -> str:
        """The unsent text of a session; of a new one, what was left unsent in its workspace. Raises StoreError."""
        live = self._sessions.get(session_id)
        return self.store.notes.draft(session_id, str(live.workspace) if live is not None else "")

    def keep_comments(self, session_id: str, comments: Sequence[Comment]) -> None:
        """Have what is said about hunks, and not sent yet, written down; () forgets it. Does not block."""
        self._notebook.keep(Commented(session_id, tuple(comments)))

    def comments(self, session_id: str) -> tuple[Comment, ...]:
        """What is said about hunks of a session and not sent yet. Raises StoreError."""
        return self.store.notes.comments(session_id)

    def mark_seen(self, session_id: str, message_uid: str) -> None:
        """Have it written down that the person has seen a session up to this message. Does not block."""
        self._notebook.keep(Seen(session_id, message_uid))

    def flush_notes(self, seconds: float) -> bool:
        """Wait until every note is on disk; False when it is not within `seconds`."""
        return self._notebook.flush(seconds)

    def _notes_failed(self, error: AgentError) -> None:
        """Tell it where somebody reads: in the session opened last."""
        with self._lock:
            live = next(reversed(self._sessions.values()), None)
        if live is not None:
            text = f"Drafts and waiting texts cannot be kept on disk now: {error.text}"
            live.tell(Notice("notes_not_kept", text, "warning", {"error": error.text}))

    def disk_report(self) -> DiskReport:
        """What lies on the disk, and which sessions take how much of it. Raises StoreError."""
        from agent_core.disk_report import disk_report

        return disk_report(self.places, self.store)

    def _throw_away(self) -> None:
        """On a thread of its own: what was deleted long ago goes for good, with its spill files; old sessions go."""
        now = time.time()
        try:
            names = self.store.purge(now - limits.DELETED_KEPT, now - limits.ORPHAN_DRAFTS_KEPT)
            for name in names:
                (self.files.spill_folder(name) / name).unlink(missing_ok=True)
            self.store.shrink(self._closing.is_set)
            if (self.places.data_home / "checkpoints").is_dir() and not self._closing.is_set():
                self.checkpoints.prune([size.id for size in self.store.sizes()])
            days = self.config.get("sessions.retention_days")
            # A while later, so that an old session that this start was for is open by then, and stays.
            if days and not self._closing.wait(limits.RETENTION_DELAY):
                self.store.expire(now - days * 86_400.0, tuple(self._sessions))
        except (StoreError, OSError) as error:  # a later start tries again
            log.warning("old sessions could not be removed: %s", error)

    # -- what turns changed in files --------------------------------------------------------------------------------

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """What turns changed in files: to list, to plan a rollback, to look at (intents Rollback, RollbackRedo)."""
        from agent_core.checkpoints import Checkpoints

        def bounds() -> CheckpointOptions:
            return options.checkpoints(self.config, self.places)

        return Checkpoints(self.places.home, self.places.data_home, bounds, self.files.rules_of, self.redact)

    # -- what sessions hold ------------------------------------------------------------------------------------

    def earlier(self, session_id: str, first: str) -> list[Message]:
        """What a session holds before the message `first`, of which a listener was told the number only."""
        return self.store.before(session_id, first)

    def agent_heard(self, session_id: str, agent_id: str) -> Mailbox | None:
        """What a sub-agent of a session has told since it began, and tells from now on; None: it is not at work here.

        For one listener: what was taken out of the mailbox is not told again.
        """
        from agent_core.extras.agents import AgentsExtra  # it is loaded where there is a sub-agent

        live = self.live(session_id)
        extras = live.extras if live is not None else ()
        return next((extra.heard(agent_id) for extra in extras if isinstance(extra, AgentsExtra)), None)

    def agent_said(self, session_id: str) -> tuple[list[Message], int]:
        """What a sub-agent has said and done so far, of a long one the end, and how many messages come before that."""
        return self.store.end(session_id, limits.AGENT_READ)

    def diff(self, session_id: str) -> tuple[FileDiff, ...]:
        """What the session's tools changed, in order (file_diff)."""
        return tuple(d for m in self.store.messages(session_id) if m.result is not None for d in m.result.diffs)

    def decisions(self, session_id: str | None = None, limit: int = limits.DECISIONS_LISTED) -> list[Entry]:
        """What was decided about calls, grants, modes and trust, the newest first. Raises StoreError."""
        return self.store.audit.list(session_id, limit)

    def tools(self, session_id: str = "") -> tuple[ToolEntry, ...]:
        """The tools as a person chooses among them, with those that an open session has beside the built-in ones.

        Looks for programs on the disk.
        """
        from agent_core.tool_list import tool_list  # no start waits for it

        live = self._sessions.get(session_id)
        more = [tool for extra in live.extras for tool in extra.tools()] if live is not None else []
        return tool_list((*_tools(), *more), self.launch.env.get("PATH", ""))

    def permissions(self, session_id: str) -> Permissions:
        """What is allowed in an open session, here and for good, and what was decided in it last. Raises StoreError."""
        from agent_core.permissions import Permissions, allowed_for_good, one_by_one

        live = self._here(session_id)
        always, modes, projects = allowed_for_good(self.grants)
        written = self.grants.read()
        return Permissions(
            *live.ways[:2],
            self.walls.containment(),
            live.ways[2],
            one_by_one(live.grants.session()),
            always,
            modes,
            written.no_sandbox,
            projects,
            self.denied(),
            tuple(self.decisions(session_id)),
            str(self.places.grants_file),
            written.problem,
        )

    def take_back(self, session_id: str, what: Allowed) -> None:
        """From the next call on this asks again. Raises ConfigError, StoreError."""
        from agent_core import permissions

        permissions.take_back(what, self.grants, self._here(session_id).grants)
        if isinstance(what, permissions.ConfirmedMode):
            with self._lock:
                here = [live for live in self._sessions.values() if str(live.workspace) == what.workspace]
            for live in here:
                live.forget_confirmed(what.mode)
        self._note_permission(session_id, permissions.decided(what, False))
        if isinstance(what, permissions.Project):
            self.look_again()

    def give_back(self, session_id: str, what: Allowed) -> None:
        """Undo `take_back`. Raises ConfigError, StoreError."""
        from agent_core import permissions

        self._note_permission(session_id, permissions.decided(what, True))  # first: nothing is allowed without a record
        permissions.give_back(what, self.grants, self._here(session_id).grants)
        if isinstance(what, permissions.Project):
            self.look_again()

    def _note_permission(self, session_id: str, decided: Decided) -> None:
        workspace = str(self._here(session_id).workspace)
        self.store.audit.add(session_id, workspace, for_the_record(decided, self.redact))

    def export(self, session_id: str, form: str = "markdown") -> str:
        """A session as text in one of exchange.FORMS. Raises StoreError."""
        decisions = self.store.audit.list(session_id, None)
        return exchange.export(form, self.store.get(session_id), self.store.messages(session_id), decisions)

    def worktrees(self, workspace: Path) -> Worktrees:
        """Those of the repository that a workspace lies in; what they do belongs on no screen's thread."""
        from agent_core.cancel import CancelScope
        from agent_core.worktrees import Worktrees  # no start waits for it

        return Worktrees(workspace, child_env(self.launch.env), CancelScope())

    # -- the end ------------------------------------------------------------------------------------------------

    def report_crash(self, error: BaseException) -> Path | None:
        """Write a crash report, without keys; returns its path when it could be written."""
        return write_crash(self.places.logs_dir, error, self.redact)

    def redact(self, text: str) -> str:
        """`text` without keys: those that look like one, and those that this program could use, by their value."""
        return redact(text, self._keys())

    def _keys(self) -> tuple[str, ...]:
        chosen: ModelChoice | None = getattr(self, "model", None)  # the log may speak before there is one
        endpoint = chosen.state.endpoint if chosen is not None else None
        used = endpoint.key if endpoint is not None else None
        return (*self._named_keys, used.reveal()) if used is not None else self._named_keys

    def _read_config(self) -> Config:
        """The config as it is now, and with it every key that stands in the environment or in .env."""
        self.standing = self.trusting.look()
        config = self._load_config(self.standing)
        if self.launch.add_dirs:
            folders = [*config.get("sandbox.add_dirs"), *map(str, self.launch.add_dirs)]
            config = replace(config, values={**config.values, "sandbox.add_dirs": folders})
        self.config = config
        self._know_keys(config.dotenv)
        return config

    def _load_config(self, standing: Standing | None = None) -> Config:
        project = (standing or self.trusting.look()).config
        places = self.trusting.places_of(self.places.workspace)
        return config_load.load(places, self.launch.env, self.launch.overrides, project)

    def _know_keys(self, dotenv: Mapping[str, str]) -> None:
        """Have every key that may be used hidden wherever it shows, those of earlier too."""
        asked, entries = options.provider(self.config), self.config.get("fallback_providers")
        names = {*providers.variables(asked, entries), *chain.from_iterable(SEARCH_KEYS.values())}
        found = {key for place in (self.launch.env, dotenv) for name in names if (key := place.get(name, ""))}
        found |= providers.written_keys(asked)
        with self._lock:
            self._named_keys = (*self._named_keys, *(found - set(self._named_keys)))
            self._key_names |= names

    def close(self) -> None:
        """Stop every turn, end every process of ours. Returns within a second; what hangs is left to die with us."""
        self._closing.set()
        ending = threading.Thread(target=self._end_servers, name="end-servers", daemon=True)
        ending.start()
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()
        self.tasks.close()
        farewell = any(session.farewell for session in sessions)
        deadline = time.monotonic() + (limits.SESSION_END_HOOKS if farewell else limits.TURN_STOP / 2)
        for session in sessions:
            session.join(max(0.0, deadline - time.monotonic()))
        ending.join(limits.MCP_END)
        families.kill_all()
        self.walls.close()
        if "searching" in self.__dict__:
            self.searching.close()
        if "checkpoints" in self.__dict__:
            self.checkpoints.close()
        self._notebook.close()
        used = {session.workspace for session in sessions if session.stored}
        for folder in self._samples:
            if folder.resolve() not in used:
                shutil.rmtree(folder.parent, ignore_errors=True)
        self.store.close()

    def _end_servers(self) -> None:
        if "servers" in self.__dict__:
            self.servers.close()


def _tools() -> tuple[Tool, ...]:
    from agent_core.tools.builtin import builtin_tools  # a start does not wait for them

    return builtin_tools()


def _may_name_servers(standing: Standing) -> bool:
    return any(file.kind in ("servers", "config") for file in standing.offer.files)
