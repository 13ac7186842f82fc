"""Finding in the transcript: the bar below it, the way from hit to hit, and the way to a message by its id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from textual.actions import SkipAction

from nanoherm_tui import limits
from nanoherm_tui.transcript import messages
from nanoherm_tui.transcript.find_bar import FindBar
from nanoherm_tui.transcript.lines import Place
from nanoherm_tui.transcript.moving import Moving

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget


class Finding(Moving):
    """A window in which is found. What is looked for is kept in the page's `Find`."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._bar: FindBar | None = None
        self._finding: Timer | None = None  # while it is not known whether there is a hit

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
            self.post_message(messages.OpenRequested(entry.id, words))
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
