"""What comes back into a session from work beside its turns: it begins a turn, or stands before the next one.

Source: SUB-07.
"""

from __future__ import annotations

from collections.abc import Callable

from agent_core import limits
from agent_core.events import AgentsReturned, Event, Notice
from agent_core.messages import Message
from agent_core.mind.conversation import Conversation
from agent_core.ports.extras import Returning
from agent_core.session.kit import Kit


class SessionReturns:
    """`wanted`, `may_begin` and `person_spoke` under the session's lock, the rest on its worker."""

    def __init__(self, kit: Kit, emit: Callable[[Event], None]) -> None:
        self._kit = kit
        self._emit = emit
        self._in_a_row = 0
        """Turns that nobody asked for since the person's last word."""
        self._told_left = False

    @property
    def _extras(self) -> list[Returning]:
        return [extra for extra in self._kit.made if isinstance(extra, Returning)]

    @property
    def are_at_work(self) -> bool:
        """Something works beside the turns. Does not wait."""
        return any(extra.is_at_work for extra in self._extras)

    @property
    def wanted(self) -> bool:
        """Something has come that may begin a turn. Does not wait."""
        return any(extra.has_come for extra in self._extras)

    def may_begin(self) -> bool:
        """Whether a turn may begin by itself now; it counts as begun then. Of a chain that is too long the person is
        told, and the results wait for their next word: nothing goes round for ever unseen."""
        self._in_a_row += 1
        if self._in_a_row == limits.AGENT_TURNS + 1:
            text = (
                f"{limits.AGENT_TURNS} turns in a row were begun by sub-agents. What came now is told with your next "
                "message."
            )
            self._emit(Notice("agents_wait", text, "warning", {"turns": limits.AGENT_TURNS}))
        return self._in_a_row <= limits.AGENT_TURNS

    def person_spoke(self) -> None:
        self._in_a_row = 0

    def found(self, left: int) -> None:
        """So many have ended with an earlier run of the program, or were interrupted by its end. Told once."""
        if left and not self._told_left:
            self._told_left = True
            text = (
                f"{left} sub-agents in the background had not reported when the program ended. The model is told with \
your next message."
            )
            self._emit(Notice("agents_left", text, "warning", {"count": left}))

    def take(self) -> list[Message]:
        """What has come and was not told, the oldest first. Raises StoreError."""
        return [message for extra in self._extras for message in extra.returned()]

    def place(self, conversation: Conversation, begins: Message) -> None:
        """All that has come joins the conversation, but for what begins the turn by itself. Raises StoreError."""
        for extra in self._extras:
            placed = []
            for message in extra.returned():
                if message.id != begins.id:
                    conversation.add(message)
                    self._emit(AgentsReturned(message.id, message.text, message.agents))
                    placed.append(message.id)
            if placed:
                extra.told(placed)

    def begun(self, conversation: Conversation, message: Message) -> None:
        """The turn that `message` began is over: it was told, if it got as far as that."""
        if message.origin == "agents" and conversation.has(message.id):
            for extra in self._extras:
                extra.told([message.id])
