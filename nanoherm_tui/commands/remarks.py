"""When something is met that a remark is about, and when there is rest and room to make it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nanoherm_tui import limits
from nanoherm_tui.remarks import words

if TYPE_CHECKING:
    from agent_core import events
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.session_view import SessionView


def meet(app: NanohermApp, name: str) -> None:
    """Make the remark of this name, if it is still to be made, once the keys rest."""
    if app.view is not None and app.remarks.meet(name):
        _wait(app, name, app.view.id, time.monotonic() + limits.REMARK_WAITS)


def _wait(app: NanohermApp, name: str, session: str, until: float) -> None:
    app.set_timer(limits.REMARK_RESTS, lambda: _make(app, name, session, until))


def _make(app: NanohermApp, name: str, session: str, until: float) -> None:
    if not app.is_running or not app.remarks.on:
        return
    now, said = time.monotonic(), words(name, app.keymap)
    fits = bool(said) and _is_there(app, name, session)
    in_peace = now - app.composer.last_key >= limits.REMARK_RESTS and len(app.screen_stack) == 1 and app.tour is None
    if fits and in_peace and app.composer.remark(said):
        app.remarks.told(name)
        app.kept_look.keep()
        _stay(app, name, session, now + limits.REMARK_STAYS)
    elif fits and now < until:
        _wait(app, name, session, until)
    else:
        app.remarks.missed(name)


def _stay(app: NanohermApp, name: str, session: str, until: float) -> None:
    """Take it away when its time is over, or what it is about."""
    if not app.is_running:
        return
    if time.monotonic() < until and _is_there(app, name, session):
        app.set_timer(limits.REMARK_RESTS, lambda: _stay(app, name, session, until))
    else:
        app.composer.end_remark(words(name, app.keymap))


def _is_there(app: NanohermApp, name: str, session: str) -> bool:
    """Whether what a remark is about is still before the person's eyes."""
    view = app.view
    if view is None or view.id != session:
        return False
    asked = view.waiting[0].question if view.waiting else None
    match name:
        case "question":
            return asked is not None and asked.kind == "command"
        case "hunks":
            return asked is not None and bool(asked.diffs)
        case "long_turn":
            return bool(view.turn_started)
        case "paste":
            return app.composer.has_paste
    return True


def turn_ended(app: NanohermApp, view: SessionView, event: events.TurnFinished) -> None:
    """What the end of a turn of the session in view is an occasion for."""
    if event.outcome == "interrupted":
        meet(app, "stopped")
    elif view.context_percent is not None and view.context_percent >= limits.REMARK_CONTEXT:
        meet(app, "context")
    elif view.diffs:
        meet(app, "changes")


def turn_runs(app: NanohermApp) -> None:
    """Looked at while a turn of the session in view runs."""
    view = app.view
    if view is not None and view.turn_started and time.monotonic() - view.turn_started >= limits.REMARK_LONG_TURN:
        meet(app, "long_turn")
