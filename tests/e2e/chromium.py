"""A headless Chromium, driven over the DevTools protocol on two pipes: no port, no package."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyte

from tests.e2e.screen import UNKNOWN, Emulator

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--hide-scrollbars=false", "--remote-debugging-pipe",
    # The terminal on the page asks for WebGL 2; there is no graphics card here.
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--force-prefers-reduced-motion",
    # Nothing but this machine is ever asked for.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)  # fmt: skip

# The pipes are where Chromium looks for them.
_AT_3_AND_4 = """\
import fcntl, os, sys
given, taken = (fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3])
os.dup2(given, 3)
os.dup2(taken, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Chromium:
    """`with Chromium() as browser:` then `browser.open(url)`. Ends it at the end."""

    def __enter__(self) -> Chromium:
        assert PROGRAM is not None
        self._folder = tempfile.mkdtemp(prefix="chromium-")
        to_it, self._commands = os.pipe()
        self._events, from_it = os.pipe()

        launcher = (sys.executable, "-IS", "-c", _AT_3_AND_4, str(to_it), str(from_it))
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [*launcher, PROGRAM, *_FLAGS, f"--user-data-dir={self._folder}", "about:blank"],
            pass_fds=(to_it, from_it), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            start_new_session=True, env={**os.environ, "HOME": self._folder},
        )  # fmt: skip
        os.close(to_it)
        os.close(from_it)
        self._ids = itertools.count(1)
        self._unread = b""
        self._waiting: list[dict[str, Any]] = []
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(OSError, AssertionError):
            self.call("Browser.close", seconds=5)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, 9)
            self._process.wait()
        for descriptor in (self._commands, self._events):
            os.close(descriptor)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def open(self, url: str, width: int = 880, height: int = 520, scheme: str = "light") -> Page:
        """A new tab with `url`, of one who prefers the colour scheme."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        for domain in ("Page", "Network", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.call("Page.navigate", url=url)
        return page

    def call(self, method: str, session: str = "", seconds: float = 40.0, **params: Any) -> dict[str, Any]:
        """Ask it something; what else it says meanwhile waits for `events`."""
        number = next(self._ids)
        said = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        _write_all(self._commands, json.dumps(said).encode() + b"\0")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for message in self._read(end - time.monotonic()):
                if message.get("id") != number:
                    self._waiting.append(message)
                    continue
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result
        raise AssertionError(f"{method}: no answer in {seconds} s")

    def events(self, seconds: float = 0.05) -> list[dict[str, Any]]:
        """What has happened since, in any page."""
        self._waiting += self._read(seconds)
        told, self._waiting = self._waiting, []
        return told

    def _read(self, seconds: float) -> list[dict[str, Any]]:
        if not select.select([self._events], [], [], max(0.0, seconds))[0]:
            return []
        part = os.read(self._events, 1 << 20)
        if not part:
            self._log.seek(0)
            raise AssertionError(f"Chromium has ended: {self._log.read()[-2000:]!r}")
        *whole, self._unread = (self._unread + part).split(b"\0")
        return [json.loads(each) for each in whole]


class Page:
    """A tab with a terminal. What its WebSocket is sent is read by an emulator of the page's own size."""

    def __init__(self, browser: Chromium, target: str, session: str) -> None:
        self._browser, self.target, self._session = browser, target, session
        self.size = (0, 0)
        """Columns and rows, as the page has told them last."""
        self._emulator = Emulator(80, 24)
        self._stream = pyte.ByteStream(self._emulator)
        self._tail = b""
        self.faults: list[str] = []
        """What the page's console calls an error."""
        self.requests: list[str] = []
        """Every address that was asked for."""

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def look(self, condition: Callable[[], object] = lambda: False) -> bool:
        """Take note of what has happened; whether `condition` was true after any of it."""
        was = False
        for event in self._browser.events():
            if event.get("sessionId") != self._session:
                continue
            name, params = event.get("method"), event.get("params", {})
            if name == "Network.webSocketFrameReceived" and params["response"]["opcode"] == 2:
                self._show(base64.b64decode(params["response"]["payloadData"]))
            elif name == "Network.webSocketFrameSent" and params["response"]["payloadData"].startswith('["resize"'):
                told = json.loads(params["response"]["payloadData"])[1]
                self.size = told["width"], told["height"]
                self._emulator.resize(told["height"], told["width"])
            elif name == "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"][:200])  # those of images hold the image
            elif name == "Log.entryAdded" and params["entry"]["level"] == "error":
                self.faults.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
            elif name == "Runtime.exceptionThrown":
                self.faults.append(json.dumps(params["exceptionDetails"])[:2000])
            was = was or bool(condition())
        return was

    def _show(self, data: bytes) -> None:
        data = self._tail + data
        cut = data.rfind(b"\x1b", max(0, len(data) - 32))  # the start of a sequence waits for its end
        whole = cut < 0 or re.search(rb"[a-zA-Z~\\\x07]", data[cut + 2 :])
        self._tail, data = (b"", data) if whole else (data[cut:], data[:cut])
        self._stream.feed(UNKNOWN.sub(b"", data))

    @property
    def text(self) -> str:
        """What its terminal shows."""
        return "\n".join(line.rstrip() for line in self._emulator.display)

    def wait_for(self, *words: str, seconds: float = 30.0) -> None:
        """Wait until all `words` are in the terminal."""
        self.until(lambda: all(word in self.text for word in words), seconds)

    def until(self, condition: Callable[[], object], seconds: float = 30.0) -> None:
        """Wait until it is true, or was for a moment: what is shown for two seconds may come and go in one read."""
        end = time.monotonic() + seconds
        while not (condition() or self.look(condition)):
            assert time.monotonic() < end, f"not in {seconds} s; faults: {self.faults}; on the screen:\n{self.text}"

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)[
            "result"
        ].get("value")

    def insert(self, text: str) -> None:
        """Text as an input method commits it."""
        self.call("Input.insertText", text=text)

    def paste(self, kind: str, data: bytes) -> None:
        """What a browser does for Ctrl+V, with this on its clipboard: text, or a file."""
        given = json.dumps(base64.b64encode(data).decode())
        self.value(f"""(() => {{
            const bytes = Uint8Array.from(atob({given}), (each) => each.charCodeAt(0));
            const clipboardData = new DataTransfer();
            if ("{kind}" === "text/plain") clipboardData.setData("{kind}", new TextDecoder().decode(bytes));
            else clipboardData.items.add(new File([bytes], "image", {{ type: "{kind}" }}));
            const event = new ClipboardEvent("paste", {{ clipboardData, bubbles: true, cancelable: true }});
            document.activeElement.dispatchEvent(event);
        }})()""")

    def key(self, key: str, code: str, number: int, *, ctrl: bool = False, shift: bool = False, text: str = "") -> None:
        """A key pressed and let go. `number`: Windows' virtual key code, as browsers tell it."""
        held = (2 if ctrl else 0) + (8 if shift else 0)
        about = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": held}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **about, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def picture(self) -> bytes:
        """A PNG of what is seen."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self.target)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
