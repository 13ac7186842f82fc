"""What a person is told when a model server fails: over real sockets, case by case, with the way out by its name."""

from __future__ import annotations

import json
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import ProviderError
from agent_core.llm import exchange, failures, retry
from agent_core.llm.client import make_client
from agent_core.llm.providers import ProviderOptions, resolve
from agent_core.llm.words import CASES, Asked, failure
from agent_core.messages import ImagePart, user
from agent_core.ports.model import Delta, LlmRequest, ToolSchema
from nanoherm_tui import i18n
from tests.fakes.raw_server import STREAM_HEAD, chunked, event, json_reply, raw_server, read_request
from tests.rows import each_row

KEY = "sk-test-0123456789abcdef"
FRAME = 300  # characters of our own words around what the server says
HOSTILE = f"\x1b[31mRed\x1b]0;title\x07 <b>bold</b> {KEY} Bearer {KEY}\r\n\u202e" + "blah " * 500
WIRES = ("chat_completions", "anthropic_messages", "responses")
Handler = Callable[[socket.socket, int], None]


def client_for(base_url: str, wire: str = "chat_completions", **options: Any):
    entry = {"base_url": base_url, "api_mode": wire, "label": "Acme", "api_key_env": "ACME_API_KEY"}
    options = {"model": "m-1", "retry_base": 0.01, "max_attempts": 1, **options}
    settings = ProviderOptions(provider="acme", providers={"acme": entry}, **options)
    return make_client(resolve(settings, {"ACME_API_KEY": KEY}, {}), settings)


REQUEST = LlmRequest(
    (user("Hi", (ImagePart("image/png", "QQ=="),)),),
    tools=(ToolSchema("t", "T.", {"type": "object", "properties": {}}),),
    temperature=0.1,
)


def failed(base_url: str, wire: str = "chat_completions", request: LlmRequest = REQUEST, **options: Any):
    client = client_for(base_url, wire, **options)
    with pytest.raises(ProviderError) as caught:
        client.complete(request, lambda delta: None, CancelScope())
    client.close()
    return caught.value


def fit_to_show(error: ProviderError) -> str:
    """The error's text, after the checks that hold for every one."""
    shown = f"{error.text} {error.params}"
    assert len(error.text) <= limits.ERROR_TEXT_CHARS + FRAME
    assert KEY not in shown
    assert "\\x1b" not in shown
    assert error.text.isprintable()
    assert "<b>" not in shown
    assert "<html" not in shown
    assert error.params["case"] in CASES
    return error.text


