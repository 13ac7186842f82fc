"""What every action of the table does. Keys, palette and slash commands all end in `run`.

A room of this package is imported with the first of its commands, so that none of them costs the first frame. Each
command is a function of the app and its argument, "" when none was given.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from nanoherm_tui.actions import BY_ID, PANES, Action
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp

BEFORE_THE_CORE = frozenset({"interrupt", "quit", "redraw", "help", "toggle_dock", "toggle_sessions"})
"""What can be done in the moment between the first frame and the core's opening."""


def run(app: NanohermApp, action_id: str, argument: str = "") -> None:
    """Do what the action with this id does, from wherever it was asked for. `argument` is stripped."""
    if not app.ready and action_id not in BEFORE_THE_CORE:
        return
    action = BY_ID[action_id]
    if action.run and action.context not in (*PANES, "pane"):
        room, _, name = action.run.partition(".")
        getattr(import_module(f"{__name__}.{room}"), name)(app, argument)
    else:
        _in_its_place(app, action)


def _in_its_place(app: NanohermApp, action: Action) -> None:
    """An action of a pane, the composer or the approval panel: that gets the keyboard, then does it."""
    if action.context == "approval":
        # Chosen with Enter, which never approves: the panel comes forward and its own keys answer.
        if app.approval.display:
            app.approval.focus()
        else:
            app.hint(t("app.nothing_asked"))
    elif action.context in ("composer", "running"):
        app.composer.focus()
        app.composer.perform(action.id)
    else:
        from nanoherm_tui.commands.panes import focus_pane

        name = action.context if action.context in PANES else app.last_pane
        focus_pane(app, name)
        app.call_after_refresh(app.pane(name).run_action, action.run)
