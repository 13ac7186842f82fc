"""Figures as bars of characters: each one cell wide in every terminal, with ASCII stand-ins. Pure.

The eighths of a block are two cells wide in some terminals (East Asian Width A); the dots of Braille never are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, TypeVar

from nanoherm_tui import symbols

T = TypeVar("T")

_STEPS: Final = 4  # levels of a cell
_LEVELS: Final = " \u28c0\u28e4\u28f6\u28ff"
_ASCII_LEVELS: Final = " .:|#"
_FULL, _HALF = "\u28ff", "\u2847"
GLYPHS: Final = _LEVELS.strip() + _HALF
"""All signs that bars are made of, but for their stand-ins."""


def columns(figures: Sequence[float], rows: int, cells: int = 1, gap: int = 0) -> list[str]:
    """Upright bars, `rows` high, each `cells` wide with `gap` blanks behind it; the highest of them is full.

    What is more than nothing shows. Gives the rows from above.
    """
    levels = _ASCII_LEVELS if symbols.is_ascii() else _LEVELS
    most = max(figures, default=0)
    heights = [max(1, round(figure / most * rows * _STEPS)) if figure > 0 else 0 for figure in figures]
    return [
        "".join(levels[max(0, min(_STEPS, height - _STEPS * below))] * cells + " " * gap for height in heights)
        for below in range(rows - 1, -1, -1)
    ]


def bar(figure: float, most: float, cells: int) -> str:
    """A bar to the right, at most `cells` long, where `most` is; what is more than nothing shows."""
    halves = max(1, round(figure / most * cells * 2)) if figure > 0 and most > 0 else 0
    full, half = ("#", "|") if symbols.is_ascii() else (_FULL, _HALF)
    return full * (halves // 2) + half * (halves % 2)


def joined(items: Sequence[T], most: int, add: Callable[[Sequence[T]], T]) -> tuple[list[T], int]:
    """At most `most` items, several next to each other joined to one where there are more, and how many those are.

    The first may be of fewer. There is at least one item.
    """
    each = max(1, -(-len(items) // max(1, most)))
    cuts = [0, *range(len(items) % each or each, len(items), each), len(items)]
    return [add(items[start:end]) for start, end in pairwise(cuts)], each
