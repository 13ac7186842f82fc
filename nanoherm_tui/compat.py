"""The only place that touches names Textual keeps private. Each use has a test that fails when Textual changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBarRender
from textual.widget import Widget

from nanoherm_tui.symbols import sym


def set_scroll(view: ScrollView, total: int, top: int) -> None:
    """Tell a view's scrollbar how long the content is and where its top stands, in rows.

    Assigning `virtual_size` would lay the whole screen out anew, and `scroll_y` would paint the view a second time;
    this only moves the scrollbar.
    """
    size = Size(view.size.width, max(total, view.size.height))
    top = max(0, min(top, size.height - view.size.height))
    if view.scroll_y != top:
        view.set_reactive(Widget.scroll_target_y, float(top))
        view.set_reactive(Widget.scroll_y, float(top))
        view.vertical_scrollbar.position = top
    if view.virtual_size != size:
        view.set_reactive(Widget.virtual_size, size)
        view._scroll_update(size)


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

    if not (window_size and virtual_size > window_size and size):
        return [Segment(" " * thickness, style)] * size
    length = max(1, min(size, round(size * window_size / virtual_size)))
    start = round((size - length) * min(1.0, position / (virtual_size - window_size)))
    above, thumb, below = cell(" ", "scroll_up"), cell(sym("bar"), "grab"), cell(" ", "scroll_down")
    return [above] * start + [thumb] * length + [below] * (size - start - length)
