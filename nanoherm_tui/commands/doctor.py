"""What `nanoherm-tui doctor` tells, in the dock."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from nanoherm_tui.commands.panes import redraw
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.output import Result
from nanoherm_tui.terminal import probe as terminal_probe
from nanoherm_tui.text import visible

if TYPE_CHECKING:
    from agent_core.doctor.check import Check
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.terminal.probe import Answers


def show(app: NanohermApp, argument: str) -> None:
    """Look at everything and show it. Most of it is looked at beside: a server is waited for, a command is tried."""
    app.composer.after_keys(partial(_show, app))  # asking the terminal takes them


def _show(app: NanohermApp) -> None:
    answers = _ask_terminal(app)
    app.hint(t("app.examining"))

    def look() -> Result:
        from agent_core.doctor.check import Patient, has_problem
        from agent_core.doctor.examination import examine
        from nanoherm_tui.subcommands.doctor import further, summary

        launch = app.host.launch
        patient = Patient(app.host.places, os.environ, launch.overrides, subagents_file=launch.subagents_file)
        found = list(examine(patient, further(patient, lambda term, *, in_screen: answers)))
        text = "\n".join([summary(found), "", *map(_words, found)])
        return Result("doctor", "nanoherm-tui doctor", text, not has_problem(found))

    def tell(result: Result) -> None:
        app.dock.show_result(result)
        app.show_pane("dock")
        if app.panes.dock == "over":  # the draft is behind it: keys go where they are seen
            app.dock.focus()

    app.desk.do_beside(look, tell)


def _ask_terminal(app: NanohermApp) -> Answers | None:
    """What the terminal answers while the program has left it for that, as for an editor; a moment, if any."""
    term, in_screen = os.environ.get("TERM", ""), bool(os.environ.get("STY")) and not os.environ.get("TMUX")
    try:
        with app.suspend():
            answers = None if terminal_probe.cannot_ask() else terminal_probe.ask(term, in_screen=in_screen)
    except SuspendNotSupported:
        return None
    redraw(app, "")
    return answers


def _words(check: Check) -> str:
    fix = "".join(f"\n      {'>' if at == 0 else ' '} {line}" for at, line in enumerate(check.fix.splitlines()))
    return f"{check.state:<4}  {check.title}  {visible(check.text)}{visible(fix)}"
