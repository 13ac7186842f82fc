"""A line of code in rows of a width, with where each row's text stands in it."""

from __future__ import annotations

from typing import Final, NamedTuple

from nanoherm_tui.text import wrap_code_spans

NARROWEST: Final = 8  # code is not wrapped into less: a pane that narrow shows nothing that can be read


class Piece(NamedTuple):
    """A part of a line of code that has a row of its own."""

    start: int
    end: int
    hang: int
    """Blanks before it."""
    join: str
    """What stood between it and the piece before."""


def code_rows(line: str, cells: int | None) -> list[Piece]:
    """The pieces of one line of code in rows of `cells` (None: it is not wrapped)."""
    if cells is None:
        return [Piece(0, len(line), 0, "\n")]
    parts, hang = wrap_code_spans(line, max(cells, NARROWEST))
    pieces = [Piece(*parts[0], 0, "\n")]
    for start, end in parts[1:]:
        blank = line.startswith(" ", start)  # where the line was broken: it begins no row
        pieces.append(Piece(start + blank, end, hang, " " * blank))
    return pieces
