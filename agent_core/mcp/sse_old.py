"""A server behind a URL, by the transport of 2024-11-05: one stream of events, and another URL for what is sent (R21).

It was replaced in 2025-03-26, and servers of it are still there. All answers come by the stream.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.llm.exchange import Broken
from agent_core.mcp import protocol
from agent_core.mcp.calls import Calls, Ears, too_long
from agent_core.mcp.http_door import Door, beside, origin
from agent_core.mcp.words import Authorizer, Json, ServerConfig, ServerFailure
from agent_core.sse import Event, EventReader, EventTooLarge

_STREAM: Final = "text/event-stream"


class OldSse:
    """One connection (words.Transport)."""

    def __init__(self, config: ServerConfig, authorizer: Authorizer | None, ears: Ears) -> None:
        self._config = config
        self._door = Door(config, authorizer)
        self._calls = Calls(ears, self._aside)
        self._life = CancelScope()
        self._came = threading.Condition()
        self._endpoint = ""
        self._failure: Exception | None = None
        """Why the stream has ended."""
        self._agreed = ""

    # -- words.Transport ----------------------------------------------------------------------------------------------

    def connect(self, cancel: CancelScope) -> None:
        """Open the stream and wait for the URL that it names first."""
        name = f"mcp-{self._config.name}-stream"
        threading.Thread(target=self._read, name=name, daemon=True).start()
        deadline = time.monotonic() + self._config.startup_timeout
        with cancel.closing(self._wake), self._came:
            while not self._endpoint and self._failure is None:
                cancel.check()
                left = deadline - time.monotonic()
                if left <= 0:
                    raise too_long(self._config.name, "its stream of events", self._config.startup_timeout)
                self._came.wait(left)
        if not self._endpoint:
            raise self._ended()

    def request(
        self,
        method: str,
        params: Json,
        *,
        timeout: float,
        cancel: CancelScope,
        on_progress: Callable[[str], None] | None = None,
        headers: Json | None = None,
    ) -> Json:
        cancel.check()
        with self._calls.under_way(method, on_progress, self._aside) as waiting:
            self._tell(waiting.message(params), cancel)
            return self._calls.wait(waiting, timeout, cancel)

    def notify(self, method: str, params: Json) -> None:
        """Raises ServerFailure."""
        self._tell(protocol.notification(method, params), self._life)

    def agreed(self, version: str) -> None:
        self._agreed = version

    def listen(self, params: Json) -> None:
        """The one stream tells of changes too."""

    @property
    def alive(self) -> bool:
        return bool(self._endpoint) and self._failure is None and not self._life.cancelled

    def noise(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self._life.cancel()
        name = self._config.name
        self._calls.fail(ServerFailure("mcp_closed", f"The server {name} was stopped.", server=name), over=True)
        self._door.close()

    # -- the stream ---------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        with self._came:
            self._came.notify_all()

    def _read(self) -> None:
        failure: Exception = self._lost()
        try:
            with self._door.opened("GET", b"", {"Accept": _STREAM}, self._life, self._until) as answer:
                if answer.status >= 400:
                    raise answer.refusal(answer.read(64 * limits.KB))
                if answer.kind != _STREAM:
                    raise self._no_stream(answer.status, answer.kind)
                reader = EventReader(limit=limits.MCP_LINE)
                for piece in answer.pieces():
                    self._feed(reader, piece)
        except (ServerFailure, Interrupted) as error:
            failure = error
        except (Broken, TimeoutError, EventTooLarge):
            pass
        with self._came:
            self._failure = failure
            self._came.notify_all()
        self._calls.fail(self._ended(), over=True)

    def _until(self) -> float:
        return time.monotonic() + limits.MCP_QUIET

    def _feed(self, reader: EventReader, piece: bytes) -> None:
        """In a frame of its own: nothing holds a message of megabytes until the next one comes."""
        for event in reader.feed(piece) if piece else reader.end():
            self._event(event)

    def _event(self, event: Event) -> None:
        if event.name == "endpoint":
            try:
                url = urljoin(self._config.url, event.data.strip())
            except ValueError:  # it is no URL
                url = ""
            if origin(url) != origin(self._config.url):
                name = self._config.name
                text = f"The server {name} wants requests to go to another origin, which is not done."
                raise ServerFailure("mcp_endpoint", text, server=name)
            with self._came:
                self._endpoint = url
                self._came.notify_all()
        elif event.name in ("", "message") and event.data:
            self._calls.read(event.data.encode("utf-8", "replace"))

    # -- what is sent -------------------------------------------------------------------------------------------------

    def _tell(self, message: Json, cancel: CancelScope) -> None:
        """Raises ServerFailure, Interrupted."""
        headers = {"Content-Type": "application/json", **protocol.request_headers(message, self._agreed)}
        deadline = time.monotonic() + self._config.timeout
        body = protocol.encode(message)
        try:
            with self._door.opened("POST", body, headers, cancel, lambda: deadline, url=self._endpoint) as answer:
                if answer.status >= 400:
                    raise answer.refusal(answer.read(64 * limits.KB))
                answer.drain()
        except Broken as broken:
            raise self._lost() from broken
        except TimeoutError as error:
            raise too_long(self._config.name, str(message.get("method")), self._config.timeout) from error

    def _aside(self, message: Json) -> None:
        """Send what nobody waits for; returns at once."""
        beside(lambda: self._tell(message, self._life))

    # -- failures -----------------------------------------------------------------------------------------------------

    def _ended(self) -> ServerFailure:
        return self._failure if isinstance(self._failure, ServerFailure) else self._lost()

    def _lost(self) -> ServerFailure:
        name = self._config.name
        text = f"The server {name} broke the connection."
        return ServerFailure("mcp_stream", text, server=name)

    def _no_stream(self, status: int, kind: str) -> ServerFailure:
        name, what = self._config.name, kind or "nothing"
        text = f"The server {name} answered with {what} (HTTP {status}) and no stream of events. Is the URL right?"
        return ServerFailure("mcp_no_answer", text, server=name, kind=what, status=status)
