"""A clock that stands still, so that a picture made today is the one made tomorrow.

Seconds since the epoch come from here in the whole process while it is held. Monotonic time goes on, since every loop
and lock waits by it; only the rooms that show how long something took are given this clock for that too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

START: Final = 1_774_780_980.0
"""Sunday, 29 March 2026, 10:43 UTC."""

_SHOWN_DURATIONS: Final = (
    "agent_core.mind.agent",
    "agent_core.shell",
    "agent_core.tools.call",
    "agent_core.tools.stopwatch",
    "agent_core.mind.turn",
    "nanoherm_tui.session_view",
    "nanoherm_tui.summary",
)


class Clock:
    """Stands for the module `time`. It goes on only when it is told to."""

    def __init__(self) -> None:
        self.now = START

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


CLOCK: Final = Clock()


def hold() -> None:
    """Stop the clock for good. Called before the product is imported: some defaults keep the function they find."""
    time.time = CLOCK.time
    os.environ["TZ"] = "UTC"
    time.tzset()


@contextmanager
def held() -> Iterator[Clock]:
    """Stop the clock, at its start, until the block ends."""
    real = time.time
    rooms = [import_module(name) for name in _SHOWN_DURATIONS]
    CLOCK.now = START
    time.time = CLOCK.time
    for room in rooms:
        room.time = CLOCK
    try:
        yield CLOCK
    finally:
        time.time = real
        for room in rooms:
            room.time = time
