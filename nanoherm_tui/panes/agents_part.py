"""What the dock's tab of tasks has for sub-agents: which there are, and the one that is looked into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.agents import Account, at_work
from nanoherm_tui.panes.findable import Findable

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow


class AgentsPart(Findable):
    """What a sub-agent has said is asked for by a message and comes by `show_account`."""

    class AccountRequested(Message):
        """What a sub-agent has said and done is wanted: `show_account`."""

        def __init__(self, agent: AgentRow) -> None:
            super().__init__()
            self.agent = agent

    class StopRequested(Message):
        """The person wants a sub-agent stopped, and has said so twice."""

        def __init__(self, agent_id: str) -> None:
            super().__init__()
            self.agent_id = agent_id

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._agents: tuple[AgentRow, ...] = ()
        self._account: Account | None = None  # of the sub-agent that is looked into
        self._account_asked = False
        self._chosen_id = ""  # the one the cursor is at, or that is looked into
        self._dying = ""  # the one that another x ends

    # -- what the tab says --------------------------------------------------------------------------------------

    @property
    def tasks_in_front(self) -> bool:
        raise NotImplementedError

    @property
    def lists(self) -> bool:
        """The list is shown, not one of it."""
        raise NotImplementedError

    def _renew_all(self, hints_before: Sequence[str]) -> None:
        """Paint again what has become something else."""
        raise NotImplementedError

    def _keys(self) -> list[str]:
        """What can be done now, in words."""
        raise NotImplementedError

    def _close(self) -> None:
        """Back to the list."""
        raise NotImplementedError

    # -- sub-agents ---------------------------------------------------------------------------------------------

    def show_agents(self, agents: Sequence[AgentRow]) -> None:
        """The sub-agents as they are now, the newest last."""
        if tuple(agents) == self._agents:
            return
        before, was = self._keys(), self._chosen_agent()
        self._agents = tuple(agents)
        if self._account is not None:
            agent = self._chosen_agent()
            if agent is None:
                self._close()
            elif agent != was:
                self._ask_for_account(agent)
        self._renew_all(before)

    def show_account(self, account: Account) -> None:
        """What was asked for has come."""
        self._account_asked = False
        if self._account is None or self._account.agent_id != account.agent_id or self._account == account:
            return
        at_end = self._made_for is None or self.top >= len(self._body) - self.view_height
        self._account = account
        if self.tasks_in_front:
            self._to_end |= at_end and self.text_selection is None
            self.stale()

    def _ask_for_account(self, agent: AgentRow) -> None:
        """One at a time: it is asked for again when the next change is told."""
        if not self._account_asked or not at_work(agent):
            self._account_asked = True
            self.post_message(self.AccountRequested(agent))

    def agent_hints(self, agent: AgentRow) -> list[tuple[str, str]]:
        key = self.keymap.label
        hints = [(key("dock_unfold"), t("agents.hint_look"))] if self.lists and agent.session_id else []
        if at_work(agent):
            hints.append((key("dock_kill"), t("agents.stop_again" if self._dying == agent.id else "agents.hint_stop")))
        if self._account is not None:
            hints.append((key("dock_close_find"), t("tasks.hint_back")))
        return hints

    def _chosen_agent(self) -> AgentRow | None:
        return next((agent for agent in self._agents if agent.id == self._chosen_id), None)
