"""Selecting in the transcript with keys and the mouse, and copying: the part of its widget that is about text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.actions import SkipAction
from textual.scroll_view import ScrollView
from textual.selection import SELECT_ALL, Selection

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.keys import PaneKeys
from nanoherm_tui.transcript.select import Selected, code_near, source_of
from nanoherm_tui.transcript.spots import Motion, Point

if TYPE_CHECKING:
    from textual import events
    from textual.timer import Timer

    from nanoherm_tui.transcript.blocks import Block
    from nanoherm_tui.transcript.cursor import Cursor
    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.layout import Layout
    from nanoherm_tui.transcript.lines import Line


@dataclass(slots=True)
class _Drag:
    """The mouse is held down. Places are the screen's until it has moved, then the widget's."""

    x: int
    y: int
    moved: bool = False
    rows: int = 0
    """What it scrolls by, while it is over the edge."""
    timer: Timer | None = None


class Selecting(PaneKeys, ScrollView):
    """The base of the transcript's widget. What is selected is kept in `Selected`; the screen only knows that there is
    something, so that Ctrl+C and Esc mean it.
    """

    ALLOW_SELECT = False  # Textual's own selection is kept by the rows of a width

    _drag: _Drag | None = None
    _held = False
    """The end is left only while a selection or a hit is in the window."""

    # -- what the widget gives ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def lines(self) -> Sequence[Line]:
        """The lines of the window."""

    @property
    @abstractmethod
    def _selected(self) -> Selected | None:
        """What is selected in the model that is shown; None: none is shown."""

    @property
    @abstractmethod
    def _cursor(self) -> Cursor | None:
        """The cursor on blocks in the model that is shown."""

    @property
    @abstractmethod
    def _width(self) -> int:
        """Cells of a row."""

    @abstractmethod
    def _layout(self) -> Layout | None:
        """The layout of the model that is shown, once the widget has a size."""

    @abstractmethod
    def _chosen(self) -> tuple[Entry, Block] | None:
        """The block under the cursor."""

    @abstractmethod
    def _sync(self, *, everything: bool = False) -> None:
        """Show what the layout says now."""

    @abstractmethod
    def _paint_mark(self) -> None:
        """Paint the mark at the lower right anew, if it says something else now."""

    @abstractmethod
    def _release(self) -> None:
        """Follow the end again if it was left for nothing but a selection or a hit."""

    @abstractmethod
    def _on_mark(self, x: int, y: int) -> bool:
        """Whether the mark is at a place of the widget: clicks there are its own."""

    @abstractmethod
    def _ask_copy(self, text: str, missing: str) -> None:
        """Have text copied; `missing` is what is said when there is none."""

    def on_blur(self) -> None:
        """Keys go elsewhere; what they have selected stays."""
        selected = self._selected
        if selected is not None and selected.by_keys:
            selected.by_keys = False
            selected.resolve()
            self._selection_changed()

    # -- by keys --------------------------------------------------------------------------------------------------

    @property
    def uses_letters(self) -> bool:
        """Keys move the end of a selection: letters are neither answers nor the start of a message."""
        return self._selected is not None and self._selected.by_keys

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, whatever the screen knows of the selection."""
        selected = self._selected
        return (selected.text(), "\n") if selected is not None else None

    def selection_updated(self, selection: Selection | None) -> None:
        selected = self._selected
        if self.text_selection is None and selected is not None and selected.span is not None:
            self._unselect()  # as it is now: what is told may be older
        elif self.text_selection is None:
            self._release()

    def _unselect(self) -> None:
        """Nothing is selected any more."""
        selected = self._selected
        if selected is not None and (selected.span is not None or selected.by_keys):
            selected.clear()
            self._paint_mark()
            self.refresh()
        if self.text_selection is not None:
            self.screen.clear_selection()
        self._release()

    def _selection_changed(self) -> None:
        """Show what is selected now, and tell the screen whether something is."""
        selected = self._selected
        if selected is None:
            return
        if selected.span is not None and self.text_selection is None:
            self.screen.selections = {self: SELECT_ALL}
        elif selected.span is None and self.text_selection is not None:
            self.screen.clear_selection()
        self._paint_mark()
        self.refresh()

    def action_select(self) -> None:
        """Let keys move the end of the selection, or stop that."""
        selected = self._selected
        if self._layout() is None or selected is None:
            return
        if selected.by_keys:
            self._unselect()
        else:
            self._begin_selecting(selected)

    def _begin_selecting(self, selected: Selected) -> bool:
        """From the block under the cursor if that can be seen, else from the window's first row of text."""
        if selected.by_keys:
            return True
        lines = [line for line in self.lines if line.row.indent]
        if not lines:
            return False
        cursor = self._cursor
        line = next((line for line in lines if cursor is not None and cursor.is_on(line)), lines[0])
        selected.begin(Point(line.place, 0))
        self._selection_changed()
        return True

    def action_caret(self, motion: Motion) -> None:
        """Move the end of the selection; the keys for it are letters again while nothing is being selected."""
        if not self.uses_letters:
            raise SkipAction
        self._move_head(motion)

    def action_extend(self, motion: Motion) -> None:
        """Select on from where the selection ends, or from the cursor."""
        if self._selected is not None and self._begin_selecting(self._selected):
            self._move_head(motion)

    def action_extend_rows(self, rows: int) -> None:
        if self._selected is not None and self._begin_selecting(self._selected):
            self._move_head(rows)

    def action_extend_pages(self, pages: int) -> None:
        self.action_extend_rows(pages * max(1, self.size.height - 1))

    def _move_head(self, by: Motion | int) -> None:
        """Move the selection's end by a motion or some rows, and bring it into the window."""
        layout, selected = self._layout(), self._selected
        if layout is None or selected is None:
            return
        if isinstance(by, int):
            selected.move_rows(by)
        else:
            selected.move(by)
        self._head_moved(layout, selected)

    def _head_moved(self, layout: Layout, selected: Selected) -> None:
        if selected.caret is not None:
            layout.reveal(selected.caret.place)
        self._held = False
        self._sync(everything=True)
        self._selection_changed()

    def action_copy_block(self) -> None:
        """Copy what is selected, else the block under the cursor: an answer's Markdown, code without its fence, ..."""
        selected = self._selected
        if selected is not None and (selected.span is not None or selected.by_keys):
            self._ask_copy(selected.text(), t("transcript.nothing_selected"))
            self._unselect()
            return
        self._copy_from_cursor(source_of)

    def action_copy_code(self) -> None:
        """Copy the code at the cursor: a whole fence, however long; the nearest of its answer."""
        self._copy_from_cursor(code_near, t("transcript.no_code"))

    def action_copy_message(self) -> None:
        """Copy the whole message under the cursor, as it was written."""
        self._copy_from_cursor(lambda layout, entry, block: source_of(layout, entry))

    def _copy_from_cursor(self, what: Callable[[Layout, Entry, Block], str], missing: str = "") -> None:
        layout, chosen = self._layout(), self._chosen()
        if layout is None:
            return
        text = what(layout, *chosen) if chosen is not None else ""
        if chosen is None:
            missing = t("transcript.no_block", next=self._key("next"), previous=self._key("previous"))
        self._ask_copy(text, missing)

    def _key(self, action_id: str) -> str:
        return self.keymap.label(action_id) or t("transcript.no_key")

    # -- by the mouse ---------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        selected = self._selected
        if event.button != 1 or selected is None or not self.lines or self._on_mark(event.x, event.y):
            return
        selected.clear()
        line, x = self._line_at(event.x, event.y)
        selected.press(line, x)
        self._drag = _Drag(event.screen_x, event.screen_y)
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        drag = self._drag
        if drag is None:
            return
        if not event.button:  # the release was lost, outside the terminal perhaps
            self._end_drag()
        elif drag.moved or (event.screen_x, event.screen_y) != (drag.x, drag.y):
            drag.moved, drag.x, drag.y = True, event.x, event.y
            self._drag_on(drag)
            self._scroll_while_dragged(drag)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._end_drag()

    def _end_drag(self) -> None:
        drag, self._drag = self._drag, None
        if drag is None:
            return
        self.release_mouse()
        if drag.timer is not None:
            drag.timer.stop()

    def _drag_on(self, drag: _Drag) -> None:
        if self._selected is not None and self.lines:
            self._selected.drag(*self._line_at(drag.x, drag.y))
            self._selection_changed()

    def _line_at(self, x: int, y: int) -> tuple[Line, int]:
        """The line and the column at a place of the widget; above them the first one's start, below the last's end."""
        lines = self.lines
        if y < 0:
            return lines[0], 0
        return (lines[y], x) if y < len(lines) else (lines[-1], self._width)

    def _scroll_while_dragged(self, drag: _Drag) -> None:
        """Dragged over the edge, the text comes by itself, the faster the further; at the screen's edge, on its row."""
        region, screen = self.region, self.screen.size
        above, below = -drag.y, drag.y - (self.size.height - 1)
        if above > 0 or (above == 0 and region.y == 0):
            drag.rows = -1 - above // 2
        elif below > 0 or (below == 0 and region.bottom == screen.height):
            drag.rows = 1 + below // 2
        else:
            drag.rows = 0
        if drag.rows and drag.timer is None:
            drag.timer = self.set_interval(limits.DRAG_SECONDS, self._scroll_dragged)

    def _scroll_dragged(self) -> None:
        layout, drag = self._layout(), self._drag
        if layout is not None and drag is not None and drag.rows:
            layout.scroll(drag.rows)
            self._sync()
            self._drag_on(drag)

    def _click_again(self, line: Line, event: events.Click) -> None:
        """A second click selects a word, a third the block."""
        selected, cursor = self._selected, self._cursor
        if selected is None or cursor is None or not line.row.indent:
            return
        if event.chain == 2:
            selected.word(line, event.x)
        else:
            cursor.select(line)
            selected.blocks(line.place.entry, cursor.group(line))
        self._selection_changed()
