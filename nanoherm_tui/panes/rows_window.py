"""Rows in a pane: made once a width, painted where they are visible, scrolled between fixed rows above and below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.panes.bodies import LEFT, RIGHT, Body, Row, RowList, paint_row
from nanoherm_tui.panes.keys import PaneKeys
from nanoherm_tui.strips import look_of
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import width

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look


class RowsWindow(PaneKeys):
    """The base of a pane of rows. A subclass gives them: `head`, `body` and `foot` are asked once a width, after
    `stale()`.
    """

    RULE: ClassVar[str] = "left"
    """The edge where the rule is drawn in themes that need one: left or right; "": at none."""
    GROUND: ClassVar[str] = "panel"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.top = 0
        """The first row of the body that is visible."""
        self.cursor: int | None = None
        """The cursor's row in the body."""
        self.builds = 0
        """How often the rows were made anew: for tests."""
        self.paints = 0
        """How often the pane was painted, in whole or in part: for tests."""
        self._made_for: tuple[int, Look] | None = None
        self._head: list[Row] = []
        self._body: Body = RowList(())
        self._foot: list[Row] = []
        self._painted: dict[int, Strip] = {}
        self._to_end = False  # the end was asked for: it stays in view when more is known about what is above it

    # -- what a subclass gives ------------------------------------------------------------------------------------

    def head(self, cells: int) -> Sequence[Row]:
        return ()

    def body(self, cells: int) -> Sequence[Row] | Body:
        return ()

    def foot(self, cells: int) -> Sequence[Row]:
        return ()

    def rebuilt(self) -> None:
        """The body has been made anew: put the cursor where it belongs."""

    def settled(self) -> None:
        """Other rows may be in view, or about to be."""

    def marks(self, index: int) -> Sequence[tuple[int, int, bool]]:
        """Parts of a row's text to be marked, as (first character, end, it is the one that was gone to)."""
        return ()

    def painted_over(self, strips: list[Strip], first: int) -> list[Strip]:
        """Rows of the pane from the `first` on, as they were painted, with what is to be seen over them."""
        return strips

    def leave_rows(self) -> None:
        """The rows are about to be others."""

    # -- rows -----------------------------------------------------------------------------------------------------

    def stale(self) -> None:
        """Something shown has changed: make the rows anew at the next painting."""
        self._made_for = None
        self.leave_rows()
        self.refresh()

    def stale_foot(self) -> None:
        """The fixed rows below alone have changed."""
        if self._made_for is not None:
            self._foot = list(self.foot(self.cells))
            self._clamp()
        self.refresh()

    def refresh_look(self) -> None:
        """The theme or the language has changed: the same rows are made anew, and the line at the top stays there."""
        if self._made_for is not None:
            self._made_for = (-1, self._made_for[1])
        self.leave_rows()
        self.refresh()

    @property
    def rows(self) -> Body:
        """The rows of the body as they are now."""
        self._ensure()
        return self._body

    @property
    def cells(self) -> int:
        """The width of the content."""
        return max(0, self.size.width - LEFT - RIGHT)

    @property
    def view_height(self) -> int:
        """How many rows of the body are visible."""
        return max(0, self.size.height - len(self._head) - len(self._foot))

    def _ensure(self) -> None:
        look = look_of(self)
        if self._made_for == (self.cells, look):
            return
        # Another width wraps the same lines otherwise: the line at the top stays there.
        place = None if self._made_for is None or not len(self._body) else self._body.place(self.top)
        self._made_for = (self.cells, look)
        self._painted.clear()
        self._head = list(self.head(self.cells))
        self._foot = list(self.foot(self.cells))
        body = self.body(self.cells)
        self._body = RowList(body) if isinstance(body, Sequence) else body
        self.builds += 1
        if place is not None:
            self.top = self._body.row_at(place)
        self.rebuilt()
        self._clamp()

    def _clamp(self) -> None:
        """Keep the top where there are rows, and find out about the rows in view, which may move both."""
        view = self.view_height
        while True:
            total = len(self._body)
            last = max(0, total - view)
            top = last if self._to_end else max(0, min(self.top, last))
            self.top = self._body.settle(top, view)
            if len(self._body) == total:
                break
        self.settled()

    def _index_at(self, y: int) -> int | None:
        """The row of the body on row y of the pane."""
        index = self.top + y - len(self._head)
        in_view = len(self._head) <= y < self.size.height - len(self._foot)
        return index if in_view and index < len(self._body) else None

    # -- painting -------------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        self._ensure()
        self._clamp()
        self.paints += 1
        strips = [self._with_marks(self._strip(y), y) for y in range(crop.y, crop.bottom)]
        strips = self.painted_over(strips, crop.y)
        full = crop.x == 0 and crop.width == self.size.width
        return strips if full else [s.crop(crop.x, crop.right) for s in strips]

    def repaint_all(self) -> None:
        """Rows of the body are others than those that were painted."""
        self._painted.clear()
        self._clamp()
        self.refresh()

    def refresh_row(self, index: int) -> None:
        """Paint one row of the body again, if it is visible."""
        self._painted.pop(self._body.key(index), None)
        y = len(self._head) + index - self.top
        if len(self._head) <= y < self.size.height - len(self._foot):
            self.refresh(Region(0, y, self.size.width, 1))

    def repaint_row(self, index: int, row: Row) -> None:
        """Put another row in the place of one of the body's."""
        if isinstance(self._body, RowList) and self._body[index] != row:
            self._body.put(index, row)
            self.refresh_row(index)

    def _strip(self, y: int) -> Strip:
        height, above, below = self.size.height, len(self._head), len(self._foot)
        if y >= height - below and y - (height - below) < below:
            return self._edged(paint_row(self._foot[y - height + below], self.cells, look_of(self)), y)
        if y < above:
            return self._edged(paint_row(self._head[y], self.cells, look_of(self)), y)
        index = self._index_at(y)
        if index is None:
            return self._edged(paint_row(Row(bg=self.GROUND), self.cells, look_of(self)), y)
        selected, key = index == self.cursor, self._body.key(index)
        content = self._painted.get(key)
        if selected or content is None:
            content = paint_row(self._body[index], self.cells, look_of(self), selected=selected)
            if not selected:
                if len(self._painted) >= limits.PAINTED_ROWS:
                    self._painted.clear()
                self._painted[key] = content
        return self._edged(content, y, selected=selected)

    def _edged(self, content: Strip, y: int, *, selected: bool = False) -> Strip:
        """A row's content between the pane's edge columns."""
        look, size = look_of(self), self.size.width
        if size < LEFT + RIGHT:
            return Strip.blank(size, look.style("text", self.GROUND))
        blank = look.style("text", self.GROUND)
        beside = look.style("text", "selection") if selected else blank
        rule = Segment(sym("rule"), look.mark("rule", self.GROUND)) if look.theme.draws_rules else Segment(" ", blank)
        first = rule if self.RULE == "left" else Segment(" ", blank)
        last = rule if self.RULE == "right" else Segment(" ", blank)
        if selected:
            first = Segment(sym("bar"), look.mark("accent" if self.has_focus else "muted", self.GROUND))
        if self._on_thumb(y):
            # The same column may carry the rule, in the same colour: a thumb there has to stand out from it.
            role = "muted" if self.RULE == "right" and look.theme.draws_rules else "thumb"
            last = Segment(sym("thumb"), look.mark(role, self.GROUND))
        segments = [first, Segment(" ", beside), *content, Segment(" ", beside), last]
        return Strip(segments, size)

    def _with_marks(self, strip: Strip, y: int) -> Strip:
        index = self._index_at(y)
        if index is None:
            return strip
        look = look_of(self)
        for start, end, here in self.marks(index):
            style = look.style("seltext", "selection") if here else look.style("accent", "surface", underline=True)
            strip = self._over(strip, self._body[index], start, end, style)
        return strip

    def _over(self, strip: Strip, row: Row, start: int, end: int, style: Style) -> Strip:
        """`strip`, the painted `row`, with characters of its text in another style."""
        content = strip.crop(LEFT, self.size.width - RIGHT).text
        first = LEFT + width(content[: row.margin + start])
        last = LEFT + width(content[: row.margin + end])
        if last <= first:
            return strip
        middle = [Segment(s.text, style) for s in strip.crop(first, last)]
        return Strip.join([strip.crop(0, first), Strip(middle, last - first), strip.crop(last)])

    # -- scrolling ------------------------------------------------------------------------------------------------

    def thumb(self) -> tuple[int, int]:
        """Where the scrollbar's thumb is: (first row, rows) within the body's view; no rows when all is visible."""
        view, total = self.view_height, len(self._body)
        if total <= view or view <= 0:
            return 0, 0
        size = max(1, view * view // total)
        return round(self.top * (view - size) / (total - view)), size

    def _on_thumb(self, y: int) -> bool:
        first, size = self.thumb()
        return first <= y - len(self._head) < first + size

    def scroll_to_row(self, top: int) -> None:
        """Make `top` the first visible row of the body, as far as it goes."""
        self._ensure()
        before, self.top, self._to_end = self.top, top, False
        self._clamp()
        if self.top != before:
            self.refresh()

    def show_row(self, index: int) -> None:
        """Scroll as little as brings a row of the body into view."""
        if index < self.top:
            self.scroll_to_row(index)
        elif index >= self.top + self.view_height:
            self.scroll_to_row(index - self.view_height + 1)
