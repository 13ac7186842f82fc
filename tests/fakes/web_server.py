"""A web server that does exactly what a test wants, over real sockets on 127.0.0.1, and a door that leads to it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable

from agent_core.web.door import Door

HERE = "127.0.0.1"

Handler = Callable[[socket.socket, bytes], None]


class Server:
    """Answers each request (its head) by a function, on 127.0.0.1; the requests are kept."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self._handler = handler
        self._tls = tls
        self._listening = socket.create_server((HERE, 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.settimeout(10)
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                request = b""
                while b"\r\n\r\n" not in request:
                    piece = connection.recv(65_536)
                    if not piece:
                        return
                    request += piece
                self.requests.append(request)
                self._handler(connection, request)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


def says(body: bytes = b"hello", status: str = "200 OK", *headers: str) -> Handler:
    head = "".join(f"{line}\r\n" for line in (f"Content-Length: {len(body)}", *headers))
    return lambda connection, request: connection.sendall(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)


def door(**changes) -> Door:
    """One for which 127.0.0.1 is the public internet, and every name leads there."""
    usual = {
        "resolve": lambda host: [HERE],
        "is_public": lambda address: str(address) == HERE,
        "has_network": lambda: True,
        "seconds": 20.0,
    }
    return Door(**{**usual, **changes})
