"""Frames for the terminal in few bytes: only the cells that differ from what it shows, colours only where they change.

Over a slow line what is written decides how fast a screen feels. A row of the transcript that scrolls by is mostly
blanks that were there before, and neighbouring pieces mostly have the same colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style

Cell = tuple[str, str]
"""The SGR codes of a cell, and its character; "" is the second half of the wide one before."""

_ANSI, _CHARACTER = itemgetter(0), itemgetter(1)
_GAP = 6
"""Unchanged cells between two changes that are written again: moving the cursor takes more bytes."""
_UNKNOWN: Cell = ("?", "")
"""What a cell shows that was never written."""


class Frames:
    """Knows what the terminal shows and writes what brings it to the next frame."""

    def __init__(self, ansi: Callable[[Style], str]) -> None:
        """`ansi` gives the SGR codes of a style: "1;38;2;10;20;30"."""
        self._ansi = ansi
        self._rows: dict[int, list[Cell]] = {}
        self._contested: set[int] = set()
        """Rows with characters whose width terminals disagree about: they are written whole."""

    def forget(self) -> None:
        """Somebody else has written on the terminal: nothing of what it shows is known."""
        self._rows.clear()
        self._contested.clear()

    def frame(self, pieces: Iterable[tuple[int, int, Iterable[Segment]]]) -> str:
        """The bytes that draw `pieces`: row, column, content."""
        out: list[str] = []
        last = ""
        for y, x, segments in pieces:
            cells, contested = self._cells(segments)
            for start, end in self._changes(y, x, cells, contested):
                out.append(f"\x1b[{y + 1};{x + start + 1}H")
                for ansi, run in groupby(cells[start:end], _ANSI):
                    out.append(_between(last, ansi))
                    out.extend(map(_CHARACTER, run))
                    last = ansi
            self._keep(y, x, cells, contested)
        if last:
            out.append("\x1b[0m")
        return "".join(out)

    def _cells(self, segments: Iterable[Segment]) -> tuple[list[Cell], bool]:
        cells: list[Cell] = []
        contested = False
        for text, style, _ in segments:
            ansi = self._ansi(style) if style is not None else ""
            if text.isascii():
                cells += [(ansi, character) for character in text]
                continue
            characters, unsure = _characters(text)
            contested = contested or unsure
            cells += [(ansi, character) for character in characters]
        return cells, contested

    def _changes(self, y: int, x: int, cells: list[Cell], contested: bool) -> Iterator[tuple[int, int]]:
        """Where `cells` differ from what row y shows from column x on, as ranges."""
        shown = self._rows.get(y, [])[x : x + len(cells)]
        if shown == cells:
            return
        if contested or y in self._contested or len(shown) < len(cells):
            yield 0, len(cells)
            return
        start = end = -1
        for at, (old, new) in enumerate(zip(shown, cells, strict=True)):
            if old == new:
                continue
            # The second half of a wide character is written with its first.
            first = at - 1 if at and not new[1] else at
            if start < 0:
                start = first
            elif first - end > _GAP:
                yield start, end
                start = first
            end = at + 1
        yield start, _whole(cells, end)

    def _keep(self, y: int, x: int, cells: list[Cell], contested: bool) -> None:
        row = self._rows.setdefault(y, [])
        if len(row) < x:
            row += [_UNKNOWN] * (x - len(row))
        row[x : x + len(cells)] = cells
        if contested:
            self._contested.add(y)
        elif y in self._contested and not any(map(_is_contested, map(_CHARACTER, row))):
            self._contested.discard(y)


def _whole(cells: list[Cell], end: int) -> int:
    """`end`, moved behind the second half of a wide character."""
    return end + 1 if end < len(cells) and not cells[end][1] else end


@lru_cache(maxsize=4096)
def _characters(text: str) -> tuple[tuple[str, ...], bool]:
    """`text` cell by cell, and whether terminals may disagree about its width."""
    characters: list[str] = []
    contested = False
    for start, end, size in split_graphemes(text)[0]:
        grapheme = text[start:end]
        contested = contested or _is_contested(grapheme)
        if size == 0 and characters:
            characters[-1] += grapheme
        else:
            characters += [grapheme, *[""] * (size - 1)]
    return tuple(characters), contested


def _is_contested(character: str) -> bool:
    """A sequence of code points, or an emoji: terminals disagree about its width."""
    return len(character) > 1 or character >= "\U0001f000"


# -- colours ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _between(last: str, ansi: str) -> str:
    """What changes the terminal's colours and attributes from `last` to `ansi`."""
    if last == ansi:
        return ""
    if not ansi:
        return "\x1b[0m"
    old, new = _codes(last), _codes(ansi)
    if not old.keys() <= new.keys():  # something has to be switched off
        return f"\x1b[0;{ansi}m"
    return f"\x1b[{';'.join(codes for kind, codes in new.items() if old.get(kind) != codes)}m"


@lru_cache(maxsize=1024)
def _codes(ansi: str) -> dict[str, str]:
    """SGR codes by what they set: "fg", "bg", or an attribute's own number."""
    found: dict[str, str] = {}
    numbers = iter(ansi.split(";") if ansi else ())
    for number in numbers:
        kind = "fg" if number in _FOREGROUND else "bg" if number in _BACKGROUND else number
        if number in ("38", "48"):
            form = next(numbers, "")
            rest = [next(numbers, "") for _ in range(3 if form == "2" else 1)]
            found[kind] = ";".join((number, form, *rest))
        else:
            found[kind] = number
    return found


_FOREGROUND = frozenset(map(str, [*range(30, 40), *range(90, 98)]))
_BACKGROUND = frozenset(map(str, [*range(40, 50), *range(100, 108)]))
