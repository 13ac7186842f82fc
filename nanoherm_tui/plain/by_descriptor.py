"""Lines of a descriptor: a pipe, a file, or a terminal that edits its lines by itself (TERM=dumb)."""

from __future__ import annotations

import codecs
import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from nanoherm_tui import limits
from nanoherm_tui.plain.typing_in import EVER, Came, Due, Ended, Line, Pressed, Reader, Woken, flush


class FromDescriptor(Reader):
    """It is woken by a pipe of its own, which stands beside the descriptor."""

    def __init__(self, due: Due, descriptor: int = 0) -> None:
        super().__init__()
        self._due = due
        self.edits = False
        self._in = descriptor
        self.is_terminal = os.isatty(descriptor)
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._part = ""
        self._lines: deque[str] = deque()
        self._at_end = False
        self._wake_at = float("inf")

    def read(self, prompt: str, typed: str = "", *, wanted: bool = True) -> Came:
        if prompt or typed:
            sys.stdout.write(prompt + typed)
            sys.stdout.flush()
        try:
            self._reading = True
            return Pressed(typed) if self._took_press() else self._next(typed, wanted)
        except KeyboardInterrupt:
            self._pressed = False
            return Pressed(typed)
        finally:
            self._reading = self._left = False

    def _next(self, typed: str, wanted: bool) -> Came:
        looks_at = [self._in, self._woken] if wanted else [self._woken]
        while True:
            if wanted and self._lines:
                return Line(typed + self._lines.popleft())
            if wanted and self._at_end:
                return Ended()
            wait = self._wake_at - time.monotonic()
            ready, _, _ = select.select(looks_at, [], [], None if wait > EVER else max(0.0, wait))
            if self._in in ready:
                self._take()
            elif self._woken in ready or self._wake_at <= time.monotonic():
                self._drain()
                if self._due(typed):
                    return Woken(typed)

    def _take(self) -> None:
        try:
            data = os.read(self._in, limits.PLAIN_READ)
        except OSError:  # the terminal is gone
            data = b""
        self._part += self._decoder.decode(data, final=not data)
        *whole, self._part = self._part.split("\n")
        self._lines += (line.removesuffix("\r") for line in whole)
        if not data:
            self._at_end = True
            if self._part:
                self._lines.append(self._part)
                self._part = ""

    def _drain(self) -> None:
        if self._wake_at <= time.monotonic():
            self._wake_at = float("inf")
        with suppress(BlockingIOError):
            while os.read(self._woken, 512):
                pass

    def take_waiting(self) -> list[str]:
        while not self._at_end and select.select([self._in], [], [], 0)[0]:
            self._take()
        lines = list(self._lines)
        self._lines.clear()
        return lines

    def remember(self, entries: Iterable[str]) -> None:
        """There is nothing to call them up with."""

    def use_vi(self, on: bool) -> None:
        """There is nothing to edit with."""

    def forget_typed(self, quiet: float, is_over: Callable[[], bool]) -> None:
        flush(self._in, quiet, lambda: self._pressed or is_over())
        self._lines.clear()
        self._part = ""

    def wake(self) -> None:
        with suppress(OSError):  # full: it is awake already; closed: nobody reads any more
            os.write(self._waker, b"x")

    def wake_at(self, when: float) -> None:
        self._wake_at = min(self._wake_at, when)

    def close(self) -> None:
        super().close()
        os.close(self._waker)
        os.close(self._woken)
