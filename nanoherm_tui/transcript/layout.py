"""Where every block stands: the place the reader is at, and the rows of the window.

The reader's place is an anchor (entry, block, row), never a row number counted from the top: what arrives below, and
estimates that prove wrong above, do not move what is being read. Entries that have not come near the window have
estimated heights; a block is drawn when it is first needed and kept while it is among the last few hundred.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nanoherm_tui import limits
from nanoherm_tui.transcript.drawn import DrawnBlocks, Gap, draw
from nanoherm_tui.transcript.filling import fill_down, fill_up
from nanoherm_tui.transcript.lines import Line, Place
from nanoherm_tui.transcript.measures import Measures, gap_above
from nanoherm_tui.transcript.render import Moment, wants_moment

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look
    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.model import TranscriptModel
    from nanoherm_tui.transcript.row import Row


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
        self.lines: list[Line] = []
        self.marked: tuple[Entry, int] | None = None
        """The first block that has not been seen, by its key: the row above it says so."""
        self._anchor = Place(0, 0, 0)
        self._drawn = DrawnBlocks()
        self.renders = self._drawn.renders
        """How often each kept block was drawn, by entry id and block key: for tests and measurements."""
        self._measures = Measures(model, self._drawn)
        self._structure = -1
        self._prepended = model.prepended
        self._left: tuple[int, int] = (-1, 0)  # the last entry, and its height, when the end was left
        self._end_is_open = False  # the window's last block may still change
        self._rebuild()

    # -- what the view asks ---------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """Rows of the whole transcript, as far as known."""
        return self._measures.total

    @property
    def top(self) -> int:
        """Rows above the window, as far as known."""
        place = self.lines[0].place if self.lines else self._anchor
        if place.entry >= len(self._measures):
            return 0
        return self._measures.before(place.entry, place.block) + place.row

    @property
    def new_rows(self) -> int:
        """Rows that have come since the end was left, as far as known."""
        entry, height = self._left
        if self.stick or entry >= len(self._measures):
            return 0
        grown = self._measures[entry] - height if entry >= 0 else 0
        return max(0, grown + self.total - self._measures.before(entry + 1))

    @property
    def seen_entries(self) -> int:
        """How many entries have been in the window: those before the end was left, and what was read since."""
        read = self.lines[-1].place.entry + 1 if self.lines else 0
        return max(read, min(self._left[0] + 1, len(self._measures)))

    @property
    def first_new(self) -> Place | None:
        """The first row that has not been seen, by the mark, or has come since the end was left; None without any."""
        if self.marked is not None:
            entry, key = self.marked
            number = next((n for n, block in enumerate(entry.blocks) if block.key == key), 0)
            return Place(entry.index, number, 0)
        if not self.new_rows:
            return None
        index, height = self._left
        if index >= 0 and self._measures[index] > height:
            for block, rows in enumerate(self._measures.of(index).rows):
                if height < rows:
                    return Place(index, block, height)
                height -= rows
        return Place(*unit, 0) if (unit := self.unit_after(index, self.count(index) if index >= 0 else 0)) else None

    def is_marked(self, line: Line) -> bool:
        """Whether it is the row that says that what follows has not been seen."""
        return line.place.row == 0 and self.marked == (line.entry, line.block.key)

    def configure(self, look: Look, width: int, *, anew: bool = False) -> None:
        """Take on another look or width; the top row stays where it is. `anew` also forgets what has been drawn."""
        if look is self.look and width == self.width and not anew:
            return
        offset = self._characters_above()
        same_heights = width == self.width and not anew
        nothing_new = not self.new_rows
        self.look, self.width = look, width
        self._drawn.clear()
        if not same_heights:
            self._measures.guess(width)
        self._seek_characters(offset)
        if nothing_new:
            self._remember_end()

    def window(self, height: int) -> list[Line]:
        """The lines of the window, `height` of them or fewer when the transcript is shorter."""
        if height <= 0:  # hidden for now: the place is kept
            return []
        self.height = height
        if self.stick:
            lines = fill_up(self, height)
        else:
            lines = fill_down(self, self._anchor, height)
            if len(lines) < height or not self._goes_below(lines[-1]):
                self.stick = True
                lines = fill_up(self, height)
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
            rows = self.rows_of(line.place.entry, line.place.block)
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
                before = self.unit_before(entry, block)
                if before is None:
                    row = 0
                    break
                entry, block = before
                row += len(self.rows_of(entry, block))
        elif not self.stick:
            while row >= (size := len(self.rows_of(entry, block))):
                after = self.unit_after(entry, block)
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
        self._anchor = self._measures.find(row)

    def go_to(self, place: Place) -> None:
        """Show a row: nothing moves when the window has it, else it stands a third down, or lower near the end."""
        self.hold()
        if any(line.place == place for line in self.lines):
            return
        self._anchor = place
        lines = self.window(self.height)
        at = next((number for number, line in enumerate(lines) if line.place == place), 0)
        if at < self.height // 3:
            self.scroll(at - self.height // 3)
            self.window(self.height)

    def top_at(self, place: Place) -> None:
        """Put a row at the window's top, as far as there is text below."""
        self.hold()
        self._anchor = place

    def show_from(self, entry: int, block: int) -> None:
        """Put a block at the window's top: what stands above has been seen, it and what follows is new."""
        self.stick = False
        above = sum(self._measures.of(entry).rows[:block])
        self._left = (entry, above) if block else (entry - 1, self._measures[entry - 1] if entry else 0)
        self._anchor = Place(entry, block, 0)

    def reveal(self, place: Place) -> None:
        """Scroll as little as brings a row into the window, which has to be worked out afterwards."""
        if any(line.place == place for line in self.lines):
            return
        row, top = self.row_number(place.entry, place.block) + place.row, self.top
        by = row - top if row < top else row - top - self.height + 1
        if abs(by) <= limits.WALKED_WINDOWS * self.height:
            self.scroll(by)
            self.window(self.height)
        if not any(line.place == place for line in self.lines):
            self.go_to(place)

    def go_home(self) -> None:
        self.hold()
        first = self.unit_after(-1, 0)
        self._anchor = Place(*first, 0) if first else Place(0, 0, 0)

    def go_end(self) -> None:
        self.stick = True

    @property
    def spot(self) -> tuple[Entry, int, int] | None:
        """What the window begins with: the entry, the number of its block, how many characters of that are above."""
        entry, block, _ = self._anchor
        if entry >= len(self.model.entries):
            return None
        return self.model.entries[entry], block, self._characters_above()

    def go_to_spot(self, entry: Entry, block: int, characters: int) -> None:
        """Begin the window with this, as far as there is text below; a block that is not there is the entry's last."""
        self.window(self.height)
        self.hold()
        self._anchor = Place(entry.index, min(block, max(0, self.count(entry.index) - 1)), 0)
        self._seek_characters(characters)

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
        last = len(self._measures) - 1
        self._left = (last, self._measures[last] if last >= 0 else 0)

    # -- drawing --------------------------------------------------------------------------------------------------

    def rows_of(self, index: int, number: int) -> list[Row]:
        """The rows of a block, its blank row above included; drawn now unless that was done before."""
        entry = self.model.entries[index]
        block = entry.block(number)
        gap: Gap = block.gap if number else gap_above(self.model.entries, index)
        if self.marked == (entry, block.key):
            gap = "marked"
        if not wants_moment(block) and (kept := self._drawn.find(entry, number, block, gap)) is not None:
            return kept
        rows = draw(block, gap, self.width, self.look, self.moment)
        self._drawn.keep(entry, number, block, gap, rows)
        self._measures.counted(index, number, len(rows))
        return rows

    def left(self) -> None:
        """It is out of view: of what was drawn the window alone is kept."""
        self._drawn.keep_only({(line.entry, line.place.block) for line in self.lines})

    def has_more(self, entry: int, block: int, rows: int) -> bool:
        """Whether more than some rows stand from a block on. Draws as many, and counts them."""
        unit: tuple[int, int] | None = (entry, block)
        while unit is not None and rows >= 0:
            rows -= len(self.rows_of(*unit))
            unit = self.unit_after(*unit)
        return rows < 0

    def row_number(self, entry: int, block: int) -> int:
        """How many rows stand above a block, as far as known."""
        return self._measures.before(entry, block)

    def _goes_below(self, line: Line) -> bool:
        place = line.place
        if place.row < len(self.rows_of(place.entry, place.block)) - 1:
            return True
        return self.unit_after(place.entry, place.block) is not None

    # -- units: (entry, block) pairs, entries without blocks left out ---------------------------------------------

    def count(self, entry: int) -> int:
        """How many blocks an entry has."""
        return len(self._measures.of(entry).rows)

    def unit_before(self, entry: int, block: int) -> tuple[int, int] | None:
        while block <= 0:
            entry -= 1
            if entry < 0:
                return None
            block = self.count(entry)
        return entry, block - 1

    def unit_after(self, entry: int, block: int) -> tuple[int, int] | None:
        block += 1
        entries = len(self.model.entries)
        while entry < 0 or block >= self.count(entry):
            entry += 1
            block = 0
            if entry >= entries:
                return None
        return entry, block

    # -- following the model --------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Take in whatever happened to the model while nobody looked."""
        if self._structure == self.model.structure:
            self.update(self._measures.outdated())
        else:
            self._rebuild()

    def update(self, changed: Iterable[Entry]) -> bool:
        """Take in changed entries; True when the window may look different."""
        if self._structure != self.model.structure:
            self._rebuild()
            return True
        affected = self.stick or len(self.lines) < self.height
        self._measures.extend()
        last = self.lines[-1].place if self.lines else Place(0, 0, 0)
        first = self.lines[0].place if self.lines else last
        for entry in changed:
            self._measures.renew(entry)
            inside = first.entry <= entry.index < last.entry
            affected = affected or inside or (entry.index == last.entry and (self._end_is_open or not entry.is_live))
        return affected

    def _rebuild(self) -> None:
        """The entries are others than before: measure them anew, stay at the top row if its entry is still there."""
        anchor_entry = self.lines[0].entry if self.lines else None
        entries = self.model.entries
        self._structure = self.model.structure
        above, self._prepended = self.model.prepended - self._prepended, self.model.prepended
        self._left = (self._left[0] + above, self._left[1])
        self._measures.begin(self.width)
        self._drawn.keep_entries(entries)
        if (
            anchor_entry is not None
            and anchor_entry.index < len(entries)
            and entries[anchor_entry.index] is anchor_entry
        ):
            self._anchor = self._anchor._replace(entry=anchor_entry.index)
        elif not self.stick and self._anchor.entry >= len(entries):
            self.stick = True

    # -- keeping the top row through a change of width ------------------------------------------------------------

    def _characters_above(self) -> int:
        """Characters of the anchor's block above the top row."""
        if not self.lines or self._anchor.entry >= len(self.model.entries):
            return 0
        rows = self._drawn.last(self.model.entries[self._anchor.entry], self._anchor.block)
        return sum(len(row.text) for row in rows[: self._anchor.row])

    def _seek_characters(self, characters: int) -> None:
        if self.stick or not self.lines:
            return
        entry, block, row = self._anchor
        if entry >= len(self.model.entries) or block >= self.count(entry):
            return
        if characters:
            row = 0
            for number, drawn in enumerate(self.rows_of(entry, block)):
                row = number
                characters -= len(drawn.text)
                if characters < 0:
                    break
        self._anchor = Place(entry, block, row)
