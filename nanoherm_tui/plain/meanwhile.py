"""What a session says while another is in view: some of it at once, the rest when one comes back to it. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from agent_core import events
from nanoherm_tui import limits
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from agent_core.events import Event

_KEPT: Final = (
    events.TextDelta,
    events.ReasoningDelta,
    events.PartialDropped,
    events.UserMessage,
    events.AssistantMessage,
    events.ToolArriving,
    events.Recalled,
    events.StepStarted,
    events.ToolStarted,
    events.ToolEnded,
    events.ToolFinished,
    events.PlanChanged,
)
"""What a turn says in its course. Between the lines of another session nobody could follow it."""


class Meanwhile:
    """The lines of one session that wait, the newest limits.PLAIN_MISSED characters of them."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._size = 0
        self._left_out = 0

    def sort(self, event: Event, lines: Sequence[str]) -> list[str]:
        """Those of an event's lines that are said at once; the others are kept."""
        if isinstance(event, _KEPT):
            at_once = len(lines)
        elif isinstance(event, events.TurnFinished):
            at_once = len(lines) - 1  # before it stands the rest of an answer that was broken off
        else:
            at_once = 0
        self._keep(lines[:at_once])
        return list(lines[at_once:])

    def _keep(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._lines.append(line)
            self._size += len(line) + 1
        while self._size > limits.PLAIN_MISSED:
            self._size -= len(self._lines.popleft()) + 1
            self._left_out += 1

    @property
    def is_empty(self) -> bool:
        return not (self._lines or self._left_out)

    def take(self) -> list[str]:
        """What has waited, with words above it."""
        if self.is_empty:
            return []
        left_out = [t("plain.left_out", n=self._left_out, command="/export")] if self._left_out else []
        lines = [t("plain.meanwhile"), *left_out, *self._lines]
        self._lines.clear()
        self._size = self._left_out = 0
        return lines
