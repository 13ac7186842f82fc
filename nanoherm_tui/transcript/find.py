"""Find in the conversation: what is shown, case aside, across wrapped rows. What is folded unfolds for it.

A search goes on for a moment at a time, so that no key waits for thousands of messages: until it knows, the answer is
None and `go_on` takes it further. Messages whose source cannot show the query are never drawn, and looked at once.
"""

from __future__ import annotations

import re
import time
from dataclasses import field
from typing import TYPE_CHECKING

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.transcript.blocks import Block, Card, Note, Thought
from nanoherm_tui.transcript.lines import Line, Place
from nanoherm_tui.transcript.render import note_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.layout import Layout
    from nanoherm_tui.transcript.row import Row

_REMEMBERED = 300  # searched blocks whose hits are kept for painting: more than a window shows
_PARTS = re.compile(r"[a-z0-9]+|\S")
# What may stand in the source between two parts of what is shown: marks, blanks, a character reference, an address.
_BETWEEN = r"(?:[\x00-/:-@\[-`{-\x7f]|&[#a-z0-9]+;|\]\((?=[^)\s]*[a-z0-9])[^)\s]*\)){0,80}?"


@dataclass(slots=True)
class _Searched:
    """A block's rows and the characters of each that belong to a hit, as (start, end, begins here)."""

    rows: Sequence[Row]
    spans: dict[int, list[tuple[int, int, bool]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Search:
    """A walk through the entries that is under way."""

    step: int
    inclusive: bool
    """The place it starts from counts."""
    start: Place
    structure: int
    """The model's: when it changes, the walk has to begin anew."""
    places: Iterator[Place | None]


class Find:
    """A query over a layout's model, and the hit it stands at."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.query = ""
        self.at: tuple[Entry, int, int] | None = None
        """The entry, block number and row of the hit that was gone to."""
        self._source = _Source("")
        self._without: dict[Entry, int] = {}  # entries whose source does not have the query, by version
        self._search: _Search | None = None
        self._searched: dict[tuple[Entry, int], _Searched] = {}

    def look_for(self, query: str) -> bool | None:
        """Search anew, from the hit it stands at or the top of the window; True when there is a hit."""
        query = query.lower()
        if not self.query or not query.startswith(self.query):
            self._without.clear()
        self.query = query
        self._source = _Source(query)
        self._searched.clear()
        return self._begin(1, inclusive=True)

    def put_back(self, query: str, at: tuple[Entry, int, int] | None) -> None:
        """Mark what was looked for before and stand at its hit, without going anywhere."""
        self.query, self.at = query, at
        self._source = _Source(query)
        self._without.clear()
        self._searched.clear()

    def place_in(self, entry: Entry, query: str) -> Place | None:
        """The first row of an entry on which `query` begins, as it is folded now."""
        for number in range(len(entry.blocks)):
            spans = _spans(self._layout.rows_of(entry.index, number), query.lower())
            for row, found in sorted(spans.items()):
                if any(begins for _, _, begins in found):
                    return Place(entry.index, number, row)
        return None

    def next(self, step: int) -> bool | None:
        """Go to the next hit, or with -1 to the one before, around the ends; False when there is none."""
        if self._search is not None and self._search.step == step:
            return self.go_on()
        return self._begin(step, inclusive=False)

    @property
    def is_searching(self) -> bool:
        return self._search is not None

    def go_on(self) -> bool | None:
        """Search for another moment. True: went to a hit; False: there is none; None: not known yet."""
        search, model = self._search, self._layout.model
        if search is None:
            return False
        if search.structure != model.structure:
            return self._begin(search.step, inclusive=search.inclusive)
        end = time.monotonic() + limits.FIND_SLICE
        for place in search.places:
            if place is not None:
                self._search = None
                self.at = (model.entries[place.entry], place.block, place.row)
                self._layout.go_to(place)
                return True
            if time.monotonic() > end:
                return None
        self._search = None
        # All the way around: the only hit is the one it stands at.
        return not search.inclusive and self.at is not None and self._has_hit(search.start)

    def spans(self, line: Line) -> list[tuple[int, int]]:
        """The characters of the row's text that belong to hits."""
        if not self.query:
            return []
        found = self._block(line.place.entry, line.place.block).spans.get(line.place.row, ())
        return [(start, end) for start, end, _ in found]

    def is_at(self, line: Line) -> bool:
        return self.at == (line.entry, line.place.block, line.place.row)

    def _begin(self, step: int, *, inclusive: bool) -> bool | None:
        self._search = None
        if not self.query:
            self.at = None
            return False
        start = self._start()
        places = self._places(start, step, inclusive)
        self._search = _Search(step, inclusive, start, self._layout.model.structure, places)
        return self.go_on()

    def _start(self) -> Place:
        entries = self._layout.model.entries
        if self.at is not None:
            entry, block, row = self.at
            if entry.index < len(entries) and entries[entry.index] is entry:
                return Place(entry.index, block, row)
            self.at = None
        return self._layout.lines[0].place if self._layout.lines else Place(0, 0, 0)

    def _places(self, start: Place, step: int, inclusive: bool) -> Iterator[Place | None]:
        """The rows on which hits begin, from `start` on, all the way around; None after each piece of work."""
        entries = self._layout.model.entries
        count = len(entries)
        for distance in range(count + 1 if count else 0):
            index = (start.entry + step * distance) % count
            entry = entries[index]
            if self._may_hold(entry):
                self._unfold(entry)
                numbers = range(len(entry.blocks))
                for number in numbers if step > 0 else reversed(numbers):
                    for place in self._hits(index, number)[::step]:
                        beyond = place >= start if step > 0 else place <= start
                        if distance in (0, count) and beyond == (distance == count):
                            continue  # of the entry it starts in first what lies beyond, at the end the rest
                        if inclusive or place != start:
                            yield place
                    yield None
            yield None

    def _may_hold(self, entry: Entry) -> bool:
        """Whether an entry may show the query: a quick look, so that thousands need not be drawn to find out."""
        if self._without.get(entry) == entry.version:
            return False
        # A card's name, subject and outcome, and a notice's words, are not in the entry's text.
        texts = map(_text_of, entry.blocks) if entry.kind in ("card", "note") else ()
        if self._source.may_be_in("\n".join((entry.text, *texts))):
            return True
        self._without[entry] = entry.version
        return False

    def _hits(self, index: int, number: int) -> list[Place]:
        """The rows of a block on which hits begin."""
        blocks = self._layout.model.entries[index].blocks
        if number >= len(blocks) or not self._source.may_be_in(_text_of(blocks[number])):
            return []
        rows = sorted(_spans(self._layout.rows_of(index, number), self.query).items())
        return [Place(index, number, row) for row, spans in rows if any(begins for _, _, begins in spans)]

    def _has_hit(self, place: Place) -> bool:
        return place.row in _spans(self._layout.rows_of(place.entry, place.block), self.query)

    def _unfold(self, entry: Entry) -> None:
        folded = entry.kind in ("thought", "user") and not entry.open
        if folded and self.query in entry.text.lower() and self._layout.model.toggle(entry):
            self._layout.toggled(entry)

    def _block(self, index: int, number: int) -> _Searched:
        entry = self._layout.model.entries[index]
        rows = self._layout.rows_of(index, number)
        searched = self._searched.get((entry, number))
        if searched is None or searched.rows is not rows:
            if len(self._searched) > _REMEMBERED:
                self._searched.clear()
            searched = self._searched[entry, number] = _Searched(rows, _spans(rows, self.query))
        return searched


class _Source:
    """What a source, in lower case, has wherever `query` is shown. It may have it elsewhere too."""

    def __init__(self, query: str) -> None:
        parts = _PARTS.findall(query)
        self._words = [part for part in parts if part.isalnum()]
        self._pattern = re.compile(
            _BETWEEN.join(
                re.escape(part) if part.isalnum() else f"(?:{re.escape(part)}|&[#a-z0-9]+;)" for part in parts
            )
        )
        self._is_word = self._words == parts and len(parts) == 1

    def may_be_in(self, source: str) -> bool:
        source = source.lower()
        if not all(word in source for word in self._words):
            return False
        return self._is_word or self._pattern.search(source) is not None


def _text_of(block: Block) -> str:
    """What a block shows, or was made of."""
    if isinstance(block, Card):
        return "\n".join((block.name, block.subject, block.outcome, *block.rows))
    if isinstance(block, Note):
        return note_words(block)
    return block.line if isinstance(block, Thought) else block.text


def _spans(rows: Sequence[Row], query: str) -> dict[int, list[tuple[int, int, bool]]]:
    """Where `query` (in lower case) stands in the rows' text, read as one."""
    text, starts = "", []
    for number, row in enumerate(rows):
        text += row.join if number else ""
        starts.append(len(text))
        lower = row.text.lower()
        text += lower if len(lower) == len(row.text) else row.text
    out: dict[int, list[tuple[int, int, bool]]] = {}
    at = text.find(query)
    while at >= 0:
        end = at + len(query)
        begun = False
        for number, row in enumerate(rows):
            first, last = max(at, starts[number]), min(end, starts[number] + len(row.text))
            if first < last:
                out.setdefault(number, []).append((first - starts[number], last - starts[number], not begun))
                begun = True
        at = text.find(query, end)
    return out
