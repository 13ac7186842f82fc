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
        self._places = places
        self._taken = 0
        self._changed = threading.Condition()
        self._line: deque[object] = deque()

    @contextmanager
    def place(self, cancel: CancelScope, places: int | None = None) -> Iterator[None]:
        """Wait for a place and hold it. Raises Interrupted when `cancel` is cancelled meanwhile.

        `places`: how many there are from now on.
        """
        if places is not None:
            self._places = places
        with cancel.closing(self._wake):
            self._enter(cancel)
        try:
            yield
        finally:
            with self._changed:
                self._taken -= 1
                self._changed.notify_all()

    def _enter(self, cancel: CancelScope) -> None:
        me = object()
        with self._changed:
            self._line.append(me)
            try:
                self._changed.wait_for(lambda: cancel.cancelled or (self._taken < self._places and self._line[0] is me))
                cancel.check()
                self._taken += 1
            finally:
                self._line.remove(me)
                self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
