"""What is in order on this machine and what is not, each with what mends it (DOC-01).

Nothing is changed, nothing of a project is run, and no key is shown: only where it comes from. A check that fails in a
way nobody thought of is a failed check, never the end of the others.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import shutil
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import field
from functools import cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal

from agent_core import limits, options, process, trust
from agent_core.cancel import CancelScope
from agent_core.config.load import UNUSABLE, Config, ConfigWarning, load
from agent_core.config.paths import Places
from agent_core.confinement import Confinement
from agent_core.errors import AgentError, ConfigError, SandboxError
from agent_core.grants_file import GrantsFile
from agent_core.hooks import names as names_of_hooks
from agent_core.hooks import users_hooks
from agent_core.llm import discover, providers
from agent_core.llm.providers import Endpoint
from agent_core.mcp import config as mcp_config
from agent_core.names import APP
from agent_core.records import dataclass
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox import probe
from agent_core.sandbox.env import child_env
from agent_core.sandbox.landlock import NEEDED_ABI
from agent_core.sandbox.policy import Box
from agent_core.sandbox.probe import Layers
from agent_core.store.db import APPLICATION_ID, latest_version
from agent_core.text.printable import printable
from agent_core.trust import Standing

log = logging.getLogger(__name__)

State = Literal["ok", "warn", "fail", "skip"]
"""ok: in order. warn: works, but less well or less safely than it could. fail: does not work, or is not safe. skip: was
not looked at."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one look came to."""

    id: str
    title: str
    state: State
    text: str
    fix: str = ""
    """What to do; empty when all is well."""


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at."""

    places: Places
    env: Mapping[str, str]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """What was set for this run, by dotted key (Launch.overrides)."""
    online: bool = True
    """Ask the configured model server whether it is there."""
    layers: Callable[[], Layers] = probe.look
    python: tuple[int, int, int] = sys.version_info[:3]
    system: str = platform.system()
    subagents_file: Path | None = None
    """Sub-agents of this run (Launch.subagents_file)."""


Examination = Callable[[], Iterable[Check]]


def examine(patient: Patient, more: Iterable[tuple[str, Examination]] = ()) -> Iterator[Check]:
    """All checks one after the other, each as soon as it is known. `more`: those of a face, by title."""
    case = _Case(patient)
    for title, look in _CHECKS:
        yield from _safely(title, partial(look, case))
    for title, examination in more:
        yield from _safely(title, examination)


def has_problem(checks: Iterable[Check]) -> bool:
    return any(check.state == "fail" for check in checks)


def _safely(title: str, look: Examination) -> Iterator[Check]:
    id_ = title.lower().replace(" ", "_")
    try:
        yield from look()
    except AgentError as error:
        yield Check(id_, title, "fail", error.text)
    except Exception as error:  # one check that crashes must not hide what the others find
        log.exception("check %s crashed", id_)
        yield Check(id_, title, "fail", f"The check itself failed: {type(error).__name__}: {error}", "Report this.")


class _Case:
    """What several checks need, read once."""

    def __init__(self, patient: Patient) -> None:
        self.patient = patient
        self.places = patient.places
        self.env = patient.env

    @cached_property
    def grants(self) -> GrantsFile:
        return GrantsFile(self.places.grants_file)

    @cached_property
    def standing(self) -> Standing:
        return trust.look(self.places, self.grants)

    @cached_property
    def config(self) -> Config:
        return load(self.places, self.env, self.patient.overrides, project=self.standing.config)

    @cached_property
    def layers(self) -> Layers:
        return self.patient.layers()

    @cached_property
    def endpoint(self) -> Endpoint | ConfigError:
        """Whom the config names, or why it names nobody."""
        try:
            return providers.resolve(options.provider(self.config), self.env, self.config.dotenv)
        except ConfigError as error:
            return error

    def short(self, path: Path) -> str:
        """A path as a person calls it."""
        home = str(self.places.home)
        text = str(path)
        return printable("~" + text[len(home) :] if text == home or text.startswith(home + "/") else text)


# -- the program --------------------------------------------------------------------------------------------------

_PYTHON: Final = (3, 11)


def _python(case: _Case) -> Iterator[Check]:
    version = ".".join(map(str, case.patient.python))
    text = f"{version}, SQLite {sqlite3.sqlite_version}, {case.patient.system} {platform.release()}"
    if case.patient.python < _PYTHON:
        yield Check("python", "Python", "fail", text, "Install Python 3.11 or newer, then the program with it.")
    else:
        yield Check("python", "Python", "ok", text)


def _packages(case: _Case) -> Iterator[Check]:
    try:
        wanted = metadata.requires(APP) or []
    except metadata.PackageNotFoundError:
        yield Check("packages", "Packages", "skip", "The program runs from its sources; nobody noted what it needs.")
        return
    wrong = []
    for requirement in wanted:
        match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?(?:==([^;,\s]+))?", requirement)
        if match is None or "extra ==" in requirement:
            continue
        try:
            there = metadata.version(match[1])
        except metadata.PackageNotFoundError:
            wrong.append(f"{match[1]} is missing")
            continue
        if match[2] and there != match[2]:
            wrong.append(f"{match[1]} is {there}, not {match[2]}")
    if wrong:
        yield Check("packages", "Packages", "fail", "; ".join(wrong) + ".", f"Install {APP} anew.")
    else:
        yield Check("packages", "Packages", "ok", "All that it needs is there.")


def _tools(case: _Case) -> Iterator[Check]:
    for name, package, without in (
        ("git", "git", "the agent cannot commit or look at what has changed"),
        ("rg", "ripgrep", "searching files is slower"),
    ):
        found = program(name, case.patient)
        if found is None:
            yield Check(name, name, "warn", f"Not found: {without}.", f"Install {package}.")
            continue
        result = process.run(
            (found, "--version"), Path("/"), env=child_env(case.env), timeout=limits.DOCTOR_PROGRAM,
            cancel=CancelScope(),
        )  # fmt: skip
        words = printable(result.stdout.partition("\n")[0])[: limits.SUBJECT_CHARS]
        if result.exit_code == 0 and words:
            yield Check(name, name, "ok", f"{words} ({printable(found)})")
        else:
            yield Check(name, name, "warn", f"{printable(found)} --version fails.", f"Install {package} anew.")


def program(name: str, patient: Patient) -> str | None:
    """The file a program's name means, but none of the project's: nothing of it is run."""
    project = (patient.places.project_root or patient.places.workspace).resolve()
    folders = [
        folder
        for folder in patient.env.get("PATH", "").split(os.pathsep)
        if os.path.isabs(folder) and not Path(folder).resolve().is_relative_to(project)
    ]
    found = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
    inside = found is not None and Path(found).resolve().is_relative_to(project)
    return None if inside else found


# -- settings and the model ---------------------------------------------------------------------------------------


def _config(case: _Case) -> Iterator[Check]:
    config = case.config
    told = [w for w in config.warnings if not (w.code == "open_env" and w.file == str(case.places.env_file))]
    for warning in told:
        state: State = "fail" if warning.code in UNUSABLE else "warn"
        yield Check("config", "Config", state, _place(warning, case), "Correct that line.")
    if not told:
        used = sorted({case.short(Path(place)) for place in config.sources.values() if os.path.isabs(place)})
        yield Check("config", "Config", "ok", f"Read from {', '.join(used)}." if used else "Nothing but defaults.")
    if config.unused:
        names = ", ".join(config.unused)
        yield Check("unused", "Config of Hermes", "ok", f"Known and not used here: {names}.")


def _place(warning: ConfigWarning, case: _Case) -> str:
    place = case.short(Path(warning.file)) + (f":{warning.line}" if warning.line else "")
    text = printable(warning.text)
    return text if warning.file in text else f"{place}: {text}"


def _provider(case: _Case) -> Iterator[Check]:
    endpoint = case.endpoint
    if isinstance(endpoint, ConfigError):
        if endpoint.code == "no_provider" and case.patient.online:
            local = discover.find_local_server()
            if local is not None:
                text = f"None is configured; {local.label} on this machine is used, with {local.model}."
                yield Check("provider", "Model", "ok", text)
                return
        title = "Key" if endpoint.code in ("no_key", "bad_key") else "Model"
        fix = "Connect one with /setup in the program." if endpoint.code == "no_provider" else ""
        yield Check("key" if title == "Key" else "provider", title, "fail", endpoint.text, fix)
        return
    yield Check(
        "provider", "Model", "ok", f"{endpoint.model} of {endpoint.label}, {providers.shown_url(endpoint.base_url)}"
    )
    yield _key(endpoint, case)
    if not case.patient.online:
        yield Check("endpoint", "Model server", "skip", "Not asked (--offline).")
        return
    health = discover.check(endpoint, limits.DOCTOR_SERVER)
    if health.code == "ok":
        yield Check("endpoint", "Model server", "ok", health.text)
    else:
        yield Check("endpoint", "Model server", "warn" if health.ok else "fail", health.text, _SERVER_FIX)


_SERVER_FIX: Final = "Try it with /setup in the program; --offline leaves this out."


def _key(endpoint: Endpoint, case: _Case) -> Check:
    """Where the key comes from. The key itself is not touched."""
    if endpoint.key is None:
        return Check("key", "Key", "ok", f"{endpoint.label} needs none here.")
    source = endpoint.key.source
    if case.env.get(source, "").strip():
        return Check("key", "Key", "ok", f"{source}, from the environment.")
    if source in case.config.dotenv:
        return Check("key", "Key", "ok", f"{source}, from a .env file.")
    fix = f"Move it into {case.short(case.places.env_file)}, which only you may read."
    return Check("key", "Key", "warn", f"It stands in the config ({printable(source)}).", fix)


# -- our own files ------------------------------------------------------------------------------------------------


def _home(case: _Case) -> Iterator[Check]:
    home, shown = case.places.data_home, case.short(case.places.data_home)
    if not home.exists():
        above = next(folder for folder in home.parents if folder.exists())
        if os.access(above, os.W_OK | os.X_OK):
            yield Check("home", "Home", "ok", f"{shown} is made at the first start.")
        else:
            yield Check("home", "Home", "fail", f"{shown} cannot be made: {above} is closed to you.", _HOME_FIX)
        return
    if not home.is_dir() or not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Check("home", "Home", "fail", f"{shown} is no folder that you may write.", _HOME_FIX)
        return
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        text = f"Others may {'change' if mode & 0o022 else 'look into'} {shown} (mode {mode:04o})."
        yield Check("home", "Home", "fail" if mode & 0o022 else "warn", text, f"chmod 700 {shown}")
    else:
        yield Check("home", "Home", "ok", f"{shown}, yours alone.")


_HOME_FIX: Final = "Give yourself the rights, or set NANOHERMES_HOME to a folder of yours."
_PRIVATE: Final = (".env", "grants.json", "credentials.json")


def _private_files(case: _Case) -> Iterator[Check]:
    good = []
    for name in _PRIVATE:
        file = case.places.data_home / name
        try:
            found = file.stat()
        except FileNotFoundError:
            continue
        shown, mode = case.short(file), stat.S_IMODE(found.st_mode)
        if found.st_uid != os.geteuid():
            yield Check("private", "Private files", "fail", f"{shown} belongs to somebody else.", f"Look at {shown}.")
        elif mode & 0o077:
            text = f"Others may {'change' if mode & 0o022 else 'read'} {shown} (mode {mode:04o})."
            yield Check("private", "Private files", "fail", text, f"chmod 600 {shown}")
        else:
            good.append(name)
    if good:
        yield Check("private", "Private files", "ok", f"{', '.join(good)}: yours alone.")
    problem = case.grants.read().problem
    if problem is not None:
        yield Check("grants", "Grants", "fail", problem.text, f"Correct {case.short(case.places.grants_file)}.")


def _store(case: _Case) -> Iterator[Check]:
    state, shown = case.places.state_db, case.short(case.places.state_db)
    for file in sorted(state.parent.glob(f"{state.name}.corrupt-*")) if state.parent.is_dir() else ():
        if not file.name.endswith(("-wal", "-shm")):
            text = f"{file.name} was damaged and put aside."
            yield Check("store_aside", "Sessions", "warn", text, f"{APP} sessions check --repair")
    if not state.exists() or state.stat().st_size == 0:
        yield Check("store", "Sessions", "ok", f"{shown} is made at the first start.")
        return
    repair = f"{APP} sessions check --repair"
    try:
        uri = f"{state.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=limits.SQLITE_BUSY)) as c:
            (application,) = c.execute("PRAGMA application_id").fetchone()
            (version,) = c.execute("PRAGMA user_version").fetchone()
            (verdict,) = c.execute("PRAGMA quick_check(1)").fetchone()
            (journal,) = c.execute("PRAGMA journal_mode").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from SQLite's own words about a spoiled name
        yield Check("store", "Sessions", "fail", f"{shown} cannot be read: {error}.", repair)
        return
    if application != APPLICATION_ID and (application or version):
        text = f"{shown} is a database of another program."
        yield Check("store", "Sessions", "fail", text, "Move it away, or set NANOHERMES_HOME to another folder.")
    elif verdict != "ok":
        yield Check("store", "Sessions", "fail", f"{shown} is damaged: {printable(str(verdict))}", repair)
    elif version > latest_version():
        text = f"{shown} was written by a newer version (schema {version}; this one knows {latest_version()})."
        yield Check("store", "Sessions", "fail", text, "Update the program.")
    elif not os.access(state, os.W_OK):
        yield Check("store", "Sessions", "fail", f"You may not write {shown}.", f"chmod u+w {shown}")
    elif journal != "wal":
        text = f"{shown} is in journal mode {journal}; the next start makes that WAL."
        yield Check("store", "Sessions", "warn", text, "Start the program once.")
    else:
        old = "" if version == latest_version() else "; the next start brings it up to date"
        yield Check("store", "Sessions", "ok", f"{shown}: sound, schema {version}, WAL{old}.")


def _search(case: _Case) -> Iterator[Check]:
    with closing(sqlite3.connect(":memory:")) as c:
        try:
            c.execute("CREATE VIRTUAL TABLE t USING fts5 (a)")
        except sqlite3.OperationalError as error:
            fix = "Use a Python whose SQLite has FTS5; nearly every distribution's has."
            yield Check("fts5", "Search", "fail", f"SQLite here has no FTS5 ({error}).", fix)
        else:
            yield Check("fts5", "Search", "ok", "SQLite has FTS5.")


# -- what confines commands ---------------------------------------------------------------------------------------


def _sandbox(case: _Case) -> Iterator[Check]:
    if case.patient.system != "Linux":
        text = f"{case.patient.system} has none that this program can use: every command asks."
        yield Check("landlock", "Sandbox", "warn", text, "Use Linux, or a Linux machine in a window (WSL, a VM).")
        return
    config, found = case.config, case.layers
    waived = case.grants.read().no_sandbox or config.get("sandbox.mode") == "danger-full-access"
    lacking: State = "warn" if waived else "fail"
    if found.landlock_abi >= NEEDED_ABI:
        gap = " Before ABI 6 it keeps no signals from processes outside." if "signals" in found.missing else ""
        yield Check("landlock", "Sandbox: Landlock", "ok", f"ABI {found.landlock_abi}.{gap}")
    else:
        what = f"ABI {found.landlock_abi} is too old" if found.landlock_abi else found.landlock_error
        yield Check("landlock", "Sandbox: Landlock", lacking, f"Missing: {what}.", _landlock_fix(found.landlock_error))
    if found.seccomp:
        yield Check("seccomp", "Sandbox: calls", "ok", f"Filtered by seccomp ({found.arch}).")
    else:
        fix = "It needs Linux on x86_64 or aarch64 with seccomp; a container may switch it off."
        yield Check("seccomp", "Sandbox: calls", lacking, f"seccomp filters are missing ({found.arch}).", fix)
    if not found.can_confine:
        yield Check("mounts", "Sandbox: view", "skip", "Not tried: it adds to the layers above.")
    elif found.mount_view:
        yield Check("mounts", "Sandbox: view", "ok", f"Read-only view of the file system, by {_VIEWS[found.view_by]}.")
    else:
        text = (
            f"Missing, so file times, modes and .git in the workspace are not protected: {printable(found.view_error)}"
        )
        yield Check("mounts", "Sandbox: view", "warn", text, _NAMESPACES)
    if found.cgroup:
        yield Check("cgroup", "Sandbox: bounds", "ok", f"Control groups {found.cgroup}.")
    else:
        text = "No control group can be made here; limits of single processes have to do."
        fix = f"systemd-run --user --scope -p Delegate=yes {APP}"
        yield Check("cgroup", "Sandbox: bounds", "warn", text, fix)
    yield from _confined(case, lacking)


_VIEWS: Final[Mapping[str, str]] = {"root": "root's rights", "user": "a user namespace"}
_NAMESPACES: Final = (
    "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, or where AppArmor restricts them "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container, its seccomp profile."
)


def _landlock_fix(error: str) -> str:
    if "EOPNOTSUPP" in error:
        return "Switch it on at boot: add landlock to the kernel's lsm= list."
    if "EPERM" in error or "EACCES" in error:
        return "Something forbids the call: let the container's seccomp profile allow landlock_create_ruleset."
    return "Use Linux 6.2 or newer with Landlock. Until then every command asks; /no-sandbox says more."


_TRIAL: Final = "echo x > inside && { ! echo x > ../outside; } 2>/dev/null"


def _confined(case: _Case, lacking: State) -> Iterator[Check]:
    """Whether the walls hold: a command that writes in its folder, and tries to write beside it."""
    title = "Sandbox: trial"
    if not case.layers.can_confine:
        yield Check("confined", title, "skip", "Nothing to try.")
        return
    with tempfile.TemporaryDirectory(prefix="nanoherm-") as name:
        folder = Path(os.path.realpath(name))
        workspace = folder / "workspace"
        workspace.mkdir()
        walls = Confinement(
            workspace, case.places.home, case.places.data_home, lambda: nothing_more, environ=case.env,
            probe=lambda: case.layers,
        )  # fmt: skip
        try:
            result = process.LocalBackend(walls.policy).execute(
                _TRIAL, workspace, box=Box("workspace-write"), timeout=limits.DOCTOR_PROGRAM, env=child_env(case.env),
                cancel=CancelScope(),
            )  # fmt: skip
        except SandboxError as error:
            yield Check("confined", title, lacking, error.text, "The lines above say which layer is missing.")
            return
        finally:
            walls.close()
        inside, outside = (workspace / "inside").exists(), (folder / "outside").exists()
    if outside:
        yield Check("confined", title, "fail", "A confined command could write outside of its folder!", "Report this.")
    elif result.exit_code != 0 or not inside:
        why = printable(result.stderr.strip().partition("\n")[0])[: limits.SUBJECT_CHARS] or f"exit {result.exit_code}"
        yield Check("confined", title, lacking, f"A confined command does not work: {why}", "Report this.")
    else:
        seconds = f"{result.seconds * 1000:.0f} ms"
        yield Check("confined", title, "ok", f"A command wrote in its folder and could not beside it ({seconds}).")


# -- what others bring --------------------------------------------------------------------------------------------


def _project(case: _Case) -> Iterator[Check]:
    standing = case.standing
    root = case.short(standing.offer.root)
    if standing.asks:
        yield Check("trust", "This folder", "warn", standing.line, f"{APP} trust {root}")
    elif standing.state == "trusted":
        yield Check("trust", "This folder", "ok", f"{root} is trusted: {', '.join(sorted(standing.offer.digests))}.")
    elif standing.state == "refused":
        yield Check("trust", "This folder", "ok", f"{root} is never trusted: nothing of it acts.")
    else:
        yield Check("trust", "This folder", "ok", "It brings nothing that acts.")


def _servers(case: _Case) -> Iterator[Check]:
    """What the files name. None is started."""
    from agent_core.extras.server_desk import sources

    env = {**case.config.dotenv, **case.env}
    found = mcp_config.read(sources(case.places, case.standing), env, case.places.home)
    for problem in found.problems:
        yield Check("servers", "MCP server", "warn", problem.text, "Correct that line.")
    for config in found.servers:
        shown = printable(config.name)
        if config.name in found.held:
            text = f"{shown} waits until this folder is trusted."
            yield Check("servers", "MCP server", "ok", text)
        elif config.problem:
            yield Check("servers", "MCP server", "warn", config.problem, "Correct its entry.")
        elif not config.enabled:
            yield Check("servers", "MCP server", "ok", f"{shown} is switched off.")
        elif config.command and not _can_be_found(config.command, case):
            text = f"{shown}: its program {printable(config.command)[: limits.SUBJECT_CHARS]} is not found."
            yield Check("servers", "MCP server", "warn", text, "Install it, or correct mcp_servers in the config.")
        else:
            yield Check("servers", "MCP server", "ok", f"{shown} is configured. {APP} doctor --servers starts it.")


def _can_be_found(command: str, case: _Case) -> bool:
    if "/" in command:
        return os.access(os.path.expanduser(command), os.X_OK)
    return shutil.which(command, path=case.env.get("PATH", "")) is not None


def _hooks(case: _Case) -> Iterator[Check]:
    """The user's own. None is run."""
    found = users_hooks(case.places, case.config.mapping("hooks"))
    for problem in found.problems:
        yield Check("hooks", "Hooks", "fail", problem.text, "Correct that line: until then the hook does not run.")
    if found.hooks:
        words = "; ".join(names_of_hooks(found.hooks))
        yield Check("hooks", "Hooks", "ok", f"{len(found.hooks)}: {words}")


