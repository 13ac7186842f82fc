"""One line to write a name in, what is there already to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widgets import TextArea

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, LineField, Overlay, boxed
from nanoherm_tui.overlays.typed_line import TypedLine
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.text import wrap


class _Words(Painted):
    def __init__(self, title: str) -> None:
        super().__init__(id="name-title")
        self._title = title

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        return [row(width, [(self._title, look.style("text", "surface", bold=True))], look.style("text", "surface"))]


class _Said(Painted):
    """What is wrong with what is written; else no row."""

    words = ""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill, warn = look.style("text", "surface"), look.style("warn", "surface")
        return [row(width, [(line, warn)], fill) for line in wrap(self.words, width) if line]


class _Foot(Painted):
    def __init__(self, keep: str) -> None:
        super().__init__(id="name-foot")
        self._keep = keep

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        keys = hints(look, [("Enter", self._keep), ("Esc", t("name.cancel"))])
        return flow(width, keys, look.style("text", "surface"))


class NameScreen(Overlay[str | None]):
    """Gives the name that was written, without blanks around it; None when it was left, or left empty."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/name.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "keep", show=False)]

    def __init__(self, title: str, name: str, keep: str = "", check: Callable[[str], str] = lambda text: "") -> None:
        """`keep`: what Enter does, in a word; empty: it renames. `check`: why what is written cannot be kept, or ""."""
        super().__init__()
        self._check, self._said = check, _Said(id="name-said")
        self._words, self._given, self._keep = title, name, keep or t("name.keep")
        self._field = LineField(id="name-field")

    def compose(self) -> ComposeResult:
        yield boxed(_Words(self._words), TypedLine(self._field, id="name-line"), self._said, _Foot(self._keep))

    def on_mount(self) -> None:
        self._field.put(self._given)
        self._field.focus()

    @property
    def written(self) -> str:
        return self._field.text

    def _say(self, words: str) -> None:
        if words != self._said.words:
            self._said.words = words
            self._said.refresh(layout=True)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._said.words:  # it is looked at anew with each key, once there was something wrong with it
            self._say(self._check(" ".join(self.written.split())))

    def action_keep(self) -> None:
        name = " ".join(self.written.split())
        words = self._check(name) if name else ""
        self._say(words)
        if not words:
            self.dismiss(name or None)