def body(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


PAGE = "<html><head><title>404 Not Found</title></head><body>nginx</body></html>"
ANSWERS = [
    # (case, status, body, headers, code, the way out)
    ("auth_named", 401, body("Incorrect API key provided", code="invalid_api_key"), "", "auth", "ACME_API_KEY"),
    ("auth_named", 403, body("Invalid API key"), "", "auth", "/setup"),
    ("auth_rights", 403, body("You have no access to this model", type="permission_error"), "", "auth", "/model"),
    ("quota", 402, body("Insufficient balance"), "", "quota", "Add credit"),
    ("quota", 429, body("You exceeded your quota", code="insufficient_quota"), "", "quota", "/model"),
    ("not_found_model", 404, body("The model `m-1` does not exist", code="model_not_found"), "", "not_found", "/model"),
    ("not_found_address", 404, PAGE, "", "not_found", "base_url"),
    ("not_found_address", 405, body("Method Not Allowed"), "", "not_found", "/v1"),
    ("context_length", 400, body("prompt too long"), "", "context_length", "/compact"),
    (
        "context_length_known",
        400,
        body("maximum context length is 8192 tokens, yours has 9000"),
        "",
        "context_length",
        "/new",
    ),
    ("server", 500, body("Oh"), "", "server", "/retry"),
    ("server", 502, PAGE.replace("404 Not Found", "502 Bad Gateway"), "", "server", "/model"),
    ("server", 500, "", "", "server", "/retry"),
    ("server_overloaded", 529, body("Overloaded", type="overloaded_error"), "", "server", "/retry"),
    ("server_overloaded", 503, "Service Unavailable", "", "server", "/model"),
    ("rate_limit", 429, body("Too many requests"), "", "rate_limit", "/retry"),
    ("rate_limit_wait", 429, body("Too many requests"), "retry-after: 7\r\n", "rate_limit", "for 7 s"),
    ("timeout", 408, "", "", "timeout", "/retry"),
    ("tools_unsupported", 400, body("m-1 does not support tools"), "", "tools_unsupported", "/model"),
    ("content_filter", 400, body("x", code="content_filter"), "", "content_filter", "/undo"),
    ("bad_request_image", 400, body("image exceeds 5 MB maximum"), "", "bad_request", "/undo"),
    ("bad_request_moved", 302, "", "location: https://new.example/v1\r\n", "bad_request", "base_url"),
    ("bad_request_moved", 301, "", "", "bad_request", "base_url"),
    ("bad_request", 400, body("messages: roles must alternate"), "", "bad_request", "providers"),
    ("bad_tool_call", 400, body("x", code="tool_use_failed"), "", "bad_tool_call", "/retry"),
    ("network_proxy_login", 407, PAGE, "", "network", "HTTPS_PROXY"),
]


def answering(status: int, text: Any, headers: str) -> Handler:
    def handler(connection: socket.socket, number: int) -> None:
        while True:
            read_request(connection)
            if isinstance(text, str):
                data = text.encode()
                head = f"HTTP/1.1 {status} X\r\ncontent-type: text/html\r\ncontent-length: {len(data)}\r\n{headers}\r\n"
                connection.sendall(head.encode() + data)
            else:
                json_reply(connection, status, text, headers)

    return handler


@each_row("wire", WIRES)
@each_row(("case", "status", "text", "headers", "code", "way_out"), ANSWERS)
def test_a_refusal_says_what_to_do(wire: str, case, status, text, headers, code, way_out):
    with raw_server(answering(status, text, headers)) as server:
        error = failed(server.base_url, wire)
    shown = fit_to_show(error)
    assert (error.params["case"], error.code, error.status) == (case, code, status)
    assert way_out in shown
    assert f"HTTP {status}" in shown
    assert "Acme" in shown or case in (
        "context_length",
        "context_length_known",
        "tools_unsupported",
        "network_proxy_login",
    )


def test_a_setting_that_is_refused_is_named():
    # Not to be left out and asked again without: the value is not the problem of this field alone.
    error = failures.from_response(422, {}, b'{"error": {"message": "max_tokens must be <= 8192"}}', Asked("Acme"))
    assert "Change model.max_tokens" in fit_to_show(error)
    assert error.params["setting"] == "model.max_tokens"


def test_without_a_key_the_text_says_how_to_give_one():
    with raw_server(answering(401, body("Unauthorized"), "")) as server:
        settings = ProviderOptions(base_url=server.base_url, model="m", max_attempts=1)
        client = make_client(resolve(settings, {}, {}), settings)
        with pytest.raises(ProviderError) as caught:
            client.complete(REQUEST, lambda delta: None, CancelScope())
    assert caught.value.params["case"] == "auth_missing"
    assert "api_key_env" in fit_to_show(caught.value)


@each_row("status", [400, 401, 403, 404, 429, 500])
@each_row("as_json", [True, False])
def test_whatever_a_server_says_is_fit_to_show(status: int, as_json: bool):
    text = body(HOSTILE, code=HOSTILE, param=HOSTILE, type=HOSTILE) if as_json else HOSTILE
    with raw_server(answering(status, text, "")) as server:
        fit_to_show(failed(server.base_url))


def test_names_and_addresses_from_elsewhere_do_not_flood_the_text():
    long = "x" * 5_000
    asked = Asked("Acme", f"https://{long}.example/v1", long)
    error = failures.from_response(404, {"location": f"https://{long}"}, b"model not found", asked)
    fit_to_show(error)
    fit_to_show(failures.from_response(302, {"location": f"https://{long}"}, b"", asked))
    fit_to_show(failures.from_exception(httpx.ConnectError(long), asked))


# -- what comes with status 200 ---------------------------------------------------------------------------------------


def replying(*pieces: bytes, head: bytes = STREAM_HEAD, then: str = "end") -> Handler:
    def handler(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(head + b"".join(map(chunked, pieces)))
        if then == "end":
            connection.sendall(b"0\r\n\r\n")
        elif then == "silence":
            connection.recv(1)
        elif then == "chatter":
            while True:
                connection.sendall(chunked(b": still here\n\n"))
                threading.Event().wait(0.02)

    return handler


@each_row("wire", WIRES)
@each_row(
    ("handler", "options", "case", "way_out"),
    [
        (replying(b"<html><body>Sign in</body></html>"), {}, "protocol_page", "base_url"),
        (replying(), {}, "truncated", "/retry"),
        (replying(b": nothing\n\n"), {}, "truncated", "/retry"),
        (replying(b"data: {oops\n\n"), {}, "protocol", "/retry"),
        (replying(b"Hello there, this is no reply"), {}, "protocol", "base_url"),
        (replying(b'data: {"error": {"message": "Oh", "code": 500}}\n\n'), {}, "server", "/model"),
        (replying(then="silence"), {"idle_timeout": 0.2}, "timeout_idle", "stream.idle_timeout"),
        (replying(then="chatter"), {"progress_timeout": 0.3}, "timeout_progress", "stream.progress_timeout"),
        (replying(then="break"), {}, "network", "/retry"),
        (replying(head=b""), {}, "network", "/retry"),
    ],
)
def test_a_reply_that_is_none_says_what_to_do(wire: str, handler: Handler, options, case, way_out):
    with raw_server(handler) as server:
        error = failed(server.base_url, wire, **options)
    assert error.params["case"] == case
    assert way_out in fit_to_show(error)
    assert "Acme" in error.text


# -- what happens on the way ------------------------------------------------------------------------------------------


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_server_that_does_not_run_is_named_with_its_address():
    port = closed_port()
    error = failed(f"http://127.0.0.1:{port}/v1")
    assert (error.params["case"], error.retryable) == ("network_refused", True)
    assert f"127.0.0.1:{port}" in fit_to_show(error)
    assert "base_url" in error.text


def test_a_name_that_cannot_be_looked_up_is_told_apart(monkeypatch: pytest.MonkeyPatch):
    def unknown(*args: Any, **more: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)  # asks no name server of anybody's
    error = failed("http://no-such-host.invalid/v1")
    assert error.params["case"] == "network_name"
    assert "no-such-host.invalid" in fit_to_show(error)


def test_a_stream_that_could_not_be_opened_says_how_often_it_was_tried():
    port = closed_port()
    error = failed(f"http://127.0.0.1:{port}/v1", max_attempts=3)
    assert f"The stream to 127.0.0.1:{port} could not be opened after 3 attempts." in fit_to_show(error)
    assert (error.code, error.params["attempts"], error.params["case"]) == ("network", 3, "network_refused")


def test_a_stream_that_broke_off_was_opened():
    with raw_server(replying(event({"content": "Hel"}), then="break")) as server:
        error = failed(server.base_url, max_attempts=2)
    assert "could not be opened" not in fit_to_show(error)
    assert error.partial_text == "Hel"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that nobody but this test has signed, with its key."""
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", "-", "-out", "-"]
    try:
        made = subprocess.run(command, capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no certificate can be made: {error}")
    path.write_bytes(made.stdout)
    return path


@contextmanager
def tls_server(certificate: Path) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def handler(connection: socket.socket, number: int) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            answering(500, body("x"), "")(secure, number)

    with raw_server(handler) as server:
        yield int(server.base_url.rpartition(":")[2].partition("/")[0])


@pytest.fixture
def fresh_tls():
    """What a process trusts is read once; tests change it."""
    exchange.tls.cache_clear()
    yield
    exchange.tls.cache_clear()


@pytest.mark.usefixtures("fresh_tls")
class TestTls:
    def test_a_certificate_of_one_s_own_is_not_trusted_and_the_variable_that_helps_is_named(self, certificate: Path):
        with tls_server(certificate) as port:
            error = failed(f"https://localhost:{port}/v1")
        assert (error.params["case"], error.retryable) == ("network_certificate", False)
        assert "SSL_CERT_FILE" in fit_to_show(error)
        assert f"localhost:{port}" in error.text

    def test_the_variable_that_is_named_helps(self, certificate: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with tls_server(certificate) as port:
            error = failed(f"https://localhost:{port}/v1")
        assert error.params["case"] == "server"  # the answer of the server itself

    def test_a_server_that_speaks_no_tls_is_told(self):
        def handler(connection: socket.socket, number: int) -> None:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

        with raw_server(handler) as server:
            error = failed(server.base_url.replace("http:", "https:"))
        assert (error.params["case"], error.retryable) == ("network_tls", False)
        assert "http or https" in fit_to_show(error)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch):
    """Set the proxy variables to a port of this machine."""
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def use(port: int) -> None:
        monkeypatch.setenv("https_proxy", f"http://me:secretpass@127.0.0.1:{port}")
        monkeypatch.setenv("http_proxy", f"http://me:secretpass@127.0.0.1:{port}")

    return use


@pytest.mark.parametrize("scheme", ["http", "https"])
class TestProxy:
    def test_a_proxy_that_is_not_there_is_named_in_place_of_the_server(self, proxy, scheme: str):
        port = closed_port()
        proxy(port)
        error = failed(f"{scheme}://models.invalid/v1")
        assert error.params["case"] == "network_proxy"
        assert f"127.0.0.1:{port}" in fit_to_show(error)
        assert "HTTPS_PROXY" in error.text
        assert "models.invalid into NO_PROXY" in error.text
        assert "secretpass" not in f"{error.text}{error.params}"

    def test_a_proxy_that_wants_a_password_is_told_from_a_server_that_wants_a_key(self, proxy, scheme: str):
        def handler(connection: socket.socket, number: int) -> None:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")

        with raw_server(handler) as server:
            proxy(int(server.base_url.rpartition(":")[2].partition("/")[0]))
            error = failed(f"{scheme}://models.invalid/v1")
        assert (error.params["case"], error.code, error.retryable) == ("network_proxy_login", "network", False)
        assert "HTTPS_PROXY" in fit_to_show(error)
        assert "secretpass" not in f"{error.text}{error.params}"


def test_a_proxy_of_a_kind_that_cannot_be_used_is_no_crash(proxy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("all_proxy", "socks4://me:secretpass@127.0.0.1:1")
    error = failed("https://models.invalid/v1")
    assert (error.params["case"], error.retryable) == ("network_proxy_kind", False)
    assert "socks5://" in fit_to_show(error)
    assert "secretpass" not in f"{error.text}{error.params}"


def test_a_socks_proxy_is_gone_through(proxy, monkeypatch: pytest.MonkeyPatch):
    asked: list[bytes] = []

    def handler(connection: socket.socket, number: int) -> None:
        connection.recv(65536)  # the greeting
        connection.sendall(b"\x05\x00")
        asked.append(connection.recv(65536))
        connection.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
        answering(500, body("through the proxy"), "")(connection, number)

    with raw_server(handler) as server:
        monkeypatch.setenv("all_proxy", f"socks5://{server.base_url.removeprefix('http://').removesuffix('/v1')}")
        error = failed("http://models.invalid/v1")
    assert b"models.invalid" in asked[0]
    assert "through the proxy" in fit_to_show(error)


def test_a_proxy_that_refuses_the_way_is_told(proxy):
    def handler(connection: socket.socket, number: int) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 403 Forbidden by policy\r\ncontent-length: 0\r\n\r\n")

    with raw_server(handler) as server:
        proxy(int(server.base_url.rpartition(":")[2].partition("/")[0]))
        error = failed("https://models.invalid/v1")
    assert error.params["case"] == "network_proxy_refused"
    assert "NO_PROXY" in fit_to_show(error)


def test_a_header_that_cannot_be_sent_names_the_setting():
    error = failures.from_exception(
        httpx.LocalProtocolError("Illegal header value"), Asked("Acme", "https://a.example")
    )
    assert error.params["case"] == "bad_request_unsendable"
    assert "headers" in fit_to_show(error)


@pytest.mark.parametrize(("seconds", "words"), [(75, "75 seconds"), (600, "10 minutes"), (7200, "2 hours")])
def test_a_wait_that_is_too_long_says_when(seconds: int, words: str):
    with raw_server(answering(429, body("slow down"), f"retry-after: {seconds}\r\n")) as server:
        error = failed(server.base_url, max_attempts=3)
    assert words in fit_to_show(error)
    assert (error.params["case"], error.retry_after) == ("wait_too_long", seconds)


def test_the_words_while_a_retry_waits_are_short_and_say_when():
    sink: list[Delta] = []
    with raw_server(answering(503, body(HOSTILE), "")) as server, pytest.raises(ProviderError):
        client_for(server.base_url, max_attempts=2).complete(REQUEST, sink.append, CancelScope())
    assert [d.text for d in sink] == ["The server failed. Trying again, 2 of 2."]
    assert retry.announcement(failure("rate_limit", "A"), 2, 3, 4.6).endswith("Trying again in 5 s, 2 of 3.")


class TestInChinese:
    def test_every_case_has_its_words(self):
        table = i18n.texts("zh")
        assert {case for case in CASES if f"errors.{case}" not in table} == set()

    @each_row(("case", "status", "text", "headers", "code", "way_out"), ANSWERS)
    def test_a_refusal_names_the_same_way_out(self, case, status, text, headers, code, way_out):
        head = dict(line.split(": ") for line in headers.split("\r\n") if line)
        data = (text if isinstance(text, str) else json.dumps(text)).encode()
        asked = Asked("Acme", "https://acme.example/v1/chat/completions", "m-1", KEY, "ACME_API_KEY")
        error = failures.from_response(status, head, data, asked)
        i18n.set_language("zh")
        try:
            said = i18n.tell(error.code, error.params, error.text)
        finally:
            i18n.set_language("en")
        assert re.search("[\u4e00-\u9fff]", said)
        assert error.text.removeprefix(error.params["told"]).strip(". ") not in said, "the way out is told once"
        assert set(re.findall(r"/[a-z]{4,}\b|[A-Z]+_[A-Z_]+|base_url", said)) >= set(
            re.findall(r"/[a-z]{4,}\b|base_url", error.text.rpartition(": ")[2].partition(". ")[2])
        )
