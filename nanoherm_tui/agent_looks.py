"""Looking at a sub-agent: its transcript stands in the place of the session's, live while it is at work.

What is written meanwhile is for the one that is looked at. Esc leads back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_core import events, intents
from agent_core.errors import AgentError
from nanoherm_tui import limits
from nanoherm_tui.agent_view import AgentView
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.panes.agents import at_work

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow
    from agent_core.messages import Message
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.bridge import Bridge
    from nanoherm_tui.calls import Call
    from nanoherm_tui.session_view import SessionView


class AgentLooks:
    """Lives on the screen's thread."""

    def __init__(self, app: NanohermApp, bridge: Bridge) -> None:
        self._app = app
        self._bridge = bridge
        self.shown: AgentView | None = None
        """The one whose transcript is in view."""
        self._followed: dict[str, AgentView] = {}
        """Those that are at work and were looked at, by the ids of their sessions."""
        self._from_dock = False
        self._stop_asked = float("-inf")
        self._frame = 0

    # -- looking --------------------------------------------------------------------------------------------------

    def look(self, row: AgentRow, *, from_dock: bool = False) -> None:
        """Show a sub-agent of the session in view. `from_dock`: the way back leads there."""
        view = self._app.view
        if view is None or not row.session_id or row.state == "waiting":
            self._app.hint(t("agents.waits", name=row.id))
            return
        self._from_dock = from_dock
        known = self._followed.get(row.session_id)
        if known is not None:
            self._show(known)
            return
        host = self._app.host

        def open_() -> AgentView | AgentError:
            try:
                heard = host.agent_heard(view.id, row.id)
                agent = AgentView(view.id, row, heard)
                if heard is None:
                    messages, earlier = host.agent_said(row.session_id)
                    agent.load(messages, earlier, running=at_work(row))
            except AgentError as error:
                return error
            return agent

        def come(agent: AgentView | AgentError) -> None:
            if self._app.view is not view:
                return
            if isinstance(agent, AgentError):
                self._app.hint(tell(agent.code, agent.params, agent.text))
                return
            if self._followed.get(agent.id) is None and at_work(agent.row):
                self._followed[agent.id] = agent
                self._bridge.watch(agent)
            self._show(self._followed.get(agent.id, agent))

        self._app.desk.do(open_, come)

    def _show(self, agent: AgentView) -> None:
        app = self._app
        if self.shown is None:
            app.conversations.mark_seen()
        self.shown = agent
        if app.view is not None:
            agent.renewed(app.view.agents)
        app.transcript.show(agent.model)
        app.greet()
        self._tell_row()
        focus_pane(app, "transcript")

    def back(self) -> None:
        """To the session's own transcript."""
        if self.shown is None:
            return
        self.forget_shown()
        app, view = self._app, self._app.view
        if view is not None:
            app.transcript.show(view.model)
        app.greet()
        if self._from_dock:
            app.dock.show_tab("tasks")
        focus_pane(app, "dock" if self._from_dock else "composer")

    def forget_shown(self) -> None:
        """Another transcript is about to be shown."""
        self.shown = None
        self._tell_row()

    def forget(self, session_id: str) -> None:
        """A session is closed: nothing is told of its sub-agents any more."""
        for agent in [agent for agent in self._followed.values() if agent.parent == session_id]:
            self._let_go(agent)

    def _let_go(self, agent: AgentView) -> None:
        self._followed.pop(agent.id, None)
        self._bridge.forget(agent.id)

    # -- what happens -----------------------------------------------------------------------------------------------

    def deliver(self, session_id: str, happened: Sequence[events.Event]) -> None:
        """What one has told that is followed."""
        agent = self._followed.get(session_id)
        if agent is None:
            return
        for event in happened:
            agent.work.take(event)
        if agent is self.shown:
            self._app.transcript.apply(happened)
        else:
            for event in happened:
                agent.model.apply(event)
        if any(isinstance(event, events.TurnFinished) for event in happened):
            self._let_go(agent)

    def renewed(self, view: SessionView) -> None:
        """The sub-agents of the session in view have changed."""
        if self.shown is not None and self.shown.renewed(view.agents):
            self._tell_row()

    def tick(self, frame: int) -> None:
        """Step the mark and the seconds of the one that is shown; `frame` counts quarters of a second."""
        self._frame = frame
        if self.shown is not None and at_work(self.shown.row):
            self._app.title_row.look_at(self.shown.row, frame, time.time())

    def _tell_row(self) -> None:
        row = self.shown.row if self.shown is not None else None
        self._app.title_row.look_at(row, self._frame, time.time())
        self._app.composer.set_addressee(row)
        self._app.transcript.can_stop = row is not None and at_work(row)

    # -- what the person does ---------------------------------------------------------------------------------------

    @property
    def calls(self) -> dict[str, Call] | None:
        """Those of the one that is shown; None: no sub-agent is."""
        return self.shown.work.by_id if self.shown is not None else None

    def say(self, text: str) -> bool:
        """Give the one that is shown a text for its next step; False when none is shown. What cannot be told any more
        goes back into the draft."""
        if self.shown is None:
            return False
        row = self.shown.row
        if at_work(row):
            self._app.conversations.send(intents.SteerAgent(row.id, text))
            self._app.hint(t("agents.told", name=row.id))
        else:
            self._app.composer.bring_back(text)
            self._app.hint(t("agents.ended", name=row.id))
        return True

    def stop(self) -> None:
        """Stop the one that is shown, at the second press."""
        row = self.shown.row if self.shown is not None else None
        if row is None or not at_work(row):
            return
        now = time.monotonic()
        if now - self._stop_asked > limits.TOLD_HINT:
            self._stop_asked = now
            self._app.hint(t("agents.press_again", key=self._app.keymap.label("stop_agent")))
            return
        self._stop_asked = float("-inf")
        self._app.hint("")
        self._app.conversations.send(intents.StopAgent(row.id))

    def bring_earlier(self) -> bool:
        """Read what was said before what is shown of it; False when no sub-agent is shown."""
        agent = self.shown
        if agent is None:
            return False
        first, host = agent.model.first, self._app.host

        def come(messages: Sequence[Message]) -> None:
            if agent.model.first != first or not agent.model.earlier:
                return
            agent.work.prepend(messages)
            if agent is self.shown:
                self._app.transcript.prepend(messages)
            else:
                agent.model.prepend(messages)

        self._app.desk.do(lambda: host.earlier(agent.id, first), come)
        return True
