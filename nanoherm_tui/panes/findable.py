"""A pane of rows in which words can be found: what is looked for is typed in its last row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from textual import events
from textual.actions import SkipAction
from textual.timer import Timer
from textual.widgets import Input

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import LEFT, Row, Span
from nanoherm_tui.panes.find import Find
from nanoherm_tui.panes.find_input import FindInput
from nanoherm_tui.panes.rows import RowsView
from nanoherm_tui.text import clean, width

_SIGN = "/ "  # before what is looked for


class FindField(FindInput):
    """What is looked for. Enter leaves the hits marked, Esc takes the marks away, Up and Down go to another."""

    def __init__(self, query: str, go: Callable[[int], None], leave: Callable[[bool], None]) -> None:
        super().__init__(query)
        self._go, self._leave = go, leave
        self.latest: events.Key | None = None
        """The key that came here last."""
        self._left = False

    def on_key(self, event: events.Key) -> None:
        self.latest = event
        if self._take(event):
            event.stop()
            event.prevent_default()

    def _take(self, event: events.Key) -> bool:
        if event.key in ("up", "down") and not self._left:
            self._go(-1 if event.key == "up" else 1)
        elif self._left and self.parent is not None:
            # It came in the same read as the Enter before it, and is the pane's.
            self.parent.post_message(events.Key(event.key, event.character))
        elif event.key in ("enter", "escape"):
            self._left = True
            self._leave(event.key == "enter" and bool(self.value))
        else:
            return False
        return True

    def take_early(self, event: events.Key) -> None:
        """A key that came in the same read as the one that opened the field, and so went to the pane."""
        if event.is_printable and event.character:
            self.insert_text_at_cursor(event.character)
        elif event.key == "backspace":
            self.action_delete_left()
        else:
            self._take(event)


class Findable(RowsView):
    """Adds find to a RowsView. A page that is not here is asked for by `want_page` and told of by `find_came`."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._find: Find | None = None
        self._field: FindField | None = None
        self._slice: Timer | None = None
        self._missed: Callable[[], None] | None = None

    # -- what a subclass gives ----------------------------------------------------------------------------------

    def want_page(self, page: int) -> None:
        """A page of the body is needed that is not here."""

    # -- asking -------------------------------------------------------------------------------------------------

    @property
    def holds_focus(self) -> bool:
        """The keyboard is here, or where it is typed what to find."""
        return self.has_focus or (self._field is not None and self._field.has_focus)

    def on_key(self, event: events.Key) -> None:
        if self._field is None or event.key in ("pageup", "pagedown"):
            return
        event.prevent_default()
        if event is not self._field.latest:  # else it comes by here on its way up from the field
            event.stop()
            self._field.take_early(event)

    def action_find(self) -> None:
        """Ask below what to look for."""
        if self._field is None:
            query = self._find.query if self._find is not None else ""
            self._field = FindField(query, self.find_next, self._leave)
            self._field.styles.margin = (0, 0, 0, LEFT + width(_SIGN))
            self.mount(self._field)
            self._field.focus()
            self._say()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._field is not None:
            self.look_for(event.value)

    def _leave(self, keep: bool) -> None:
        # What was typed last may not have been told of yet.
        self.look_for(self._field.value if keep and self._field is not None else "")
        self._drop_field()
        self.focus()

    def _drop_field(self) -> None:
        if self._field is not None:
            self._field.remove()
            self._field = None
            self._say()

    def end_find(self) -> None:
        """What is shown is about to be something else."""
        if self.holds_focus:
            self.focus()  # the keyboard stays here
        self._drop_field()
        self.look_for("")

    # -- finding ------------------------------------------------------------------------------------------------

    def look_for(self, query: str, missed: Callable[[], None] | None = None) -> None:
        """Mark every place of `query` and go to the first from the top of the view on; "" ends the find.

        `missed` is called when all is counted and it stands nowhere, and the find ends: nobody has typed it here.
        """
        before = self._find.query if self._find is not None else ""
        self._missed = missed
        if query == before:
            return
        body = self.rows
        self._find = Find(query, body.pages, body.place(self.top)) if query and len(body) else None
        self._count()
        self.refresh()

    def find_next(self, step: int) -> None:
        """Go to the next hit, with -1 to the one before."""
        if self._find is not None:
            self._find.step(step)
            self._advance()
            self._say()

    def action_find_next(self, step: int) -> None:
        """n and N mean something only while there is something to find."""
        if self._find is None:
            raise SkipAction
        self.find_next(step)

    def action_close_find(self) -> None:
        if self._find is None:
            raise SkipAction
        self.look_for("")

    def find_came(self, page: int, lines: Sequence[str]) -> None:
        """A page has come: count it, and look whether the hit that is wanted is there."""
        if self._find is not None:
            self._find.resize(self._body.pages)
            self._find.count(page, lines)
            self._count()

    def find_again(self) -> None:
        """The lines are others than those that were searched: search them, without going anywhere."""
        if self._find is not None:
            self._find = Find(self._find.query, self._body.pages, self._body.place(self.top))
            self._find.step(0)
            self._count()

    def _count(self) -> None:
        """Count page after page for a moment; the rest in a while, when the keys have had their turn."""
        if self._slice is not None:
            self._slice.stop()
            self._slice = None
        end = monotonic() + limits.FIND_SLICE
        while self._find is not None and (page := self._find.to_count) is not None:
            lines = self._body.lines(page)
            if lines is None:
                self.want_page(page)
                break
            self._find.count(page, lines)
            self._advance()
            if monotonic() > end:
                # An interval: a timer that is due before it has begun to wait would never come.
                self._slice = self.set_interval(limits.FIND_SLICE / 8, self._count)
                break
        self._advance()
        if self._missed is not None and self._find is not None and self._find.to_count is None:
            missed, self._missed = self._missed, None
            if not self._find.total:
                self.look_for("")
                missed()
        self._say()

    def _advance(self) -> None:
        """Take the step that was asked for as soon as it is known where it leads."""
        while self._find is not None and (page := self._find.next_page) is not None:
            lines = self._body.lines(page)
            if lines is None:
                self.want_page(page)
                return
            place = self._find.go(page, lines)
            if place is not None:
                key = self._body.key(self.top)
                row = self._body.row_at(place)  # which may find out how many rows there are above
                self.top = self._body.index(key)
                if not self.top <= row < self.top + self.view_height:
                    self.scroll_to_row(row - self.view_height // 3)
                self.refresh()

    # -- painting -----------------------------------------------------------------------------------------------

    def marks(self, index: int) -> Sequence[tuple[int, int, bool]]:
        if self._find is None:
            return ()
        page, line, at = self._body.place(index)
        lines = self._body.lines(page) if page >= 0 else None
        if lines is None:
            return ()
        spans = self._find.spans(page, lines).get(line, ())
        size = len(self._body[index].text) if spans else 0
        here = self._find.at
        return [
            (max(0, span.start - at), min(size, span.end - at), here == (page, span.number))
            for span in spans
            if span.start < at + size and span.end > at
        ]

    def find_row(self, cells: int) -> Row | None:
        """The row that says what is looked for and how often it is there; None when nothing is."""
        if self._find is None and self._field is None:
            return None
        words = Span(self._found_words(), "muted")
        if self._field is not None:
            room = 0 if width(words.text) + 12 > cells else width(words.text) + 1
            self._field.styles.width = max(1, cells - width(_SIGN) - room)
            return Row((Span(_SIGN, "muted"),), (words,) if room else ())
        query = self._find.query if self._find is not None else ""
        return Row((Span(_SIGN, "muted"), Span(clean(query))), (words,))

    def _found_words(self) -> str:
        find = self._find
        if find is None:
            return ""
        counting = find.to_count is not None
        if not find.total:
            return t("dock.finding") if counting else t("dock.no_hits")
        key = "dock.hits_so_far" if counting else "dock.hits"
        return t(key, n=find.position, total=find.total)

    def _say(self) -> None:
        """How often it is there stands in the fixed rows below; a hit that was in view stays there when they grow."""
        place = self._find.place if self._find is not None else None
        row = self._body.row_at(place) if place is not None else -1
        in_view = self.top <= row < self.top + self.view_height
        self.stale_foot()
        if in_view:
            self.show_row(row)
