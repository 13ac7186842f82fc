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
        self._came_back = False
        """The panel had the keyboard when the window lost it: what is typed now may be meant for another window."""

    def asked(self) -> None:
        """Another question is shown: what was meant for the one before must not reach it."""
        self._quiet_since = self._clock()
        self.explicit = self._came_back = False

    def gone_to(self) -> None:
        """By a key or a click."""
        self.explicit, self._came_back = True, False

    def came_back(self) -> None:
        """The window has the keyboard again, and the panel had it before."""
        self._quiet_since = self._clock()
        self.explicit = self._came_back = True

    def key(self) -> None:
        """Something was typed."""
        self._came_back = self._came_back and not self._rested
        self._quiet_since = self._clock()

    def armed(self, *, draft_empty: bool) -> bool:
        if self.explicit:
            return self._rested or not self._came_back
        return draft_empty and self._rested

    @property
    def _rested(self) -> bool:
        return self._clock() - self._quiet_since >= limits.APPROVAL_ARM
