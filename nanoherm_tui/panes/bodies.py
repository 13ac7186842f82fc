"""What panes are made of: rows as data, bodies of many rows, and how a row is painted.

A pane hands over rows as data, a list or a `Body` that makes them when they are seen; `paint_row` turns one into cells
of exactly the pane's width. Columns: 0 the selection bar or the rule, 1 blank, then the content up to the third column
from the right, one blank, the scrollbar.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rich.style import Style
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui import strips
from nanoherm_tui.symbols import sym

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look

LEFT = 2  # columns before the content
RIGHT = 2  # columns after it


@dataclass(frozen=True, slots=True)
class Span:
    """A run of clean one-line text in one style. `bg` None: the row's. A `mark` has its colour in ansi themes too.

    Colours are roles; only the pixels of an image are "#rrggbb".
    """

    text: str
    fg: str = "text"
    bg: str | None = None
    bold: bool = False
    italic: bool = False
    underline: bool = False
    mark: bool = False


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `left` gives way to `right`. A row with a `key` can be the cursor's."""

    left: Spans | Callable[[], Spans] = ()
    """May be a function, called when the row is first seen: for what is dear to work out."""
    right: Spans = ()
    bg: str = "panel"
    key: str = ""
    margin: int = 0
    """Characters of `left` that are not text: left out when the row is copied."""
    join: str = "\n"
    """What stands between this row's text and the one before it: less than a line end where a line was wrapped."""
    words: str | Callable[[], str] | None = None
    """The text of `left` behind the margin, where it is known without calling it."""

    @property
    def text(self) -> str:
        """The text of the row, for copying and finding."""
        if self.words is not None:
            return self.words() if callable(self.words) else self.words
        return plain(self.left() if callable(self.left) else self.left)[self.margin :]


BLANK = Row()


def plain(spans: Spans) -> str:
    """The text of `spans` alone."""
    return "".join(s.text for s in spans)


class Place(NamedTuple):
    """A character of a body, whatever the width it is wrapped to: page, line of the page, character of the line."""

    page: int
    line: int
    at: int


class Body(Protocol):
    """Rows that are made when they are asked for, and the lines they are the wrapping of, in pages."""

    @property
    def pages(self) -> int: ...

    def __len__(self) -> int:
        """How many rows there are; of pages not seen yet a guess."""

    def __getitem__(self, index: int, /) -> Row: ...

    def __iter__(self) -> Iterator[Row]: ...

    def settle(self, top: int, height: int) -> int:
        """Find out about the rows from `top` on. Returns where the one at `top` is once their number is known."""

    def key(self, index: int) -> int:
        """A name of the row that what is found out about others does not change; names ascend."""

    def index(self, key: int) -> int:
        """The row with that name, else one near it."""

    def place(self, index: int) -> Place:
        """Where the row's text begins."""

    def row_at(self, place: Place) -> int:
        """The row that shows a place, else one near it."""

    def lines(self, page: int) -> Sequence[str] | None:
        """The lines of a page; None when they are not here."""

    def continues(self, page: int) -> bool:
        """The page's first line is the rest of the last one of the page before."""


class RowList:
    """A `Body` of rows that are all there: one page."""

    pages = 1

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)
        self._lines: list[str] | None = None
        self._places: list[Place] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int, /) -> Row:
        return self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def put(self, index: int, row: Row) -> None:
        """Put another row in the place of one."""
        self._rows[index] = row
        self._lines = None

    def settle(self, top: int, height: int) -> int:
        return top

    def key(self, index: int) -> int:
        return index

    def index(self, key: int) -> int:
        return key

    def place(self, index: int) -> Place:
        self.lines(0)
        return self._places[index] if index < len(self._places) else Place(0, len(self._lines or ()), 0)

    def row_at(self, place: Place) -> int:
        self.lines(0)
        return max(0, bisect_right(self._places, place) - 1)

    def lines(self, page: int) -> Sequence[str]:
        if self._lines is None:
            pieces: list[list[str]] = []
            self._places = []
            used = 0
            for row in self._rows:
                if row.join == "\n" or not pieces:
                    pieces.append([])
                    used = 0
                else:
                    pieces[-1].append(row.join)
                    used += len(row.join)
                self._places.append(Place(0, len(pieces) - 1, used))
                pieces[-1].append(row.text)
                used += len(row.text)
            self._lines = ["".join(parts) for parts in pieces]
        return self._lines

    def continues(self, page: int) -> bool:
        return False


def text_between(body: Body, start: Place, end: Place) -> str:
    """The text from one place up to another, wrapped lines whole; ⋯ for pages that are not here."""
    out: list[str] = []
    for page in range(start.page, end.page + 1):
        lines = body.lines(page)
        if lines is None:
            lines = [sym("cut")]
        else:
            first = start.line if page == start.page else 0
            last = end.line if page == end.page else len(lines) - 1
            lines = list(lines[first : last + 1])
            if page == end.page and lines and last < len(body.lines(page) or ()):
                lines[-1] = lines[-1][: end.at]
            if page == start.page and lines:
                lines[0] = lines[0][start.at :]
        if out and lines and body.continues(page):
            out[-1] += lines[0]
            lines = lines[1:]
        out += lines
    return "\n".join(out)


def paint_row(row: Row, cells: int, look: Look, *, selected: bool = False) -> Strip:
    """The content of `row`, exactly `cells` wide."""
    bg = "selection" if selected else row.bg
    left = row.left() if callable(row.left) else row.left
    parts, right = ([(s.text, span_style(s, bg, look, selected)) for s in spans] for spans in (left, row.right))
    return strips.row(cells, parts, look.style("text", bg), right, gap=1)


def span_style(span: Span, row_bg: str, look: Look, selected: bool = False) -> Style:
    """The style of a span in a row on `row_bg`."""
    bg = row_bg if selected or span.bg is None else span.bg
    if span.fg.startswith("#"):
        return look.style("muted", row_bg) if look.behind else look.pixels(span.fg, span.bg or span.fg)
    if span.mark:
        return look.mark(span.fg, bg, bold=span.bold)
    return look.style(span.fg, bg, bold=span.bold, italic=span.italic, underline=span.underline)
