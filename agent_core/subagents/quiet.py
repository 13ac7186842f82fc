"""Stopping a sub-agent that shows no sign of life for too long (delegation.child_timeout_seconds). Source: SUB-09."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType

from agent_core import events
from agent_core.cancel import CancelScope
from agent_core.ports.model import Delta, DeltaSink, LlmClient, LlmReply, LlmRequest

_SIGNS = (
    events.TextDelta,
    events.ReasoningDelta,
    events.AssistantMessage,
    events.ToolQueued,
    events.ToolStarted,
    events.ToolProgress,
    events.ToolFinished,
)


class Quiet:
    """Cancels `scope` when nothing was heard for `seconds`; with 0 never. Used by any thread; a context manager."""

    def __init__(self, seconds: float, scope: CancelScope) -> None:
        self.seconds = seconds
        self.has_stopped = False
        """It was too long, and the scope was cancelled."""
        self._scope = scope
        self._lock = threading.Lock()
        self._held = 0
        self._last = time.monotonic()
        self._over = threading.Event()

    def __enter__(self) -> Quiet:
        self.sign()
        if self.seconds > 0:
            threading.Thread(target=self._watch, name="agent-quiet", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()

    def heard(self, event: events.Event) -> None:
        """It has told something; a request that is tried again is no sign of life. A summary is made by another model,
        and nothing tells of its words."""
        if isinstance(event, events.CompactionStarted):
            self._hold(1)
        elif isinstance(event, events.CompactionFinished):
            self._hold(-1)
        elif isinstance(event, _SIGNS):
            self.sign()

    def sign(self) -> None:
        """It lives."""
        self._last = time.monotonic()

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
        left = self.seconds
        while not self._over.wait(left):
            left = self.seconds if self._held else self._last + self.seconds - time.monotonic()
            if left <= 0:
                self.has_stopped = True
                self._scope.cancel()
                return


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
