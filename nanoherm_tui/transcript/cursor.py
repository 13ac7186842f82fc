"""The selected block, and how it moves through the window.

What is selected is a group: a block together with the chunks a long one was cut into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanoherm_tui.transcript.blocks import Block
    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.layout import Layout
    from nanoherm_tui.transcript.lines import Line


class Cursor:
    """At most one selected block of a layout's model."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.at: tuple[Entry, int] | None = None
        """The entry, and the key of the group's first block."""

    def is_on(self, line: Line) -> bool:
        if self.at is None or self.at[0] is not line.entry:
            return False
        return self._key(line.place.entry, line.place.block) == self.at[1]

    def block(self) -> tuple[Entry, Block] | None:
        """The selected entry and block, if they are still there."""
        if self.at is None:
            return None
        entry, key = self.at
        entries = self._layout.model.entries
        if entry.index >= len(entries) or entries[entry.index] is not entry:
            self.at = None
            return None
        block = next((b for b in entry.blocks if b.key == key), None)
        return None if block is None else (entry, block)

    def select(self, line: Line) -> None:
        self._put(line.place.entry, line.place.block)

    def group(self, line: Line) -> list[int]:
        """The numbers of the blocks that belong together with a line's."""
        key = self._key(line.place.entry, line.place.block)
        return [n for n in range(len(line.entry.blocks)) if self._key(line.place.entry, n) == key]

    def move(self, step: int) -> None:
        """Select the next block (`step` 1) or the one before (-1), and scroll as little as that needs.

        A block higher than the window is read to its end before the cursor leaves it. A cursor that is out of sight
        comes back at the window's edge.
        """
        layout = self._layout
        if not layout.lines:
            return
        visible = [line for line in layout.lines if self.is_on(line)]
        if not visible:
            self.select(layout.lines[0] if step > 0 else layout.lines[-1])
            self._reveal(step)
            return
        edge = visible[-1 if step > 0 else 0]
        if edge is layout.lines[-1 if step > 0 else 0] and self._goes_on(edge, step):
            layout.scroll(step * max(1, layout.height // 2))
            layout.window(layout.height)
            return
        beside = self._beside(edge.place.entry, edge.place.block, step)
        if beside is not None:
            self._put(*beside)
            self._reveal(step)

    def _put(self, entry: int, block: int) -> None:
        self.at = (self._layout.model.entries[entry], self._key(entry, block))

    def _key(self, index: int, number: int) -> int:
        """The key of the group that a block belongs to. Other entries than answers are one group."""
        entry = self._layout.model.entries[index]
        blocks = entry.blocks
        number = min(number, len(blocks) - 1)
        while number > 0 and (entry.kind != "answer" or blocks[number].join in ("", "\n")):
            number -= 1
        return blocks[number].key

    def _beside(self, entry: int, block: int, step: int) -> tuple[int, int] | None:
        """The nearest block of another group, below (1) or above (-1)."""
        key = self._key(entry, block)
        unit = self._unit(entry, block, step)
        while unit is not None and unit[0] == entry and self._key(*unit) == key:
            unit = self._unit(*unit, step)
        return unit

    def _unit(self, entry: int, block: int, step: int) -> tuple[int, int] | None:
        return (self._layout.unit_after if step > 0 else self._layout.unit_before)(entry, block)

    def _goes_on(self, line: Line, step: int) -> bool:
        """Whether the selected group has rows beyond the window's edge."""
        entry, block, row = line.place
        if (row > 0) if step < 0 else (row < len(self._layout.rows_of(entry, block)) - 1):
            return True
        unit = self._unit(entry, block, step)
        return unit is not None and unit[0] == entry and self._key(*unit) == self._key(entry, block)

    def _reveal(self, step: int) -> None:
        """Scroll until the group stands in the window; of one that is too high, the side the cursor came from."""
        layout = self._layout
        layout.window(layout.height)
        if self.at is None:
            return
        entry, key = self.at
        group = [number for number in range(len(entry.blocks)) if self._key(entry.index, number) == key]
        top = layout.row_number(entry.index, group[0])
        bottom = layout.row_number(entry.index, group[-1]) + len(layout.rows_of(entry.index, group[-1]))
        start, end = layout.top, layout.top + layout.height
        if step > 0:
            rows = min(bottom - end, top - start) if bottom > end else min(0, top - start)
        else:
            rows = max(top - start, bottom - end) if top < start else max(0, bottom - end)
        if rows:
            layout.scroll(rows)
            layout.window(layout.height)
