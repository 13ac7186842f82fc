"""Two sessions side by side: what each has used and changed, and below that both conversations, turn by turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.compare_head import NAMES, CompareHead
from nanoherm_tui.overlays.compare_rows import Drawn
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.transcript.pairs import Aligned, Fold, Head, Pair

if TYPE_CHECKING:
    from nanoherm_tui.words.compare import Facts

Place = tuple[str, str]
"""A session's id and the id of an entry in it; the latter "" where none is meant."""
_WHERE: Final = 22  # cells for the turn, beside the keys


class CompareBody(Painted, can_focus=True):
    """Both conversations; only what is in view is ever drawn."""

    DEFAULT_CSS = "CompareBody { height: 1fr; }"

    def __init__(self, aligned: Aligned) -> None:
        super().__init__(id="compare-body")
        self._aligned = aligned
        self._unfolded = False
        self._drawn: Drawn | None = None
        self.at = 0
        """The unit under the cursor."""
        self.side = 0
        """The side that Enter opens."""
        self._top = (0, 0)
        """The unit at the top and how many of its rows are above the window."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return container.height

    @property
    def turn(self) -> int:
        """The turn under the cursor; 0: the common beginning."""
        unit = self.drawn.units[self.at] if self.drawn.units else None
        return unit.turn if isinstance(unit, Pair | Head) else 0

    @property
    def turns(self) -> int:
        return len(self._aligned.turns)

    @property
    def drawn(self) -> Drawn:
        """What is shown, at the present width and look."""
        width, look = max(1, self.size.width), look_of(self)
        stacked = width < limits.COMPARE_BESIDE
        old = self._drawn
        if old is None or old.key != (width, look, stacked, self._unfolded):
            units = self._aligned.units(stacked=stacked, unfolded=self._unfolded)
            new = Drawn(units, width, look, stacked=stacked, unfolded=self._unfolded)
            if old is not None and old.units:
                again = old.key[2:] == new.key[2:]  # the same units, at another width or look
                self.at = self.at if again else new.find(old.units[self.at], self.side)
                self._top = (
                    (self._top[0], min(self._top[1], len(new.rows(self._top[0])) - 1)) if again else (self.at, 0)
                )
            self._drawn = old = new
        return old

    # -- painting -------------------------------------------------------------------------------------------------

    def paint(self, width: int) -> list[Strip]:
        look, drawn, height = look_of(self), self.drawn, self.size.height
        if not drawn.units:
            return [row(width, [("    ", look.style()), (t("compare.empty"), look.style("muted"))], look.style())]
        out: list[Strip] = []
        unit, skip = self._top
        while unit < len(drawn.units) and len(out) < height:
            blank = drawn.has_gap(unit)
            for n, strip in enumerate(drawn.rows(unit)[skip : skip + height - len(out)], skip):
                out.append(drawn.lit(strip, self.side) if unit == self.at and n >= blank else strip)
            unit, skip = unit + 1, 0
        return out

    # -- moving ---------------------------------------------------------------------------------------------------

    def move(self, step: int) -> None:
        """To another unit, in view."""
        self._go(self.at + step)

    def _go(self, at: int) -> None:
        units = self.drawn.units
        if not units:
            return
        self.at = max(0, min(at, len(units) - 1))
        self._reveal()
        self._moved()

    def go_turn(self, step: int) -> None:
        """To the beginning of the next turn, or of this one and those before."""
        units = self.drawn.units
        begins = [n for n, unit in enumerate(units) if n == 0 or (isinstance(unit, Pair) and unit.starts)
                  or (isinstance(unit, Head) and unit.side == 0)]  # fmt: skip
        ahead = [n for n in begins if (n > self.at if step > 0 else n < self.at)]
        if ahead:
            self.at = ahead[0] if step > 0 else ahead[-1]
            self._top = (self.at, 0)
            self._settle()
            self._moved()

    def scroll_rows(self, rows: int) -> None:
        """The window goes on; the cursor stays in it."""
        unit, skip = self._top
        skip += rows
        while skip < 0 and unit > 0:
            unit -= 1
            skip += len(self.drawn.rows(unit))
        while unit < len(self.drawn.units) - 1 and skip >= len(self.drawn.rows(unit)):
            skip -= len(self.drawn.rows(unit))
            unit += 1
        self._top = (unit, max(0, skip))
        self._settle()
        seen = self._in_view()
        if seen:
            self.at = max(seen[0], min(self.at, seen[-1]))
        self._moved()

    def page(self, pages: int) -> None:
        self.scroll_rows(pages * max(1, self.size.height - 1))

    def edge(self, by: int) -> None:
        if by < 0:
            self._top = (0, 0)
            self._go(0)
        else:
            last = len(self.drawn.units) - 1
            self._go(last)
            self._top = (max(0, last), max(0, len(self.drawn.rows(last)) - self.size.height) if last >= 0 else 0)
            self._settle()
            self._moved()

    def _in_view(self) -> list[int]:
        """Units of which a row is in the window."""
        unit, skip = self._top
        rows, seen = -skip, []
        while unit < len(self.drawn.units) and rows < self.size.height:
            seen.append(unit)
            rows += len(self.drawn.rows(unit))
            unit += 1
        return seen

    def _reveal(self) -> None:
        """Bring the cursor's unit into the window, as much of it as there is room for."""
        if self.at <= self._top[0]:
            self._top = (self.at, 0)
            self._settle()
            return
        room, first = self.size.height - len(self.drawn.rows(self.at)), self.at
        while first > self._top[0] and room > 0:
            first -= 1
            room -= len(self.drawn.rows(first))
        if first > self._top[0] or room < -self._top[1]:
            self._top = (self.at, 0) if room <= 0 and first == self.at else (first, max(0, -room))

    def _settle(self) -> None:
        """No blank rows below the last unit while there is something above."""
        unit, skip = self._top
        below = -skip
        for n in range(unit, len(self.drawn.units)):
            below += len(self.drawn.rows(n))
            if below >= self.size.height:
                return
        lack = self.size.height - below
        while lack > 0 and (unit > 0 or skip > 0):
            if skip == 0:
                unit -= 1
                skip = len(self.drawn.rows(unit))
            up = min(skip, lack)
            skip, lack = skip - up, lack - up
        self._top = (unit, skip)

    def on_resize(self) -> None:
        if self.size.height:
            self._settle()

    def _moved(self) -> None:
        unit = self.drawn.units[self.at] if self.drawn.units else None
        if isinstance(unit, Head):
            self.side = unit.side
        elif isinstance(unit, Pair) and unit.entries[self.side] is None:
            self.side = 1 - self.side
        head = self.screen.query_one(CompareHead)
        if head.active != self.side:
            head.active = self.side
            head.refresh()
        self.screen.query_one(CompareFoot).refresh()
        self.refresh()

    # -- what is chosen -------------------------------------------------------------------------------------------

    def choose_side(self, side: int) -> None:
        """Of the unit under the cursor, if the side has something there; stacked: of the same turn."""
        unit = self.drawn.units[self.at] if self.drawn.units else None
        if self.drawn.stacked and isinstance(unit, Pair | Head) and unit.turn:
            heads = (n for n, one in enumerate(self.drawn.units)
                     if isinstance(one, Head) and (one.side, one.turn) == (side, unit.turn))  # fmt: skip
            self._go(next(heads, self.at))
            return
        if not (isinstance(unit, Pair) and unit.entries[side] is None):
            self.side = side
            self._moved()

    def unfold(self) -> None:
        """The common beginning, or the thoughts and results under the cursor."""
        unit = self.drawn.units[self.at] if self.drawn.units else None
        if isinstance(unit, Fold):
            self._unfolded = not self._unfolded
        elif isinstance(unit, Pair):
            for entry in dict.fromkeys(entry for entry in unit.entries if entry is not None):
                self._aligned.models[0].toggle(entry)
            self.drawn.forget(self.at)
        self._reveal()
        self._moved()

    def place(self) -> tuple[int, str]:
        """The side that is chosen, and the id of the entry under the cursor, or of the last one before it with one."""
        units = self.drawn.units
        for at in range(self.at, -1, -1):
            unit = units[at] if units else None
            entry = unit.entries[self.side] if isinstance(unit, Pair) else None
            if entry is not None and entry.kind != "note":
                return self.side, entry.id
        common = self._aligned.common
        return self.side, next((e.id for p in reversed(common) if (e := p.entries[0]) and e.kind != "note"), "")

    def on_click(self, event: events.Click) -> None:
        event.stop()
        rows = -self._top[1]
        for unit in self._in_view():
            rows += len(self.drawn.rows(unit))
            if event.y < rows:
                again = unit == self.at
                self.at = unit
                if not self.drawn.stacked:
                    self.side = int(event.x >= self.size.width // 2)
                self._moved()
                if again and isinstance(self.drawn.units[unit], Fold):
                    self.unfold()
                return


class CompareFoot(Painted):
    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        body = self.screen.query_one(CompareBody)
        keys = [("Enter", t("compare.open", side=NAMES[body.side])), ("Tab", t("compare.other")),
                ("Space", t("compare.unfold")), ("{ }", t("compare.turn")), ("Esc", t("compare.close"))]  # fmt: skip
        if self.app.size.height < limits.SHORT or width < 2 * _WHERE:
            return flow(width, hints(look, keys, "ground"), look.style(), indent=2)[:1]
        where = t("compare.at", n=body.turn, of=body.turns) if body.turn else ""
        rows = flow(width - _WHERE, hints(look, keys, "ground"), look.style(), indent=2)
        end = row(_WHERE, [], look.style(), [(where, look.style("muted")), ("  ", look.style())])
        blank = row(_WHERE, [], look.style())
        return [Strip.join([strip, end if n == 0 else blank]) for n, strip in enumerate(rows)]


class CompareScreen(Overlay[Place | None]):
    """Gives the place to open."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/compare.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,ctrl+n", "move(1)", show=False),
        Binding("k,ctrl+p", "move(-1)", show=False),
        Binding("down", "rows(1)", show=False),
        Binding("up", "rows(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("home,g", "edge(-1)", show=False),
        Binding("end,G", "edge(1)", show=False),
        Binding("right_curly_bracket", "turn(1)", show=False),
        Binding("left_curly_bracket", "turn(-1)", show=False),
        Binding("left,h", "side(0)", show=False),
        Binding("right,l", "side(1)", show=False),
        Binding("tab,shift+tab", "other", show=False, priority=True),
        Binding("space", "unfold", show=False),
        Binding("enter,o", "choose", show=False),
        Binding("q", "close", show=False),
    ]

    def __init__(self, sides: tuple[Facts, Facts], aligned: Aligned) -> None:
        super().__init__()
        self.sides = sides
        self._head = CompareHead(sides)
        self._body = CompareBody(aligned)

    def compose(self) -> ComposeResult:
        yield boxed(self._head, self._body, CompareFoot(id="compare-foot"))

    def on_mount(self) -> None:
        self._body.focus()

    def action_move(self, step: int) -> None:
        self._body.move(step)

    def action_rows(self, rows: int) -> None:
        self._body.scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        self._body.page(pages)

    def action_edge(self, by: int) -> None:
        self._body.edge(by)

    def action_turn(self, step: int) -> None:
        self._body.go_turn(step)

    def action_side(self, side: int) -> None:
        self._body.choose_side(side)

    def action_other(self) -> None:
        self._body.choose_side(1 - self._body.side)

    def action_unfold(self) -> None:
        self._body.unfold()

    def action_choose(self) -> None:
        side, entry = self._body.place()
        self.dismiss((self.sides[side].session, entry))

    def on_compare_head_side_chosen(self, message: CompareHead.SideChosen) -> None:
        message.stop()
        self._body.choose_side(message.side)

    def on_mouse_scroll_down(self) -> None:
        self._body.scroll_rows(limits.WHEEL_ROWS)

    def on_mouse_scroll_up(self) -> None:
        self._body.scroll_rows(-limits.WHEEL_ROWS)
