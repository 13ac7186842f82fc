"""Between the core's threads and the screen's loop: mailboxes become one batch per 40 ms.

Nothing here blocks the loop, and no worker ever waits for the screen: a worker appends to its mailbox and, when that
was empty, schedules one callback.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from nanoherm_tui import limits

if TYPE_CHECKING:
    from agent_core.events import Envelope
    from agent_core.session.mailbox import Mailbox

Deliver = Callable[["Sequence[Envelope]"], None]
Crashed = Callable[[Exception], None]
"""Ends the program with a report; called from the handler of the exception."""


class Told(Protocol):
    """A session, or a sub-agent at work: who tells into a mailbox."""

    @property
    def id(self) -> str: ...

    @property
    def mailbox(self) -> Mailbox: ...


class Bridge:
    """Drains the mailboxes of the watched sessions and hands each batch to `deliver` on the loop.

    Batches come at most once in `interval`; an urgent event (approval, error, tool start, turn end) brings
    its batch at once. With nothing to drain the timer stops: an idle program does nothing.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, deliver: Deliver, crashed: Crashed) -> None:
        self._loop = loop
        self._crashed = crashed
        # Textual finds its app in a context variable: callbacks run in the context this was made in.
        self._context = contextvars.copy_context()
        self._deliver = deliver
        self._sessions: dict[str, Told] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self.interval = limits.BATCH_SECONDS
        """Seconds between two batches."""
        self._last = float("-inf")
        self.batch_times: list[tuple[float, bool]] = []
        """(loop time, urgent) of the newest batches, for tests and diagnostics."""

    def watch(self, session: Told) -> None:
        self._sessions[session.id] = session
        session.mailbox.listen(self._wake)

    def forget(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.mailbox.listen(lambda urgent: None)

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _wake(self, urgent: bool) -> None:
        """Called in a worker's thread."""
        try:
            self._loop.call_soon_threadsafe(self._woken, urgent, context=self._context)
        except RuntimeError:  # the loop has ended; the program is closing
            pass

    def _woken(self, urgent: bool) -> None:
        if urgent:
            self._flush(urgent=True)
        elif self._timer is None:
            wait = max(0.0, self._last + self.interval - self._loop.time())
            self._timer = self._loop.call_later(wait, self._tick, context=self._context)

    def _tick(self) -> None:
        self._timer = None
        self._flush(urgent=False)

    def _flush(self, *, urgent: bool) -> None:
        if self._closed:
            return
        batch = [envelope for session in list(self._sessions.values()) for envelope in session.mailbox.drain()]
        if not batch:
            return
        self._last = self._loop.time()
        self.batch_times.append((self._last, urgent))
        del self.batch_times[: -limits.BATCH_TIMES]
        try:
            self._deliver(batch)
        except Exception as error:  # the loop would only log it, and the screen would stand still for ever
            self._crashed(error)
            return
        # More is likely on its way: look again after the interval rather than wait for a wake that costs a callback.
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(self.interval, self._tick, context=self._context)
