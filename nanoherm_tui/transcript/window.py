"""The window on a conversation: which rows of its layout are shown, and how they come to the screen.

What is painted comes from `Layout`; here only the rows that changed are painted anew. The compositor asks for them
through `render_lines`.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.geometry import Region
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.compat.scrolling import set_scroll, thin_scrollbar
from nanoherm_tui.i18n import t
from nanoherm_tui.strips import look_of
from nanoherm_tui.symbols import sym
from nanoherm_tui.transcript import messages
from nanoherm_tui.transcript.cursor import Cursor
from nanoherm_tui.transcript.find import Find
from nanoherm_tui.transcript.kept_place import KeptPlace, find_again
from nanoherm_tui.transcript.layout import Layout
from nanoherm_tui.transcript.model import TranscriptModel
from nanoherm_tui.transcript.painting import with_cursor, with_hits, with_mark, with_selection
from nanoherm_tui.transcript.render import Moment
from nanoherm_tui.transcript.row import RIGHT_MARGIN, Row
from nanoherm_tui.transcript.select import Selected
from nanoherm_tui.transcript.selecting import Selecting
from nanoherm_tui.transcript.unread import Seen, first_unseen, left_at, message_after

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nanoherm_tui.theming.themes import Look
    from nanoherm_tui.transcript.blocks import Block
    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.lines import Line


@dataclass(slots=True)
class Counters:
    """What the widget has done, for tests and measurements."""

    syncs: int = 0
    """Times the window was worked out anew."""
    paints: int = 0
    """Times the compositor asked for rows."""
    rows: int = 0
    """Rows marked for repainting."""


@dataclass(slots=True)
class Page:
    """Where a session is read: kept with its model while another one is shown."""

    layout: Layout
    cursor: Cursor
    find: Find
    selected: Selected
    left: Seen | None = None
    """What had been shown when the session was left, at its end."""


@dataclass(slots=True)
class _Painted:
    """What the screen shows, to repaint only what differs."""

    rows: list[Row] = field(default_factory=list)
    mark: str = ""


class Window(Selecting):
    """The base of the transcript's widget that shows a model: whoever changes what is shown calls `_sync`."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.counters = Counters()
        self._model = TranscriptModel()
        self._page: Page | None = None
        self._painted = _Painted()
        self._frame = 0
        self._asked = ""  # the id of the message before which more has been asked for
        self._wanted = ""  # the message after which a session is to be shown once it is loaded
        self._kept: KeptPlace | None = None  # where it is to be shown once that is loaded
        self._came_back = False  # what is selected in it has not been told to the screen yet

    @property
    def lines(self) -> Sequence[Line]:
        """The lines of the window."""
        layout = self._layout()
        return layout.lines if layout else ()

    # -- the window -----------------------------------------------------------------------------------------------

    @property
    def _look(self) -> Look:
        return look_of(self)

    @property
    def _width(self) -> int:
        """Cells of a row: the widget without its scrollbar."""
        return self.scrollable_content_region.width

    @property
    def _selected(self) -> Selected | None:
        return self._page.selected if self._page is not None else None

    @property
    def _cursor(self) -> Cursor | None:
        return self._page.cursor if self._page is not None else None

    def _ask_copy(self, text: str, missing: str) -> None:
        self.post_message(messages.CopyRequested(text, missing))

    def _moment(self) -> Moment:
        return Moment(self._frame, self._model.clock())

    def _layout(self) -> Layout | None:
        """The layout of the shown model, once the widget has a size."""
        if self._page is not None:
            return self._page.layout
        width = self._width
        if not self.is_mounted or width <= 0:
            return None
        page = self._model.place
        if isinstance(page, Page):
            page.layout.catch_up()
            page.layout.configure(self._look, width)
            if page.left is not None:
                self._show_unseen(page.layout, first_unseen(self._model, page.left))
                page.left = None
        else:
            layout = Layout(self._model, self._look, width)
            page = self._model.place = Page(layout, Cursor(layout), Find(layout), Selected(layout))
        self._page = page
        return page.layout

    def _show_unseen(self, layout: Layout, first: tuple[int, int] | None) -> None:
        """Mark the first (entry, block) that has not been seen, and begin with it if all that follows does not fit."""
        if first is None:
            return
        entry, block = first
        layout.marked = (self._model.entries[entry], self._model.entries[entry].blocks[block].key)
        if layout.has_more(entry, block, self.size.height):
            layout.show_from(entry, block)

    def _leave(self) -> None:
        """Another session is about to be shown: remember what of this one has been seen."""
        if self._kept is not None:  # it has not come back yet
            self._model.place = self._kept
            return
        if self._page is not None:
            self._page.selected.by_keys = False  # keys go elsewhere; what they have selected stays
            self._page.layout.left()
        if self._page is not None and self._page.layout.stick:
            self._page.layout.marked = None
            self._page.left = left_at(self._model)

    def _sync(self, *, everything: bool = False) -> None:
        """Work the window out and repaint the rows that differ from the screen's."""
        layout = self._layout()
        if layout is None:
            return
        self.counters.syncs += 1
        layout.moment = self._moment()
        height = self.size.height
        if self._wanted and self._model.entries:
            self._show_unseen(layout, message_after(self._model, self._wanted))
            self._wanted = ""
        if self._kept is not None and self._page is not None and self._model.entries:
            layout.height = height
            if find_again(self._kept, self._model, self._page):
                self._kept = None
                everything = self._came_back = True
            else:
                self._ask_earlier(at_once=True)
        rows = [line.row for line in layout.window(height)]
        if layout.marked is not None and layout.stick and not any(map(layout.is_marked, layout.lines)):
            layout.marked = None  # the end was reached, and the mark is out of sight
        selected = self._selected
        if selected is not None:
            selected.resolve()
            everything = everything or selected.span is not None  # rows that read the same may be selected or not
            if self._came_back:
                self._came_back = False
                self._selection_changed()  # the screen has forgotten it meanwhile
        set_scroll(self, layout.total, layout.top)
        shown = self._painted.rows
        self._painted.rows = rows
        shared = min(len(shown), len(rows))
        different = [y for y in range(shared) if _differ(shown[y], rows[y])]
        different += range(shared, max(len(shown), len(rows)))
        if everything or len(different) > height // 2:
            self.counters.rows += height
            self.refresh()
        else:
            for y in different:
                self._dirty(y)
        self._paint_mark()
        self._ask_earlier()

    def _dirty(self, y: int) -> None:
        self.counters.rows += 1
        self.refresh(Region(0, y, self._width, 1))

    def _paint_mark(self) -> None:
        layout = self._page.layout if self._page is not None else None
        mark = ""
        if self._page is not None and self._page.selected.by_keys:
            mark = f" {t('transcript.selecting', copy=self._key('copy_block'), end=self._key('close_find'))} "
        elif layout is not None and not layout.stick and layout.new_rows:
            mark = f" {sym('newlines')} {t('transcript.new_lines', n=layout.new_rows)} "
        if mark != self._painted.mark:
            self._painted.mark = mark
            self._dirty(self.size.height - 1)

    def on_mount(self) -> None:
        thin_scrollbar(self, lambda: self._look.mark("thumb"))

    def on_resize(self) -> None:
        layout = self._layout()
        if layout is None:
            return
        layout.configure(self._look, self._width)
        self._sync(everything=True)
        self.post_message(messages.Placed())

    # -- painting -------------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the window, `crop` relative to the widget."""
        self.counters.paints += 1
        layout = self._layout()
        look = self._look
        ground = look.style()
        rows = self._painted.rows
        out: list[Strip] = []
        selected = self._selected
        for y in range(crop.y, crop.bottom):
            strip = rows[y].strip if y < len(rows) else Strip.blank(self._width, ground)
            if layout is not None and y < len(layout.lines):
                line = layout.lines[y]
                if self._page is not None and self._page.find.query:
                    strip = with_hits(strip, line, self._page.find, look)
                if selected is not None:
                    strip = with_selection(strip, line, selected, look, focused=self.has_focus)
                if self.has_focus and line.row.indent and self._page is not None and self._page.cursor.is_on(line):
                    strip = with_cursor(strip, look)
            if y == self.size.height - 1 and self._painted.mark:
                strip = with_mark(strip, self._painted.mark, self._width, look)
            if crop.x or crop.width != strip.cell_length:
                strip = strip.crop_extend(crop.x, crop.x + crop.width, ground)
            out.append(strip)
        return out

    def render_line(self, y: int) -> Strip:
        """A row of the window; the compositor asks for it to find out what is under the mouse."""
        rows = self._painted.rows
        return rows[y].strip if y < len(rows) else Strip.blank(self._width, self._look.style())

    def _on_mark(self, x: int, y: int) -> bool:
        """Whether the mark at the window's lower right is at a place of the widget."""
        end = self._width - RIGHT_MARGIN
        return bool(self._painted.mark) and y == self.size.height - 1 and end - cell_len(self._painted.mark) <= x < end

    def _ask_earlier(self, *, at_once: bool = False) -> None:
        """Ask for what was said before when the reader comes near it, or with `at_once`."""
        layout, model = self._layout(), self._model
        if layout is None or not model.earlier or self._asked == model.first:
            return
        first = layout.lines[0].place.entry if layout.lines else 0
        if at_once or (not layout.stick and first < limits.EARLIER_ENTRIES):
            self._asked = model.first
            self.post_message(messages.EarlierRequested())

    def _reads_here(self, layout: Layout) -> bool:
        """Whether something in the window must stay where it is: selected text, or the hit that was gone to."""
        if self.uses_letters or (self.is_mounted and self.text_selection is not None):
            return True
        find = self._page.find if self._page is not None else None
        return find is not None and bool(find.query) and any(find.is_at(line) for line in layout.lines)

    def _release(self) -> None:
        """Follow the end again if it was left for nothing but a selection or a hit."""
        layout = self._layout()
        if layout is not None and self._held and not self._reads_here(layout):
            self._held = False
            layout.go_end()
            self._sync()

    def _chosen(self) -> tuple[Entry, Block] | None:
        return self._page.cursor.block() if self._layout() is not None and self._page is not None else None


def _differ(shown: Row, row: Row) -> bool:
    return shown is not row and shown.segments != row.segments
