"""The door to the web: the one way in which a tool fetches a URL.

Each address, redirects included, is judged by `safety.urls`, and the connection goes to an address that was judged,
with the host's own name in the request and in TLS: a name cannot mean another machine a moment later. What comes is
bounded while it comes: size, size unpacked, time. Proxy variables of the environment count for nothing (W1).
"""

from __future__ import annotations

import re
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import ToolFailure
from agent_core.llm.exchange import Broken, Exchange, Head, Link, Silence, pieces, tls
from agent_core.records import dataclass
from agent_core.safety import addresses, urls
from agent_core.safety.redact import redact
from agent_core.safety.urls import IsPublic, Resolve, Target, UrlVerdict
from agent_core.text.printable import printable
from agent_core.version import __version__

if TYPE_CHECKING:
    import ssl

    import httpx


def has_route() -> bool:
    """Whether this machine has a way to the public internet at all. Nothing is sent."""
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
            return True
        except OSError:
            continue
    return False


def system_resolve(host: str) -> list[str]:
    """The addresses this machine finds for a name. May take long; raises OSError."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class Door:
    """How the web is reached. One for a program."""

    allow_private: bool = False
    """Addresses that are not public may be fetched too; those of metadata services never."""
    own: frozenset[tuple[str, str, int]] = frozenset()
    """Origins (scheme, host, port) that the person has named themself: these may be reached although not public."""
    proxy: str = ""
    """The URL of a proxy that a person configured. It is told the host's name, so what it connects to is its own."""
    resolve: Resolve = system_resolve
    is_public: IsPublic = addresses.is_public
    hide: Callable[[str], str] = redact
    """Takes what is secret out of a text; a URL that it would change is asked about."""
    trust: Callable[[str], ssl.SSLContext] = tls
    """For a scheme: whose certificates are trusted."""
    has_network: Callable[[], bool] = has_route
    seconds: float = limits.WEB_SECONDS
    most: int = limits.WEB_BODY


