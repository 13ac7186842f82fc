"""A list that is searched as one types, with all about the row at hand below, and what came of a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.strip import Strip
from textual.widgets import TextArea

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, LineField, Overlay, boxed
from nanoherm_tui.overlays.palette import PaletteCount
from nanoherm_tui.overlays.typed_line import TYPED_MOVES, TypedLine
from nanoherm_tui.strips import Painted, look_of, row
from nanoherm_tui.text import wrap

if TYPE_CHECKING:
    from nanoherm_tui.overlays.grouped import Detail, FollowedList


class SaidFoot(Painted):
    """The last rows; a subclass draws the keys under what was said."""

    words: tuple[str, ...] = ()
    """What came of the last change, or why there was none."""
    wrong = False

    def say(self, words: tuple[str, ...], *, wrong: bool) -> None:
        if (words, wrong) != (self.words, self.wrong):
            self.words, self.wrong = words, wrong
            self.refresh(layout=True)

    def said(self, width: int) -> list[str]:
        """The words in rows of this width."""
        return [line for words in self.words for line in wrap(words, width - 2) if line]

    def paint_said(self, lines: Sequence[str], width: int) -> list[Strip]:
        look = look_of(self)
        fill, style = look.style("text", "surface"), look.style("warn" if self.wrong else "text", "surface")
        return [row(width, [("  ", fill), (line, style)], fill) for line in lines]


class SearchedScreen(Overlay[None]):
    """A subclass makes the list, the detail and the foot, and finds what fits what is typed."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/palette.tcss", "../css/settings.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [*TYPED_MOVES]
    ASKS: ClassVar[str]
    """The words that the empty field asks with."""

    _list: FollowedList[Any, Any]
    _detail: Detail
    _foot: SaidFoot

    def __init__(self, query: str) -> None:
        super().__init__()
        self._start = query
        self._field = LineField(id="palette-field")
        self._count = PaletteCount(id="settings-count")

    def compose(self) -> ComposeResult:
        yield boxed(TypedLine(self._field, self._count), self._list, self._detail, self._foot)

    def on_mount(self) -> None:
        self._field.ask(t(self.ASKS))
        self._field.focus()
        if self._start:
            self._field.type_in(self._start)
        self._look()

    def on_resize(self, event: events.Resize) -> None:
        self._detail.refresh(layout=True)
        self._foot.refresh(layout=True)

    def refresh_look(self) -> None:
        self._field.ask(t(self.ASKS))
        self._look()
        super().refresh_look()

    def _look(self) -> None:
        """Show what fits what is typed, and how many."""

    def _say(self, *words: str, wrong: bool = False) -> None:
        self._foot.say(tuple(filter(None, words)), wrong=wrong)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if not self._start or self._field.text != self._start:
            self._say()
        self._look()

    def action_move(self, step: int) -> None:
        self._say()
        self._list.move(step)

    def on_mouse_scroll_down(self) -> None:
        self._list.move(1)

    def on_mouse_scroll_up(self) -> None:
        self._list.move(-1)
