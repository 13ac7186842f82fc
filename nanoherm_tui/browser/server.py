"""What answers the browser: the page, its parts, and a WebSocket for each window.

The messages on it are textual-serve's: JSON from the page (["stdin", text], ["resize", {width, height}], ["ping", n]),
bytes for its terminal to the page. page.js adds one: bytes from the page are an image that was pasted. It makes up a
key for its window, and comes back with it by another line when one breaks.
"""

from __future__ import annotations

import asyncio
import html
import json
import logging
import os
import signal
import socket
import string
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, Final

from aiohttp import WSCloseCode, WSMsgType, web

from agent_core import names
from nanoherm_tui import i18n, limits
from nanoherm_tui.browser import door as doors
from nanoherm_tui.browser.ground import SCHEMES
from nanoherm_tui.browser.kept import KeptWindows
from nanoherm_tui.browser.window import Window
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from nanoherm_tui.browser.door import Door

log = logging.getLogger(__name__)

ENDED: Final = 4000
"""The WebSocket's close code once the program has ended; page.js knows these."""
FULL: Final = 4001
FAILED: Final = 4002
LOST: Final = 4003
"""There is no such window any more for a page that comes back."""
MOVED: Final = 4004
"""Its page has come back by another line."""

_MEANT: Final = (WSCloseCode.OK, WSCloseCode.GOING_AWAY)
"""With these a browser closes a tab, or loads the page again. Whatever else ends a line has broken it."""
_ENDS: Final = (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR)
_TERMINAL: Final = "textual_serve"
_PARTS: Final = {
    "page.css": (__package__, "page.css", "text/css"),
    "page.js": (__package__, "page.js", "text/javascript"),
    "xterm.css": (_TERMINAL, "static/css/xterm.css", "text/css"),
    "textual.js": (_TERMINAL, "static/js/textual.js", "text/javascript"),
    "mono.ttf": (_TERMINAL, "static/fonts/RobotoMono-VariableFont_wght.ttf", "font/ttf"),
    "mono-italic.ttf": (_TERMINAL, "static/fonts/RobotoMono-Italic-VariableFont_wght.ttf", "font/ttf"),
}
"""What the page is made of, by its name there: package, file, kind. All of it is on this machine."""
_STILL: Final = ("--set", "display.reduced_motion=true")
"""For a browser that prefers reduced motion; it comes first, so that what the server was given counts."""
_WORDS: Final = ("ended", "full", "failed", "gone", "broken", "no_webgl", "again", "try_now")
_POLICY: Final = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self' 'unsafe-inline'", "font-src 'self'", "img-src data:",
    "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
))  # fmt: skip
"""Styles may stand inline: xterm.js writes its own."""
_HEADERS: Final = {
    "Server": names.APP,  # no versions
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # The terminal may fill the clipboard, as when something is copied; no program behind it may read it.
    "Permissions-Policy": "clipboard-read=(), camera=(), microphone=(), geolocation=()",
}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Faces:
    """The windows of one server, and what it answers."""

    def __init__(self, door: Door, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        """`arguments`, `env`: of the program in each window."""
        self._door, self._arguments, self._env = door, arguments, env
        self._cookie = names.APP
        self._sockets: set[web.WebSocketResponse] = set()
        self._pages: dict[str, _Page] = {}
        """Those that have a window, by the key they made up for it."""
        self._kept = KeptWindows()

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        app.on_response_prepare.append(_add_headers)
        app.on_shutdown.append(self._close_all)
        path = self._door.path
        app.add_routes([
            web.get("/", self._enter),
            web.get(f"{path}/", self._page),
            *(web.get(f"{path}/{name}", self._part) for name in _PARTS),
            web.get(f"{path}/window/{{scheme:{'|'.join(SCHEMES)}}}", self._window),
        ])  # fmt: skip
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Whoever may not come in learns nothing, not even what there is."""
        if not doors.knows_host(self._door, request.headers.get("Host", "")):
            raise web.HTTPUnauthorized()
        given = request.query.get("token", "") if request.path == "/" else request.cookies.get(self._cookie, "")
        if not doors.fits(self._door, given):
            raise web.HTTPUnauthorized()
        return await handler(request)

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        """The printed address: the token goes into a cookie, and out of the address."""
        response = web.Response(status=303, headers={"Location": f"{self._door.path}/"})
        response.set_cookie(
            self._cookie, self._door.token, path=f"{self._door.path}/", httponly=True, samesite="Strict"
        )
        return response

    async def _page(self, request: web.Request) -> web.StreamResponse:
        words = {
            "language": "zh-CN" if i18n.language() == "zh" else "en",
            "title": names.APP,
            "keeps": str(int(limits.WEB_KEEPS)),
            **{name: t(f"browser.{name}") for name in _WORDS},
        }
        page = string.Template(_file(__package__, "page.html").read_text(encoding="utf-8"))
        escaped = {name: html.escape(text) for name, text in words.items()}
        return web.Response(text=page.substitute(escaped), content_type="text/html")

    async def _part(self, request: web.Request) -> web.StreamResponse:
        package, name, kind = _PARTS[request.path.rpartition("/")[2]]
        return web.Response(body=_file(package, name).read_bytes(), headers={"Content-Type": kind})

    async def _window(self, request: web.Request) -> web.StreamResponse:
        if not doors.same_origin(request.headers.get("Origin", ""), request.headers.get("Host", "")):
            raise web.HTTPUnauthorized()
        page = web.WebSocketResponse(
            heartbeat=limits.WEB_HEARTBEAT, max_msg_size=limits.WEB_MESSAGE, compress=False, timeout=limits.WEB_GOODBYE
        )
        if not page.can_prepare(request).ok:
            raise web.HTTPUnauthorized()
        await page.prepare(request)
        key = request.query.get("window", "")[: limits.WEB_KEY]
        if (before := self._pages.get(key)) is not None:  # its line is broken, and nobody has noticed here
            await before.socket.close(code=MOVED)
            await before.left.wait()
        window = self._kept.take(key)
        if window is None and "again" in request.query:
            await page.close(code=LOST)
            return page
        if window is None and len(self._sockets) + len(self._kept) >= limits.WEB_WINDOWS:
            await page.close(code=FULL)
            return page
        self._sockets.add(page)
        try:
            await self._run(page, request, key, window)
        finally:
            self._sockets.discard(page)
        return page

    async def _run(self, page: web.WebSocketResponse, request: web.Request, key: str, window: Window | None) -> None:
        """Be the page's terminal; `window`: the one it had before, None: it wants a new one."""
        here, is_over = _Page(page), False
        if key:
            self._pages[key] = here
        try:
            if window is None:
                columns, rows = _cells(request.query.get("width"), 80), _cells(request.query.get("height"), 24)
                arguments = (*_STILL, *self._arguments) if "still" in request.query else self._arguments
                window = await Window.open(arguments, self._env, request.match_info["scheme"], columns, rows)
            else:
                await window.show_again()
            is_over = await _talk(page, window)
        except OSError as error:
            log.error("a window's program could not be started: %s", error)
            await page.close(code=FAILED)
        except asyncio.CancelledError:  # the server ends
            is_over = True
            raise
        finally:
            if window is not None and key and not is_over:
                self._kept.keep(key, window)
            elif window is not None:
                await window.close()
            self._pages.pop(key, None)
            here.left.set()

    async def _close_all(self, app: web.Application) -> None:
        await asyncio.gather(*(page.close(code=WSCloseCode.GOING_AWAY) for page in set(self._sockets)))
        await asyncio.gather(*(page.left.wait() for page in tuple(self._pages.values())))
        await self._kept.close()


class _Page:
    """A page that has a window."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.left = asyncio.Event()
        """It has none any more: that has ended, or waits for it."""


async def _talk(page: web.WebSocketResponse, window: Window) -> bool:
    """Hand on what the two say until one is gone. True: that was meant; False: the line has broken."""
    out, keys = asyncio.create_task(_to_page(window, page)), asyncio.create_task(_from_page(page, window))
    try:
        await asyncio.wait({out, keys}, return_when=asyncio.FIRST_COMPLETED)
        has_ended = out.done() and out.exception() is None
        if out.done() and not has_ended:  # nothing can be sent any more, but the page's goodbye may not be read yet
            await asyncio.wait({keys}, timeout=limits.WEB_GOODBYE)
        if has_ended and not page.closed:
            with suppress(ConnectionError):  # the page went away
                await page.close(code=ENDED)
        return has_ended or (keys.done() and keys.exception() is None and keys.result())
    finally:
        for task in (out, keys):
            task.cancel()
        await asyncio.gather(out, keys, return_exceptions=True)


async def _to_page(window: Window, page: web.WebSocketResponse) -> None:
    """All the program writes, to its end or the page's. A browser that is slow makes the program's terminal slow."""
    while out := await window.read():
        await page.send_bytes(out)


async def _from_page(page: web.WebSocketResponse, window: Window) -> bool:
    """All the page sends, to its end. What is no message of textual-serve's is passed over. True: it said goodbye."""
    while True:
        message = await page.receive()
        if message.type in _ENDS:  # aiohttp's own code for a line that has broken is that of a goodbye
            return message.type == WSMsgType.CLOSE and message.data in _MEANT
        if message.type == WSMsgType.BINARY:
            await _take_image(window, message.data)
        if message.type != WSMsgType.TEXT:
            continue
        try:
            kind, said = json.loads(message.data)
        except (ValueError, TypeError, RecursionError):
            continue
        if kind == "stdin" and isinstance(said, str):
            await window.write(said.encode("utf-8", "replace"))
        elif kind == "resize" and isinstance(said, dict):
            window.resize(_cells(said.get("width"), 80), _cells(said.get("height"), 24))


async def _take_image(window: Window, data: bytes) -> None:
    try:
        await window.give_image(data)
    except OSError as error:
        log.error("a pasted image could not be written: %s", error)


def _cells(given: Any, otherwise: int) -> int:
    """A number of columns or rows that a page has said."""
    try:
        return max(1, min(limits.WEB_CELLS, int(given)))
    except (TypeError, ValueError, OverflowError):
        return otherwise


def _file(package: str, name: str) -> Traversable:
    return resources.files(package).joinpath(name)


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
    if response.content_type == "text/html":
        response.headers["Content-Security-Policy"] = _POLICY


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens on `port`, 0: a free one. Raises OSError, when the port is taken among others."""
    found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, where = found[0]
    server = socket.socket(family, kind, protocol)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(where)
        server.listen(limits.WEB_WINDOWS)
    except OSError:
        server.close()
        raise
    return server


def serve(door: Door, where: socket.socket, arguments: Sequence[str], ready: Callable[[], None]) -> None:
    """Answer on the socket until SIGINT, SIGTERM or SIGHUP; then every window ends, with its sessions kept.

    `arguments`: the program's in each window. `ready` is called once pages are answered.
    """
    asyncio.run(_serve(door, where, arguments, ready))


async def _serve(door: Door, where: socket.socket, arguments: Sequence[str], ready: Callable[[], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    # No log of requests: the first one has the token in it.
    runner = web.AppRunner(
        Faces(door, arguments, os.environ).app(), access_log=None, shutdown_timeout=limits.WEB_ENDING + 1
    )
    await runner.setup()
    try:
        await web.SockSite(runner, where).start()
        ready()
        await stop.wait()
    finally:
        await runner.cleanup()
