"""One HTTP request whose reply is read by a thread of its own, so that whoever waits for it can always stop.

The waiting side never calls the network: it takes pieces from a short queue, with a deadline and a cancel scope. When
it gives up, the socket is shut (closing a response does not end a read that blocks in another thread) and the reading
thread is left to end by itself; what it still gets is thrown away.
"""

from __future__ import annotations

import functools
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.records import dataclass

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of a response; header names in lower case."""

    status: int
    headers: Mapping[str, str]


@functools.cache
def tls(scheme: str) -> ssl.SSLContext:
    """What a client for `scheme` trusts. Reading the certificates takes longer than many a request: once a process."""
    import httpx

    if scheme == "https":
        return httpx.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, and is not needed


class Silence(Exception):
    """Nothing came before the deadline."""


class Broken(Exception):
    """The exchange failed; `error` is what the HTTP library raised."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


_Item = Head | bytes | Broken | None
"""None = the reply has ended cleanly."""


class Link:
    """An HTTP client with its open sockets. One exchange at a time; given up after an unclean end."""

    def __init__(self, http: httpx.Client, *, owned: bool = True) -> None:
        """`owned` is False for a client over somebody else's transport, which is not ours to close."""
        self.http = http
        self._owned = owned
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._cut = False

    def remember(self, stream: Any) -> None:
        """Keep the socket of an httpcore network stream; anything else is ignored."""
        get = getattr(stream, "get_extra_info", None)
        sock = get("socket") if get is not None else None
        if not isinstance(sock, socket.socket):
            return
        with self._lock:
            self._sockets = [s for s in self._sockets if s.fileno() >= 0 and s is not sock]
            self._sockets.append(sock)
            cut = self._cut
        if cut:
            _shut(sock)

    def cut(self) -> None:
        """Shut every socket, those still to be opened too: a blocked read or write ends at once. Does not block."""
        with self._lock:
            self._cut = True
            sockets = list(self._sockets)
        for sock in sockets:
            _shut(sock)

    def close(self) -> None:
        if self._owned:
            self.http.close()


class Exchange:
    """A request in flight. Use as a context manager; `take` gives the head first, then pieces, then None."""

    def __init__(self, link: Link, request: httpx.Request, cancel: CancelScope, *, unpack: bool = True) -> None:
        """`unpack`: pieces are given without their content encoding."""
        self._unpack = unpack
        self._link = link
        self._request = request
        self._cancel = cancel
        self._ready = threading.Condition()
        self._items: deque[_Item] = deque()
        self._left = False
        self._ended = False
        self._over = False
        """The last item has been taken."""
        self._looked = time.monotonic()
        """When who takes was last seen to run."""
        self.on_stop: Callable[[float], None] = lambda seconds: None
        self.opened = False
        """The head has come."""
        self.peer = ""
        """host:port that was connected to last, where a connection had to be made; a proxy's, if there is one."""
        self.reusable = False
        """True after a clean end: the link may be used again."""

    def __enter__(self) -> Exchange:
        self._release = self._cancel.on_cancel(self._wake)
        self._thread = threading.Thread(target=self._pump, name="model-reader", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._release()
        with self._ready:
            self._left = True
            self.reusable = self._ended
            self._ready.notify_all()
        if not self.reusable:
            self._link.cut()

    def take(self, deadline: float) -> _Item:
        """The next item. Raises Silence at `deadline` (monotonic), Interrupted when cancelled, Broken.

        Time in which this process was stopped (Ctrl+Z, a machine that was paused) is no silence of the server: the
        deadline moves by it, and `on_stop` is called with its seconds. So does time between two calls that is as long.
        """
        with self._ready:
            wait = 0.0
            while not self._items:
                if self._cancel.cancelled:
                    raise Interrupted
                now, before = time.monotonic(), self._looked
                self._looked = now
                if now - before > wait + limits.STOPPED_FROM:
                    deadline += now - before
                    self.on_stop(now - before)
                if deadline <= now:
                    raise Silence
                wait = min(deadline - now, limits.STREAM_LOOK)
                self._ready.wait(wait)
            self._looked = time.monotonic()
            if self._cancel.cancelled:
                raise Interrupted
            item = self._items.popleft()
            self._ready.notify_all()
        if isinstance(item, Broken):
            self._over = True
            raise item
        self.opened = True
        self._over = item is None
        return item

    def drain(self, seconds: float) -> None:
        """Read to the clean end for at most `seconds`, so that the connection can be used again. Never raises."""
        self._looked = time.monotonic()
        deadline = self._looked + seconds
        try:
            while not self._over:
                self.take(deadline)
        except (Silence, Broken, Interrupted):
            pass

    # -- the reading thread -------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        self._request.extensions = {**self._request.extensions, "trace": self._trace}
        response: httpx.Response | None = None
        try:
            response = self._link.http.send(self._request, stream=True)
            alive = self._put(Head(response.status_code, {k.lower(): v for k, v in response.headers.items()}))
            body = response.iter_bytes() if self._unpack else response.iter_raw()
            for piece in body if alive else ():
                if piece and not self._put(piece):
                    break
            else:
                response.close()  # before the end is told: the connection is then back in the pool
                self._put(None, end=alive)
        except Exception as error:  # the one place where what the HTTP library raises becomes an item
            self._put(Broken(error))
        if not self._ended:
            self._give_up(response)
        import httpx

        # Both point back here in a circle; the body of a request is the whole conversation and must not wait for the
        # garbage collector.
        self._request.extensions = {}
        if response is not None:
            response.stream = httpx.ByteStream(b"")

    def _give_up(self, response: httpx.Response | None) -> None:
        try:
            if response is not None:
                response.close()
            self._link.close()
        except Exception:  # its socket was shut under it; there is nobody left to tell
            pass

    def _put(self, item: _Item, *, end: bool = False) -> bool:
        """Hand an item over; wait while the queue is full. False when nobody takes it any more."""
        with self._ready:
            while len(self._items) >= limits.REPLY_QUEUE and not self._left:
                self._ready.wait()
            if self._left:
                return False
            self._items.append(item)
            self._ended = end
            self._ready.notify_all()
            return True

    def _wake(self) -> None:
        with self._ready:
            self._ready.notify_all()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by the HTTP library; a finished connect or TLS handshake brings the stream that has the socket."""
        if event.endswith("connect_tcp.started"):
            self.peer = f"{info.get('host')}:{info.get('port')}"
        if event.endswith(".complete"):
            self._link.remember(info.get("return_value"))


def _shut(sock: socket.socket) -> None:
    try:
        # Not the TLS socket's own method: it takes the TLS state from under the thread that reads.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        pass


def pieces(exchange: Exchange, deadline: Callable[[], float]) -> Iterator[bytes]:
    """The body's pieces until its clean end. Raises Broken, Silence, Interrupted."""
    while (item := exchange.take(deadline())) is not None:
        if isinstance(item, bytes):
            yield item