@dataclass(frozen=True, slots=True)
class Ask:
    """A request. The headers are sent to the first origin only, the body never further than it asks for."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    """Where it came from in the end."""
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    content: bytes
    """Unpacked."""
    cut: bool
    """There is more of it than the bound."""


def judge(url: str, door: Door, cancel: CancelScope) -> UrlVerdict:
    """The verdict on a URL, for a tool to ask a person about before it fetches. Raises Interrupted, ToolFailure."""
    return _judged(partial(_check, url, door), door, cancel, time.monotonic() + door.seconds)


def foresee(url: str, door: Door) -> UrlVerdict:
    """The verdict as far as it is known without a look-up: that alone would tell somebody a name. Asks nobody."""
    return urls.check(
        url,
        lambda host: [str(_SOME_PUBLIC)],
        door.allow_private,
        is_public=lambda address: address == _SOME_PUBLIC or door.is_public(address),
        hide=door.hide,
    )


_SOME_PUBLIC: Final = IPv4Address("192.0.2.1")  # stands for what a look-up would find; nobody has it


def fetch(
    ask: Ask,
    door: Door,
    cancel: CancelScope,
    *,
    agreed: bool = False,
    follows: Callable[[Target, Target], bool] = lambda came_from, target: True,
) -> Page:
    """Fetch a URL. `agreed`: a person has allowed what its verdict says to ask about.

    `follows`: whether to go on from a host that redirects to another one. Raises Interrupted within a second of
    `cancel`, and ToolFailure, in words for a model, with code "url_refused", "url_asked", "web_elsewhere",
    "web_redirects", "web_timeout", "web_encoding", "web_offline" or "web_failed".
    """
    deadline = time.monotonic() + door.seconds
    verdict = _judged(partial(_check, ask.url, door), door, cancel, deadline)
    if verdict.verdict == "ask" and not agreed:
        raise ToolFailure(verdict.text, code="url_asked", outcome="refused", rule=verdict.rule)
    for _ in range(limits.WEB_REDIRECTS + 1):
        target = _open(verdict, door)
        head, content, cut = _exchange(ask, target, verdict.addresses, door, cancel, deadline)
        location = head.headers.get("location", "")
        if not _redirects(head):
            return Page(target.url, head.status, head.headers, content, cut)
        _stay(target, location, door, follows)
        verdict = _judged(partial(_check_redirect, target, location, door), door, cancel, deadline)
        ask = _further(ask, head.status, target, _open(verdict, door))
    raise ToolFailure(
        f"{printable(ask.url)} redirects more than {limits.WEB_REDIRECTS} times.",
        code="web_redirects",
        outcome="too many redirects",
    )


# -- where to -----------------------------------------------------------------------------------------------------


def _check(url: str, door: Door, resolve: Resolve) -> UrlVerdict:
    target = urls.parse(url)
    private = door.allow_private or (isinstance(target, Target) and target.origin in door.own)
    return urls.check(url, resolve, private, is_public=door.is_public, hide=door.hide)


def _check_redirect(came_from: Target, location: str, door: Door, resolve: Resolve) -> UrlVerdict:
    target = urls.redirected(came_from, location)
    private = door.allow_private or (isinstance(target, Target) and target.origin in door.own)
    return urls.check_redirect(came_from, location, resolve, private, is_public=door.is_public)


def _stay(came_from: Target, location: str, door: Door, follows: Callable[[Target, Target], bool]) -> None:
    """Raise ToolFailure where a redirect leads to a host that nobody has agreed to. Looks nothing up."""
    target = urls.redirected(came_from, location)
    if isinstance(target, Target) and target.host != came_from.host and not follows(came_from, target):
        if (verdict := foresee(target.url, door)).verdict == "deny":  # nobody could agree to it
            raise ToolFailure(verdict.text, code="url_refused", outcome="refused", rule=verdict.rule)
        raise ToolFailure(
            f"{printable(came_from.host)} sends on to another host, which was not asked: {printable(target.url)}. "
            "If that is the page you want, call the tool with this address.",
            code="web_elsewhere",
            outcome="redirected",
        )


def _open(verdict: UrlVerdict, door: Door) -> Target:
    if verdict.rule == "no address" and not door.has_network():
        raise _offline(f"looking up the host's address failed ({verdict.text.split(' ', 1)[0]})")
    if verdict.verdict == "deny" or verdict.target is None:
        outcome = verdict.rule if verdict.rule == "no address" else "refused"
        raise ToolFailure(verdict.text, code="url_refused", outcome=outcome, rule=verdict.rule)
    return verdict.target


def _further(ask: Ask, status: int, came_from: Target, target: Target) -> Ask:
    """The request that follows a redirect."""
    keeps_body = status in (307, 308) or ask.method in ("GET", "HEAD")
    same = came_from.origin == target.origin
    if ask.body and keeps_body and not same:
        raise ToolFailure(
            f"{printable(came_from.host)} wants the request sent on to {printable(target.host)}. It was not.",
            code="web_redirects",
            outcome="refused",
        )
    headers = ask.headers if same else {}
    return Ask(target.url, ask.method, headers, ask.body) if keeps_body else Ask(target.url, "GET", headers)


def _judged(
    judge_with: Callable[[Resolve], UrlVerdict], door: Door, cancel: CancelScope, deadline: float
) -> UrlVerdict:
    """A verdict, with a look-up that can be left: the system's resolver cannot be stopped and may take its time."""
    done = threading.Event()
    found: list[UrlVerdict] = []
    trouble: list[OSError] = []

    def resolve(host: str) -> Iterable[str]:
        try:
            return door.resolve(host)
        except OSError as error:
            trouble.append(error)
            raise

    def look() -> None:
        try:
            found.append(judge_with(resolve))
        finally:
            done.set()

    threading.Thread(target=look, name="web-resolver", daemon=True).start()
    with cancel.closing(done.set):
        done.wait(max(0.0, deadline - time.monotonic()))
    cancel.check()
    if not found:
        raise _too_slow(door)
    verdict = found[0]
    if verdict.rule == "no address" and any(error.errno in _UNASKED for error in trouble):
        host = verdict.text.split(" ", 1)[0]
        text = f"{host} could not be looked up: no name server answered. The name may be right; try again later."
        return replace(verdict, text=text)
    return verdict


_UNASKED: Final = (socket.EAI_AGAIN, socket.EAI_FAIL)
"""What a look-up fails with when nobody has said that there is no such name."""


# -- one request --------------------------------------------------------------------------------------------------


