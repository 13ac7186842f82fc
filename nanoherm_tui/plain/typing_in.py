"""Lines that are typed: by Python's readline in a terminal, else straight from standard input.

Whoever reads is the main thread. It is woken in the middle of a line when something happened that should be told, and
gives back what was typed so far, so that the next prompt begins with it.
"""

from __future__ import annotations

import codecs
import os
import queue
import select
import signal
import sys
import termios
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import Final, Protocol

from agent_core.records import dataclass
from nanoherm_tui import limits


@dataclass(frozen=True, slots=True)
class Line:
    """A line, without its end."""

    text: str


@dataclass(frozen=True, slots=True)
class Woken:
    """Something is to be done before the line is whole. `typed`: what there is of it."""

    typed: str = ""


@dataclass(frozen=True, slots=True)
class Pressed:
    """Ctrl+C, or the signal it stands for. `typed`: the line it was pressed in, which is void."""

    typed: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """There is no more input: Ctrl+D in an empty line, or the end of a file."""


Came = Line | Woken | Pressed | Ended
_EVER = 1e6  # seconds; select takes no infinity
_SETTINGS = (
    "set enable-bracketed-paste on",
    "set enable-active-region off",
    "set bell-style none",
    "tab: complete",
)
Due = Callable[[str], bool]
"""Whether a line that was typed so far is to be interrupted now. Called in the main thread; must not write."""


class Source(Protocol):
    """Where lines come from."""

    is_terminal: bool
    """Somebody types, and can be asked; else lines come from a program or a file."""

    edits: bool
    """A line can begin with words that are then changed."""

    def read(self, prompt: str, typed: str = "", *, wanted: bool = True) -> Came:
        """The next thing that happens. `typed`: the line begins with it; not `wanted`: lines wait where they are."""
        ...

    def remember(self, entries: Iterable[str]) -> None:
        """What was sent, the newest last: to be called up again, where that can be."""
        ...

    def take_waiting(self) -> list[str]:
        """Lines that have come already from where nobody types: not meant for what comes next."""
        ...

    def forget_typed(self, quiet: float) -> None:
        """Throw away what was typed before now, and wait until nothing was typed for `quiet` seconds."""
        ...

    def wake(self) -> None:
        """From any thread: look whether something is due."""
        ...

    def wake_at(self, when: float) -> None:
        """Wake at this monotonic time, or earlier for another reason."""
        ...

    def close(self) -> None: ...


class _Reader(ABC):
    """What both have: Ctrl+C gets into a line that is being read, else it counts for the next one."""

    def __init__(self) -> None:
        self._reading = False
        self._pressed = False
        """Ctrl+C came, and nobody was told yet."""
        self._left = False
        """A handler has raised out of the line that is read."""
        self._former_interrupt = signal.signal(signal.SIGINT, self._interrupted)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        self._pressed = True
        if self._reading:
            self._left = True
            raise KeyboardInterrupt
        self.wake()

    @abstractmethod
    def wake(self) -> None: ...

    def _took_press(self) -> bool:
        pressed, self._pressed = self._pressed, False
        return pressed

    def close(self) -> None:
        signal.signal(signal.SIGINT, self._former_interrupt)


class FromDescriptor(_Reader):
    """Lines of a descriptor: a pipe, a file, or a terminal that edits its lines by itself (TERM=dumb)."""

    def __init__(self, descriptor: int = 0) -> None:
        super().__init__()
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
            ready, _, _ = select.select(looks_at, [], [], None if wait > _EVER else max(0.0, wait))
            if self._in in ready:
                self._take()
            elif self._woken in ready or self._wake_at <= time.monotonic():
                self._drain()
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

    def forget_typed(self, quiet: float) -> None:
        _flush(self._in, quiet)
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


