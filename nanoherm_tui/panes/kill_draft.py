"""The composer's text area with kills and yanks, and with several edits as one step of undo."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

from textual import events
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from nanoherm_tui.editing import units
from nanoherm_tui.panes.chip_draft import ChipDraft, Kept
from nanoherm_tui.panes.snippet_stops import Stops, begun

if TYPE_CHECKING:
    from agent_core.snippets import Snippet
    from nanoherm_tui.editing.kill_ring import KillRing
    from nanoherm_tui.editing.page import Change

KILLS: Final = ("kill_line_end", "kill_line_start", "kill_word", "kill_word_back", "kill_back")
"""The actions that kill."""
_STEPS: Final = 50  # as many as Textual keeps


class KillDraft(ChipDraft):
    """Kills go to a ring that all drafts share; those without another key between them are one."""

    def __init__(self, ring: KillRing, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.ring = ring
        self._did: Literal["", "kill", "yank"] = ""
        self._did_before: Literal["", "kill", "yank"] = ""
        self._yanked = (0, 0)
        self._steps: deque[list[list[Edit]]] = deque(maxlen=_STEPS)
        self._step_begins: list[Edit] | None = None
        self._in_step = False
        self._stops = Stops()

    # -- places as numbers -------------------------------------------------------------------------------------------

    @property
    def caret(self) -> int:
        """Where the caret is, in characters from the start."""
        return self.index(self.selection.end)

    @property
    def held_from(self) -> int:
        """The selection's other end; the caret when nothing is selected."""
        return self.index(self.selection.start)

    def index(self, location: Location) -> int:
        """How many characters are before a place."""
        row, column = location
        return sum(len(self.document[line]) + 1 for line in range(row)) + column

    def place(self, at: int) -> Location:
        """The place behind so many characters."""
        text = self.text
        return text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1

    def select(self, held_from: int, caret: int) -> None:
        """Have the text from `held_from` to `caret` selected; nothing when they are one."""
        self.selection = Selection(self.place(held_from), self.place(caret))
        self.record_cursor_width()
        self.scroll_cursor_visible()

    def change(self, change: Change) -> None:
        """Make one change. The caret is where it happens to be then."""
        start, end = self.place(change.start), self.place(change.end)
        self.replace(change.text, start, end, maintain_selection_offset=False)

    # -- kills and yanks ---------------------------------------------------------------------------------------------

    def begin_key(self) -> None:
        """A key has come: a kill or yank that it asks for goes on with what the key before did."""
        self._did_before, self._did = self._did, ""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._did = ""

    def kill(self, action: str) -> None:
        """Take out what one of KILLS means, or what is selected, and keep it in the ring."""
        text, at, held = self.text, self.caret, self.held_from
        if at != held and action in ("kill_word", "kill_word_back", "kill_back"):
            start, end = sorted((at, held))
        elif action == "kill_line_end":
            end = text.find("\n", at)
            start, end = at, len(text) if end < 0 else max(end, at + 1)
        elif action == "kill_line_start":
            start = text.rfind("\n", 0, at) + 1
            start, end = (start if start < at else max(0, at - 1)), at
        elif action == "kill_word":
            start, end = at, units.word_right(text, at)
        else:
            start, end = (units.word_left if action == "kill_word_back" else units.big_word_left)(text, at), at
        if start == end:
            return
        goes_on, killed = self._did_before == "kill", self.expanded(text[start:end])
        place = self.place(start)
        self.replace("", place, self.place(end), maintain_selection_offset=False)
        self.move_cursor(place)
        if goes_on:
            self.ring.join(killed, in_front=action in ("kill_line_start", "kill_word_back", "kill_back"))
        else:
            self.ring.add(killed)
        self._did = "kill"

    def yank(self) -> None:
        """Put in what was killed last."""
        if (kill := self.ring.current) is not None:
            self._put_yanked(kill.text, *sorted((self.held_from, self.caret)))

    def yank_older(self) -> bool:
        """In the place of what was just yanked, what was killed before it. False: nothing was."""
        if self._did_before != "yank":
            return False
        if (kill := self.ring.turn()) is not None:
            self._put_yanked(kill.text, *self._yanked)
        return True

    def _put_yanked(self, text: str, start: int, end: int) -> None:
        text = self.folded(text)
        result = self.replace(text, self.place(start), self.place(end), maintain_selection_offset=False)
        self.move_cursor(result.end_location)
        self._yanked, self._did = (start, start + len(text)), "yank"

    def edit(self, edit: Edit) -> EditResult:
        self._did = ""
        if not self._stops.are_left:
            return super().edit(edit)
        at, before = self.index(min(edit.from_location, edit.to_location)), len(self.text)
        result = super().edit(edit)
        removed = len(result.replaced_text)
        self._stops.moved(at, removed, len(self.text) - before + removed)
        return result

    # -- snippets ----------------------------------------------------------------------------------------------------

    @property
    def has_stops(self) -> bool:
        """Places of a snippet are still to be filled in."""
        return self._stops.are_left

    def put_snippet(self, snippet: Snippet, instead: int) -> None:
        """Put one in over the selection and `instead` characters before it; its first place is selected then."""
        from agent_core.snippets import lay_out

        laid = lay_out(snippet.text)
        start, end = sorted((self.held_from, self.caret))
        start -= instead
        self._stops = Stops()
        self.replace(laid.text, self.place(start), self.place(end), maintain_selection_offset=False)
        self._stops, first = begun(laid.stops, start)
        self.select(*first)

    def next_stop(self, *, back: bool = False) -> bool:
        """Go to the snippet's next place, or the one before; False: there is none."""
        place = self._stops.previous() if back else self._stops.next()
        if place is not None:
            self.select(*place)
        return place is not None

    # -- undo --------------------------------------------------------------------------------------------------------

    def begin_step(self) -> None:
        """What is changed up to `end_step` is undone and redone at once."""
        if not self._in_step:
            self._in_step = True
            self.history.checkpoint()
            stack = self.history.undo_stack
            self._step_begins = stack[-1] if stack else None

    def end_step(self) -> None:
        if not self._in_step:
            return
        self._in_step, begins = False, self._step_begins
        self.history.checkpoint()
        made: list[list[Edit]] = []
        for batch in reversed(self.history.undo_stack):
            if batch is begins:
                break
            made.append(batch)
        if len(made) > 1:
            self._steps.append(made)

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """The changes within are one step of undo, or of the one that is under way."""
        if self._in_step:
            yield
            return
        self.begin_step()
        try:
            yield
        finally:
            self.end_step()

    def undo(self) -> None:
        self.end_step()
        self._stops = Stops()
        step = self._step_of(self.history.undo_stack)
        super().undo()
        while (stack := self.history.undo_stack) and any(stack[-1] is batch for batch in step):
            super().undo()

    def redo(self) -> None:
        self.end_step()
        step = self._step_of(self.history.redo_stack)
        super().redo()
        while (stack := self.history.redo_stack) and any(stack[-1] is batch for batch in step):
            super().redo()

    def _step_of(self, stack: list[list[Edit]]) -> list[list[Edit]]:
        """The batches that are one step with the newest of `stack`."""
        return next((step for step in self._steps if stack and any(stack[-1] is batch for batch in step)), [])

    def take_up(self, kept: Kept) -> None:
        self._in_step, self._did, self._stops = False, "", Stops()
        super().take_up(kept)
