"""What every overlay is: a `surface` block with a halo of `ground`, over everything else, closed by Esc."""

from __future__ import annotations

from pathlib import PurePath
from typing import ClassVar, Final, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from nanoherm_tui import limits
from nanoherm_tui.panes.draft import DraftArea, editing_keys
from nanoherm_tui.strips import Painted

CssPath = str | PurePath | list[str | PurePath] | None
Result = TypeVar("Result")


class Overlay(ModalScreen[Result]):
    """A modal screen whose children stand in `#overlay-halo` > `#overlay-box`."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self.refresh_look, init=False)

    def on_resize(self, event: events.Resize) -> None:
        """On a short screen the halo and the blank rows go."""
        self.set_class(event.size.height < limits.SHORT, "-short")

    def refresh_look(self) -> None:
        """Theme or language have changed."""
        for widget in self.query(Painted):
            widget.refresh()

    def action_close(self) -> None:
        self.dismiss(None)


# Keys of a text area that move between fields and rows where there is but one line.
_AROUND: Final = frozenset({"enter", "up", "down", "pageup", "pagedown"})


class LineField(DraftArea):
    """One line of text: Enter and the vertical keys are left to what is around it, pasted line ends become blanks."""

    EDITING: ClassVar[dict[str, str]] = editing_keys(_AROUND)

    async def _on_key(self, event: events.Key) -> None:
        if event.key in _AROUND:
            event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.type_in(" ".join(event.text.split()))
