"""A window of a browser: a real pseudo-terminal, with a small program in it instead of the whole one."""

import asyncio
import os
import time

import pytest

from nanoherm_tui import limits
from nanoherm_tui.browser import window as windows
from nanoherm_tui.browser.window import Window, environment
from nanoherm_tui.terminal.signals import BROWSER, IN_BROWSER

TAKES_THE_TERMINAL = "import fcntl, os, signal, sys, termios, time, tty\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
READY = "print('ready', flush=True)\n"


@pytest.fixture
def child(tmp_path, monkeypatch):
    """`child(code)`: what a window's program is."""

    def of(code):
        path = tmp_path / "program.py"
        path.write_text(TAKES_THE_TERMINAL + code)
        monkeypatch.setattr(windows, "_CHILD", str(path))

    return of


def in_window(use, columns=80, rows=24, scheme="dark"):
    """Run `use(window)`; the window is closed afterwards. Returns what it gave."""

    async def run():
        window = await Window.open((), os.environ, scheme, columns, rows)
        try:
            return await asyncio.wait_for(use(window), 20)
        finally:
            await window.close()

    return asyncio.run(run())


async def until(window, words):
    out = b""
    while words not in out:
        part = await window.read()
        assert part, f"it has ended after {out!r}"
        out += part
    return out


async def all_of(window):
    out = b""
    while part := await window.read():
        out += part
    return out


def test_its_program_has_the_pages_size_and_hears_of_another(child):
    child(
        "signal.signal(signal.SIGWINCH, lambda *_: print(os.get_terminal_size(), flush=True))\n"
        "print(os.get_terminal_size(), flush=True)\nwhile True: time.sleep(0.02)"
    )

    async def use(window):
        first = await until(window, b"\n")
        window.resize(141, 38)
        return first + await until(window, b"\n")

    said = in_window(use, 40, 10)
    assert b"columns=40, lines=10" in said
    assert b"columns=141, lines=38" in said


def test_all_of_a_long_output_arrives_and_what_is_typed_is_read(child):
    child(f"tty.setraw(0)\n{READY}sys.stdout.write('x' * 300_000 + sys.stdin.read(100_000)[-3:])")

    async def use(window):
        await until(window, b"ready")
        _, out = await asyncio.gather(window.write("你".encode() * 100_000), all_of(window))
        return out

    out = in_window(use)
    assert out.count(b"x") == 300_000
    assert out.decode().endswith("你你你")


def test_what_is_typed_before_the_program_has_the_terminal_is_not_shown_twice(child):
    child("print('got', input())")

    async def use(window):
        await window.write(b"early\n")
        return await all_of(window)

    assert in_window(use).count(b"early") == 1


@pytest.mark.parametrize(("ignores", "kept"), [(False, True), (True, False)])
def test_closing_hangs_up_and_a_program_that_goes_on_is_killed(child, tmp_path, monkeypatch, ignores, kept):
    monkeypatch.setattr(limits, "WEB_ENDING", 0.3 if ignores else 15)
    handler = "signal.SIG_IGN" if ignores else f"lambda *_: (open({str(tmp_path / 'kept')!r}, 'w').close(), sys.exit())"
    child(f"signal.signal(signal.SIGHUP, {handler})\nprint(os.getpid(), {READY[6:]}while True: time.sleep(0.02)")

    async def use(window):
        return int((await until(window, b"ready\r\n")).rsplit(b"\x07", 1)[-1].split()[0])

    began = time.monotonic()
    pid = in_window(use)
    assert time.monotonic() - began < 15
    assert not os.path.exists(f"/proc/{pid}")
    assert (tmp_path / "kept").exists() is kept


def test_a_pasted_image_is_a_file_of_the_users_alone_and_gone_with_the_window(child, tmp_path):
    child(f"tty.setraw(0)\n{READY}sys.stdout.write('got ' + os.read(0, 4096).decode() + ' all')\n")

    async def use(window):
        await until(window, b"ready")
        await window.give_image(b"\x89PNG")
        out = await until(window, b"all")
        path = out.partition(b"\x1b[200~")[2].partition(b"\x1b[201~")[0].decode()
        with open(path, "rb") as file:
            return path, file.read(), os.stat(os.path.dirname(path)).st_mode & 0o077

    path, data, for_others = in_window(use)
    assert (data, for_others) == (b"\x89PNG", 0)
    assert path.endswith(".png")
    assert not os.path.exists(path)


def test_the_servers_own_terminal_is_not_the_windows():
    env = environment(
        {"TMUX": "/t", "STY": "1", "TERM": "linux", "COLUMNS": "9", "HOME": "/h", "DISPLAY": ":0"}, "light"
    )
    assert env == {
        "HOME": "/h", "DISPLAY": ":0", "TERM": "xterm-256color", "COLORTERM": "truecolor", "COLORFGBG": "0;15",
        IN_BROWSER: BROWSER,
    }  # fmt: skip
