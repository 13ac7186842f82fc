"""Becomes user 65534, then the worker of `sandbox.py`: `python -m tests.corpus.sandbox_user SCRATCH`, as root.

Folders on the way to the interpreter and to this repository that the user cannot enter are covered, in a mount
namespace of this process alone, by empty ones that hold nothing but what is needed, at its place.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOBODY = 65534
_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000

_libc = ctypes.CDLL(None, use_errno=True)


def main(scratch: str) -> None:
    become()
    # A program that has changed its user may not look at its own files in /proc; a new one may.
    os.execv(sys.executable, [sys.executable, "-m", "tests.corpus.sandbox_scene", scratch])


def become() -> None:
    """Be that user, who can reach the interpreter and this repository. There is no way back."""
    needed = {Path(os.path.realpath(place)) for place in (ROOT, sys.prefix, sys.base_prefix)}
    closed = {wall for place in needed if (wall := _wall(place)) is not None}
    if closed:
        _open_up(closed, [place for place in needed if any(place.is_relative_to(wall) for wall in closed)])
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    os.umask(0o022)
    os.makedirs(os.environ["HOME"], exist_ok=True)


def _wall(place: Path) -> Path | None:
    """The outermost folder on the way to `place`, itself included, that other users cannot enter."""
    for folder in (*reversed(place.parents), place):
        if not os.stat(folder).st_mode & 0o001:
            return folder
    return None


def _open_up(walls: set[Path], places: list[Path]) -> None:
    _check(_libc.unshare(_CLONE_NEWNS))
    _mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE)
    kept = {place: os.open(place, os.O_PATH) for place in places}
    for wall in walls:
        _mount(b"tmpfs", os.fsencode(wall), b"tmpfs", 0, b"mode=755")
    for place, descriptor in sorted(kept.items()):
        os.makedirs(place, exist_ok=True)
        _mount(b"/proc/self/fd/%d" % descriptor, os.fsencode(place), None, _MS_BIND | _MS_REC)
        os.close(descriptor)


def _mount(source: bytes, target: bytes, kind: bytes | None, flags: int, data: bytes | None = None) -> None:
    _check(_libc.mount(source, target, kind, ctypes.c_ulong(flags), data))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"user {NOBODY} cannot reach this repository or its interpreter, and no view of the "
                      f"machine could be made in which it does: {os.strerror(number)}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
