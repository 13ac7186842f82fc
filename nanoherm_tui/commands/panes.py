"""What is shown where, and who has the keyboard."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from nanoherm_tui.i18n import t
from nanoherm_tui.terminal import signals as terminal

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.layout import Side


def show_help(app: NanohermApp, argument: str) -> None:
    from nanoherm_tui.overlays.help import HelpScreen

    app.open_overlay(HelpScreen(app.keymap, focused=app.focused_context))


def toggle_sessions(app: NanohermApp, argument: str) -> None:
    _toggle(app, "sessions")


def toggle_dock(app: NanohermApp, argument: str) -> None:
    _toggle(app, "dock")


def _toggle(app: NanohermApp, name: Side) -> None:
    show = app.panes.place(name) == "hidden"
    app.show_pane(name, show)
    app.pane(name if show else "composer").focus()


def next_pane(app: NanohermApp, argument: str) -> None:
    panes = [app.composer, app.approval, app.transcript, app.dock, app.sessions_pane]
    shown = [p for p in panes if p.display and all(a.display for a in p.ancestors if hasattr(a, "display"))]
    here = next((i for i, p in enumerate(shown) if p.has_focus or p.has_focus_within), -1)
    shown[(here + 1) % len(shown)].focus()


def focus_pane(app: NanohermApp, name: str) -> None:
    """Give a pane the keyboard, and show it if it is hidden. `name`: sessions, transcript, composer or dock."""
    side: Side | None = "sessions" if name == "sessions" else "dock" if name == "dock" else None
    if side is not None:
        app.show_pane(side)
    elif not app.panes.transcript:
        app.wish = replace(app.wish, over=None)
        app.arrange()
    app.pane(name).focus()


def focus_sessions(app: NanohermApp, argument: str) -> None:
    focus_pane(app, "sessions")


def focus_transcript(app: NanohermApp, argument: str) -> None:
    focus_pane(app, "transcript")


def focus_composer(app: NanohermApp, argument: str) -> None:
    focus_pane(app, "composer")


def focus_dock(app: NanohermApp, argument: str) -> None:
    focus_pane(app, "dock")


def details(app: NanohermApp, argument: str) -> None:
    app.transcript.toggle_details()


def show_plan(app: NanohermApp, argument: str) -> None:
    app.dock.show_tab("plan")
    app.show_pane("dock")


def show_diff(app: NanohermApp, argument: str) -> None:
    if app.view is not None:
        app.dock.show_diffs(app.view.diffs)
    app.show_pane("dock")


def redraw(app: NanohermApp, argument: str) -> None:
    app.frames.forget()
    app.refresh(layout=True)
    app.screen.refresh()


def suspend(app: NanohermApp, argument: str) -> None:
    if terminal.in_browser(os.environ):
        app.hint(t("browser.no_suspend"))
        return
    with app.suspend():
        terminal.stop_process_group()
    redraw(app, "")
