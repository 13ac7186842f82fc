"""What the server of browser windows answers, over real sockets; the windows' program is a small one."""

import asyncio
import json
import os
import re
import socket

import aiohttp
import pytest
from aiohttp import web

from agent_core import names
from nanoherm_tui import i18n, limits
from nanoherm_tui.browser import door as doors
from nanoherm_tui.browser import server as servers
from nanoherm_tui.browser import window as windows
from nanoherm_tui.subcommands import serve

ECHOES = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
print("pid", os.getpid(), sys.argv[1:], os.get_terminal_size().columns, flush=True)
print("heard", input(), os.get_terminal_size().columns, flush=True)
"""


@pytest.fixture
def asks(tmp_path, monkeypatch):
    """`asks(use)`: run `use(session, base, door)` with a client's session and the server's address."""
    path = tmp_path / "program.py"
    path.write_text(ECHOES)
    monkeypatch.setattr(windows, "_CHILD", str(path))

    def with_server(use):
        async def run():
            door = doors.new_door("127.0.0.1", "machine")
            where = servers.listen("127.0.0.1", 0)
            base = f"http://127.0.0.1:{where.getsockname()[1]}"
            runner = web.AppRunner(servers.Faces(door, ("-C", "/x"), {}).app(), access_log=None, shutdown_timeout=5)
            await runner.setup()
            await web.SockSite(runner, where).start()
            # The jar of a browser takes cookies of addresses too.
            async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
                try:
                    return await asyncio.wait_for(use(session, base, door), 20)
                finally:
                    await runner.cleanup()

        return asyncio.run(run())

    return with_server


async def enter(session, base, door):
    async with session.get(f"{base}/?token={door.token}") as page:
        return page, await page.text()


def test_the_token_goes_into_a_cookie_and_out_of_the_address(asks):
    async def use(session, base, door):
        async with session.get(f"{base}/?token={door.token}", allow_redirects=False) as first:
            assert (first.status, first.headers["Location"]) == (303, f"{door.path}/")
            cookie = first.headers["Set-Cookie"]
            assert {"HttpOnly", "SameSite=Strict", f"Path={door.path}/"} <= set(cookie.split("; "))
        page, text = await enter(session, base, door)
        assert page.status == 200
        assert "token" not in str(page.url)
        assert door.token not in text
        for header, value in {
            "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
        }.items():  # fmt: skip
            assert page.headers[header] == value
        policy = page.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe-eval" not in policy
        named = set(re.findall(r'(?:src|href)="([^"]+)"', text)) | {"textual.js", "mono.ttf", "mono-italic.ttf"}
        for part in named - {"data:,"}:
            assert "/" not in part, "all of the page comes from this server"
            async with session.get(f"{base}{door.path}/{part}") as answer:
                assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")
                assert len(await answer.read()) > 100

    asks(use)


def test_nothing_the_page_is_made_of_names_another_server():
    for package, name, kind in servers._PARTS.values():
        if kind != "font/ttf" and package != "textual_serve":
            assert "://" not in servers._file(package, name).read_text("utf-8")
    fetches = re.compile(r"(?:url\(|import |src=)[\"']?https?:")
    for package, name, kind in servers._PARTS.values():
        assert kind == "font/ttf" or not fetches.search(servers._file(package, name).read_text("utf-8")), name


REFUSED = {
    "no token": ("/", {}),
    "a wrong one": ("/?token=x", {}),
    "an empty one": ("/?token=", {}),
    "no cookie": ("{path}/", {}),
    "a wrong cookie": ("{path}/", {"Cookie": "nanoherm-tui=x"}),
    "a part without": ("{path}/page.js", {}),
    "what is not there": ("/secret", {}),
    "the token elsewhere": ("{path}/?token={token}", {}),
    "a name pointed here": ("/?token={token}", {"Host": "evil.example"}),
    "the same with the cookie": ("{path}/", {"Cookie": "nanoherm-tui={token}", "Host": "evil.example:80"}),
    "a window without": ("{path}/window/dark", {"Origin": "{base}"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_whoever_may_not_come_in_learns_nothing(asks, case):
    address, headers = REFUSED[case]

    async def use(session, base, door):
        def fill(text):
            return text.format(path=door.path, token=door.token, base=base)

        sent = {name: fill(value) for name, value in headers.items()}
        async with session.get(base + fill(address), headers=sent, allow_redirects=False) as answer:
            assert answer.status == 401
            assert (await answer.text(), answer.headers["Cache-Control"]) == ("401: Unauthorized", "no-store")
            assert "Set-Cookie" not in answer.headers
            assert "aiohttp" not in str(answer.headers)

    asks(use)


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", "{base}.evil.example"])
def test_a_page_of_another_origin_gets_no_window(asks, origin):
    """The browser would send it our cookie along."""

    async def use(session, base, door):
        headers = {} if origin is None else {"Origin": origin.format(base=base)}
        headers["Cookie"] = f"nanoherm-tui={door.token}"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{base}{door.path}/window/dark", headers=headers)
        assert refused.value.status == 401

    asks(use)


@pytest.mark.parametrize(
    ("more", "arguments"),
    [("", b"['-C', '/x']"), ("&still=1", b"['--set', 'display.reduced_motion=true', '-C', '/x']")],
    ids=["as it is", "reduced motion"],
)
def test_a_window_speaks_textual_serves_messages_and_says_that_its_program_has_ended(asks, more, arguments):
    async def use(session, base, door):
        await enter(session, base, door)
        address = f"{base}{door.path}/window/light?width=40&height=10{more}"
        async with session.ws_connect(address, headers={"Origin": base}) as page:
            out = b""
            while b"40\r\n" not in out:
                out += (await page.receive()).data
            assert out.startswith(b"\x1b]10;#000000\x07\x1b]11;#ffffff\x07")
            for nonsense in ("", "{}", "[]", "[1]", '["stdin", 5]', '["resize", []]', '["resize", {"width": "x"}]',
                             '["ping", "1"]', '["what", {}]', "[" * 10_000):  # fmt: skip
                await page.send_str(nonsense)
            await page.send_str(json.dumps(["resize", {"width": 10**9, "height": -5}]))
            await page.send_str(json.dumps(["stdin", "你好\n"]))
            async for message in page:
                out += message.data
            assert arguments in out
            assert f"heard 你好 {limits.WEB_CELLS}".encode() in out
            assert page.close_code == servers.ENDED

    asks(use)


def test_windows_end_with_the_server(asks):
    async def use(session, base, door):
        await enter(session, base, door)
        page = await session.ws_connect(f"{base}{door.path}/window/dark", headers={"Origin": base})
        out = b""
        while b"pid" not in out:
            out += (await page.receive()).data
        pid = int(re.search(rb"pid (\d+)", out)[1])
        assert os.path.exists(f"/proc/{pid}")
        return pid

    assert not os.path.exists(f"/proc/{asks(use)}")


async def page_of(session, base, door, more=""):
    await enter(session, base, door)
    return await session.ws_connect(f"{base}{door.path}/window/dark?width=40&height=10{more}", headers={"Origin": base})


async def pid_of(page):
    out = b""
    while b"40\r\n" not in out:
        out += (await page.receive()).data
    return int(re.search(rb"pid (\d+)", out)[1])


async def broken(page):
    """The line is cut, and no word was said."""
    page._response.connection.transport.abort()
    await page.close()


async def until_gone(pid, seconds=10.0):
    end = asyncio.get_running_loop().time() + seconds
    while os.path.exists(f"/proc/{pid}"):
        assert asyncio.get_running_loop().time() < end, "it runs still"
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("half_open", [False, True])
def test_a_page_whose_line_breaks_comes_back_to_its_window(asks, half_open):
    async def use(session, base, door):
        first = await page_of(session, base, door, "&window=k1")
        pid = await pid_of(first)
        if not half_open:
            await broken(first)
            await asyncio.sleep(0.1)
        second = await page_of(session, base, door, "&window=k1&again")
        assert os.path.exists(f"/proc/{pid}")
        await second.send_str(json.dumps(["stdin", "here again\n"]))
        out = b""
        async for message in second:
            out += message.data
        assert out.startswith(b"\x18"), "what was cut off is given up"
        assert b"heard here again 40" in out
        assert second.close_code == servers.ENDED

    asks(use)


def test_a_window_that_is_closed_or_waited_too_long_is_no_more(asks, monkeypatch):
    async def use(session, base, door):
        closed = await page_of(session, base, door, "&window=k1")
        pid = await pid_of(closed)
        await closed.close(code=aiohttp.WSCloseCode.GOING_AWAY)
        await until_gone(pid)
        monkeypatch.setattr(limits, "WEB_KEEPS", 0.1)
        left = await page_of(session, base, door, "&window=k2")
        pid = await pid_of(left)
        await broken(left)
        await until_gone(pid)
        for key in ("k1", "k2", "never"):
            back = await page_of(session, base, door, f"&window={key}&again")
            await back.receive()
            assert back.close_code == servers.LOST

    asks(use)


def test_a_window_that_waits_counts_and_ends_with_the_server(asks, monkeypatch):
    monkeypatch.setattr(limits, "WEB_WINDOWS", 1)

    async def use(session, base, door):
        first = await page_of(session, base, door, "&window=k1")
        pid = await pid_of(first)
        await broken(first)
        other = await page_of(session, base, door, "&window=k2")
        await other.receive()
        assert other.close_code == servers.FULL
        assert os.path.exists(f"/proc/{pid}")
        return pid

    assert not os.path.exists(f"/proc/{asks(use)}")


@pytest.mark.parametrize(
    ("last", "is_meant"),
    [
        (aiohttp.WSMessage(aiohttp.WSMsgType.CLOSE, aiohttp.WSCloseCode.GOING_AWAY, ""), True),
        (aiohttp.WSMessage(aiohttp.WSMsgType.CLOSE, aiohttp.WSCloseCode.ABNORMAL_CLOSURE, ""), False),
        (aiohttp.WSMessage(aiohttp.WSMsgType.ERROR, ConnectionResetError(), None), False),
        (None, False),  # it says nothing more
    ],
)
def test_a_goodbye_is_heard_though_something_written_meanwhile_could_not_be_sent(last, is_meant, monkeypatch):
    """A tab that is closed while the program draws: its line fails first where it is written to."""
    monkeypatch.setattr(limits, "WEB_GOODBYE", 0.2)

    class Page:
        closed = False

        async def send_bytes(self, data):
            raise ConnectionResetError

        async def receive(self):
            await asyncio.sleep(0.05 if last is not None else 5)
            return last

    class Drawing:
        async def read(self):
            return b"x"

    assert asyncio.run(servers._talk(Page(), Drawing())) is is_meant


def test_there_is_a_bound_on_windows_at_a_time(asks, monkeypatch):
    monkeypatch.setattr(limits, "WEB_WINDOWS", 1)

    async def use(session, base, door):
        await enter(session, base, door)
        address, headers = f"{base}{door.path}/window/dark", {"Origin": base}
        async with session.ws_connect(address, headers=headers) as first:
            await first.receive()
            async with session.ws_connect(address, headers=headers) as second:
                await second.receive()
                assert second.close_code == servers.FULL
        for _ in range(200):  # once the first has ended there is room again
            async with session.ws_connect(address, headers=headers) as third:
                if (await third.receive()).type == aiohttp.WSMsgType.BINARY:
                    return
            await asyncio.sleep(0.02)
        raise AssertionError("no room")

    asks(use)


def test_a_program_that_cannot_start_is_told_to_the_page(asks, monkeypatch):
    monkeypatch.setattr(windows.sys, "executable", "/nowhere/python")

    async def use(session, base, door):
        await enter(session, base, door)
        async with session.ws_connect(f"{base}{door.path}/window/dark", headers={"Origin": base}) as page:
            await page.receive()
            assert page.close_code == servers.FAILED

    asks(use)


def test_the_page_speaks_the_interfaces_language(asks):
    async def use(session, base, door):
        return (await enter(session, base, door))[1]

    try:
        i18n.set_language("zh")
        text = asks(use)
    finally:
        i18n.set_language("en")
    assert '<html lang="zh-CN">' in text
    assert "重新开始" in text
    assert "$" not in text


def test_a_port_that_is_taken_is_an_error_and_not_shared():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(OSError, match="in use"):
            servers.listen("127.0.0.1", other.getsockname()[1])


def test_a_missing_package_is_named_with_what_brings_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    assert serve.main(["--web", "-C", str(tmp_path)]) == names.EXIT_FAILED
    assert "pip install 'nanoherm-tui[web]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), names.EXIT_USAGE, "serve needs --web"),
        (("--web", "hello"), names.EXIT_USAGE, "serve takes no message"),
        (("--web", "-p"), names.EXIT_USAGE, "serve takes no message"),
        (("--web", "--no-such-flag"), names.EXIT_USAGE, "unrecognized arguments"),
        (("--web", "--port", "70000"), names.EXIT_USAGE, "must be 0 to 65535"),
        (("--web", "-C", "nowhere"), names.EXIT_USAGE, "is not a folder"),
        (("--web", "--host", "0.0.0.0"), names.EXIT_USAGE, "--expose allows it"),
        (("--web", "--host", "192.0.2.1", "--expose"), names.EXIT_FAILED, "192.0.2.1 port 0"),
        (("--web", "--port", "1", "--host", "no-such-name.invalid", "--expose"), names.EXIT_FAILED, "no-such-name"),
    ],
)
def test_what_cannot_be_served_is_said_in_words(tmp_path, monkeypatch, capsys, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NANOHERMES_HOME", str(tmp_path / "home"))
    try:
        ended = serve.main(arguments)
    except SystemExit as usage:
        ended = usage.code
    said = capsys.readouterr()
    assert (ended, said.out) == (code, "")
    assert words in said.err
    assert not (tmp_path / "home").exists()
