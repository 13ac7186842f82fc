"""The terminal itself: how it is taken and given back, written to without waiting, and asked about its ground."""

from __future__ import annotations

import asyncio
import contextvars
import os
import time
from contextlib import suppress
from queue import Queue
from typing import IO, TYPE_CHECKING, Any, Final, cast

from textual import events
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread
from textual.geometry import Size
from textual.message import Message

from nanoherm_tui import limits
from nanoherm_tui.compat.told import GroundTold, NameTold
from nanoherm_tui.terminal import colours as terminal_colours
from nanoherm_tui.terminal import notes as terminal_notes
from nanoherm_tui.terminal.output import Backlog, write_all

if TYPE_CHECKING:
    from textual.app import App

    from nanoherm_tui.compat.few_bytes import FewBytes


class OwnDriver:
    """Mixed into an App: has the terminal tell Shift+Enter from Enter, in tmux too, and what colour its ground is.

    The ground is asked for once, before anything is drawn. Nothing waits for the answer, and there may be none.
    """

    terminal_name = ""
    """What the terminal calls itself, once it was asked and has answered."""

    asks_ground = False
    """Whether the ground is asked for; to be set before the app runs."""
    ground_told: str | None = None
    """The answer, as soon as it is read: while the app starts, a GroundTold waits for its turn until much is drawn."""
    names_window = False
    """Whether the window's title is ours while the app runs; to be set before."""
    window_title = ""
    """The sequence that names the window, written again whenever the screen is taken."""
    last_input = float("-inf")
    """When a key, a click or a paste was read, in monotonic seconds."""

    def get_driver_class(self) -> type[Driver]:
        chosen: type[Driver] = cast("App[Any]", super()).get_driver_class()
        if chosen is not linux_driver.LinuxDriver:
            return chosen
        setattr(linux_driver, "WriterThread", Writer)  # noqa: B010  # the module does not export the name
        return TerminalDriver


# xterm's modifyOtherKeys, which tmux knows too; Textual asks for kitty's protocol alone. 1: keys that mean something as
# they are, Ctrl+letter and Tab among them, stay as they are.
_TELL_MODIFIERS: Final = "\x1b[>4;1m"
_TELL_NO_MODIFIERS: Final = "\x1b[>4m"


class Writer(WriterThread):
    """Textual's, but it never holds up who writes, tells what is not written yet, and outlives the terminal.

    Textual's has a bounded queue: the loop stands still while the terminal does. Here frames are left out meanwhile
    (see FewBytes), so that little is ever queued. What is written to a terminal that is gone is dropped.
    """

    def __init__(self, file: IO[str]) -> None:
        super().__init__(file)
        self._queue = Queue()
        self.backlog = Backlog()

    def write(self, text: str) -> None:
        self.backlog.add(len(text))
        super().write(text)

    def run(self) -> None:
        over = False
        while not over:
            parts = [self._queue.get()]
            while not self._queue.empty():
                parts.append(self._queue.get())
            over = parts[-1] is None
            text = "".join(part for part in parts if part is not None)
            with suppress(OSError):
                self._file.flush()  # what others have left in it
                write_all(self._file.fileno(), text.encode("utf-8", "backslashreplace"), self.backlog.moved)
            self.backlog.wrote(len(text))

    def stop(self) -> None:
        """Have the rest written, as long as the terminal takes any of it."""
        self._queue.put(None)
        before = -1
        while self.is_alive() and self.backlog.moves != before:
            before = self.backlog.moves
            self.join(limits.LINE_STANDS)


class TerminalDriver(linux_driver.LinuxDriver):
    _asked = False
    _started = False

    def start_application_mode(self) -> None:
        """Once, whoever calls: after a stop both the one who suspended and SIGCONT's handler may, one within the other.

        What is switched on twice, kitty's keys among it, would be on for ever.
        """
        if self._started:
            return
        self._started, before = True, self._writer_thread
        cast(Driver, super()).start_application_mode()
        if self._writer_thread is before:  # in the background still: SIGCONT brings the next try
            self._started = False
            return
        self._tell_of_room()
        self.write(_TELL_MODIFIERS)
        if cast(OwnDriver, self._app).names_window:
            self.write(terminal_notes.KEEP_TITLE + cast(OwnDriver, self._app).window_title)
        if cast(OwnDriver, self._app).asks_ground and not self._asked:
            self._asked = True
            self.write(terminal_colours.ASK_GROUND)
        self.flush()

    def _tell_of_room(self) -> None:
        """Have the app draw what it left out, on its loop, as soon as all before it is written."""
        writer = self._writer_thread
        if not isinstance(writer, Writer):
            return
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()

        def room() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(cast("FewBytes", self._app).draw_what_is_owed, context=context)

        writer.backlog.on_room = room

    def has_room(self) -> bool:
        """Whether the terminal has taken all that was written so far."""
        writer = self._writer_thread
        return not isinstance(writer, Writer) or writer.backlog.has_room()

    def stop_application_mode(self) -> None:
        if not self._started:
            return
        self._started = False
        self.write(_TELL_NO_MODIFIERS)
        if cast(OwnDriver, self._app).names_window:
            self.write(terminal_notes.GIVE_TITLE_BACK)
        cast(Driver, super()).stop_application_mode()

    def _get_terminal_size(self) -> tuple[int, int]:
        # The terminal knows; COLUMNS and LINES in the environment are what some other program once saw.
        try:
            width, height = os.get_terminal_size(self.fileno)
        except OSError:
            width, height = 0, 0
        return (width, height) if width and height else super()._get_terminal_size()

    def process_message(self, message: Message) -> None:
        if isinstance(message, GroundTold):
            cast(OwnDriver, self._app).ground_told = message.colour
        elif isinstance(message, NameTold):
            cast(OwnDriver, self._app).terminal_name = message.name
        elif isinstance(message, events.Key | events.MouseDown | events.Paste):
            cast(OwnDriver, self._app).last_input = time.monotonic()
        super().process_message(message)


def look_at_size(app: App[Any]) -> None:
    """Take the terminal's size as it is now.

    A handler of SIGWINCH may run within another one, which then tells the size that it read before, as the last.
    """
    driver = app._driver
    if isinstance(driver, TerminalDriver) and not driver._in_band_window_resize:
        size = Size(*driver._get_terminal_size())
        if size != app.size:
            app.post_message(events.Resize(size, size))
