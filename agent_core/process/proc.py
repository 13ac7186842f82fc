"""What /proc and signals say of processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from agent_core.records import dataclass

HAS_PROC: Final = os.path.isdir("/proc/self")

POLL: Final = 0.05
"""How often, in seconds, it is looked whether a process is gone."""
_EMPTY: Final = 6
"""Looks by which an environment is empty: each may have been at a program that the process was just before."""


@dataclass(frozen=True, slots=True)
class Member:
    """A process by id and start time, since ids are used again."""

    pid: int
    started: int


def stat_of(pid: int) -> tuple[str, int, int, int, int] | None:
    """State, parent, group, session and start time (clock ticks since boot) of a process; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 20:
        return None
    return fields[0].decode("ascii", "replace"), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19])


def environ_of(pid: int) -> bytes:
    """What a process was started with; empty when that cannot be seen.

    One that is just becoming another program shows nothing: it is waited for, a moment.
    """
    until, empty = 0.0, 0
    while empty < _EMPTY:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environ = file.read()
        except OSError:
            return b""
        if environ or not _has_program(pid) or (until and time.monotonic() > until):
            return environ
        if is_becoming(pid):
            until, empty = until or time.monotonic() + POLL, 0
            time.sleep(POLL / 25)
        else:
            empty += 1
    return b""


def namespace_of(pid: int) -> int:
    """The mount namespace of a process; 0 when that cannot be seen."""
    try:
        return os.stat(f"/proc/{pid}/ns/mnt").st_ino
    except OSError:
        return 0


def _has_program(pid: int) -> bool:
    """Not so the threads of the kernel and the dead."""
    try:
        os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return False
    return True


def is_becoming(pid: int) -> bool:
    """Whether a process whose environment is empty is in the middle of exec: it has a program and no words yet."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return _has_program(pid) and not file.read(1)
    except OSError:
        return False


def process_ids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def ignoring_gone(send: Callable[[int, int], None], target: int, number: int) -> None:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):  # gone meanwhile, or became another user's (sudo)
        pass
