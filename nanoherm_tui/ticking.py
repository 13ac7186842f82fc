"""The running marks step only while something runs; an idle program paints nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui import limits

if TYPE_CHECKING:
    from textual.timer import Timer

    from nanoherm_tui.app import NanohermApp


class Ticking:
    """Of one app. All on its loop."""

    def __init__(self, app: NanohermApp) -> None:
        self._app = app
        self._timer: Timer | None = None
        self._frame = 0

    @property
    def runs(self) -> bool:
        return self._timer is not None

    def keep(self) -> None:
        """Begin or stop: what runs, or a pane that ticks, may have come or gone."""
        app = self._app
        busy = app.conversations.busy or (app.panes.dock != "hidden" and app.dock.ticks)
        if busy and self._timer is None:
            self._timer = app.set_interval(max(limits.TICK_SECONDS, 1 / app.frame_rate), self.step)
        elif not busy and self._timer is not None:
            self._timer.stop()
            self._timer = None
            app.collecting.turn_ended()

    def step(self) -> None:
        """Show all that moves by itself as it is now."""
        app = self._app
        self._frame += 1
        app.transcript.tick()
        app.sessions_pane.tick(self._frame)
        app.status.tick(self._frame)
        app.dock.tick(self._frame)
        app.conversations.looks.tick(self._frame)
        app.show_status()
        if app.remarks.on:
            from nanoherm_tui.commands.remarks import turn_runs

            turn_runs(app)
        self.keep()
