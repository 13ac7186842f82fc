"""The new keys of an action are pressed here: what speaks against one is said before it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.i18n import series, t
from nanoherm_tui.keymap import show
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.text import wrap
from nanoherm_tui.words.key_changes import caution, pressed


class _Words(Painted):
    """As tall from the first frame on as its words may become."""

    title = ""
    now = ""
    keys: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def can_write(self) -> bool:
        return bool(self.keys) and not self.refused

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 9 if self.app.size.height >= limits.SHORT else max(1, self.app.size.height)

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill, muted = look.style("text", "surface"), look.style("muted", "surface")
        bold, warn = look.style("text", "surface", bold=True), look.style("warn", "surface")
        names = "   ".join(show(key) for key in self.keys)
        lines = [(line, bold) for line in wrap(self.title, width)]
        lines += [(line, muted) for line in wrap(self.now, width)]
        lines += [(line, bold) for line in wrap(names or t("keys.press"), width)]
        said = self.refused or self.cautions
        lines += [(line, warn) for words in said for line in wrap(words, width)]
        foot = flow(width, hints(look, self._hints()), fill)
        room = self.get_content_height(self.size, self.size, width) - len(foot)
        lines = lines[: max(0, room)]
        rows = [row(width, [(words, style)], fill) for words, style in lines]
        return [*rows, *[row(width, [], fill)] * (room - len(rows)), *foot]

    def _hints(self) -> list[tuple[str, str]]:
        if not self.keys:
            return [("Esc", t("keys.leave"))]
        write = [("Enter", t("keys.write"))] if self.can_write else []
        return [*write, (show("backspace"), t("keys.take_off")), ("Esc", t("keys.leave"))]


class KeyCapture(Overlay[tuple[str, ...] | None]):
    """Gives the keys that were pressed, or None. `refuse` says what speaks against them.

    Once there is a key, Enter and Backspace are no keys any more: they write, and take the last one off.
    """

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/settings.tcss"]
    takes_keys = True
    """The program's own keys, but for Ctrl+C, can be pressed here."""

    def __init__(self, title: str, now: Sequence[str], refuse: Callable[[Sequence[str]], tuple[str, ...]]) -> None:
        super().__init__()
        self._refuse = refuse
        self._words = _Words(id="key-capture")
        self._words.title = title
        self._words.now = t("keys.now", keys=series(map(show, now))) if now else t("keys.now_none")

    def compose(self) -> ComposeResult:
        yield boxed(self._words)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        words = self._words
        if event.key == "escape":
            self.dismiss(None)
        elif event.key == "backspace" and words.keys:
            self._take(words.keys[:-1])
        elif event.key == "enter" and words.can_write:
            self.dismiss(words.keys)
        elif event.key == "enter" and words.keys:
            pass  # what is refused is taken off or left, not written
        elif (key := pressed(event.key)) is None:
            words.refused = (t("keys.no_name"),)
            words.refresh()
        elif key not in words.keys:
            # What was refused gives way to the next one: nobody wants it beside others.
            self._take((*(() if words.refused else words.keys), key))

    def _take(self, keys: tuple[str, ...]) -> None:
        words = self._words
        words.keys = keys
        words.refused = self._refuse(keys) if keys else ()
        words.cautions = tuple(filter(None, map(caution, keys)))
        words.refresh()
