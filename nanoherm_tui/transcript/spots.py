"""Places in a conversation's text, and how to get from one to another.

A `Spot` holds at any width: it counts what shows before it in its block, so it stays on its words when rows are wrapped
anew, when more text arrives and when a table's columns move. A `Point` is where that stands now: a row of the layout
and a character of the row's text. Both lie before a character, or at a row's end.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len, split_graphemes

from nanoherm_tui.transcript.lines import Place

if TYPE_CHECKING:
    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.layout import Layout
    from nanoherm_tui.transcript.row import Row


class Spot(NamedTuple):
    entry: Entry
    key: int
    """Of its block."""
    ink: int
    """Characters but blanks before it in the block."""
    blanks: int
    """Blanks and line ends since the last of those."""


class Point(NamedTuple):
    place: Place
    char: int


def spot_of(layout: Layout, point: Point) -> Spot:
    entry = layout.model.entries[point.place.entry]
    rows = layout.rows_of(point.place.entry, point.place.block)
    text, starts = _read_on(rows)
    before = text[: starts[point.place.row] + point.char]
    ink = before.rstrip()
    return Spot(entry, entry.blocks[point.place.block].key, len("".join(ink.split())), len(before) - len(ink))


def point_of(layout: Layout, spot: Spot, *, ends: bool = False) -> Point | None:
    """Where a spot stands now; None when its entry is gone.

    Between two rows that read on without a blank, the next row's start; with `ends` the end of the row before.
    """
    entries = layout.model.entries
    entry = spot.entry
    if entry.index >= len(entries) or entries[entry.index] is not entry:
        return None
    blocks = entry.blocks
    if not blocks:
        return None
    number = max(0, bisect_right(blocks, spot.key, key=lambda block: block.key) - 1)
    left = spot.ink
    while True:
        rows = layout.rows_of(entry.index, number)
        text, starts = _read_on(rows)
        ink = len("".join(text.split()))
        # A block that has grown too long was cut in two since.
        if left <= ink or number + 1 == len(blocks):
            break
        left -= ink
        number += 1
    at = 0
    if left:
        last = next(islice(re.finditer(r"\S", text), left - 1, None), None)
        at = last.end() if last else len(text)
    blanks = spot.blanks
    while blanks and at < len(text) and text[at].isspace():
        at += 1
        blanks -= 1
    row = bisect_right(starts, at) - 1
    if ends and row and starts[row] == at and not rows[row].join and rows[row - 1].indent:
        row -= 1
    return Point(Place(entry.index, number, row), min(at - starts[row], len(rows[row].text)))


def _read_on(rows: list[Row]) -> tuple[str, list[int]]:
    """A block's text as one, and where in it each row's begins. The blank row above the block is no part of it."""
    text, starts = "", []
    begun = False
    for row in rows:
        text += row.join if begun else ""
        starts.append(len(text))
        text += row.text
        begun = begun or row.indent > 0
    return text, starts


# -- cells ----------------------------------------------------------------------------------------------------------


def cell_of(row: Row, char: int) -> int:
    """The column at which a character of the row's text is drawn."""
    return cell_len("".join(segment.text for segment in row.segments)[: row.indent + char])


def chars_at(row: Row, x: int) -> tuple[int, int]:
    """The character drawn at column `x`, as (start, end): both its cells are its own. Beside the text, where it ends.

    What belongs together, a letter and its accent say, is one character.
    """
    used = cell_of(row, 0)
    if x < used:
        return 0, 0
    for start, end, size in split_graphemes(row.text)[0]:
        used += size
        if x < used:
            return start, end
    return len(row.text), len(row.text)


def size_of(text: str, char: int) -> int:
    """How many characters belong together at `char`; 0 at the end."""
    return next((end - char for _, end, size in split_graphemes(text)[0] if size and end > char), 0)


# -- rows -------------------------------------------------------------------------------------------------------------


def rows_from(layout: Layout, place: Place, step: int) -> Iterator[tuple[Place, Row]]:
    """The rows that have text, from `place` on (itself first) down, or with `step` -1 up. Draws what it comes to."""
    unit: tuple[int, int] | None = (place.entry, place.block)
    at = place.row
    while unit is not None:
        rows = layout.rows_of(*unit)
        for number in range(at, len(rows)) if step > 0 else range(min(at, len(rows) - 1), -1, -1):
            if rows[number].indent:
                yield Place(*unit, number), rows[number]
        unit = layout.unit_after(*unit) if step > 0 else layout.unit_before(*unit)
        at = 0 if step > 0 else 1 << 30


def all_rows(layout: Layout, first: Place, last: Place) -> Iterator[tuple[Place, Row]]:
    """Every row between two, the blank ones too."""
    unit: tuple[int, int] | None = (first.entry, first.block)
    while unit is not None and unit <= (last.entry, last.block):
        for number, row in enumerate(layout.rows_of(*unit)):
            place = Place(*unit, number)
            if first <= place <= last:
                yield place, row
        unit = layout.unit_after(*unit)


# -- motions ----------------------------------------------------------------------------------------------------------

Motion = Literal["left", "right", "word", "back", "word_end", "row_start", "row_end", "first", "last"]


