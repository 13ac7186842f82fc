"""HTTP to one server: connections, what lets requests in, redirects, and refusals in words (R22).

What lets a request in never leaves the server's origin: a redirect to another one is not followed.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.llm.exchange import Broken, Exchange, Head, Link, Silence, tls
from agent_core.llm.providers import is_loopback
from agent_core.mcp.calls import too_large
from agent_core.mcp.words import Authorizer, ServerConfig, ServerFailure

if TYPE_CHECKING:
    import httpx

Until = Callable[[], float]
"""When to give up, in monotonic seconds; asked again when the time has come."""

_HIDDEN: Final = re.compile(r"<(script|style|head)\b.*?(</\1\s*>|\Z)|<!--.*?(-->|\Z)", re.DOTALL | re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{0,2000}>")
_SPACE: Final = re.compile(r"\s+")


class Answer:
    """An answer whose head has come. Its body is read once."""

    def __init__(self, server: str, head: Head, exchange: Exchange, until: Until) -> None:
        self.server = server
        self.status = head.status
        self.headers: Mapping[str, str] = head.headers
        """Names in lower case."""
        self.kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._exchange = exchange
        self._until = until

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes; an empty piece is its clean end. Raises Broken, TimeoutError, Interrupted."""
        while True:
            item = _next(self._exchange, self._until)
            if item is None:
                yield b""
                return
            if isinstance(item, bytes):
                yield item

    def read(self, most: int) -> bytes:
        """The whole body. One of an error is cut at `most` bytes. Raises ServerFailure for another that is longer."""
        parts, size = [], 0
        for piece in self.pieces():
            parts.append(piece)
            size += len(piece)
            if size > most:
                if self.status >= 400:
                    break
                raise too_large(self.server, most)
        return b"".join(parts)[:most]

    def drain(self) -> None:
        """Read what is left of a short body, so that the connection can be used again."""
        self._exchange.drain(limits.DRAIN)

    def refusal(self, body: bytes) -> ServerFailure:
        """The failure that a status of 400 or more is."""
        said = _plain(body)
        text = f"The server {self.server} answered with HTTP {self.status}{': ' + said if said else ''}."
        return ServerFailure("mcp_http", text, server=self.server, status=self.status, said=said)


