"""Moving in the transcript: its cursor, and what the window shows, with keys, the wheel and the scrollbar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui import limits
from nanoherm_tui.transcript.lines import Place
from nanoherm_tui.transcript.spots import Point, rows_from
from nanoherm_tui.transcript.window import Window

if TYPE_CHECKING:
    from textual import events
    from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp

    from nanoherm_tui.transcript.cursor import Cursor
    from nanoherm_tui.transcript.layout import Layout


class Moving(Window):
    """A window that goes where the reader wants to be."""

    _to_the_top = False
    """The beginning is where the reader wants to be."""

    def action_move(self, step: int) -> None:
        """Go to the next block, or with -1 the one before; a row while text is being selected."""
        if self.uses_letters:
            self._move_head(step)
        elif self._layout() is not None and self._page is not None:
            self._page.cursor.move(step)
            self._moved()

    def _moved(self) -> None:
        """The cursor may be elsewhere."""
        self._held = False
        self._sync(everything=True)

    def action_row(self, rows: int) -> None:
        layout = self._layout()
        if self.uses_letters:
            self._move_head(rows)
        elif layout is not None:
            layout.scroll(rows)
            self._held = False
            self._sync()

    def action_page(self, pages: int) -> None:
        """A page is the window less one row, so that the eye keeps its line."""
        self.action_row(pages * max(1, self.size.height - 1))

    def action_edge(self, by: int) -> None:
        if self.uses_letters:
            self._move_head("first" if by < 0 else "last")
        else:
            (self.action_home if by < 0 else self.action_end)()

    def action_turn(self, step: int) -> None:
        """Go to the next message of the user's, or with -1 to the one before: it stands at the window's top."""
        layout = self._layout()
        if layout is None or self._page is None:
            return
        entries = self._model.entries
        index = self._turn_from(layout, self._page.cursor)
        index += step
        while 0 <= index < len(entries) and entries[index].kind != "user":
            index += step
        if not 0 <= index < len(entries):
            if step > 0:
                self.action_edge(1)
            return
        place, _ = next(rows_from(layout, Place(index, 0, 0), 1))
        if self.uses_letters:
            self._page.selected.move_to(Point(place, 0))
            self._head_moved(layout, self._page.selected)
            return
        layout.top_at(place)
        layout.window(layout.height)
        line = next((line for line in layout.lines if line.entry is entries[index]), None)
        if line is not None:
            self._page.cursor.select(line)
        self._moved()

    def _turn_from(self, layout: Layout, cursor: Cursor) -> int:
        """The entry from which to look for another turn: the caret's, the cursor's, or what the window begins with."""
        caret = self._page.selected.caret if self._page is not None else None
        if caret is not None:
            return caret.place.entry
        chosen = next((line for line in layout.lines if cursor.is_on(line)), None)
        if chosen is not None:
            return chosen.place.entry
        if layout.stick or not layout.lines:
            return len(self._model.entries)
        return layout.lines[0].place.entry

    def action_first_unread(self) -> None:
        """Go to where begins what has not been seen."""
        layout = self._layout()
        place = layout.first_new if layout is not None else None
        if layout is not None and place is not None:
            layout.top_at(place)
            self._moved()

    def action_home(self) -> None:
        layout = self._layout()
        if layout is not None:
            layout.go_home()
            self._held = False
            self._to_the_top = bool(self._model.earlier)
            self._sync()

    def action_end(self) -> None:
        layout = self._layout()
        if layout is not None:
            layout.go_end()
            self._held = self._to_the_top = False
            self._sync()

    def scroll_to(  # every way of Textual's to scroll ends here; animation has no place in it
        self, x: float | None = None, y: float | None = None, **_options: object
    ) -> None:
        """Put row `y` of the whole transcript at the top, at once."""
        layout = self._layout()
        if layout is not None and y is not None:
            layout.go_to_row(round(y))
            self._sync()

    def on_scroll_to(self, message: ScrollTo) -> None:
        """The scrollbar's thumb is dragged."""
        message.stop()
        message.prevent_default()
        self._held = False
        self.scroll_to(y=message.y)

    def on_scroll_up(self, message: ScrollUp) -> None:
        message.stop()
        message.prevent_default()
        self.action_page(-1)

    def on_scroll_down(self, message: ScrollDown) -> None:
        message.stop()
        message.prevent_default()
        self.action_page(1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        event.prevent_default()
        self.action_row(limits.WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        event.prevent_default()
        self.action_row(-limits.WHEEL_ROWS)
