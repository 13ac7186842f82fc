"""Where a copied text goes: tools that record what they are given, a real tmux, and what a terminal would be sent."""

import base64
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from agent_core.errors import AgentError
from nanoherm_tui import limits
from nanoherm_tui.terminal import clipboard
from nanoherm_tui.terminal.signals import BROWSER, IN_BROWSER
from tests.rows import each_row

TEXT = "first line\n第二行 “quoted” 🙂\n\ttab"


@pytest.fixture
def tools(tmp_path):
    """`tools("xclip", ...)`: a folder for PATH with these programs, which keep their arguments and input."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def make(*names, script='cat > "$RECORD/$(basename "$0").in"'):
        for name in names:
            program = folder / name
            program.write_text(f'#!/bin/sh\necho "$@" > "$RECORD/$(basename "$0").args"\n{script}\n')
            program.chmod(0o755)
        return folder

    return make


@pytest.fixture
def env(tmp_path):
    """`env(**more)`: an environment whose PATH has the tools, and what a script needs."""

    def made(**more):
        record = tmp_path / "record"
        record.mkdir(exist_ok=True)
        return {
            "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
            "RECORD": str(record),
            "TERM": "xterm-256color",
            **more,
        }

    return made


def given(tmp_path, name):
    return (tmp_path / "record" / f"{name}.in").read_bytes()


@each_row(
    ("where", "expected"),
    [
        ({}, []),
        ({"DISPLAY": ":0"}, ["xclip", "xsel"]),
        ({"WAYLAND_DISPLAY": "wayland-0"}, ["wl-copy"]),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, ["wl-copy", "xclip", "xsel"]),
        ({"WSL_DISTRO_NAME": "Debian"}, ["clip.exe"]),
        ({"WSL_DISTRO_NAME": "Debian", "WAYLAND_DISPLAY": "wayland-0"}, ["wl-copy", "clip.exe"]),
        # Over SSH the desktop of the machine logged in to is somebody else's.
        ({"SSH_CONNECTION": "a b", "DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, []),
        ({"SSH_TTY": "/dev/pts/1", "WSL_DISTRO_NAME": "Debian"}, []),
        ({"SSH_CONNECTION": "a b", "DISPLAY": "localhost:10.0"}, ["xclip", "xsel"]),
        # On a page of a browser too: the clipboard is the browser's, wherever that runs.
        ({IN_BROWSER: BROWSER, "DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, []),
    ],
)
def test_a_desktops_tool_is_tried_only_where_its_display_is_the_users(where, expected):
    assert [tool.argv[0] for tool in clipboard.native_tools(where, "linux")] == expected


def test_a_mac_has_its_own_tool_but_not_over_ssh():
    assert [tool.argv[0] for tool in clipboard.native_tools({}, "darwin")] == ["pbcopy"]
    assert clipboard.native_tools({"SSH_TTY": "/dev/ttys001"}, "darwin") == ()


def test_a_page_of_a_browser_is_given_the_text_by_its_terminal(tmp_path, tools, env):
    tools("xclip")
    copied = clipboard.copy(TEXT, env(DISPLAY=":0", **{IN_BROWSER: BROWSER}), tmp_path)
    assert (copied.how, copied.sequence) == ("browser", clipboard.osc52(TEXT.encode()))


@pytest.mark.parametrize(
    ("name", "where", "encoding"),
    [
        ("wl-copy", {"WAYLAND_DISPLAY": "wayland-0"}, "utf-8"),
        ("xclip", {"DISPLAY": ":0"}, "utf-8"),
        ("xsel", {"DISPLAY": ":0"}, "utf-8"),
        ("clip.exe", {"WSL_DISTRO_NAME": "Debian"}, "utf-16"),
    ],
)
def test_a_tool_is_given_the_whole_text_on_its_input(tmp_path, tools, env, name, where, encoding):
    tools(name)
    copied = clipboard.copy(TEXT, env(**where), tmp_path)
    assert copied == clipboard.Copied("native", name, len(TEXT))
    assert given(tmp_path, name).decode(encoding) == TEXT
    assert TEXT not in (tmp_path / "record" / f"{name}.args").read_text()


def test_a_tool_that_fails_gives_way_to_the_next(tmp_path, tools, env):
    tools("xclip", script="exit 1")
    tools("xsel")
    assert clipboard.copy(TEXT, env(DISPLAY=":0"), tmp_path).detail == "xsel"
    assert given(tmp_path, "xsel").decode() == TEXT


def test_a_tool_that_hangs_is_left_in_time_and_the_terminal_asked(tmp_path, tools, env, monkeypatch):
    monkeypatch.setattr(limits, "CLIPBOARD_SECONDS", 0.3)
    tools("wl-copy", "xclip", "xsel", script="exec sleep 30")
    begun = time.monotonic()
    copied = clipboard.copy(TEXT, env(DISPLAY=":0", WAYLAND_DISPLAY="wayland-0"), tmp_path)
    assert time.monotonic() - begun < 5
    assert copied.how == "osc52"


def test_a_tool_that_stays_to_serve_the_clipboard_is_not_waited_for(tmp_path, tools, env):
    tools("xclip", script='cat > "$RECORD/xclip.in"\nsleep 10 &')
    begun = time.monotonic()
    assert clipboard.copy(TEXT, env(DISPLAY=":0"), tmp_path).how == "native"
    assert time.monotonic() - begun < 5


def test_without_a_tool_the_terminal_is_asked_and_nothing_more_is_claimed(tmp_path, env):
    copied = clipboard.copy(TEXT, env(), tmp_path)
    assert copied.how == "osc52"
    begin, end = "\x1b]52;c;", "\x07"
    assert copied.sequence.startswith(begin)
    assert copied.sequence.endswith(end)
    assert base64.b64decode(copied.sequence[len(begin) : -len(end)]).decode() == TEXT
    assert list(tmp_path.glob("clipboard*")) == []


@pytest.mark.parametrize(
    ("where", "text"),
    [({}, "x" * (limits.OSC52_BYTES + 1)), ({"TERM": "linux"}, TEXT), ({"TERM": "dumb"}, TEXT), ({"TERM": ""}, TEXT)],
    ids=["too long for a terminal", "console", "dumb", "no terminal"],
)
def test_what_no_terminal_takes_is_written_to_a_file_of_the_users_own(tmp_path, env, where, text):
    folder = tmp_path / "home" / "cache"
    for _ in range(2):
        copied = clipboard.copy(text, env(**where), folder)
        assert copied == clipboard.Copied("file", str(folder / "clipboard.txt"), len(text))
    assert Path(copied.detail).read_text() == text
    assert stat.S_IMODE(os.stat(copied.detail).st_mode) == 0o600


def test_when_nothing_can_be_done_the_error_says_what_was_tried(tmp_path, env):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(AgentError, match="no clipboard was found"):
        clipboard.copy(TEXT, env(TERM="dumb"), tmp_path / "cache")


def test_gnu_screen_is_handed_the_sequence_in_strings_it_can_keep(tmp_path, env):
    text = "数据" * 500
    copied = clipboard.copy(text, env(STY="1.pts", TERM="screen-256color"), tmp_path)
    parts = copied.sequence.split("\x1b\\")
    assert parts.pop() == ""
    assert all(part.startswith("\x1bP") and len(part) <= 250 for part in parts)
    sequence = "".join(part.removeprefix("\x1bP") for part in parts)
    assert sequence == clipboard.osc52(text.encode())


@pytest.fixture
def tmux(tmp_path):
    """`tmux(option...)`: a server of its own; gives its TMUX variable and a way to run commands in it."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    socket = tmp_path / "tmux.sock"

    def run(*arguments):
        command = ["tmux", "-S", str(socket), "-f", os.devnull, *arguments]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout

    run("new-session", "-d", "-x", "80", "-y", "24", "sleep 60")
    yield f"{socket},{run('display-message', '-p', '#{pid}').strip()},0", run
    subprocess.run(["tmux", "-S", str(socket), "kill-server"], check=False, capture_output=True)


