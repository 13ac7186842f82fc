"""Finding words in a body: how many there are on each page, and going from one to the next around the ends.

Pages are counted one by one, so that no key waits for a long text and a file is read only as fast as it comes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from nanoherm_tui.panes.bodies import Place

_REMEMBERED = 8  # pages whose hits are kept for painting: more than a window shows


class Span(NamedTuple):
    """Characters of a line that are a hit."""

    start: int
    end: int
    number: int
    """Of the hits of its page, from 0."""


class Find:
    """One query over the pages of a body. Literal; case counts when the query has an upper-case letter."""

    def __init__(self, query: str, pages: int, start: Place) -> None:
        """`start` is where to look from."""
        self.query = query
        self.at: tuple[int, int] | None = None
        """Page and number of the hit that was gone to."""
        self.place: Place | None = None
        """Where it is."""
        self._words = re.compile(re.escape(query), 0 if query != query.lower() else re.IGNORECASE)
        self._start = start if start.page >= 0 else Place(0, 0, 0)
        self._counts: list[int | None] = [None] * pages
        self._waiting = 1  # the step that is to be taken when enough pages are counted; 0: none
        self._spans: dict[int, Mapping[int, Sequence[Span]]] = {}

    # -- counting -----------------------------------------------------------------------------------------------

    def resize(self, pages: int) -> None:
        """The text turns out to have more pages, or fewer."""
        kept = self._counts[:pages]
        self._counts = [*kept, *[None] * (pages - len(kept))]

    @property
    def to_count(self) -> int | None:
        """The page to be counted next, from the start around; None when all are."""
        pages = len(self._counts)
        around = ((self._start.page + n) % pages for n in range(pages))
        return next((page for page in around if self._counts[page] is None), None)

    def count(self, page: int, lines: Sequence[str]) -> None:
        """Count the hits of a page."""
        if page < len(self._counts) and self._counts[page] is None:
            self._counts[page] = sum(1 for _ in self._words.finditer("\n".join(lines)))

    @property
    def total(self) -> int:
        """The hits counted so far."""
        return sum(count or 0 for count in self._counts)

    @property
    def position(self) -> int:
        """The number of the hit that was gone to among all counted, from 1; 0 when there is none."""
        if self.at is None:
            return 0
        page, number = self.at
        return sum(count or 0 for count in self._counts[:page]) + number + 1

    # -- going --------------------------------------------------------------------------------------------------

    def step(self, by: int) -> None:
        """Ask for the next hit, or with -1 for the one before: `next_page` tells where it is."""
        self._waiting = by

    @property
    def next_page(self) -> int | None:
        """The page that has the hit to go to; None when nothing is asked for, not known yet, or there is none."""
        if not self._waiting or not len(self._counts):
            return None
        by, pages = self._waiting, len(self._counts)
        if self.at is None:
            first, inside = self._start.page % pages, True
        else:
            first, number = self.at
            inside = 0 <= number + by < (self._counts[first] or 0)
        if inside and self._counts[first] is None:
            return None
        if inside and self._counts[first]:
            return first
        for distance in range(1, pages + 1):
            page = (first + by * distance) % pages
            if self._counts[page] is None:
                return None
            if self._counts[page]:
                return page
        self._waiting = 0
        return None

    def go(self, page: int, lines: Sequence[str]) -> Place | None:
        """Take the step that was asked for, on the page it leads to. Returns the place of the hit."""
        hits = [(line, span) for line, spans in self.spans(page, lines).items() for span in spans]
        if not hits:
            return None
        by, self._waiting = self._waiting or 1, 0
        if self.at is not None and self.at[0] == page and 0 <= self.at[1] + by < len(hits):
            number = self.at[1] + by
        elif self.at is None and page == self._start.page:
            here = (self._start.line, self._start.at)
            beyond = [n for n, (line, span) in enumerate(hits) if (line, span.start) >= here]
            if not beyond:
                # All of them lie before the start: the next one is on another page, or around the end.
                self.at, self._waiting = (page, len(hits) - 1), 1
                return None
            number = beyond[0]
        else:
            number = 0 if by > 0 else len(hits) - 1
        self.at = (page, number)
        line, span = hits[number]
        self.place = Place(page, line, span.start)
        return self.place

    # -- painting -----------------------------------------------------------------------------------------------

    def spans(self, page: int, lines: Sequence[str]) -> Mapping[int, Sequence[Span]]:
        """The hits of a page by line."""
        found = self._spans.get(page)
        if found is None:
            if len(self._spans) >= _REMEMBERED:
                self._spans.clear()
            found = self._spans[page] = self._look(lines)
        return found

    def _look(self, lines: Sequence[str]) -> Mapping[int, Sequence[Span]]:
        starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
        out: dict[int, list[Span]] = {}
        for number, hit in enumerate(self._words.finditer("\n".join(lines))):
            line = bisect_right(starts, hit.start()) - 1
            out.setdefault(line, []).append(Span(hit.start() - starts[line], hit.end() - starts[line], number))
        return out