class FromReadline(_Reader):
    """Lines that are edited with Python's readline, with a history and Tab.

    Readline has the terminal while a line is typed. A signal (SIGUSR1) to the main thread gets between two keys: its
    handler asks `due` whether the line is to be interrupted, and raises out of it.
    """

    is_terminal = edits = True

    def __init__(self, due: Due, complete: Callable[[str], list[str]] = lambda start: []) -> None:
        import readline

        super().__init__()
        self._readline = readline
        self._due = due
        self._complete, self._found = complete, [""]
        self._typed = ""
        self._leaves = self._deciding = False
        readline.set_auto_history(False)
        for setting in _SETTINGS:
            readline.parse_and_bind(setting)
        readline.set_completer_delims(" ")
        readline.set_completer(self._complete_one)
        readline.set_startup_hook(self._begin)
        self._nudge = _Nudge()
        self._former = {
            signal.SIGUSR1: signal.signal(signal.SIGUSR1, self._nudged),
            signal.SIGTSTP: signal.signal(signal.SIGTSTP, self._suspended),
        }

    def read(self, prompt: str, typed: str = "", *, wanted: bool = True) -> Came:
        sys.stdout.flush()
        self._typed = typed
        while True:
            self._nudge.at(time.monotonic() + limits.PLAIN_LOOK)
            lines: list[str] = []
            try:
                # Put into the list before a signal can get in between: a line that was sent is not lost.
                lines.extend(map(input, (prompt,)))
                self._reading = False
            except (_Out, KeyboardInterrupt):
                self._reading = False  # first: until then another signal would raise again
                _OUT.__traceback__ = _OUT.__context__ = None
                self._nudge.felt()
                self._typed = self._readline.get_line_buffer()
            except EOFError:
                self._reading = False
                return Ended()
            finally:
                self._reading = self._left = False
            if lines:
                return Line(lines[0])
            if self._took_press():
                return Pressed(self._typed)
            if not self._leaves:
                return Woken(self._typed)
            self._leaves = False
            self._suspend()

    def _begin(self) -> None:
        """Readline is about to wait for keys. What a hook raises is lost: from its last step on signals may raise."""
        if self._typed:
            self._readline.insert_text(self._typed)
        self._reading = True

    def _nudged(self, number: int, frame: FrameType | None) -> None:
        """Not felt while nothing is read: the signal comes again."""
        if not self._reading or self._deciding:
            return
        if self._left:  # it is still on its way, where no handler may end otherwise, or was lost in a hook
            raise _OUT
        self._deciding = True
        try:
            typed = self._readline.get_line_buffer()
            leaves = self._pressed or self._due(typed)
            if not leaves:
                self._nudge.felt()
                self._nudge.at(time.monotonic() + limits.PLAIN_LOOK)
        finally:
            self._deciding = False
        if leaves:
            self._typed, self._left = typed, True
            raise _OUT

    def _suspended(self, number: int, frame: FrameType | None) -> None:
        """Ctrl+Z: readline gives the terminal back first."""
        if not self._reading:
            self._suspend()
            return
        self._leaves, self._left, self._typed = True, True, self._readline.get_line_buffer()
        raise _OUT

    def _suspend(self) -> None:
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # it stands still here
        signal.signal(signal.SIGTSTP, self._suspended)

    def _complete_one(self, start: str, number: int) -> str | None:
        if number == 0:
            whole = self._readline.get_line_buffer()
            self._found = self._complete(start) if whole.startswith("/") and " " not in whole else []
        return self._found[number] if number < len(self._found) else None

    def remember(self, entries: Iterable[str]) -> None:
        for entry in entries:
            self._readline.add_history(entry)

    def take_waiting(self) -> list[str]:
        return []

    def forget_typed(self, quiet: float) -> None:
        _flush(0, quiet)

    def wake(self) -> None:
        self._nudge.at(0.0)

    def wake_at(self, when: float) -> None:
        self._nudge.at(when)

    def close(self) -> None:
        super().close()
        self._nudge.close()
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._readline.set_startup_hook(None)


class _Out(Exception):
    """Raised by a signal's handler out of the line that is being typed."""


_OUT: Final = _Out()
"""Made before: where a second signal comes while the first is on its way out, nothing may be called."""


class _Nudge:
    """A thread that sends the main thread its signal when something is due.

    It sends it until it is felt: readline does not hear one that comes just before it begins to wait, and what a
    handler raises in a hook of readline's is lost.
    """

    def __init__(self) -> None:
        self._main = threading.main_thread().ident or 0
        self._lock = threading.RLock()  # a handler may come in the middle of `at`
        self._when = float("inf")
        self._felt = True
        self._closed = False
        self._told: queue.SimpleQueue[None] = queue.SimpleQueue()
        """As a handler may put into it in the middle of a put."""
        threading.Thread(target=self._run, name="nudge", daemon=True).start()

    def at(self, when: float) -> None:
        with self._lock:
            sooner = when < self._when
            self._when = min(self._when, when)
        if sooner:
            self._told.put(None)

    def felt(self) -> None:
        """Takes no lock: a handler calls it."""
        self._felt = True

    def close(self) -> None:
        self._closed = True
        self._told.put(None)

    def _run(self) -> None:
        while not self._closed:
            now = time.monotonic()
            with self._lock:
                if self._when <= now:
                    self._when, self._felt = float("inf"), False
                wait = self._when - now
            if not self._felt:
                signal.pthread_kill(self._main, signal.SIGUSR1)
                wait = limits.PLAIN_NUDGE
            with suppress(queue.Empty):
                self._told.get(timeout=None if wait > _EVER else max(0.0, wait))


def _flush(descriptor: int, quiet: float) -> None:
    """Throw away what was typed, until nothing comes for `quiet` seconds; at most ten times that."""
    end = time.monotonic() + 10 * quiet
    wait = 0.0
    while time.monotonic() < end:
        with suppress(termios.error):
            termios.tcflush(descriptor, termios.TCIFLUSH)
        if wait and not select.select([descriptor], [], [], wait)[0]:
            return
        wait = quiet
