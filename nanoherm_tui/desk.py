"""What would block the screen is done here: one thread for the store, for files, for the network."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from agent_core.errors import AgentError, crash

log = logging.getLogger(__name__)

T = TypeVar("T")

Crashed = Callable[[Exception], None]
"""Ends the program with a report; called from the handler of the exception."""


class Desk:
    """One thread that does what would block the screen: store, files, network. Work is done in order."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[AgentError], None],
        crashed: Crashed,
        ended: Callable[[], bool] = lambda: False,
    ) -> None:
        """`ended`: the screen is being taken down; what was done stays done, and nobody is told any more."""
        self._loop = loop
        self._crashed = crashed
        self._ended = ended
        self._context = contextvars.copy_context()
        self._failed = failed
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="desk", daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], T], then: Callable[[T], None] = lambda result: None) -> None:
        """Run `work` on the desk's thread, then `then` with its result on the loop; an AgentError goes to `failed`."""
        self._work.put(self._job(work, then))

    def _job(self, work: Callable[[], T], then: Callable[[T], None]) -> Callable[[], None]:
        def job() -> None:
            try:
                result = work()
            except AgentError as error:
                self._back(self._failed, error)
            except Exception as error:  # the desk must survive whatever one job does
                log.exception("desk job failed")
                self._back(self._failed, crash(error))
            else:
                self._back(then, result)

        return job

    def do_beside(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        """The same on a thread of its own: what may take long, and nothing else waits for."""
        threading.Thread(target=self._job(work, then), name="desk-beside", daemon=True).start()

    def finish(self, seconds: float) -> None:
        """Do what has been given so far, then end; waits at most `seconds` for it."""
        self._work.put(None)
        self._thread.join(seconds)

    def _back(self, call: Callable[[T], None], value: T) -> None:
        def on_the_loop() -> None:
            if self._ended():
                return
            try:
                call(value)
            except Exception as error:  # as in Bridge._flush
                self._crashed(error)

        try:
            self._loop.call_soon_threadsafe(on_the_loop, context=self._context)
        except RuntimeError:  # the loop has ended
            pass

    def _run(self) -> None:
        while (job := self._work.get()) is not None:
            job()
