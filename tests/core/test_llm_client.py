"""The model client over real sockets: stops, clocks, retries, what it sends and remembers."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted, ProviderError
from agent_core.llm import client as client_room
from agent_core.llm import exchange as exchange_room
from agent_core.llm.client import make_client
from agent_core.llm.providers import ProviderOptions, resolve
from agent_core.messages import user
from agent_core.ports.model import Delta, LlmClient, LlmRequest, ToolSchema
from tests.fakes.raw_server import (
    STREAM_HEAD,
    RawServer,
    chunked,
    event,
    json_reply,
    raw_server,
    read_request,
    stream_reply,
)
from tests.rows import each_row

REQUEST = LlmRequest((user("Hi"),))
SLACK = 2.0  # a stop has to be felt within a second; machines under load get twice that


def client_for(base_url: str, **options: Any) -> LlmClient:
    options = {"model": "m", "retry_base": 0.01, **options}
    settings = ProviderOptions(base_url=base_url, **options)
    return make_client(resolve(settings, {}, {}), settings)


def ask(client: LlmClient, request: LlmRequest = REQUEST, cancel: CancelScope | None = None) -> tuple[Any, list[Delta]]:
    sink: list[Delta] = []
    return client.complete(request, sink.append, cancel or CancelScope()), sink


def silent(connection: socket.socket, number: int) -> None:
    read_request(connection)
    connection.recv(1)


def stalls_in_text(connection: socket.socket, number: int) -> None:
    read_request(connection)
    connection.sendall(STREAM_HEAD + chunked(event({"content": "Hel"})))
    connection.recv(1)


def only_comments(connection: socket.socket, number: int) -> None:
    read_request(connection)
    connection.sendall(STREAM_HEAD)
    while True:
        connection.sendall(chunked(b": wait\n\n"))
        time.sleep(0.02)


def always_busy(connection: socket.socket, number: int) -> None:
    while True:
        read_request(connection)
        json_reply(connection, 503, {"error": {"message": "busy"}}, "retry-after: 30\r\n")


class TestStop:
    @pytest.mark.parametrize("handler", [silent, stalls_in_text, only_comments, always_busy], ids=lambda h: h.__name__)
    def test_a_stop_is_felt_within_a_second_in_every_state(self, handler: Callable[[socket.socket, int], None]):
        with raw_server(handler) as server:
            took, sink = interrupted_after(0.3, client_for(server.base_url))
        assert took < SLACK
        if handler is stalls_in_text:
            assert [d.text for d in sink] == ["Hel"]
        if handler is always_busy:
            assert [d.kind for d in sink] == ["retry"]

    def test_a_stop_is_felt_while_the_connection_is_not_even_made(self):
        # A full backlog of a socket that never accepts: the kernel leaves our SYN unanswered.
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            fillers = [socket.socket() for _ in range(4)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(listener.getsockname())
            took, _ = interrupted_after(0.3, client_for(f"http://127.0.0.1:{listener.getsockname()[1]}/v1"))
            for filler in fillers:
                filler.close()
        assert took < SLACK

    def test_a_stop_on_a_reused_connection_ends_it_at_the_server_too(self):
        closed = threading.Event()

        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            stream_reply(connection, "one")
            read_request(connection)
            if connection.recv(1) == b"":
                closed.set()

        with raw_server(handler) as server:
            client = client_for(server.base_url)
            ask(client)
            took, _ = interrupted_after(0.3, client)
            assert closed.wait(SLACK)
            assert server.connections == 1
        assert took < SLACK

    def test_a_scope_that_is_already_cancelled_sends_nothing(self):
        with raw_server(silent) as server:
            scope = CancelScope()
            scope.cancel()
            with pytest.raises(Interrupted):
                ask(client_for(server.base_url), cancel=scope)
            assert server.connections == 0

    def test_the_client_works_again_after_a_stop_and_nothing_late_is_delivered(self):
        go = threading.Event()

        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            if number == 0:
                connection.sendall(STREAM_HEAD)
                go.wait(5)
                connection.sendall(chunked(event({"content": "LATE"})))
            else:
                stream_reply(connection, "fresh")

        with raw_server(handler) as server:
            client = client_for(server.base_url)
            _, first = interrupted_after(0.2, client)
            go.set()
            reply, sink = ask(client)
        assert (reply.text, first) == ("fresh", [])
        assert [d.text for d in sink] == ["fresh"]


def interrupted_after(seconds: float, client: LlmClient) -> tuple[float, list[Delta]]:
    """Cancel after `seconds`; return how long the stop took then, and what had been delivered."""
    scope = CancelScope()
    sink: list[Delta] = []
    at: list[float] = []

    def stop() -> None:
        at.append(time.monotonic())
        scope.cancel()

    timer = threading.Timer(seconds, stop)
    timer.start()
    with pytest.raises(Interrupted):
        client.complete(REQUEST, sink.append, scope)
    took = time.monotonic() - at[0]
    timer.join()
    return took, sink


class TestClocks:
    @pytest.mark.parametrize(
        ("handler", "options", "setting"),
        [
            (silent, {"idle_timeout": 0.2}, "stream.idle_timeout"),
            (stalls_in_text, {"idle_timeout": 0.2}, "stream.idle_timeout"),
            (only_comments, {"progress_timeout": 0.3, "idle_timeout": 9.0}, "stream.progress_timeout"),
        ],
    )
    def test_silence_and_chatter_without_content_end_in_a_retryable_timeout(self, handler, options, setting):
        with raw_server(handler) as server, pytest.raises(ProviderError) as caught:
            ask(client_for(server.base_url, max_attempts=1, **options))
        assert (caught.value.kind, caught.value.retryable) == ("timeout", True)
        assert setting in str(caught.value)
        assert caught.value.partial_text == ("Hel" if handler is stalls_in_text else "")

    def test_a_call_that_is_being_written_is_progress(self):
        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            connection.sendall(STREAM_HEAD)
            for piece in ["<tool_call>", '{"name": "t",', ' "arguments": {}}', "</tool_call>"]:
                time.sleep(0.15)
                connection.sendall(chunked(event({"content": piece})))
            connection.sendall(chunked(event({}, "stop")) + b"0\r\n\r\n")

        request = LlmRequest((user("Hi"),), tools=(ToolSchema("t", "T.", {"type": "object"}),))
        with raw_server(handler) as server:
            reply, sink = ask(client_for(server.base_url, progress_timeout=0.5, max_attempts=1), request)
        assert [c.name for c in reply.tool_calls] == ["t"]
        assert sink == []

    def test_after_the_reason_to_finish_the_reply_is_not_held_up_by_comments(self):
        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            connection.sendall(STREAM_HEAD + chunked(event({"content": "Hi"}, "stop")))
            while True:
                connection.sendall(chunked(b": keep-alive\n\n"))
                time.sleep(0.02)

        with raw_server(handler) as server:
            reply, _ = ask(client_for(server.base_url, finish_timeout=0.3))
        assert (reply.text, reply.usage) == ("Hi", None)

    def test_slow_but_steady_tokens_outlast_the_idle_clock(self):
        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            connection.sendall(STREAM_HEAD)
            for letter in "abcdefgh":
                time.sleep(0.1)
                connection.sendall(chunked(event({"content": letter})))
            connection.sendall(chunked(event({}, "stop")) + b"0\r\n\r\n")

        with raw_server(handler) as server:
            reply, _ = ask(client_for(server.base_url, idle_timeout=0.6))
        assert reply.text == "abcdefgh"


class TestRetry:
    def test_partial_text_is_taken_back_before_the_wait_is_announced(self):
        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            if number == 0:
                connection.sendall(STREAM_HEAD + chunked(event({"content": "Hel"})))
            else:
                stream_reply(connection, "Hello")

        with raw_server(handler) as server:
            reply, sink = ask(client_for(server.base_url))
        assert reply.text == "Hello"
        assert [d.kind for d in sink] == ["text", "reset", "retry", "text"]
        told = {"code": "network", "case": "retry_network", "attempt": 2, "of": 3}
        assert sink[2].params == {**told, "wait_s": pytest.approx(0.0, abs=0.1)}

    @each_row(("status", "requests"), [(400, 1), (401, 1), (403, 1), (404, 1), (422, 1), (503, 3)])
    def test_only_what_may_pass_is_tried_again(self, status, requests):
        seen = []

        def handler(connection: socket.socket, number: int) -> None:
            while True:
                seen.append(read_request(connection))
                json_reply(connection, status, {"error": {"message": "no"}})

        with raw_server(handler) as server, pytest.raises(ProviderError) as caught:
            ask(client_for(server.base_url))
        assert (len(seen), caught.value.status) == (requests, status)

    def test_a_long_wait_the_server_asks_for_fails_at_once_and_says_when(self):
        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            json_reply(connection, 429, {"error": {"message": "slow down"}}, "retry-after: 7200\r\n")

        started = time.monotonic()
        with raw_server(handler) as server, pytest.raises(ProviderError) as caught:
            ask(client_for(server.base_url))
        assert time.monotonic() - started < SLACK
        assert "2 hours" in str(caught.value)
        assert caught.value.retry_after == 7200

    def test_a_server_that_is_not_there_is_named_with_its_address(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        with pytest.raises(ProviderError) as caught:
            ask(client_for(f"http://127.0.0.1:{port}/v1", max_attempts=1))
        assert caught.value.kind == "network"
        assert f"127.0.0.1:{port}" in str(caught.value)

    def test_no_more_than_the_limit_of_a_reply_is_taken(self, monkeypatch):
        monkeypatch.setattr("agent_core.limits.REPLY_BYTES", 200_000)

        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            connection.sendall(STREAM_HEAD)
            while True:
                connection.sendall(chunked(event({"content": "x" * 10_000})))

        with raw_server(handler) as server, pytest.raises(ProviderError) as caught:
            ask(client_for(server.base_url))
        assert (caught.value.kind, caught.value.retryable) == ("protocol", False)


class TestConnection:
    def test_requests_after_a_clean_end_use_the_same_connection(self):
        def handler(connection: socket.socket, number: int) -> None:
            while True:
                read_request(connection)
                stream_reply(connection, str(number))

        with raw_server(handler) as server:
            client = client_for(server.base_url)
            assert [ask(client)[0].text for _ in range(3)] == ["0", "0", "0"]
            client.close()
            assert server.connections == 1

    def test_a_kept_connection_that_the_server_has_closed_is_no_error(self):
        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            stream_reply(connection, str(number))

        with raw_server(handler) as server:
            client = client_for(server.base_url)
            ask(client)
            time.sleep(0.1)
            reply, sink = ask(client)
        assert reply.text == "1"
        assert [d.kind for d in sink] == ["text"]

    def test_a_refusal_that_was_read_to_its_end_keeps_the_connection_and_an_unreadable_reply_ends_it(self):
        def handler(connection: socket.socket, number: int) -> None:
            while True:
                read_request(connection)
                if number == 0 and (refused := not getattr(handler, "refused", False)):
                    handler.refused = refused
                    json_reply(connection, 503, {"error": {"message": "busy"}})
                elif number == 0:
                    connection.sendall(STREAM_HEAD + chunked(b"data: {oops\n\n"))
                    left.append(connection.recv(1))
                    return
                else:
                    stream_reply(connection, str(number))

        left: list[bytes] = []
        with raw_server(handler) as server:
            reply, _ = ask(client_for(server.base_url))
            assert (reply.text, server.connections, left) == ("1", 2, [b""])

    def test_a_proxy_variable_does_not_stand_between_this_machine_and_itself(self, monkeypatch):
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        with raw_server(lambda c, n: (read_request(c), stream_reply(c, "direct"))[1]) as server:
            assert ask(client_for(server.base_url))[0].text == "direct"

    def test_a_transport_given_from_outside_answers_and_is_not_closed(self):
        class Transport(httpx.BaseTransport):
            closed = False

            def handle_request(self, request: httpx.Request) -> httpx.Response:
                return httpx.Response(200, content=event({"content": "demo"}, "stop"))

            def close(self) -> None:
                self.closed = True

        options = ProviderOptions(base_url="http://demo.invalid/v1", model="m")
        transport = Transport()
        client = make_client(resolve(options, {}, {}), options, transport=transport)
        assert [ask(client)[0].text for _ in range(2)] == ["demo", "demo"]
        client.close()
        assert not transport.closed

    def test_what_the_listener_raises_is_not_taken_for_a_broken_connection(self):
        def angry(delta: Delta) -> None:
            raise KeyError("listener")

        def handler(connection: socket.socket, number: int) -> None:
            read_request(connection)
            stream_reply(connection, "x")

        with raw_server(handler) as server:
            with pytest.raises(KeyError):
                client_for(server.base_url).complete(REQUEST, angry, CancelScope())
            assert server.connections == 1


class TestRequest:
    def test_key_and_name_travel_in_the_headers(self):
        seen = []
        server: RawServer

        def handler(connection: socket.socket, number: int) -> None:
            seen.append(read_request(connection))
            stream_reply(connection, "ok")

        with raw_server(handler) as server:
            settings = ProviderOptions(base_url=server.base_url, model="m", api_key_env="MY_KEY")
            ask(make_client(resolve(settings, {"MY_KEY": "k-123"}, {}), settings))
        assert seen[0]["headers"]["authorization"] == "Bearer k-123"
        assert seen[0]["headers"]["user-agent"].startswith("nanoherm-tui/")
        assert seen[0]["line"] == "POST /v1/chat/completions HTTP/1.1"

    @pytest.mark.parametrize("value", ["\u00e9", "a\nb: c", "\ud800"])
    def test_a_header_that_cannot_be_sent_is_told(self, value: str):
        with raw_server(silent) as server:
            providers = {"mine": {"base_url": server.base_url, "headers": {"x-team": value}}}
            options = ProviderOptions(model="m", provider="mine", providers=providers)
            with pytest.raises(ProviderError) as caught:
                ask(make_client(resolve(options, {}, {}), options))
        assert (caught.value.kind, caught.value.retryable) == ("bad_request", False)
        assert "headers" in caught.value.text

    def test_a_key_that_the_server_repeats_is_not_shown(self):
        def handler(connection: socket.socket, number: int) -> None:
            request = read_request(connection)
            json_reply(connection, 401, {"error": {"message": f"bad: {request['headers']['authorization']}"}})

        with raw_server(handler) as server:
            settings = ProviderOptions(base_url=server.base_url, model="m", api_key_env="MY_KEY")
            with pytest.raises(ProviderError) as caught:
                ask(make_client(resolve(settings, {"MY_KEY": "topsecret"}, {}), settings))
        assert "topsecret" not in str(caught.value) + str(caught.value.params)

    def test_a_field_the_server_refuses_is_left_out_at_once_and_from_then_on(self):
        bodies = []

        def handler(connection: socket.socket, number: int) -> None:
            while True:
                bodies.append(read_request(connection)["body"])
                if "stream_options" in bodies[-1] or "temperature" in bodies[-1]:
                    field = "stream_options" if "stream_options" in bodies[-1] else "temperature"
                    json_reply(connection, 400, {"error": {"message": f"Unknown field: {field}"}})
                else:
                    stream_reply(connection, "ok")

        request = LlmRequest((user("Hi"),), temperature=0.3, tools=(ToolSchema("t", "T.", {"type": "object"}),))
        with raw_server(handler) as server:
            client = client_for(server.base_url)
            _, sink = ask(client, request)
            ask(client, request)
        assert [("stream_options" in b, "temperature" in b) for b in bodies] == [
            (True, True),
            (False, True),
            (False, False),
            (False, False),
        ]
        assert [d.kind for d in sink] == ["text"]
        assert all(b["tool_choice"] == "auto" for b in bodies)


def test_a_stop_of_the_program_while_nothing_was_waited_for_is_no_silence_of_the_server(monkeypatch) -> None:
    """As when a machine is paused just while a part of the reply is shown."""
    paused = threading.Event()

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return time.monotonic() + 1_000 * paused.is_set()

    def reply(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(STREAM_HEAD + chunked(event({"content": "Hel"})))
        paused.wait(30)
        time.sleep(0.2)  # there is something to wait for
        connection.sendall(chunked(event({"content": "lo"}) + event({}, "stop") + b"data: [DONE]\n\n") + b"0\r\n\r\n")

    for room in (client_room, exchange_room):
        monkeypatch.setattr(room, "time", Clock)
    with raw_server(reply) as server:
        client = client_for(server.base_url, idle_timeout=30, max_attempts=1)
        assert client.complete(REQUEST, lambda delta: paused.set(), CancelScope()).text == "Hello"


def test_a_finished_request_is_freed_without_the_garbage_collector() -> None:
    """The body of a request is the whole conversation: many of them waiting for a collection fill the memory."""
    script = (
        "import gc, sys\n"
        "from tests.core.test_llm_client import client_for, ask, LlmRequest, user\n"
        "from tests.fakes.model_server import ModelServer, Reply\n"
        "gc.disable()\n"
        "resident = lambda: int(open('/proc/self/statm').read().split()[1]) * 4\n"
        "with ModelServer([Reply(text='ok')]) as server:\n"
        "    client = client_for(server.base_url)\n"
        "    for number in range(30):\n"
        "        ask(client, LlmRequest((user('x' * 1_000_000),)))\n"
        "        server.requests.clear()\n"
        "        if number == 9: before = resident()\n"
        "    print(resident() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) < 10_000  # KB; 20 requests of 1 MB
