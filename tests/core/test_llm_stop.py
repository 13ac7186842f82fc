"""A stop is felt within a second in every state of a request, on every wire, and nothing goes on behind it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.llm.client import make_client
from agent_core.llm.providers import ProviderOptions, resolve
from agent_core.messages import user
from agent_core.ports.model import Delta, LlmClient, LlmRequest
from tests.fakes.raw_server import STREAM_HEAD, chunked, json_reply, raw_server, read_request

SLACK = 2.0  # a stop has to be felt within a second; machines under load get twice that
Handler = Callable[[socket.socket, int], None]


def event(data: dict[str, Any], name: str = "") -> bytes:
    return chunked((f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(data).encode() + b"\n\n")


HELLO = {
    "chat_completions": event({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}),
    "anthropic_messages": event({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}, "message_start")
    + event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    + event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}}),
    "responses": event({"type": "response.output_text.delta", "item_id": "m", "delta": "Hel"}),
}


def accepts_only(wire: str) -> Handler:
    return lambda connection, number: (connection.recv(65536), connection.recv(65536))[0] and None


def no_head(wire: str) -> Handler:
    def handler(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.recv(1)

    return handler


def no_body(wire: str) -> Handler:
    def handler(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(STREAM_HEAD)
        connection.recv(1)

    return handler


def stalls_in_text(wire: str) -> Handler:
    def handler(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(STREAM_HEAD + HELLO[wire])
        connection.recv(1)

    return handler


def never_ends(wire: str) -> Handler:
    def handler(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(STREAM_HEAD)
        while True:
            connection.sendall(HELLO[wire] * 20)

    return handler


def slow_refusal(wire: str) -> Handler:
    def handler(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 500 X\r\ncontent-length: 100\r\n\r\n{")
        connection.recv(1)

    return handler


def busy(headers: str) -> Callable[[str], Handler]:
    def of(wire: str) -> Handler:
        def handler(connection: socket.socket, number: int) -> None:
            while True:
                read_request(connection)
                json_reply(connection, 503, {"error": {"message": "busy"}}, headers)

        return handler

    return of


STATES = {
    "in the TLS handshake": (accepts_only, "https"),
    "waiting for the head": (no_head, "http"),
    "waiting for the body": (no_body, "http"),
    "in the middle of the text": (stalls_in_text, "http"),
    "while text pours in": (never_ends, "http"),
    "reading a refusal": (slow_refusal, "http"),
    "in the wait the server asked for": (busy("retry-after: 30\r\n"), "http"),
    "in the wait before a retry": (busy(""), "http"),
}


@pytest.mark.parametrize("wire", HELLO)
@pytest.mark.parametrize(("state", "scheme"), STATES.values(), ids=STATES)
def test_a_stop_is_felt_at_once(wire: str, state: Callable[[str], Handler], scheme: str):
    with raw_server(state(wire)) as server:
        base_url = server.base_url.replace("http:", f"{scheme}:")
        took, sink, reader = stopped_after(0.15, base_url, wire, retry_base=30.0)
        # In a handshake nobody has the socket: there the thread that reads ends by its own bound, connect_timeout.
        assert scheme == "https" or ended(reader)
    assert took < SLACK
    kinds = {delta.kind for delta in sink}
    assert kinds <= ({"retry"} if "busy" in state.__qualname__ else {"text"})
    if state is stalls_in_text:
        assert [delta.text for delta in sink] == ["Hel"]


@pytest.mark.parametrize("wire", HELLO)
def test_a_stop_is_felt_while_nobody_takes_the_connection(wire: str):
    # A full backlog of a socket that never accepts: the kernel leaves our SYN unanswered.
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        took, sink, _ = stopped_after(0.15, f"http://127.0.0.1:{listener.getsockname()[1]}/v1", wire)
        for filler in fillers:
            filler.close()
    assert took < SLACK
    assert sink == []


END = {
    "chat_completions": event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    "anthropic_messages": event({"type": "content_block_stop", "index": 0})
    + event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
    "responses": event({"type": "response.completed", "response": {"status": "completed"}}),
}


@pytest.mark.parametrize("wire", HELLO)
@pytest.mark.parametrize("then", ["comments", "silence", "a break"])
def test_a_reply_that_has_ended_is_not_held_up_by_its_connection(wire: str, then: str):
    def handler(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(STREAM_HEAD + HELLO[wire] + END[wire])
        if then == "silence":
            connection.recv(1)
        while then == "comments":
            connection.sendall(chunked(b": keep-alive\n\n"))
            time.sleep(0.02)

    with raw_server(handler) as server:
        client = client_for(server.base_url, wire, finish_timeout=0.2, max_attempts=1)
        reply = client.complete(LlmRequest((user("Hi"),)), lambda delta: None, CancelScope())
    assert (reply.text, reply.finish) == ("Hel", "stop")


def ended(threads: list[threading.Thread]) -> bool:
    for thread in threads:
        thread.join(SLACK)
    return not any(thread.is_alive() for thread in threads)


def client_for(base_url: str, wire: str, **options: Any) -> LlmClient:
    entry = {"base_url": base_url, "api_mode": wire}
    settings = ProviderOptions(model="m", provider="acme", providers={"acme": entry}, **options)
    return make_client(resolve(settings, {}, {}), settings)


def stopped_after(
    seconds: float, base_url: str, wire: str, **options: Any
) -> tuple[float, list[Delta], list[threading.Thread]]:
    """Cancel after `seconds`: how long the stop took then, what was delivered, and the threads that were reading."""
    client = client_for(base_url, wire, **options)
    before = set(threading.enumerate())
    scope = CancelScope()
    sink: list[Delta] = []
    at: list[float] = []

    def stop() -> None:
        at.append(time.monotonic())
        scope.cancel()

    timer = threading.Timer(seconds, stop)
    timer.start()
    with pytest.raises(Interrupted):
        client.complete(LlmRequest((user("Hi"),)), sink.append, scope)
    took = time.monotonic() - at[0]
    timer.join()
    return took, sink, [t for t in threading.enumerate() if t not in before and t.name == "model-reader"]
