"""Tells that another program runs a turn in the session, and what can be done meanwhile."""

from __future__ import annotations

import time

from textual.strip import Strip

from nanoherm_tui.i18n import t
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.text import wrap


class HeldRow(Painted):
    """Above the draft; no row while no other program is there."""

    pid = 0
    since = 0.0
    """Seconds since the epoch."""
    keys: tuple[str, str] = ("", "")
    """What sends, and what stops."""
    waits = False
    """Something was sent, and waits."""

    def paint(self, width: int) -> list[Strip]:
        if not self.pid:
            return []
        look = look_of(self)
        since = time.strftime("%H:%M", time.localtime(self.since))
        fill, warn = look.style("text", "surface"), look.style("warn", "surface")
        *above, words = wrap(t("composer.held", pid=self.pid, since=since), max(1, width))
        send, stop = self.keys
        first = (stop, t("composer.held_stop")) if self.waits else (send, t("composer.held_send"))
        keys = [first, ("/fork", t("composer.held_fork"))]
        return [
            *(row(width, [(line, warn)], fill) for line in above),
            *flow(width, [[(words, warn)], *hints(look, keys)], fill),
        ]
