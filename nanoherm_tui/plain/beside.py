"""What takes long is done on threads of its own; what comes of it waits for the main thread."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import TypeVar

from agent_core.errors import AgentError, crash

T = TypeVar("T")

log = logging.getLogger(__name__)


class Beside:
    """Lives in the main thread. `failed` hears there of what went wrong, `wake` is called from any thread."""

    def __init__(self, failed: Callable[[AgentError], None], wake: Callable[[], None]) -> None:
        self._failed, self._wake = failed, wake
        self._at_work = 0
        self._done: deque[Callable[[], object]] = deque()
        """What is to be done in the main thread."""

    @property
    def at_work(self) -> bool:
        """Something is being done whose end is waited for."""
        return self._at_work > 0

    @property
    def is_done(self) -> bool:
        """Something has come of it, and nobody has looked yet."""
        return bool(self._done)

    def do(self, work: Callable[[], T], then: Callable[[T], object]) -> None:
        """Do `work` on a thread, then `then` with its result in the main one."""

        def ended(act: Callable[[], object]) -> None:
            self._at_work -= 1
            act()

        def job() -> None:
            try:
                result = work()
            except AgentError as error:
                act: Callable[[], object] = partial(self._failed, error)
            except Exception as error:  # the face must survive whatever one command does
                log.exception("a command failed")
                act = partial(self._failed, crash(error))
            else:
                act = partial(then, result)
            self.soon(partial(ended, act))

        self._at_work += 1
        Thread(target=job, name="beside", daemon=True).start()

    def soon(self, act: Callable[[], object]) -> None:
        """From any thread: do this in the main one."""
        self._done.append(act)
        self._wake()

    def settle(self) -> None:
        """Do what there is to be done with results."""
        while self._done:
            act = self._done.popleft()
            try:
                act()
            except AgentError as error:
                self._failed(error)
