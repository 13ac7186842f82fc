"""When a letter that is typed may answer a question."""

from __future__ import annotations

import time
from collections.abc import Callable

from nanoherm_tui import limits


class Arming:
    """Whether a letter typed into an empty draft would answer. Time is monotonic seconds, from `clock`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._quiet_since = clock()
        self.explicit = False
        """The person went to the panel by a key or a click: nothing has to be waited for."""

    def asked(self) -> None:
        """Another question is shown: what was meant for the one before must not reach it."""
        self._quiet_since = self._clock()
        self.explicit = False

    def key(self) -> None:
        """Something was typed."""
        self._quiet_since = self._clock()

    def armed(self, *, draft_empty: bool) -> bool:
        if self.explicit:
            return True
        return draft_empty and self._clock() - self._quiet_since >= limits.APPROVAL_ARM
