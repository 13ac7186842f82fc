"""Requests under way on one connection, and what the other side asks and tells meanwhile.

Whoever reads the connection hands every message to `Calls.take`; whoever has asked waits in `Calls.wait`. The numbers
of both sides' requests live apart: the same one may be in flight both ways (R5).
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.mcp import protocol
from agent_core.mcp.protocol import Refused
from agent_core.mcp.words import Json, ServerFailure
from agent_core.records import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ears:
    """Who hears what a server asks and tells. Called in the connection's threads."""

    server: str
    """Its name, for what is told of failures."""
    elicit: Callable[[Json, CancelScope], Json]
    """The answer to elicitation/create, from a person; waits. Raises Interrupted."""
    heard: Callable[[str, Json], None]
    """A notification; returns at once."""


_HANDSHAKE: Final = ("initialize", "server/discover")


class Waiting:
    """One request that is under way."""

    __slots__ = ("answer", "done", "failure", "method", "number", "on_progress", "since", "touched")

    def __init__(self, number: int, method: str, on_progress: Callable[[str], None] | None) -> None:
        self.number = number
        self.method = method
        self.on_progress = on_progress
        self.done = False
        self.answer: Json = {}
        self.failure: ServerFailure | None = None
        self.since = self.touched = time.monotonic()
        """When it began, and when the server last gave a sign about it."""

    def restart(self) -> None:
        """A person had to do something first: its time begins now."""
        self.since = self.touched = time.monotonic()

    def message(self, params: Json) -> dict[str, Any]:
        """The request as it is sent; with a token by which the server can tell of its progress."""
        if self.on_progress is not None:
            params = {**params, "_meta": {**(params.get("_meta") or {}), "progressToken": self.number}}
        return protocol.request(self.number, self.method, params)

    def result(self) -> Json:
        """Raises ServerFailure."""
        if self.failure is not None:
            raise self.failure
        return self.answer


