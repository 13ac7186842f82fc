"""The transcript's widget: one line-API ScrollView, whatever the number of messages.

This room takes events in and says what a click or Enter opens. What is shown is the window's (window.py), moving.py and
finding.py go about in it, selecting.py knows what is selected: the screen is only told that something is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from textual import events
from textual.actions import SkipAction

from agent_core.events import Event, ReasoningDelta, TextDelta, UserMessage
from nanoherm_tui.compat.scrolling import set_scroll
from nanoherm_tui.transcript import messages
from nanoherm_tui.transcript.finding import Finding
from nanoherm_tui.transcript.kept_place import KeptPlace, place_of
from nanoherm_tui.transcript.row import TEXT_AT
from nanoherm_tui.transcript.select import Selected
from nanoherm_tui.transcript.spots import Point, chars_at, path_in, word_at
from nanoherm_tui.transcript.unread import last_message
from nanoherm_tui.transcript.window import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.messages import Message as Stored
    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.layout import Layout
    from nanoherm_tui.transcript.model import TranscriptModel


class TranscriptView(Finding, can_focus=True):
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

    OpenRequested: TypeAlias = messages.OpenRequested
    EarlierRequested: TypeAlias = messages.EarlierRequested
    Placed: TypeAlias = messages.Placed
    StopRequested: TypeAlias = messages.StopRequested
    CopyRequested: TypeAlias = messages.CopyRequested
    PathRequested: TypeAlias = messages.PathRequested

    can_stop = False
    """It is that of a sub-agent at work."""

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
        self._wanted = "" if isinstance(model.place, Page) else seen
        if self._kept is not None:
            self._wanted = "" if self._kept.entry else self._kept.seen
        if self.is_mounted:
            self._unselect()
        self._came_back = True
        self._sync()

    def put_away(self, model: TranscriptModel) -> None:
        """Let go of a conversation that is not in view, but for the place where it was read."""
        if isinstance(model.place, Page):
            model.place = place_of(model.place)
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

    def prepend(self, said: Sequence[Stored]) -> None:
        """Take in what was said before the first entry. The window stays, unless it is to show the very beginning."""
        self._asked = ""
        self._model.prepend(said)
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
    def is_placed(self) -> bool:
        """What is shown has its places: not before the widget has a size."""
        return self._layout() is not None

    # -- folding and opening --------------------------------------------------------------------------------------

    def action_stop_agent(self) -> None:
        if self.uses_letters or not self.can_stop:
            raise SkipAction
        self.post_message(messages.StopRequested())

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
            self.post_message(messages.OpenRequested(entry.id))
        else:
            self._toggle(entry)

    def _open_path(self, layout: Layout, point: Point) -> bool:
        start, end = word_at(layout, point)
        named = Selected(layout)
        named.set(start, end)
        found = path_in(named.text())
        if found is not None:
            self.post_message(messages.PathRequested(*found))
        return found is not None

    def _toggle(self, entry: Entry) -> None:
        """Fold or unfold; the entry's first row stays where it is."""
        layout = self._layout()
        if layout is not None and self._model.toggle(entry):
            layout.toggled(entry)
            self._sync()

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
            self.post_message(messages.OpenRequested(line.entry.id))
        elif line.entry.kind == "thought" and is_head:
            self._toggle(line.entry)
        self._moved()
