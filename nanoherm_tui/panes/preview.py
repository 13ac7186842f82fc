"""A part of a file as rows: numbered, coloured where it is looked at, the lines that were asked for on a tint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import Body, Row, RowList, Span, Spans
from nanoherm_tui.panes.changed_words import Run, coloured, inked
from nanoherm_tui.panes.hunk_rows import NUMBER
from nanoherm_tui.panes.pages import Book, BookRows
from nanoherm_tui.text import clean, cut_path, visible, width, wrap

if TYPE_CHECKING:
    from agent_core.workspace.preview import FilePreview
    from nanoherm_tui.panes.wrapped import Piece


@dataclass(frozen=True, slots=True)
class Preview:
    """A file to be looked at, or why it cannot be."""

    path: str
    first: int = 0
    """The first line that was asked for; 0: none."""
    last: int = 0
    file: FilePreview | None = None
    problem: str = ""


def preview_heading(preview: Preview, cells: int) -> Row:
    """The file's name, and which lines of it are shown."""
    count = _count(preview.file) if preview.file is not None else ""
    room = max(cells - 1 - width(count), 2)
    return Row((Span(cut_path(visible(preview.path), room), bold=True),), (Span(count, "muted"),))


def preview_rows(preview: Preview, cells: int) -> Body:
    """The lines of the file, or why there are none."""
    file = preview.file
    if file is None:
        return RowList([Row((Span(line, "muted"),)) for line in wrap(clean(preview.problem), max(cells, 1))])
    if not file.lines:
        return RowList([Row((Span(t("dock.empty_file"), "muted"),))])
    digits = max(NUMBER, len(str(file.first + len(file.lines))))
    book = _Part(file)
    lines = _Lines(preview, file, book, digits)
    return BookRows(book, cells - digits - 2, dress=lines.row)


def _count(file: FilePreview) -> str:
    if len(file.lines) == file.total:
        return t("dock.line") if file.total == 1 else t("dock.lines", n=file.total)
    return t("dock.lines_of", first=file.first, last=file.first + len(file.lines) - 1, total=file.total)


class _Part(Book):
    """The lines of the file on one page; none is two, though it may hold a form feed, or what a progress bar wrote."""

    def __init__(self, file: FilePreview) -> None:
        super().__init__()
        self._shown = [clean(line).replace("\n", " ") for line in file.lines]

    def lines(self, page: int) -> Sequence[str]:
        return self._shown


class _Lines:
    """Makes the rows of a file; colours are worked out when a line is first seen, some lines at a time."""

    def __init__(self, preview: Preview, file: FilePreview, book: Book, digits: int) -> None:
        self._file = file
        self._lines = book.lines(0) or ()
        self._digits = digits
        self._asked = range(preview.first, max(preview.first, preview.last) + 1) if preview.first else range(0)
        self._runs: dict[int, Sequence[Run]] = {}

    def row(self, index: int, line: str, piece: Piece) -> Row:
        margin = self._digits + 2 + piece.hang
        number = self._file.first + index
        ground = "surface" if number in self._asked else "panel"
        words = line[piece.start : piece.end]
        left = partial(self._left, index, line, piece, ground)
        return Row(left, bg=ground, margin=margin, join=piece.join, words=words)

    def _left(self, index: int, line: str, piece: Piece, ground: str) -> Spans:
        number = f"{self._file.first + index:>{self._digits}}" if piece.start == 0 else " " * self._digits
        # Bold, as the tint alone cannot be seen in the terminal's own colours.
        margin = Span(number + " " * (2 + piece.hang), "muted", bold=ground == "surface")
        runs = self._coloured(index)
        return (margin, *inked(line, piece.start, piece.end, runs, (), ground, ground))

    def _coloured(self, index: int) -> Sequence[Run]:
        if index not in self._runs:
            first = index - index % limits.HIGHLIGHT_LINES
            lines = self._lines[first : first + limits.HIGHLIGHT_LINES]
            self._runs |= enumerate(coloured(lines, self._file.path), first)
        return self._runs[index]
