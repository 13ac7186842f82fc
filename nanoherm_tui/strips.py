"""Rows drawn by hand: styled words to Strips of an exact width, and a widget that is nothing but such rows.

Words are plain text, never markup; what comes from outside has to be cleaned before it gets here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import Protocol, Self, cast

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from nanoherm_tui import text
from nanoherm_tui.symbols import sym
from nanoherm_tui.theming.themes import Look

Part = tuple[str, Style]

_LEAST = 6  # cells of words that can still be guessed when they are cut


class _HasLook(Protocol):
    look: Look


class LoneStrip(Strip):
    """A strip that does not refer to itself: painted once, it is gone without the garbage collector's help.

    Textual keeps what a strip was divided into with the strip, and a whole row is divided into itself.
    """

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        within = [cut for cut in cuts if cut <= self.cell_length]
        return [self] if within == [self.cell_length] else super().divide(within)


def look_of(widget: Widget) -> Look:
    """The look of the app the widget lives in. An overlay never has the muted look of what is behind it."""
    look = cast(_HasLook, widget.app).look
    return _front(look) if look.behind and widget.screen.is_modal else look


@lru_cache(maxsize=2)
def _front(look: Look) -> Look:
    return Look(look.theme, no_color=look.no_color)


def row(width: int, left: Sequence[Part], fill: Style, right: Sequence[Part] = (), *, gap: int = 2) -> Strip:
    """One row of exactly `width` cells: `left` is cut with ⋯ to make room for `right`, at least `gap` blanks away.

    `right` is never cut: it goes when it would leave less than a few cells for `left`.
    """
    left_width = sum(text.width(words) for words, _ in left)
    right_width = sum(text.width(words) for words, _ in right)
    if right_width + (gap + min(left_width, _LEAST) if left_width else 0) > width:
        right, right_width = (), 0
    segments: list[Segment] = []
    room = max(0, width - right_width - (gap if right_width else 0))
    whole = left_width <= room
    used = 0
    for number, (words, style) in enumerate(left):
        size = text.width(words)
        ends = not whole and (used + size > room or (used + size == room and number < len(left) - 1))
        if ends:
            # Wider than the room by at least one blank, so that the cut shows even when it falls between two parts.
            words = text.cut(words + " " * (room - used + 1 - size), room - used)
            size = room - used
        if words:
            segments.append(Segment(words, style))
            used += size
        if ends:
            break
    if width > used + right_width:
        segments.append(Segment(" " * (width - used - right_width), fill))
    segments += [Segment(words, style) for words, style in right if words]
    return LoneStrip(segments, width)


def led(look: Look, here: bool, words: Style) -> list[Part]:
    """The two cells a row of a list begins with: the bar, where it is the cursor's, and a blank in `words`.

    The bar stands on the list's ground: on a selection as light as the text half of its cell would be torn off.
    """
    return [(sym("bar"), look.mark("accent", "surface")) if here else (" ", words), (" ", words)]


def beside(words: str, cells: int) -> str:
    """`words` cut to `cells`; nothing where so few are left that they could not be guessed."""
    return text.cut(words, cells) if cells >= min(_LEAST, text.width(words)) else ""


def flow(width: int, items: Iterable[Sequence[Part]], fill: Style, *, indent: int = 0) -> list[Strip]:
    """`items`, three blanks apart, in as many rows as they need; none is broken unless it is wider than a row."""
    blank: Part = (" " * indent, fill)
    rows: list[list[Part]] = []
    used = width
    for item in items:
        cells = sum(text.width(words) for words, _ in item)
        if not rows or used + 3 + cells > width:
            rows.append([blank, *item])
            used = indent + cells
        else:
            rows[-1] += [("   ", fill), *item]
            used += 3 + cells
    return [row(width, parts, fill) for parts in rows or [[]]]


def marked(words: str, marks: Container[int], plain: Style, typed: Style) -> list[Part]:
    """`words` in runs, the characters at `marks`, which were typed, in their own style."""
    parts: list[Part] = []
    start = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or (at in marks) != (start in marks):
            parts.append((words[start:at], typed if start in marks else plain))
            start = at
    return parts


def hints(look: Look, keys: Iterable[tuple[str, str]], ground: str = "surface") -> list[list[Part]]:
    """Keys and what they do: the key bold, its meaning muted. A blank key is left out with its meaning."""
    bold, muted = look.style("text", ground, bold=True), look.style("muted", ground)
    return [[(key, bold), (f" {words}", muted)] for key, words in keys if key]


class Painted(Widget):
    """A widget that paints rows: subclasses say which, for a width. Its height is theirs unless CSS says otherwise."""

    DEFAULT_CSS = "Painted { height: auto; }"

    _painted: tuple[object, list[Strip]] | None = None

    @abstractmethod
    def paint(self, width: int) -> list[Strip]:
        """All rows, each exactly `width` cells wide. Kept until the size, the look or `refresh` asks for others."""

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
