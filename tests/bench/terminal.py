"""A program in a real pty: what it wrote and when, what it used. Linux.

While a measurement runs nothing is emulated: a thread stamps what comes and answers one question of the program's,
whether the terminal can hold frames back (mode 2026), because then each frame is bracketed and can be counted.
"""

from __future__ import annotations

import bisect
import fcntl
import os
import pty
import re
import signal
import struct
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

COLUMNS, ROWS = 150, 40

_CAN_SYNC = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
_FRAME = re.compile(rb"\x1b\[\?2026h(.+?)\x1b\[\?2026l", re.DOTALL)
_CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_^X].*?(?:\x07|\x1b\\)|[ -/]*[0-~])|[\x00-\x1f]", re.DOTALL)


class Terminal:
    """`with Terminal(argv, env, cwd) as t:`; ends the program at the end."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self.raw = bytearray()
        self._arrivals: list[tuple[int, float]] = []  # (bytes so far, when)
        self._used: list[float] = []  # the program's CPU seconds by then
        self.started = time.monotonic()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
                os.chdir(cwd)
                os.execve(argv[0], list(argv), dict(env))
            finally:
                os._exit(127)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Until the program's end, on a thread of its own."""
        asked = False
        while True:
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                return
            if not data:
                return
            now = time.monotonic()
            self._used.append(self.cpu())
            self.raw += data
            self._arrivals.append((len(self.raw), now))
            if not asked and _CAN_SYNC[0] in self.raw:
                asked = True
                os.write(self._fd, _CAN_SYNC[1])

    # -- doing --

    def send(self, keys: str) -> float:
        """Write `keys`; gives the moment."""
        now = time.monotonic()
        os.write(self._fd, keys.encode())
        return now

    def resize(self, columns: int, rows: int) -> float:
        now = time.monotonic()
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return now

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    # -- waiting --

    def wait_for(self, mark: str, since: int = 0, seconds: float = 60.0) -> float:
        """Wait for a word, drawn in one style, after the byte `since`; gives when it came. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while self._reader.is_alive() and time.monotonic() < end:
            size = len(self.raw)
            at = self.raw.find(mark.encode(), since)
            if at >= 0:
                return self._when(at + len(mark))
            since = max(since, size - len(mark))
            time.sleep(0.005)
        raise TimeoutError(
            f"no {mark!r} until the end or in {seconds:g} s; last came {self.plain(bytes(self.raw[-3000:]))[-300:]!r}"
        )

    def quiet(self, gap: float = 0.3, seconds: float = 30.0) -> None:
        """Wait until nothing came for `gap` seconds from now on. Raises TimeoutError."""
        begun = time.monotonic()
        while time.monotonic() < begun + seconds:
            last = max(begun, self._arrivals[-1][1] if self._arrivals else 0.0)
            if time.monotonic() - last >= gap:
                return
            time.sleep(0.005)
        raise TimeoutError(f"still drawing after {seconds:g} s")

    def settled(self, since: float, gap: float = 0.15) -> float:
        """Seconds from `since` to the last thing drawn, once nothing more came for `gap` seconds."""
        end = since + 5.0
        while not self._arrivals or self._arrivals[-1][1] < since:
            if time.monotonic() > end:
                raise TimeoutError("nothing was drawn")
            time.sleep(0.001)
        self.quiet(gap)
        return self._arrivals[-1][1] - since

    # -- what came --

    def _when(self, length: int) -> float:
        """When the first `length` bytes were there."""
        arrivals = self._arrivals
        return arrivals[bisect.bisect_left(arrivals, (length, 0.0))][1]

    def frames(self, since: float, until: float) -> list[tuple[float, bytes]]:
        """(when complete, what was written) of the frames that came then."""
        found = [(self._when(m.end()), m[1]) for m in _FRAME.finditer(bytes(self.raw))]
        return [frame for frame in found if since <= frame[0] <= until]

    def bytes_since(self, since: float) -> int:
        before = [length for length, when in list(self._arrivals) if when < since]
        return len(self.raw) - (before[-1] if before else 0)

    def first_words(self, seconds: float = 30.0) -> float:
        """When the first frame with words on it had come. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for length, when in list(self._arrivals):
                if len(self.plain(bytes(self.raw[:length])).split()) >= 2:
                    return when
            time.sleep(0.005)
        raise TimeoutError("no words on the screen")

    @staticmethod
    def plain(data: bytes) -> str:
        """What was written, without colours and moves."""
        return _CONTROL.sub(b"", data).decode("utf-8", "replace")

    # -- what it uses --

    def cpu_at(self, when: float) -> float:
        """CPU seconds used until something came (`first_words`, `wait_for`), whenever it is asked."""
        return self._used[bisect.bisect_left([moment for _, moment in self._arrivals], when)]

    def cpu(self) -> float:
        """CPU seconds used so far, all threads; 0 when it has ended."""
        try:
            return time.clock_gettime(
                (~self.pid << 3) | 2
            )  # the process's CPU clock, as clock_getcpuclockid(3) makes it
        except OSError:
            return 0.0

    def pss(self) -> float:
        """Memory in MB, shared pages by their share, child processes included."""
        return sum(_pss(pid) for pid in _tree(self.pid)) / 1024

    # -- the end --

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc: object) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.kill(self.pid, number)
            end = time.monotonic() + 3.0
            while time.monotonic() < end:
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    os.close(self._fd)
                    return
                time.sleep(0.02)
        os.close(self._fd)


def _tree(pid: int) -> list[int]:
    children = "".join(p.read_text() for p in Path(f"/proc/{pid}/task").glob("*/children")).split()
    return [pid, *(descendant for child in children for descendant in _tree(int(child)))]


def _pss(pid: int) -> int:
    """KB."""
    found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) if found else 0