def _skills(case: _Case) -> Iterator[Check]:
    """Whether every SKILL.md can be understood; of a project's, those that are accepted."""
    from agent_core.skills.discover import Finder, checked

    config = case.config
    if not config.get("skills.enabled"):
        yield Check("skills", "Skills", "skip", "Switched off (skills.enabled).")
        return
    more = case.places.folders(config.get("skills.external_dirs"))
    shelf = Finder().look(case.places, case.standing, more)
    every = (*shelf.skills, *shelf.hidden)
    wrong = [(found, problem) for found in every for problem in checked(found)]
    for found, problem in wrong:
        text = f"{case.short(found.file)}:{problem.line}: {printable(problem.text)}"
        yield Check("skills", "Skills", "warn", text, f"See all: {APP} skills check")
    if not wrong:
        count = f"{len(every)} skill{'' if len(every) == 1 else 's'}: every SKILL.md can be read."
        yield Check("skills", "Skills", "ok", count if every else "None are there.")


def _agents(case: _Case) -> Iterator[Check]:
    """Whether every definition of a sub-agent can be used; of a project's, those that are accepted."""
    from agent_core.subagents import definitions

    config = case.config
    if not config.get("delegation.enabled"):
        yield Check("sub-agents", "Sub-agents", "skip", "Switched off (delegation.enabled).")
        return
    with_shipped = config.get("delegation.builtin_agents")
    found = definitions.counting(case.places, case.standing, case.patient.subagents_file, with_shipped=with_shipped)
    for problem in found.problems:
        yield Check("sub-agents", "Sub-agents", "warn", problem.text, "Correct that file: the others work without it.")
    if beyond := found.definitions[limits.AGENTS_DEFINED :]:
        text = f"More than {limits.AGENTS_DEFINED}: {', '.join(one.name for one in beyond)} cannot be called."
        yield Check("sub-agents", "Sub-agents", "warn", text, "Take some out.")
    count = len(found.definitions)
    if count and not beyond:
        words = ", ".join(one.name for one in found.definitions)
        yield Check("sub-agents", "Sub-agents", "ok", f"{count}: {words}")
    elif not count and not found.problems:
        yield Check("sub-agents", "Sub-agents", "ok", "None are defined.")


_CHECKS: Final[tuple[tuple[str, Callable[[_Case], Iterable[Check]]], ...]] = (
    ("Python", _python),
    ("Packages", _packages),
    ("Tools", _tools),
    ("Home", _home),
    ("Private files", _private_files),
    ("Sessions", _store),
    ("Search", _search),
    ("Config", _config),
    ("Model", _provider),
    ("Sandbox", _sandbox),
    ("This folder", _project),
    ("MCP servers", _servers),
    ("Hooks", _hooks),
    ("Skills", _skills),
    ("Sub-agents", _agents),
)
