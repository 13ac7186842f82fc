"""A yes or no before something that is hard to take back. Only the letter y is yes."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.strip import Strip

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import Overlay, boxed
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.text import clean, wrap


class ConfirmText(Painted):
    def __init__(self, title: str, text: str, yes: str) -> None:
        super().__init__()
        self._title, self._text, self._yes = title, text, yes

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        bold = look.style("text", "surface", bold=True)
        rows = [row(width, [(line, bold)], fill) for line in wrap(clean(self._title), width)]
        rows += [row(width, [(line, fill)], fill) for line in wrap(clean(self._text), width) if self._text]
        keys = hints(look, [("y", self._yes), ("n", t("confirm.keep"))])
        return [*rows, row(width, [], fill), *flow(width, keys, fill)]


class ConfirmScreen(Overlay[bool]):
    """Gives True for y; False for n and Esc. Other keys do nothing."""

    def __init__(self, title: str, text: str = "", yes: str = "") -> None:
        """`yes` says what y does, in a word or two."""
        super().__init__()
        self._content = ConfirmText(title, text, yes or t("confirm.do"))

    def compose(self) -> ComposeResult:
        yield boxed(self._content)

    def on_key(self, event: events.Key) -> None:
        if event.key in ("y", "n"):
            event.stop()
            self.dismiss(event.key == "y")

    def action_close(self) -> None:
        self.dismiss(False)
