"""Tells a command that waits for keys from one that works: nobody sits at its keyboard, so it would wait for ever.

An editor that finds its input at an end takes its error stream for the terminal and reads from that (vi does). That is
a pipe which it can only write to: nothing ever comes from there. Who has such an input, has used no processor between
two looks and was there at both waits for a key.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable


class Keyless:
    """Looks at one command's processes, now and then."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids
        self._before: dict[int, tuple[bytes, ...]] = {}

    def waits(self) -> bool:
        """Whether one of them has waited for a key ever since the look before."""
        now = {pid: used for pid in self._pids() if _has_no_input(pid) and (used := _used(pid))}
        before, self._before = self._before, now
        return any(before.get(pid) == used for pid, used in now.items())


def _has_no_input(pid: int) -> bool:
    """Whether the input of a process is a pipe that it can only write to."""
    place = f"/proc/{pid}/fd/0"
    try:
        return os.readlink(place).startswith("pipe:") and not os.lstat(place).st_mode & stat.S_IRUSR
    except OSError:  # gone, or not ours to see
        return False


def _used(pid: int) -> tuple[bytes, ...]:
    """The processor time of a process that sleeps, and when it began, in ticks; empty when it does something else."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ()
    return (fields[11], fields[12], fields[19]) if len(fields) > 19 and fields[0] == b"S" else ()
