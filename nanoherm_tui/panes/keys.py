"""Keys of a pane that has the focus: what is asked first, then the pane's own, then the app's."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.widget import Widget

from nanoherm_tui.actions import BY_ID, Context
from nanoherm_tui.keymap import Keymap

KeyFilter = Callable[[events.Key], bool]


class PaneKeys(Widget):
    """Mixed into a pane whose keys are those of the keymap's context CONTEXT, and of "pane".

    They come before a letter goes on to the app, which would begin a message with it.
    """

    CONTEXT: ClassVar[Context] = "pane"
    keymap: Keymap = Keymap()
    key_filter: KeyFilter | None = None
    """Is given each key before the pane; True means it took it."""

    async def _on_key(self, event: events.Key) -> None:
        if self.key_filter is None or not self.key_filter(event):
            action_id = self.keymap.action(event.key, self.CONTEXT)
            # What cannot be done now is not taken: the letter goes on.
            if not action_id or not await self.app.run_action(BY_ID[action_id].run, self):
                return
        event.stop()
        event.prevent_default()
