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

    They come before a letter begins a message.
    """

    CONTEXT: ClassVar[Context] = "pane"
    keymap: Keymap = Keymap()
    key_filter: KeyFilter | None = None
    """Is given each key before the pane; True means it took it."""
    begin_message: Callable[[str], None] | None = None
    """Takes a letter that the pane has no use for: nothing typed is lost."""

    @property
    def uses_letters(self) -> bool:
        """It is in a mode of its own, in which letters answer nothing that waits."""
        return False

    async def _on_key(self, event: events.Key) -> None:
        keyboard = self.app.screen.focused
        if keyboard is not None and self not in keyboard.ancestors_with_self:
            # A key of the same read has moved the keyboard meanwhile: this one was meant for where it is now.
            keyboard.post_message(events.Key(event.key, event.character))
        elif not await self._takes(event):
            return
        event.stop()
        event.prevent_default()

    async def _takes(self, event: events.Key) -> bool:
        if self.key_filter is not None and self.key_filter(event):
            return True
        action_id = self.keymap.action(event.key, self.CONTEXT)
        # What cannot be done now is not taken: the letter goes on.
        if action_id and await self.app.run_action(BY_ID[action_id].run, self):
            return True
        if self.begin_message is None or not event.is_printable or not event.character:
            return False
        self.begin_message(event.character)
        return True
