"""The batched queue between a session's worker and whoever listens."""

from __future__ import annotations

import threading
from collections.abc import Callable

from agent_core.events import URGENT, Envelope, ReasoningDelta, TextDelta, ToolArriving

Wake = Callable[[bool], None]
"""Called with True when something urgent has come, with False when an empty mailbox has got its first letter."""


class Mailbox:
    """Envelopes in order, deltas joined with their neighbours, so that its length is bounded by kinds, not by tokens.

    Of how far a call has come only the newest word is kept.

    `wake` is called from the thread that puts, outside the lock; it must not block.
    """

    def __init__(self, wake: Wake = lambda urgent: None) -> None:
        self._lock = threading.Lock()
        self._letters: list[Envelope] = []
        self._pieces: list[str] = []  # of the delta at the end of _letters, joined when somebody looks
        self._wake = wake

    def listen(self, wake: Wake) -> None:
        """Replace the wake callback; it is called at once when letters are waiting."""
        with self._lock:
            self._wake = wake
            waiting = bool(self._letters)
        if waiting:
            wake(False)

    def put(self, envelope: Envelope) -> None:
        event = envelope.event
        with self._lock:
            first = not self._letters
            if isinstance(event, TextDelta | ReasoningDelta):
                if self._pieces and type(self._letters[-1].event) is type(event):
                    self._pieces.append(event.text)
                    return
                self._close_delta()
                self._pieces = [event.text]
            else:
                self._close_delta()
                if isinstance(event, ToolArriving) and self._letters and type(self._letters[-1].event) is ToolArriving:
                    self._letters[-1] = envelope
                    return
            self._letters.append(envelope)
            wake = self._wake
        urgent = isinstance(event, URGENT)
        if first or urgent:
            wake(urgent)

    def drain(self) -> list[Envelope]:
        """Everything that has come since the last call, oldest first."""
        with self._lock:
            self._close_delta()
            letters, self._letters = self._letters, []
            return letters

    def _close_delta(self) -> None:
        if len(self._pieces) > 1:
            last, text = self._letters[-1], "".join(self._pieces)
            event = TextDelta(text) if isinstance(last.event, TextDelta) else ReasoningDelta(text)
            self._letters[-1] = Envelope(last.session_id, last.seq, last.time, event)
        self._pieces = []
