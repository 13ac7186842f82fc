"""The thread that runs a session's turns: what only it works with, and how it is given up."""

from __future__ import annotations

import queue
import threading

from agent_core import intents, limits
from agent_core.cancel import CancelScope, Cut
from agent_core.errors import abandoned
from agent_core.events import Event
from agent_core.messages import Message
from agent_core.mind.conversation import Conversation
from agent_core.mind.meter import Meter
from agent_core.mind.turn_lease import TurnLease
from agent_core.records import dataclass
from agent_core.session.outbox import Outbox
from agent_core.session.services import Connection
from agent_core.store.lease import Holder


@dataclass(frozen=True, slots=True)
class Start:
    """Begin a turn with this message; None: with what began the last one."""

    message: Message | None
    rewind: str = ""
    """The message that it takes the place of, with all behind that."""
    returned: bool = False
    """Begin it with what has come back from beside the turns (ports.Returning)."""


Item = intents.Intent | Start | None
"""An intent, a turn to begin, or None: a command of the person's own has ended."""

Inbox = queue.SimpleQueue[Item]


class Worker:
    """One that is given up keeps all of this for itself: what it still does cannot touch what its successor has."""

    def __init__(self, inbox: Inbox, meter: Meter, outbox: Outbox) -> None:
        self.inbox = inbox
        self.thread: threading.Thread
        self.scope: CancelScope | None = None
        """Of the turn that runs."""
        self.cut = Cut()
        """Of the request that is under way in it."""
        self.conversation: Conversation | None = None
        """None: it has to be read."""
        self.connection: Connection | None = None
        self.meter = meter
        self.stood_in_for = False
        """In this turn another model has answered in the place of the connection's."""
        self.lease: TurnLease | None = None
        self.elsewhere: Holder | None = None
        """The other program that runs a turn in the session."""
        self.read_at = 0.0
        self.pause = limits.LEASE_LOOK
        """When the history was read last (monotonic), and how long to wait before it is looked at again."""
        self._outbox = outbox
        self._lock = threading.Lock()
        self._given_up = False

    @property
    def is_current(self) -> bool:
        """It is the session's, and not one that was given up. Changes under the session's lock only."""
        return not self._given_up

    def emit(self, event: Event) -> None:
        """Tell what it does, for as long as it is the session's."""
        with self._outbox.lock:
            if self.is_current:
                self._outbox.emit(event)

    def tell_failure(self, error: Exception) -> str:
        """The same of a failure; returns its code."""
        with self._outbox.lock:
            return self._outbox.tell_failure(error, heard=self.is_current)

    def take_up(self, conversation: Conversation) -> bool:
        """Work on `conversation` from now on; False when the worker was given up while that was read."""
        with self._lock:
            if not self._given_up:
                self.conversation = conversation
            return not self._given_up

    def check(self) -> None:
        """Raises StoreError when it was given up."""
        if self._given_up:
            raise abandoned()

    def give_up(self) -> None:
        """Nothing it still does is stored or told. Under the session's lock."""
        with self._lock:
            self._given_up = True
            if self.conversation is not None:
                self.conversation.close()
            if self.lease is not None:
                self.lease.let_go()
