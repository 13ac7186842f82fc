"""The time a call takes, without the time that a person takes to answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from agent_core.cancel import CancelScope
from agent_core.ports.asking import Asker, Question, Reply
from agent_core.records import dataclass


class Stopwatch:
    """The time a call has taken; what a person takes to answer is not its time. Any thread may read it."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._waited = 0.0
        self._waits_since: float | None = None

    @property
    def seconds(self) -> float:
        since = self._waits_since
        now = time.monotonic() if since is None else since
        return now - self._begun - self._waited

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self._waits_since = time.monotonic()
        try:
            yield
        finally:
            self._waited += time.monotonic() - self._waits_since
            self._waits_since = None


@dataclass(frozen=True, slots=True)
class TimedAsker:
    """Asks, and stops the clock meanwhile (ports.Asker)."""

    asker: Asker
    watch: Stopwatch

    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        with self.watch.stopped():
            return self.asker.ask(question, cancel)
