"""A lock whose waiting can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agent_core.cancel import CancelScope


class Lane:
    """Lets one through at a time."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._taken = False

    @contextmanager
    def held(self, cancel: CancelScope) -> Iterator[None]:
        """Have it for the block. Raises Interrupted when cancelled meanwhile, or before."""
        with cancel.closing(self._wake), self._free:
            while self._taken and not cancel.cancelled:
                self._free.wait()
            cancel.check()
            self._taken = True
        try:
            yield
        finally:
            with self._free:
                self._taken = False
                self._free.notify()

    def _wake(self) -> None:
        with self._free:
            self._free.notify_all()