def moved(layout: Layout, point: Point, motion: Motion) -> Point:
    """Where `motion` leads from `point`; itself where there is no further to go."""
    row = layout.rows_of(point.place.entry, point.place.block)[point.place.row]
    match motion:
        case "left" | "right":
            return _beside(layout, point, row, 1 if motion == "right" else -1)
        case "word":
            return _next_word(layout, point)
        case "word_end":
            return _word_end(layout, point)
        case "back":
            return _word_before(layout, point)
        case "row_start":
            return Point(point.place, 0)
        case "row_end":
            return Point(point.place, len(row.text))
        case "first":
            place, _ = next(rows_from(layout, Place(*(layout.unit_after(-1, 0) or (0, 0)), 0), 1))
            return Point(place, 0)
        case "last":
            place, row = _last_row(layout, point)
            return Point(place, len(row.text))


def rows_away(layout: Layout, point: Point, rows: int, cell: int) -> Point:
    """`rows` rows of text further down, up when negative, at the column `cell`; as far as there are any."""
    last = next(islice(rows_from(layout, point.place, rows), abs(rows), None), None)
    if last is None:
        *_, last = rows_from(layout, point.place, rows)
    place, row = last
    return Point(place, chars_at(row, cell)[0])


def _last_row(layout: Layout, point: Point) -> tuple[Place, Row]:
    unit = layout.unit_before(len(layout.model.entries), 0) or (point.place.entry, point.place.block)
    return next(rows_from(layout, Place(*unit, 1 << 30), -1))


def _beside(layout: Layout, point: Point, row: Row, step: int) -> Point:
    ends = [0, *(end for _, end, size in split_graphemes(row.text)[0] if size)]
    if step > 0:
        after = next((end for end in ends if end > point.char), None)
    else:
        after = next((end for end in reversed(ends) if end < point.char), None)
    if after is not None:
        return Point(point.place, after)
    other = next(islice(rows_from(layout, point.place, step), 1, None), None)
    if other is None:
        return point
    place, beyond = other
    return Point(place, 0 if step > 0 else len(beyond.text))


def _characters(layout: Layout, point: Point, step: int) -> Iterator[tuple[Point, str]]:
    """The characters after a point, or with `step` -1 those before it, each with its place; a row's end is a blank."""
    last: tuple[Place, Row] | None = None
    for place, row in rows_from(layout, point.place, step):
        if last is not None and step > 0 and row.join:
            yield Point(last[0], len(last[1].text)), " "
        elif last is not None and step < 0 and last[1].join:
            yield Point(place, len(row.text)), " "
        if step > 0:
            span = range(point.char if last is None else 0, len(row.text))
        else:
            span = range((point.char if last is None else len(row.text)) - 1, -1, -1)
        for char in span:
            yield Point(place, char), row.text[char]
        last = place, row


def _next_word(layout: Layout, point: Point) -> Point:
    begun, left = "", False
    for at, character in _characters(layout, point, 1):
        kind = _kind(character)
        if kind == " ":
            left = True
        elif left or (begun and kind != begun):
            return at
        begun = begun or kind
    return moved(layout, point, "last")


def _word_end(layout: Layout, point: Point) -> Point:
    begun = ""
    for at, character in _characters(layout, point, 1):
        kind = _kind(character)
        if begun and kind != begun:
            return at
        begun = kind.strip()
    return moved(layout, point, "last")


def _word_before(layout: Layout, point: Point) -> Point:
    found, begun = point, ""
    for at, character in _characters(layout, point, -1):
        kind = _kind(character)
        if begun and kind != begun:
            return found
        begun = kind.strip()
        found = at
    return found


def _kind(character: str) -> str:
    """What makes words: a run of letters and digits, of wide letters, or of signs."""
    if character.isspace():
        return " "
    if not (character.isalnum() or character == "_"):
        return "sign"
    return "wide" if cell_len(character) == 2 else "word"


# A path or an address is one word too; what ends a sentence is not part of it.
_WIDE = r"\u1100-\u11ff\u2e80-\ua4cf\ua960-\uffdc"
_WORD = re.compile(rf"(?:[^\W{_WIDE}]|[-./~+@%:#=&?\\])+|(?:(?=[{_WIDE}])\w)+")
_ENDS = ".,:;?"


def word_at(layout: Layout, point: Point) -> tuple[Point, Point]:
    """The word around a point, also where rows cut it; the single character where there is none."""
    place = point.place
    rows = layout.rows_of(place.entry, place.block)
    first = place.row
    while first and "\n" not in rows[first].join:
        first -= 1
    last = place.row
    while last + 1 < len(rows) and "\n" not in rows[last + 1].join:
        last += 1
    text, starts = _read_on(rows[first : last + 1])
    at = starts[place.row - first] + point.char
    for found in _WORD.finditer(text):
        start, end = found.start(), found.start() + len(found[0].rstrip(_ENDS) or found[0])
        if start <= at < end:
            break
    else:
        start, end = at, min(at + 1, len(text))

    def to_point(index: int, *, ends: bool) -> Point:
        row = bisect_right(starts, index) - 1
        if ends and row and starts[row] == index:
            row -= 1
        return Point(place._replace(row=first + row), min(index - starts[row], len(rows[first + row].text)))

    return to_point(start, ends=False), to_point(end, ends=True)


_PATH = re.compile(r"(?P<path>[^\s:]*[\w~][^\s:]*)(?::(?P<line>\d{1,7})(?::\d+|-\d+)?)?\Z")


def path_in(word: str) -> tuple[str, int] | None:
    """The file a word names, and the line (0: none): `src/date.py:41`. None for what has no slash and no suffix."""
    found = _PATH.match(word.strip("`'\"()[]<>,;"))
    if found is None or "://" in word:
        return None
    path = found["path"]
    if "/" not in path and not re.search(r"\w\.[A-Za-z]\w{0,9}\Z", path):
        return None
    return path, int(found["line"] or 0)
