"""How many rows a text will probably take: from its length, without drawing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui import limits
from nanoherm_tui.transcript.row import RIGHT_MARGIN, TEXT_AT

if TYPE_CHECKING:
    from nanoherm_tui.transcript.entry import Entry

_ROW = 60
"""Characters on a row of folded text, to guess how much of it shows."""


def has_length(entry: Entry) -> bool:
    """Whether the rows of an entry come from the length of its text."""
    return entry.kind != "card" and (entry.kind != "thought" or entry.open)


def length(entry: Entry, above: Entry | None) -> int:
    """Characters an entry shows beyond its first row and the blank one above; -1 for a card that has none above."""
    kind = entry.kind
    if kind == "card":
        if entry.open:
            return min(len(entry.text), limits.CARD_LINES * _ROW)
        return -1 if above is not None and above.kind == "card" else 0
    if kind == "thought" and not entry.open:
        return 0
    if kind == "user" and not entry.open:
        return min(len(entry.text), limits.USER_LINES_FOLDED * _ROW)
    return len(entry.text)


def room(width: int) -> int:
    """The cells a row has for text."""
    return max(2, width - TEXT_AT - RIGHT_MARGIN)


def text_rows(text: str, width: int) -> int:
    """Rows a text will probably take: its lines, and one more for each width's worth of cells."""
    space = room(width)
    cells = len(text)
    if not text.isascii():  # a wide character has three bytes
        cells += (len(text.encode("utf-8", "replace")) - cells) // 2
    lines = text.count("\n") + 1
    return lines + max(0, cells - lines * space // 2) // space


def density(entries: list[Entry], width: int) -> float:
    """Rows a character of these entries will probably take, by a sample of limits.ESTIMATED_ENTRIES of them."""
    texts = [entry.text for entry in entries[:: len(entries) // limits.ESTIMATED_ENTRIES + 1] if has_length(entry)]
    characters = sum(map(len, texts))
    rows = sum(text_rows(text, width) - 1 for text in texts)
    return rows / characters if characters else 1 / room(width)
