"""The composer's text area: a long paste stands in it as a chip, one unit for the caret and for every edit."""

from __future__ import annotations

import dataclasses
import time
from typing import Literal

from rich.text import Text
from textual import events
from textual.widgets.text_area import Edit, EditHistory, EditResult, Location, Selection

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.panes import chips
from nanoherm_tui.panes.chips import Chips
from nanoherm_tui.panes.draft import DraftArea
from nanoherm_tui.strips import look_of


@dataclass(frozen=True, slots=True)
class Kept:
    """A draft that is not on the screen: all that is needed to go on with it."""

    raw: str
    selection: Selection
    history: EditHistory
    chips: Chips

    @property
    def text(self) -> str:
        return self.chips.expand(self.raw)


class ChipDraft(DraftArea):
    """`text` is what is drawn, chips as their labels; `whole` is what is meant."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._chips = Chips()
        self._pasted: tuple[str, float] | None = None  # the text of the chip just made, and when

    @property
    def whole(self) -> str:
        return self._chips.expand(self.text)

    @property
    def selected_text(self) -> str:
        return self._chips.expand(super().selected_text)

    @property
    def has_paste(self) -> bool:
        """One of the chips stands for a text."""
        lines = [self.document[y] for y in range(self.document.line_count)]
        return any(not self._chips.is_image(line[start:end]) for line in lines for start, end in chips.spans(line))

    # -- changing ----------------------------------------------------------------------------------------------------

    def put(self, value: str) -> None:
        """Replace the whole draft, undoably. What was pasted into it before, or is very long, becomes a chip."""
        value = self._chips.refold(value)
        if len(value) > limits.DRAFT_PLAIN:
            value = self._fold(self._chips.expand(value), "")
        super().put(value)

    def type_in(self, value: str) -> None:
        super().type_in(chips.unmarked(value))

    def folded(self, text: str) -> str:
        """`text` as it stands in the draft: what its chips stand for as chips, and what is very long as one."""
        text = self._chips.refold(text)
        return self._fold(self._chips.expand(text), self.text) if len(text) > limits.DRAFT_PLAIN else text

    def expanded(self, raw: str) -> str:
        """A part of the draft as it is meant."""
        return self._chips.expand(raw)

    def put_image(self, reference: str, instead: str = "") -> None:
        """A chip for an image, and a blank behind it: where `instead` stands last, else at the caret."""
        chip = self._chips.fold_images(reference, self.text)
        row, column = max(
            ((row, self.document[row].rfind(instead)) for row in range(self.document.line_count)),
            key=lambda place: (place[1] >= 0, place),
        )
        if instead and column >= 0:
            self.replace(f"{chip} ", (row, column), (row, column + len(instead)), maintain_selection_offset=True)
        else:
            super().type_in(f"{chip} ")

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if self.takes_paste(event.text):
            return
        text = chips.unmarked(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        now = time.monotonic()
        if self._pasted is not None and now - self._pasted[1] < limits.PASTE_JOIN:
            # A terminal without paste marks hands a long paste over in parts.
            text = self._pasted[0] + text
            self.undo()
        long = chips.is_long(text)
        super().type_in(self._fold(text, self.text) if long else text)
        self._pasted = (text, now) if long else None

    def takes_paste(self, text: str) -> bool:
        """Whether a pasted text is no text to be written."""
        return False

    def _fold(self, text: str, draft: str) -> str:
        if self._chips.length + len(text) > limits.CHIPS_KEPT:
            self._chips.keep_only(draft)  # what undoing would bring back has to go with them
            self.history.clear()
        return self._chips.fold(text, draft)

    def edit(self, edit: Edit) -> EditResult:
        """Every change comes by here: one that reaches into a chip takes the whole of it."""
        self._pasted = None
        top, bottom = self._around(edit.top), self._around(edit.bottom)
        if top is not None or bottom is not None:
            after = bottom[1] if bottom is not None else edit.bottom
            before = after if edit.top == edit.bottom else top[0] if top is not None else edit.top
            edit = dataclasses.replace(edit, from_location=before, to_location=after)
        return super().edit(edit)

    def undo(self) -> None:
        self._pasted = None
        super().undo()

    def action_cut(self) -> None:
        """Cut the selection, else the line."""
        if selected := self.selected_text:
            self.action_delete_left()
        else:
            selected = self._chips.expand(self.document[self.cursor_location[0]]) + "\n"
            self.action_delete_line()
        self.app.copy_to_clipboard(selected)

    def expand_chip(self) -> Literal["expanded", "too long", "none"]:
        """Put its text in place of the chip at the caret, else of the nearest before it, else of the first."""
        row, column = caret = self.cursor_location
        found = [
            (y, start, end)
            for y in range(self.document.line_count)
            for start, end in chips.spans(self.document[y])
            if not self._chips.is_image(self.document[y][start:end])
        ]
        if not found:
            return "none"
        at_caret = [chip for chip in found if chip[0] == row and chip[1] <= column <= chip[2]]
        before = [chip for chip in found if chip[:2] < caret]
        y, start, end = (at_caret or before[-1:] or found)[0]
        text = self._chips.expand(self.document[y][start:end])
        if len(text) > limits.DRAFT_PLAIN:
            return "too long"
        self.replace(text, (y, start), (y, end), maintain_selection_offset=False)
        return "expanded"

    def image_at_caret(self) -> tuple[str, str] | None:
        """Name and words of the image whose chip is at the caret, or the nearest before it, else the first."""
        caret = self.cursor_location
        found: list[tuple[Location, tuple[str, str]]] = []
        for y in range(self.document.line_count):
            for start, end in chips.spans(self.document[y]):
                if (image := self._chips.image(self.document[y][start:end])) is not None:
                    found.append(((y, start), image))
        before = [image for place, image in found if place <= caret]
        if before:
            return before[-1]
        return found[0][1] if found else None

    # -- keeping -----------------------------------------------------------------------------------------------------

    def set_aside(self) -> Kept:
        """Give the draft away, with its undo, and begin an empty one."""
        kept = Kept(self.text, self.selection, self.history, self._chips)
        self.history = dataclasses.replace(self.history)  # a new one: loading a text clears it
        self.take_up(Kept("", Selection(), self.history, Chips()))
        return kept

    def take_up(self, kept: Kept) -> None:
        """Go on with a draft that was set aside, in place of the present one."""
        self._chips, self._pasted = kept.chips, None
        self.load_text(kept.raw)
        self.history = kept.history
        self.history.checkpoint()
        self.selection = kept.selection

    # -- the caret ---------------------------------------------------------------------------------------------------

    def validate_selection(self, selection: Selection) -> Selection:
        """No end of the selection stands within a chip: the caret jumps over it."""
        return super().validate_selection(Selection(*(self._outside(end) for end in selection)))

    def _outside(self, location: Location) -> Location:
        chip = self._around(location)
        if chip is None:
            return location
        start, end = chip
        came_from = self.selection.end
        if came_from <= start:
            return end
        if came_from >= end:
            return start
        return min(chip, key=lambda edge: abs(edge[1] - location[1]))

    def _around(self, location: Location) -> tuple[Location, Location] | None:
        """Both ends of the chip that `location` lies within."""
        row, column = location
        if row < self.document.line_count:
            for start, end in chips.spans(self.document[row]):
                if start < column < end:
                    return (row, start), (row, end)
        return None

    # -- drawing -----------------------------------------------------------------------------------------------------

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        for start, end in chips.spans(line.plain):
            line.stylize(look_of(self).style("accent", "surface"), start, end)
        return line

    def drawn(self, words: str) -> str:
        return super().drawn(chips.drawn(words))
