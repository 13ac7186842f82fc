"""A pane as rows: one widget that draws only what is visible, however long the list."""

from __future__ import annotations

from typing import ClassVar

from textual import events

from nanoherm_tui import limits
from nanoherm_tui.panes.bodies import LEFT
from nanoherm_tui.panes.rows_selecting import SelectableRows


class RowsView(SelectableRows, can_focus=True):
    """Fixed rows above and below, and between them a list that scrolls.

    The cursor's row is drawn on the selection ground; with `CURSOR` the keys move it, without they scroll.
    """

    CURSOR: ClassVar[bool] = False

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._grip: int | None = None  # where on the thumb the mouse holds it

    def chosen(self, key: str) -> None:
        """Enter or a click on the row with this key."""

    def clicked_head(self, x: int, y: int) -> None:
        """A click on the fixed rows above; x counts content columns."""

    @property
    def has_cursor(self) -> bool:
        """Whether keys and clicks move a cursor now."""
        return self.CURSOR

    # -- the cursor -----------------------------------------------------------------------------------------------

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

    # -- focus and mouse ------------------------------------------------------------------------------------------

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
