"""What has failed rests for a while: models and keys, known to all sessions of a program. Source: LLM-19, LLM-23."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence

from agent_core import limits
from agent_core.credentials import Secret


class Resting:
    """How long each thing still rests. Safe to use from any thread; `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rests: dict[Hashable, tuple[int, float]] = {}
        """Failures in a row, and when the rest ends."""

    def failed(self, name: Hashable, at_least: float = 0.0) -> None:
        """Let `name` rest: REST_FIRST, twice as long after each further failure, at most REST_LONGEST.

        `at_least`: seconds it asked for itself. What fails while it rests was asked before it did: that counts once.
        """
        with self._lock:
            failures, until = self._rests.get(name, (0, 0.0))
            now = self._clock()
            if until > now:
                return
            seconds = min(limits.REST_FIRST * 2.0 ** min(failures, 30), limits.REST_LONGEST)
            self._rests[name] = failures + 1, now + max(seconds, min(at_least, limits.REST_LONGEST))

    def succeeded(self, name: Hashable) -> None:
        with self._lock:
            self._rests.pop(name, None)

    def left(self, name: Hashable) -> float:
        """Seconds that `name` still rests; 0: it does not."""
        with self._lock:
            return max(0.0, self._rests.get(name, (0, 0.0))[1] - self._clock())


class KeyRing:
    """The keys of one server, of which one is used at a time. Used by one thread at a time."""

    def __init__(
        self,
        keys: Sequence[Secret],
        address: str = "",
        resting: Resting | None = None,
        read: Callable[[], Sequence[Secret]] | None = None,
    ) -> None:
        """`read` gives the keys as they are now in the environment and in .env."""
        self._keys = list(keys)
        self._address = address
        self._resting = resting or Resting()
        self._read = read
        self._failed: set[Secret] = set()
        """Those that failed since `begin`."""

    def begin(self) -> Secret | None:
        """A request begins: the first key that does not rest; if all do, the one that is ready first."""
        self._failed.clear()
        return min(self._keys, key=lambda key: self._resting.left(self._name(key)), default=None)

    def renew(self, keys: Sequence[Secret]) -> None:
        """Use these from now on."""
        self._keys = list(keys)

    def reload(self, failed: Secret | None) -> Secret | None:
        """Read the keys anew; gives one that is new since, None when nothing has changed."""
        if self._read is None:
            return None
        before, self._keys = set(self._keys), list(self._read())
        return next((key for key in self._keys if key not in before and key != failed), None)

    def others(self, failed: Secret | None) -> bool:
        """Whether there is a key beside this one that has not failed in this request."""
        return any(key not in self._failed and key != failed for key in self._keys)

    def rotate(self, failed: Secret, at_least: float = 0.0) -> Secret:
        """Let a key rest, and give the next. Only after `others` said that there is one."""
        self._failed.add(failed)
        self._resting.failed(self._name(failed), at_least)
        left = [key for key in self._keys if key not in self._failed]
        return min(left, key=lambda key: self._resting.left(self._name(key)))

    def succeeded(self, key: Secret | None) -> None:
        if key is not None:
            self._resting.succeeded(self._name(key))

    def _name(self, key: Secret) -> Hashable:
        return "key", self._address, key