@pytest.mark.parametrize(
    ("setting", "detail"), [("external", "terminal"), ("on", "terminal"), ("off", "")], ids=["external", "on", "off"]
)
def test_in_tmux_its_own_buffer_takes_the_text(tmp_path, env, tmux, setting, detail):
    variable, run = tmux
    run("set", "-s", "set-clipboard", setting)
    copied = clipboard.copy(TEXT, env(TMUX=variable), tmp_path)
    assert copied == clipboard.Copied("tmux", detail, len(TEXT))
    assert run("show-buffer") == TEXT


def test_where_tmux_keeps_off_the_clipboard_but_lets_sequences_through_the_terminal_is_asked(tmp_path, env, tmux):
    variable, run = tmux
    run("set", "-s", "set-clipboard", "off")
    run("set", "-g", "allow-passthrough", "on")
    copied = clipboard.copy(TEXT, env(TMUX=variable), tmp_path)
    assert copied.how == "osc52"
    assert copied.sequence == "\x1bPtmux;\x1b" + clipboard.osc52(TEXT.encode()) + "\x1b\\"


def test_the_desktop_comes_before_tmux(tmp_path, tools, env, tmux):
    tools("xclip")
    assert clipboard.copy(TEXT, env(TMUX=tmux[0], DISPLAY=":0"), tmp_path).how == "native"


def test_a_tmux_that_is_gone_leaves_the_terminal(tmp_path, env):
    assert clipboard.copy(TEXT, env(TMUX="/nowhere/socket,1,0"), tmp_path).how == "osc52"


def test_a_text_that_is_no_unicode_is_copied_with_marks_in_its_place(tmp_path, tools, env):
    tools("xclip")
    clipboard.copy("a\udc80b", env(DISPLAY=":0"), tmp_path)
    assert given(tmp_path, "xclip") == b"a?b"
