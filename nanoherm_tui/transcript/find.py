"""Find in the conversation: what is shown, case aside, across wrapped rows. What is folded unfolds for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nanoherm_tui.transcript.entry import Entry
from nanoherm_tui.transcript.layout import Layout, Line, Place
from nanoherm_tui.transcript.render import Row

_REMEMBERED = 300  # searched blocks whose hits are kept for painting: more than a window shows
_PARTS = re.compile(r"[a-z0-9]+|\S")
# What may stand in the source between two parts of what is shown: marks, blanks, a character reference, an address.
_BETWEEN = r"(?:[\x00-/:-@\[-`{-\x7f]|&[#a-z0-9]+;|\]\((?=[^)\s]*[a-z0-9])[^)\s]*\)){0,80}?"


@dataclass(slots=True)
class _Searched:
    """A block's rows and the characters of each that belong to a hit, as (start, end, begins here)."""

    rows: Sequence[Row]
    spans: dict[int, list[tuple[int, int, bool]]] = field(default_factory=dict)


class Find:
    """A query over a layout's model, and the hit it stands at."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.query = ""
        self.at: tuple[Entry, int, int] | None = None
        """The entry, block number and row of the hit that was gone to."""
        self._source = re.compile("")
        self._searched: dict[tuple[Entry, int], _Searched] = {}

    def look_for(self, query: str) -> bool:
        """Search anew, from the hit it stands at or the top of the window; True when there is a hit."""
        self.query = query.lower()
        self._source = _in_source(self.query)
        self._searched.clear()
        return self._go(1, inclusive=True)

    def next(self, step: int) -> bool:
        """Go to the next hit, or with -1 to the one before, around the ends; False when there is none."""
        return self._go(step, inclusive=False)

    def spans(self, line: Line) -> list[tuple[int, int]]:
        """The characters of the row's text that belong to hits."""
        if not self.query:
            return []
        found = self._block(line.place.entry, line.place.block).spans.get(line.place.row, ())
        return [(start, end) for start, end, _ in found]

    def is_at(self, line: Line) -> bool:
        return self.at == (line.entry, line.place.block, line.place.row)

    def _go(self, step: int, *, inclusive: bool) -> bool:
        if not self.query:
            self.at = None
            return False
        start = self._start()
        for place in self._places(start, step):
            if inclusive or place != start:
                self.at = (self._layout.model.entries[place.entry], place.block, place.row)
                self._layout.go_to(place)
                return True
        # All the way around: the only hit is the one it stands at.
        return not inclusive and self.at is not None and self._has_hit(start)

    def _start(self) -> Place:
        entries = self._layout.model.entries
        if self.at is not None:
            entry, block, row = self.at
            if entry.index < len(entries) and entries[entry.index] is entry:
                return Place(entry.index, block, row)
            self.at = None
        return self._layout.lines[0].place if self._layout.lines else Place(0, 0, 0)

    def _places(self, start: Place, step: int) -> Iterator[Place]:
        """The rows on which hits begin, from `start` on, all the way around."""
        entries = self._layout.model.entries
        for distance in range(len(entries) + 1 if entries else 0):
            index = (start.entry + step * distance) % len(entries)
            if not _may_hold(entries[index], self._source):
                continue
            self._unfold(entries[index])
            places = [
                Place(index, number, row)
                for number in range(len(entries[index].blocks))
                for row, spans in sorted(_spans(self._layout.rows_of(index, number), self.query).items())
                if any(begins for _, _, begins in spans)
            ]
            for place in places if step > 0 else reversed(places):
                beyond = place >= start if step > 0 else place <= start
                if (distance == 0 and not beyond) or (distance == len(entries) and beyond):
                    continue
                yield place

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


def _in_source(query: str) -> re.Pattern[str]:
    """What an entry's source, in lower case, has wherever `query` is shown. It may have it elsewhere too."""
    parts = [
        re.escape(part) if part.isalnum() else f"(?:{re.escape(part)}|&[#a-z0-9]+;)" for part in _PARTS.findall(query)
    ]
    return re.compile(_BETWEEN.join(parts))


def _may_hold(entry: Entry, source: re.Pattern[str]) -> bool:
    """Whether an entry may show the query: a quick look, so that thousands need not be drawn to find out."""
    text = entry.text
    if entry.kind == "card" and entry.blocks and entry.card is not None:
        text = f"{entry.card.name} {entry.card.subject} {entry.card.outcome} {text}"
    return source.search(text.lower()) is not None


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