def _exchange(
    ask: Ask, target: Target, known: tuple[str, ...], door: Door, cancel: CancelScope, deadline: float
) -> tuple[Head, bytes, bool]:
    """Send the request to the first of the known addresses that can be reached; head, content, whether it was cut."""
    import httpx

    failure: Exception | None = None
    # A proxy that a person chose looks the name up by itself: TLS through it must be asked for by name.
    for address in ("",) if door.proxy else known[: limits.WEB_ADDRESSES]:
        link = Link(_client(target, door))
        exchange = Exchange(link, _request(link.http, ask, target, address), cancel, unpack=False)
        try:
            with exchange:
                return _read(exchange, target, door, deadline)
        except Broken as broken:
            failure = broken.error
            if not isinstance(failure, (httpx.ConnectError, httpx.ConnectTimeout)):
                break
        except Silence:
            raise _too_slow(door) from None
        finally:
            if exchange.reusable:  # otherwise the reading thread closes it
                link.close()
    cancel.check()
    if isinstance(failure, httpx.TimeoutException) and time.monotonic() >= deadline:
        raise _too_slow(door) from failure
    if isinstance(failure, httpx.ConnectError) and not door.has_network() and target.origin not in door.own:
        raise _offline(f"no connection to {printable(target.host)} could be made") from failure
    raise ToolFailure(
        f"{printable(target.host)} could not be fetched: {printable(str(failure) or type(failure).__name__)[:200]}. "
        "Check the address, or try again later.",
        code="web_failed",
        outcome="failed",
    ) from failure


def _client(target: Target, door: Door) -> httpx.Client:
    """A client of its own for every request: no cookie, no connection and no header goes from one to the next."""
    import httpx

    return httpx.Client(
        trust_env=False,
        proxy=door.proxy or None,
        verify=door.trust(target.scheme),
        timeout=httpx.Timeout(door.seconds, connect=min(limits.WEB_CONNECT, door.seconds)),
        headers={"User-Agent": f"nanoherm-tui/{__version__}", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"},
        follow_redirects=False,
    )


def _request(http: httpx.Client, ask: Ask, target: Target, address: str) -> httpx.Request:
    """The request to a host by one of its addresses, or by its name when `address` is empty."""
    host = f"[{address}]" if ":" in address else address
    return http.build_request(
        ask.method,
        f"{target.scheme}://{host}:{target.port}{target.path}" if address else target.url,
        headers={**ask.headers, "Host": target.authority, "Connection": "close"},
        content=ask.body or None,
        # The certificate is checked against this name.
        extensions={"sni_hostname": target.host} if address else {},
    )


def _read(exchange: Exchange, target: Target, door: Door, deadline: float) -> tuple[Head, bytes, bool]:
    head = exchange.take(deadline)
    assert isinstance(head, Head)  # an exchange gives it first
    if sum(len(name) + len(value) for name, value in head.headers.items()) > limits.WEB_HEADERS:
        raise ToolFailure(f"The headers of {printable(target.host)} are too long.", code="web_failed")
    if _redirects(head):
        return head, b"", False
    content = bytearray()
    for piece in _unpacked(pieces(exchange, lambda: deadline), head.headers.get("content-encoding", ""), door.most):
        content += piece
        if len(content) > door.most:
            return head, bytes(content[: door.most]), True
    return head, bytes(content), False


def _unpacked(packed: Iterator[bytes], encoding: str, most: int) -> Iterator[bytes]:
    """The content in pieces that never hold more than `most` + 1 bytes. Raises ToolFailure "web_encoding"."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        yield from packed
        return
    if name not in _WINDOWS:
        raise ToolFailure(
            f"The page is packed as {printable(name)[:40]}, which was not asked for.", code="web_encoding"
        )
    received = given = 0
    unpacker = None
    try:
        for piece in packed:
            received += len(piece)
            if unpacker is None:
                # "deflate" means zlib's format, but some servers send it without its head.
                bare = name == "deflate" and not _ZLIB_HEAD.match(piece)
                unpacker = zlib.decompressobj(-zlib.MAX_WBITS if bare else _WINDOWS[name])
            while piece and not unpacker.eof:
                out = unpacker.decompress(piece, most + 1)
                given += len(out)
                used = received - len(unpacker.unconsumed_tail)
                if given > max(limits.WEB_RATIO_FREE, limits.WEB_RATIO * used):
                    raise ToolFailure(
                        "The page unpacks to far more than pages do; it was not taken.", code="web_encoding"
                    )
                yield out
                piece = unpacker.unconsumed_tail
    except zlib.error:
        raise ToolFailure("The page is packed in a way that cannot be read.", code="web_encoding") from None


_WINDOWS: Final = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_ZLIB_HEAD: Final = re.compile(rb"[\x08\x18\x28\x38\x48\x58\x68\x78]")


def _redirects(head: Head) -> bool:
    return head.status in (301, 302, 303, 307, 308) and "location" in head.headers


def _offline(tried: str) -> ToolFailure:
    return ToolFailure(
        f"This machine has no network: {tried}, and there is no way to the internet. Work without the web, or say what "
        "you would have looked up.",
        code="web_offline",
        outcome="no network",
    )


def _too_slow(door: Door) -> ToolFailure:
    return ToolFailure(
        f"The page did not come within {door.seconds:g} seconds.", code="web_timeout", outcome="took too long"
    )