class Calls:
    """The requests of one connection."""

    def __init__(self, ears: Ears, send: Callable[[Json], None]) -> None:
        """`send` hands an answer to the connection; called in any thread, returns at once, never raises."""
        self.ears = ears
        self._send = send
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Waiting] = {}
        self._asking: dict[str, CancelScope] = {}
        """What a person is being asked, by the number of the server's request."""
        self._scope: CancelScope | None = None
        """Of the request under way: what a person is asked for it ends with it."""
        self._over: ServerFailure | None = None

    def open(self, method: str, on_progress: Callable[[str], None] | None = None) -> Waiting:
        """A new request. Raises ServerFailure when the connection has ended."""
        with self._changed:
            if self._over is not None:
                raise self._over
            waiting = Waiting(next(self._numbers), method, on_progress)
            self._waiting[waiting.number] = waiting
            return waiting

    @contextmanager
    def under_way(
        self, method: str, on_progress: Callable[[str], None] | None, tell: Callable[[Json], None]
    ) -> Iterator[Waiting]:
        """A new request, forgotten at the end. One that is given up is told of by `tell`; a handshake never is (R15).

        Raises ServerFailure when the connection has ended.
        """
        waiting = self.open(method, on_progress)
        try:
            yield waiting
        except (Interrupted, ServerFailure) as error:
            gave_up = isinstance(error, Interrupted) or error.code == "mcp_timeout"
            if gave_up and method not in _HANDSHAKE:
                tell(protocol.notification("notifications/cancelled", {"requestId": waiting.number}))
            raise
        finally:
            self.forget(waiting)

    def forget(self, waiting: Waiting) -> None:
        """Nobody waits for it any more; an answer that still comes is dropped."""
        with self._changed:
            self._waiting.pop(waiting.number, None)

    def fail(self, failure: ServerFailure, *, over: bool = False) -> None:
        """Every request under way has failed. `over`: so will those that come."""
        with self._changed:
            if over:
                self._over = failure
            for waiting in self._waiting.values():
                waiting.done, waiting.failure = True, failure
            self._waiting.clear()
            asking = list(self._asking.values()) if over else []
            self._changed.notify_all()
        for scope in asking:
            scope.cancel()

    # -- waiting ------------------------------------------------------------------------------------------------------

    def wait(self, waiting: Waiting, timeout: float, cancel: CancelScope) -> Json:
        """The result. `timeout`: seconds without a sign of progress; all in all limits.MCP_CALL_FACTOR times that.

        Raises ServerFailure ("mcp_timeout" when the time is over), Interrupted.
        """
        with cancel.closing(self._wake), self._changed:
            self._scope = cancel
            try:
                while not waiting.done:
                    cancel.check()
                    left = self.deadline(waiting, timeout) - time.monotonic()
                    if left <= 0:
                        raise too_long(self.ears.server, waiting.method, timeout)
                    self._changed.wait(left)
            finally:
                self._scope = None
        return waiting.result()

    def deadline(self, waiting: Waiting, timeout: float) -> float:
        """When to give a request up, in monotonic seconds. While a person is asked, the time does not run."""
        if self._asking:
            waiting.touched = time.monotonic()
            return waiting.touched + timeout
        return min(waiting.touched + timeout, waiting.since + timeout * limits.MCP_CALL_FACTOR)

    def during(self, cancel: CancelScope | None) -> None:
        """The scope of the request under way, for who waits elsewhere than in `wait`."""
        with self._changed:
            self._scope = cancel

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # -- what comes ---------------------------------------------------------------------------------------------------

    def read(self, data: bytes) -> None:
        """Take every message in `data`; what is none is passed over."""
        for message in protocol.decode(data) or []:
            self.take(message)

    def take(self, message: Mapping[str, Any]) -> None:
        """One message of the other side. Never raises; a person is asked in a thread of its own."""
        method, number = message.get("method"), message.get("id")
        params = message.get("params")
        params = params if isinstance(params, Mapping) else {}
        if isinstance(method, str):
            if "id" in message:
                self._asked(number, method, params)
            else:
                self._told(method, params)
        elif "result" in message or "error" in message:
            self._answered(number, message)

    def _answered(self, number: Any, message: Mapping[str, Any]) -> None:
        with self._changed:
            waiting = self._waiting.pop(number, None) if isinstance(number, int) else None
            if waiting is None and number is None and "error" in message and len(self._waiting) == 1:
                _, waiting = self._waiting.popitem()  # a server that could not even read the number
            if waiting is None:  # late, or never asked
                return
            result, error = message.get("result"), message.get("error")
            if isinstance(error, Mapping):
                waiting.failure = Refused(self.ears.server, error)
            elif isinstance(result, Mapping):
                waiting.answer = result
            else:
                waiting.failure = Refused(self.ears.server, {"message": "the answer has no result"})
            waiting.done = True
            self._changed.notify_all()

    def _told(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/progress":
            self._progress(params)
        elif method == "notifications/cancelled":
            scope = self._asking.get(repr(params.get("requestId")))
            if scope is not None:
                scope.cancel()
        else:
            self.ears.heard(method, params)

    def _progress(self, params: Mapping[str, Any]) -> None:
        number = params.get("progressToken")
        with self._changed:
            waiting = self._waiting.get(number) if isinstance(number, int) else None
            if waiting is None:
                return
            waiting.touched = time.monotonic()
        if waiting.on_progress is not None and (words := progress_words(params)):
            waiting.on_progress(words)

    def _asked(self, number: Any, method: str, params: Json) -> None:
        if method == "ping":
            self._send(protocol.result(number, {}))
        elif method == "elicitation/create":
            with self._changed:
                scope = CancelScope(self._scope)
                self._asking[repr(number)] = scope
            threading.Thread(
                target=self._ask_person, args=(number, params, scope), name="mcp-asks", daemon=True
            ).start()
        else:
            self._send(protocol.error(number, protocol.METHOD_NOT_FOUND, "Method not found"))

    def _ask_person(self, number: Any, params: Json, scope: CancelScope) -> None:
        try:
            answer = self.ears.elicit(params, scope)
        except Interrupted:
            answer = {"action": "cancel"}
        except Exception:  # whatever went wrong on our side: the server waits for an answer
            log.exception("a question of the server %s could not be asked", self.ears.server)
            answer = {"action": "cancel"}
        finally:
            with self._changed:
                for waiting in self._waiting.values():
                    waiting.touched = time.monotonic()
                self._asking.pop(repr(number), None)
                self._changed.notify_all()
            scope.close()
        self._send(protocol.result(number, answer))


def progress_words(params: Mapping[str, Any]) -> str:
    """What a progress notification says: its message, or how far it is."""
    message, now, total = params.get("message"), _amount(params.get("progress")), _amount(params.get("total"))
    parts = [f"{now}/{total}"] if now and total else []
    return " ".join([*parts, *([message] if isinstance(message, str) and message else [])])


def _amount(value: object) -> str:
    """A number as it is told; "" for what is none, or none that anybody could mean."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= limits.MCP_AMOUNT:
        return ""
    return f"{value:g}" if value % 1 else f"{int(value)}"


def too_long(server: str, method: str, timeout: float) -> ServerFailure:
    text = f"The server {server} did not answer {method} within {timeout:g} s (its setting `timeout`); it was given up."
    return ServerFailure("mcp_timeout", text, server=server, method=method, seconds=timeout)


def too_large(server: str, most: int) -> ServerFailure:
    """`most`: bytes."""
    mb = most // limits.MB
    text = f"The server {server} sent one message of more than {mb} MB, which was thrown away."
    return ServerFailure("mcp_too_large", text, server=server, mb=mb)
