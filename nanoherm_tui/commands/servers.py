"""The MCP servers: looking at them, starting one anew, logging in, switching one on or off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.servers import ServersScreen
from nanoherm_tui.text import visible
from nanoherm_tui.words.servers import ProblemLine, ServerLine, lines, problems

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from nanoherm_tui.app import NanohermApp

ACTS = ("restart", "login", "logout", "on", "off")


def show(app: NanohermApp, argument: str) -> None:
    """Open the list, or do what is typed: "restart git", "login issues", "off git"."""
    if app.view is None:
        return
    word, _, name = argument.partition(" ")
    workspace = app.view.session.workspace
    if not word:
        _open(app, workspace)
    elif word in ACTS and name.strip():
        _act(app, workspace, word, name.strip())
    else:
        app.conversations.tell("servers_usage", t("servers.usage"))


def _open(app: NanohermApp, workspace: Path) -> None:
    home = str(app.host.places.home)

    def look() -> tuple[list[ServerLine], list[ProblemLine]]:
        servers = app.host.servers
        return lines(servers.views(workspace), home), problems(servers.problems(workspace), home)

    def opened(found: tuple[list[ServerLine], list[ProblemLine]]) -> None:
        screen = ServersScreen(*found)

        def again() -> None:
            """While it is open: what has changed is shown as it is."""
            if screen.is_attached:
                app.desk.do(look, lambda found: screen.show(*found))

        def act(what: str, name: str) -> None:
            state = next((line.state for line in screen.servers if line.name == name), "off")
            word = ("on" if state == "off" else "off") if what == "switch" else what
            if word == "login":
                screen.dismiss()
            _act(app, workspace, word, name, again)

        screen.act, screen.look_again = act, again
        app.open_overlay(screen)

    app.desk.do(look, opened)


def _act(app: NanohermApp, workspace: Path, word: str, name: str, shown: Callable[[], None] | None = None) -> None:
    """Do it. `shown` brings the list up to date, where it is open; else what was done is told."""

    def done(words: str) -> None:
        if shown is not None:
            shown()
        else:
            _say(app, words, name)

    def work() -> str:
        servers = app.host.servers
        if word == "restart":
            servers.restart(workspace, name)
            return "restarting"
        if word == "logout":
            return "logged_out" if servers.log_out(workspace, name, CancelScope()) else "was_not_in"
        servers.enable(workspace, name, word == "on")
        return f"is_{word}"

    if word == "login":
        log_in(app, workspace, name)
    else:
        app.desk.do(work, done)


def _say(app: NanohermApp, words: str, name: str) -> None:
    app.conversations.tell(f"servers_{words}", t(f"servers.{words}", name=visible(name)), warning=False)


def log_in(app: NanohermApp, workspace: Path, name: str) -> None:
    """Have the person log in: the address is put before them like any other question."""
    view = app.view
    if view is None:
        return
    session = view.session

    def work() -> str:
        from agent_core.mcp.login import asking, opener

        scope = CancelScope()
        browser = asking(
            session.asker, opener(app.host.launch.env), lambda url: app.call_from_thread(app.copy_to_clipboard, url)
        )
        try:
            app.host.servers.log_in(workspace, name, browser, scope)
        except Interrupted:
            return "login_stopped"
        return "logged_in"

    _say(app, "looking", name)
    app.desk.do_beside(work, lambda words: _say(app, words, name))
