"""Writes notes down without anybody waiting for the disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from agent_core import limits
from agent_core.errors import AgentError, crash

log = logging.getLogger(__name__)

N = TypeVar("N")


class Scribe(Generic[N]):
    """One thread that writes the newest note of each key, in the order the notes came, a batch at a time.

    `write` gets a batch and raises when none of it could be written; it is then tried again, with what has come
    meanwhile. `failed` is told of the first failure in a row only. Both are called on the scribe's thread.
    """

    def __init__(self, write: Callable[[Sequence[N]], None], failed: Callable[[AgentError], None]) -> None:
        self._write = write
        self._failed = failed
        self._changed = threading.Condition()
        self._notes: dict[Hashable, N] = {}
        self._closing = False
        self._idle = True
        self._thread: threading.Thread | None = None

    def put(self, key: Hashable, note: N) -> None:
        """Have `note` written soon, in place of one of the same key that still waits. Never blocks."""
        with self._changed:
            if self._closing:
                return
            self._notes.pop(key, None)
            self._notes[key] = note
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="scribe", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait until everything is written; False when it is not within `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._notes and self._idle, seconds)

    def close(self, seconds: float = limits.SCRIBE_CLOSE) -> None:
        """Write what waits, without a pause, for at most `seconds`; later notes are not taken."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        wait, failures = limits.SCRIBE_DELAY, 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._notes or self._closing)
                # What changes again at once is written once.
                self._changed.wait_for(lambda: self._closing, wait)
                batch, self._notes = self._notes, {}
                self._idle = not batch
                closing = self._closing
            if batch:
                failures = 0 if self._try(batch, failures) else failures + 1
                with self._changed:
                    self._idle = True
                    self._changed.notify_all()
            if closing:
                return
            first, longest = limits.SCRIBE_RETRY
            wait = limits.SCRIBE_DELAY if not failures else min(longest, first * 2 ** (failures - 1))

    def _try(self, batch: dict[Hashable, N], failures: int) -> bool:
        try:
            self._write(list(batch.values()))
        except Exception as error:  # the thread must outlive whatever the disk does
            if failures == 0:
                log.warning("notes could not be written: %s", error)
                self._failed(error if isinstance(error, AgentError) else crash(error))
            with self._changed:
                self._notes = {**batch, **self._notes}
            return False
        return True
