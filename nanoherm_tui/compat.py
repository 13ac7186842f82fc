"""The only place that touches names Textual keeps private. Each use has a test that fails when Textual changes."""

from __future__ import annotations

import asyncio
import contextvars
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import cached_property, lru_cache
from itertools import chain
from queue import Queue
from typing import IO, TYPE_CHECKING, Any, Final, Literal, cast

from rich.color import Color, ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text
from textual import _wrap, constants, events
from textual import screen as textual_screen
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._compositor import (
    ChopsUpdate,
    Compositor,
    CompositorMap,
    CompositorUpdate,
    LayoutUpdate,
    ReflowResult,
)
from textual._styles_cache import StylesCache
from textual._xterm_parser import XTermParser
from textual.color import Color as TextualColor
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread
from textual.filter import LineFilter, Monochrome, NoColor
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.style import Style as TextualStyle
from textual.widget import Widget

from nanoherm_tui import limits, terminal_answers, terminal_colours, terminal_notes
from nanoherm_tui.frames import Frames
from nanoherm_tui.output import Backlog, write_all
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import pasted, unbroken
from nanoherm_tui.themes import no_colours

if TYPE_CHECKING:
    from textual.app import App


# -- scrolling -------------------------------------------------------------------------------------------------------


def set_scroll(view: ScrollView, total: int, top: int) -> None:
    """Tell a view and its scrollbar how long the content is and where its top stands, in rows.

    Assigning `virtual_size` would lay the whole screen out anew, and `scroll_y` would paint the view a second time.
    This sets them silently, and repaints the scrollbar only when its thumb moves.
    """
    height, bar = view.size.height, view.vertical_scrollbar
    total = max(total, height)
    top = max(0, min(top, total - height))
    view.set_reactive(Widget.virtual_size, Size(view.scrollable_content_region.width, total))
    view.set_reactive(Widget.scroll_target_y, float(top))
    view.set_reactive(Widget.scroll_y, float(top))
    before = _thumb(height, bar.window_virtual_size, bar.window_size, bar.position)
    bar.set_reactive(ScrollBar.window_virtual_size, total)
    bar.set_reactive(ScrollBar.window_size, height)
    bar.set_reactive(ScrollBar.position, float(top))
    if _thumb(height, total, height, top) != before:
        bar.refresh()


def thin_scrollbar(view: Widget, style: Callable[[], Style]) -> None:
    """Have `view` draw its vertical scrollbar as a column of bars on a blank track, in `style`.

    Textual's own scrollbar uses block glyphs that are two cells wide in some East Asian terminals.
    """

    class ThinScrollBar(ScrollBarRender):
        @classmethod
        def render_bar(
            cls,
            size: int = 25,
            virtual_size: float = 50,
            window_size: float = 20,
            position: float = 0,
            thickness: int = 1,
            vertical: bool = True,
            back_color: Color | None = None,
            bar_color: Color | None = None,
        ) -> Segments:
            return Segments(_bar(size, virtual_size, window_size, position, thickness, style()), new_lines=True)

    view.vertical_scrollbar.renderer = ThinScrollBar  # type: ignore[misc]  # Textual documents setting it per instance


def _bar(
    size: int, virtual_size: float, window_size: float, position: float, thickness: int, style: Style
) -> list[Segment]:
    """One segment a row; the mouse can grab the thumb and click above and below it."""

    def cell(glyph: str, action: str) -> Segment:
        meta: dict[str, Any] = {"@mouse.down": action}
        return Segment(glyph * thickness, style + Style(meta=meta))

    start, length = _thumb(size, virtual_size, window_size, position)
    if not length:
        return [Segment(" " * thickness, style)] * size
    above, thumb, below = cell(" ", "scroll_up"), cell(sym("bar"), "grab"), cell(" ", "scroll_down")
    return [above] * start + [thumb] * length + [below] * (size - start - length)


def _thumb(size: int, virtual_size: float, window_size: float, position: float) -> tuple[int, int]:
    """Where the thumb begins and how long it is, in rows; (0, 0) when everything is visible."""
    if not (window_size and virtual_size > window_size and size):
        return 0, 0
    length = max(1, min(size, round(size * window_size / virtual_size)))
    return round((size - length) * min(1.0, position / (virtual_size - window_size))), length


# -- what is drawn ---------------------------------------------------------------------------------------------------


