"""Where a browser brings the answer of a log-in: a port of this machine that is open while somebody logs in.

Only a redirect with the secret `state` of the log-in under way is taken; whatever else comes is answered with 404 and
forgotten. The page it shows has nothing in it that came from outside. Source: R38, RFC 8252 (7.3).
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from agent_core import limits
from agent_core.mcp.words import ServerFailure

if TYPE_CHECKING:
    import http.server

HOST: Final = "127.0.0.1"
PATH: Final = "/callback"


class Loopback:
    """Waits for one redirect. Use as a context manager; the port is open from the beginning."""

    def __init__(self, name: str, port: int = 0, *, fixed: bool = False) -> None:
        """`port`: the one that is wanted; when it is taken, a free one, but where it is `fixed`.

        Raises ServerFailure "mcp_login_port".
        """
        self.arrived = threading.Event()
        self.answer = ""
        """The whole address the browser was sent to, once it has arrived."""
        self._state = ""
        self._on_arrival: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._server = _listen(self, name, port, fixed)
        self.port = int(self._server.server_address[1])
        self.redirect = f"http://{HOST}:{self.port}{PATH}"

    def expect(self, state: str, on_arrival: Callable[[], None]) -> None:
        """Take the redirect with this `state` from now on, and call `on_arrival` when it has come."""
        self._state, self._on_arrival = state, on_arrival
        threading.Thread(target=self._server.serve_forever, args=(0.1,), name="log-in", daemon=True).start()

    def take(self, target: str) -> bool:
        """A browser asks for `target`, a path with a query: whether that is the answer."""
        try:
            parts = urlsplit(target)
        except ValueError:  # whoever asks so is no browser that was sent here
            return False
        states = parse_qs(parts.query).get("state", [])
        if parts.path != PATH or len(states) != 1 or not self._state:
            return False
        if not hmac.compare_digest(states[0].encode(), self._state.encode()):
            return False
        with self._lock:
            if not self.arrived.is_set():
                self.answer = f"{self.redirect}?{parts.query}"
                self.arrived.set()
        self._on_arrival()
        return True

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._state:
            self._server.shutdown()
        self._server.server_close()


def _listen(box: Loopback, name: str, port: int, fixed: bool) -> http.server.ThreadingHTTPServer:
    import http.server  # brings a dozen modules, for a log-in only
    import socketserver

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = limits.MCP_LOGIN_PAGE
        server_version, sys_version = "nanoherm-tui", ""

        def do_GET(self) -> None:
            good = box.take(self.path)
            page = _page() if good else b""
            self.send_response(200 if good else 404)
            for header in (
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Length", str(len(page))),
                ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
                ("Referrer-Policy", "no-referrer"),
                ("Cache-Control", "no-store"),
                ("Connection", "close"),
            ):
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *args: object) -> None:
            """Nothing: the address holds a code."""

    class Server(http.server.ThreadingHTTPServer):
        # Browsers open connections ahead that they never use: none of them may keep the next one waiting.
        daemon_threads = True
        block_on_close = False
        allow_reuse_address = True

        def server_bind(self) -> None:
            socketserver.TCPServer.server_bind(self)  # HTTPServer also looks up a name for the host
            self.server_name, self.server_port = HOST, int(self.server_address[1])

        def handle_error(self, *args: object) -> None:
            """A browser that goes away is nothing to tell, least of all on the screen."""

    for wanted in dict.fromkeys((port,) if fixed and port else (port, 0)):
        try:
            return Server((HOST, wanted), Handler)
        except OSError as error:
            why = error.strerror or str(error)
    raise ServerFailure(
        "mcp_login_port",
        f"The log-in at {name} comes back to port {port} of this machine, which cannot be opened: {why}. End what uses "
        "it, or set another `oauth.callback_port`.",
        server=name,
        port=port,
        why=why,
    )


@cache
def _page() -> bytes:
    return resources.files("agent_core.mcp").joinpath("logged_in.html").read_bytes()
