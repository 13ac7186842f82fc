"""Keys of a pane that has the focus: what is asked first, then the pane's own, then the app's."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from textual import events
from textual.widget import Widget

from nanoherm_tui.actions import BY_ID, Context
from nanoherm_tui.keymap import Keymap

KeyFilter = Callable[[events.Key], bool]


class FocusAtOnce(Widget):
    """Mixed into what takes the keyboard: a key that came in the same read as the one that gave it goes there too.

    Textual's own `focus` waits for its turn in the queue, behind such a key.
    """

    def focus(self, scroll_visible: bool = True) -> Self:
        if self.is_attached:
            self.screen.set_focus(self, scroll_visible)
        return self


class PaneKeys(FocusAtOnce):
    """Mixed into a pane whose keys are those of the keymap's context CONTEXT, and of "pane".

    They come before a letter goes on to the app, which would begin a message with it.
    """

    CONTEXT: ClassVar[Context] = "pane"
    keymap: Keymap = Keymap()
    key_filter: KeyFilter | None = None
    """Is given each key before the pane; True means it took it."""

    @property
    def uses_letters(self) -> bool:
        """It is in a mode of its own, in which letters answer nothing that waits."""
        return False

    async def _on_key(self, event: events.Key) -> None:
        if self.key_filter is None or not self.key_filter(event):
            action_id = self.keymap.action(event.key, self.CONTEXT)
            # What cannot be done now is not taken: the letter goes on.
            if not action_id or not await self.app.run_action(BY_ID[action_id].run, self):
                return
        event.stop()
        event.prevent_default()
