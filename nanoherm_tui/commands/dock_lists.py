"""The dock's lists: reading what they show, and doing what is asked for in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import intents
from agent_core.errors import AgentError
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.panes.list_tabs import LOOK
from nanoherm_tui.panes.memory_tab import OfSession
from nanoherm_tui.text import one_line, visible
from nanoherm_tui.words.memory import forgotten_words
from nanoherm_tui.words.servers import lines, problems

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_core.knowledge import Memory
    from agent_core.memory.desk import Forgotten
    from agent_core.messages import FileDiff
    from agent_core.rollback import Checkpoint
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.panes.list_tab import Ask, ListName
    from nanoherm_tui.session_view import SessionView
    from nanoherm_tui.words.servers import ProblemLine, ServerLine


def answer(app: NanohermApp, name: ListName, ask: Ask) -> None:
    """Do what a list of the dock wants, for the session in view."""
    view = app.view
    if view is None:
        app.dock.list_shown(name)
    elif ask.what == LOOK:
        {"memory": _look_at_memory, "servers": _look_at_servers, "turns": _look_at_turns}[name](app, view)
    elif name == "memory":
        _change_memory(app, ask)
    elif name == "servers":
        _server(app, view, ask)
    else:
        _turn(app, view, ask)


def _looked(app: NanohermApp, view: SessionView, name: ListName, show: Callable[[], None]) -> None:
    """What was looked for is there; of a session that is not in view any more nothing is shown."""
    if app.view is view:
        show()
    app.dock.list_shown(name)


def _failed(app: NanohermApp, name: ListName, error: AgentError) -> None:
    app.hint(tell(error.code, error.params, error.text))
    app.dock.list_shown(name)


# -- memory -----------------------------------------------------------------------------------------------------------


def _look_at_memory(app: NanohermApp, view: SessionView) -> None:
    told, id = view.recalled, view.id

    def look() -> OfSession | AgentError:
        try:
            seen = app.host.memory_desk.look()
        except AgentError as error:
            return error
        there = {memory.id: memory for memory in seen.memories}
        recalled = tuple(there[memory.id] for memory in told if memory.id in there)
        made = tuple(memory for memory in seen.memories if memory.source == id)
        return OfSession(recalled, made, seen.total, str(app.host.places.home))

    def come(found: OfSession | AgentError) -> None:
        if isinstance(found, AgentError):
            _failed(app, "memory", found)
        else:
            _looked(app, view, "memory", lambda: app.dock.memory.show(found))

    app.desk.do(look, come)


def _change_memory(app: NanohermApp, ask: Ask) -> None:
    def gone(done: Forgotten) -> None:
        app.dock.memory.forgotten(done.memory)
        app.hint(forgotten_words(done))
        app.dock.lists_changed(["memory"])

    def back(kept: Memory | None) -> None:
        words = t("memory.known") if kept is None else t("memory.kept", text=one_line(visible(kept.text)))
        app.hint(words)
        app.dock.lists_changed(["memory"])

    if ask.what == "forget":
        app.desk.do(lambda: app.host.memory_desk.forget(ask.argument), gone)
    elif (memory := app.dock.memory.take_back(ask.argument)) is not None:
        app.desk.do(lambda: app.host.memory_desk.take_back(memory), back)


# -- servers ----------------------------------------------------------------------------------------------------------


def _look_at_servers(app: NanohermApp, view: SessionView) -> None:
    workspace, home = view.session.workspace, str(app.host.places.home)

    def look() -> tuple[list[ServerLine], list[ProblemLine]] | AgentError:
        servers = app.host.servers
        try:
            return lines(servers.views(workspace), home), problems(servers.problems(workspace), home)
        except AgentError as error:
            return error

    def come(found: tuple[list[ServerLine], list[ProblemLine]] | AgentError) -> None:
        if isinstance(found, AgentError):
            _failed(app, "servers", found)
        else:
            _looked(app, view, "servers", lambda: app.dock.servers.show(*found))

    app.desk.do(look, come)


def _server(app: NanohermApp, view: SessionView, ask: Ask) -> None:
    from nanoherm_tui.commands.servers import log_in

    server = ask.argument
    if ask.what == "log_in":
        log_in(app, view.session.workspace, server)
        return
    app.hint(t("servers.restarting", name=visible(server)))
    workspace = view.session.workspace
    app.desk.do(lambda: app.host.servers.restart(workspace, server), lambda _: app.dock.lists_changed(["servers"]))


# -- turns ------------------------------------------------------------------------------------------------------------


def _look_at_turns(app: NanohermApp, view: SessionView) -> None:
    def look() -> tuple[tuple[Checkpoint, ...], bool] | AgentError:
        try:
            turns = app.host.checkpoints.list(view.id)
            return turns, bool(turns) and app.host.checkpoints.redoable(view.id) is not None
        except AgentError as error:
            return error

    def come(found: tuple[tuple[Checkpoint, ...], bool] | AgentError) -> None:
        if isinstance(found, AgentError):
            _failed(app, "turns", found)
        else:
            _looked(app, view, "turns", lambda: app.dock.turns.show(*found))

    app.desk.do_beside(look, come)  # the workspace may have to be looked at first


def _turn(app: NanohermApp, view: SessionView, ask: Ask) -> None:
    from nanoherm_tui.commands.rollback import roll_back_to, rollback

    if ask.what == "change":
        _show_change(app, view, ask.argument, ask.path)
    elif ask.what == "told":
        app.hint(t("turns.stays", why=ask.argument))
    elif view.session.busy:
        app.hint(t("rewind.busy"))
    elif ask.what == "undo_file":
        view.rewind_to = ""
        view.session.send(intents.Rollback(ask.argument, (ask.path,)))
    elif ask.what == "undo_turn":
        roll_back_to(app, view, ask.argument)
    else:
        rollback(app, "redo")


def _show_change(app: NanohermApp, view: SessionView, turn_id: str, path: str) -> None:
    def come(change: FileDiff) -> None:
        if app.view is view:
            app.dock.show_diffs((change,))

    app.desk.do_beside(lambda: app.host.checkpoints.change(view.id, turn_id, path), come)
