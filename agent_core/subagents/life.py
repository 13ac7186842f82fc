"""How long what a sub-agent does counts: until its own end, or until it is given up. Source: SUB-09.

A thread cannot be ended from outside. One that was stopped and goes on all the same is left alone: whoever waits for it
goes on without it, and nothing it still does is stored or told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import abandoned

T = TypeVar("T")


class Life:
    """It ends once, in one of both ways. Used by the sub-agent's threads and by who waits for it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._has_ended = False
        self._given_up = False

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Whether what is done meanwhile counts. It is not given up before that is done: let it be short."""
        with self._lock:
            yield not self._given_up

    def keep(self, work: Callable[[], T]) -> T:
        """Have something stored. Raises StoreError when it was given up, and what `work` raises."""
        with self.held() as counts:
            if not counts:
                raise abandoned()
            return work()

    def end(self, work: Callable[[], T]) -> T:
        """Its own end, which `work` stores. Raises as `keep`; only what was stored is an end."""

        def ending() -> T:
            ended = work()
            self._has_ended = True
            return ended

        return self.keep(ending)

    def give_up(self) -> bool:
        """Nothing it does counts from now on; False: it has come to its end."""
        with self._lock:
            self._given_up = not self._has_ended
            return self._given_up


def awaited(name: str, work: Callable[[], T], scope: CancelScope, give_up: Callable[[], T | None]) -> T:
    """What `work` gives or raises, run on a thread of its own until it ends.

    When it has not ended limits.AGENT_COLLECT seconds after `scope` was cancelled: what `give_up` gives in its place,
    whatever it comes to later. None: it has just stored its end, and is waited for.
    """
    came: list[T | BaseException] = []
    look = threading.Event()

    def run() -> None:
        try:
            came.append(work())
        except BaseException as error:  # raised where somebody waits
            came.append(error)
        look.set()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    with scope.closing(look.set):
        look.wait()
    if not came:  # it is being stopped
        thread.join(limits.AGENT_COLLECT)
    if not came and (given := give_up()) is not None:
        return given
    thread.join()
    if isinstance(came[0], BaseException):
        raise came[0]
    return came[0]
