"""The transcript's widget: one line-API ScrollView, whatever the number of messages.

What is painted comes from `Layout`; this room turns events, keys and the mouse into calls of it and repaints the rows
that changed. The compositor paints through `render_lines`. What is selected is kept in `Selected`; the screen is only
told that something is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.actions import SkipAction
from textual.geometry import Region
from textual.message import Message
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from agent_core.events import Event, ReasoningDelta, TextDelta, UserMessage
from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.compat.scrolling import set_scroll, thin_scrollbar
from nanoherm_tui.i18n import t
from nanoherm_tui.strips import look_of
from nanoherm_tui.symbols import sym
from nanoherm_tui.transcript.cursor import Cursor
from nanoherm_tui.transcript.find import Find
from nanoherm_tui.transcript.find_bar import FindBar
from nanoherm_tui.transcript.kept_place import KeptPlace, find_again, place_of
from nanoherm_tui.transcript.layout import Layout, Line, Place
from nanoherm_tui.transcript.model import TranscriptModel
from nanoherm_tui.transcript.render import RIGHT_MARGIN, TEXT_AT, Moment, Row
from nanoherm_tui.transcript.select import Selected
from nanoherm_tui.transcript.selecting import Selecting
from nanoherm_tui.transcript.spots import Point, chars_at, path_in, rows_from, size_of, word_at
from nanoherm_tui.transcript.unread import Seen, first_unseen, last_message, left_at, message_after

if TYPE_CHECKING:
    from agent_core.messages import Message as Stored
    from nanoherm_tui.themes import Look
    from nanoherm_tui.transcript.blocks import Block
    from nanoherm_tui.transcript.entry import Entry


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
    selected: Selected
    left: Seen | None = None
    """What had been shown when the session was left, at its end."""


@dataclass(slots=True)
class _Painted:
    """What the screen shows, to repaint only what differs."""

    rows: list[Row] = field(default_factory=list)
    mark: str = ""


class TranscriptView(Selecting, can_focus=True):
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
        """A tool card's result is wanted in the dock, at `find` when that is not empty."""

        def __init__(self, call_id: str, find: str = "") -> None:
            super().__init__()
            self.call_id = call_id
            self.find = find

    class EarlierRequested(Message):
        """What the session holds before its entries is wanted: `prepend`."""

    class Placed(Message):
        """The widget has a size, its first or another: what is shown has its places."""

    class StopRequested(Message):
        """Whose conversation it is is to be stopped; asked for only where `can_stop`."""

    class CopyRequested(Message):
        """This text is wanted on the clipboard; `missing` says what there is not, when it is empty."""

        def __init__(self, text: str, missing: str = "") -> None:
            super().__init__()
            self.text = text
            self.missing = missing

    class PathRequested(Message):
        """A file that is named in the conversation is wanted, at a line when that is not 0."""

        def __init__(self, path: str, line: int) -> None:
            super().__init__()
            self.path = path
            self.line = line

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.counters = Counters()
        self._model = TranscriptModel()
        self._page: _Page | None = None
        self._painted = _Painted()
        self._frame = 0
        self.can_stop = False
        """It is that of a sub-agent at work."""
        self._bar: FindBar | None = None
        self._finding: Timer | None = None  # while it is not known whether there is a hit
        self._asked = ""  # the id of the message before which more has been asked for
        self._to_the_top = False  # the beginning is where the reader wants to be
        self._wanted = ""  # the message after which a session is to be shown once it is loaded
        self._kept: KeptPlace | None = None  # where it is to be shown once that is loaded

    # -- what the app calls ---------------------------------------------------------------------------------------

    def show(self, model: TranscriptModel, *, seen: str = "") -> None:
        """Show a session's model at the place where it was last read.

        When its end was, what has come since begins with a row that says so, and stands at the top if it is more than
        the window holds. `seen` is the id of the last message somebody has seen, for a session shown for the first
        time.
        """
        self._drop_bar()
        self._leave()
        self._model = model
        self._page = None
        self._held = False
        self._kept = model.place if isinstance(model.place, KeptPlace) else None
        self._wanted = "" if isinstance(model.place, _Page) else seen
        if self._kept is not None:
            self._wanted = "" if self._kept.entry else self._kept.seen
        if self.is_mounted:
            self._unselect()
        self._sync()

    def put_away(self, model: TranscriptModel) -> None:
        """Let go of a conversation that is not in view, but for the place where it was read."""
        if isinstance(model.place, _Page):
            model.place = place_of(model.place.layout)
        model.put_away()

    @property
    def model(self) -> TranscriptModel:
        return self._model

    @property
    def last_seen(self) -> str:
        """The id of the last message that has been in the window, for `show` when the program runs again."""
        layout = self._layout()
        if layout is None:
            return ""
        until = len(self._model.entries) if layout.stick else layout.seen_entries
        return last_message(self._model, until)

    def apply(self, batch: Sequence[Event]) -> None:
        """Take a batch of the shown session's events in: at most one repaint, and of nothing but this widget."""
        structure = self._model.structure
        changed: set[Entry] = set()
        for event in batch:
            changed |= self._model.apply(event)
        layout = self._layout()
        if layout is None or not (changed or structure != self._model.structure):
            return
        if layout.marked is not None and any(isinstance(event, UserMessage) for event in batch):
            layout.marked = None  # who writes has read
        if layout.stick and self._reads_here(layout):
            layout.hold()
            self._held = True
        if layout.update(changed):
            self._sync()
        else:
            set_scroll(self, layout.total, layout.top)
            if not self._painted.mark or not all(isinstance(event, TextDelta | ReasoningDelta) for event in batch):
                self._paint_mark()  # while text streams its count steps with `tick`

    def prepend(self, messages: Sequence[Stored]) -> None:
        """Take in what was said before the first entry. The window stays, unless it is to show the very beginning."""
        self._asked = ""
        self._model.prepend(messages)
        layout, page = self._layout(), self._page
        if layout is None or page is None:
            return
        layout.update(())
        if self._to_the_top:
            layout.go_home()
        self._to_the_top = False
        self._sync(everything=True)
        if page.find.query and page.find.at is None:
            found = self.find(page.find.query)
            if self._bar is not None:
                self._bar.tell(found)

    def _ask_earlier(self, *, at_once: bool = False) -> None:
        """Ask for what was said before when the reader comes near it, or with `at_once`."""
        layout, model = self._layout(), self._model
        if layout is None or not model.earlier or self._asked == model.first:
            return
        first = layout.lines[0].place.entry if layout.lines else 0
        if at_once or (not layout.stick and first < limits.EARLIER_ENTRIES):
            self._asked = model.first
            self.post_message(self.EarlierRequested())

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

    @property
    def _selected(self) -> Selected | None:
        return self._page.selected if self._page is not None else None

    @property
    def _cursor(self) -> Cursor | None:
        return self._page.cursor if self._page is not None else None

    def _ask_copy(self, text: str, missing: str) -> None:
        self.post_message(self.CopyRequested(text, missing))

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
            if page.left is not None:
                self._show_unseen(page.layout, first_unseen(self._model, page.left))
                page.left = None
        else:
            layout = Layout(self._model, self._look, width)
            page = self._model.place = _Page(layout, Cursor(layout), Find(layout), Selected(layout))
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
        if self._kept is not None and self._model.entries:
            layout.height = height
            if find_again(self._kept, self._model, layout):
                self._kept = None
            else:
                self._ask_earlier(at_once=True)
        rows = [line.row for line in layout.window(height)]
        if layout.marked is not None and layout.stick and not any(map(layout.is_marked, layout.lines)):
            layout.marked = None  # the end was reached, and the mark is out of sight
        selected = self._selected
        if selected is not None:
            selected.resolve()
            everything = everything or selected.span is not None  # rows that read the same may be selected or not
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
        self.post_message(self.Placed())

    # -- painting -------------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the window, `crop` relative to the widget."""
        self.counters.paints += 1
        layout = self._layout()
        ground = self._look.style()
        rows = self._painted.rows
        out: list[Strip] = []
        selected = self._selected
        for y in range(crop.y, crop.bottom):
            strip = rows[y].strip if y < len(rows) else Strip.blank(self._width, ground)
            if layout is not None and y < len(layout.lines):
                line = layout.lines[y]
                if self._page is not None and self._page.find.query:
                    strip = self._with_hits(strip, line, self._page.find)
                if selected is not None:
                    strip = self._with_selection(strip, line, selected)
                if self.has_focus and line.row.indent and self._page is not None and self._page.cursor.is_on(line):
                    strip = self._with_cursor(strip)
            if y == self.size.height - 1 and self._painted.mark:
                strip = self._with_mark(strip, self._painted.mark)
            if crop.x or crop.width != strip.cell_length:
                strip = strip.crop_extend(crop.x, crop.x + crop.width, ground)
            out.append(strip)
        return out

    def render_line(self, y: int) -> Strip:
        """A row of the window; the compositor asks for it to find out what is under the mouse."""
        rows = self._painted.rows
        return rows[y].strip if y < len(rows) else Strip.blank(self._width, self._look.style())

    def _with_cursor(self, strip: Strip) -> Strip:
        bar = Strip([Segment(sym("bar"), self._look.mark("accent"))], 1)
        return Strip.join([bar, strip.crop(1)])

    def _with_mark(self, strip: Strip, mark: str) -> Strip:
        end = self._width - RIGHT_MARGIN
        start = max(0, end - cell_len(mark))
        note = Strip([Segment(mark, self._look.style("accent", "surface"))], cell_len(mark))
        return Strip.join([strip.crop(0, start), note, strip.crop(start + cell_len(mark))])

    def _with_selection(self, strip: Strip, line: Line, selected: Selected) -> Strip:
        row = line.row
        chars = selected.chars_on(line)
        if chars is not None:
            # An empty row inside the selection shows by one cell.
            end = max(chars[1], int(not row.text))
            style = self._look.style("seltext", "selection")
            strip = _painted_over(strip, row.indent + chars[0], row.indent + end, style)
        caret = selected.caret
        if caret is not None and caret.place == line.place and self.has_focus:
            at = row.indent + caret.char
            strip = _reversed(strip, at, at + max(1, size_of(row.text, caret.char)))
        return strip

    def _with_hits(self, strip: Strip, line: Line, find: Find) -> Strip:
        """The hit that was gone to looks selected, the others are underlined."""
        if find.is_at(line):
            style = self._look.style("seltext", "selection")
        else:
            style = self._look.style("accent", "surface", underline=True)
        for start, end in find.spans(line):
            strip = _painted_over(strip, line.row.indent + start, line.row.indent + end, style)
        return strip

    def _on_mark(self, x: int, y: int) -> bool:
        """Whether the mark at the window's lower right is at a place of the widget."""
        end = self._width - RIGHT_MARGIN
        return bool(self._painted.mark) and y == self.size.height - 1 and end - cell_len(self._painted.mark) <= x < end

    # -- moving ---------------------------------------------------------------------------------------------------

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

    # -- find -----------------------------------------------------------------------------------------------------

    def action_find(self) -> None:
        """Ask below the transcript what to look for."""
        if self._layout() is None or self._page is None or self.parent is None:
            return
        self._ask_earlier(at_once=True)
        if self._bar is None:
            self._bar = FindBar(self.find, self.find_next, self._leave_bar)
            cast("Widget", self.parent).mount(self._bar, after=self)
        self._bar.ask()

    def find(self, query: str) -> bool | None:
        """Go to the first hit from where the window stands; False when there is none, None while it is looked for.

        An empty query ends the find.
        """
        if self._layout() is None or self._page is None:
            return False
        return self._found(self._page.find.look_for(query))

    @property
    def is_placed(self) -> bool:
        """What is shown has its places: not before the widget has a size."""
        return self._layout() is not None

    def jump(self, names: Sequence[str], words: str) -> bool:
        """Go to the last entry with the first of these ids that there is, unfold it, and mark `words` in the session.

        False when there is none. What a card does not show of its result is asked for in the dock.
        """
        layout = self._layout()
        entries = self._model.entries
        found = (e for name in names for e in reversed(entries) if e.id == name)
        entry = next(found, None)
        if layout is None or self._page is None or entry is None:
            return False
        if not entry.open and self._model.toggle(entry):
            layout.toggled(entry)
        place = self._page.find.place_in(entry, words) if words else None
        layout.window(self.size.height)
        layout.go_to(place or Place(entry.index, 0, 0))
        self._held = False
        self._sync(everything=True)
        line = next((line for line in self.lines if line.entry is entry), None)
        if line is not None:
            self._page.cursor.select(line)
        if place is not None:
            self._page.find.at = (entry, place.block, place.row)
            self.find(words)
        elif entry.kind == "card":
            self.post_message(self.OpenRequested(entry.id, words))
        self._moved()
        return True

    def find_next(self, step: int) -> bool | None:
        """Go to the next hit, with -1 to the one before; False when there is none, None while it is looked for."""
        if self._layout() is None or self._page is None:
            return False
        return self._found(self._page.find.next(step))

    def _found(self, found: bool | None) -> bool | None:
        self._release()
        self._sync(everything=True)
        if found is None:
            self._find_later()
        if found and self._page is not None:
            line = next((line for line in self.lines if self._page.find.is_at(line)), None)
            if line is not None:
                self._page.cursor.select(line)
                self._moved()
        return found

    def _find_later(self) -> None:
        """Find for a moment at a time; between the moments the keys have their turn."""
        if self._finding is None:
            self._finding = self.set_interval(2 * limits.FIND_SLICE, self._find_on)

    def _find_on(self) -> None:
        find = self._page.find if self._layout() is not None and self._page is not None else None
        if find is not None and find.is_searching:
            found = find.go_on()
            if found is None:
                return
            self._found(found)
            if self._bar is not None:
                self._bar.tell(found)
        if self._finding is not None:
            self._finding.stop()
            self._finding = None

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
        """Stop selecting, else stop finding."""
        if self.uses_letters:
            self._unselect()
        elif self._page is None or not self._page.find.query:
            raise SkipAction
        else:
            self._leave_bar(False)

    # -- folding and opening --------------------------------------------------------------------------------------

    def action_stop_agent(self) -> None:
        if self.uses_letters or not self.can_stop:
            raise SkipAction
        self.post_message(self.StopRequested())

    def action_fold(self) -> None:
        chosen = self._chosen()
        if chosen is not None:
            self._toggle(chosen[0])

    def action_open(self) -> None:
        """Show a card in the dock, or the file that is named at the caret; fold or unfold anything else."""
        layout, selected = self._layout(), self._selected
        if layout is not None and selected is not None and selected.caret is not None:
            self._open_path(layout, selected.caret)
            return
        chosen = self._chosen()
        if chosen is None:
            return
        entry = chosen[0]
        if entry.kind == "card":
            self.post_message(self.OpenRequested(entry.id))
        else:
            self._toggle(entry)

    def _open_path(self, layout: Layout, point: Point) -> bool:
        start, end = word_at(layout, point)
        named = Selected(layout)
        named.set(start, end)
        found = path_in(named.text())
        if found is not None:
            self.post_message(self.PathRequested(*found))
        return found is not None

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
        if self._on_mark(event.x, event.y):
            self.action_end()
            return
        if not 0 <= event.y < len(layout.lines):
            return
        line = layout.lines[event.y]
        if event.chain > 1:
            self._click_again(line, event)
            return
        if event.ctrl and self._open_path(layout, Point(line.place, chars_at(line.row, event.x)[0])):
            return
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


def _reversed(strip: Strip, start: int, end: int) -> Strip:
    """`strip` with the characters from `start` to `end` in reverse, back again where they are so already."""
    text = strip.text
    first, last = cell_len(text[:start]), cell_len(text[:end])
    turned = [
        Segment(s.text, (s.style or Style()) + Style(reverse=not (s.style and s.style.reverse)))
        for s in strip.crop(first, last)
    ]
    return Strip.join([strip.crop(0, first), Strip(turned, last - first), strip.crop(last)])
