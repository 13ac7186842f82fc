"""How a view is scrolled and how its scrollbar looks, without a layout of the whole screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.widget import Widget

from nanoherm_tui.symbols import sym


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
    above, thumb, below = cell(" ", "scroll_up"), cell(sym("thumb"), "grab"), cell(" ", "scroll_down")
    return [above] * start + [thumb] * length + [below] * (size - start - length)


def _thumb(size: int, virtual_size: float, window_size: float, position: float) -> tuple[int, int]:
    """Where the thumb begins and how long it is, in rows; (0, 0) when everything is visible."""
    if not (window_size and virtual_size > window_size and size):
        return 0, 0
    length = max(1, min(size, round(size * window_size / virtual_size)))
    return round((size - length) * min(1.0, position / (virtual_size - window_size))), length
