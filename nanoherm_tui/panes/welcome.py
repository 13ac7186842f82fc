"""What stands in the transcript's place while it is empty: which model answers, and which keys begin."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui.strips import Painted, Part, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, fit, wrap

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
        greeting, look = self._greeting, look_of(self)
        cells = max(8, width - LEFT - RIGHT)
        ground = look.style()
        margin: Part = (" " * LEFT, ground)
        rows = []
        for number, parts in enumerate(_head(greeting, cells)):
            bar = sym("bar") if greeting.warning and number == 0 else " "
            edge: list[Part] = [("  ", ground), (bar, look.mark("warn")), (" ", ground)]
            styles = {"head": look.style("warn" if greeting.warning else "text", bold=True), "text": ground}
            rows.append(row(width, [*edge, *[(words, styles[role]) for words, role in parts]], ground))
        rows.append(Strip.blank(width, ground))
        for number, line in enumerate(wrap(clean(greeting.note), cells) if greeting.note else ()):
            bar = sym("bar") if number == 0 else " "
            rows.append(row(width, [("  ", ground), (bar, look.mark("warn")), (" ", ground), (line, ground)], ground))
        if greeting.note:
            rows.append(Strip.blank(width, ground))
        room = cells - KEY_CELLS - NAME_CELLS
        for key, name, help_text in greeting.keys:
            lines = wrap(help_text, room) if room >= LEAST_HELP else [""]
            for number, line in enumerate(lines):
                left = [
                    margin,
                    (fit("" if number else key, KEY_CELLS), look.style("accent", bold=True)),
                    (fit("" if number else name, NAME_CELLS), ground),
                    (line, look.style("muted")),
                ]
                rows.append(row(width, left, ground))
        return rows


def _head(greeting: Greeting, cells: int) -> Sequence[list[tuple[str, str]]]:
    """The head and the text wrapped as one paragraph, each row as (words, role) pairs."""
    head, text = clean(greeting.head), clean(greeting.text)
    lines = wrap(f"{head} {text}".strip(), cells)
    if lines and head and lines[0].startswith(head):
        return [[(head, "head"), (lines[0][len(head) :], "text")], *([(line, "text")] for line in lines[1:])]
    return [[(line, "text")] for line in lines]
