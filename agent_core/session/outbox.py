"""What a live session tells whoever listens, in the order it came about."""

from __future__ import annotations

import logging
import threading
import time

from agent_core.errors import AgentError, crash
from agent_core.events import Envelope, ErrorRaised, Event
from agent_core.session.mailbox import Mailbox

log = logging.getLogger(__name__)


class Outbox:
    """Numbers events and puts them into the mailbox. Safe to use from any thread.

    `lock` is the session's own: what changes under it and is told under it is heard in the order it changed.
    """

    def __init__(self, session_id: str) -> None:
        self.lock = threading.RLock()
        self.mailbox = Mailbox()
        self._session_id = session_id
        self._seq = 0

    def emit(self, event: Event) -> None:
        with self.lock:
            self._seq += 1
            self.mailbox.put(Envelope(self._session_id, self._seq, time.time(), event))

    def tell_failure(self, error: Exception, *, heard: bool = True) -> str:
        """Tell the listener of a failure, unless it is only for the log; returns its code."""
        failure = error if isinstance(error, AgentError) else crash(error)
        if failure is not error:
            log.exception("session worker")
        if heard:
            self.emit(ErrorRaised(failure.code, failure.text, failure.params))
        return failure.code
