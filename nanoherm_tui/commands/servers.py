"""The MCP servers: looking at them, starting one anew, logging in, switching one on or off."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.overlays.servers import ProblemLine, ServerLine, ServersScreen, SmallLine
from nanoherm_tui.text import clean, shorten_home, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent_core.errors import ConfigError
    from agent_core.extras.server_desk import ServerView
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
        _log_in(app, workspace, name)
    else:
        app.desk.do(work, done)


def _say(app: NanohermApp, words: str, name: str) -> None:
    app.conversations.tell(f"servers_{words}", t(f"servers.{words}", name=visible(name)), warning=False)


def _log_in(app: NanohermApp, workspace: Path, name: str) -> None:
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


# -- in words -------------------------------------------------------------------------------------------------------


def lines(views: Sequence[ServerView], home: str) -> list[ServerLine]:
    return [_line(view, home) for view in views]


def problems(found: Sequence[ConfigError], home: str) -> list[ProblemLine]:
    told = (clean(tell(problem.code, problem.params, problem.text)) for problem in found)
    return [ProblemLine(words.replace(f"{home}/", "~/")) for words in told]


def _line(view: ServerView, home: str) -> ServerLine:
    row = view.row
    words = t(f"servers.state_{row.state}")
    if row.retry_at > time.time() and row.state != "login":  # that waits for a person
        words = t("servers.again_in", state=words, n=max(1, round(row.retry_at - time.time())))
    facts = "   ".join(filter(None, (visible(row.title), row.protocol, t("servers.trusted") if row.trusted else "")))
    detail = (
        *((clean(tell(row.code, row.params, row.problem)),) if row.problem else ()),
        *((facts,) if facts else ()),
        visible(row.address),
        t("servers.from", place=shorten_home(visible(row.place), home)),
    )
    below = [
        SmallLine(visible(tool.name), _tool_detail(tool.name, tool.title, tool.description), visible(tool.title))
        for tool in view.tools
    ]
    below += [SmallLine(clean(words), (clean(words),), is_warning=True) for words in view.warnings]
    if view.noise:
        below.append(SmallLine(t("servers.wrote"), (t("servers.wrote_text"),), is_head=True))
        below += [SmallLine(clean(line), (clean(line),)) for line in view.noise]
    side = ", ".join(filter(None, (_count(row.tools), row.transport)))
    has_url = row.transport != "stdio"
    return ServerLine(row.name, row.state, words, side, tuple(filter(None, detail)), tuple(below), has_url)


def _tool_detail(name: str, title: str, text: str) -> tuple[str, ...]:
    heading = f"{visible(name)}: {visible(title)}" if title else visible(name)
    said = " ".join(clean(text).split())
    return (heading, said) if said not in ("", name) else (heading,)


def _count(tools: int) -> str:
    return "" if not tools else t("servers.one_tool") if tools == 1 else t("servers.tools", n=tools)
