"""The row above the transcript: the session's title, its workspace, its branch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.strip import Strip

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import Row, Span, paint_row
from nanoherm_tui.strips import Painted, look_of
from nanoherm_tui.text import cut_path, one_line, shorten_home, width

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow

LEFT = 4  # the transcript's text column
RIGHT = 3  # as far as the transcript's text goes
GAP = 2


def title_row(title: str, workspace: str, branch: str, cells: int) -> Row:
    """What fits: the branch goes first, then the workspace is cut in its middle and dropped, then the title is cut.

    A title too long for its row leaves the workspace a third of it.
    """
    room = max(cells - width(title) - GAP, cells // 3)
    right: list[Span] = []
    if workspace and room >= min(width(workspace), 12):
        with_branch = width(workspace) + GAP + width(branch)
        right += [Span(" " * (GAP - 1)), Span(cut_path(workspace, room), "muted")]
        if branch and with_branch <= room:
            right.append(Span(" " * GAP + branch, "muted"))
    return Row((Span(title, bold=True),), tuple(right), bg="ground")


class TitleRow(Painted):
    """One row; painted again only when its words change."""

    ALLOW_SELECT = False

    def __init__(self, id: str | None = "title") -> None:
        super().__init__(id=id)
        self._words = ("", "", "")
        self._agent: tuple[AgentRow, int, float] | None = None
        self.paints = 0
        """How often it was painted: for tests."""

    def update(self, title: str, workspace: str = "", branch: str = "") -> None:
        """Show the session's title, its folder (absolute; the home becomes ~) and its branch."""
        words = (one_line(title), one_line(shorten_home(workspace, str(Path.home()))), one_line(branch))
        if words != self._words:
            self._words = words
            self.refresh()

    def look_at(self, agent: AgentRow | None, frame: int, now: float) -> None:
        """Show the sub-agent whose transcript stands below, as it is `now`; None: the session again."""
        shown = (agent, frame, now) if agent is not None else None
        if shown != self._agent:
            self._agent = shown
            self.refresh()

    def refresh_look(self) -> None:
        """The theme or the language has changed."""
        self.refresh()

    def paint(self, width: int) -> list[Strip]:
        self.paints += 1
        look = look_of(self)
        blank = look.style("text", "ground")
        cells = width - LEFT - RIGHT
        if cells <= 0:
            return [Strip.blank(width, blank)]
        content = paint_row(self._row(cells), cells, look)
        return [Strip([Segment(" " * LEFT, blank), *content, Segment(" " * RIGHT, blank)], width)]

    def _row(self, cells: int) -> Row:
        if self._agent is not None:
            from nanoherm_tui.panes.agents import agent_row  # no first frame waits for it

            return replace(agent_row(*self._agent, cells), bg="ground")
        title, workspace, branch = self._words
        return title_row(title or t("sessions.untitled"), workspace, branch, cells)
