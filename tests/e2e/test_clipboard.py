"""Selecting and copying in the whole program, in a pty and in tmux: what is copied, where it goes, what is said."""

import base64
import re

import pytest

from tests.e2e.screen import KEYS, Screen
from tests.e2e.tmux import HAS_TMUX, Tmux
from tests.fakes.model_server import ModelServer, Reply

ANSWER = (
    "The parser drops the offset when the string ends early, so every date moves by an hour: "
    "每一行都会向后移动一个小时。\n\n"
    "```py\ndef parse(text, zone):\n    return text\n```"
)
CODE = "def parse(text, zone):\n    return text"
NO_DESKTOP = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "WSL_DISTRO_NAME": "", "SSH_CONNECTION": "", "SSH_TTY": ""}

SENT = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07")


@pytest.fixture
def server():
    with ModelServer([Reply(text=ANSWER)]) as server:
        yield server


def answered(screen):
    screen.wait_for("test-model")
    screen.submit("why?")
    screen.wait_for("return text")
    screen.until(lambda: "step" not in screen.lines[-1])


def sent(screen):
    """What the program has put on the terminal's clipboard."""
    return [base64.b64decode(found).decode() for found in SENT.findall(bytes(screen.raw))]


def to_transcript(screen):
    screen.send("\x1b2")
    screen.still()


def test_without_a_desktop_the_terminal_is_asked_and_that_is_what_is_said(server, server_env, workspace):
    with Screen(env={**server_env(server), **NO_DESKTOP, "TMUX": ""}, cwd=workspace, columns=70) as screen:
        answered(screen)
        to_transcript(screen)
        screen.send("k", settle=0.2)
        screen.send("c")
        screen.wait_for(f"{len(CODE)} characters sent by OSC 52")
        screen.until(lambda: sent(screen) == [CODE])
        screen.send("Y")
        screen.until(lambda: sent(screen) == [CODE, ANSWER])


def test_the_desktops_tool_is_given_the_text_and_named(server, server_env, workspace, tmp_path):
    tool = tmp_path / "bin" / "xclip"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncat > {tmp_path}/copied\n")
    tool.chmod(0o755)
    env = {**server_env(server), **NO_DESKTOP, "TMUX": "", "DISPLAY": ":9", "PATH": f"{tool.parent}:/usr/bin:/bin"}
    with Screen(env=env, cwd=workspace, columns=120) as screen:
        answered(screen)
        screen.submit("/copy")
        screen.wait_for(f"{len(ANSWER)} characters copied (xclip).")
        assert (tmp_path / "copied").read_text() == ANSWER
        assert sent(screen) == []


@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_in_tmux_the_text_is_in_its_buffer(server, server_env, workspace):
    with Tmux(env={**server_env(server), **NO_DESKTOP}, cwd=workspace) as screen:
        answered(screen)
        screen.submit("/copy")
        screen.wait_for(f"{len(ANSWER)} characters copied to tmux")
        assert screen._run("show-buffer") == ANSWER


@pytest.mark.parametrize("columns", [60, 120])
def test_text_is_selected_with_the_mouse_and_copied_by_ctrl_c_as_it_was_written(server, server_env, workspace, columns):
    with Screen(env={**server_env(server), **NO_DESKTOP, "TMUX": ""}, cwd=workspace, columns=columns) as screen:
        answered(screen)
        lines = screen.still()
        first = next(n for n, line in enumerate(lines) if "The parser drops" in line)
        last = next(n for n, line in enumerate(lines) if "小时。" in line)
        left = lines[first].index("The parser") + 1
        mouse(screen, left + 4, first + 1, last + 1)
        screen.send(KEYS["ctrl+c"])
        screen.until(lambda: sent(screen))
        assert sent(screen) == [ANSWER.split("\n")[0].removeprefix("The ")]
        screen.send(KEYS["ctrl+c"])
        screen.wait_for("again")


def mouse(screen, x, y, to_y):
    """Drag from a cell to beyond the end of another row, as a terminal tells it; columns and rows count from 1."""
    screen.send(f"\x1b[<0;{x};{y}M", settle=0.1)
    for row in range(y, to_y + 1):
        screen.send(f"\x1b[<32;{screen.columns - 4};{row}M", settle=0.1)
    screen.send(f"\x1b[<0;{screen.columns - 4};{to_y}m", settle=0.2)


def test_text_is_selected_by_keys_alone_over_a_change_of_size(server, server_env, workspace, terminal):
    with terminal(env={**server_env(server), **NO_DESKTOP}, cwd=workspace, columns=90, rows=30) as screen:
        answered(screen)
        to_transcript(screen)
        screen.send("k", settle=0.2)
        screen.send("k", settle=0.2)
        screen.send("v", settle=0.2)
        screen.wait_for("Selecting")
        screen.send("ww", settle=0.2)
        screen.resize(60, 24)
        screen.still()
        screen.send("ww", settle=0.2)
        screen.send("y")
        screen.wait_for("21 characters")
        screen.wait_for("Selecting", gone=True)
