"""A long text in pages, and its rows made only where somebody looks.

The text is here, or comes page by page from a file: what is not here is blank rows, guessed in number, and is asked
for by the dock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from agent_core.limits import TEXT_PAGE
from nanoherm_tui import limits
from nanoherm_tui.panes.bodies import BLANK, Place, Row, Span
from nanoherm_tui.panes.wrapped import NARROWEST, Piece, code_rows
from nanoherm_tui.text import clean

_PAGE_KEYS: Final = 1 << 24  # more rows than a page can have
_HEAD: Final = -1  # the page of a place in the rows above the book


class Book:
    """A text in pages of about TEXT_PAGE, as clean lines. Of a file's pages the latest that came are kept."""

    def __init__(self, text: str = "", *, file: str = "", behind: str = "") -> None:
        """`file` is the name of the file the text comes from; its size comes with its first page.

        `behind` is shown after the file's last line.
        """
        self.file = file
        self._behind = behind
        self._text = text.rstrip("\n")
        self.pages = 1
        self._size = TEXT_PAGE
        self._kept: OrderedDict[int, Sequence[str]] = OrderedDict()
        self._continuing: set[int] = set()
        if not file:
            self._resize(len(self._text))

    def _resize(self, size: int) -> None:
        self._size, self.pages = size, max(1, -(-size // TEXT_PAGE))

    def size(self, page: int) -> int:
        """About how many characters a page has."""
        return max(1, min(TEXT_PAGE, self._size - page * TEXT_PAGE))

    def lines(self, page: int) -> Sequence[str] | None:
        """The lines of a page; None when it has not come, or was given up for others."""
        lines = self._kept.get(page)
        if lines is not None:
            self._kept.move_to_end(page)
        elif not self.file:
            lines = self._keep(page, self._cut(page))
        return lines

    def continues(self, page: int) -> bool:
        """The page begins inside a line."""
        return page in self._continuing

    def put(self, page: int, text: str, size: int, continues: bool) -> Sequence[str]:
        """Keep a page that has come from the file of `size` bytes. Returns its lines."""
        self._resize(size)
        if continues:
            self._continuing.add(page)
        return self._keep(page, text.rstrip("\n") + self._behind if page == self.pages - 1 else text)

    def _keep(self, page: int, text: str) -> Sequence[str]:
        lines = self._kept[page] = _lines(text)
        if len(self._kept) > limits.PAGES_KEPT:
            self._kept.popitem(last=False)
        return lines

    def _cut(self, page: int) -> str:
        start, end = self._start(page), self._start(page + 1)
        if start and self._text[start - 1] != "\n":
            self._continuing.add(page)
        return self._text[start:end]

    def _start(self, page: int) -> int:
        """Where a page begins: behind the first line end from its nominal start on, or there."""
        nominal = page * TEXT_PAGE
        if page == 0 or nominal >= len(self._text):
            return min(nominal, len(self._text))
        line_end = self._text.find("\n", nominal - 1, nominal - 1 + TEXT_PAGE)
        return nominal if line_end < 0 else line_end + 1


def _lines(text: str) -> Sequence[str]:
    if not text:
        return ()  # a line as long as a page may leave nothing for the next one
    lines = clean(text).split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


class _Page(NamedTuple):
    lines: Sequence[str]
    firsts: Sequence[int]
    """The first row of each line, and behind the last one how many rows there are."""


Dress = Callable[[int, str, Piece], Row]
"""Makes a row: index of the line in its page, the line, the piece of it."""


class BookRows:
    """The rows of a book at a width, below some rows of their own: a `Body`."""

    def __init__(self, book: Book, cells: int, head: Sequence[Row] = (), dress: Dress | None = None) -> None:
        """`cells` is the room for the text of a row."""
        self.book = book
        self.pages = book.pages
        self._cells = max(cells, NARROWEST)
        self._head = list(head)
        self._dress = dress or plain_row
        self._counts = [self._guess(page) for page in range(self.pages)]
        self._firsts: list[int] = []
        self._counted: set[int] = set()
        self._laid: OrderedDict[int, _Page] = OrderedDict()
        self._sum_up()

    def _guess(self, page: int) -> int:
        return max(1, self.book.size(page) // min(self._cells, 40))

    def _sum_up(self) -> None:
        self._firsts = [*accumulate(self._counts, initial=len(self._head))]

    # -- as a sequence ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._firsts[-1]

    def __iter__(self) -> Iterator[Row]:
        index = 0
        while index < len(self):
            self.settle(index, 1)
            yield self[index]
            index += 1

    def __getitem__(self, index: int, /) -> Row:
        if index < len(self._head):
            return self._head[index]
        if index >= len(self):
            raise IndexError(index)
        page, row = self._where(index)
        laid = self._lay(page)
        if laid is None or row >= laid.firsts[-1]:
            return BLANK
        line = bisect_right(laid.firsts, row) - 1
        piece = _pieces(laid.lines[line], self._cells)[row - laid.firsts[line]]
        return self._dress(line, laid.lines[line], piece)

    def _where(self, index: int) -> tuple[int, int]:
        """Page and row of the page."""
        page = min(bisect_right(self._firsts, index), self.pages) - 1
        return page, index - self._firsts[page]

    # -- as a body ----------------------------------------------------------------------------------------------

    def settle(self, top: int, height: int) -> int:
        while True:
            unknown = next((page for page in self.in_view(top, height) if self._can_count(page)), None)
            if unknown is None:
                return top
            if top < len(self._head):
                self._count(unknown)
                continue
            page, row = self._where(top)
            before = self._counts[page]
            self._count(unknown)
            if page == unknown:
                row = row * self._counts[page] // before
            top = self._firsts[page] + max(0, min(row, self._counts[page] - 1))

    def in_view(self, top: int, height: int) -> range:
        """The pages of rows `top` and on."""
        first, _ = self._where(max(top, len(self._head)))
        last, _ = self._where(max(min(top + height, len(self)) - 1, len(self._head)))
        return range(max(first, 0), last + 1)

    def missing(self, top: int, height: int) -> list[int]:
        """The pages in view and beside them that have to be asked for, those in view first."""
        view = self.in_view(top, height)
        around = [*view, view.stop, view.start - 1]
        return [page for page in around if 0 <= page < self.pages and self.book.lines(page) is None]

    def came(self, page: int, top: int) -> int:
        """A page of the file has come. Returns where the row at `top` is now."""
        anchor = self._where(top) if top >= len(self._head) else None
        self._laid.pop(page, None)
        if self.book.pages != self.pages:  # only now the file's size is known
            self.pages = self.book.pages
            self._counted = {n for n in self._counted if n < self.pages}
            self._counts = [self._counts[n] if n in self._counted else self._guess(n) for n in range(self.pages)]
            self._sum_up()
        return top if anchor is None else self._firsts[min(anchor[0], self.pages - 1)] + anchor[1]

    def key(self, index: int) -> int:
        if index < len(self._head):
            return index
        page, row = self._where(index)
        return (page + 1) * _PAGE_KEYS + row

    def index(self, key: int) -> int:
        page, row = divmod(key, _PAGE_KEYS)
        return min(row, len(self._head)) if page == 0 else self._firsts[min(page, self.pages) - 1] + row

    def place(self, index: int) -> Place:
        if index < len(self._head):
            return Place(_HEAD, index, 0)
        page, row = self._where(index)
        laid = self._lay(page)
        if laid is None or row >= laid.firsts[-1]:
            return Place(page, 0, 0)
        line = bisect_right(laid.firsts, row) - 1
        return Place(page, line, _pieces(laid.lines[line], self._cells)[row - laid.firsts[line]].start)

    def row_at(self, place: Place) -> int:
        if place.page == _HEAD:
            return min(place.line, len(self._head))
        page = min(place.page, self.pages - 1)
        if self._can_count(page):
            self._count(page)
        laid = self._lay(page)
        if laid is None or place.line >= len(laid.lines):
            return self._firsts[page]
        pieces = _pieces(laid.lines[place.line], self._cells)
        number = sum(piece.start <= place.at for piece in pieces) - 1
        return self._firsts[page] + laid.firsts[place.line] + max(number, 0)

    def lines(self, page: int) -> Sequence[str] | None:
        return [row.text for row in self._head] if page == _HEAD else self.book.lines(page)

    def continues(self, page: int) -> bool:
        return self.book.continues(page)

    # -- the parts ----------------------------------------------------------------------------------------------

    def _can_count(self, page: int) -> bool:
        return page not in self._counted and self.book.lines(page) is not None

    def _count(self, page: int) -> None:
        laid = self._lay(page)
        if laid is not None:
            self._counts[page] = laid.firsts[-1]
            self._counted.add(page)
            self._sum_up()

    def _lay(self, page: int) -> _Page | None:
        laid = self._laid.get(page)
        lines = self.book.lines(page)
        if lines is None:
            return None
        if laid is None:
            laid = self._laid[page] = _Page(lines, _firsts(lines, self._cells))
            if len(self._laid) > limits.PAGES_KEPT:
                self._laid.popitem(last=False)
        return laid


def _firsts(lines: Sequence[str], cells: int) -> list[int]:
    # No character is wider than two cells.
    sizes = (
        1 if 2 * len(line) <= cells or (len(line) <= cells and line.isascii()) else len(_pieces(line, cells))
        for line in lines
    )
    return [*accumulate(sizes, initial=0)]


@lru_cache(maxsize=256)
def _pieces(line: str, cells: int) -> Sequence[Piece]:
    return code_rows(line, cells)


def plain_row(number: int, line: str, piece: Piece) -> Row:
    """A row of text in the text's colour."""
    words = line[piece.start : piece.end]
    return Row((Span(" " * piece.hang + words),), margin=piece.hang, join=piece.join, words=words)
