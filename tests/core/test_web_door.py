"""The door to the web over real sockets: where it connects, what it follows, and what it takes."""

from __future__ import annotations

import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted, ToolFailure
from agent_core.safety import urls
from agent_core.web.door import Ask, Door, Page, fetch, foresee, judge
from tests.fakes.web_server import HERE, Handler, Server, door, says

ELSEWHERE = "127.0.0.2"
"""Plays an address that is not public."""


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(handler: Handler, tls: ssl.SSLContext | None = None) -> Server:
        servers.append(Server(handler, tls))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def get(url: str, at: Door | None = None, **more) -> Page:
    return fetch(Ask(url), at or door(), CancelScope(), **more)


def refusal(url: str, at: Door | None = None, ask: Ask | None = None) -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        fetch(ask or Ask(url), at or door(), CancelScope())
    return caught.value


def test_a_page_comes_from_the_address_that_was_judged_under_the_hosts_own_name(serve):
    server = serve(says(b"<p>hi</p>", "200 OK", "Content-Type: text/html"))
    page = get(f"http://site.example:{server.port}/a?b=c")
    assert (page.status, page.content, page.cut) == (200, b"<p>hi</p>", False)
    assert page.url == f"http://site.example:{server.port}/a?b=c"
    assert page.headers["content-type"] == "text/html"
    assert server.requests[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")
    assert f"host: site.example:{server.port}\r\n".encode() in server.requests[0].lower()


def test_a_name_is_looked_up_once_so_that_it_cannot_change_its_mind(serve):
    server = serve(says())
    answers = [[HERE], [ELSEWHERE], [ELSEWHERE]]
    page = get(f"http://flip.example:{server.port}/", door(resolve=lambda host: answers.pop(0)))
    assert page.content == b"hello"
    assert len(answers) == 2


def test_what_is_not_public_is_not_connected_to(serve):
    server = serve(says())
    failure = refusal(f"http://in.example:{server.port}/", door(resolve=lambda host: [ELSEWHERE]))
    assert failure.code == "url_refused"
    assert refusal(f"http://127.0.0.1:{server.port}/", door(is_public=lambda address: False)).code == "url_refused"
    assert server.requests == []


def test_the_next_address_is_tried_where_one_does_not_answer(serve):
    server = serve(says())
    both = door(resolve=lambda host: [ELSEWHERE, HERE], is_public=lambda address: True)
    assert get(f"http://two.example:{server.port}/", both).content == b"hello"


def test_redirects_are_followed_and_each_is_judged(serve):
    last = serve(says(b"there"))
    first = serve(says(b"", "302 Found", f"Location: http://other.example:{last.port}/end"))
    page = get(f"http://a.example:{first.port}/")
    assert (page.content, page.url) == (b"there", f"http://other.example:{last.port}/end")

    inward = serve(says(b"", "302 Found", f"Location: http://{ELSEWHERE}:{last.port}/"))
    assert refusal(f"http://a.example:{inward.port}/").code == "url_refused"
    assert len(last.requests) == 1


def test_a_name_that_means_another_machine_after_a_redirect_is_refused(serve):
    server = serve(says(b"", "307 Temporary Redirect", "Location: /again"))
    answers = [[HERE], [ELSEWHERE]]
    failure = refusal(f"http://flip.example:{server.port}/", door(resolve=lambda host: answers.pop(0)))
    assert failure.code == "url_refused"
    assert len(server.requests) == 1


def test_a_circle_of_redirects_ends(serve):
    server = serve(says(b"", "301 Moved Permanently", "Location: /again"))
    assert refusal(f"http://a.example:{server.port}/").code == "web_redirects"
    assert len(server.requests) == limits.WEB_REDIRECTS + 1


def test_headers_of_a_request_stay_with_the_first_origin(serve):
    last = serve(says())
    first = serve(says(b"", "302 Found", f"Location: http://other.example:{last.port}/"))
    ask = Ask(f"http://a.example:{first.port}/", headers={"Authorization": "Bearer abc"})
    fetch(ask, door(), CancelScope())
    assert b"Bearer abc" in first.requests[0]
    assert b"Bearer abc" not in last.requests[0]


def test_a_body_is_not_sent_on_to_another_origin(serve):
    last = serve(says())
    first = serve(says(b"", "308 Permanent Redirect", f"Location: http://other.example:{last.port}/"))
    url = f"http://a.example:{first.port}/"
    assert refusal(url, ask=Ask(url, "POST", {}, b"question")).code == "web_redirects"
    see_other = serve(says(b"", "303 See Other", f"Location: http://other.example:{last.port}/"))
    fetch(Ask(f"http://a.example:{see_other.port}/", "POST", {}, b"question"), door(), CancelScope())
    assert [request[:4] for request in last.requests] == [b"GET "]


def test_a_url_with_a_credential_is_fetched_only_when_somebody_agreed(serve):
    server = serve(says())
    url = f"http://a.example:{server.port}/?token=abcdef"
    assert judge(url, door(), CancelScope()).verdict == "ask"
    assert refusal(url).code == "url_asked"
    assert server.requests == []
    assert get(url, agreed=True).content == b"hello"


def test_a_page_is_cut_at_the_bound_while_it_comes(serve):
    sent = []

    def floods(connection: socket.socket, request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(4_000):
            connection.sendall(b"x" * 65_536)
            sent.append(1)

    server = serve(floods)
    page = get(f"http://a.example:{server.port}/", door(most=100_000))
    assert (len(page.content), page.cut) == (100_000, True)
    assert len(sent) < 4_000


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"plain " * 1000, mtime=0)),
        ("GZIP", gzip.compress(b"plain " * 1000, mtime=0)),
        ("deflate", zlib.compress(b"plain " * 1000)),
        ("deflate", zlib.compress(b"plain " * 1000)[2:-4]),
        ("identity", b"plain " * 1000),
    ],
)
def test_a_packed_page_is_unpacked(serve, encoding, packed):
    server = serve(says(packed, "200 OK", f"Content-Encoding: {encoding}"))
    assert get(f"http://a.example:{server.port}/").content == b"plain " * 1000


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(bytes(50 * limits.MB), mtime=0)),
        ("br", b"anything"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x", mtime=0), mtime=0)),
        ("gzip", b"no gzip at all"),
    ],
)
def test_what_bursts_or_cannot_be_read_is_not_taken(serve, encoding, packed):
    server = serve(says(packed, "200 OK", f"Content-Encoding: {encoding}"))
    assert refusal(f"http://a.example:{server.port}/").code == "web_encoding"


