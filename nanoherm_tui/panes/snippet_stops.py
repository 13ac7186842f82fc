"""The places of a snippet that are still to be filled in, kept at their words while the draft changes."""

from __future__ import annotations

from collections.abc import Sequence


class Stops:
    """Places are pairs of characters from the start of the draft, in the order they are gone to. The caret is at the
    first of them.
    """

    def __init__(self, places: Sequence[tuple[int, int]] = ()) -> None:
        self._places = list(places)
        self._here = 0

    @property
    def are_left(self) -> bool:
        """There is a place to go to."""
        return bool(self._places)

    def next(self) -> tuple[int, int] | None:
        """Go to the next place; with the last one the snippet is done."""
        if not self._places:
            return None
        self._here += 1
        place = self._places[self._here]
        if self._here == len(self._places) - 1:
            self._places = []
        return place

    def previous(self) -> tuple[int, int] | None:
        """Go back to the place before, or to the first one again."""
        if not self._places:
            return None
        self._here = max(0, self._here - 1)
        return self._places[self._here]

    def moved(self, at: int, removed: int, added: int) -> None:
        """From `at` on, `removed` characters made way for `added`. What is typed at the place that is filled in
        belongs to it; a change that reaches into several places ends the snippet.
        """
        if not self._places:
            return
        start, end = self._places[self._here]
        inside = start <= at and at + removed <= end
        others = [place for n, place in enumerate(self._places) if n != self._here]
        if not inside and any(at < stop[1] and at + removed > stop[0] for stop in others):
            self._places = []
            return
        by = added - removed
        # An empty place right where was typed stands behind it.
        self._places = [
            (start, end + by) if inside and n == self._here else (a + by, b + by) if at + removed <= a else (a, b)
            for n, (a, b) in enumerate(self._places)
        ]


def begun(places: Sequence[tuple[int, int]], at: int) -> tuple[Stops, tuple[int, int]]:
    """The places of a snippet put in at `at`, and the first one."""
    moved = [(start + at, end + at) for start, end in places]
    return Stops(moved if len(moved) > 1 else ()), moved[0]
