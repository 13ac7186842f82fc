"""The doctor in a real terminal: one that answers, one that does not, and tmux with good options and bad ones."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys

import pytest

from nanoherm_tui.text import width
from tests.e2e.screen import KEYS, Screen, home_env
from tests.e2e.test_sessions_command import run
from tests.e2e.tmux import HAS_TMUX, Tmux
from tests.fakes.model_server import ModelServer, Reply

DOCTOR = [sys.executable, "-m", "nanoherm_tui", "doctor", "--offline"]
PYTHON = shlex.quote(sys.executable)
# Only the terminal's part, between two looks at its settings.
ASK = "from nanoherm_tui.terminal.probe import ask; print('TOLD', ask('xterm', in_screen=False) is not None)"
BETWEEN = f"stty -g > before; echo READY; {PYTHON} -c {shlex.quote(ASK)}; stty -g > after; echo EXIT"

QUESTION = re.compile(rb"\x1b(?:P\$qm\x1b\\|\[[?>]?[0-9;]*\$?[a-zA-Z])")


class Terminal(Screen):
    """Answers as terminals do. `answers`: to each question, None: to none; `cells`: what a text takes."""

    def __init__(self, *args, answers=None, cells=width, **kwargs):
        self._answers, self._cells, self._line, self._left = answers, cells, "", b""
        super().__init__(*args, **kwargs)

    def _answer(self, data: bytes) -> None:
        self._left += data
        while self._answers is not None and (found := QUESTION.search(self._left)):
            before, self._left = self._left[: found.start()], self._left[found.end() :]
            self._line = (self._line + before.decode("utf-8", "replace")).rpartition("\r")[2]
            if found[0] == b"\x1b[6n":
                os.write(self._fd, b"\x1b[1;%dR" % (self._cells(self._line) + 1))
            else:
                os.write(self._fd, self._answers.get(found[0], b""))


BARE = {b"\x1b[c": b"\x1b[?62;22c"}
FULL = {
    **BARE,
    b"\x1b[?u": b"\x1b[?0u",
    b"\x1b[>0q": b"\x1bP>|Modern(1.0)\x1b\\",
    b"\x1bP$qm\x1b\\": b"\x1bP1$r48:2:1:2:3m\x1b\\",
    **{b"\x1b[?%d$p" % mode: b"\x1b[?%d;2$y" % mode for mode in (2026, 2004, 1006, 1004)},
}


def doctor(kind, home, workspace, *, env=None, **kwargs):
    more = {"VTE_VERSION": "", "TERM_PROGRAM": "", "WT_SESSION": "", "SSH_CONNECTION": "", "SSH_TTY": "", "STY": ""}
    env = home_env(home, **{**more, "DISPLAY": "", "WAYLAND_DISPLAY": "", "WSL_DISTRO_NAME": "", **(env or {})})
    return kind(command=DOCTOR, cwd=workspace, columns=140, rows=60, env=env, **kwargs)


def states(screen) -> dict[str, str]:
    """Of each title its state."""
    rows = re.findall(r"^(ok|warn|fail|skip) +(\S.*?)(?:  |$)", screen.text, re.MULTILINE)
    return {title: state for state, title in rows}


TERMINAL = ("Terminal", "Terminal: locale", "Terminal: widths", "Terminal: colours", "Terminal: keys",
            "Terminal: modes", "Terminal: copying")  # fmt: skip


def test_a_terminal_that_can_do_all_is_in_order_and_left_as_it_was(home, workspace):
    with doctor(Terminal, home, workspace, answers=FULL) as screen:
        screen.wait_for("problem")
        found = states(screen)
        assert {found[title] for title in TERMINAL} == {"ok"}
        assert "Modern(1.0)" in screen.text
        assert "tmux" not in found
        assert not re.search(rb"\x1b\[[?>=<][0-9;]*[hl]|\x1b\[[>=<][0-9]+u", screen.raw)
        for sample in ("$q", "中文", "·×…", "❤"):
            assert sample not in screen.text


def test_what_a_terminal_lacks_is_named_with_what_mends_it(home, workspace):
    def cells(text):
        return len(text.encode())  # it takes UTF-8 for a character a byte

    with doctor(Terminal, home, workspace, answers=BARE, cells=cells, env={"LC_ALL": "C"}) as screen:
        assert screen.wait_exit() == 1
        found = states(screen)
        assert found["Terminal: widths"] == "fail"
        assert "Chinese 6 instead of 4" in screen.text
        assert found["Terminal: locale"] == found["Terminal: keys"] == "warn"
        assert "> export LC_ALL=C.UTF-8" in screen.text
        assert found["Terminal: modes"] == "skip"


def test_a_terminal_that_answers_nothing_costs_little_and_is_asked_nothing_more(home, workspace):
    with doctor(Terminal, home, workspace) as screen:
        screen.wait_for("answers no question")
        screen.wait_for("problem")
        assert states(screen)["Terminal: widths"] == "skip"
        assert screen.raw.count(b"\x1b[c") == 1
        assert b"\x1b[6n" not in screen.raw
        assert b"\x1b[?u" not in screen.raw


@pytest.mark.parametrize("answers", [None, BARE, {b"\x1b[?2026$p": b"\x1b[?2026;2$y"}])
def test_asking_ends_in_time_and_gives_the_terminal_back(workspace, answers):
    with Terminal(command=["sh", "-c", BETWEEN], cwd=workspace, answers=answers) as screen:
        screen.wait_for("READY")
        screen.until(lambda: b"\x1b[c" in screen.raw)
        screen.wait_for("EXIT")
        assert f"TOLD {answers is BARE}" in screen.text
        assert (workspace / "before").read_text() == (workspace / "after").read_text()


def test_answers_that_come_late_are_no_command_to_the_shell(workspace):
    shell = f"{BETWEEN}; read -r line; echo GOT $line"
    with Terminal(command=["sh", "-c", shell], cwd=workspace) as screen:
        screen.until(lambda: b"\x1b[c" in screen.raw)
        screen.send("rm\r")
        screen.wait_for("EXIT")
        screen.send("mine\r")
        screen.wait_for("GOT mine")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_terminal_is_asked_leaves_it_whole(workspace, number):
    patient = "from nanoherm_tui import limits; limits.TERMINAL_FIRST = limits.TERMINAL_ANSWERS = 60.0"
    ask = f"import os; print('PID', os.getpid(), flush=True); {patient}; {ASK}"
    shell = f"trap : INT; stty -g > before; {PYTHON} -c {shlex.quote(ask)}; stty -g > after; echo EXIT"
    with Terminal(command=["sh", "-c", shell], cwd=workspace) as screen:
        screen.until(lambda: b"\x1b[c" in screen.raw)
        os.kill(int(re.search(r"PID (\d+)", screen.text)[1]), number)
        for reply in range(2):  # in the middle of both rounds: the signal waits for the end of the second
            screen.until(lambda reply=reply: screen.raw.count(b"\x1b[c") > reply)
            screen.send(BARE[b"\x1b[c"])
        screen.wait_for("EXIT")
        assert "TOLD" not in screen.text
        assert (workspace / "before").read_text() == (workspace / "after").read_text()


def test_without_a_terminal_it_says_why_nothing_was_asked(home, workspace):
    done = run(home, workspace, "doctor", "--offline", "--json")
    (check,) = [check for check in json.loads(done.stdout)["checks"] if check["id"] == "terminal"]
    assert (check["state"], check["fix"]) == ("skip", "")
    assert "no terminal" in check["text"]
    assert "\x1b" not in done.stdout


def test_a_tmux_of_the_project_is_not_run(home, workspace):
    program = workspace / "tmux"
    program.write_text("#!/bin/sh\ntouch touched\n")
    program.chmod(0o755)
    env = {"TMUX": f"{workspace}/socket,1,0", "PATH": f"{workspace}:/nowhere", "TERM": "tmux-256color"}
    with doctor(Terminal, home, workspace, answers=BARE, env=env) as screen:
        screen.wait_for("problem")
        assert states(screen)["tmux"] == "skip"
    assert not (workspace / "touched").exists()


# -- tmux -------------------------------------------------------------------------------------------------------------

GOOD = (("set", "-s", "set-clipboard", "external"), ("set", "-as", "terminal-features", ",xterm*:RGB:extkeys"))
BAD = (
    ("set", "-s", "escape-time", "500"),
    ("set", "-s", "extended-keys", "off"),
    ("set", "-s", "set-clipboard", "off"),
)


def in_tmux(home, workspace, options, **env):
    """The doctor in a pane; the options are set before, and the terminal attaches once more to have them."""
    command = ["sh", "-c", f"read go; {shlex.join(DOCTOR)}; echo CODE $?; sleep 60"]
    screen = Tmux(command=command, cwd=workspace, columns=140, rows=60, env=home_env(home, **env))
    for words in options:
        screen._run(*words)
    screen.send("\r")
    return screen


@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_tmux_with_good_options_is_in_order(home, workspace):
    with in_tmux(home, workspace, GOOD) as screen:
        screen.wait_for("CODE")
        found = states(screen)
        assert (found["tmux"], found["Terminal"]) == ("ok", "ok")
        assert found["Terminal: copying"] == "ok"
        assert "set -s" not in screen.text


@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_each_bad_option_of_tmux_is_named_with_the_line_for_its_config(home, workspace):
    with in_tmux(home, workspace, BAD, TERM="screen") as screen:
        screen.wait_for("CODE")
        found = states(screen)
        assert found["tmux"] == found["Terminal: keys"] == found["Terminal: copying"] == "warn"
        for line in ("set -s escape-time 10", "set -s extended-keys on", "set -s set-clipboard on"):
            assert line in screen.text
        assert "~/.tmux.conf" in screen.text


# -- in the program ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["answering", "silent", pytest.param("tmux", marks=pytest.mark.long)])
def test_the_program_shows_the_same_in_its_dock_and_goes_on(home, workspace, kind):
    if kind == "tmux" and not HAS_TMUX:
        pytest.skip("tmux is not installed")
    how = {"answering": (Terminal, {"answers": FULL}), "silent": (Terminal, {}), "tmux": (Tmux, {})}
    start, more = how[kind]
    with ModelServer([Reply("hi")]) as server:
        env = home_env(home, NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with start([], env=env, cwd=workspace, columns=160, rows=70, **more) as screen:
            screen.wait_for("is ready")
            screen.submit("/doctor")
            screen.wait_for("Terminal: copying", "Sandbox: ", "✓ doctor")
            named = {"answering": "Modern(1.0)", "silent": "answers no question", "tmux": "tmux 3."}[kind]
            assert named in screen.text
            screen.type("still typing")
            screen.wait_for("› still typing")
            screen.send(KEYS["ctrl+c"])
            screen.submit("/exit")
            assert screen.wait_exit() == 0
