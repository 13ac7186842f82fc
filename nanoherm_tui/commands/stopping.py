"""Stopping and leaving: Ctrl+C, Esc, /exit. The table of what they mean is in interrupt.py."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agent_core import intents
from nanoherm_tui import interrupt, limits
from nanoherm_tui.commands import run
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import Overlay
from nanoherm_tui.words.leaving import leaving_words

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp


def press_ctrl_c(app: NanohermApp, argument: str) -> None:
    now, view = time.monotonic(), app.view
    selected = app.screen.get_selected_text() or app.composer.selected_text
    moment = interrupt.Moment(
        view.state if view is not None else "idle",
        now,
        *app.last_ctrl_c,
        selection=bool(selected),
        draft=not app.composer.is_empty,
    )
    step = interrupt.ctrl_c(moment)
    if step in ("hint", "quit") and isinstance(app.screen, Overlay):
        app.screen.action_close()
        step = "nothing"
    app.last_ctrl_c = now, step
    if step in ("stop", "abandon") and view is not None:
        view.session.send(intents.Interrupt(abandon=step == "abandon"))
    elif step == "copy":
        app.copy(selected or "")
    elif step == "clear_draft":
        app.composer.clear_to_history()
    elif step == "quit":
        app.exit(0)
    elif step == "hint":
        app.hint(_also_ends(app) or t("app.again_to_quit", key="Ctrl+C"), limits.AGAIN_SECONDS)


def press_escape(app: NanohermApp) -> None:
    """Esc outside an overlay: back from a sub-agent, stop the turn, drop the selection, back to the composer, twice
    there: rewind."""
    view = app.view
    if view is None:
        return
    if app.conversations.looks.shown is not None and not app.screen.selections:
        app.conversations.looks.back()  # before it stops anything: what was opened last is closed first
        return
    now = time.monotonic()
    moment = interrupt.Moment(
        view.state,
        now,
        *app.last_escape,
        selection=bool(app.screen.selections),
        draft=not app.composer.is_empty,
    )
    step = interrupt.escape(moment, app.composer.holds_focus)
    app.last_escape = now, step
    if step == "stop":
        view.session.send(intents.Interrupt())
    elif step == "clear_selection":
        app.screen.clear_selection()
    elif step == "rewind":
        app.hint("")
        run(app, "rewind")
    elif step == "hint" and view.stored:
        app.hint(t("rewind.again", key="Esc"), limits.AGAIN_SECONDS)
    else:
        focus_pane(app, "composer")


def stop(app: NanohermApp, argument: str) -> None:
    if app.view is not None:
        app.view.session.send(intents.Interrupt())


def leave(app: NanohermApp, argument: str) -> None:
    """End the program; if what cannot be seen would end with it, say so first, and end it the second time."""
    words, now = _also_ends(app), time.monotonic()
    if not words or now - app.last_leave < limits.TOLD_HINT:
        app.exit(0)
        return
    app.last_leave = now
    app.hint(words)


def _also_ends(app: NanohermApp) -> str:
    return leaving_words(app.conversations.views.values(), app.view) if app.furnished else ""