def drips(connection: socket.socket, request: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(200):
        connection.sendall(b"x")
        time.sleep(0.05)


def drips_in_its_head(connection: socket.socket, request: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for _ in range(200):
        connection.sendall(b"X: y\r\n")
        time.sleep(0.05)


def is_silent(connection: socket.socket, request: bytes) -> None:
    time.sleep(10)


@pytest.mark.parametrize("handler", [drips, drips_in_its_head, is_silent])
def test_a_page_that_takes_too_long_is_given_up(serve, handler):
    server = serve(handler)
    began = time.monotonic()
    assert refusal(f"http://a.example:{server.port}/", door(seconds=0.4)).code == "web_timeout"
    assert time.monotonic() - began < 5


def test_a_resolver_that_hangs_is_given_up():
    stuck = threading.Event()

    def hangs(host: str) -> list[str]:
        stuck.wait(20)
        return []

    assert refusal("http://a.example/", door(resolve=hangs, seconds=0.3)).code == "web_timeout"
    stuck.set()


@pytest.mark.parametrize("handler", [drips, drips_in_its_head, is_silent])
def test_a_stopped_turn_leaves_at_once(serve, handler):
    server = serve(handler)
    scope = CancelScope()
    threading.Timer(0.3, scope.cancel).start()
    began = time.monotonic()
    with pytest.raises(Interrupted):
        fetch(Ask(f"http://a.example:{server.port}/"), door(), scope)
    assert time.monotonic() - began < 5


def test_a_stopped_turn_leaves_a_resolver_too():
    scope = CancelScope()
    stuck = threading.Event()

    def hangs(host: str) -> list[str]:
        scope.cancel()
        stuck.wait(20)
        return []

    with pytest.raises(Interrupted):
        fetch(Ask("http://a.example/"), door(resolve=hangs), scope)
    stuck.set()


def test_headers_without_end_are_not_taken(serve):
    long = [f"X-{n}: {'y' * 1000}" for n in range(60)]
    server = serve(says(b"hello", "200 OK", *long))
    assert refusal(f"http://a.example:{server.port}/").code == "web_failed"


def test_a_host_that_is_not_there_is_said_to_be(serve):
    server = serve(says())
    server.close()
    failure = refusal(f"http://gone.example:{server.port}/")
    assert failure.code == "web_failed"
    assert "gone.example" in failure.text


def test_proxies_of_the_environment_count_for_nothing(serve, monkeypatch):
    proxy, server = serve(says(b"proxy")), serve(says(b"site"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://{HERE}:{proxy.port}")
    url = f"http://a.example:{server.port}/"
    assert get(url).content == b"site"
    assert get(url, door(proxy=f"http://{HERE}:{proxy.port}")).content == b"proxy"
    assert proxy.requests[0].startswith(f"GET {url} HTTP/1.1".encode())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    """Key and certificate for site.example, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    made = ["-keyout", str(folder / "key"), "-out", str(folder / "cert"), "-days", "2"]
    name = ["-subj", "/CN=site.example", "-addext", "subjectAltName=DNS:site.example"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    subprocess.run(["openssl", "req", "-x509", *curve, "-nodes", *made, *name], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes((folder / "key").read_bytes() + (folder / "cert").read_bytes())
    return both


def test_tls_is_asked_for_and_checked_by_the_hosts_name(serve, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    names: list[str | None] = []
    context.sni_callback = lambda sock, name, ctx: names.append(name)
    server = serve(says(b"safe"), context)
    trusting = door(trust=lambda scheme: ssl.create_default_context(cafile=str(certificate)))
    assert get(f"https://site.example:{server.port}/", trusting).content == b"safe"
    assert names == ["site.example"]
    failure = refusal(f"https://other.example:{server.port}/", trusting)
    assert failure.code == "web_failed"
    assert "certificate" in failure.text.lower()


def test_https_never_goes_on_in_http(serve, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    plain = serve(says())
    server = serve(says(b"", "302 Found", f"Location: http://site.example:{plain.port}/"), context)
    trusting = door(trust=lambda scheme: ssl.create_default_context(cafile=str(certificate)))
    assert refusal(f"https://site.example:{server.port}/", trusting).code == "url_refused"
    assert plain.requests == []


def test_what_can_be_foreseen_asks_no_resolver():
    def asked(host: str) -> list[str]:
        raise AssertionError(host)

    at = Door(resolve=asked)
    table = {
        "https://docs.example/page": "allow",
        "http://10.0.0.1/": "deny",
        "http://169.254.169.254/latest": "deny",
        "http://localhost:8080/": "deny",
        "http://metadata.google.internal/": "deny",
        "https://user:pw@docs.example/": "deny",
        "file:///etc/passwd": "deny",
        "https://docs.example/?access_token=abcdefgh": "ask",
    }
    assert {url: foresee(url, at).verdict for url in table} == table


@pytest.mark.parametrize(
    ("own", "url", "reached"),
    [
        ("http://127.0.0.1:{port}", "http://127.0.0.1:{port}/search", True),
        ("http://localhost:{port}", "http://localhost:{port}/search", True),
        ("http://127.0.0.1:{port}", "http://127.0.0.1:{other}/search", False),
        ("http://127.0.0.1:{other}", "http://127.0.0.1:{port}/search", False),
        ("http://localhost:{port}", "http://127.0.0.1:{port}/search", False),
        ("https://127.0.0.1:{port}", "http://127.0.0.1:{port}/search", False),
        ("http://169.254.169.254:{port}", "http://169.254.169.254:{port}/", False),
    ],
)
def test_what_a_person_named_is_reached_and_nothing_beside_it(serve, own, url, reached):
    server, beside = serve(says()), serve(says())
    ports = {"port": server.port, "other": beside.port}
    origin = foresee_origin(own.format(**ports))
    at = Door(own=frozenset({origin}), resolve=lambda host: [HERE], seconds=5.0)
    if reached:
        assert get(url.format(**ports), at).content == b"hello"
    else:
        assert refusal(url.format(**ports), at).code == "url_refused"
        assert server.requests == beside.requests == []


def test_from_there_no_redirect_leads_to_anything_else_that_is_not_public(serve):
    beside = serve(says(b"inside"))
    server = serve(says(b"", "302 Found", f"Location: http://127.0.0.1:{beside.port}/"))
    at = Door(own=frozenset({("http", HERE, server.port)}), seconds=5.0)
    assert refusal(f"http://{HERE}:{server.port}/", at).code == "url_refused"
    assert beside.requests == []


def test_a_redirect_to_a_host_that_nobody_agreed_to_is_told_and_not_followed(serve):
    last = serve(says(b"there"))
    first = serve(says(b"", "302 Found", f"Location: http://other.example:{last.port}/end?q=1"))
    looked_up: list[str] = []
    at = door(resolve=lambda host: looked_up.append(host) or [HERE])
    with pytest.raises(ToolFailure) as caught:
        fetch(Ask(f"http://a.example:{first.port}/"), at, CancelScope(), follows=lambda came_from, target: False)
    assert caught.value.code == "web_elsewhere"
    assert f"http://other.example:{last.port}/end?q=1" in caught.value.text
    assert (last.requests, looked_up) == ([], ["a.example"])
    again = serve(says(b"", "302 Found", "Location: /there"))
    with pytest.raises(ToolFailure) as caught:
        fetch(Ask(f"http://a.example:{again.port}/"), at, CancelScope(), follows=lambda came_from, target: False)
    assert caught.value.code == "web_redirects"  # on the same host it is followed, as long as it is no circle


@pytest.mark.parametrize("location", ["http://169.254.169.254/latest/", "http://10.0.0.1/", "file:///etc/passwd"])
def test_a_redirect_to_what_is_never_fetched_is_no_address_to_ask_for(serve, location):
    server = serve(says(b"", "302 Found", f"Location: {location}"))
    with pytest.raises(ToolFailure) as caught:
        fetch(Ask(f"http://a.example:{server.port}/"), door(), CancelScope(), follows=lambda came_from, target: False)
    assert caught.value.code == "url_refused"
    assert "call the tool" not in caught.value.text


@pytest.mark.parametrize("network", [True, False])
def test_a_machine_without_a_network_says_so(serve, network):
    server = serve(says())
    server.close()

    def no_answer(host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    unknown = refusal("http://a.example/", door(resolve=no_answer, has_network=lambda: network))
    unreached = refusal(f"http://a.example:{server.port}/", door(has_network=lambda: network))
    if network:
        assert (unknown.code, unreached.code) == ("url_refused", "web_failed")
        assert "no name server answered" in unknown.text
    else:
        assert (unknown.code, unreached.code) == ("web_offline", "web_offline")
        assert all("no network" in failure.text and "a.example" in failure.text for failure in (unknown, unreached))


def test_a_name_that_does_not_exist_is_told_as_that():
    def no_such_name(host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    assert (
        refusal("http://gone.example/", door(resolve=no_such_name)).text
        == "gone.example has no address. Check the name."
    )


def foresee_origin(url: str) -> tuple[str, str, int]:
    target = urls.parse(url)
    assert isinstance(target, urls.Target)
    return target.origin
