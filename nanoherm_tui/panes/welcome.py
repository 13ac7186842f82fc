"""What stands in the transcript's place while it is empty: which model answers, and which keys begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui.strips import Painted, Part, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, cut, fit, wrap
from nanoherm_tui.text import width as cell_width

LEFT, RIGHT = 4, 3  # the transcript's text column and margin
KEY_CELLS = 9
NAME_CELLS = 16
LEAST_HELP = 12  # what a key does is left out where it would be wrapped into less


@dataclass(frozen=True, slots=True)
class Greeting:
    """`head` in bold warn (with a bar) when `warning`; `keys` are (key, name, what it does)."""

    head: str = ""
    text: str = ""
    warning: bool = False
    keys: tuple[tuple[str, str, str], ...] = ()
    note: str = ""
    """A warning in a paragraph of its own."""


@dataclass(frozen=True, slots=True)
class _Line:
    parts: list[Part]
    bar: bool = False
    goes_on: bool = False
    """Its sentence ends in a row below."""


class Welcome(Painted):
    """Draws a Greeting; nothing else ever changes here."""

    DEFAULT_CSS = "Welcome { height: 1fr; width: 1fr; }"

    def __init__(self, id: str | None = "welcome") -> None:
        super().__init__(id=id)
        self._greeting = Greeting()

    def show(self, greeting: Greeting) -> None:
        if greeting != self._greeting:
            self._greeting = greeting
            self.refresh()

    def refresh_look(self) -> None:
        """Theme or language have changed."""
        self.refresh()

    def paint(self, width: int) -> list[Strip]:
        look, height = look_of(self), self.size.height
        ground = look.style()
        lines = list(self._lines(max(8, width - LEFT - RIGHT)))
        if 0 < height < len(lines) and lines[height - 1].goes_on:  # what ends in mid-sentence says so
            *parts, (words, style) = lines[height - 1].parts
            room = width - RIGHT - LEFT - sum(cell_width(part) for part, _ in parts)
            last: Part = (cut(f"{words} {sym('cut')}", max(1, room)), style)
            lines[height - 1] = replace(lines[height - 1], parts=[*parts, last])
        rows = []
        for line in lines[:height]:
            edge: list[Part] = [("  ", ground), (sym("bar") if line.bar else " ", look.mark("warn")), (" ", ground)]
            rows.append(row(width, [*edge, *line.parts], ground))
        return rows

    def _lines(self, cells: int) -> Iterator[_Line]:
        """All of it, in as many rows as it has."""
        greeting, look = self._greeting, look_of(self)
        ground = look.style()
        styles = {"head": look.style("warn" if greeting.warning else "text", bold=True), "text": ground}
        head = _head(greeting, cells)
        for number, parts in enumerate(head, 1):
            words: list[Part] = [(text, styles[role]) for text, role in parts]
            yield _Line(words, greeting.warning and number == 1, number < len(head))
        yield _Line([])
        note = wrap(clean(greeting.note), cells) if greeting.note else []
        for number, line in enumerate(note, 1):
            yield _Line([(line, ground)], number == 1, number < len(note))
        if note:
            yield _Line([])
        room = cells - KEY_CELLS - NAME_CELLS
        for key, name, help_text in greeting.keys:
            helps = wrap(help_text, room) if room >= LEAST_HELP else [""]
            for number, line in enumerate(helps, 1):
                left: list[Part] = [
                    (fit(key if number == 1 else "", KEY_CELLS), look.style("accent", bold=True)),
                    (fit(name if number == 1 else "", NAME_CELLS), ground),
                    (line, look.style("muted")),
                ]
                yield _Line(left, goes_on=number < len(helps))


def _head(greeting: Greeting, cells: int) -> Sequence[list[tuple[str, str]]]:
    """The head and the text wrapped as one paragraph, each row as (words, role) pairs."""
    head, text = clean(greeting.head), clean(greeting.text)
    between = "" if head.endswith("。") else " "
    lines = wrap(f"{head}{between}{text}".strip(), cells)
    if lines and head and lines[0].startswith(head):
        return [[(head, "head"), (lines[0][len(head) :], "text")], *([(line, "text")] for line in lines[1:])]
    return [[(line, "text")] for line in lines]
