"""The walls of one session: for each box that the rules choose, the policy that the launcher enforces.

What is written where, what is kept as it is, what is hidden, and the private folder and the control group that all
commands of the session share. Sources: S1, S7, S11 to S13, decisions on deny-read.
"""

from __future__ import annotations

import atexit
import fcntl
import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.errors import SandboxError
from agent_core.git.linked_worktree import Link, link_of
from agent_core.names import TASKS_DIR
from agent_core.records import dataclass
from agent_core.safety.hidden import IsHidden
from agent_core.sandbox import cgroup
from agent_core.sandbox.env import git_settings
from agent_core.sandbox.mounts import outermost
from agent_core.sandbox.policy import UNCONFINED, Apart, Box, SandboxPolicy
from agent_core.sandbox.probe import Layers, layers
from agent_core.workspace.fixed_places import git_places, kept_places, secret_places
from agent_core.workspace.secret_files import SecretFiles

log = logging.getLogger(__name__)

MOUNT_VIEW: Final = "mount view"
NOT_ALL_KNOWN: Final = "files of secrets are still being looked for"
TOO_MANY: Final = "too many files to know all those of secrets"
NOT_HIDDEN: Final = "files of secrets cannot be hidden without a mount view"
"""Gaps: why commands are asked about although the kernel confines them (Situation.gap)."""

_TMP: Final = "nanoherm-box-"

_CACHES: Final = {
    "XDG_CACHE_HOME": "cache",
    "npm_config_cache": "cache/npm",
    "YARN_CACHE_FOLDER": "cache/yarn",
    "PIP_CACHE_DIR": "cache/pip",
    "UV_CACHE_DIR": "cache/uv",
    "GOCACHE": "cache/go",
    "CCACHE_DIR": "cache/ccache",
    "SCCACHE_DIR": "cache/sccache",
    "DENO_DIR": "cache/deno",
    "MPLCONFIGDIR": "cache/matplotlib",
    "NUMBA_CACHE_DIR": "cache/numba",
}
"""Caches outlive a command and are believed by the next one, sandboxed or not: each session fills its own."""
_INSTALLED: Final = {
    "HF_HOME": "huggingface",
    "TORCH_HOME": "torch",
    "PLAYWRIGHT_BROWSERS_PATH": "ms-playwright",
    "PUPPETEER_CACHE_DIR": "puppeteer",
    "CYPRESS_CACHE_FOLDER": "Cypress",
    "PRE_COMMIT_HOME": "pre-commit",
}
"""What lies among the caches and is none: programs and models that are found there, and only read."""

_FEW_TRIES: Final = {
    "npm_config_fetch_retries": "0",
    "PIP_RETRIES": "1",
    "UV_HTTP_RETRIES": "0",
    "CARGO_NET_RETRY": "0",
}
"""Without a network they would try it again for up to a minute before they say so; pip only says why it tries again."""
_GIT_BY_SIZE_AND_TIME: Final = {"core.checkStat": "minimal", "core.trustctime": "false"}
"""What covers a hidden file is another one of its size and age. If git told them apart, a tracked file that is hidden
would count as changed, and no `commit -a`, stash or rebase could be made."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the person has set. Folders may be given as they are spelled; they are resolved here."""

    add_dirs: tuple[Path, ...] = ()
    safe_roots: tuple[Path, ...] = ()
    """When given, commands write only below them."""
    max_processes: int = limits.SANDBOX_PROCESSES
    max_memory: int = 0
    """Bytes; 0: any."""


_USUAL = Options()


