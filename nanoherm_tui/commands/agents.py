"""Sub-agents: the list of them, looking at one, telling one something, stopping one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import intents
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.agents import at_work

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp


def show(app: NanohermApp, argument: str) -> None:
    """Bring the dock's tab to the front; with the id of one, look at it; with a text too, tell it that."""
    if not argument.strip():
        app.dock.show_tab("tasks")
        focus_pane(app, "dock")
        return
    name, _, text = argument.strip().partition(" ")
    agents = app.view.agents if app.view is not None else ()
    named = next((agent for agent in agents if name in (agent.id, agent.id.rpartition("-")[2])), None)
    if named is None:
        app.hint(t("agents.no_such", name=name))
    elif not text.strip():
        app.conversations.looks.look(named)
    elif not at_work(named):
        app.hint(t("agents.not_at_work", name=name))
    else:
        app.conversations.send(intents.SteerAgent(named.id, text.strip()))
        app.hint(t("agents.told", name=named.id))


def stop(app: NanohermApp, agent_id: str) -> None:
    app.conversations.send(intents.StopAgent(agent_id))
