"""The way to the terminal: what it has not taken yet is known, so that frames are left out instead of queued.

A line may be slow, or stand still for a while: ssh over a bad network, a terminal that is paused. Whoever drew on
regardless would show the past for minutes, and a key would be answered behind all of it.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

from nanoherm_tui import limits


class Backlog:
    """What was handed over and is not written yet. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0
        self._owed = False
        self.moves = 0
        """Pieces that the terminal has taken so far."""
        self.on_room: Callable[[], None] = lambda: None
        """Called in the writing thread when all is written, if `has_room` said no before."""

    def add(self, size: int) -> None:
        with self._lock:
            self._waiting += size

    def wrote(self, size: int) -> None:
        with self._lock:
            self._waiting -= size
            tell = self._owed and self._waiting <= 0
            self._owed = self._owed and not tell
        if tell:
            self.on_room()

    def moved(self) -> None:
        self.moves += 1  # by the writing thread alone

    def has_room(self) -> bool:
        """Whether all is written: the next frame is the newest then. If not, `on_room` is called once it is."""
        with self._lock:
            self._owed = self._owed or self._waiting > 0
            return self._waiting <= 0


def write_all(fd: int, data: bytes, moved: Callable[[], None] = lambda: None) -> None:
    """Write all of `data`, however long it takes; `moved` is called after each piece that the terminal has taken.

    Raises OSError when the terminal is gone.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest[: limits.OUTPUT_PIECE]) :]
            moved()
        except BlockingIOError:  # whoever shares the terminal made it so
            select.select((), (fd,), ())
