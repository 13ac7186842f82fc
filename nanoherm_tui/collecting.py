"""When garbage is looked for: never in the middle of what is drawn, but often enough that a long day leaves none.

What lives as long as the program is frozen, so that no collection walks it; the thresholds are so high that the
collector hardly ever comes by itself while an answer streams. What turns, overlays and other sessions leave, much of it
in cycles, would stay for hours: it is taken when a turn has ended, and all of it while the hands rest; then its pages
go back to the system too.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from nanoherm_tui import limits
from nanoherm_tui.compat.letting_go import forget_closed

if TYPE_CHECKING:
    from textual.timer import Timer

    from nanoherm_tui.app import NanohermApp


class Collecting:
    """Of one app. All on its loop."""

    def __init__(self, app: NanohermApp) -> None:
        self._app = app
        self._next: Timer | None = None
        self.whole = 0
        """How often all was looked at, for tests and diagnostics."""

    def settle(self) -> None:
        """The first screen, or a history, stands: from now on the collector leaves it alone."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(*limits.GC_THRESHOLDS)
        gc.enable()

    def turn_ended(self) -> None:
        """Nothing runs any more: look at what is young as soon as the end is drawn, and at all when nobody types."""
        self._again(limits.GC_AFTER, self._young)

    def _young(self) -> None:
        forget_closed(self._app)
        gc.collect(1)
        self._again(limits.GC_REST, self._all)

    def _all(self) -> None:
        """What was frozen too: a session that was closed since is garbage by now."""
        rested = time.monotonic() - self._app.last_input
        if rested < limits.GC_REST:
            self._again(limits.GC_REST - rested, self._all)
            return
        from agent_core.heap import give_back  # with ctypes, which no start waits for

        gc.unfreeze()
        give_back()
        gc.freeze()
        self.whole += 1

    def _again(self, seconds: float, then: Callable[[], None]) -> None:
        if self._next is not None:
            self._next.stop()
        self._next = self._app.set_timer(seconds, then)
