"""A list of rows under headings with a cursor, and a place for all there is to know of one: what overlays share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui.strips import Painted, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, wrap

PAGE: Final = 10  # rows that a page goes on
MOVES: Final[tuple[BindingType, ...]] = (
    Binding("up,k,ctrl+p", "move(-1)", show=False),
    Binding("down,j,ctrl+n", "move(1)", show=False),
    Binding("pageup", f"move(-{PAGE})", show=False),
    Binding("pagedown", f"move({PAGE})", show=False),
    Binding("home,g", "move(-100000)", show=False),
    Binding("end,G", "move(100000)", show=False),
)
"""The keys of an overlay with a list in which nothing is typed; its action `move` takes a number of rows."""

H = TypeVar("H")
"""What a heading is drawn from."""
R = TypeVar("R")
"""What a row is drawn from."""


@dataclass(frozen=True, slots=True)
class Heading(Generic[H]):
    """A line that the cursor passes over; of None a blank one."""

    of: H | None = None


class Detail(Painted):
    """The row under the cursor in full; its height stays the same, so that nothing moves."""

    _lines: tuple[str, ...] = ()

    def say(self, lines: tuple[str, ...]) -> None:
        if lines != self._lines:
            self._lines = lines
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(2, min(6, self.app.size.height // 8))

    def paint(self, width: int) -> list[Strip]:
        look, room = look_of(self), self.get_content_height(self.size, self.size, width)
        muted = look.style("muted", "surface")
        words = [piece for line in self._lines for piece in wrap(line, max(1, width - 2))]
        if len(words) > room:
            words = [*words[: room - 1], cut(f"{words[room - 1]} {sym('cut')}", width - 2)]
        words += [""] * (room - len(words))
        return [row(width, [("  ", muted), (line, muted)], look.style("text", "surface")) for line in words]


class GroupedList(Painted, Generic[H, R]):
    """The cursor is on the row number `at`; a subclass draws headings and rows and says what a click on one means."""

    def __init__(self, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self._lines: list[Heading[H] | R] = []
        self._rows: list[tuple[int, R]] = []
        """The rows with their places among the lines."""
        self.at = 0
        self._top = 0
        self._empty = ""

    def put(self, lines: Iterable[Heading[H] | R], empty: str) -> None:
        """Take these lines, the cursor on the first row; `empty` stands there when none is a row."""
        self._lines = list(lines)
        self._rows = [(n, line) for n, line in enumerate(self._lines) if not isinstance(line, Heading)]
        self.at, self._empty = 0, empty
        self.refresh()

    @property
    def row(self) -> R | None:
        """The one the cursor is on."""
        return self._rows[self.at][1] if self._rows else None

    @property
    def count(self) -> int:
        """How many lines there are, with headings and blank ones; at least the one that says that there is none."""
        return max(1, len(self._lines))

    @property
    def has_more(self) -> bool:
        """There are lines under those that are in view."""
        return len(self._lines) > self._first() + self.size.height

    def move(self, step: int) -> None:
        if self._rows:
            last = len(self._rows) - 1
            wraps = abs(step) == 1
            self.at = (self.at + step) % (last + 1) if wraps else max(0, min(self.at + step, last))
            self.refresh()

    @abstractmethod
    def clicked(self, line: R) -> None:
        """A row was clicked on."""

    @abstractmethod
    def draw_heading(self, of: H | None, cells: int) -> Strip:
        """A heading in `cells` cells; of None a blank line."""

    @abstractmethod
    def draw_row(self, line: R, here: bool, cells: int) -> Strip:
        """A row in `cells` cells; `here`: the cursor is on it."""

    def on_click(self, event: events.Click) -> None:
        event.stop()
        index = self._top + event.y
        if index < len(self._lines) and not isinstance(line := self._lines[index], Heading):
            self.clicked(line)

    def _first(self) -> int:
        """The line at the top, scrolled no more than the cursor wants; above the first row of a part its heading."""
        height, here = self.size.height, self._rows[self.at][0] if self._rows else 0
        above = here - 1 if here and isinstance(self._lines[here - 1], Heading) else here
        top = max(0, min(self._top, len(self._lines) - height, above))
        return top if here < top + height else here - height + 1

    def paint(self, width: int) -> list[Strip]:
        look, height = look_of(self), self.size.height
        if not self._rows:
            muted = look.style("muted", "surface")
            fill = look.style("text", "surface")
            return [row(width, [("  ", muted), (line, muted)], fill) for line in wrap(self._empty, max(1, width - 3))]
        self._top = self._first()
        here = self._rows[self.at][0]
        end = min(self._top + height, len(self._lines))
        while end < len(self._lines) and isinstance(self._lines[end - 1], Heading):
            end -= 1  # a heading is shown with what it is of
        return [
            self.draw_heading(line.of, width) if isinstance(line, Heading) else self.draw_row(line, n == here, width)
            for n, line in enumerate(self._lines[self._top : end], self._top)
        ]


class FollowedList(GroupedList[H, R]):
    """One whose overlay tells of the row under the cursor: `moved` is called when that may be another, or the list has
    more below. A heading is drawn as the text that it is."""

    def __init__(self, widget_id: str, moved: Callable[[], None]) -> None:
        super().__init__(widget_id)
        self._moved = moved

    def put_at(self, lines: Iterable[Heading[H] | R], at: int, empty: str = "") -> None:
        """Take these lines, the cursor on the row number `at`, or the last."""
        self.put(lines, empty)
        self.at = max(0, min(at, len(self._rows) - 1))
        self._moved()

    def move(self, step: int) -> None:
        super().move(step)
        self._moved()

    def on_resize(self) -> None:
        self._moved()

    def draw_heading(self, of: H | None, cells: int) -> Strip:
        look = look_of(self)
        words = "" if of is None else str(of)
        return row(cells, [("  ", look.style("text", "surface")), (words, look.style("muted", "surface"))],
                   look.style("text", "surface"))  # fmt: skip

    def clicked(self, line: R) -> None:
        self.at = next(n for n, (_, other) in enumerate(self._rows) if other is line)
        self.refresh()
        self._moved()
