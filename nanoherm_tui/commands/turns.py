"""Text for a turn that runs: told at its next step, or sent when it has ended. Idle, both begin a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import intents

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp


def steer(app: NanohermApp, text: str) -> None:
    if app.view is not None:
        app.view.session.send(intents.Steer(text))


def queue(app: NanohermApp, text: str) -> None:
    if app.view is not None:
        app.view.session.send(intents.Queue(text))
