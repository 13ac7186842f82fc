"""Where every block stands: heights, the place the reader is at, and the rows of the window.

The reader's place is an anchor (entry, block, row), never a row number counted from the top: what arrives below, and
estimates that prove wrong above, do not move what is being read. Entries that have not come near the window have
estimated heights; a block is drawn when it is first needed and kept while it is among the last few hundred.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from nanoherm_tui import limits
from nanoherm_tui.themes import Look
from nanoherm_tui.transcript.blocks import Block, Card, Code
from nanoherm_tui.transcript.heights import Heights
from nanoherm_tui.transcript.model import Entry, TranscriptModel, can_open
from nanoherm_tui.transcript.render import (
    RIGHT_MARGIN,
    TEXT_AT,
    Moment,
    Row,
    blank_row,
    render,
    wants_moment,
)


class Place(NamedTuple):
    """A row of a block of an entry, by their numbers."""

    entry: int
    block: int
    row: int


class Line(NamedTuple):
    """A row of the window and where it comes from."""

    row: Row
    entry: Entry
    block: Block
    place: Place
    key: int
    """Its selection key: grows down the transcript and stays when text arrives or the window scrolls."""


@dataclass(slots=True)
class _Measured:
    """Heights of an entry's blocks, drawn or estimated."""

    rows: list[int]
    closed: int
    """How many of them belong to blocks that will not change while the text grows."""
    total: int


@dataclass(slots=True)
class _Drawn:
    block: Block
    gap: bool
    rows: list[Row]


@dataclass(slots=True)
class Stats:
    """What was drawn, for tests and measurements."""

    renders: Counter[tuple[str, int]] = field(default_factory=Counter)
    """(entry id, block key) → times drawn."""


