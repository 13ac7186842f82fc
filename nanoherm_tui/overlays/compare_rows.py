"""The rows of two conversations side by side, or one above the other: drawn when they are asked for, some kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.strips import row
from nanoherm_tui.symbols import sym
from nanoherm_tui.transcript.pairs import Fold, Head, Pair, Unit
from nanoherm_tui.transcript.render import Moment, render
from nanoherm_tui.transcript.row import TEXT_AT, blank_row

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look
    from nanoherm_tui.transcript.entry import Entry


class Drawn:
    """The units of a comparison at one width and look."""

    def __init__(self, units: Sequence[Unit], width: int, look: Look, *, stacked: bool, unfolded: bool) -> None:
        self.units = units
        self.stacked = stacked
        self.key = (width, look, stacked, unfolded)
        self._width, self._look, self._unfolded = width, look, unfolded
        self._left = width if stacked else width // 2
        self._kept: OrderedDict[int, list[Strip]] = OrderedDict()
        self._count = 0

    def rows(self, number: int) -> list[Strip]:
        """The rows of a unit, each as wide as the view; at least one."""
        rows = self._kept.get(number)
        if rows is None:
            rows = self._kept[number] = self._draw(number)
            self._count += len(rows)
            while self._count > limits.ROW_CACHE and len(self._kept) > 1:
                _, gone = self._kept.popitem(last=False)
                self._count -= len(gone)
        else:
            self._kept.move_to_end(number)
        return rows

    def has_gap(self, number: int) -> bool:
        """A unit's first row is a blank one."""
        unit = self.units[number]
        return self._gap(number, unit) if isinstance(unit, Pair) else isinstance(unit, Head)

    def forget(self, number: int) -> None:
        """A unit looks different now."""
        self._count -= len(self._kept.pop(number, ()))

    def find(self, unit: Unit, side: int) -> int:
        """Where a side of a unit of another arrangement is in this one, or what is nearest to it."""
        if isinstance(unit, Fold) or not self.units:
            return 0
        wanted = (unit.entries[side] or unit.entries[1 - side]) if isinstance(unit, Pair) else None
        turn = 0
        for number, other in enumerate(self.units):
            if wanted is not None and isinstance(other, Pair) and any(entry is wanted for entry in other.entries):
                return number
            if isinstance(other, Pair | Head) and other.turn == unit.turn and not turn:
                turn = number
        return turn

    def lit(self, strip: Strip, side: int) -> Strip:
        """A row of the unit under the cursor: with the bar at the side's edge."""
        at = self._left if side and not self.stacked else 0
        bar = Strip([Segment(sym("bar"), self._look.mark("accent"))], 1)
        return Strip.join([strip.crop(0, at), bar, strip.crop(at + 1)])

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw(self, number: int) -> list[Strip]:
        unit, look = self.units[number], self._look
        if isinstance(unit, Fold):
            words = t("compare.equal_one" if unit.messages == 1 else "compare.equal", n=unit.messages)
            last = self.units[-1]
            if isinstance(last, Fold) or (isinstance(last, Pair) and not last.turn):
                words = t("compare.all_equal", n=unit.messages)
            mark = sym("open" if self._unfolded else "folded")
            return [self._line(f"{mark} {words}", number)]
        if isinstance(unit, Head):
            words = t("compare.no_turn" if unit.is_empty else "compare.turn_of", side="AB"[unit.side], n=unit.turn)
            return [blank_row(self._width, look).strip, self._line(words, number)]
        gap = self._gap(number, unit)
        if self.stacked:
            entry = unit.entries[0] or unit.entries[1]
            return self._entry(entry, self._width, gap=gap)
        left, right = (
            self._entry(entry, cells, gap=gap)
            for entry, cells in zip(unit.entries, (self._left, self._width - self._left), strict=True)
        )
        rows = max(len(left), len(right))
        left += [blank_row(self._left, look).strip] * (rows - len(left))
        right += [blank_row(self._width - self._left, look).strip] * (rows - len(right))
        return [Strip.join(pair) for pair in zip(left, right, strict=True)]

    def _line(self, words: str, number: int) -> Strip:
        look = self._look
        return row(self._width, [(" " * (TEXT_AT - 2 if number == 0 else TEXT_AT), look.style()),
                                 (words, look.style("muted"))], look.style())  # fmt: skip

    def _gap(self, number: int, unit: Pair) -> bool:
        """A blank row above, but for a card below cards."""
        above = self.units[number - 1] if number else None
        if above is None or isinstance(above, Head):
            return False
        kinds = {e.kind for one in (above, unit) if isinstance(one, Pair) for e in one.entries if e is not None}
        return not (isinstance(above, Pair) and kinds == {"card"})

    def _entry(self, entry: Entry | None, cells: int, *, gap: bool) -> list[Strip]:
        """An entry's rows as the transcript has them, the first of a very long one."""
        look = self._look
        rows = [blank_row(cells, look).strip] if gap else []
        if entry is None:
            return rows or [blank_row(cells, look).strip]
        most = len(rows) + limits.COMPARE_ROWS
        for block in entry.blocks:
            if block.gap and len(rows) > int(gap):
                rows.append(blank_row(cells, look).strip)
            rows += [one.strip for one in render(block, cells, look, Moment())]
            if len(rows) > most:
                more = [(" " * TEXT_AT, look.style()), (f"{sym('cut')} {t('compare.long')}", look.style("muted"))]
                return [*rows[:most], row(cells, more, look.style())]
        return rows or [blank_row(cells, look).strip]
