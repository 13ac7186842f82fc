"""What one program run is built of: the config, the keys, trust, the store, the desks.

This is the composition root: with `options.py` and the doctor, the only room that reads the config.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core import after_edit, limits
from agent_core.after_edit import CheckSet
from agent_core.config import load as config_load
from agent_core.config import write as config_write
from agent_core.config.dotenv import set_variable
from agent_core.config.live import LiveTexts
from agent_core.config.load import Config, ConfigWarning
from agent_core.config.paths import Places, find_places
from agent_core.desk import options
from agent_core.desk.files import FileDesk
from agent_core.desk.model_choice import ModelChoice, ModelState, check_address
from agent_core.desk.models import Models
from agent_core.desk.trusting import Answer, Trusting
from agent_core.desk.walls import WallsDesk
from agent_core.errors import AgentError, ConfigError, StoreError
from agent_core.events import Notice
from agent_core.grants_file import GrantsFile
from agent_core.hooks import HookSet, users_hooks
from agent_core.images import kept as kept_images
from agent_core.images.kept import KeptImages
from agent_core.jobs.registry import Jobs
from agent_core.llm import providers
from agent_core.log import install_hooks
from agent_core.log import setup as setup_log
from agent_core.made_once import made_once
from agent_core.mind.notebook import Notebook
from agent_core.names import SEARCH_KEYS, TASKS_DIR, Mode
from agent_core.ports.asking import Decided
from agent_core.records import dataclass
from agent_core.safety.redact import redact
from agent_core.session.live import LiveSession
from agent_core.session.services import Connection
from agent_core.store.sessions import Store
from agent_core.trust import Standing, projects_hooks

if TYPE_CHECKING:
    from agent_core.checkpoints.keeper import Checkpoints
    from agent_core.checkpoints.keeper import Options as CheckpointOptions
    from agent_core.config.settings import Setting


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


class House:
    """Builds and owns it; `Host` closes it."""

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
            redact=self.redact,
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

    def look_again(self) -> ModelState:
        """Read the config anew and look for a model from the start."""
        self.config = self._read_config()
        return self.model.look_again()

    def connect(self, model: str, provider: str = "", stand_ins: Sequence[Any] = ()) -> Connection:
        """A new client for a model that a person chose, or for the configured one and what stands in for it when "".

        `provider`: whose model it is, when that is known; else it may stand before the model. `stand_ins` as in
        services.Connect. Raises ConfigError.
        """
        if self.model.settle().demo and not model.removeprefix("demo"):
            return self.model.connect_demo()
        return self.models.connect(model, provider, stand_ins)

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

    def _read_keys(self) -> Mapping[str, str]:
        """What the .env files hold now: a key that was changed counts from the next turn on (LLM-30)."""
        dotenv = config_load.read_dotenv(self.places)
        self._know_keys(dotenv)
        return dotenv

    def personas(self) -> dict[str, str]:
        """The texts of the configured personas by their names."""
        return options.personas(self.config)

    # -- what folders bring -------------------------------------------------------------------------------------------

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

    def _put_on_record(self, folder: Path, decided: Decided) -> None:
        """A person's decision about a folder, or about the machine. Raises StoreError."""
        self.store.audit.add("", "" if folder == Path() else str(folder), decided)

    # -- settings -----------------------------------------------------------------------------------------------------

    @property
    def warnings(self) -> tuple[ConfigWarning, ...]:
        """Of the config, but for what waits for the project to be trusted: that is shown as a whole."""
        return tuple(warning for warning in self.config.warnings if warning.code != "not_trusted")

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

    def get_settings(self) -> Config:
        return self.config

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

    # -- keys ---------------------------------------------------------------------------------------------------------

    def redact(self, text: str) -> str:
        """`text` without keys: those that look like one, and those that this program could use, by their value."""
        return redact(text, self._keys())

    def _keys(self) -> tuple[str, ...]:
        chosen: ModelChoice | None = getattr(self, "model", None)  # the log may speak before there is one
        endpoint = chosen.state.endpoint if chosen is not None else None
        used = endpoint.key if endpoint is not None else None
        return (*self._named_keys, used.reveal()) if used is not None else self._named_keys

    def _know_keys(self, dotenv: Mapping[str, str]) -> None:
        """Have every key that may be used hidden wherever it shows, those of earlier too."""
        asked, entries = options.provider(self.config), self.config.get("fallback_providers")
        names = {*providers.variables(asked, entries), *chain.from_iterable(SEARCH_KEYS.values())}
        found = {key for place in (self.launch.env, dotenv) for name in names if (key := place.get(name, ""))}
        found |= providers.written_keys(asked)
        with self._lock:
            self._named_keys = (*self._named_keys, *(found - set(self._named_keys)))
            self._key_names |= names

    def _hide(self, values: Iterable[str]) -> None:
        """Have these values hidden wherever they show."""
        with self._lock:
            self._named_keys = (*self._named_keys, *(set(values) - set(self._named_keys)))

    def _for_commands(self, name: str) -> str:
        """What a variable holds that a skill's commands may be given: never a key that this program itself uses."""
        from agent_core.sandbox.env import may_be_lent

        if name in self._key_names or not may_be_lent(name):
            return ""
        return self.launch.env.get(name, "") or self._read_keys().get(name, "")

    # -- what is kept -------------------------------------------------------------------------------------------------

    @made_once
    def checkpoints(self) -> Checkpoints:
        """What turns changed in files: to list, to plan a rollback, to look at (intents Rollback, RollbackRedo)."""
        from agent_core.checkpoints.keeper import Checkpoints

        def bounds() -> CheckpointOptions:
            return options.checkpoints(self.config, self.places)

        return Checkpoints(self.places.home, self.places.data_home, bounds, self.files.rules_of, self.redact)

    def _workspace_of(self, session_id: str) -> Path:
        live = self._sessions.get(session_id)  # none: it was put away while its files were asked for
        return live.workspace if live is not None else Path(self.store.get(session_id).workspace)

    def _notes_failed(self, error: AgentError) -> None:
        """Tell it where somebody reads: in the session opened last."""
        with self._lock:
            live = next(reversed(self._sessions.values()), None)
        if live is not None:
            text = f"Drafts and waiting texts cannot be kept on disk now: {error.text}"
            live.tell(Notice("notes_not_kept", text, "warning", {"error": error.text}))

    def _throw_away(self) -> None:
        """On a thread of its own: what was deleted long ago goes for good, with its spill files; old sessions go."""
        now = time.time()
        try:
            names = self.store.purge(now - limits.DELETED_KEPT, now - limits.ORPHAN_DRAFTS_KEPT)
            for name in names:
                (self.files.spill_folder(name) / name).unlink(missing_ok=True)
            self.store.shrink(self._closing.is_set)
            if (self.places.data_home / "checkpoints").is_dir() and not self._closing.is_set():
                listed = time.time()  # another program may begin a session while these are read
                self.checkpoints.prune([size.id for size in self.store.sizes()], listed)
            days = self.config.get("sessions.retention_days")
            # A while later, so that an old session that this start was for is open by then, and stays.
            if days and not self._closing.wait(limits.RETENTION_DELAY):
                self.store.expire(now - days * 86_400.0, tuple(self._sessions))
        except (StoreError, OSError) as error:  # a later start tries again
            log.warning("old sessions could not be removed: %s", error)