class SureCompositor(Compositor):
    """Tells every widget that is newly shown, and draws it.

    Whoever asks where a widget is between a change and its layout has Textual arrange all anew, and keep that: the
    layout that follows takes what has just been shown for known, sends it no size and does not draw it.
    """

    _laid_out: CompositorMap | None = None

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        if self._laid_out is not None:
            self._full_map = self._laid_out  # what was told is what is compared with
        told = super().reflow(parent, size)
        self._laid_out = self._full_map
        return told

    def clear(self) -> None:
        self._laid_out = None
        super().clear()


def draw_surely(screen: Screen[Any]) -> None:
    """Give a screen that is not mounted yet a SureCompositor."""
    screen._compositor = SureCompositor()


class TightCompositor(SureCompositor):
    """Asks only the widgets that a changed region touches for their rows.

    Textual asks every widget whose container lies in the box around all changed regions: each frame of a streaming
    answer would draw all panes anew.
    """

    _changed: frozenset[Region] = frozenset()

    def render_partial_update(self) -> ChopsUpdate | None:
        self._changed = frozenset(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._changed = frozenset()

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        changed = self._changed or (crop,)
        for widget, (region, clip) in self.visible_widgets.items():
            shown = region.intersection(clip)
            if shown and any(part is None or part.overlaps(shown) for part in changed):
                yield region, clip, widget.render_lines(shown.translate(-region.offset))


class TightScreen(Screen[None]):
    """A screen with a TightCompositor."""

    def __init__(self) -> None:
        super().__init__(id="_default")
        self._compositor = TightCompositor()


class _Frame(CompositorUpdate):
    """An update of Textual's, written by Frames."""

    def __init__(self, update: LayoutUpdate | ChopsUpdate, frames: Frames) -> None:
        if isinstance(update, LayoutUpdate):
            frames.forget()  # the screen has another size, or is another screen
            rows = enumerate(update.strips, update.region.y)
            self.text = frames.frame((y, update.region.x, chain.from_iterable(strips)) for y, strips in rows)
        else:
            self.text = frames.frame(_changed(update))

    def render_segments(self, console: Console) -> str:
        return self.text


def _changed(update: ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    """Row, column and content of what has changed."""
    for y, first, last in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is not None and x <= last and end > first:
                yield y, x, strip if end <= last else strip.crop(0, last - x)


class FewBytes:
    """Mixed into an App: a frame is written in as few bytes as it takes, and only when the one before is written.

    See frames.py and output.py.
    """

    _owes: Literal["", "changes", "all"] = ""
    """What was left out while the terminal had not taken the frame before."""

    @cached_property
    def frames(self) -> Frames:
        colours = cast("App[Any]", self).console._color_system or ColorSystem.TRUECOLOR

        def ansi(style: Style) -> str:
            return style._ansi if style._ansi is not None else Strip.render_ansi(style, colours)

        return Frames(ansi)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        app = cast("App[Any]", self)
        caret = getattr(app.focused, "drawn_caret", None) or getattr(app.focused, "cursor_screen_offset", None)
        if caret is not None:
            # Where this frame has it, whatever the text has become since: an input method opens its window there.
            app.cursor_position = caret
        driver = app._driver
        if renderable is not None and isinstance(driver, _Driver) and not driver.has_room():
            self._owes = "changes" if isinstance(renderable, ChopsUpdate) and self._owes != "all" else "all"
            renderable = None
        if isinstance(renderable, (LayoutUpdate, ChopsUpdate)) and self._writes():
            frame = _Frame(renderable, self.frames)
            caret_stays = screen.outer_size.clamp_offset(app.cursor_position) == app._previous_cursor_position
            # A clock that shows the same second, a mark that stands still: over a slow line even no change costs.
            renderable = None if not frame.text and caret_stays else cast(RenderableType, frame)
        cast("App[Any]", super())._display(screen, renderable)

    def _writes(self) -> bool:
        """Whether Textual writes what it is given: else a frame would count as shown that nobody sees."""
        app = cast("App[Any]", self)
        runs = app._running and not app._closed and not app._batch_count
        return bool(runs and not app.is_headless and app._driver is not None)

    def draw_what_is_owed(self) -> None:
        """Draw the newest frame: there is room for it again."""
        app = cast("App[Any]", self)
        owes, self._owes = self._owes, ""
        if not owes or not app.screen_stack or not app.is_running:
            return
        if owes == "all":
            self.frames.forget()
        width, height = app.screen._compositor.size  # the terminal may have another by now: that change is yet to come
        half = height // 2
        # In two parts: what covers the screen would be taken for another screen, and be written whole.
        halves = {Region(0, 0, width, half), Region(0, half, width, height - half)}
        app.screen._compositor._dirty_regions.update(halves)
        app.screen._compositor_refresh()


def set_frame_rate(app: App[Any], fps: int) -> None:
    """Have the screens of `app`, and those that are made from now on, draw at most `fps` frames a second."""
    setattr(textual_screen, "UPDATE_PERIOD", 1 / fps)  # noqa: B010  # it is meant to be a constant
    for screen in app._screen_stacks.get(app._current_mode, ()):
        screen._update_timer._interval = 1 / fps


_NO_COLOUR = NoColor()


class NoGreys:
    """Mixed into an App: with NO_COLOR everything is in the terminal's own two colours, not in greys of ours."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = cast("App[Any]", super()).get_line_filters()
        kept = [each for each in filters if not isinstance(each, (Monochrome, NoColor))]
        return [*kept, _NO_COLOUR] if no_colours() else kept


def write_terminal(app: App[Any], data: str) -> None:
    """Write `data` to the terminal between two frames."""
    driver = app._driver
    if driver is not None:
        driver.write(data)


def keep_clipboard(app: App[Any], text: str) -> None:
    """Have the fields of Textual paste `text`; what it is copied by is the app's."""
    app._clipboard = text


def forget_closed(app: App[Any]) -> None:
    """Let go of widgets that watched the app, its theme say, and are closed.

    Textual does so only when what they watched changes: until then each overlay that was ever open is kept, with all
    that it has drawn.
    """
    watchers: dict[str, list[tuple[Widget, object]]] = getattr(app, "__watchers", {})
    for watching in watchers.values():
        watching[:] = [one for one in watching if not one[0]._closing]


def share_grounds() -> None:
    """Keep the two grounds of a widget by their colours alone.

    Textual keeps the last 1,024 by the widget too: so many that are closed are never let go of, with all their rows.
    """
    ground = getattr(StylesCache.get_inner_outer, "__wrapped__", None)
    if ground is None:  # done already
        return

    @lru_cache(maxsize=limits.GROUNDS)
    def of_colours(base: TextualColor, background: TextualColor) -> tuple[TextualStyle, TextualStyle]:
        styles: tuple[TextualStyle, TextualStyle] = ground(StylesCache, base, background)
        return styles

    def of_widget(self: StylesCache, base: TextualColor, background: TextualColor) -> tuple[TextualStyle, TextualStyle]:
        return of_colours(base, background)

    setattr(StylesCache, "get_inner_outer", of_widget)  # noqa: B010


# -- what is written -------------------------------------------------------------------------------------------------


def break_as_prose() -> None:
    """Have text areas break their rows where all other prose is broken: around wide characters, not at blanks alone.

    To Textual a sentence in Chinese is one word, which goes to the next row as a whole.
    """
    _wrap.chunks = unbroken


# -- the end ---------------------------------------------------------------------------------------------------------


def begin_with_theme(app: App[Any], name: str) -> None:
    """Have an app that does not run yet use a theme from its first style on; set later, all styles are read twice."""
    app.set_reactive(type(app).theme, name)
    dark = app.current_theme.dark
    app.update_classes({f"-theme-{name}": True, "-dark-mode": dark, "-light-mode": not dark}, update=False)
    app._refresh_truecolor_filter(app.ansi_theme)
    app.stylesheet.set_variables(app.get_css_variables())


class QuietCrash(NoGreys):
    """Mixed into an App: an exception that escapes a handler ends it with `crash_words`, in plain text.

    Textual's own report prints the local variables of every frame, and with them whatever a user or a server said.
    """

    def crash_words(self, error: BaseException) -> str:
        """What to say about `error` once the terminal is whole again."""
        raise NotImplementedError

    def end_with(self, error: Exception) -> None:
        """End the app as if `error` had escaped one of its own handlers; to be called where it is handled."""
        cast("App[Any]", self)._handle_exception(error)

    def _fatal_error(self) -> None:
        error = sys.exc_info()[1] or RuntimeError("unknown")
        cast("App[Any]", self).panic(Text(self.crash_words(error)))

    def _print_error_renderables(self) -> None:
        # The first is the cause; Textual would add advice for those who develop with it.
        del cast("App[Any]", self)._exit_renderables[1:]
        cast("App[Any]", super())._print_error_renderables()


# -- what comes in: keys ---------------------------------------------------------------------------------------------


class _AltKey(Enum):
    """Alt keys that Textual's table of escape sequences reads as something else. The value is the key's name."""

    ENTER = "alt+enter"
    DIGIT_0 = "alt+0"
    DIGIT_1 = "alt+1"
    DIGIT_2 = "alt+2"
    DIGIT_3 = "alt+3"
    DIGIT_4 = "alt+4"
    DIGIT_5 = "alt+5"
    DIGIT_6 = "alt+6"
    DIGIT_7 = "alt+7"
    DIGIT_8 = "alt+8"
    DIGIT_9 = "alt+9"


def teach_alt_keys() -> None:
    """Read ESC Return as Alt+Enter and ESC 1 as Alt+1, what most terminals send for them.

    Textual takes the first for Enter and the second for the ¡ that a Mac types with Option.
    """
    table = cast(dict[str, object], ANSI_SEQUENCES_KEYS)
    for key in _AltKey:
        last = key.value.removeprefix("alt+")
        table["\x1b" + ("\r" if last == "enter" else last)] = (key,)


# -- what comes in: the terminal's ground ----------------------------------------------------------------------------


class GroundTold(Message):
    """The terminal has said what its ground is: #rrggbb. Sent to the app, at any time after it was asked."""

    def __init__(self, colour: str) -> None:
        super().__init__()
        self.colour: Final = colour


class NameTold(Message):
    """The terminal has said what it calls itself, with its version."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


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
        setattr(linux_driver, "WriterThread", _Writer)  # noqa: B010  # the module does not export the name
        return _Driver


# xterm's modifyOtherKeys, which tmux knows too; Textual asks for kitty's protocol alone. 1: keys that mean something as
# they are, Ctrl+letter and Tab among them, stay as they are.
_TELL_MODIFIERS: Final = "\x1b[>4;1m"
_TELL_NO_MODIFIERS: Final = "\x1b[>4m"


class _Writer(WriterThread):
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


class _Driver(linux_driver.LinuxDriver):
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
        if not isinstance(writer, _Writer):
            return
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()

        def room() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(cast(FewBytes, self._app).draw_what_is_owed, context=context)

        writer.backlog.on_room = room

    def has_room(self) -> bool:
        """Whether the terminal has taken all that was written so far."""
        writer = self._writer_thread
        return not isinstance(writer, _Writer) or writer.backlog.has_room()

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


# -- what comes in: pastes, and answers among the keys ---------------------------------------------------------------

_PASTE_BEGINS: Final = "\x1b[200~"
_PASTE_ENDS: Final = "\x1b[201~"
_UNFINISHED = re.compile("\x1b(?:\\[[0-?]*|O)?\\Z")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# What programs print and no key sends: colours, erasing, modes, titles and links, character sets.
_PRINTED = re.compile(
    "\x1b(?:\\[[0-9;:]*m|\\[[0-3]?[JK]|\\[\\?[0-9;]+[hl]|\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)|[()][0AB])"
)
_LINE_END = re.compile("\r\n?|\n")


def looks_pasted(data: str) -> bool:
    """Whether what came in one read is lines of text rather than keys: text after a line end, and more than a few keys.

    One line with Enter at its end is typed, or sent by a script: it stays keys. The text may hold what a program
    printed, its colours say; a sequence that a key sends makes all of it keys.
    """
    data = _PRINTED.sub("", data)
    if _NO_TEXT.search(data) or not _LINE_END.search(data.rstrip()):
        return False
    return len(_LINE_END.findall(data)) > 1 or len(data) >= limits.PASTE_LENGTH


class _ReadByRead(XTermParser):
    """Textual's parser of terminal input, but no part of a paste or of a terminal's answer is ever read as keys.

    Lines that came in one read without paste marks are a paste. What stands between the marks is gathered here:
    Textual takes what follows an escape sequence in it for keys. An answer may come late and in pieces.
    """

    _pasting = False
    _pasted = ""
    _tail = ""
    _more_until = 0.0
    """Until when text belongs to the lines that came before it: they filled a read, so more was on its way."""
    _held = ""
    """What may be the start of an answer, until more is read or the time for it is over."""
    _held_until = 0.0
    _late = ""
    """What was held until its time was over: an answer whose end comes only now is no keys either."""

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            yield from super().feed(data)
        late = terminal_answers.ANSWER.match(self._late + data)
        begun = self._late if late is not None and terminal_answers.is_whole(late) else self._held
        data, self._held, self._late = begun + data, "", ""
        while data:
            if self._pasting:
                data = yield from self._gather(data)
            else:
                data = yield from self._read((yield from self._take_answers(data)))

    def tick(self) -> Iterable[Message]:
        yield from super().tick()
        if self._held and not self._pasting and time.monotonic() >= self._held_until:
            held, self._held = self._held, ""
            if held == "\x1b":
                yield events.Key("escape", held)
            elif not terminal_answers.is_only_answer(held):  # Alt+] and what was typed behind it
                yield from super().feed(held)
            self._late = held

    def _take_answers(self, data: str) -> Generator[Message, None, str]:
        """Take the terminal's answers out of `data` up to a paste; hold the start of one back. Returns the rest."""
        data, mark, paste = data.partition(_PASTE_BEGINS)
        if not mark and (begun := terminal_answers.BEGUN.search(data)):
            self._held, data = begun[0], data[: begun.start()]
            wait = constants.ESCAPE_DELAY if self._held in terminal_answers.ALSO_KEYS else limits.ANSWER_PART
            self._held_until = time.monotonic() + wait
        for answer in filter(terminal_answers.is_whole, terminal_answers.ANSWER.finditer(data)):
            if answer["name"] is not None:
                yield NameTold(answer["name"].strip())
            elif answer["which"] == terminal_colours.GROUND:
                colour = terminal_colours.read_colour(answer["colour"])
                if colour is not None:
                    yield GroundTold(colour)
        return terminal_answers.ANSWER.sub("", data) + mark + paste

    def _read(self, data: str) -> Generator[Message, None, str]:
        """Read keys up to the mark that begins a paste, the mark too. Returns what follows it."""
        seen = self._tail + data
        begins = seen.find(_PASTE_BEGINS)
        text = data if begins < 0 else data[: max(0, begins - len(self._tail))]
        end = len(data) if begins < 0 else begins + len(_PASTE_BEGINS) - len(self._tail)
        start = 0
        if not _UNFINISHED.search(self._tail) and (looks_pasted(text) or self._goes_on(text)):
            self._more_until = time.monotonic() + limits.PASTE_JOIN if len(text) >= limits.PASTE_PART else 0.0
            yield events.Paste(pasted(text))
            start = len(text)
        last = seen[1 - len(_PASTE_BEGINS) :]
        self._tail = last if begins < 0 and not start and "\x1b" in last else ""
        self._pasting = begins >= 0
        if start < end:
            yield from super().feed(data[start:end])
        return data[end:]

    def _goes_on(self, text: str) -> bool:
        """Whether `text` is the rest of lines without paste marks that came in several reads."""
        return bool(text) and time.monotonic() < self._more_until and not _NO_TEXT.search(_PRINTED.sub("", text))

    def _gather(self, data: str) -> Generator[Message, None, str]:
        """Keep the text of a paste up to the mark that ends it. Returns what follows the mark."""
        seen = max(0, len(self._pasted) + 1 - len(_PASTE_ENDS))
        self._pasted += data
        ends = self._pasted.find(_PASTE_ENDS, seen)
        if ends < 0:
            return ""
        text, rest = self._pasted[:ends], self._pasted[ends + len(_PASTE_ENDS) :]
        self._pasting, self._pasted = False, ""
        for message in super().feed(_PASTE_ENDS):
            if not isinstance(message, events.Paste):  # Textual's own, of nothing
                yield message
        yield events.Paste(pasted(text))
        return rest


def read_lines_as_pastes() -> None:
    """Have Textual's driver, from its next start on, read with `_ReadByRead`.

    A terminal, multiplexer or script without bracketed paste sends a pasted text as keys, each line end an Enter: a
    message a line. In the driver it is still known what came together.
    """
    setattr(linux_driver, "XTermParser", _ReadByRead)  # noqa: B010  # the module does not export the name
