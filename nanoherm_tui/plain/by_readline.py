"""Lines that are edited in a terminal with Python's readline, with a history and Tab.

Readline has the terminal while a line is typed. A signal (SIGUSR1) to the main thread gets between two keys: its
handler asks `due` whether the line is to be interrupted, and raises out of it.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import Final

from nanoherm_tui import limits
from nanoherm_tui.plain.typing_in import EVER, Came, Due, Ended, Line, Pressed, Reader, Woken, flush

_SETTINGS: Final = (
    "set enable-bracketed-paste on",
    "set enable-active-region off",
    "set bell-style none",
    "tab: complete",
)


class FromReadline(Reader):
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
        self._typed = self._looked = ""
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
            if not self._nudge.hears_keys:
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
        if self._hidden:
            self._nudge.felt()
            return
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
                if typed != self._looked or not self._nudge.hears_keys:  # the newest key may not be in it yet
                    self._nudge.at(time.monotonic() + limits.PLAIN_LOOK)
                self._looked = typed
        finally:
            self._deciding = False
        if leaves:
            self._typed, self._left = typed, True
            raise _OUT

    def _suspended(self, number: int, frame: FrameType | None) -> None:
        """Ctrl+Z: readline gives the terminal back first."""
        if not self._reading or self._hidden:
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

    def use_vi(self, on: bool) -> None:
        self._readline.parse_and_bind(f"set editing-mode {'vi' if on else 'emacs'}")
        self._readline.parse_and_bind("tab: complete")  # in the keys that count now

    def take_waiting(self) -> list[str]:
        return []

    def forget_typed(self, quiet: float, is_over: Callable[[], bool]) -> None:
        flush(0, quiet, lambda: self._pressed or is_over())

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
    """A thread that sends the main thread its signal when something is due, or a while after a key.

    It sends it until it is felt: readline does not hear one that comes just before it begins to wait, and what a
    handler raises in a hook of readline's is lost. An idle prompt wakes nobody, where the terminal tells of keys.
    """

    def __init__(self) -> None:
        self._main = threading.main_thread().ident or 0
        self._lock = threading.RLock()  # a handler may come in the middle of `at`
        self._when = float("inf")
        self._felt = True
        self._closed = False
        self._woken, self._waker = os.pipe()  # a queue's lock could be held where a handler comes
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        self._former_waker = signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        self._former_io = signal.signal(signal.SIGIO, lambda number, frame: None)  # its number in the pipe is enough
        self._keys = _told_of_keys()
        self._thread = threading.Thread(target=self._run, name="nudge", daemon=True)
        self._thread.start()

    @property
    def hears_keys(self) -> bool:
        return self._keys is not None

    def at(self, when: float) -> None:
        with self._lock:
            sooner = when < self._when
            self._when = min(self._when, when)
            if sooner and not self._closed:  # then the descriptor may be somebody else's
                self._tell()

    def felt(self) -> None:
        """Takes no lock: a handler calls it."""
        self._felt = True

    def close(self) -> None:
        if self._keys is not None:
            os.close(self._keys)
        signal.signal(signal.SIGIO, self._former_io)
        signal.set_wakeup_fd(self._former_waker)
        with self._lock:
            self._closed = True
            self._tell()
        self._thread.join()
        os.close(self._waker)
        os.close(self._woken)

    def _tell(self) -> None:
        with suppress(BlockingIOError):  # full: it will look in any case
            os.write(self._waker, b"\0")

    def _run(self) -> None:
        again = 0.0  # when the signal may be sent once more; it wakes this thread too
        while not self._closed:
            now = time.monotonic()
            with self._lock:
                if self._when <= now:
                    self._when, self._felt = float("inf"), False
                wait = self._when - now
            if not self._felt:
                if again <= now:
                    signal.pthread_kill(self._main, signal.SIGUSR1)
                    again = now + limits.PLAIN_NUDGE
                wait = again - now
            select.select([self._woken], [], [], None if wait > EVER else max(0.0, wait))
            with suppress(BlockingIOError):
                if signal.SIGIO in os.read(self._woken, limits.PLAIN_READ):
                    self.at(time.monotonic() + limits.PLAIN_LOOK)


def _told_of_keys() -> int | None:
    """Have SIGIO sent whenever keys come from the terminal, while the descriptor this gives is open.

    None: here that cannot be had. The terminal is opened anew, as such a wish is shared with whoever shares a file.
    """
    try:
        descriptor = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
