"""The places of a snippet that are still to be filled in, kept at their words while the draft changes."""

from __future__ import annotations

from collections.abc import Sequence


class Stops:
    """Places are pairs of characters from the start of the draft. The first is where the caret is put first."""

    def __init__(self, places: Sequence[tuple[int, int]] = ()) -> None:
        self._places = list(places)

    @property
    def are_left(self) -> bool:
        """There is a place to go to."""
        return bool(self._places)

    def next(self) -> tuple[int, int] | None:
        """Go to the next place; with the last one the snippet is done."""
        if not self._places:
            return None
        if len(self._places) > 1:
            del self._places[0]
        here = self._places[0]
        if len(self._places) == 1:
            self._places = []
        return here

    def moved(self, at: int, removed: int, added: int) -> None:
        """From `at` on, `removed` characters made way for `added`. What is typed at the place that is filled in
        belongs to it; a change that reaches into several places ends the snippet.
        """
        if not self._places:
            return
        (start, end), *others = self._places
        if not start <= at <= at + removed <= end and any(at < stop[1] and at + removed > stop[0] for stop in others):
            self._places = []
            return
        by = added - removed
        inside = start <= at and at + removed <= end
        first = (start, end + by) if inside else (start + by, end + by) if at + removed <= start else (start, end)
        # An empty place right where was typed stands behind it.
        self._places = [first, *((a + by, b + by) if at + removed <= a else (a, b) for a, b in others)]


def begun(places: Sequence[tuple[int, int]], at: int) -> tuple[Stops, tuple[int, int]]:
    """The places of a snippet put in at `at`, and the first one."""
    moved = [(start + at, end + at) for start, end in places]
    return Stops(moved if len(moved) > 1 else ()), moved[0]
