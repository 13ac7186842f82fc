"""Sub-agents: looking at them, stopping one, telling one something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import intents
from agent_core.errors import AgentError
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.panes.agents import Account, at_work, lines_of

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow
    from nanoherm_tui.app import NanohermApp


def show(app: NanohermApp, argument: str) -> None:
    """Bring the dock's tab to the front; with the id of one that is at work and a text, tell it that."""
    if not argument.strip():
        app.dock.show_tab("tasks")
        focus_pane(app, "dock")
        return
    name, _, text = argument.strip().partition(" ")
    agents = app.view.agents if app.view is not None else ()
    named = next((agent for agent in agents if name in (agent.id, agent.id.rpartition("-")[2])), None)
    if named is None or not at_work(named):
        app.hint(t("agents.not_at_work", name=name))
    elif not text.strip():
        app.hint(t("agents.usage"))
    else:
        app.conversations.send(intents.SteerAgent(named.id, text.strip()))
        app.hint(t("agents.told", name=named.id))


def stop(app: NanohermApp, agent_id: str) -> None:
    app.conversations.send(intents.StopAgent(agent_id))


def read_account(app: NanohermApp, agent: AgentRow) -> None:
    """Give the dock what a sub-agent has said and done, or tell it why there is nothing."""
    view = app.view

    def read() -> Account:
        try:
            messages, earlier = app.host.agent_said(agent.session_id)
        except AgentError as error:
            return Account(agent.id, problem=tell(error.code, error.params, error.text))
        return Account(agent.id, lines_of(messages), earlier)

    def come(account: Account) -> None:
        if app.view is view:
            app.dock.show_account(account)

    app.desk.do(read, come)