class Door:
    """Requests to one server's URL. Safe to use from several threads."""

    def __init__(self, config: ServerConfig, authorizer: Authorizer | None) -> None:
        self._config = config
        self._authorizer = authorizer
        self._lock = threading.Lock()
        self._idle: list[Link] = []
        self._used: set[Link] = set()
        self._closed = False
        parts = urlsplit(config.url)
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        """The URL as it may be told: without a password or a query."""

    @contextmanager
    def opened(
        self,
        method: str,
        body: bytes,
        headers: Mapping[str, str],
        cancel: CancelScope,
        until: Until,
        *,
        url: str = "",
        on_let_in: Callable[[], None] = lambda: None,
    ) -> Iterator[Answer]:
        """Send a request and give its answer, let in and redirected as it has to be. `url`: another of the origin.

        `on_let_in` is called when a person has logged in meanwhile. Raises ServerFailure, Broken, TimeoutError,
        Interrupted.
        """
        url, challenges, redirects = url or self._config.url, 0, 0
        while True:
            with self._sent(method, url, body, headers, cancel, until) as answer:
                if answer.status in (301, 302, 303, 307, 308):
                    redirects += 1
                    url = self._redirected(url, answer, redirects)
                    answer.drain()
                    continue
                if answer.status not in (401, 403):
                    yield answer
                    return
                challenge = answer.headers.get("www-authenticate", "")
                said = answer.read(64 * limits.KB)
            challenges += 1
            if not self._let_in(answer, said, challenge, challenges, cancel):
                raise answer.refusal(said)
            on_let_in()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            used = list(self._used)
        for link in idle:
            link.close()
        for link in used:
            link.cut()

    def _let_in(self, answer: Answer, said: bytes, challenge: str, times: int, cancel: CancelScope) -> bool:
        """Whether a refused request is to be sent once more. Raises ServerFailure, Interrupted."""
        name = self._config.name
        authorizer = self._authorizer if times <= limits.MCP_CHALLENGES else None
        if authorizer is not None and authorizer.challenged(answer.status, challenge, cancel):
            return True
        if answer.status == 403:
            return False
        if any(header.lower() == "authorization" for header in self._config.headers):
            text = f"The server {name} refused the `Authorization` in its `headers` (HTTP 401). Look whether the key is"
            raise ServerFailure("mcp_key", f"{text} still valid.", server=name)
        text = f"The server {name} wants a log-in: run `/mcp login {name}`."
        raise ServerFailure("mcp_login", text, server=name)

    def _redirected(self, url: str, answer: Answer, times: int) -> str:
        try:
            target = urljoin(url, answer.headers.get("location", ""))
            parts = urlsplit(target)
        except ValueError:  # it is no URL
            target, parts = "", urlsplit("")
        if answer.status in (307, 308) and origin(target) == origin(url) and times <= limits.MCP_REDIRECTS:
            return target
        name = self._config.name
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if target else "no address"
        raise ServerFailure(
            "mcp_redirect",
            f"The server {name} sends requests on to {shown} (HTTP {answer.status}), which is not followed. If that is"
            " right, set it as the server's `url`.",
            server=name,
            url=shown,
            status=answer.status,
        )

    @contextmanager
    def _sent(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], cancel: CancelScope, until: Until
    ) -> Iterator[Answer]:
        link = self._link()
        let_in = self._authorizer.headers(cancel) if self._authorizer is not None else {}
        request = link.http.build_request(
            method, url, content=body or None, headers={**let_in, **headers, **self._config.headers}
        )
        exchange = Exchange(link, request, cancel)
        try:
            with exchange:
                head = _next(exchange, until)
                assert isinstance(head, Head)
                yield Answer(self._config.name, head, exchange, until)
        finally:
            self._give_back(link, exchange.reusable)

    def _link(self) -> Link:
        with self._lock:
            link = self._idle.pop() if self._idle else Link(_client(self._config.url))
            self._used.add(link)
        return link

    def _give_back(self, link: Link, reusable: bool) -> None:
        with self._lock:
            self._used.discard(link)
            if reusable and not self._closed:
                self._idle.append(link)
                return
        if reusable:
            link.close()


def _client(url: str) -> httpx.Client:
    """A client that waits for an answer as long as it takes: deadlines are kept by who waits (Exchange)."""
    import httpx

    return httpx.Client(
        verify=tls(urlsplit(url).scheme),
        timeout=httpx.Timeout(None, connect=limits.CONNECT_TIMEOUT),
        trust_env=not is_loopback(url),  # no proxy stands between a machine and itself
        follow_redirects=False,
        limits=httpx.Limits(keepalive_expiry=limits.KEEP_ALIVE),
    )


def _next(exchange: Exchange, until: Until) -> Head | bytes | None:
    """The next item of an exchange. Raises TimeoutError, Broken, Interrupted."""
    while True:
        deadline = until()
        try:
            item = exchange.take(deadline)
        except Silence:
            if until() <= time.monotonic():
                raise TimeoutError from None
            continue
        assert not isinstance(item, Broken)
        return item


def beside(send: Callable[[], None]) -> None:
    """Send in a thread of its own what nobody waits for, or hears of when it fails."""

    def sent() -> None:
        with suppress(ServerFailure, Interrupted):
            send()

    threading.Thread(target=sent, name="mcp-tells", daemon=True).start()


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port of a URL; those of another one are equal when it is of the same origin."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", None, None
    return parts.scheme, parts.hostname, port or {"http": 80, "https": 443}.get(parts.scheme)


def _plain(body: bytes) -> str:
    """The words of an error's body, on one line."""
    text = body.decode("utf-8", "replace")
    if "<" in text:
        text = _TAG.sub(" ", _HIDDEN.sub(" ", text))
    return _SPACE.sub(" ", text).strip()[: limits.MCP_ERROR_BODY]
