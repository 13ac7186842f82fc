"""The rows that blocks were drawn as: those of the last few hundred are kept."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.transcript.render import Moment, render
from nanoherm_tui.transcript.row import Row, blank_row, new_row

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look
    from nanoherm_tui.transcript.blocks import Block
    from nanoherm_tui.transcript.entry import Entry

Gap = bool | Literal["marked"]
"""Whether a blank row stands above a block, or the one that says that what follows has not been seen."""


@dataclass(slots=True)
class _Drawn:
    block: Block
    gap: Gap
    rows: list[Row]


class DrawnBlocks:
    """The rows of blocks, by the entry and the number of the block in it, in one look at one width."""

    def __init__(self) -> None:
        self.renders: Counter[tuple[str, int]] = Counter()
        """How often each kept block was drawn, by entry id and block key: for tests and measurements."""
        self._kept: OrderedDict[tuple[Entry, int], _Drawn] = OrderedDict()
        self._rows = 0

    def find(self, entry: Entry, number: int, block: Block, gap: Gap) -> list[Row] | None:
        """What this very block was drawn as; None unless that is kept."""
        drawn = self._kept.get((entry, number))
        if drawn is None or drawn.gap != gap or not (drawn.block is block or drawn.block == block):
            return None
        self._kept.move_to_end((entry, number))
        return drawn.rows

    def keep(self, entry: Entry, number: int, block: Block, gap: Gap, rows: list[Row]) -> None:
        """It has been drawn. What was not asked for longest goes when there are more than limits.ROW_CACHE rows."""
        key = (entry, number)
        before = self._kept.get(key)
        self._rows += len(rows) - (len(before.rows) if before is not None else 0)
        self._kept[key] = _Drawn(block, gap, rows)
        self._kept.move_to_end(key)
        self.renders[entry.id, block.key] += 1
        while self._rows > limits.ROW_CACHE and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))

    def height(self, entry: Entry, number: int, block: Block) -> int | None:
        """How many rows this block was drawn as, whatever stands above it; None unless that is kept."""
        drawn = self._kept.get((entry, number))
        return len(drawn.rows) if drawn is not None and drawn.block == block else None

    def last(self, entry: Entry, number: int) -> list[Row]:
        """What the block of this number was drawn as last, whichever it was; empty unless that is kept."""
        drawn = self._kept.get((entry, number))
        return drawn.rows if drawn is not None else []

    def clear(self) -> None:
        """Another look or width: nothing fits any more."""
        self._kept.clear()
        self._rows = 0

    def keep_only(self, keys: Collection[tuple[Entry, int]]) -> None:
        """Forget all but these blocks."""
        for key in [key for key in self._kept if key not in keys]:
            self._forget(key)

    def keep_entries(self, entries: list[Entry]) -> None:
        """Forget the blocks of all other entries."""
        if self._kept:
            alive = set(entries)
            for key in [key for key in self._kept if key[0] not in alive]:
                self._forget(key)

    def _forget(self, key: tuple[Entry, int]) -> None:
        old = self._kept.pop(key)
        self._rows -= len(old.rows)
        self.renders.pop((key[0].id, old.block.key), None)


def draw(block: Block, gap: Gap, width: int, look: Look, moment: Moment) -> list[Row]:
    """A block's rows with the one above it, if there is to be one."""
    rows = render(block, width, look, moment)
    if gap and rows:
        return [(new_row if gap == "marked" else blank_row)(width, look), *rows]
    if rows and block.join == "":
        rows[0].join = ""
    return rows