class Confinement:
    """Of one live session. Safe to use from several threads; `close` removes what it has made."""

    def __init__(
        self,
        workspace: Path,
        home: Path,
        data_home: Path,
        hidden: Callable[[], IsHidden],
        options: Options = _USUAL,
        *,
        environ: Mapping[str, str] = os.environ,
        probe: Callable[[], Layers] = layers,
    ) -> None:
        self._home, self._data_home = _real(home), _real(data_home)
        self._roots = tuple(dict.fromkeys(_real(root) for root in (workspace, *options.add_dirs)))
        self._safe = tuple(_real(root) for root in options.safe_roots)
        self._writable = writable_roots(self._roots, self._safe)
        self._options = options
        self._environ = environ
        self._probe = probe
        self._lock = threading.Lock()
        self._tmp: Path | None = None
        self._held = -1
        self._group: cgroup.Group | None = None
        self._group_made = False
        self._closed = False
        self._begun = False
        self._patience = limits.SECRETS_WAIT
        self._places: tuple[Path, ...] = ()
        self._places_until = 0.0
        self._secrets = SecretFiles([root for root in self._roots if root != Path("/")], hidden)
        atexit.register(self.close)

    # -- what holds ---------------------------------------------------------------------------------------------------

    def gap(self) -> str:
        """What the kernel would have to keep from commands here and cannot; "" when there is nothing."""
        if not self._first_look():
            return NOT_ALL_KNOWN
        if not self._secrets.complete:
            return TOO_MANY
        if MOUNT_VIEW in self._probe().missing and self._secrets.found:
            return NOT_HIDDEN
        return ""

    def policy(self, box: Box) -> SandboxPolicy | None:
        """What the launcher enforces for a command in `box`; None where nothing is. Raises SandboxError."""
        if box == UNCONFINED:
            return None
        found = self._probe()
        if not found.can_confine:
            raise SandboxError(
                "no_sandbox",
                f"This kernel cannot confine commands ({found.why}). Nothing was run. A person can accept for this "
                "machine that commands run without a sandbox (/no-sandbox), or start with --yolo.",
                reason=found.why,
            )
        if box.mode == "danger-full-access":
            raise SandboxError("no_such_box", "There is no box that allows everything but the network.")
        self._first_look()
        if not self._secrets.refresh():
            raise SandboxError(
                "secrets_moving",
                "Files of secrets are being moved about in the workspace, so they cannot be hidden. Nothing was run. "
                "End what moves them, or try again.",
            )
        tmp, group = self._private(), self._joined()
        writable = self._writable if box.mode == "workspace-write" else ()
        links = self._links() if writable and MOUNT_VIEW not in found.missing else ()
        linked = writable_roots((place for link in links for place in link.writable), self._safe)
        # What tasks write may have come to be since the fixed places were looked for.
        tasks = [place for place in (self._data_home / TASKS_DIR,) if place.is_dir()]
        hidden = outermost((*self._fixed(), *self._secrets.found, *tasks))
        bounded = group is not None and group.bounds_memory
        return SandboxPolicy(
            writable=outermost((*writable, *linked)),
            tmp=tmp,
            read_only=outermost((*self._kept(writable), *(place for link in links for place in link.read_only))),
            hidden=hidden,
            inodes=self._secrets.inodes,
            network=box.network,
            env=confined_env(tmp, self._home, self._environ, network=box.network, covers=bool(self._secrets.found)),
            cgroups=group.folders if group is not None else (),
            max_processes=self._options.max_processes,
            max_memory=0 if bounded else self._options.max_memory,
        )

    def warm(self) -> None:
        """A command may come soon: begin to look for what has to be hidden from it. Does not wait.

        Not before: the walk holds the interpreter, and the turn's first request shall not wait for that.
        """
        if not self._begun:
            self._begun = True
            self._secrets.begin()
            threading.Thread(target=self._make_ready, name="places", daemon=True).start()

    def _first_look(self) -> bool:
        """Whether the first walk has ended. It is waited for once."""
        self.warm()
        patience, self._patience = self._patience, 0.0
        return self._secrets.wait(patience)

    def _make_ready(self) -> None:
        from agent_core.sandbox import launch  # noqa: F401 - the first command waits for nothing to be loaded

        self._fixed()

    def _fixed(self) -> tuple[Path, ...]:
        """The places of secrets outside all workspaces, looked for now and then."""
        with self._lock:
            now = time.monotonic()
            if now >= self._places_until:
                self._places = secret_places(self._home, self._data_home)
                self._places_until = now + limits.SECRETS_PLACES_KEPT
            return self._places

    def _links(self) -> tuple[Link, ...]:
        """The linked worktrees that are worked in and whose repository lies elsewhere.

        Only a mount view keeps in there what has to stay as it is, so without one nothing of it is written.
        """
        found = (link_of(root) for root in self._roots if root in self._writable)
        return tuple(
            link for link in found if link and not any(link.common.is_relative_to(root) for root in self._writable)
        )

    def _kept(self, writable: Iterable[Path]) -> tuple[Path, ...]:
        found: list[Path] = []
        for root in writable:
            found += kept_places(root, self._home, self._data_home)
            for entry in self._secrets.repositories:
                if entry.parent != root and entry.is_relative_to(root) and os.path.lexists(entry):
                    found += git_places(entry, root)
        return outermost(found)

    # -- what the session has for itself ------------------------------------------------------------------------------

    def _private(self) -> Path:
        """The session's own folder for temporary files: its name cannot be guessed, and others cannot enter it."""
        with self._lock:
            if self._closed:
                raise SandboxError("session_closed", "The session is closed; nothing was run.")
            if self._tmp is None or not self._tmp.is_dir():
                if self._held >= 0:
                    os.close(self._held)
                    self._held = -1
                self._tmp, self._held = _make_tmp()
                threading.Thread(target=_sweep, args=(self._tmp.parent,), name="sweep", daemon=True).start()
            return self._tmp

    def _joined(self) -> cgroup.Group | None:
        with self._lock:
            if not self._group_made and not self._closed:
                self._group_made = True
                place = cgroup.ground()
                if place is not None:
                    self._group = cgroup.make(place, self._options.max_processes, self._options.max_memory)
            return self._group

    def apart(self, policy: SandboxPolicy) -> Apart:
        """`policy`, one of ours, for a command that may outlive the session. Raises SandboxError.

        What is made for it is to be removed by who runs it: the folder for temporary files, and the control groups.
        """
        tmp, held = _make_tmp()
        old, place = str(policy.tmp), cgroup.ground()
        options = self._options
        most = options.max_processes, options.max_memory
        made = cgroup.make(place, *most, apart=True) if place is not None else None
        bounded = made is not None and made.bounds_memory
        env = {
            name: f"{tmp}{value[len(old) :]}" if value == old or value.startswith(f"{old}/") else value
            for name, value in policy.env.items()
        }
        groups = made.folders if made is not None else ()
        memory = 0 if bounded else options.max_memory
        return Apart(replace(policy, tmp=tmp, env=env, cgroups=groups, max_memory=memory), held)

    def close(self) -> None:
        """Remove the private folder and the group; what still runs in the group ends. May be called again."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            tmp, group, held = self._tmp, self._group, self._held
        atexit.unregister(self.close)
        self._secrets.close()
        if group is not None:
            deadline = time.monotonic() + limits.CGROUP_CLOSE
            while not cgroup.remove(group.folders) and time.monotonic() < deadline:
                time.sleep(0.01)
        if tmp is not None:
            shutil.rmtree(tmp, ignore_errors=True)
        if held >= 0:
            os.close(held)


# -- pure ---------------------------------------------------------------------------------------------------------


def writable_roots(roots: Iterable[Path], safe: Iterable[Path]) -> tuple[Path, ...]:
    """What commands may write of `roots`, cut down to `safe` where that is given. All of the machine is never one."""
    safe = tuple(safe)
    cut = [
        root if root.is_relative_to(limit) else limit
        for root in roots
        for limit in (safe or (root,))
        if root.is_relative_to(limit) or limit.is_relative_to(root)
    ]
    return outermost(root for root in cut if root != Path("/") and root.is_dir())


def confined_env(tmp: Path, home: Path, environ: Mapping[str, str], *, network: bool, covers: bool) -> dict[str, str]:
    """What a confined command gets beside its environment: its own place for temporary files and caches (S12).

    `network`: it has one; `covers`: files are hidden in what it works on.
    """
    env = {name: str(tmp) for name in ("TMPDIR", "TMP", "TEMP")}
    env |= {name: str(tmp / folder) for name, folder in _CACHES.items()}
    if not network:
        env |= _FEW_TRIES
    if covers:
        env |= git_settings(_GIT_BY_SIZE_AND_TIME)
    caches = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    for name, folder in _INSTALLED.items():
        place = environ.get(name) or str(caches / folder)
        if os.path.isdir(place):
            env[name] = place
    return env


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


# -- temporary files ----------------------------------------------------------------------------------------------


def _short_tmp() -> str:
    """Where temporary files go: a socket's path has to fit in 108 bytes."""
    usual = tempfile.gettempdir()
    if len(os.fsencode(usual)) > limits.TMP_PATH and os.access("/tmp", os.W_OK | os.X_OK):
        return "/tmp"
    return usual


