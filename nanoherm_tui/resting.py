"""Which sessions rest: those that nobody sees and that do nothing, beyond a few at once, the few after a while.

What the screen holds of one goes with what the core holds, but for its row, its draft and the place where it was read.
It is as it was a moment after it is opened again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agent_core import intents
from nanoherm_tui import limits

if TYPE_CHECKING:
    from textual.timer import Timer

    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.session_view import SessionView


class Resting:
    """Lives on the screen's thread."""

    def __init__(self, app: NanohermApp) -> None:
        self._app = app
        self._left: dict[str, float] = {}
        """Ids of the sessions out of view that are awake, by when they were left, in that order."""
        self._timer: Timer | None = None

    def left(self, view: SessionView) -> None:
        """Another session comes into view, or this one was woken out of it."""
        self._left.pop(view.id, None)
        self._left[view.id] = time.monotonic()
        self.look()

    def look(self) -> None:
        """Ask those to rest whose time it is. One at work does not: it is asked again."""
        conversations, now = self._app.conversations, time.monotonic()
        awake = [conversations.views[id] for id in self._left if id in conversations.views]
        awake = [view for view in awake if view is not conversations.view]
        self._left = {view.id: self._left[view.id] for view in awake}
        again = limits.SESSION_RESTS
        for number, view in enumerate(awake):
            wait = self._left[view.id] + limits.SESSION_RESTS - now
            if wait > 0 and number >= len(awake) - limits.SESSIONS_AWAKE:
                again = min(again, wait)
                continue
            again = min(again, limits.SESSION_ASKED)
            if not (view.returned or view.waiting):
                view.session.send(intents.Rest())
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._app.set_timer(again + limits.NOTE_SLACK, self.look) if awake else None

    def rests(self, view: SessionView) -> None:
        """A session has gone to rest; one that was come back to meanwhile is woken."""
        self._left.pop(view.id, None)
        if view is self._app.conversations.view:
            view.session.start()
            return
        view.put_away()
        self._app.transcript.put_away(view.model)
        self._app.composer.rests(view.id)
        self._app.collecting.turn_ended()
