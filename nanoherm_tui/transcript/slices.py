"""Styled text is cut where its rows end. Pure, whatever a style is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

_How = TypeVar("_How")


def slices(inks: Sequence[tuple[str, _How]], spans: Iterable[tuple[int, int]]) -> list[list[tuple[str, _How]]]:
    """Cut styled text at (start, end) character spans in ascending order."""
    out: list[list[tuple[str, _How]]] = []
    index, at = 0, 0  # the current ink and where it begins
    for start, end in spans:
        row: list[tuple[str, _How]] = []
        while index < len(inks) and at < end:
            text, style = inks[index]
            stop = at + len(text)
            if stop > start:
                row.append((text[max(0, start - at) : end - at], style))
            if stop > end:
                break
            at = stop
            index += 1
        out.append(row)
    return out
