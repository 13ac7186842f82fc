"""The transcript's widget: one line-API ScrollView, whatever the number of messages.

What is painted comes from `Layout`; this room turns events, keys and the mouse into calls of it and repaints the rows
that changed. The compositor paints through `render_lines` and asks `render_line` only what lies under the mouse, so
only the latter carries selection offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.actions import SkipAction
from textual.geometry import Region
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from agent_core.events import Event, ReasoningDelta, TextDelta
from nanoherm_tui import compat, limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.keys import PaneKeys
from nanoherm_tui.strips import look_of
from nanoherm_tui.symbols import sym
from nanoherm_tui.themes import Look
from nanoherm_tui.transcript.blocks import Block
from nanoherm_tui.transcript.cursor import Cursor
from nanoherm_tui.transcript.entry import Entry
from nanoherm_tui.transcript.find import Find
from nanoherm_tui.transcript.find_bar import FindBar
from nanoherm_tui.transcript.layout import Layout, Line
from nanoherm_tui.transcript.model import TranscriptModel
from nanoherm_tui.transcript.render import RIGHT_MARGIN, TEXT_AT, Moment, Row


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
class _Page:
    """Where a session is read: kept with its model while another one is shown."""

    layout: Layout
    cursor: Cursor
    find: Find


@dataclass(slots=True)
class _Painted:
    """What the screen shows, to repaint only what differs."""

    rows: list[Row] = field(default_factory=list)
    mark: str = ""


class TranscriptView(PaneKeys, ScrollView, can_focus=True):
    """Shows a TranscriptModel. The app's `look` gives the colours."""

    DEFAULT_CSS = """
    TranscriptView {
        width: 1fr;
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size: 1 1;
        scrollbar-gutter: stable;
    }
    """

    CONTEXT = "transcript"

    class OpenRequested(Message):
        """A tool card's result is wanted in the dock."""

        def __init__(self, call_id: str) -> None:
            super().__init__()
            self.call_id = call_id

    class CopyRequested(Message):
        """This text is wanted on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.counters = Counters()
        self._model = TranscriptModel()
        self._page: _Page | None = None
        self._painted = _Painted()
        self._frame = 0
        self._bar: FindBar | None = None
        self._held = False  # the end is left only while a selection or a hit is in the window

    # -- what the app calls ---------------------------------------------------------------------------------------

    def show(self, model: TranscriptModel) -> None:
        """Show a session's model, at the place where it was last read (at first, its end)."""
        self._drop_bar()
        self._model = model
        self._page = None
        self._held = False
        if self.is_mounted:
            self.screen.clear_selection()
        self._sync()

    @property
    def model(self) -> TranscriptModel:
        return self._model

    def apply(self, batch: Sequence[Event]) -> None:
        """Take a batch of the shown session's events in: at most one repaint, and of nothing but this widget."""
        structure = self._model.structure
        changed: set[Entry] = set()
        for event in batch:
            changed |= self._model.apply(event)
        layout = self._layout()
        if layout is None or not (changed or structure != self._model.structure):
            return
        if layout.stick and self._reads_here(layout):
            layout.hold()
            self._held = True
        if layout.update(changed):
            self._sync()
        else:
            compat.set_scroll(self, layout.total, layout.top)
            if not self._painted.mark or not all(isinstance(event, TextDelta | ReasoningDelta) for event in batch):
                self._paint_mark()  # while text streams its count steps with `tick`

    def _reads_here(self, layout: Layout) -> bool:
        """Whether something in the window must stay where it is: selected text, or the hit that was gone to."""
        if self.is_mounted and self.text_selection is not None:
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

    def tick(self) -> None:
        """Step running marks and seconds; call it four times a second while something runs."""
        self._frame += 1
        layout = self._layout()
        if layout is None:
            return
        self._paint_mark()
        if not self._model.running:
            return
        for number in layout.tick(self._moment()):
            self._painted.rows[number : number + 1] = [layout.lines[number].row]
            self._dirty(number)

    def refresh_look(self) -> None:
        """The theme or the language has changed: draw everything anew."""
        layout = self._layout()
        if layout is not None:
            layout.configure(self._look, layout.width, anew=True)
            self._sync(everything=True)

    def toggle_details(self) -> None:
        """Fold or unfold the selected block; without one, all thoughts and tool results, those to come too."""
        if self.has_focus and self._chosen() is not None:
            self.action_fold()
            return
        self._model.show_details(not self._model.details)
        layout = self._layout()
        if layout is not None:
            layout.update(())
            self._sync(everything=True)

    @property
    def at_end(self) -> bool:
        """The end is shown and followed."""
        layout = self._layout()
        return layout is None or layout.stick

    @property
    def stats(self) -> dict[str, object]:
        """Counters: syncs, paints and repainted rows of the widget, renders by (entry id, block key)."""
        layout = self._layout()
        return {
            "syncs": self.counters.syncs,
            "paints": self.counters.paints,
            "rows": self.counters.rows,
            "renders": layout.renders if layout else {},
        }

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
        if isinstance(page, _Page):
            page.layout.catch_up()
            page.layout.configure(self._look, width)
        else:
            layout = Layout(self._model, self._look, width)
            page = self._model.place = _Page(layout, Cursor(layout), Find(layout))
        self._page = page
        return page.layout

    def _sync(self, *, everything: bool = False) -> None:
        """Work the window out and repaint the rows that differ from the screen's."""
        layout = self._layout()
        if layout is None:
            return
        self.counters.syncs += 1
        layout.moment = self._moment()
        height = self.size.height
        rows = [line.row for line in layout.window(height)]
        compat.set_scroll(self, layout.total, layout.top)
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

    def _dirty(self, y: int) -> None:
        self.counters.rows += 1
        self.refresh(Region(0, y, self._width, 1))

    def _paint_mark(self) -> None:
        layout = self._page.layout if self._page is not None else None
        mark = ""
        if layout is not None and not layout.stick and layout.new_rows:
            mark = f" {sym('newlines')} {t('transcript.new_lines', n=layout.new_rows)} "
        if mark != self._painted.mark:
            self._painted.mark = mark
            self._dirty(self.size.height - 1)

    def on_mount(self) -> None:
        compat.thin_scrollbar(self, lambda: self._look.mark("thumb"))

    def on_resize(self) -> None:
        layout = self._layout()
        if layout is None:
            return
        layout.configure(self._look, self._width)
        self._sync(everything=True)

    # -- painting -------------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the window, `crop` relative to the widget."""
        self.counters.paints += 1
        layout = self._layout()
        ground = self._look.style()
        rows = self._painted.rows
        out: list[Strip] = []
        selection = self.text_selection
        for y in range(crop.y, crop.bottom):
            strip = rows[y].strip if y < len(rows) else Strip.blank(self._width, ground)
            if layout is not None and y < len(layout.lines):
                line = layout.lines[y]
                if self._page is not None and self._page.find.query:
                    strip = self._with_hits(strip, line, self._page.find)
                if selection is not None:
                    strip = self._with_selection(strip, line, selection)
                if self.has_focus and line.row.indent and self._page is not None and self._page.cursor.is_on(line):
                    strip = self._with_cursor(strip)
            if y == self.size.height - 1 and self._painted.mark:
                strip = self._with_mark(strip, self._painted.mark)
            if crop.x or crop.width != strip.cell_length:
                strip = strip.crop_extend(crop.x, crop.x + crop.width, ground)
            out.append(strip)
        return out

    def render_line(self, y: int) -> Strip:
        """A row with selection offsets; the compositor asks for it to find out what is under the mouse."""
        layout = self._layout()
        if layout is None or y >= len(layout.lines):
            return Strip.blank(self._width, self._look.style())
        line = layout.lines[y]
        return line.row.strip.apply_offsets(0, line.key)

    def _with_cursor(self, strip: Strip) -> Strip:
        bar = Strip([Segment(sym("bar"), self._look.mark("accent"))], 1)
        return Strip.join([bar, strip.crop(1)])

    def _with_mark(self, strip: Strip, mark: str) -> Strip:
        end = self._width - RIGHT_MARGIN
        start = max(0, end - cell_len(mark))
        note = Strip([Segment(mark, self._look.style("accent", "surface"))], cell_len(mark))
        return Strip.join([strip.crop(0, start), note, strip.crop(start + cell_len(mark))])

    def _with_selection(self, strip: Strip, line: Line, selection: Selection) -> Strip:
        span = selection.get_span(line.key)
        if span is None:
            return strip
        end = line.row.indent + len(line.row.text)
        start, stop = max(span[0], line.row.indent), end if span[1] == -1 else min(span[1], end)
        return _painted_over(strip, start, stop, self._look.style("seltext", "selection"))

    def _with_hits(self, strip: Strip, line: Line, find: Find) -> Strip:
        """The hit that was gone to looks selected, the others are underlined."""
        if find.is_at(line):
            style = self._look.style("seltext", "selection")
        else:
            style = self._look.style("accent", "surface", underline=True)
        for start, end in find.spans(line):
            strip = _painted_over(strip, line.row.indent + start, line.row.indent + end, style)
        return strip

    # -- selecting and copying ------------------------------------------------------------------------------------

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: rows a line was wrapped into are joined again, bars and marks left out."""
        layout = self._layout()
        if layout is None:
            return None
        start, end = selection
        low = start.y if start else 0
        high = end.y if end else 1 << 62
        parts: list[str] = []
        for key, row in layout.rows_between(low, high):
            text = row.text
            until = max(0, end.x - row.indent) if end and key == high else len(text)
            since = max(0, start.x - row.indent) if start and key == low else 0
            parts.append(("" if not parts else row.join) + text[since:until])
        return "".join(parts), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        if selection is None:
            self._release()
        self.refresh()

    def action_copy_block(self) -> None:
        """Copy the selected block's source: an answer's Markdown, code without its fence, a card's result."""
        chosen = self._chosen()
        if chosen is not None:
            self.post_message(self.CopyRequested(self._model.copy_text(*chosen)))

    # -- moving ---------------------------------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        """Select the next block, or with -1 the one before."""
        if self._layout() is not None and self._page is not None:
            self._page.cursor.move(step)
            self._moved()

    def _moved(self) -> None:
        """The cursor may be elsewhere."""
        self._held = False
        self._sync(everything=True)

    def action_row(self, rows: int) -> None:
        layout = self._layout()
        if layout is not None:
            layout.scroll(rows)
            self._held = False
            self._sync()

    def action_page(self, pages: int) -> None:
        """A page is the window less one row, so that the eye keeps its line."""
        self.action_row(pages * max(1, self.size.height - 1))

    def action_edge(self, by: int) -> None:
        (self.action_home if by < 0 else self.action_end)()

    def action_home(self) -> None:
        layout = self._layout()
        if layout is not None:
            layout.go_home()
            self._held = False
            self._sync()

    def action_end(self) -> None:
        layout = self._layout()
        if layout is not None:
            layout.go_end()
            self._held = False
            self._sync()

    def scroll_to(  # every way of Textual's to scroll ends here; animation has no place in it
        self, x: float | None = None, y: float | None = None, **_options: object
    ) -> None:
        """Put row `y` of the whole transcript at the top, at once."""
        layout = self._layout()
        if layout is not None and y is not None:
            layout.go_to_row(round(y))
            self._sync()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Textual scrolls by itself while text is dragged over the edge; our own moves are set silently."""
        layout = self._layout()
        rows = round(new_value) - round(old_value)
        if layout is not None and rows and self.text_selection is not None:
            layout.scroll(rows)
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

    # -- find -----------------------------------------------------------------------------------------------------

    def action_find(self) -> None:
        """Ask below the transcript what to look for."""
        if self._layout() is None or self._page is None or self.parent is None or self._bar is not None:
            return
        self._bar = FindBar(self.find, self.find_next, self._leave_bar)
        cast("Widget", self.parent).mount(self._bar, after=self)

    def find(self, query: str) -> bool:
        """Go to the first hit from where the window stands; False when there is none. An empty query ends the find."""
        if self._layout() is None or self._page is None:
            return False
        return self._found(self._page.find.look_for(query))

    def find_next(self, step: int) -> bool:
        """Go to the next hit, with -1 to the one before; False when there is none."""
        if self._layout() is None or self._page is None:
            return False
        return self._found(self._page.find.next(step))

    def _found(self, found: bool) -> bool:
        self._release()
        self._sync(everything=True)
        if found and self._page is not None:
            line = next((line for line in self.lines if self._page.find.is_at(line)), None)
            if line is not None:
                self._page.cursor.select(line)
                self._moved()
        return found

    def _leave_bar(self, keep: bool) -> None:
        self._drop_bar()
        if not keep:
            self.find("")
        self.focus()

    def _drop_bar(self) -> None:
        if self._bar is not None:
            self._bar.remove()
            self._bar = None

    def action_find_next(self, step: int) -> None:
        """n and N mean something only while there is something to find."""
        if self._page is None or not self._page.find.query:
            raise SkipAction
        self.find_next(step)

    def action_close_find(self) -> None:
        if self._page is None or not self._page.find.query:
            raise SkipAction
        self._leave_bar(False)

    # -- folding and opening --------------------------------------------------------------------------------------

    def action_fold(self) -> None:
        chosen = self._chosen()
        if chosen is not None:
            self._toggle(chosen[0])

    def action_open(self) -> None:
        """Show a card in the dock; fold or unfold anything else."""
        chosen = self._chosen()
        if chosen is None:
            return
        entry = chosen[0]
        if entry.kind == "card":
            self.post_message(self.OpenRequested(entry.id))
        else:
            self._toggle(entry)

    def _toggle(self, entry: Entry) -> None:
        """Fold or unfold; the entry's first row stays where it is."""
        layout = self._layout()
        if layout is not None and self._model.toggle(entry):
            layout.toggled(entry)
            self._sync()

    def _chosen(self) -> tuple[Entry, Block] | None:
        return self._page.cursor.block() if self._layout() is not None and self._page is not None else None

    def on_click(self, event: events.Click) -> None:
        layout = self._layout()
        if layout is None or self._page is None or self.text_selection is not None:
            return
        end = self._width - RIGHT_MARGIN
        on_last_row = event.y == self.size.height - 1
        if self._painted.mark and on_last_row and end - cell_len(self._painted.mark) <= event.x < end:
            self.action_end()
            return
        if not 0 <= event.y < len(layout.lines):
            return
        line = layout.lines[event.y]
        self._page.cursor.select(line)
        is_head = bool(line.row.indent == TEXT_AT and line.row.text) and line.place.block == 0
        if line.entry.kind == "card" and is_head:
            self.post_message(self.OpenRequested(line.entry.id))
        elif line.entry.kind == "thought" and is_head:
            self._toggle(line.entry)
        self._moved()


def _differ(shown: Row, row: Row) -> bool:
    return shown is not row and shown.segments != row.segments


def _painted_over(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """`strip` with the characters from `start` to `end` in another style; bold stays."""
    text = strip.text
    first, last = cell_len(text[:start]), cell_len(text[:end])
    if last <= first:
        return strip
    bold = style + Style(bold=True)
    middle = [Segment(s.text, bold if s.style and s.style.bold else style) for s in strip.crop(first, last)]
    return Strip.join([strip.crop(0, first), Strip(middle, last - first), strip.crop(last)])
