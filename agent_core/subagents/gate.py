"""The gate: at most so many sub-agents of a session run at once, the others wait. Source: SUB-03."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from agent_core import limits
from agent_core.cancel import CancelScope


class Gate:
    """Places that are taken in the order of coming, and given back when the scope is left. Used by any thread."""

    def __init__(self, places: int = limits.AGENTS_AT_ONCE) -> None:
        self._free = places
        self._changed = threading.Condition()
        self._line: deque[object] = deque()

    @contextmanager
    def place(self, cancel: CancelScope) -> Iterator[None]:
        """Wait for a place and hold it. Raises Interrupted when `cancel` is cancelled meanwhile."""
        with cancel.closing(self._wake):
            self._enter(cancel)
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def _enter(self, cancel: CancelScope) -> None:
        me = object()
        with self._changed:
            self._line.append(me)
            try:
                self._changed.wait_for(lambda: cancel.cancelled or (self._free > 0 and self._line[0] is me))
                cancel.check()
                self._free -= 1
            finally:
                self._line.remove(me)
                self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
