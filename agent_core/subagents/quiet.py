"""Seeing that a sub-agent shows no sign of life, and stopping it when that is too long. Source: SUB-09.

A look every limits.AGENT_HEARTBEAT seconds tells of one that has been silent for long (limits.AGENT_STALE). Only
`delegation.child_timeout_seconds` stops one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType

from agent_core import events, limits
from agent_core.cancel import CancelScope
from agent_core.ports.model import Delta, DeltaSink, LlmClient, LlmReply, LlmRequest

_SIGNS = (
    events.TextDelta,
    events.ReasoningDelta,
    events.AssistantMessage,
    events.ToolArriving,
    events.ToolQueued,
    events.ToolStarted,
    events.ToolProgress,
    events.ToolFinished,
)


class Quiet:
    """Cancels `scope` when nothing was heard for `seconds`; with 0 never. Used by any thread; a context manager.

    `tell` is given since when it has been silent (seconds since the epoch) once that is long, 0 when it lives again.
    """

    def __init__(
        self, seconds: float, scope: CancelScope, tell: Callable[[float], object] = lambda since: None
    ) -> None:
        self.seconds = seconds
        self.has_stopped = False
        """It was too long, and the scope was cancelled."""
        self._scope = scope
        self._lock = threading.Lock()
        self._tell = tell
        self._is_stale = False
        self._calls = 0
        """How many of its tools are at work."""
        self._held = 0
        self._last = time.monotonic()
        self._over = threading.Event()

    def __enter__(self) -> Quiet:
        self.sign()
        threading.Thread(target=self._watch, name="agent-quiet", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        """Nobody listens any more."""
        self._over.set()

    def heard(self, event: events.Event) -> None:
        """It has told something; a request that is tried again is no sign of life. A summary is made by another model,
        and nothing tells of its words."""
        if isinstance(event, events.CompactionStarted):
            self._hold(1)
        elif isinstance(event, events.CompactionFinished):
            self._hold(-1)
        elif isinstance(event, _SIGNS):
            with self._lock:
                self._calls += isinstance(event, events.ToolStarted)
                self._calls = max(0, self._calls - isinstance(event, events.ToolFinished))
            self.sign()

    def sign(self) -> None:
        """It lives."""
        self._last = time.monotonic()
        if self._is_stale:
            self._is_stale = False
            self._tell(0.0)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Meanwhile it is not its own silence: a person is asked."""
        self._hold(1)
        try:
            yield
        finally:
            self._hold(-1)

    def _hold(self, more: int) -> None:
        self.sign()  # first: who watches must not see the old one with nothing held
        with self._lock:
            self._held += more

    def listened(self, client: LlmClient) -> LlmClient:
        """`client`, a call that it writes being no silence: its arguments may be long, and nothing tells of them."""
        return _Listened(client, self) if self.seconds > 0 else client

    def _watch(self) -> None:
        left = self._until_stop
        while not self._over.wait(min(left, limits.AGENT_HEARTBEAT)):
            left = self._until_stop
            if left <= 0:
                self.has_stopped = True
                self._scope.cancel()
                return
            silent = time.monotonic() - self._last
            if not (self._held or self._is_stale) and silent >= (
                limits.AGENT_STALE_TOOL if self._calls else limits.AGENT_STALE
            ):
                self._is_stale = True
                self._tell(time.time() - silent)

    @property
    def _until_stop(self) -> float:
        """Seconds."""
        if self.seconds <= 0:
            return math.inf
        return self.seconds if self._held else self._last + self.seconds - time.monotonic()


class _Listened:
    """ports.LlmClient."""

    def __init__(self, client: LlmClient, quiet: Quiet) -> None:
        self._client = client
        self._quiet = quiet

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        with ExitStack() as writing:

            def hear(delta: Delta) -> None:
                if delta.kind == "tool":
                    writing.enter_context(self._quiet.held())
                sink(delta)

            return self._client.complete(request, hear, cancel)

    def close(self) -> None:
        self._client.close()