def _make_tmp() -> tuple[Path, int]:
    """A new private folder, and the descriptor that holds it. Raises SandboxError."""
    try:
        tmp = _real(Path(tempfile.mkdtemp(prefix=_TMP, dir=_short_tmp())))
        held = _hold(tmp)
        for folder in ("cache", "cache/npm"):
            (tmp / folder).mkdir(mode=0o700)
    except OSError as error:
        raise SandboxError(
            "no_private_tmp",
            f"No private folder for temporary files could be made: {error}. Nothing was run. Free some space, or let "
            "TMPDIR name a folder that can be written.",
        ) from error
    return tmp, held


def _hold(folder: Path) -> int:
    """Lock a folder while we live, so that a later program knows that it is used."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return descriptor


def _sweep(parent: Path) -> None:
    """Remove the folders of programs that were killed: ours, not quite new, and locked by nobody."""
    with suppress(OSError):
        for entry in list(os.scandir(parent)):
            if not entry.name.startswith(_TMP) or not entry.is_dir(follow_symlinks=False):
                continue
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid != os.geteuid() or time.time() - status.st_mtime < limits.TMP_KEPT:
                    continue
                descriptor = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path, ignore_errors=True)
                finally:
                    os.close(descriptor)
    place = cgroup.ground()
    if place is not None:
        cgroup.sweep(place)
