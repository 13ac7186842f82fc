"""An overlay that is a list, with all about the row under the cursor below it, and the keys that do something now."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.strip import Strip

from nanoherm_tui.overlays.frame import Overlay, Result, boxed
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of

if TYPE_CHECKING:
    from textual import events

    from nanoherm_tui.overlays.grouped import Detail, FollowedList

Keys = tuple[tuple[str, str], ...]
"""Keys and what they do, from left to right."""


class KeysFoot(Painted):
    """The last rows of an overlay: its keys, behind a few words where there is something to say."""

    keys: Keys = ()
    words = ""
    wrong = False
    """The words tell of a mistake."""

    def say(self, keys: Keys, words: str = "", *, wrong: bool = False) -> None:
        if (keys, words, wrong) != (self.keys, self.words, self.wrong):
            self.keys, self.words, self.wrong = keys, words, wrong
            self.refresh(layout=True)

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        style = look.style("warn" if self.wrong else "muted", "surface")
        said: list[list[Part]] = [[(self.words, style)]] if self.words else []
        return flow(width, [*said, *hints(look, self.keys)], look.style("text", "surface"), indent=2)


class ListScreen(Overlay[Result]):
    """A subclass makes the three parts, binds the keys (grouped.MOVES and its own), and says what there is."""

    _list: FollowedList[Any, Any]
    _detail: Detail
    _foot: Painted

    @abstractmethod
    def _show(self) -> None:
        """Put the rows as they are now into the list, which calls `_follow`. In another size they may be others."""

    @abstractmethod
    def _follow(self) -> None:
        """The row under the cursor is another one, or may be something else now: tell of it, and which keys act."""

    def compose(self) -> ComposeResult:
        yield boxed(self._list, self._detail, self._foot)

    def on_mount(self) -> None:
        self._show()

    def on_resize(self, event: events.Resize) -> None:
        self._show()
        self._detail.refresh(layout=True)
        self._foot.refresh(layout=True)

    def refresh_look(self) -> None:
        if self.is_mounted:  # else it is all drawn anew in any case
            self._show()
        super().refresh_look()

    def action_move(self, step: int) -> None:
        self._list.move(step)

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)
