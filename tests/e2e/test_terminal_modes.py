"""The terminal is as it was after every way out of the program, bare and inside tmux."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.screen import KEYS, ROOT, SLACK, Screen, home_env
from tests.fakes.model_server import ModelServer, Reply

# Modes that must be off at the end: mouse, focus, paste, the alternate screen, wrapping off, a hidden caret.
AT_THE_END = {1000: b"l", 1002: b"l", 1003: b"l", 1006: b"l", 1004: b"l", 2004: b"l", 1049: b"l", 7: b"h", 25: b"h"}
KITTY_PUSH, KITTY_POP = re.compile(rb"\x1b\[>\d+u"), re.compile(rb"\x1b\[<\d*u")

# `set -m`: the program is a job of its own, so that it can be stopped and brought back.
SHELL = """\
set -m
stty -g > before
{program}
code=$?
while [ $code -eq {stopped} ]; do
  stty -g > stopped; echo STOPPED; read line; fg; code=$?
done
stty -g > after
echo EXIT $code
"""
STOPPED = 128 + signal.SIGSTOP

CRASH = """\
import importlib
import sys

from nanoherm_tui.cli import main

where, spare = sys.argv[1], int(sys.argv[2])
module, _, path = where.partition(":")
*owners, name = path.split(".")
owner = importlib.import_module(module)
for part in owners:
    owner = getattr(owner, part)
original, calls = getattr(owner, name), []


def crash(*args, **kwargs):
    calls.append(1)
    if len(calls) > spare:
        raise ZeroDivisionError("on purpose")
    return original(*args, **kwargs)


setattr(owner, name, crash)
sys.exit(main(sys.argv[3:]))
"""

PROGRAM = [sys.executable, "-m", "nanoherm_tui"]


def crashing(workspace, where, spare=0):
    (workspace / "crash.py").write_text(CRASH)
    return [sys.executable, str(workspace / "crash.py"), where, str(spare)]


class Stage:
    """A shell that notes the terminal's settings, runs the program, and notes them again."""

    def __init__(self, terminal, workspace, env, program=PROGRAM, args=("--demo",), stops=False):
        """`stops`: the program is stopped and brought back, by a shell that can; tmux too has a real one."""
        command = [sys.executable, "-m", "tests.e2e.job_shell", *program[1:], *args]
        if stops or terminal is not Screen:
            (workspace / "run.sh").write_text(SHELL.format(program=" ".join([*program, *args]), stopped=STOPPED))
            command = ["bash", "run.sh"]
        # A terminal that answers what it is asked: no answer may be left for the shell to read.
        more = {"holds_frames": True, "ground": "1111/1111/1111"} if terminal is Screen else {}
        self.workspace = workspace
        self.screen = terminal(command=command, env=env, cwd=workspace, **more)

    def __enter__(self):
        self.screen.__enter__()
        return self.screen

    def __exit__(self, *exc):
        try:
            if exc[0] is None:
                self.check()
        finally:
            self.screen.__exit__(*exc)

    def check(self):
        screen = self.screen
        screen.wait_for("EXIT")
        raw = bytes(screen.raw)
        for mode, wanted in AT_THE_END.items():
            settings = re.findall(rb"\x1b\[\?%d([hl])" % mode, raw)
            assert settings[-1:] in ([wanted], []), f"mode {mode}"
        assert len(KITTY_PUSH.findall(raw)) <= len(KITTY_POP.findall(raw))
        if not isinstance(screen, Screen):
            assert set(screen.modes().values()) == {"0"}, screen.modes()
        assert (self.workspace / "after").read_text() == (self.workspace / "before").read_text()
        assert "rgb:" not in screen.text
        assert "2026;2" not in screen.text
        assert "locals" not in screen.text


def exit_code(screen):
    screen.until(lambda: re.search(r"EXIT \d", screen.text))
    return int(re.search(r"EXIT (\d+)", screen.text)[1])


def child(screen):
    """The program: what the shell started."""
    children = Path(f"/proc/{screen.program}/task/{screen.program}/children")
    screen.until(lambda: children.read_text().split())
    return int(children.read_text().split()[0])


