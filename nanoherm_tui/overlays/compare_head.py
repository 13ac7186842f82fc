"""The facts of two sessions that are compared, side by side or one above the other."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.message import Message
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.strips import Painted, Part, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import fit
from nanoherm_tui.transcript.row import RIGHT_MARGIN
from nanoherm_tui.words.compare import GAP, Facts

NAMES: Final = ("A", "B")
_LABEL: Final = 2  # cells of a side's letter and a blank
_BEFORE: Final = 6  # cells before a side's facts
_STACKED_WHOLE: Final = 32  # rows from which both sides' facts have three rows each, one above the other


class CompareHead(Painted):
    """The facts of both, side by side or one above the other; the side that Enter opens is lit."""

    active = 0

    class SideChosen(Message):
        """One side's facts were clicked."""

        def __init__(self, side: int) -> None:
            super().__init__()
            self.side = side

    def __init__(self, sides: tuple[Facts, Facts]) -> None:
        super().__init__(id="compare-head")
        self._sides = sides

    def paint(self, width: int) -> list[Strip]:
        height = self.app.size.height
        beside = width >= limits.COMPARE_BESIDE
        left = width // 2 if beside else width
        sides = []
        for side, cells in ((0, left), (1, width - left if beside else width)):
            told = self._sides[side]
            use = told.use(cells - _BEFORE - RIGHT_MARGIN)
            lines = [told.title, use, told.changed]
            if height < limits.SHORT:
                lines = lines[:1]
            elif not beside and height < _STACKED_WHOLE:
                lines = [told.title, use + GAP + told.changed]
            sides.append(lines)
        if not beside:
            return [self._row(side, n, line, width) for side, lines in enumerate(sides) for n, line in enumerate(lines)]
        return [
            Strip.join(self._row(side, n, sides[side][n], cells) for side, cells in ((0, left), (1, width - left)))
            for n in range(len(sides[0]))
        ]

    def _row(self, side: int, n: int, line: str, cells: int) -> Strip:
        """A row of a side's facts, as wide as the conversation below it, with its margins."""
        ground, margin = look_of(self).style(), min(RIGHT_MARGIN, cells)
        return Strip.join([row(cells - margin, self._parts(side, n, line), ground), row(margin, [], ground)])

    def _parts(self, side: int, n: int, line: str) -> list[Part]:
        look = look_of(self)
        lit = side == self.active
        bar = (sym("bar"), look.mark("accent" if lit else "muted")) if n == 0 else (" ", look.style())
        name = fit(NAMES[side] if n == 0 else "", _LABEL)
        style = look.style("text", bold=True) if n == 0 else look.style("muted")
        return [("  ", look.style()), bar, (" ", look.style()), (name, style), (line, style)]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        height = self.size.height
        beside = self.size.width >= limits.COMPARE_BESIDE
        side = int(event.x >= self.size.width // 2) if beside else int(event.y >= height // 2)
        self.post_message(self.SideChosen(side))
