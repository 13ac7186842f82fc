"""Control groups: a bound on what all commands of a session take together, and a way to end one command whole (S7).

A session has a group with its bounds; each command has a leaf in it, by which whatever it started is found again,
however well it hides (another session, an empty environment). Version 2 where a subtree is delegated to us, else
version 1 where it is writable, else nothing: then resource limits have to do.
"""

from __future__ import annotations

import errno
import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from agent_core.records import dataclass

_PREFIX: Final = "nanoherm-"
_APART: Final = "nanohermtask-"
"""Of groups that may outlive the program which made them."""
_PROCS: Final = "cgroup.procs"


@dataclass(frozen=True, slots=True)
class Ground:
    """Where groups can be made. `pids` bounds and finds processes; `memory` bounds memory (version 2: the same)."""

    version: Literal["v2", "v1"]
    pids: Path
    memory: Path | None


@dataclass(frozen=True, slots=True)
class Group:
    """A session's group. `folders`: what a process joins, the one that leaves are made in first."""

    version: Literal["v2", "v1"]
    folders: tuple[Path, ...]
    bounds_memory: bool


@lru_cache(maxsize=1)
def ground() -> Ground | None:
    """Where this program can make groups; None: nowhere. Looked for once."""
    try:
        own = Path("/proc/self/cgroup").read_text("utf-8")
        mounts = Path("/proc/self/mountinfo").read_text("utf-8")
    except OSError:
        return None
    return find_ground(own, mounts)


def find_ground(own: str, mounts: str) -> Ground | None:
    """The same, from the texts of /proc/self/cgroup and /proc/self/mountinfo."""
    paths = {names: path for _, names, path in (line.split(":", 2) for line in own.splitlines() if ":" in line)}
    found: dict[str, Path] = {}
    for kind, options, root, place in _mounts(mounts):
        if kind == "cgroup2" and "" in paths:
            for folder in _candidates(place, root, paths[""]):
                enabled = _read(folder / "cgroup.subtree_control").split()
                if "pids" in enabled and _may_hold(folder):
                    return Ground("v2", folder, folder if "memory" in enabled else None)
        elif kind == "cgroup":
            for names, path in paths.items():
                for controller in {"pids", "memory"} & set(names.split(",")) & set(options):
                    usable = [folder for folder in _candidates(place, root, path)[:1] if _may_hold(folder)]
                    if usable:
                        found.setdefault(controller, usable[0])
    return Ground("v1", found["pids"], found.get("memory")) if "pids" in found else None


def _mounts(text: str) -> Iterator[tuple[str, list[str], str, str]]:
    """Type, options, root inside the file system, and mount point of every mount."""
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        left, right = fields.split(" "), rest.split(" ")
        if len(left) > 4 and len(right) > 2:
            yield right[0], right[2].split(","), left[3], left[4]


def _candidates(place: str, root: str, own: str) -> list[Path]:
    """Our own group and the one above it: processes and groups below with controllers do not share one folder."""
    inner = os.path.relpath(own, root) if own.startswith(root) else "."
    folder = Path(place) / inner if not inner.startswith("..") else Path(place)
    return [folder] if folder == Path(place) else [folder, folder.parent]


def _may_hold(folder: Path) -> bool:
    """Whether a group can be made there and joined; tried, because rights alone do not tell."""
    if not os.access(folder / _PROCS, os.W_OK):
        return False
    trial = folder / f"{_PREFIX}{uuid.uuid4().hex[:12]}"
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError:
        return False
    return True


def name_of(pid: int) -> str:
    """What the names of the groups that a program makes begin with."""
    return f"{_PREFIX}{pid}-"


def make(place: Ground, processes: int, memory: int, *, apart: bool = False) -> Group | None:
    """A session's group that allows so many `processes` and bytes of `memory` (0: any); None when it fails.

    `apart`: of one command that may outlive the program; nobody takes it for one that the program has left behind.
    """
    name = (f"{_APART}{os.getpid()}-" if apart else name_of(os.getpid())) + uuid.uuid4().hex[:8]
    folders = [place.pids / name]
    if memory and place.memory is not None and place.memory != place.pids:
        folders.append(place.memory / name)
    group = Group(place.version, tuple(folders), bool(memory and place.memory is not None))
    try:
        for folder in folders:
            folder.mkdir()
        (folders[0] / "pids.max").write_text(str(processes))
        if group.bounds_memory:
            _bound_memory(folders[-1], place.version, memory)
    except OSError:
        remove(group.folders)
        return None
    return group


def _bound_memory(folder: Path, version: str, memory: int) -> None:
    bound, swap, most = (
        ("memory.max", "memory.swap.max", "0")
        if version == "v2"
        else ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", str(memory))
    )
    (folder / bound).write_text(str(memory))
    with suppress(OSError):  # a kernel that does not count swap
        (folder / swap).write_text(most)


def leaf(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders that one command of the group joins: a new leaf in the first, and the others. Raises OSError."""
    own = folders[0] / f"c{uuid.uuid4().hex[:12]}"
    own.mkdir()
    return own, *folders[1:]


def join(folder: Path, pid: int) -> None:
    """Put a process into a group. Raises OSError, but not for one that has ended already."""
    try:
        (folder / _PROCS).write_text(str(pid))
    except ProcessLookupError:
        pass


def move_apart(leaf: Path) -> tuple[Path, ...]:
    """Move all of a command's leaf into a group of its own, with the same bounds, which may outlive the program.

    Gives the new leaf and the group; nothing where it cannot be moved, and then it stays where it was.
    """
    group = leaf.parent.parent / f"{_APART}{os.getpid()}-{uuid.uuid4().hex[:8]}"
    new = group / leaf.name
    try:
        group.mkdir()
        for bound in ("pids.max", "memory.max", "memory.swap.max"):
            if (value := _read(leaf.parent / bound).strip()) and value != "max":
                with suppress(OSError):
                    (group / bound).write_text(value)
        new.mkdir()
        while pids := members(leaf):  # what is forked meanwhile is moved in the next round
            for pid in pids:
                join(new, pid)
    except OSError:
        for folder in (new, group):
            with suppress(OSError):
                folder.rmdir()
        return ()
    return new, group


def members(folder: Path) -> list[int]:
    """The ids of the processes in a leaf."""
    return [int(word) for word in _read(folder / _PROCS).split() if word.isdigit() and word != "0"]


def kill(folder: Path) -> None:
    """End every process in a leaf, now."""
    try:
        (folder / "cgroup.kill").write_text("1")
    except OSError:  # version 1, or a kernel before 5.14
        for pid in members(folder):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def remove(folders: tuple[Path, ...]) -> bool:
    """Remove groups, what is left in them included; False while something still dies in one."""
    gone = True
    for folder in folders:
        with suppress(OSError):
            for below in [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]:
                kill(below)
                with suppress(OSError):
                    below.rmdir()
        try:
            folder.rmdir()
        except OSError as error:
            gone &= error.errno == errno.ENOENT
    return gone


def sweep(place: Ground) -> None:
    """Remove the empty groups of programs that were killed. One that holds processes stays, whoever's it is."""
    for parent in {place.pids, place.memory or place.pids}:
        with suppress(OSError):
            for entry in list(os.scandir(parent)):
                kind, _, rest = entry.name.partition("-")
                owner = rest.partition("-")[0]
                ours = f"{kind}-" in (_PREFIX, _APART) and owner.isdigit()
                if ours and not os.path.exists(f"/proc/{owner}"):
                    for below in [*Path(entry.path).glob("c*/"), Path(entry.path)]:
                        with suppress(OSError):
                            below.rmdir()


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
