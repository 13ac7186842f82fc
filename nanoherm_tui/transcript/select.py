"""What is selected in the conversation, how its end moves, and what copying it gives.

Copied text is what was written, not how it was drawn: lines that were wrapped are one again, bars, marks and margins
are left out, a code line is whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui import limits
from nanoherm_tui.text import clean
from nanoherm_tui.transcript import markdown
from nanoherm_tui.transcript.blocks import Block, Code, Note, Prose
from nanoherm_tui.transcript.lines import Line, Place
from nanoherm_tui.transcript.render import note_words
from nanoherm_tui.transcript.spots import (
    Motion,
    Point,
    Spot,
    all_rows,
    cell_of,
    chars_at,
    moved,
    point_of,
    rows_away,
    spot_of,
    word_at,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.layout import Layout


class Selected:
    """A stretch of a layout's conversation, from its anchor to its head, which is the end that moves."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.by_keys = False
        """Keys move the head, which is drawn as a caret."""
        self.caret: Point | None = None
        """Where the head stands, while keys move it."""
        self.span: tuple[Point, Point] | None = None
        """What is selected, in order; None when that is nothing."""
        self._anchor: Spot | None = None
        self._head: Spot | None = None
        self._grip: tuple[Spot, Spot] | None = None  # the character on which the mouse was pressed
        self._goal = -1  # the column that moving by rows keeps to

    # -- what changes it ------------------------------------------------------------------------------------------

    def clear(self) -> None:
        self.by_keys = False
        self._anchor = self._head = self._grip = None
        self._goal = -1
        self.resolve()

    def set(self, anchor: Point, head: Point) -> None:
        self._anchor, self._head = spot_of(self._layout, anchor), spot_of(self._layout, head)
        self._goal = -1
        self.resolve()

    @property
    def ends(self) -> tuple[Spot, Spot] | None:
        """Of what is selected: the anchor and the head; None when that is nothing."""
        if self.span is None or self._anchor is None or self._head is None:
            return None
        return self._anchor, self._head

    def put_back(self, anchor: Spot, head: Spot) -> None:
        """Select from one spot to the other."""
        self._anchor, self._head, self._goal = anchor, head, -1
        self.resolve()

    def press(self, line: Line, x: int) -> None:
        """The mouse is pressed at a cell: a drag begins with this character."""
        start, end = self._under(line, x)
        self._grip = (spot_of(self._layout, start), spot_of(self._layout, end))

    def drag(self, line: Line, x: int) -> None:
        """The mouse has moved, its button down: all characters from the first to this one, both whole."""
        if self._grip is None:
            return
        start, end = self._under(line, x)
        first, after_first = (point_of(self._layout, spot) for spot in self._grip)
        if first is None or after_first is None:
            self.clear()
        elif start >= first:
            self.set(first, end)
        else:
            self.set(after_first, start)

    def _under(self, line: Line, x: int) -> tuple[Point, Point]:
        start, end = chars_at(line.row, x)
        return Point(line.place, start), Point(line.place, end)

    def word(self, line: Line, x: int) -> None:
        self.set(*word_at(self._layout, Point(line.place, chars_at(line.row, x)[0])))

    def blocks(self, entry: int, numbers: Iterable[int]) -> None:
        """Some blocks of an entry, from the first row to the last."""
        places = [
            (Place(entry, number, at), row)
            for number in numbers
            for at, row in enumerate(self._layout.rows_of(entry, number))
            if row.indent
        ]
        if places:
            place, row = places[-1]
            self.set(Point(places[0][0], 0), Point(place, len(row.text)))

    def begin(self, at: Point) -> None:
        """Let keys move the head of what is selected; of nothing, from `at` on."""
        if self._head is None:
            self.set(at, at)
        self.by_keys = True
        self.resolve()

    def move(self, motion: Motion) -> None:
        head = self._point()
        if head is not None:
            self._put(moved(self._layout, head, motion))
            self._goal = -1

    def move_rows(self, rows: int) -> None:
        head = self._point()
        if head is None:
            return
        if self._goal < 0:
            row = self._layout.rows_of(head.place.entry, head.place.block)[head.place.row]
            self._goal = cell_of(row, head.char)
        self._put(rows_away(self._layout, head, rows, self._goal))

    def move_to(self, point: Point) -> None:
        if self._head is not None:
            self._put(point)
            self._goal = -1

    def _put(self, head: Point) -> None:
        self._head = spot_of(self._layout, head)
        self.resolve()

    def _point(self) -> Point | None:
        return point_of(self._layout, self._head) if self._head is not None else None

    # -- where it stands ------------------------------------------------------------------------------------------

    def resolve(self) -> None:
        """Find it again after the layout has changed; it is given up when one of its ends is gone."""
        self.span = self.caret = None
        if self._anchor is None or self._head is None:
            return
        anchor, head = point_of(self._layout, self._anchor), point_of(self._layout, self._head)
        if anchor is None or head is None:
            self.clear()
            return
        if self.by_keys:
            self.caret = head
        if anchor != head:
            start, end = (self._anchor, self._head) if anchor < head else (self._head, self._anchor)
            last = point_of(self._layout, end, ends=True)
            first = anchor if anchor < head else head
            if last is not None and start != end and first < last:
                self.span = first, last

    def chars_on(self, line: Line) -> tuple[int, int] | None:
        """The characters of a row that are selected."""
        if self.span is None or not self.span[0].place <= line.place <= self.span[1].place or not line.row.indent:
            return None
        start = self.span[0].char if line.place == self.span[0].place else 0
        end = self.span[1].char if line.place == self.span[1].place else len(line.row.text)
        return start, end

    # -- what copying gives ---------------------------------------------------------------------------------------

    def text(self) -> str:
        return "" if self.span is None else _text_between(self._layout, *self.span)