def started(screen):
    screen.wait_for("Scripted demo, not an AI.")
    screen.send(KEYS["ctrl+c"])  # the first message that the demo has written
    screen.wait_for("Message, /command")


def by_command(screen):
    screen.submit("/exit")


def by_ctrl_d(screen):
    screen.send(KEYS["ctrl+d"])


def by_ctrl_c_twice(screen):
    screen.send(KEYS["ctrl+c"])
    screen.wait_for("again quits")
    screen.send(KEYS["ctrl+c"])


def by_signal(number):
    return lambda screen: os.kill(child(screen), number)


def with_an_overlay_open(screen):
    screen.send(KEYS["ctrl+p"])
    screen.wait_for("New session")
    os.kill(child(screen), signal.SIGTERM)


WAYS = {
    "/exit": (by_command, 0),
    "Ctrl+D": (by_ctrl_d, 0),
    "Ctrl+C twice": (by_ctrl_c_twice, 0),
    "SIGINT": (by_signal(signal.SIGINT), 130),
    "SIGTERM": (by_signal(signal.SIGTERM), 143),
    "SIGHUP": (by_signal(signal.SIGHUP), 129),
    "SIGTERM while an overlay is open": (with_an_overlay_open, 143),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_terminal_is_whole_after(terminal, home, workspace, way):
    leave, code = WAYS[way]
    with Stage(terminal, workspace, home_env(home)) as screen:
        started(screen)
        leave(screen)
        assert exit_code(screen) == code


def test_the_terminal_is_whole_after_sigterm_while_an_answer_streams(terminal, workspace, server_env):
    text = "word " * 4_000
    with (
        ModelServer([Reply(text=text, piece=5, gap=0.005)]) as server,
        Stage(terminal, workspace, server_env(server), args=("go",)) as screen,
    ):
        screen.wait_for("word word word")
        began = time.monotonic()
        os.kill(child(screen), signal.SIGTERM)
        assert exit_code(screen) == 143
        assert time.monotonic() - began < 1.5 * SLACK


# Where it breaks, how often it may go well before, whether the program lives on, and with which words.
CRASHES = {
    "in the worker": ("agent_core.mind.agent:run_turn", 0, True),
    "at the desk": ("agent_core.desk.host:Host.sessions", 0, True),
    "on the loop": ("nanoherm_tui.app:NanohermApp.show_status", 6, False),
    "in the first frame": ("nanoherm_tui.panes.status:StatusLine.render_line", 0, False),
    "before the first frame": ("nanoherm_tui.app:NanohermApp.compose", 0, False),
    "while the core opens": ("agent_core.desk.host:Host.__init__", 0, False),
}


@pytest.mark.parametrize("where", CRASHES)
def test_the_terminal_is_whole_after_a_crash(terminal, home, workspace, where):
    place, spare, lives_on = CRASHES[where]
    with Stage(terminal, workspace, home_env(home), crashing(workspace, place, spare)) as screen:
        if where in ("in the worker", "on the loop"):
            screen.wait_for("Scripted demo, not an AI.")
            screen.rest(0.3)
            screen.send(KEYS["enter"])
        screen.wait_for("ZeroDivisionError")
        if lives_on:
            screen.rest(0.3)
            screen.send(KEYS["ctrl+c"])
            screen.wait_for("Message, /command")
            screen.submit("/exit")
        assert exit_code(screen) == (0 if lives_on else 1)
        if not lives_on:
            # In words, not a dump of the program's inside.
            assert "Traceback" not in screen.text
            assert "ZeroDivisionError: on purpose" in screen.text
            assert "textual run" not in screen.text


def test_a_config_that_cannot_be_read_stops_before_the_screen(terminal, home, workspace):
    (home / ".nanohermes").mkdir(parents=True, exist_ok=True)
    (home / ".nanohermes" / "config.yaml").write_bytes(b"model:\n  default: [1,2\n")
    with Stage(terminal, workspace, home_env(home)) as screen:
        screen.wait_for("config.yaml")
        if "EXIT" not in screen.text:
            screen.send(KEYS["ctrl+c"], 0.3)
            screen.submit("/exit")
        assert exit_code(screen) in (0, 78)
        assert "Traceback" not in screen.text


EDITOR = """#!/bin/sh
trap 'echo interrupted >> {log}' INT
stty -g > {log}.stty
echo EDITOR IS HERE
while [ ! -e {log}.end ]; do sleep 0.05; done
echo from the editor >> "$1"
"""


@pytest.mark.parametrize("way", ["/exit afterwards", "Ctrl+C in the editor", "SIGTERM meanwhile"])
def test_the_terminal_is_whole_after_the_user_s_editor(terminal, home, workspace, way):
    log, editor = workspace / "log", workspace / "editor.sh"
    editor.write_text(EDITOR.format(log=log))
    editor.chmod(0o755)
    with Stage(terminal, workspace, home_env(home, EDITOR=str(editor), VISUAL="")) as screen:
        started(screen)
        screen.send("a draft")
        screen.wait_for("› a draft")
        screen.send(KEYS["ctrl+g"])
        screen.wait_for("EDITOR IS HERE")
        assert (workspace / "log.stty").read_text() == (workspace / "before").read_text()
        if way == "Ctrl+C in the editor":
            screen.send(KEYS["ctrl+c"])
            screen.until(log.exists)
        elif way == "SIGTERM meanwhile":
            os.kill(child(screen), signal.SIGTERM)
            time.sleep(0.3)
        (workspace / "log.end").touch()
        if way == "SIGTERM meanwhile":
            assert exit_code(screen) == 143
        else:
            screen.wait_for("from the editor", "scripted")
            screen.send(KEYS["ctrl+c"])
            screen.wait_for("Message, /command")
            screen.submit("/exit")
            assert exit_code(screen) == 0


def test_stopped_and_brought_back_the_screen_is_as_before(terminal, home, workspace):
    with Stage(terminal, workspace, home_env(home), stops=True) as screen:
        started(screen)
        screen.send("a draft")
        screen.wait_for("› a draft")
        before = screen.still()
        for _ in range(2):
            screen.send(KEYS["ctrl+z"])
            screen.wait_for("STOPPED")
            raw = bytes(screen.raw)
            for mode, wanted in AT_THE_END.items():
                settings = re.findall(rb"\x1b\[\?%d([hl])" % mode, raw)
                assert settings[-1:] in ([wanted], []), f"mode {mode} while stopped"
            assert (workspace / "stopped").read_text() == (workspace / "before").read_text()
            screen.send("\r")
            screen.wait_for("STOPPED", gone=True)  # the emulator has one screen: only what is drawn anew covers it
            screen.wait_for("› a draft")
            assert screen.still() == before
        screen.send("!")
        screen.wait_for("› a draft!")
        screen.send(KEYS["ctrl+c"], 0.3)
        screen.submit("/exit")
        assert exit_code(screen) == 0


def test_when_the_terminal_is_closed_the_program_ends_and_the_session_is_kept(terminal, workspace, server_env):
    with ModelServer([Reply(text="A first answer.")]) as server:
        env = server_env(server)
        screen = terminal(env=env, cwd=workspace)
        with screen:
            screen.wait_for("test-model")
            screen.submit("remember this")
            screen.wait_for("A first answer.")
            screen.still()
            screen.send("typed and not sent")
            screen.wait_for("› typed and not sent")
            pid = screen.program
            screen.hang_up()
            assert gone(pid, 3 * SLACK)
            if terminal is Screen:
                assert screen.wait_exit() == 129
        with terminal(["-c"], env=env, cwd=workspace) as screen:
            screen.wait_for("remember this", "A first answer.", "› typed and not sent")


def gone(pid, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_a_terminal_that_goes_away_ends_the_program_though_no_signal_says_so(home, workspace):
    ours, its = os.openpty()
    env = {**os.environ, **home_env(home), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    # A session of its own without a controlling terminal: nobody sends it SIGHUP.
    program = subprocess.Popen([*PROGRAM, "--demo"], stdin=its, stdout=its, stderr=its, cwd=workspace, env=env,
                               start_new_session=True)  # fmt: skip
    os.close(its)
    try:
        said = b""
        while b"Scripted" not in said:
            said += os.read(ours, 4096)
        os.close(ours)
        assert program.wait(30) == 129
    finally:
        program.kill()
        program.wait()
