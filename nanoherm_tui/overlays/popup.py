"""A list that floats right above the composer; the keyboard stays in the draft."""

from __future__ import annotations

from abc import abstractmethod

from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.strips import Painted, Part, led, look_of, row
from nanoherm_tui.symbols import sym


class Popup(Painted):
    """Shows the part of its `count` rows that is around the chosen one. The composer gives it the keys."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.at = 0
        """The chosen row; -1: none yet."""
        self.display = False

    @property
    def is_open(self) -> bool:
        return self.display

    def show(self, count: int, at: int = 0) -> None:
        """Have `count` rows, of which `at` is chosen; with none it hides."""
        self.count, self.at = count, at
        height = self._height()
        self.display = height > 0
        if height:
            self.styles.offset = (0, -height)
            self.refresh(layout=height != self.size.height)  # most answers to a letter are as long as those before

    def _height(self) -> int:
        """The rows it is to have; 0: it hides."""
        return len(self._visible())

    def on_resize(self) -> None:
        """A lower screen has room for fewer rows: the last of them stays right above the composer."""
        self.styles.offset = (0, -self.size.height)

    def hide(self) -> None:
        self.show(0)

    def move(self, step: int) -> None:
        """To the next (1) or previous (-1) row, round the ends."""
        if self.count:
            self.at = (self.at + step) % self.count if self.at >= 0 else (0 if step > 0 else self.count - 1)
            self.refresh()

    @abstractmethod
    def parts(self, index: int, width: int, here: bool) -> tuple[list[Part], list[Part]]:
        """The words of row `index` in `width` cells, at least one: what stands left, and right, where it is not cut."""

    def rows(self, width: int) -> list[Strip]:
        """As painted, behind a blank of the pane's own ground: beside the list no state of a tool is seen.

        Where grounds are equal the rule stands there: what the list covers goes on above it.
        """
        look = look_of(self)
        rule: list[Part] = [(sym("rule"), look.mark("rule"))] if look.theme.draws_rules else []
        return [Strip.join([row(1, rule, look.style()), strip]) for strip in super().rows(max(1, width - 1))]

    def _visible(self) -> range:
        rows = min(self.count, limits.SLASH_ROWS, max(1, self.app.size.height // 2))
        start = max(0, min(self.at - rows // 2, self.count - rows))
        return range(start, start + rows)

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        edge: Part = (" ", look.style("text", "surface"))
        rows = []
        for index in self._visible():
            here = index == self.at
            ground = "selection" if here else "surface"
            fill = look.style("text", ground)
            left, right = self.parts(index, max(1, width - 3), here)
            end: list[Part] = [*right, (" ", fill)] if right else []
            rows.append(row(width, [edge, *led(look, here, fill), *left], fill, end))
        return rows
