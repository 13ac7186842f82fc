"""What the screen knows of one sub-agent that somebody looks at: its transcript, and its calls for the dock.

A reducer like a session's: events in, or what is stored. No Textual here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agent_core.session.mailbox import Mailbox
from nanoherm_tui.calls import Calls
from nanoherm_tui.transcript.model import TranscriptModel

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow
    from agent_core.messages import Message


class AgentView:
    """Of a sub-agent of the session `parent`. Lives on the screen's thread only."""

    def __init__(self, parent: str, row: AgentRow, mailbox: Mailbox | None = None) -> None:
        """`mailbox`: it is at work, and tells what it does there from its beginning."""
        self.parent = parent
        self.row = row
        self.mailbox = mailbox or Mailbox()
        self.model = TranscriptModel()
        self.work = Calls()

    @property
    def id(self) -> str:
        """Of its session."""
        return self.row.session_id

    def load(self, messages: Sequence[Message], earlier: int, *, running: bool) -> None:
        """Show what is stored of it; `earlier` messages come before. `running`: by another program."""
        self.work.load(messages)
        self.model.load(messages, running=running, earlier=earlier)

    def renewed(self, rows: Iterable[AgentRow]) -> bool:
        """Take its row as it is now out of those of the session; False when it is not there any more."""
        row = next((row for row in rows if row.session_id == self.id), None)
        self.row = row or self.row
        return row is not None