class Layout:
    """One model at one width in one look."""

    def __init__(self, model: TranscriptModel, look: Look, width: int) -> None:
        self.model = model
        self.look = look
        self.width = width
        self.height = 0
        self.moment = Moment()
        self.stick = True
        """Follow the end."""
        self.cursor: tuple[Entry, int] | None = None
        """The selected block: its entry and key."""
        self.lines: list[Line] = []
        self.stats = Stats()
        self._anchor = Place(0, 0, 0)
        self._cache: OrderedDict[tuple[Entry, int], _Drawn] = OrderedDict()
        self._cached_rows = 0
        self._measured: list[_Measured | None] = []
        self._versions: list[int] = []
        self._heights = Heights()
        self._structure = -1
        self._left: tuple[int, int] = (-1, 0)  # the last entry, and its height, when the end was left
        self._end_is_open = False  # the window's last block may still change
        self._rebuild()

    # -- what the view asks ---------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """Rows of the whole transcript, as far as known."""
        return self._heights.total

    @property
    def top(self) -> int:
        """Rows above the window, as far as known."""
        place = self.lines[0].place if self.lines else self._anchor
        if place.entry >= len(self._heights):
            return 0
        measured = self._measured[place.entry]
        above = sum(measured.rows[: place.block]) if measured else 0
        return self._heights.before(place.entry) + above + place.row

    @property
    def new_rows(self) -> int:
        """Rows that have come since the end was left, as far as known."""
        entry, height = self._left
        if self.stick or entry >= len(self._heights):
            return 0
        grown = self._heights[entry] - height if entry >= 0 else 0
        return max(0, grown + self.total - self._heights.before(entry + 1))

    def configure(self, look: Look, width: int, *, anew: bool = False) -> None:
        """Take on another look or width; the top row stays where it is. `anew` also forgets what has been drawn."""
        if look is self.look and width == self.width and not anew:
            return
        offset = self._characters_above()
        same_heights = width == self.width and not anew
        nothing_new = not self.new_rows
        self.look, self.width = look, width
        self._cache.clear()
        self._cached_rows = 0
        if not same_heights:
            self._measured = [None] * len(self._measured)
            self._heights = Heights(self._estimates())
        self._seek_characters(offset)
        if nothing_new:
            self._remember_end()

    def catch_up(self) -> None:
        """Take in whatever happened to the model while nobody looked."""
        if self._structure == self.model.structure:
            versions = self._versions
            self.update({e for e in self.model.entries[: len(versions)] if e.version != versions[e.index]})
        else:
            self._rebuild()

    def update(self, changed: Iterable[Entry]) -> bool:
        """Take in changed entries; True when the window may look different."""
        if self._structure != self.model.structure:
            self._rebuild()
            return True
        affected = self.stick or len(self.lines) < self.height
        entries = self.model.entries
        for index in range(len(self._heights), len(entries)):
            self._measured.append(None)
            self._versions.append(entries[index].version)
            self._heights.append(self._estimate(index))
        last = self.lines[-1].place if self.lines else Place(0, 0, 0)
        first = self.lines[0].place if self.lines else last
        for entry in changed:
            index = entry.index
            self._versions[index] = entry.version
            self._remeasure(index)
            inside = first.entry <= index < last.entry
            affected = affected or inside or (index == last.entry and (self._end_is_open or not entry.is_live))
        return affected

    def window(self, height: int) -> list[Line]:
        """The lines of the window, `height` of them or fewer when the transcript is shorter."""
        self.height = height
        if self.stick:
            lines = self._fill_up(height)
        else:
            lines = self._fill_down(height)
            if len(lines) < height or (height and not self._rows_below(lines[-1])):
                self.stick = True
                lines = self._fill_up(height)
        if lines:
            self._anchor = lines[0].place
            end = lines[-1]
            self._end_is_open = end.place.block >= len(end.entry.closed)
        else:
            self._anchor = Place(0, 0, 0)
        self.lines = lines
        return lines

    def tick(self, moment: Moment) -> list[int]:
        """Let running marks step; returns the window's lines that changed."""
        self.moment = moment
        changed: list[int] = []
        for number, line in enumerate(self.lines):
            if not wants_moment(line.block):
                continue
            rows = self._rows(line.place.entry, line.place.block)
            if line.place.row < len(rows) and rows[line.place.row].segments != line.row.segments:
                self.lines[number] = line._replace(row=rows[line.place.row])
                changed.append(number)
        return changed

    # -- moving ---------------------------------------------------------------------------------------------------

    def scroll(self, rows: int) -> None:
        """Move the window down by `rows`, up when negative."""
        if not self.lines:
            return
        entry, block, row = self.lines[0].place
        row += rows
        if rows < 0:
            self.hold()
            while row < 0:
                before = self._unit_before(entry, block)
                if before is None:
                    row = 0
                    break
                entry, block = before
                row += len(self._rows(entry, block))
        elif not self.stick:
            while row >= (size := len(self._rows(entry, block))):
                after = self._unit_after(entry, block)
                if after is None:
                    self.stick = True
                    break
                row -= size
                entry, block = after
        self._anchor = Place(entry, block, row)

    def go_to_row(self, row: int) -> None:
        """Put the window's top at `row` counted from the very top: what dragging the scrollbar means."""
        if row >= self.total - self.height:
            self.stick = True
            return
        self.hold()
        entry, rest = self._heights.find(max(0, row))
        for block in range(self._count(entry)):
            size = self._measure(entry).rows[block]
            if rest < size:
                self._anchor = Place(entry, block, rest)
                return
            rest -= size
        self._anchor = Place(entry, 0, 0)

    def go_home(self) -> None:
        self.hold()
        first = self._unit_after(-1, 0)
        self._anchor = Place(*first, 0) if first else Place(0, 0, 0)

    def go_end(self) -> None:
        self.stick = True

    def hold(self) -> None:
        """Stop following without moving."""
        if self.stick:
            self.stick = False
            self._remember_end()

    def toggled(self, entry: Entry) -> None:
        """An entry was folded or unfolded: the window stays, and what has come to light is not new."""
        nothing_new = not self.new_rows
        self.hold()
        self.update({entry})
        if nothing_new:
            self._remember_end()

    def _remember_end(self) -> None:
        last = len(self._heights) - 1
        self._left = (last, self._heights[last] if last >= 0 else 0)

    # -- the cursor -----------------------------------------------------------------------------------------------

    def is_cursor(self, line: Line) -> bool:
        return self.cursor is not None and self.cursor[0] is line.entry and self.cursor[1] == self.group_key(line.place)

    def group_key(self, place: Place) -> int:
        """The key of the block at `place`, or of the first chunk when it is one of several."""
        entry = self.model.entries[place.entry]
        blocks = entry.blocks
        number = min(place.block, len(blocks) - 1)
        while number > 0 and (entry.kind != "answer" or blocks[number].join in ("", "\n")):
            number -= 1
        return blocks[number].key

    def move_cursor(self, step: int) -> bool:
        """Select the next block (`step` 1) or the one before (-1), and scroll as little as that needs.

        A block higher than the window is read to its end before the cursor leaves it. False when nothing moved.
        """
        if not self.lines:
            return False
        visible = [line for line in self.lines if self.is_cursor(line)]
        if not visible:
            line = self.lines[0] if step > 0 else self.lines[-1]
            self._select(line.place)
            self._reveal()
            return True
        edge = visible[-1] if step > 0 else visible[0]
        at_edge = self.lines[-1] if step > 0 else self.lines[0]
        place = self._group_after(edge.place) if step > 0 else self._group_before(edge.place)
        if edge is at_edge and self._goes_on(edge, step):
            self.scroll(step * max(1, self.height // 2))
            self.window(self.height)
            return True
        if place is None:
            return False
        self._select(place)
        self._reveal(from_above=step > 0)
        return True

    def select_line(self, line: Line) -> bool:
        """Put the cursor on the block of `line`; False when it was there."""
        if self.is_cursor(line):
            return False
        self._select(line.place)
        return True

    def cursor_block(self) -> tuple[Entry, Block] | None:
        """The selected entry and block, if the entry still exists."""
        if self.cursor is None:
            return None
        entry, key = self.cursor
        if entry.index >= len(self.model.entries) or self.model.entries[entry.index] is not entry:
            self.cursor = None
            return None
        block = next((b for b in entry.blocks if b.key == key), None)
        return None if block is None else (entry, block)

    def _select(self, place: Place) -> None:
        self.cursor = (self.model.entries[place.entry], self.group_key(place))

    def _reveal(self, *, from_above: bool = True) -> None:
        """Scroll so that the selected block is inside the window, at least its beginning (or its end)."""
        self.window(self.height)
        if self.cursor is None:
            return
        entry, key = self.cursor
        blocks = entry.blocks
        start = next((n for n, b in enumerate(blocks) if b.key == key), 0)
        end = start
        while end + 1 < len(blocks) and self.group_key(Place(entry.index, end + 1, 0)) == key:
            end += 1
        top = self._row_of(entry.index, start)
        bottom = self._row_of(entry.index, end) + len(self._rows(entry.index, end))
        window_top = self.top
        if bottom > window_top + self.height and from_above:
            # Down to its end, but never past its beginning.
            self.scroll(min(bottom - window_top - self.height, top - window_top))
        elif top < window_top:
            self.scroll(
                max(top - window_top, bottom - window_top - self.height) if not from_above else top - window_top
            )
        self.window(self.height)

    def _row_of(self, entry: int, block: int) -> int:
        return self._heights.before(entry) + sum(self._measure(entry).rows[:block])

    def _goes_on(self, line: Line, step: int) -> bool:
        """Whether the selected block has rows beyond the window's edge."""
        rows = len(self._rows(line.place.entry, line.place.block))
        if step < 0 and line.place.row > 0:
            return True
        if step > 0 and line.place.row < rows - 1:
            return True
        beside = (self._unit_after if step > 0 else self._unit_before)(line.place.entry, line.place.block)
        return beside is not None and self.cursor == (
            self.model.entries[beside[0]],
            self.group_key(Place(*beside, 0)),
        )

    def _group_after(self, place: Place) -> Place | None:
        key, unit = self.group_key(place), self._unit_after(place.entry, place.block)
        while unit is not None and unit[0] == place.entry and self.group_key(Place(*unit, 0)) == key:
            unit = self._unit_after(*unit)
        return None if unit is None else Place(*unit, 0)

    def _group_before(self, place: Place) -> Place | None:
        key, unit = self.group_key(place), self._unit_before(place.entry, place.block)
        while unit is not None and unit[0] == place.entry and self.group_key(Place(*unit, 0)) == key:
            unit = self._unit_before(*unit)
        return None if unit is None else Place(*unit, 0)

    # -- text -----------------------------------------------------------------------------------------------------

    def rows_between(self, low: int, high: int) -> Iterable[tuple[int, Row]]:
        """The rows whose selection keys lie in [low, high], with their keys."""
        entries = self.model.entries
        start, end = 0, len(entries)
        while start < end:
            middle = (start + end) // 2
            if entries[middle].base <= low:
                start = middle + 1
            else:
                end = middle
        for index in range(max(0, start - 1), len(entries)):
            base = entries[index].base
            blocks = entries[index].blocks
            for number, block in enumerate(blocks):
                first = base + block.key
                if first > high:
                    return
                if number + 1 < len(blocks) and base + blocks[number + 1].key <= low:
                    continue
                for offset, row in enumerate(self._rows(index, number)):
                    if low <= first + offset <= high:
                        yield first + offset, row

    # -- drawing --------------------------------------------------------------------------------------------------

    def _rows(self, index: int, number: int) -> list[Row]:
        """The rows of a block, its blank row above included; drawn now unless that was done before."""
        entry = self.model.entries[index]
        closed = entry.closed
        block = closed[number] if number < len(closed) else entry.tail[number - len(closed)]
        gap = block.gap if number else self._gap_above(index)
        key = (entry, number)
        drawn = self._cache.get(key)
        timed = wants_moment(block)
        if drawn is not None and drawn.gap == gap and not timed and (drawn.block is block or drawn.block == block):
            self._cache.move_to_end(key)
            return drawn.rows
        rows = render(block, self.width, self.look, self.moment)
        if gap and rows:
            rows = [blank_row(self.width, self.look), *rows]
        elif rows and block.join == "":
            rows[0].join = ""
        self.stats.renders[entry.id, block.key] += 1
        if drawn is not None:
            self._cached_rows -= len(drawn.rows)
        self._cached_rows += len(rows)
        self._cache[key] = _Drawn(block, gap, rows)
        self._cache.move_to_end(key)
        while self._cached_rows > limits.ROW_CACHE and len(self._cache) > 1:
            self._cached_rows -= len(self._cache.popitem(last=False)[1].rows)
        self._set_height(index, number, len(rows))
        return rows

    def _gap_above(self, index: int) -> bool:
        """One blank row between entries, none between consecutive cards."""
        if index == 0:
            return False
        entries = self.model.entries
        return not (entries[index].kind == "card" and entries[index - 1].kind == "card")

    def _fill_up(self, height: int) -> list[Line]:
        parts: list[tuple[int, int, int, list[Row]]] = []
        count = 0
        unit = self._unit_before(len(self.model.entries), 0)
        while unit is not None and count < height:
            rows = self._rows(*unit)
            skip = max(0, len(rows) - (height - count))
            parts.append((*unit, skip, rows))
            count += len(rows) - skip
            unit = self._unit_before(*unit)
        return self._lines(reversed(parts), height)

    def _fill_down(self, height: int) -> list[Line]:
        parts: list[tuple[int, int, int, list[Row]]] = []
        count = 0
        entry, block, skip = self._anchor
        unit: tuple[int, int] | None = (entry, block)
        if entry >= len(self.model.entries) or block >= self._count(entry):
            unit, skip = self._unit_after(entry - 1, self._count(entry - 1) if entry > 0 else 0), 0
        while unit is not None and count < height:
            rows = self._rows(*unit)
            skip = min(skip, max(0, len(rows) - 1))
            parts.append((*unit, skip, rows))
            count += len(rows) - skip
            skip = 0
            unit = self._unit_after(*unit)
        return self._lines(parts, height)

    def _lines(self, parts: Iterable[tuple[int, int, int, list[Row]]], height: int) -> list[Line]:
        lines: list[Line] = []
        for index, number, skip, rows in parts:
            entry = self.model.entries[index]
            closed = entry.closed
            block = closed[number] if number < len(closed) else entry.tail[number - len(closed)]
            first = entry.base + block.key
            for row in range(skip, len(rows)):
                lines.append(Line(rows[row], entry, block, Place(index, number, row), first + row))
        return lines[:height]

    def _rows_below(self, line: Line) -> bool:
        place = line.place
        if place.row < len(self._rows(place.entry, place.block)) - 1:
            return True
        return self._unit_after(place.entry, place.block) is not None

    # -- units: (entry, block) pairs, entries without blocks left out ---------------------------------------------

    def _count(self, entry: int) -> int:
        return len(self._measure(entry).rows)

    def _unit_before(self, entry: int, block: int) -> tuple[int, int] | None:
        while block <= 0:
            entry -= 1
            if entry < 0:
                return None
            block = self._count(entry)
        return entry, block - 1

    def _unit_after(self, entry: int, block: int) -> tuple[int, int] | None:
        block += 1
        entries = len(self.model.entries)
        while entry < 0 or block >= self._count(entry):
            entry += 1
            block = 0
            if entry >= entries:
                return None
        return entry, block

    # -- heights --------------------------------------------------------------------------------------------------

    def _rebuild(self) -> None:
        """The entries are others than before: measure them anew, stay at the top row if its entry is still there."""
        anchor_entry = self.lines[0].entry if self.lines else None
        entries = self.model.entries
        self._structure = self.model.structure
        self._measured = [None] * len(entries)
        self._versions = [entry.version for entry in entries]
        self._heights = Heights(self._estimates())
        if self._cache:
            alive = set(entries)
            for key in [key for key in self._cache if key[0] not in alive]:
                self._cached_rows -= len(self._cache.pop(key).rows)
        if (
            anchor_entry is not None
            and anchor_entry.index < len(entries)
            and entries[anchor_entry.index] is anchor_entry
        ):
            self._anchor = self._anchor._replace(entry=anchor_entry.index)
        elif not self.stick and self._anchor.entry >= len(entries):
            self.stick = True

    def _estimates(self) -> list[int]:
        return [self._estimate(index) for index in range(len(self.model.entries))]

    def _estimate(self, index: int) -> int:
        """Rows an entry will probably have, blank row included."""
        entry = self.model.entries[index]
        gap = int(self._gap_above(index))
        if entry.kind == "card":
            return gap + 1 + (len(entry.card.rows) if entry.card else 0)
        if entry.kind == "thought" and not entry.open:
            return gap + 1
        rows = _text_rows(entry.text, self.width)
        if entry.kind == "user" and not entry.open and can_open(entry):
            rows = min(rows, limits.USER_LINES_FOLDED + 1)
        return gap + rows

    def _measure(self, index: int) -> _Measured:
        """Heights of the blocks of an entry, estimated where they have not been drawn. Makes the blocks."""
        measured = self._measured[index]
        if measured is None:
            entry = self.model.entries[index]
            rows = [self._block_estimate(index, n, block) for n, block in enumerate(entry.blocks)]
            measured = self._measured[index] = _Measured(rows, len(entry.closed), sum(rows))
            self._heights.set(index, measured.total)
        return measured

    def _remeasure(self, index: int) -> None:
        """An entry has changed: keep the heights of its unchanging blocks, estimate the others."""
        entry = self.model.entries[index]
        measured = self._measured[index]
        if measured is None:
            if entry.is_live:
                self._measure(index)
            else:
                self._heights.set(index, self._estimate(index))
            return
        blocks = entry.blocks
        keep = min(measured.closed, len(blocks)) if entry.kind == "answer" else 0
        fresh = [self._block_estimate(index, n, blocks[n]) for n in range(keep, len(blocks))]
        measured.rows[keep:] = fresh
        measured.closed = len(entry.closed)
        measured.total = sum(measured.rows)
        self._heights.set(index, measured.total)

    def _set_height(self, index: int, number: int, rows: int) -> None:
        measured = self._measure(index)
        grown = rows - measured.rows[number]
        if grown:
            measured.rows[number] = rows
            measured.total += grown
            self._heights.set(index, measured.total)

    def _block_estimate(self, index: int, number: int, block: Block) -> int:
        gap = int(block.gap if number else self._gap_above(index))
        if isinstance(block, Code):
            return gap + block.text.count("\n") + 1
        if isinstance(block, Card):
            return gap + 1 + len(block.rows) + bool(block.more_lines)
        return gap + _text_rows(getattr(block, "text", ""), self.width)

    # -- keeping the top row through a change of width ------------------------------------------------------------

    def _characters_above(self) -> int:
        """Characters of the anchor's block above the top row."""
        if not self.lines or self._anchor.entry >= len(self.model.entries):
            return 0
        drawn = self._cache.get((self.model.entries[self._anchor.entry], self._anchor.block))
        return sum(len(row.text) for row in drawn.rows[: self._anchor.row]) if drawn else 0

    def _seek_characters(self, characters: int) -> None:
        if self.stick or not self.lines:
            return
        entry, block, row = self._anchor
        if entry >= len(self.model.entries) or block >= self._count(entry):
            return
        if characters:
            row = 0
            for number, drawn in enumerate(self._rows(entry, block)):
                row = number
                characters -= len(drawn.text)
                if characters < 0:
                    break
        self._anchor = Place(entry, block, row)


def _text_rows(text: str, width: int) -> int:
    """Rows a text will probably take: its lines, and one more for each width's worth of cells."""
    room = max(2, width - TEXT_AT - RIGHT_MARGIN)
    cells = len(text) if text.isascii() else len(text.encode("utf-8", "replace")) * 2 // 3
    lines = text.count("\n") + 1
    return lines + max(0, cells - lines * room // 2) // room
