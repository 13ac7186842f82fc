"""Where a comment on a hunk is written: a few rows at the dock's foot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events

from nanoherm_tui.panes.draft import DraftArea

if TYPE_CHECKING:
    from nanoherm_tui.keymap import Keymap


class CommentField(DraftArea):
    """Enter keeps what is written, the keys for a new line make one, Esc leaves it as it was."""

    def __init__(self, keymap: Keymap, leave: Callable[[bool], None], grown: Callable[[], None]) -> None:
        super().__init__(id="comment-field")
        self._keymap = keymap
        self._leave = leave
        self._grown = grown
        self.latest: events.Key | None = None
        """The key that came here last."""

    def begin(self, words: str) -> None:
        """Show the field, with what was said so far, and give it the keyboard."""
        self.load_text(words)
        self.move_cursor(self.document.end)
        self.display = True
        self.focus()

    async def _on_key(self, event: events.Key) -> None:
        self.latest = event
        if self.take(event):
            event.stop()
            event.prevent_default()

    def take(self, event: events.Key) -> bool:
        """A key that is no text; True when it was one of ours."""
        key = event.key.replace("+\r", "+enter")
        if key in ("enter", "escape"):
            self._leave(key == "enter")
        elif self._keymap.action(key, "composer") == "newline":
            self.type_in("\n")
        else:
            return False
        return True

    def take_early(self, event: events.Key) -> None:
        """A key that came in the same read as the one that opened the field, and so went to the pane."""
        if not self.take(event) and event.is_printable and event.character:
            self.type_in(event.character)

    def on_text_area_changed(self) -> None:
        self._grown()

    def on_resize(self) -> None:
        self.call_after_refresh(self._grown)
        self.call_after_refresh(self.scroll_cursor_visible)
