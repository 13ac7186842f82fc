"""Rows drawn by hand: styled words to Strips of an exact width, and a widget that is nothing but such rows.

Words are plain text, never markup; what comes from outside has to be cleaned before it gets here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol, Self, cast

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from nanoherm_tui import text
from nanoherm_tui.themes import Look

Part = tuple[str, Style]


class _HasLook(Protocol):
    look: Look


def look_of(widget: Widget) -> Look:
    """The look of the app the widget lives in. An overlay never has the muted look of what is behind it."""
    look = cast(_HasLook, widget.app).look
    return _front(look) if look.behind and widget.screen.is_modal else look


@lru_cache(maxsize=2)
def _front(look: Look) -> Look:
    return Look(look.theme, no_color=look.no_color)


def row(width: int, left: Sequence[Part], fill: Style, right: Sequence[Part] = ()) -> Strip:
    """One row of exactly `width` cells: `left` is cut to make room for `right`, which goes when it does not fit."""
    right_width = sum(text.width(words) for words, _ in right)
    if right_width > width:
        right, right_width = (), 0
    room = width - right_width - (2 if right_width else 0)
    segments: list[Segment] = []
    used = 0
    for words, style in left:
        shown = text.cut(words, max(0, room - used))
        if shown:
            segments.append(Segment(shown, style))
            used += text.width(shown)
        if shown != words:
            break
    if width > used + right_width:
        segments.append(Segment(" " * (width - used - right_width), fill))
    segments += [Segment(words, style) for words, style in right]
    return Strip(segments, width)


def hint(look: Look, keys: Iterable[tuple[str, str]], ground: str = "surface") -> list[Part]:
    """Keys and what they do, for one row: the key bold, its meaning muted. A blank key is left out with its meaning."""
    parts: list[Part] = []
    for key, words in keys:
        if not key:
            continue
        if parts:
            parts.append(("   ", look.style("muted", ground)))
        parts.append((key, look.style("text", ground, bold=True)))
        parts.append((f" {words}", look.style("muted", ground)))
    return parts


class Painted(Widget):
    """A widget that paints rows: subclasses say which, for a width. Its height is theirs unless CSS says otherwise."""

    DEFAULT_CSS = "Painted { height: auto; }"

    _painted: tuple[object, list[Strip]] | None = None

    def paint(self, width: int) -> list[Strip]:
        """All rows, each exactly `width` cells wide. Kept until the size, the look or `refresh` asks for others."""
        raise NotImplementedError

    def rows(self, width: int) -> list[Strip]:
        key = (width, self.size.height, look_of(self))
        if self._painted is None or self._painted[0] != key:
            self._painted = (key, self.paint(width))
        return self._painted[1]

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        self._painted = None
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.rows(width))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        rows = self.rows(width)
        return rows[y] if y < len(rows) else Strip.blank(width, self.rich_style)
