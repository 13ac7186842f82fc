"""What the mount view has to do, worked out before the launcher does it: pins, covers, placeholders (S11).

In the view everything is read-only but the writable folders. A place in one of them that shall stay as it is is
mounted on itself read-only, and every folder above it is mounted on itself too, since a folder that could be renamed
would take the place with it and leave its name free. What does not exist cannot be mounted on, so an empty folder takes
its name while the command runs: git does not see one, `rmdir` can never remove what is not empty, and a folder of
that name does nothing should it be left behind. Only where git reads settings it is an empty file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from agent_core import limits
from agent_core.records import dataclass
from agent_core.sandbox.policy import SandboxPolicy

_MARK: Final = 1_000_000_000 * 10**9  # nanoseconds: the time of change by which a placeholder of ours is known
_LINKS: Final = 8  # symbolic links that are followed from one protected place to the next
# Why nothing can be created at a name, by us or by a command, or why what is there is no placeholder.
_SHUT: Final = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.ELOOP,
    errno.ENXIO,
    errno.ENAMETOOLONG,
)
_SHM: Final = Path("/dev/shm")
_GIT_SETTINGS: Final = ("config", "config.worktree")  # git stumbles over a folder of that name


def outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths that lie in none of the others, in order."""
    kept: list[Path] = []
    last: tuple[str, ...] = ()
    for parts, path in sorted({path.parts: path for path in paths}.items()):  # what lies in a folder comes right after
        if not kept or parts[: len(last)] != last:
            kept.append(path)
            last = parts
    return tuple(kept)


@dataclass(slots=True)
class Protection:
    """Where the launcher has to pin. Links are places too; folders come before what is in them."""

    parents: set[Path] = field(default_factory=set)
    read_only: set[Path] = field(default_factory=set)
    missing: set[Path] = field(default_factory=set)
    """The first part of a place that does not exist; it is among `read_only` once it has a placeholder."""


def protect(places: Iterable[Path], roots: Sequence[Path]) -> Protection:
    """What keeps `places` as they are below writable `roots`. A place elsewhere is read-only anyway."""
    found = Protection()
    for place in places:
        _protect(Path(os.path.normpath(place)), roots, found, _LINKS)
    found.parents -= found.read_only
    return found


def _protect(place: Path, roots: Sequence[Path], found: Protection, links: int) -> None:
    root = next((root for root in roots if root == place or root in place.parents), None)
    if root is None or links < 0:
        return
    current, names = root, list(place.relative_to(root).parts)
    if not names:
        found.read_only.add(root)
    while names:
        if current != root:
            found.parents.add(current)
        current, *names = current / names[0], *names[1:]
        try:
            status = current.lstat()
        except FileNotFoundError:
            found.missing.add(current)
            return
        except OSError:  # behind a door that is shut for us and so for the command
            return
        if _is_marked(status):  # a placeholder, which may vanish unless we hold it too
            found.missing.add(current)
            return
        if stat.S_ISLNK(status.st_mode):
            found.read_only.add(current)
            _protect(Path(os.path.realpath(current)).joinpath(*names), roots, found, links - 1)
            return
        if not names or not stat.S_ISDIR(status.st_mode):
            found.read_only.add(current)
            return


