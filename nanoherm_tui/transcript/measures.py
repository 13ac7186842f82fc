"""How many rows each entry takes at a width, and each of its blocks: counted when drawn, estimated before."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from agent_core.records import dataclass
from nanoherm_tui.transcript.blocks import Block, Card, Code
from nanoherm_tui.transcript.estimates import density, length, text_rows
from nanoherm_tui.transcript.heights import Heights
from nanoherm_tui.transcript.lines import Place

if TYPE_CHECKING:
    from nanoherm_tui.transcript.drawn import DrawnBlocks
    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.model import TranscriptModel


@dataclass(slots=True)
class Measured:
    """Heights of an entry's blocks, drawn or estimated."""

    rows: list[int]
    closed: int
    """How many of them belong to blocks that will not change while the text grows."""
    total: int


def gap_above(entries: list[Entry], index: int) -> bool:
    """One blank row between entries, none between consecutive cards."""
    return index > 0 and not (entries[index].kind == "card" and entries[index - 1].kind == "card")


class Measures:
    """Heights of the entries of a model. Those nobody has come near have what the lengths of their texts suggest."""

    def __init__(self, model: TranscriptModel, drawn: DrawnBlocks) -> None:
        self._model = model
        self._drawn = drawn
        self._width = 0
        self._heights = Heights()
        self._measured: list[Measured | None] = []
        self._versions: list[int] = []
        self._lengths: list[int] = []
        self._density = 0.0  # rows a character of an entry nobody has seen yet will probably take

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        """Rows of an entry, as far as known."""
        return self._heights[index]

    @property
    def total(self) -> int:
        """Rows of all entries, as far as known."""
        return self._heights.total

    def before(self, entry: int, block: int = 0) -> int:
        """Rows above an entry, or above a block of it, as far as known."""
        return self._heights.before(entry) + (sum(self.of(entry).rows[:block]) if block else 0)

    def find(self, row: int) -> Place:
        """The place of a row that is counted from the very top, as far as known."""
        entry, rest = self._heights.find(max(0, row))
        for block, rows in enumerate(self.of(entry).rows):
            if rest < rows:
                return Place(entry, block, rest)
            rest -= rows
        return Place(entry, 0, 0)

    def of(self, index: int) -> Measured:
        """Heights of the blocks of an entry, estimated where they have not been drawn. Makes the blocks."""
        measured = self._measured[index]
        if measured is None:
            entry = self._model.entries[index]
            rows = [self._estimate(index, n, block) for n, block in enumerate(entry.blocks)]
            measured = self._measured[index] = Measured(rows, len(entry.closed), sum(rows))
            self._heights.set(index, measured.total)
        return measured

    def counted(self, index: int, number: int, rows: int) -> None:
        """A block was drawn and has so many rows."""
        measured = self.of(index)
        grown = rows - measured.rows[number]
        if grown:
            measured.rows[number] = rows
            measured.total += grown
            self._heights.set(index, measured.total)

    # -- following the model --------------------------------------------------------------------------------------

    def begin(self, width: int) -> None:
        """The entries are others than before."""
        entries = self._model.entries
        self._versions = [entry.version for entry in entries]
        self._lengths = list(map(length, entries, chain((None,), entries)))
        self.guess(width)

    def guess(self, width: int) -> None:
        """Forget the heights of all entries for what their lengths suggest: nothing here reads thousands of texts."""
        entries = self._model.entries
        self._width = width
        self._measured = [None] * len(entries)
        self._density = rows = density(entries, width)
        self._heights = Heights(1 if n < 0 else 2 + int(n * rows) for n in self._lengths)

    def extend(self) -> None:
        """Take in the entries that have come at the end."""
        entries = self._model.entries
        for index in range(len(self._heights), len(entries)):
            self._measured.append(None)
            self._versions.append(entries[index].version)
            self._lengths.append(self._length(entries[index]))
            self._heights.append(self._guess(index))

    def outdated(self) -> set[Entry]:
        """The entries that have changed since they were taken in."""
        versions = self._versions
        return {e for e in self._model.entries[: len(versions)] if e.version != versions[e.index]}

    def renew(self, entry: Entry) -> None:
        """An entry has changed: keep the heights of its unchanging blocks, estimate the others."""
        index = entry.index
        self._versions[index] = entry.version
        self._lengths[index] = self._length(entry)
        measured = self._measured[index]
        if measured is None:
            if entry.is_live:
                self.of(index)
            else:
                self._heights.set(index, self._guess(index))
            return
        blocks = entry.blocks
        keep = min(measured.closed, len(blocks)) if entry.kind == "answer" else 0
        measured.rows[keep:] = [self._estimate(index, n, blocks[n]) for n in range(keep, len(blocks))]
        measured.closed = len(entry.closed)
        measured.total = sum(measured.rows)
        self._heights.set(index, measured.total)

    def _length(self, entry: Entry) -> int:
        return length(entry, self._model.entries[entry.index - 1] if entry.index else None)

    def _guess(self, index: int) -> int:
        n = self._lengths[index]
        return 1 if n < 0 else 2 + int(n * self._density)

    def _estimate(self, index: int, number: int, block: Block) -> int:
        drawn = self._drawn.height(self._model.entries[index], number, block)
        if drawn is not None:
            return drawn
        gap = int(block.gap if number else gap_above(self._model.entries, index))
        if isinstance(block, Code):
            return gap + block.text.count("\n") + 1
        if isinstance(block, Card):
            return gap + 1 + len(block.rows) + bool(block.more_lines)
        return gap + text_rows(getattr(block, "text", ""), self._width)
