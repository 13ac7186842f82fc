"""Somebody goes away and comes back, by Ctrl+Z or out of tmux: nothing is lost, and the screen fits its new size."""

import os
import signal
import time

import pytest

from tests.e2e.screen import KEYS, Screen
from tests.e2e.test_terminal_modes import PROGRAM, Stage, child
from tests.e2e.tmux import HAS_TMUX, Tmux
from tests.fakes.model_server import ModelServer, Reply

LINES = 60
WORDS = "".join(f"- point {n} of the answer, 第 {n} 点\n" for n in range(LINES))
ANSWER = Reply(text=f"{WORDS}\n\nThat is all.", piece=12, gap=0.01)


def test_stopped_while_an_answer_streams_and_brought_back_in_another_size_it_goes_on(workspace, server_env):
    with (
        ModelServer([ANSWER]) as server,
        Stage(Screen, workspace, server_env(server), PROGRAM, (), stops=True) as screen,
    ):
        screen.wait_for("test-model")
        screen.submit("write")
        screen.wait_for("point 3 ")
        program = child(screen)
        screen.send(KEYS["ctrl+z"])
        screen.wait_for("STOPPED")
        seen = len(screen.raw)
        screen.resize(80, 24)
        time.sleep(0.5)
        assert b"point" not in screen.raw[seen:]  # it is the shell's terminal now
        screen.send("\r")
        screen.wait_for("That is all.", f"point {LINES - 1} ", "Message, /command")
        shown = screen.still()
        screen.send("\x0c")
        assert screen.still() == shown
        assert max(len(line) for line in shown) <= 80
        assert len(server.requests) == 1  # nothing was asked again
        os.kill(program, signal.SIGTERM)


@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
def test_a_turn_goes_on_while_tmux_is_detached_and_the_window_that_attaches_shows_its_end(workspace, server_env):
    with (
        ModelServer([ANSWER]) as server,
        Tmux(env=server_env(server), cwd=workspace, columns=120, rows=36) as screen,
    ):
        screen.wait_for("test-model")
        screen.submit("write")
        screen.wait_for("point 3 ")
        screen._run("detach-client")
        screen.until(lambda: not screen._run("list-clients").strip())
        screen.until(lambda: not server.open_streams, seconds=30)
        again = Screen(command=["tmux", "-L", screen._socket, "attach"], columns=80, rows=24, env={"TMUX": ""})
        try:
            again.wait_for("That is all.", "Message, /command")
            shown = again.still()
            assert max(len(line) for line in shown) <= 80
            assert "test-model" in shown[-1]
            again.send("a draft")
            again.wait_for("› a draft")
            assert screen.alive
        finally:
            again.__exit__()
