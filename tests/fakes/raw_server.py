"""A TCP server on 127.0.0.1 whose every connection is a function's: for replies no HTTP library would send."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Handler = Callable[[socket.socket, int], None]
"""Gets the connection and its number, from 0. The connection is closed after it."""


class RawServer:
    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.connections = 0
        self.stopping = threading.Event()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            number, self.connections = self.connections, self.connections + 1
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection:
            try:
                self._handler(connection, number)
            except OSError:
                pass

    def stop(self) -> None:
        self.stopping.set()
        for sock in (self._listener, *self._open):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._listener.close()


@contextmanager
def raw_server(handler: Handler) -> Iterator[RawServer]:
    server = RawServer(handler)
    threading.Thread(target=server._accept, daemon=True).start()
    try:
        yield server
    finally:
        server.stop()


def read_request(connection: socket.socket) -> dict[str, Any]:
    """Read one HTTP request: {"line", "headers", "body"}; the body decoded from JSON. ConnectionError at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("no more requests")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return {"line": line, "headers": headers, "body": json.loads(body) if body else None}


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return (
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode() + b"\n\n"
    )


def stream_reply(connection: socket.socket, text: str) -> None:
    """One whole streamed answer, ended cleanly."""
    connection.sendall(
        STREAM_HEAD
        + chunked(event({"content": text}))
        + chunked(event({}, "stop") + b"data: [DONE]\n\n")
        + b"0\r\n\r\n"
    )


def json_reply(connection: socket.socket, status: int, body: Any, headers: str = "") -> None:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n{headers}\r\n"
    connection.sendall(head.encode() + data)
