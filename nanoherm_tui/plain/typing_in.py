"""Lines that are typed: by Python's readline in a terminal (by_readline.py), else from a descriptor (by_descriptor.py).

Whoever reads is the main thread. It is woken in the middle of a line when something happened that should be told, and
gives back what was typed so far, so that the next prompt begins with it.
"""

from __future__ import annotations

import select
import signal
import termios
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import Final, Protocol

from agent_core.records import dataclass


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
EVER: Final = 1e6  # seconds; select takes no infinity
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

    def secret(self, prompt: str) -> Came:
        """The next line, not shown while it is typed. Only in a terminal."""
        ...

    def remember(self, entries: Iterable[str]) -> None:
        """What was sent, the newest last: to be called up again, where that can be."""
        ...

    def use_vi(self, on: bool) -> None:
        """Edit with the keys of vi, or of Emacs, where lines are edited here."""
        ...

    def take_waiting(self) -> list[str]:
        """Lines that have come already from where nobody types: not meant for what comes next."""
        ...

    def forget_typed(self, quiet: float, is_over: Callable[[], bool]) -> None:
        """Throw away what is typed until nothing was for `quiet` seconds, `is_over` says so, or Ctrl+C came."""
        ...

    def wake(self) -> None:
        """From any thread: look whether something is due."""
        ...

    def wake_at(self, when: float) -> None:
        """Wake at this monotonic time, or earlier for another reason."""
        ...

    def close(self) -> None: ...


class Reader(ABC):
    """What both have: Ctrl+C gets into a line that is being read, else it counts for the next one."""

    def __init__(self) -> None:
        self._reading = False
        self._pressed = False
        """Ctrl+C came, and nobody was told yet."""
        self._left = False
        """A handler has raised out of the line that is read."""
        self._hidden = False
        """What is typed is a secret: nothing but Ctrl+C interrupts it."""
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

    def secret(self, prompt: str) -> Came:
        import getpass

        try:
            self._reading = self._hidden = True
            return Pressed() if self._took_press() else Line(getpass.getpass(prompt))
        except KeyboardInterrupt:
            self._pressed = False
            return Pressed()
        except EOFError:
            return Ended()
        finally:
            self._reading = self._left = self._hidden = False

    def close(self) -> None:
        signal.signal(signal.SIGINT, self._former_interrupt)


def flush(descriptor: int, quiet: float, is_over: Callable[[], bool]) -> None:
    """Throw away what is typed, until nothing comes for `quiet` seconds: however long somebody types, it is no answer.

    Keys count, not lines: the terminal gives each of them out meanwhile. `is_over` is asked again and again; it ends
    the waiting.
    """
    try:
        before = termios.tcgetattr(descriptor)
        modes = termios.tcgetattr(descriptor)
        modes[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(descriptor, termios.TCSANOW, modes)
    except termios.error:  # no terminal, or none any more
        return
    wait = 0.0
    try:
        while not is_over():
            termios.tcflush(descriptor, termios.TCIFLUSH)
            if wait and not select.select([descriptor], [], [], wait)[0]:
                return
            wait = quiet
    except termios.error:
        return
    finally:
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)
