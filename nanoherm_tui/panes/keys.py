"""Keys of a pane that has the focus: what is asked first, then the pane's own, then the app's."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widget import Widget

KeyFilter = Callable[[events.Key], bool]


class PaneKeys(Widget):
    """Mixed into a pane. Its bindings run before a letter goes on to the app, which would begin a message with it."""

    key_filter: KeyFilter | None = None
    """Is given each key before the pane; True means it took it."""

    async def _on_key(self, event: events.Key) -> None:
        if self.key_filter is None or not self.key_filter(event):
            bound = self.screen.active_bindings.get(event.key)
            if bound is None or bound.node is not self or not bound.enabled:
                return
            await self.run_action(bound.binding.action)
        event.stop()
        event.prevent_default()
