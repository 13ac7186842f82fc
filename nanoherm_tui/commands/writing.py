"""What is done with the draft: the user's own editor, and what the arguments of commands may be."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from agent_core.errors import AgentError
from agent_core.names import EFFORTS
from nanoherm_tui.commands.panes import redraw
from nanoherm_tui.i18n import LANGUAGES, t
from nanoherm_tui.overlays.slash import Values
from nanoherm_tui.terminal import editor
from nanoherm_tui.terminal.colours import AUTO
from nanoherm_tui.text import one_line

if TYPE_CHECKING:
    from nanoherm_tui.actions import Action
    from nanoherm_tui.app import NanohermApp


def edit_draft(app: NanohermApp, argument: str) -> None:
    """Open the draft in the user's editor. It has the terminal while it runs; what a session says meanwhile waits."""
    app.composer.after_keys(partial(_edit, app))  # they are a part of the draft


def toggle_vim(app: NanohermApp, argument: str) -> None:
    """Edit drafts with vim's keys from now on, or no longer."""
    on = not app.composer.vim
    app.composer.vim = on
    app.hint(t("composer.vim_on" if on else "composer.vim_off"))
    app.desk.do(lambda: app.host.save_settings({"display.composer_keys": "vim" if on else "emacs"}))


def _edit(app: NanohermApp) -> None:
    try:
        edited = _in_the_terminal(app, app.composer.text, editor.command(os.environ))
    except AgentError as error:
        app.conversations.tell(error.code, error.text, **error.params)
    else:
        app.composer.text = edited
    app.composer.focus()


def _in_the_terminal(app: NanohermApp, text: str, words: list[str]) -> str:
    try:
        with app.suspend():
            try:
                came: str | AgentError = editor.edit(text, words)
            except AgentError as error:  # out of here the terminal would not come back
                came = error
    except SuspendNotSupported:
        came = AgentError("editor_no_terminal", "There is no terminal here that an editor could have.")
    redraw(app, "")
    if isinstance(came, AgentError):
        raise came
    return came


def values_of(app: NanohermApp, action: Action) -> Values:
    """What the argument of a command may be, from what is known without asking anybody."""
    match action.id:
        case "mode" if app.view is not None:
            return Values([(mode, t(f"modes.{mode}")) for mode in app.view.session.modes], closed=True)
        case "theme":
            return Values([(AUTO, t("themes.auto")), *((name, "") for name in app.themes.all)], closed=True)
        case "language":
            return Values([*((code, t(f"languages.{code}")) for code in LANGUAGES), ("auto", "")], closed=True)
        case "model":
            return Values([(name, "") for name in app.models_seen])
        case "persona":
            return Values([("none", t("app.no_persona")), *((name, "") for name in app.host.personas())], closed=True)
        case "snippet":
            return Values([(one.name, one_line(one.text)) for one in app.composer.snippets], closed=True)
        case "effort":
            return Values([("default", t("app.as_configured")), *((level, "") for level in EFFORTS)], closed=True)
        case "sessions":
            return Values([(row.title, row.workspace) for row in app.conversations.rows if row.title])
    return Values()
