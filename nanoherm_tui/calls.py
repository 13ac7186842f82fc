"""The tool calls of a conversation, what has come of them, and what they changed in files: for the dock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core import events
from agent_core.messages import FileDiff, Message, ToolCall
from agent_core.names import DELEGATE_TASK, SHELL
from agent_core.records import dataclass
from nanoherm_tui.text import one_line
from nanoherm_tui.transcript.cards import default_subject

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow
    from agent_core.events import Event


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and what has come of it, for the dock."""

    name: str
    asked: str | ToolCall = ""
    """Its subject, or the stored call that gives it: worked out for those that are opened, not for thousands."""
    text: str = ""
    ok: bool = True
    diffs: tuple[FileDiff, ...] = ()

    @property
    def subject(self) -> str:
        return default_subject(self.asked) if isinstance(self.asked, ToolCall) else self.asked


class Calls:
    """Of one conversation, kept by `take` (live) or `load` (stored); both come to the same."""

    def __init__(self) -> None:
        self.by_id: dict[str, Call] = {}
        self.diffs: deque[FileDiff] = deque()
        """The newest first."""

    def take(self, event: Event) -> bool:
        """Reduce an event; True when files have become others."""
        match event:
            case events.ToolQueued(call_id, name, subject):
                self.by_id[call_id] = Call(name, subject)
            case events.AgentsReturned(message_id, text, agents):
                self.by_id[message_id] = _returned(text, agents)
            case events.ToolFinished(call_id, name, ok, diffs=diffs):
                asked = self.by_id[call_id].asked if call_id in self.by_id else ""
                self.by_id[call_id] = Call(name, asked, event.text, ok, diffs)
                if ok:
                    self.diffs.extendleft(reversed(diffs))
                return bool(ok and diffs)
            case _:
                pass
        return False

    def renamed(self, call_id: str, subject: str) -> None:
        """The person has changed what a call is to do."""
        if call_id in self.by_id:
            self.by_id[call_id] = replace(self.by_id[call_id], asked=subject)

    def load(self, messages: Iterable[Message]) -> None:
        """Replace everything by a stored conversation."""
        self.by_id.clear()
        self.diffs.clear()
        self._read(messages)

    def prepend(self, messages: Iterable[Message]) -> None:
        """Take in what was said before."""
        later, diffs = self.by_id, self.diffs
        self.by_id, self.diffs = {}, deque()
        self._read(messages)
        self.by_id |= later
        self.diffs.extendleft(reversed(diffs))

    def _read(self, messages: Iterable[Message]) -> None:
        asked: dict[str, ToolCall] = {}
        for message in messages:
            if message.shell is not None:
                run = message.shell
                self.by_id[run.result.call_id] = Call(SHELL, one_line(run.command), run.result.text, run.result.ok)
            if message.agents:
                self.by_id[message.id] = _returned(message.text, message.agents)
            for call in message.tool_calls:
                asked[call.id] = call
            result = message.result
            if result is not None:
                self.by_id[result.call_id] = Call(
                    result.name, asked.pop(result.call_id, ""), result.text, result.ok, result.diffs
                )
                if result.diffs and result.ok:
                    self.diffs.extendleft(reversed(result.diffs))
        for call in asked.values():
            self.by_id[call.id] = Call(call.name, call)


def _returned(text: str, agents: Iterable[AgentRow]) -> Call:
    """What sub-agents in the background came to, as a result."""
    rows = tuple(agents)
    return Call(DELEGATE_TASK, one_line(", ".join(row.id for row in rows)), text, all(r.state == "done" for r in rows))
