"""How frames get to the terminal: in few bytes, no more often than is wanted, none while one is on its way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, cast

from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.style import Style
from textual import screen as textual_screen
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from nanoherm_tui.compat.driver import TerminalDriver
from nanoherm_tui.terminal.frames import Frames

if TYPE_CHECKING:
    from textual.app import App


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

    See terminal/frames.py and terminal/output.py.
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
        if renderable is not None and isinstance(driver, TerminalDriver) and not driver.has_room():
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
