"""Stopping what is under way: a flag plus closers, in nested scopes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agent_core.errors import Interrupted


class CancelScope:
    """A flag that anybody may raise, and the functions that unblock whoever is waiting.

    Closers are called once, in the thread that cancels (often the UI's), so they must not block: shut a socket down,
    signal a process group, set an event. A closer added after the flag was raised is called at once. Cancelling a
    scope cancels its children, those created later too.
    """

    def __init__(self, parent: CancelScope | None = None) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._closers: dict[int, Callable[[], None]] = {}
        self._next = 0
        self._release: Callable[[], None] | None = parent.on_cancel(self.cancel) if parent is not None else None

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            closers = list(self._closers.values())
            self._closers.clear()
        for closer in closers:
            _call(closer)

    def on_cancel(self, closer: Callable[[], None]) -> Callable[[], None]:
        """Have `closer` called when the scope is cancelled. Returns a function that takes it back."""
        with self._lock:
            if not self._event.is_set():
                key = self._next
                self._next += 1
                self._closers[key] = closer

                def release() -> None:
                    with self._lock:
                        self._closers.pop(key, None)

                return release
        _call(closer)
        return lambda: None

    @contextmanager
    def closing(self, closer: Callable[[], None]) -> Iterator[None]:
        release = self.on_cancel(closer)
        try:
            yield
        finally:
            release()

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds` or until cancelled; True when cancelled."""
        return self._event.wait(seconds)

    def check(self) -> None:
        """Raise Interrupted when cancelled."""
        if self._event.is_set():
            raise Interrupted

    def child(self) -> CancelScope:
        return CancelScope(self)

    def take(self) -> bool:
        """Read and clear the flag. Only the loop does this, at a step boundary, so that history stays whole."""
        with self._lock:
            was = self._event.is_set()
            self._event.clear()
            return was

    def close(self) -> None:
        """Forget the parent; call it when the scope's work is over."""
        if self._release is not None:
            self._release()
            self._release = None

    def __enter__(self) -> CancelScope:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Cut:
    """Ends what is under way inside a scope without ending the scope. One thread opens, any may cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = False
        self._scope: CancelScope | None = None

    def want(self) -> CancelScope | None:
        """Have what is opened next end at once, until `mend`; what is open ends when the scope given is cancelled."""
        with self._lock:
            self._wanted = True
            return self._scope

    def mend(self) -> None:
        """What it was cut for has been taken up: what is opened from now on goes on."""
        with self._lock:
            self._wanted = False

    @contextmanager
    def opened(self, parent: CancelScope) -> Iterator[CancelScope]:
        """A scope inside `parent` that `cut` cancels."""
        with CancelScope(parent) as scope:
            with self._lock:
                self._scope = scope
                wanted = self._wanted
            if wanted:
                scope.cancel()
            try:
                yield scope
            finally:
                with self._lock:
                    self._scope = None


def _call(closer: Callable[[], None]) -> None:
    try:
        closer()
    except Exception:  # a closer that fails (socket already gone) must not keep the others from running
        pass
