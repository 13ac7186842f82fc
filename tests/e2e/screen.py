"""The program in a real pty, with a terminal emulator reading what it draws."""

from __future__ import annotations

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

ROOT = Path(__file__).parents[2]

# Sequences the emulator does not know and would print: kitty keys, private modes with '>' or '=' or '<'.
_UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;:]*[a-zA-Z]|\x1b\[\?[0-9;]*\$[a-z]")


class Screen:
    """`with Screen([...args], env, size) as screen:` then `send`, `wait_for`, `text`. Ends the program at the end."""

    def __init__(self, args=(), *, env=None, cwd=None, columns=120, rows=36, command=None):
        self.columns, self.rows = columns, rows
        self._emulator = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._emulator)
        self._lock = threading.Lock()
        self.raw = bytearray()
        self._tail = b""
        self._status: int | None = None
        command = list(command or [sys.executable, "-m", "nanoherm_tui", *args])
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd or ROOT)
            full = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor",
                    "LANG": "C.UTF-8", **(env or {})}  # fmt: skip
            os.execvpe(command[0], command, full)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            try:
                ready, _, _ = select.select([self._fd], [], [], 0.5)
                if not ready:
                    continue
                data = os.read(self._fd, 65536)
            except OSError:
                return
            if not data:
                return
            with self._lock:
                self.raw += data
                data = self._tail + data
                # An escape sequence may be cut at the end of a read: keep its start for the next one.
                cut = data.rfind(b"\x1b", max(0, len(data) - 32))
                whole = cut < 0 or re.search(rb"[a-zA-Z~\\\x07]", data[cut + 2 :])
                self._tail, data = (b"", data) if whole else (data[cut:], data[:cut])
                self._stream.feed(_UNKNOWN.sub(b"", data))

    # -- looking --

    @property
    def lines(self) -> list[str]:
        with self._lock:
            return [line.rstrip() for line in self._emulator.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def squeezed(self) -> str:
        """The text without blanks and line ends, for words that may be wrapped anywhere."""
        return re.sub(r"\s+", "", self.text)

    def wait_for(self, *words: str, seconds: float = 15.0, gone: bool = False) -> float:
        """Wait until all `words` are on the screen (or none, with `gone`); returns the seconds it took."""
        begun = time.monotonic()
        while time.monotonic() - begun < seconds:
            text = self.text
            if all((word in text) != gone for word in words):
                return time.monotonic() - begun
            if not self.alive and not gone:
                break
            time.sleep(0.02)
        raise AssertionError(f"{'still' if gone else 'no'} {words} after {seconds} s on:\n{self.text}")

    # -- doing --

    def send(self, keys: str | bytes, settle: float = 0.0) -> None:
        os.write(self._fd, keys if isinstance(keys, bytes) else keys.encode())
        if settle:
            time.sleep(settle)

    def type(self, text: str, gap: float = 0.02) -> None:
        """Type like a hand: one key at a time."""
        for character in text:
            self.send(character)
            time.sleep(gap)

    def resize(self, columns: int, rows: int) -> None:
        with self._lock:
            self._emulator.resize(rows, columns)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    # -- the end --

    @property
    def alive(self) -> bool:
        return self.wait_exit(0.0) is None

    def wait_exit(self, seconds: float = 10.0) -> int | None:
        """The exit code, or None when it still runs after `seconds`."""
        end = time.monotonic() + seconds
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
                self._reader.join(2.0)  # what it wrote last may still be on its way
            elif time.monotonic() >= end:
                return None
            else:
                time.sleep(0.02)
        return self._status

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.wait_exit(0.0) is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait_exit(5.0)
        time.sleep(0.05)
        os.close(self._fd)


KEYS = {
    "enter": "\r", "esc": "\x1b", "tab": "\t", "ctrl+c": "\x03", "ctrl+d": "\x04", "ctrl+p": "\x10", "ctrl+n": "\x0e",
    "ctrl+o": "\x0f", "ctrl+j": "\n", "up": "\x1b[A", "down": "\x1b[B", "pageup": "\x1b[5~", "pagedown": "\x1b[6~",
    "end": "\x1b[F", "home": "\x1b[H", "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f6": "\x1b[17~",
    "shift+tab": "\x1b[Z", "alt+up": "\x1b[1;3A",
}  # fmt: skip


def home_env(folder: Path, **more: str) -> dict[str, str]:
    """An environment with a new home and no provider in it."""
    folder.mkdir(parents=True, exist_ok=True)
    keep = {k: "" for k in os.environ if k.endswith("_API_KEY") or k.startswith("NANOHERMES_")}
    return {**keep, "HOME": str(folder), "NANOHERMES_HOME": str(folder / ".nanohermes"), **more}