class Placeholder:
    """Something empty at a name that shall not come to be, shared by all who need it, also by other processes.

    Each holds a shared lock on it; who is the last to leave removes it.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    def hold(cls, path: Path) -> Placeholder | None:
        """Take the name. None when something of the user's has it, or when nobody may create it there.

        Raises OSError when it cannot be taken for another reason: then it is not kept free.
        """
        deadline = time.monotonic() + limits.SANDBOX_PLACEHOLDER_PATIENCE
        while time.monotonic() < deadline:
            try:
                made = _make(path)
                descriptor = _open(path)
            except OSError as error:
                if error.errno in _SHUT:
                    return None
                raise
            if descriptor is None:  # the last holder has just removed it
                continue
            is_ours = False
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if made:
                    os.utime(descriptor, ns=(_MARK, _MARK))
                status = os.fstat(descriptor)
                if _is_at(descriptor, path):
                    is_ours = _is_marked(status)
                    if not is_ours and not _may_become_ours(descriptor, status):
                        return None
            except BlockingIOError:  # just being removed
                pass
            finally:
                if not is_ours:
                    os.close(descriptor)
            if is_ours:
                return cls(path, descriptor)
            time.sleep(limits.SANDBOX_PLACEHOLDER_WAIT)
        if os.path.lexists(path):
            return None
        raise OSError(errno.EAGAIN, f"{path} could not be kept free")

    def release(self) -> None:
        """Let go, and remove it when nobody else holds it and it is still empty and ours."""
        with suppress(OSError):
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            status = os.fstat(self.descriptor)
            if _is_marked(status) and _is_at(self.descriptor, self.path):
                if stat.S_ISDIR(status.st_mode):
                    self.path.rmdir()
                elif not status.st_size:
                    self.path.unlink()
        os.close(self.descriptor)


def _make(path: Path) -> bool:
    """Create a placeholder; False when something is there."""
    try:
        if path.name in _GIT_SETTINGS:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644))
        else:
            os.mkdir(path, 0o755)
    except FileExistsError:
        return False
    return True


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _is_marked(status: os.stat_result) -> bool:
    return status.st_mtime_ns == _MARK and (stat.S_ISDIR(status.st_mode) or not status.st_size)


def _may_become_ours(descriptor: int, status: os.stat_result) -> bool:
    """Whether it is so new and empty that another process may just be about to mark it."""
    if time.time() - status.st_mtime > limits.SANDBOX_PLACEHOLDER_NEW:
        return False
    return not (os.listdir(descriptor) if stat.S_ISDIR(status.st_mode) else status.st_size)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def covers(hidden: Iterable[Path], writable: Sequence[Path]) -> tuple[Path, ...]:
    """What to cover so that nothing hidden can be read. A hidden folder around a writable one is covered in parts."""
    found: list[Path] = []
    for place in outermost(Path(os.path.realpath(place)) for place in hidden):
        if any(place in root.parents for root in writable):
            with suppress(OSError):
                found += covers(tuple(place.iterdir()), writable)
        elif place not in writable:
            found.append(place)
    return tuple(found)


def view(policy: SandboxPolicy, *, by_user: bool) -> tuple[dict[str, Any], list[Placeholder]]:
    """The part of the plan that builds the mount view, and the placeholders to release when the command has ended.

    `by_user`: by a user namespace, for who is not root. Raises OSError when a name cannot be kept free.
    """
    # A folder that is gone, as that of a disk that was pulled out, is no reason to refuse everything.
    writable = outermost(path for path in (*policy.writable, policy.tmp) if path.is_dir())
    protection = protect(policy.read_only, writable)
    held = []
    try:
        for path in sorted(protection.missing):
            placeholder = Placeholder.hold(path)
            if placeholder is not None:
                held.append(placeholder)
            if placeholder is not None or os.path.lexists(path):
                protection.read_only.add(path)
    except BaseException:
        for placeholder in held:
            placeholder.release()
        raise
    hidden = covers(policy.hidden, writable)
    plan = {
        "by_user": by_user,
        "writable": [os.fsencode(path) for path in writable if path != Path("/")],
        "all_writable": Path("/") in writable,
        "parents": [os.fsencode(path) for path in sorted(protection.parents)],
        "read_only": [os.fsencode(path) for path in sorted(protection.read_only)],
        "hidden": [os.fsencode(path) for path in hidden],
        "inodes": {os.fsencode(path): policy.inodes[path] for path in hidden if path in policy.inodes},
        # Where something writable lies in shared memory, a new one would take its place.
        "shm": limits.SANDBOX_SHM if os.path.isdir(_SHM) and not any(_SHM in path.parents for path in writable) else 0,
        "pts": os.path.isdir("/dev/pts"),
        "scratch": os.fsencode(policy.tmp),
    }
    return plan, held
