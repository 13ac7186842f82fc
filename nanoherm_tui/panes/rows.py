"""A pane as rows: one widget that draws only what is visible, however long the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Offset, Region
from textual.selection import Selection
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.panes.bodies import LEFT, RIGHT, Body, Place, Row, RowList, paint_row, text_between
from nanoherm_tui.panes.keys import PaneKeys
from nanoherm_tui.strips import look_of
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import width

if TYPE_CHECKING:
    from nanoherm_tui.themes import Look


class RowsView(PaneKeys, can_focus=True):
    """Fixed rows above and below, and between them a list that scrolls.

    A subclass gives the rows: `head`, `body` and `foot` are asked once a width, after `stale()`. The cursor's row is
    drawn on the selection ground; with `CURSOR` the keys move it, without they scroll.
    """

    ALLOW_SELECT = False
    CURSOR: ClassVar[bool] = False
    RULE: ClassVar[str] = "left"
    """The edge where the rule is drawn in themes that need one: left or right."""
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
        self._grip: int | None = None  # where on the thumb the mouse holds it
        self._to_end = False  # the end was asked for: it stays in view when more is known about what is above it
        self._marked: tuple[Offset, Offset] | None = None  # of a selection made with keys: where it began, where it is

    # -- what a subclass gives ----------------------------------------------------------------------------------

    def head(self, cells: int) -> Sequence[Row]:
        return ()

    def body(self, cells: int) -> Sequence[Row] | Body:
        return ()

    def foot(self, cells: int) -> Sequence[Row]:
        return ()

    def chosen(self, key: str) -> None:
        """Enter or a click on the row with this key."""

    def clicked_head(self, x: int, y: int) -> None:
        """A click on the fixed rows above; x counts content columns."""

    def rebuilt(self) -> None:
        """The body has been made anew: put the cursor where it belongs."""

    def settled(self) -> None:
        """Other rows may be in view, or about to be."""

    def marks(self, index: int) -> Sequence[tuple[int, int, bool]]:
        """Parts of a row's text to be marked, as (first character, end, it is the one that was gone to)."""
        return ()

    @property
    def has_cursor(self) -> bool:
        """Whether keys and clicks move a cursor now."""
        return self.CURSOR

    # -- rows ---------------------------------------------------------------------------------------------------

    def stale(self) -> None:
        """Something shown has changed: make the rows anew at the next painting."""
        self._made_for = None
        self._drop_selection()
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
        self._drop_selection()
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

    # -- painting -----------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        self._ensure()
        self._clamp()
        self.paints += 1
        strips = [self._with_marks(self._strip(y), y) for y in range(crop.y, crop.bottom)]
        selection = self.text_selection
        if selection is not None:
            strips = [self._with_selection(s, y, selection) for y, s in enumerate(strips, crop.y)]
        full = crop.x == 0 and crop.width == self.size.width
        return strips if full else [s.crop(crop.x, crop.right) for s in strips]

    def render_line(self, y: int) -> Strip:
        """A row that knows where its text is in the body: asked for to find out what is under the mouse."""
        self._ensure()
        strip, index = self._strip(y), self._index_at(y)
        if index is None or not self.ALLOW_SELECT or self.size.width < LEFT + RIGHT:
            return strip
        end = self.size.width - RIGHT
        text = strip.crop(LEFT, end).apply_offsets(0, self._body.key(index))
        return Strip.join([strip.crop(0, LEFT), text, strip.crop(end)])

    def _index_at(self, y: int) -> int | None:
        """The row of the body on row y of the pane."""
        index = self.top + y - len(self._head)
        in_view = len(self._head) <= y < self.size.height - len(self._foot)
        return index if in_view and index < len(self._body) else None

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
            last = Segment(sym("bar"), look.mark(role, self.GROUND))
        segments = [first, Segment(" ", beside), *content, Segment(" ", beside), last]
        return Strip(segments, size)

    # -- selecting text -----------------------------------------------------------------------------------------

    def _with_selection(self, strip: Strip, y: int, selection: Selection) -> Strip:
        index = self._index_at(y)
        span = selection.get_span(self._body.key(index)) if index is not None else None
        if index is None or span is None:
            return strip
        row = self._body[index]
        end = len(row.text)
        last = end if span[1] == -1 else min(span[1] - row.margin, end)
        return self._over(strip, row, max(span[0] - row.margin, 0), last, look_of(self).style("seltext", "selection"))

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

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: margins left out, wrapped lines joined again."""
        body = self.rows
        start, end = selection
        first = self._place(start) if start else Place(0, 0, 0)
        last = self._place(end) if end else Place(body.pages - 1, 1 << 62, 0)
        return text_between(body, first, last), "\n"

    def _place(self, offset: Offset) -> Place:
        """The place of a character of a selection, which goes by the names of rows."""
        index = min(self._body.index(offset.y), len(self._body) - 1)
        row, place = self._body[index], self._body.place(index)
        return place._replace(at=place.at + max(0, min(offset.x - row.margin, len(row.text))))

    def action_select(self, rows: int, characters: int) -> None:
        """Select text with keys: move the end by rows, or by characters of a row.

        It begins at the end of what is selected, else at the cursor's row or the first row in view.
        """
        self._ensure()
        if not self.ALLOW_SELECT or not len(self._body):
            return
        selection = self.text_selection
        if selection is None or self._marked is None or set(self._marked) != {selection.start, selection.end}:
            begin = self._first_place() if selection is None or selection.end is None else selection.end
            self._marked = (begin, begin)
        began, at = self._marked
        index = self._body.index(at.y)
        x = at.x + characters
        if not 0 <= x - self._body[index].margin <= len(self._body[index].text):
            rows = 1 if characters > 0 else -1
        to = max(0, min(index + rows, len(self._body) - 1))
        self.show_row(to)
        row = self._body[to]
        if to != index and characters:
            x = row.margin + (0 if characters > 0 else len(row.text))
        end = row.margin + len(row.text)
        if to == index and rows:  # there are no more rows: all of this one
            x = end if rows > 0 else 0
        self._marked = (began, Offset(max(row.margin, min(x, end)), self._body.key(to)))
        self.screen.selections = {self: Selection.from_offsets(*self._marked)}

    def _first_place(self) -> Offset:
        in_view = self.cursor is not None and self.top <= self.cursor < self.top + self.view_height
        index = self.cursor if in_view and self.cursor is not None else min(self.top, len(self._body) - 1)
        return Offset(self._body[index].margin, self._body.key(index))

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def _drop_selection(self) -> None:
        # It is kept by row, and the rows are about to be others.
        if self.is_mounted and self.text_selection is not None:
            self.screen.clear_selection()

    def on_resize(self) -> None:
        self._drop_selection()

    # -- scrolling ----------------------------------------------------------------------------------------------

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

    # -- the cursor ---------------------------------------------------------------------------------------------

    @property
    def cursor_key(self) -> str:
        """The key of the cursor's row, or ""."""
        self._ensure()
        if self.cursor is None or self.cursor >= len(self._body):
            return ""
        return self._body[self.cursor].key

    def set_cursor(self, index: int | None) -> None:
        """Move the cursor to a row of the body and bring it into view."""
        if index == self.cursor:
            return
        before, self.cursor = self.cursor, index
        for i in (before, index):
            if i is not None:
                self.refresh_row(i)
        if index is not None:
            self._reveal(index)

    def _reveal(self, index: int) -> None:
        # A heading right above the first entry comes along.
        self.show_row(index - 1 if index and not self._body[index - 1].key else index)
        self.show_row(index)

    def _step(self, start: int, by: int) -> int | None:
        """The nearest row with a key from `start` on, in the direction of `by`."""
        index = start
        while 0 <= index < len(self._body):
            if self._body[index].key:
                return index
            index += 1 if by > 0 else -1
        return None

    def action_move(self, by: int) -> None:
        self._ensure()
        if not self.has_cursor:
            self.scroll_to_row(self.top + by)
            return
        at = self._step(0 if self.cursor is None else self.cursor + by, by)
        if at is not None:
            self.set_cursor(at)

    def action_row(self, by: int) -> None:
        self.action_move(by)

    def action_page(self, by: int) -> None:
        self._ensure()
        far = max(1, self.view_height - 1) * by
        if not self.has_cursor or self.cursor is None:
            self.scroll_to_row(self.top + far)
            return
        goal = max(0, min(self.cursor + far, len(self._body) - 1))
        at = self._step(goal, by)
        self.set_cursor(self._step(goal, -by) if at is None else at)

    def action_edge(self, by: int) -> None:
        self._ensure()
        if not self.has_cursor:
            self.scroll_to_row(0)
            if by > 0:
                self._to_end = True
                self._clamp()
                self.refresh()
            return
        at = self._step(0, 1) if by < 0 else self._step(len(self._body) - 1, -1)
        if at is not None:
            self.set_cursor(at)

    # -- focus and mouse ----------------------------------------------------------------------------------------

    def on_focus(self) -> None:
        self._bar_changed()

    def on_blur(self) -> None:
        self._bar_changed()

    def _bar_changed(self) -> None:
        if self.cursor is not None:
            self.refresh_row(self.cursor)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_to_row(self.top - limits.WHEEL_ROWS)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_to_row(self.top + limits.WHEEL_ROWS)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.x < self.size.width - 1 or not self.thumb()[1]:
            return
        first, size = self.thumb()
        at = event.y - len(self._head)
        self._grip = at - first if first <= at < first + size else size // 2
        self.screen.clear_selection()  # which the screen has just begun
        self.capture_mouse()
        self._drag(event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._grip is not None:
            self._drag(event.y)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._grip is not None:
            self._grip = None
            self.release_mouse()

    def _drag(self, y: int) -> None:
        view, total = self.view_height, len(self._body)
        track = view - self.thumb()[1]
        if track > 0 and self._grip is not None:
            self.scroll_to_row(round((y - len(self._head) - self._grip) * (total - view) / track))

    def on_click(self, event: events.Click) -> None:
        self._ensure()
        if event.x >= self.size.width - 1:
            return
        if event.y < len(self._head):
            self.clicked_head(event.x - LEFT, event.y)
            return
        index = self._index_at(event.y)
        if index is not None and self._body[index].key:
            if self.has_cursor:
                self.set_cursor(index)
            self.chosen(self._body[index].key)
