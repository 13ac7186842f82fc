"""A text and a caret while a command works on them, with what it has changed."""

from __future__ import annotations

from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """`text` comes in the place of what stood from `start` up to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` up to `end`; whole `lines` with their line end."""

    start: int
    end: int
    lines: bool = False
    last: bool = False
    """The text's last line is one of them: it has no line end."""


class Page:
    """Changed in place; `changes` are to be made in this order."""

    def __init__(self, text: str, caret: int) -> None:
        self.text = text
        self.caret = caret
        self.changes: list[Change] = []

    def put(self, start: int, end: int, text: str) -> None:
        """Replace; the caret is left where it was."""
        if start != end or text:
            self.text = self.text[:start] + text + self.text[end:]
            self.changes.append(Change(start, end, text))
