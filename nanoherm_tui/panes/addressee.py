"""Tells that what is written is for the sub-agent whose transcript is in view, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.strip import Strip

from nanoherm_tui.i18n import t
from nanoherm_tui.strips import Painted, flow, hints, look_of
from nanoherm_tui.text import one_line

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow


class AddresseeRow(Painted):
    """Above the draft; no row while the session itself is in view."""

    agent: AgentRow | None = None
    stop_key = ""

    @property
    def who(self) -> str:
        """The number and name of the one that is looked at."""
        return f"{self.agent.id} {one_line(self.agent.name)}" if self.agent is not None else ""

    def paint(self, width: int) -> list[Strip]:
        if self.agent is None:
            return []
        look = look_of(self)
        at_work = self.agent.ended is None
        keys = [(self.stop_key, t("agents.hint_stop"))] if at_work else []
        words = t("agents.to" if at_work else "agents.of", name=self.who)
        parts = [[(words, look.style("accent", "surface"))], *hints(look, [*keys, ("Esc", t("agents.hint_back"))])]
        return flow(width, parts, look.style("text", "surface"))
