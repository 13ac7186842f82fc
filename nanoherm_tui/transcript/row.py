"""A row of the transcript, and how styled text becomes rows of a width.

Columns: the mark (or the user's bar) at 2, all text from 4 to two cells before the right end. Rows know what copying
them gives, so that bars, indents and soft breaks are not copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from nanoherm_tui import text as cells
from nanoherm_tui.i18n import t
from nanoherm_tui.strips import LoneStrip
from nanoherm_tui.symbols import sym
from nanoherm_tui.transcript.slices import slices

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nanoherm_tui.theming.themes import Look

MARK_AT = 2
TEXT_AT = 4
RIGHT_MARGIN = 2

Ink = tuple[str, Style]


def _cropped(segments: list[Segment], width: int) -> list[Segment]:
    """The first `width` cells; half a character at the edge becomes a blank. Rich's own crop leaves parts of emoji."""
    out: list[Segment] = []
    for segment in segments:
        if segment.cell_length > width:
            kept = cells.take(segment.text, width)
            return [*out, Segment(kept + " " * (width - cell_len(kept)), segment.style)]
        out.append(segment)
        width -= segment.cell_length
    return out


class Row:
    """One row of the screen. Its strip is made when it is painted: most rows of a growing tail never are."""

    __slots__ = ("indent", "join", "segments", "text", "whole", "width")

    def __init__(
        self, segments: list[Segment], width: int, text: str = "", indent: int = 0, join: str = "\n", *, used: int = -1
    ) -> None:
        self.segments = segments if used <= width else _cropped(segments, width)
        """They take `width` cells: what is more (`used`) on a pane too narrow for its margins is cut off."""
        self.width = width
        self.text = text
        """What copying gives: without bars, marks and padding."""
        self.indent = indent
        """Characters of the row before `text`; 0 only in the row between two blocks."""
        self.join = join
        """What copying puts before it: "" or blanks when the row goes on with the line above."""
        self.whole: str | None = None
        """What copying gives instead when rows do not read on one after the other: a table's row with wrapped cells has
        all of it on its first row and "" on the others. A code line with tabs has it too, if it is one row."""

    @property
    def strip(self) -> Strip:
        return LoneStrip(self.segments, self.width)


def blank_row(width: int, look: Look) -> Row:
    """The row between two blocks."""
    return Row([Segment(" " * width, look.style())], width)


def new_row(width: int, look: Look) -> Row:
    """The row above the first block that has not been seen."""
    room = max(0, width - MARK_AT)
    words = cells.cut(f" {t('transcript.new')}", room - 1) if room else ""
    segments = [
        Segment(" " * min(width, MARK_AT), look.style()),
        Segment(sym("newlines") if room else "", look.mark("accent", bold=True)),
        Segment(words, look.style("accent", bold=True)),
        Segment(" " * (room - 1 - cell_len(words)), look.style()),
    ]
    return Row(segments, width)


def text_width(width: int) -> int:
    return max(2, width - TEXT_AT - RIGHT_MARGIN)


def row_of(
    width: int, look: Look, lead: Iterable[Ink], body: Iterable[Ink], join: str = "\n", tail: Iterable[Ink] = ()
) -> Row:
    """A row: `lead`, then `body`, which alone is copied, then `tail` and padding. All texts are clean."""
    segments = [Segment(text, style) for text, style in lead if text]
    indent = sum(len(s.text) for s in segments)
    used = sum(cell_len(s.text) for s in segments)
    copied: list[str] = []
    for text, style in body:
        if text:
            segments.append(Segment(text, style))
            copied.append(text)
            used += cell_len(text)
    for text, style in tail:
        if text:
            segments.append(Segment(text, style))
            used += cell_len(text)
    if used < width:
        segments.append(Segment(" " * (width - used), look.style()))
    return Row(segments, width, "".join(copied), indent, join, used=used)


def wrapped(
    inks: Sequence[Ink],
    width: int,
    look: Look,
    *,
    first: Sequence[Ink] | None = None,
    rest: Sequence[Ink] | None = None,
    room: int | None = None,
) -> list[Row]:
    """Prose rows of styled text. `first` and `rest` stand before the first and the other rows instead of the margin."""
    ground = look.style()
    margin: Sequence[Ink] = ((" " * TEXT_AT, ground),)
    first, rest = first or margin, rest or margin
    taken = sum(cell_len(text) for text, _ in rest)
    room = max(2, width - RIGHT_MARGIN - taken) if room is None else room
    rows: list[Row] = []
    for line in _split_lines(inks):
        plain = "".join(text for text, _ in line)
        join = "\n"
        spans = cells.wrap_spans(plain, room)
        end_before = 0
        for (start, end), body in zip(spans, slices(line, spans), strict=True):
            if start:
                join = plain[end_before:start]
            rows.append(row_of(width, look, rest if rows else first, body, join))
            end_before = end
    return rows


def _split_lines(inks: Sequence[Ink]) -> list[list[Ink]]:
    lines: list[list[Ink]] = [[]]
    for text, style in inks:
        head, *others = text.split("\n")
        lines[-1].append((head, style))
        lines.extend([(part, style)] for part in others)
    return lines


def prefix(text: str, look: Look) -> list[Ink]:
    return [(text, look.style("muted"))]
