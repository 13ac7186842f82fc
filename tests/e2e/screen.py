"""The program in a real pty, with a terminal emulator reading what it draws."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import threading
import time
from pathlib import Path

import pyte
from pyte.screens import wcwidth  # as the emulator counts

from tests.e2e import warm

ROOT = Path(__file__).parents[2]

# Sequences the emulator does not know and would print or fall over: kitty keys, private modes with '>' or '=' or '<',
# questions for modes, keys and styles.
UNKNOWN = re.compile(
    rb"\x1b\[[<>=][0-9;:]*[a-zA-Z]|\x1b\[\?[0-9;]*\$[a-z]|\x1b\[\?[0-9]*[mu]|\x1b\[[0-9;:]*:[0-9;:]*m|\x1bP\$q[^\x1b]*\x1b\\\\"
)


_CAN_HOLD_FRAMES = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
_ASKS_GROUND = re.compile(rb"\x1b\]11;\?(?:\x07|\x1b\\)")

PATIENCE = 40.0
"""Seconds after which what is waited for will not come any more, on whatever machine."""
SLACK = 3
"""A bound in seconds is for a quiet machine; tests give it this much more."""


class Watched:
    """What can be asked of any program in a terminal. A subclass has `lines`, `program`, `alive` and `send`."""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def squeezed(self) -> str:
        """The text without blanks and line ends, for words that may be wrapped anywhere."""
        return re.sub(r"\s+", "", self.text)

    def told(self) -> str:
        """What helps to see why a wait was in vain: the screen, and what else is known of the program."""
        return self.text

    def wait_for(self, *words: str, seconds: float = PATIENCE, gone: bool = False) -> float:
        """Wait until all `words` are on the screen (or none, with `gone`); returns the seconds it took.

        In a bare pty it is enough that they were there for a moment: a hint may come and go while this process waits
        for a core.
        """
        begun = time.monotonic()
        while time.monotonic() - begun < seconds:
            alive = self.alive  # asked first: what it wrote last is then on the screen
            if not any(word in self.text for word in words) if gone else self._there(words):
                return time.monotonic() - begun
            if not alive and not gone:
                break
            time.sleep(0.02)
        raise AssertionError(f"{'still' if gone else 'no'} {words} after {seconds} s on:\n{self.told()}")

    def _there(self, words: tuple[str, ...]) -> bool:
        text = self.text
        return all(word in text for word in words)

    def until(self, condition, seconds: float = PATIENCE) -> float:
        """Wait until `condition()` holds; returns the seconds it took."""
        begun = time.monotonic()
        while not condition():
            assert time.monotonic() - begun < seconds, f"not after {seconds} s; on the screen:\n{self.told()}"
            time.sleep(0.02)
        return time.monotonic() - begun

    def still(self, quiet: float = 0.3, seconds: float = PATIENCE) -> list[str]:
        """Wait until the screen has not changed for `quiet` seconds and the program rests; returns the lines.

        On a busy machine a program that was sent something may not have got so far as to read it: it wants to run.
        """
        end = time.monotonic() + seconds
        lines, since = self.lines, time.monotonic()
        while time.monotonic() - since < quiet or wants_to_run(self.program):
            assert time.monotonic() < end, f"never still in {seconds} s:\n{self.told()}"
            time.sleep(0.03)
            if (now := self.lines) != lines:
                lines, since = now, time.monotonic()
        return lines

    def rest(self, seconds: float, at_most: float = 15.0) -> None:
        """Let `seconds` pass, as a hand does between two keys; anew when the program has waited for a core.

        What comes late to it comes together: a letter just after a question, an Enter in one read with its text.
        """
        begun = since = time.monotonic()
        wanted = False
        while (now := time.monotonic()) - since < seconds and now - begun < at_most:
            time.sleep(0.03)
            before, wanted = wanted, wants_to_run(self.program)
            if before and wanted:
                since = time.monotonic()

    def type(self, text: str, gap: float = 0.02) -> None:
        """Type like a hand: one key at a time."""
        for character in text:
            self.send(character)
            time.sleep(gap)

    def submit(self, text: str) -> None:
        """Send a message: its text, and Enter a moment later, as a hand does."""
        self.send(text)
        self.rest(0.2)
        self.send(KEYS["enter"])


class Emulator(pyte.Screen):
    """A screen on which half of a wide character may be left alone, as after a change of size: it is a blank."""

    def __init__(self, columns: int, lines: int):
        self._rows: list[str] = []
        super().__init__(columns, lines)

    @property
    def display(self) -> list[str]:
        """The rows; those that have not changed since they were last asked for are not put together again."""
        if len(self._rows) != self.lines:
            self._rows, self.dirty = [""] * self.lines, set(range(self.lines))
        for y in self.dirty | {y - 1 for y in self.dirty}:  # an accent belongs to the row before the one it is told of
            if 0 <= y < self.lines:
                self._rows[y] = self._row(self.buffer[y])
        self.dirty.clear()
        return list(self._rows)

    def _row(self, line) -> str:
        texts, x = [], 0
        while x < self.columns:
            text = line[x].data or " "
            texts.append(text)
            x += 2 if text > "\u1100" and wcwidth(text[0]) == 2 else 1
        return "".join(texts)


def wants_to_run(pid: int) -> bool:
    """Whether a thread of the process runs, or would on a free core."""
    try:
        threads = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # one has just ended
        return False
    return any(stat.rpartition(")")[2].split()[0] == "R" for stat in threads)


class Screen(Watched):
    """`with Screen([...args], env, size) as screen:` then `send`, `wait_for`, `text`. Ends the program at the end.

    `holds_frames`: the terminal answers that it can hold frames back (mode 2026), so each one is bracketed.
    `ground`: its answer when asked for the colour of its ground, as "ffff/ffff/ffff"; None: it says nothing.
    `fresh`: the interpreter is started for it and imports what the program needs; else it is a copy of a warm one.
    """

    def __init__(
        self, args=(), *, env=None, cwd=None, columns=120, rows=36, command=None, holds_frames=False, ground=None,
        fresh=False,
    ):  # fmt: skip
        self.columns, self.rows = columns, rows
        self._holds_frames, self._ground = holds_frames, ground
        self.rate, self.holds = 0, False
        """How many bytes a second the line to the terminal carries, 0: any number; whether it stands still."""
        self.started = time.monotonic()
        self._emulator = Emulator(columns, rows)
        self._stream = pyte.ByteStream(self._emulator)
        self._lock = threading.Lock()
        self._broken: Exception | None = None
        self._lines: list[str] | None = None
        """As they were last asked for, until something is written."""
        self._words: tuple[str, ...] = ()
        """What somebody waits for, until it was on the screen."""
        self.raw = bytearray()
        self.arrivals: list[tuple[int, float]] = []
        """(bytes so far, when), for each read."""
        self._tail = b""
        self._status: int | None = None
        command = list(command or [sys.executable, "-m", "nanoherm_tui", *args])
        ours = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        full = {**ours, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor",
                "LANG": "C.UTF-8", **(env or {})}  # fmt: skip
        size = struct.pack("HHHH", rows, columns, 0, 0)
        self._copy: warm.Child | None = None
        if not fresh and warm.can_be_warm(command, full):
            self._fd, its = pty.openpty()
            fcntl.ioctl(its, termios.TIOCSWINSZ, size)
            self._copy = warm.start(command, full, cwd or ROOT, (its, its, its))
            self.pid = self._copy.pid
            os.close(its)
        else:
            self.pid, self._fd = pty.fork()
            if self.pid == 0:
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                os.chdir(cwd or ROOT)
                os.execvpe(command[0], command, full)
        self._hung_up = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while not self._hung_up:
            try:
                ready, _, _ = select.select([self._fd], [], [], 0.1)
                if not ready or self.holds:
                    time.sleep(0.02 if self.holds else 0.0)
                    continue
                data = os.read(self._fd, round(self.rate * 0.02) or 65536)
                if self.rate:
                    time.sleep(0.02)
            except OSError:
                return
            if not data:
                return
            self._answer(data)
            with self._lock:
                self.raw += data
                self.arrivals.append((len(self.raw), time.monotonic()))
                data = self._tail + data
                # An escape sequence may be cut at the end of a read: keep its start for the next one.
                cut = data.rfind(b"\x1b", max(0, len(data) - 32))
                whole = cut < 0 or re.search(rb"[a-zA-Z~\\\x07]", data[cut + 2 :])
                self._tail, data = (b"", data) if whole else (data[cut:], data[:cut])
                try:
                    self._stream.feed(UNKNOWN.sub(b"", data))
                except Exception as error:  # told to who looks; else the screen would just stand still
                    self._broken = error
                self._lines = None
                self._look()

    def _look(self) -> None:
        """Take note when what is waited for is on the screen, if only for a moment."""
        if self._words and self._broken is None:
            text = "\n".join(self._shown())
            if all(word in text for word in self._words):
                self._words = ()

    def _shown(self) -> list[str]:
        if self._lines is None:
            self._lines = [line.rstrip() for line in self._emulator.display]
        return self._lines

    def _answer(self, data: bytes) -> None:
        """What a terminal says by itself to a program that asks."""
        if self._holds_frames and _CAN_HOLD_FRAMES[0] in data:
            os.write(self._fd, _CAN_HOLD_FRAMES[1])
        if self._ground is not None and _ASKS_GROUND.search(data):
            os.write(self._fd, b"\x1b]11;rgb:" + self._ground.encode() + b"\x1b\\")

    # -- looking --

    @property
    def lines(self) -> list[str]:
        with self._lock:
            if self._broken is not None:
                raise self._broken
            return list(self._shown())

    def wait_for(self, *words: str, seconds: float = PATIENCE, gone: bool = False) -> float:
        if gone or not words:
            return super().wait_for(*words, seconds=seconds, gone=gone)
        with self._lock:
            self._words = words
            self._look()
        return super().wait_for(*words, seconds=seconds)

    def _there(self, words: tuple[str, ...]) -> bool:
        self.lines  # noqa: B018  # raises what has broken the emulator
        return not self._words

    @property
    def cursor(self) -> tuple[int, int]:
        """(column, row) of the terminal's own caret, from 0."""
        with self._lock:
            return min(self._emulator.cursor.x, self.columns - 1), self._emulator.cursor.y

    @property
    def title(self) -> str:
        with self._lock:
            return self._emulator.title

    @property
    def program(self) -> int:
        """The program's process id."""
        return self.pid

    @property
    def user(self) -> Screen:
        """The terminal in front of the user: its `raw` is what reaches it."""
        return self

    def told(self) -> str:
        """The screen, when it changed last, and where the program's threads stand."""
        text, ago = self.text, time.monotonic() - (self.arrivals[-1][1] if self.arrivals else self.started)
        if self._copy is None or not self.alive:
            return f"{text}\nlast written {ago:.1f} s ago"
        runs, since = wants_to_run(self.pid), len(self.raw)
        self.signal(warm.TELLS)
        time.sleep(1.0)
        stands = bytes(self.raw[since:]).decode("utf-8", "replace")
        return f"{text}\nlast written {ago:.1f} s ago; {'runs' if runs else 'waits'}\n{stands}"

    # -- doing --

    def send(self, keys: str | bytes, settle: float = 0.0) -> None:
        os.write(self._fd, keys if isinstance(keys, bytes) else keys.encode())
        if settle:
            self.rest(settle)

    def inject(self, data: bytes) -> None:
        """To the program, byte for byte, in one piece."""
        self.send(data)

    def resize(self, columns: int, rows: int) -> None:
        with self._lock:
            self.columns, self.rows = columns, rows
            self._emulator.resize(rows, columns)
            self._lines = None
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    # -- the end --

    def hang_up(self) -> None:
        """Close the terminal under the program, as a window that is closed does."""
        self._hung_up = True
        self._reader.join(5.0)
        os.close(self._fd)

    @property
    def alive(self) -> bool:
        return self.wait_exit(0.0) is None

    def wait_exit(self, seconds: float = PATIENCE) -> int | None:
        """The exit code, or None when it still runs after `seconds`."""
        end = time.monotonic() + seconds
        while self._status is None:
            self._status = self._ended()
            if self._status is not None:
                self._reader.join(2.0)  # what it wrote last may still be on its way
            elif time.monotonic() >= end:
                return None
            else:
                time.sleep(0.02)
        return self._status

    def _ended(self) -> int | None:
        if self._copy is not None:
            return self._copy.poll()
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.wait_exit(0.0) is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, which is not told yet
                os.kill(self.pid, signal.SIGKILL)
            self.wait_exit(5.0)
        if not self._hung_up:
            self.hang_up()


KEYS = {
    "enter": "\r", "esc": "\x1b", "tab": "\t", "ctrl+c": "\x03", "ctrl+d": "\x04", "ctrl+g": "\x07", "ctrl+j": "\n",
    "ctrl+n": "\x0e", "ctrl+o": "\x0f", "ctrl+p": "\x10", "ctrl+z": "\x1a", "up": "\x1b[A", "down": "\x1b[B",
    "left": "\x1b[D", "right": "\x1b[C", "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "end": "\x1b[F",
    "home": "\x1b[H", "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f6": "\x1b[17~", "shift+tab": "\x1b[Z",
    "alt+up": "\x1b[1;3A",
}  # fmt: skip


def home_env(folder: Path, **more: str) -> dict[str, str]:
    """An environment with a home in which nothing is set and no provider; the tour of the very first start is over."""
    if not (folder / ".nanohermes").exists():
        (folder / ".nanohermes").mkdir(mode=0o700, parents=True)
    keep = {k: "" for k in os.environ if k.endswith("_API_KEY") or k.startswith("NANOHERMES_")}
    return {**keep, "HOME": str(folder), "NANOHERMES_HOME": str(folder / ".nanohermes"), **more}
