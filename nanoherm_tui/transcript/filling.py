"""The lines that fill a window, from a row down or from the end up. Blocks are drawn as far as they are seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nanoherm_tui.transcript.lines import Line, Place

if TYPE_CHECKING:
    from nanoherm_tui.transcript.layout import Layout
    from nanoherm_tui.transcript.row import Row

    Part = tuple[int, int, int, list[Row]]
    """An entry, the number of its block, how many of the block's rows are above the window, and the rows."""


def fill_up(layout: Layout, height: int) -> list[Line]:
    """The last lines of the transcript, `height` of them or fewer when it is shorter."""
    parts: list[Part] = []
    count = 0
    unit = layout.unit_before(len(layout.model.entries), 0)
    while unit is not None and count < height:
        rows = layout.rows_of(*unit)
        skip = max(0, len(rows) - (height - count))
        parts.append((*unit, skip, rows))
        count += len(rows) - skip
        unit = layout.unit_before(*unit)
    return _lines(layout, reversed(parts), height)


def fill_down(layout: Layout, top: Place, height: int) -> list[Line]:
    """The lines from `top` on, or from the next row that there is; `height` of them or fewer when the end comes."""
    parts: list[Part] = []
    count = 0
    entry, block, skip = top
    unit: tuple[int, int] | None = (entry, block)
    if entry >= len(layout.model.entries) or block >= layout.count(entry):
        unit, skip = layout.unit_after(entry - 1, layout.count(entry - 1) if entry > 0 else 0), 0
    while unit is not None and count < height:
        rows = layout.rows_of(*unit)
        skip = min(skip, max(0, len(rows) - 1))
        parts.append((*unit, skip, rows))
        count += len(rows) - skip
        skip = 0
        unit = layout.unit_after(*unit)
    return _lines(layout, parts, height)


def _lines(layout: Layout, parts: Iterable[Part], height: int) -> list[Line]:
    lines: list[Line] = []
    for index, number, skip, rows in parts:
        entry = layout.model.entries[index]
        block = entry.block(number)
        for row in range(skip, len(rows)):
            lines.append(Line(rows[row], entry, block, Place(index, number, row)))
    return lines[:height]
