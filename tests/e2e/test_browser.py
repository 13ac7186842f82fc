"""`nanoherm-tui serve --web` as a person uses it: a real server, a real browser, the scripted demo in its windows."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from PIL import Image

from tests.e2e.chromium import PROGRAM, Chromium
from tests.e2e.screen import ROOT, home_env

PICTURE = ROOT / "screenshots" / "mention.png"
SLOW = 40  # seconds; a start on a busy machine


class Server:
    """`with Server(folder, flags) as server:` then `server.url`."""

    def __init__(self, folder: Path, *flags: str, **env: str) -> None:
        folder.mkdir(exist_ok=True)
        ours = {**os.environ, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", **home_env(folder / "home"), **env}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nanoherm_tui", "serve", "--web", "-C", str(folder), *flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ours, cwd=folder,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url

    def children(self) -> list[int]:
        """The programs of its windows."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(SLOW)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def gone(pids, seconds=SLOW):
    end = time.monotonic() + seconds
    while left := [pid for pid in pids if is_running(pid)]:
        assert time.monotonic() < end, f"{left} still run after {seconds} s"
        time.sleep(0.05)
    return True


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def a_window(url, then):
    """Open a window as a browser does, and call `then` once it shows something of the program."""
    origin = "http://" + urlsplit(url).netloc
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.get(url) as page:
            where = str(page.url)
        async with session.ws_connect(f"{where}window/dark?width=80&height=24", headers={"Origin": origin}) as page:
            out = b""
            while b"demo (scripted)" not in out:
                message = await page.receive(SLOW)
                assert message.type == aiohttp.WSMsgType.BINARY, message
                out += message.data
            then()


@pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")
def test_a_person_works_in_a_window_of_a_browser(tmp_path):
    with Server(tmp_path / "work", "--demo") as server, Chromium() as browser:
        page = browser.open(server.url)
        page.wait_for("Scripted demo, not an AI.", "workspace-write", "demo (scripted)", seconds=SLOW)
        assert "token" not in page.value("location.href")
        assert page.value("document.cookie") == ""  # no script can read it
        assert page.value("document.fonts.check('16px \"Roboto Mono\"')")
        assert page.value("[document.documentElement, document.body].every(e => e.scrollHeight <= innerHeight)")
        port = urlsplit(server.url).netloc
        assert {urlsplit(each).netloc for each in page.requests if not each.startswith("data:")} == {port}
        [child] = server.children()
        assert b"display.reduced_motion=true" in Path(f"/proc/{child}/cmdline").read_bytes()  # as this browser prefers
        # Ctrl+C is a key here too; the field is empty then, and takes what an input method commits.
        page.key("c", "KeyC", 67, ctrl=True)
        page.until(lambda: "A test fails" not in page.text)
        page.insert("测试失败了：购物车的折扣算错了🙂")
        page.wait_for("测试失败了：购物车的折扣算错了🙂")
        page.key("Enter", "Enter", 13, shift=True, text="\r")
        page.paste("text/plain", b"second line\nthird line")
        page.paste("image/png", PICTURE.read_bytes())
        page.wait_for("second line", "third line", "pasted-1.png")
        page.key("Enter", "Enter", 13, text="\r")
        page.wait_for("Run this command?", seconds=SLOW)
        assert page.value("document.title").startswith("?")  # seen while another tab is in front
        time.sleep(3)  # a question takes no answer in its first moment, and on a busy machine that is told late
        page.key("y", "KeyY", 89, text="y")
        # Somebody has gone to another tab: the next question rings, which is a dot until they are back.
        page.value("document.hasFocus = () => false, keyboard().blur()")
        page.wait_for("1 failed, 5 passed", "Change shop/cart.py?", seconds=SLOW)
        page.until(lambda: page.value("document.title").startswith("● ?"))
        page.value("delete document.hasFocus, keyboard().focus(), window.dispatchEvent(new Event('focus'))")
        assert page.value("document.title").startswith("?")
        # A key that stops the program, in a place where nobody could set it going again.
        page.key("z", "KeyZ", 90, ctrl=True)
        page.wait_for("cannot be suspended")
        # A line that breaks: the page says so, comes back by itself, and all is drawn again.
        children = server.children()
        page.value("socket.line.close(4999)")
        page.until(lambda: page.value("told.textContent").strip().startswith("The line is broken"))
        page.until(lambda: page.value("told.hidden && socket !== null"))
        page.insert("/wieder da")
        page.wait_for("/wieder da", "Change shop/cart.py?", seconds=SLOW)
        assert server.children() == children
        page.until(lambda: is_drawn(page.picture()))
        assert page.faults == []
        children = server.children()
        assert len(children) == 1
        page.close()
        gone(children)
        assert server.end() == 0


def is_drawn(png):
    """Whether a picture has words all over, in many shades, to its edges: neither a blank page nor a corner of one."""
    picture = Image.open(io.BytesIO(png)).convert("L")
    width, height = picture.size
    shades = [len(set(picture.crop((x, 0, x + width // 4, height)).tobytes())) for x in range(0, width - 3, width // 4)]
    edge = picture.crop((0, height - 40, width // 2, height))  # the status line
    return min(shades) > 20 and len(set(edge.tobytes())) > 20


def test_a_servers_windows_end_with_it_when_it_is_killed(tmp_path):
    with Server(tmp_path / "work", "--demo") as server:

        def then():
            children = server.children()
            assert len(children) == 1
            server.process.kill()
            assert gone(children)

        asyncio.run(a_window(server.url, then))
