"""One window: the program in a pseudo-terminal of its own, and what goes to and from it.

It is the program as any terminal has it, with pastes, clipboard, editor and all. Textual's own driver for the web
writes to a pipe from the screen's thread, which a slow browser would hold up, and hears nothing when its server is
killed.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import struct
import sys
import tempfile
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanoherm_tui import limits
from nanoherm_tui.browser.ground import TOLD, begin
from nanoherm_tui.terminal.signals import BROWSER, IN_BROWSER

_CHILD: Final = str(Path(__file__).with_name("child.py"))
_GIVE_UP: Final = b"\x18"
"""CAN: a terminal gives up the sequence that it is in."""
_IMAGE: Final = ".png"
"""The end of a pasted image's name. What it is is told by its first bytes."""
_OF_ANOTHER_TERMINAL: Final = (
    "COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY", "WINDOW", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORFGBG",
    "VTE_VERSION", "WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ITERM_SESSION_ID", "LC_TERMINAL",
)  # fmt: skip
"""What the server's own terminal says of itself."""


def environment(env: Mapping[str, str], scheme: str) -> dict[str, str]:
    """The environment of a window's program: the server's, with the page's terminal instead of the server's."""
    kept = {name: value for name, value in env.items() if name not in _OF_ANOTHER_TERMINAL}
    page = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLORFGBG": TOLD[scheme], IN_BROWSER: BROWSER}
    return {**kept, **page}


class Window:
    """A running program. `close` ends it; it also ends by itself, and with the server, however that ends."""

    def __init__(self, master: int, process: asyncio.subprocess.Process, first: bytes) -> None:
        self._master = master
        self._process = process
        self._unread = first
        """What the page is to be sent before anything the program writes."""
        self._exited = asyncio.ensure_future(process.wait())
        self._given: tempfile.TemporaryDirectory[str] | None = None
        self._images = 0

    @classmethod
    async def open(
        cls, arguments: Sequence[str], env: Mapping[str, str], scheme: str, columns: int, rows: int
    ) -> Window:
        """Start the program with `arguments`, for a page that is light or dark (`scheme`). Raises OSError."""
        master, slave = os.openpty()
        try:
            os.set_blocking(master, False)
            _no_echo(slave)
            _set_size(master, columns, rows)
            process = await asyncio.create_subprocess_exec(
                # -P: a module of the folder one works in is never taken for one of ours.
                sys.executable, "-P", _CHILD, *arguments,
                stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environment(env, scheme),
            )  # fmt: skip
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)
        return cls(master, process, begin(scheme).encode())

    def resize(self, columns: int, rows: int) -> None:
        if self._master >= 0:
            _set_size(self._master, columns, rows)

    async def show_again(self) -> None:
        """Have the program draw all of it for a page that has missed a part; what was cut off there is given up."""
        self._unread = _GIVE_UP
        if self._master >= 0:
            rows, columns = struct.unpack("HHHH", fcntl.ioctl(self._master, termios.TIOCGWINSZ, b"\0" * 8))[:2]
            _set_size(self._master, columns, max(1, rows - 1))
            await asyncio.sleep(limits.WEB_NUDGE)
            self.resize(columns, rows)

    async def read(self) -> bytes:
        """What the program has written since; empty once it has ended and all is read."""
        out, self._unread = self._unread, b""
        while self._master >= 0 and len(out) < limits.WEB_READ:
            try:
                part = os.read(self._master, limits.WEB_READ)
            except BlockingIOError:
                if out or self._exited.done():
                    break
                await self._until_ready(self._exited, write=False)
                continue
            except OSError:  # Linux: nobody has the other end any more
                break
            if not part:
                break
            out += part
        return out

    async def write(self, data: bytes) -> None:
        """Have the program read `data`; returns when the terminal has it all, or the program has ended."""
        while data and self._master >= 0 and not self._exited.done():
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                await self._until_ready(self._exited, write=True)
            except OSError:
                return

    async def give_image(self, data: bytes) -> None:
        """Have the program take an image that was pasted on the page: its path is pasted, as when a file is dropped."""
        await self.write(b"\x1b[200~%s\x1b[201~" % os.fsencode(await asyncio.to_thread(self._write_image, data)))

    async def close(self) -> None:
        """Hang up, as a terminal does that is closed, and wait: the program keeps its sessions and ends its children.

        One that does not end in limits.WEB_ENDING seconds is killed, its process group with it.
        """
        if self._master >= 0:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._master)
            loop.remove_writer(self._master)
            os.close(self._master)
            self._master = -1
        done, _ = await asyncio.wait({self._exited}, timeout=limits.WEB_ENDING)
        if not done:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._exited
        if self._given is not None:
            await asyncio.to_thread(self._given.cleanup)

    def _write_image(self, data: bytes) -> str:
        """A file with the image, in a folder of the user's alone that is gone with the window. Raises OSError."""
        if self._given is None:
            self._given = tempfile.TemporaryDirectory(prefix="nanoherm-", ignore_cleanup_errors=True)
        self._images += 1
        path = os.path.join(self._given.name, f"pasted-{self._images}{_IMAGE}")
        with open(path, "xb") as file:
            file.write(data)
        return path

    async def _until_ready(self, or_until: asyncio.Future[int], *, write: bool) -> None:
        loop, master = asyncio.get_running_loop(), self._master
        ready = loop.create_future()

        def is_ready() -> None:
            if not ready.done():
                ready.set_result(None)

        (loop.add_writer if write else loop.add_reader)(master, is_ready)
        try:
            await asyncio.wait({ready, or_until}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if self._master == master:
                (loop.remove_writer if write else loop.remove_reader)(master)


def _set_size(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _no_echo(terminal: int) -> None:
    """What is typed before the program has the terminal is not shown twice."""
    modes = termios.tcgetattr(terminal)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
