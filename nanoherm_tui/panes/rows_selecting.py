"""Text of a pane's rows is selected, with the mouse or with keys."""

from __future__ import annotations

from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from nanoherm_tui.panes.bodies import LEFT, RIGHT, Place, text_between
from nanoherm_tui.panes.rows_window import RowsWindow
from nanoherm_tui.strips import look_of


class SelectableRows(RowsWindow):
    """Rows whose text can be selected where a subclass says ALLOW_SELECT: by the names of rows, so that it stays with
    the text while the pane scrolls.
    """

    ALLOW_SELECT = False

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._marked: tuple[Offset, Offset] | None = None  # of a selection made with keys: where it began, where it is

    def render_line(self, y: int) -> Strip:
        """A row that knows where its text is in the body: asked for to find out what is under the mouse."""
        self._ensure()
        strip, index = self._strip(y), self._index_at(y)
        if index is None or not self.ALLOW_SELECT or self.size.width < LEFT + RIGHT:
            return strip
        end = self.size.width - RIGHT
        text = strip.crop(LEFT, end).apply_offsets(0, self._body.key(index))
        return Strip.join([strip.crop(0, LEFT), text, strip.crop(end)])

    def painted_over(self, strips: list[Strip], first: int) -> list[Strip]:
        selection = self.text_selection
        if selection is None:
            return strips
        return [self._with_selection(strip, y, selection) for y, strip in enumerate(strips, first)]

    def _with_selection(self, strip: Strip, y: int, selection: Selection) -> Strip:
        index = self._index_at(y)
        span = selection.get_span(self._body.key(index)) if index is not None else None
        if index is None or span is None:
            return strip
        row = self._body[index]
        end = len(row.text)
        last = end if span[1] == -1 else min(span[1] - row.margin, end)
        return self._over(strip, row, max(span[0] - row.margin, 0), last, look_of(self).style("seltext", "selection"))

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

    def leave_rows(self) -> None:
        # It is kept by row, and the rows are about to be others.
        if self.is_mounted and self.text_selection is not None:
            self.screen.clear_selection()

    def on_resize(self) -> None:
        self.leave_rows()
