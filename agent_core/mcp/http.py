"""A server behind a URL: Streamable HTTP, of the revisions since 2025-03-26 (R16 to R20, R22).

Each message is a POST of its own, answered as JSON or as a stream of events; in a stream the server may ask and tell
before it answers. Reading is done by the threads of agent_core.llm.exchange, so that whoever waits can always stop.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.llm.exchange import Broken
from agent_core.mcp import protocol
from agent_core.mcp.calls import Calls, Ears, Waiting, too_large, too_long
from agent_core.mcp.http_door import Answer, Door, beside
from agent_core.mcp.protocol import Refused, SessionLost
from agent_core.mcp.words import Authorizer, Json, ServerConfig, ServerFailure
from agent_core.sse import Event, EventReader, EventTooLarge

log = logging.getLogger(__name__)

_JSON: Final = "application/json"
_STREAM: Final = "text/event-stream"


class Http:
    """One connection, which is a session where the server gives one (words.Transport)."""

    def __init__(self, config: ServerConfig, authorizer: Authorizer | None, ears: Ears) -> None:
        self._config = config
        self._door = Door(config, authorizer)
        self._calls = Calls(ears, self._aside)
        self._session = ""
        self._agreed = ""
        self._alive = False
        self._life = CancelScope()
        """Of what goes on beside requests; cancelled when the connection is closed."""
        self._streams: CancelScope | None = None
        """Of the stream of changes."""

    # -- words.Transport ----------------------------------------------------------------------------------------------

    def connect(self, cancel: CancelScope) -> None:
        cancel.check()
        self._alive = not self._life.cancelled

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
        with self._calls.under_way(method, on_progress, self._given_up) as waiting:
            message = waiting.message(params)
            self._calls.during(cancel)
            try:
                self._post(message, waiting, timeout, cancel, headers or {} if protocol.is_modern(message) else {})
            finally:
                self._calls.during(None)
            return waiting.result()

    def notify(self, method: str, params: Json) -> None:
        """Raises ServerFailure."""
        self._tell(protocol.notification(method, params), self._life)

    def agreed(self, version: str) -> None:
        self._agreed = version
        if not version:
            self._session = ""
            if self._streams is not None:
                self._streams.cancel()

    def listen(self, params: Json) -> None:
        self._streams = CancelScope(self._life)
        target = self._changes_asked if params else self._changes
        args = (params, self._streams) if params else (self._streams,)
        threading.Thread(target=target, args=args, name=f"mcp-{self._config.name}-changes", daemon=True).start()

    @property
    def alive(self) -> bool:
        return self._alive

    def noise(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        if self._life.cancelled:
            return
        self._alive = False
        name = self._config.name
        self._calls.fail(ServerFailure("mcp_closed", f"The server {name} was stopped.", server=name), over=True)
        self._life.cancel()
        if self._session:
            with contextlib.suppress(
                ServerFailure, Interrupted, Broken, TimeoutError
            ):  # 405: it ends sessions by itself
                deadline = time.monotonic() + limits.MCP_CLOSE
                with self._door.opened("DELETE", b"", self._headers({}), CancelScope(), lambda: deadline):
                    pass
        self._door.close()

    # -- one message --------------------------------------------------------------------------------------------------

    def _headers(self, message: Json) -> dict[str, str]:
        headers = protocol.request_headers(message, self._agreed)
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        return headers

    def _post(self, message: Json, waiting: Waiting, timeout: float, cancel: CancelScope, more: Json) -> None:
        """Send a request and take what comes until it is answered. Raises ServerFailure, Interrupted."""
        headers = {"Accept": f"{_JSON}, {_STREAM}", "Content-Type": _JSON, **self._headers(message), **more}
        body = protocol.encode(message)
        until = lambda: self._calls.deadline(waiting, timeout)  # noqa: E731
        last = _Stream()
        try:
            with self._door.opened("POST", body, headers, cancel, until, on_let_in=waiting.restart) as answer:
                waiting.touched = time.monotonic()
                self._checked(answer)
                if waiting.method == "initialize":
                    self._session = answer.headers.get("mcp-session-id", "")
                if answer.kind == _STREAM:
                    self._follow(answer, waiting, last)
                else:
                    self._whole(answer)
            if waiting.done:
                return
            if answer.kind != _STREAM:
                raise self._no_answer(answer)
        except Broken as broken:
            if not last.id:
                raise self._broken(waiting.method, broken) from broken
        except TimeoutError as error:
            raise too_long(self._config.name, waiting.method, timeout) from error
        self._resume(waiting, last, timeout, cancel)

    def _checked(self, answer: Answer) -> None:
        """Raises what an answer says by its status."""
        status = answer.status
        if status < 400:
            return
        body = answer.read(64 * limits.KB)
        if self._session and (status == 404 or (status == 400 and b"session" in body.lower())):
            raise SessionLost(self._config.name)
        for message in (protocol.decode(body) or []) if answer.kind == _JSON else []:
            if isinstance(error := message.get("error"), dict):
                refusal = Refused(self._config.name, error)
                refusal.params["status"] = status
                raise refusal
        raise answer.refusal(body)

    def _whole(self, answer: Answer) -> None:
        if answer.status in (202, 204):
            return
        body = answer.read(limits.MCP_LINE)
        if answer.kind == _JSON:
            self._calls.read(body)

    def _follow(self, answer: Answer, waiting: Waiting | None, last: _Stream) -> None:
        """Take the messages of a stream, until the answer to `waiting` or the end of it. Raises Broken."""
        reader = EventReader(limit=limits.MCP_LINE)
        try:
            for piece in answer.pieces():
                if waiting is not None:
                    waiting.touched = time.monotonic()  # any byte is a sign of life (R17)
                for event in reader.feed(piece) if piece else reader.end():
                    self._event(event, last)
                if waiting is not None and waiting.done:
                    return
        except EventTooLarge as error:
            raise too_large(self._config.name, limits.MCP_LINE) from error

    def _event(self, event: Event, last: _Stream) -> None:
        last.id = event.id or last.id
        if event.retry is not None:
            last.retry = min(event.retry / 1000, limits.MCP_RETRY_MOST)
        if event.name in ("", "message") and event.data:
            self._calls.read(event.data.encode("utf-8", "replace"))

    def _resume(self, waiting: Waiting, last: _Stream, timeout: float, cancel: CancelScope) -> None:
        """The stream has ended without the answer: it is taken up where the server lets it be (R18)."""
        modern = self._agreed == protocol.MODERN
        until = lambda: self._calls.deadline(waiting, timeout)  # noqa: E731
        for _ in range(limits.MCP_RESUMES if last.id and not modern else 0):
            if cancel.wait(last.retry):
                raise Interrupted
            headers = {"Accept": _STREAM, "Last-Event-ID": last.id, **self._headers({})}
            try:
                with self._door.opened("GET", b"", headers, cancel, until) as answer:
                    self._checked(answer)
                    self._follow(answer, waiting, last)
            except Broken:
                continue
            except TimeoutError:
                break
            if waiting.done:
                return
        raise self._lost(waiting.method)

    # -- what goes on beside requests ---------------------------------------------------------------------------------

    def _tell(self, message: Json, cancel: CancelScope) -> None:
        """Send what has no answer. Raises ServerFailure, Interrupted."""
        headers = {"Accept": f"{_JSON}, {_STREAM}", "Content-Type": _JSON, **self._headers(message)}
        deadline = time.monotonic() + self._config.timeout
        try:
            with self._door.opened("POST", protocol.encode(message), headers, cancel, lambda: deadline) as answer:
                self._checked(answer)
                answer.drain()
        except Broken as broken:
            raise self._broken(str(message.get("method")), broken) from broken
        except TimeoutError as error:
            raise self._lost(str(message.get("method"))) from error

    def _aside(self, message: Json) -> None:
        """Send what nobody waits for; returns at once. Readers answer by it what the server asks."""
        beside(lambda: self._tell(message, self._life))

    def _given_up(self, message: Json) -> None:
        if self._agreed != protocol.MODERN:  # a modern server sees the stream end (R15)
            self._aside(message)

    def _changes(self, cancel: CancelScope) -> None:
        """The stream by which a server up to 2025-11-25 tells of changes; 405: it has none (R20)."""
        last = _Stream()
        for _ in range(limits.MCP_RESUMES):
            headers = {"Accept": _STREAM, **self._headers({})}
            if last.id:
                headers["Last-Event-ID"] = last.id
            if not self._stream("GET", b"", headers, last, cancel) or cancel.wait(last.retry):
                return

    def _changes_asked(self, params: Json, cancel: CancelScope) -> None:
        """The same of 2026-07-28: a request whose answer is the end of the changes."""
        last = _Stream()
        for _ in range(limits.MCP_RESUMES):
            try:
                waiting = self._calls.open("subscriptions/listen")
            except ServerFailure:
                return
            message = waiting.message(params)
            headers = {"Accept": f"{_JSON}, {_STREAM}", "Content-Type": _JSON, **self._headers(message)}
            more = self._stream("POST", protocol.encode(message), headers, last, cancel)
            self._calls.forget(waiting)
            if not more or waiting.done or cancel.wait(last.retry):
                return

    def _stream(self, method: str, body: bytes, headers: dict[str, str], last: _Stream, cancel: CancelScope) -> bool:
        """Follow a stream of changes to its end; False: the server offers none, or nobody wants it any more."""
        try:
            with self._door.opened(method, body, headers, cancel, _never) as answer:
                if answer.status != 200 or answer.kind != _STREAM:
                    return False
                self._follow(answer, None, last)
        except Broken:
            return True
        except (ServerFailure, Interrupted, TimeoutError):
            return False
        return True

    # -- failures -----------------------------------------------------------------------------------------------------

    def _broken(self, method: str, broken: Broken) -> ServerFailure:
        import httpx

        if isinstance(broken.error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            name, why = self._config.name, str(broken.error) or type(broken.error).__name__
            text = f"The server {name} cannot be reached at {self._door.shown}: {why}."
            return ServerFailure("mcp_unreachable", text, server=name, url=self._door.shown, why=why)
        return self._lost(method)

    def _lost(self, method: str) -> ServerFailure:
        name = self._config.name
        text = f"The server {name} broke the connection before it answered {method}."
        return ServerFailure("mcp_lost", text, server=name, method=method)

    def _no_answer(self, answer: Answer) -> ServerFailure:
        name, kind = self._config.name, answer.kind or "nothing"
        text = f"The server {name} answered with {kind} (HTTP {answer.status}) and no answer in it. Is the URL right?"
        return ServerFailure("mcp_no_answer", text, server=name, kind=kind, status=answer.status)


class _Stream:
    """Where a stream of events has come to, and when it may be taken up again (seconds)."""

    __slots__ = ("id", "retry")

    def __init__(self) -> None:
        self.id = ""
        self.retry = limits.MCP_RETRY


def _never() -> float:
    return time.monotonic() + limits.MCP_QUIET