def _text_between(layout: Layout, start: Point, end: Point) -> str:
    inner = range(start.place.entry + 1, end.place.entry)
    entries = layout.model.entries
    if sum(len(entries[index].text) for index in inner if entries[index].kind != "card") > limits.COPY_DRAWN:
        # Drawing thousands of messages only to copy them would hold up the screen: those in between come as written.
        head = _drawn(layout, start, Point(Place(start.place.entry, 1 << 30, 0), 0))
        tail = _drawn(layout, Point(Place(end.place.entry, 0, 0), 0), end)
        return "\n\n".join([head, *filter(None, (_as_written(entries[index]) for index in inner)), tail.lstrip("\n")])
    return _drawn(layout, start, end)


def _drawn(layout: Layout, start: Point, end: Point) -> str:
    parts: list[str] = []
    whole = False  # the row before stands for this one too
    for place, row in all_rows(layout, start.place, end.place):
        since = start.char if place == start.place else 0
        until = end.char if place == end.place else len(row.text)
        if row.whole == "" and whole:
            continue
        whole = bool(row.whole) and since == 0 and until == len(row.text)
        text = row.whole if whole and row.whole else row.text[since:until]
        parts.append((row.join if parts else "") + text)
    return "".join(parts)


def _as_written(entry: Entry) -> str:
    if entry.kind == "card":
        card = entry.card
        return "" if card is None else "   ".join(filter(None, (f"{card.name} {card.subject}".rstrip(), card.outcome)))
    if entry.kind == "note":
        return note_words(entry.note) if entry.note is not None else ""
    if entry.kind == "thought" and not entry.open:
        return ""
    return clean(entry.text, tab_size=0).strip("\n")


def source_of(layout: Layout, entry: Entry, block: Block | None = None) -> str:
    """What copying one block gives, or (without one) the whole message: what was written, as it was written.

    A tool card gives its result, or its own row while there is none; a note the words it shows.
    """
    if entry.kind == "note" and isinstance(entry.note, Note):
        return note_words(entry.note)
    source = layout.model.copy_text(entry, block)
    return source if source.strip() or entry.kind != "card" else _as_written(entry)


def code_near(layout: Layout, entry: Entry, block: Block) -> str:
    """The code of the fence at a block of an answer, else of the next one in it, else of the one before; "" if none."""
    found: list[tuple[int, str]] = []
    for number, each in enumerate(entry.blocks):
        if isinstance(each, Code) and (each.first or not found):
            found.append((number, layout.model.copy_text(entry, each)))
        elif isinstance(each, Prose):
            pieces = markdown.parse(each.text, bullet=" ", quote=" ", number=each.number)
            found += [(number, piece.text.rstrip("\n")) for piece in pieces if isinstance(piece, markdown.Fence)]
    here = next((number for number, each in enumerate(entry.blocks) if each.key == block.key), 0)
    before = [code for number, code in found if number < here]
    after = [code for number, code in found if number >= here]
    return (after or before[-1:] or [""])[0]
