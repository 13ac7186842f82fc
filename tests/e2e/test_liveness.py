"""The screen lives while a command runs, and follows its window while an answer streams, bare and inside tmux."""

import json
import re
import signal
import sys
import time

import pytest

from tests.e2e.screen import KEYS, SLACK
from tests.fakes.model_server import ModelServer, Reply

ARMED = 0.9
"""Seconds of silence after which a question takes a letter, with slack for a loaded machine."""
TICK = 0.2
"""Seconds between two turns of the screen's loop, at most."""
RUNNING = "⠋⠙⠹⠸⠼⠴⠦⠧"


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.long)])
def test_the_screen_ticks_while_a_command_runs(terminal, workspace, server_env, tmp_path, seconds):
    replies = [Reply(calls=[("run_command", {"command": f"sleep {seconds}"})]), Reply(text="All done.")]
    report = tmp_path / "report.json"
    with ModelServer(replies) as server:
        command = [sys.executable, "-m", "tests.bench.probe", str(report)]
        with terminal(command=command, env=server_env(server), cwd=workspace) as screen:
            screen.wait_for("test-model")
            screen.submit("sleep")
            screen.wait_for("y once")
            screen.rest(ARMED)
            since = len(screen.raw)
            screen.send("y")
            screen.wait_for("running")
            began = time.monotonic()
            counted, marks = set(), set()
            while time.monotonic() - began < seconds - 1:
                shown = screen.lines[-1]
                counted.update(re.findall(r"(\d+) s\b", shown))
                marks.update(set(shown) & set(RUNNING))
                time.sleep(0.1)
            ended = time.monotonic()
            screen.send("typed meanwhile")
            screen.wait_for("› typed meanwhile")  # how late at most, the lags say
            screen.wait_for("All done.")
            drawn = bytes(screen.raw[since:]).decode("utf-8", "replace")
            screen.signal(signal.SIGUSR1)
            screen.until(report.exists)
        lags = sorted(late for when, late in json.loads(report.read_text())["lags"] if began <= when <= ended)
    assert len(lags) > 20 * (seconds - 1)
    assert lags[round(0.99 * (len(lags) - 1))] < TICK
    assert lags[-1] < TICK * SLACK
    assert len(counted) >= seconds - 2
    # The marks step four times a second.
    assert len(marks) > 4
    assert sum(drawn.count(mark) for mark in RUNNING) >= 2 * (seconds - 1)


SIZES = ((200, 60), (120, 36), (80, 24), (79, 24), (40, 10), (1, 1))
TEXT = "".join(
    f"## Part {n}\n\nA paragraph that is long enough to be wrapped in a window that is not so wide, 第 {n} 段，"
    f"中文也会换行。 See `part_{n}.py`.\n\n- one\n- two\n\n```python\nprint({n})\n```\n\n"
    for n in range(12)
)


def settled(screen):
    """The screen once it is still, without what tells how the program came there: times, marks of what is new."""
    screen.still(0.4)
    return [re.sub(r"\d\d:\d\d|\b(?:now|\d+ (?:s|m))\b|[✓▐]", "", line).rstrip() for line in screen.lines[:-1]]


def test_a_storm_of_resizes_leaves_the_screen_of_a_fresh_program(terminal, workspace, server_env):
    with ModelServer([Reply(text=TEXT, piece=8, gap=0.004)]) as server:
        env = server_env(server)
        with terminal(env=env, cwd=workspace, columns=120, rows=36) as screen:
            screen.wait_for("test-model")
            screen.submit("write")
            screen.wait_for("Part 0")
            for gap in (0.08, 0.0):
                for size in (*SIZES, *reversed(SIZES)):
                    screen.resize(*size)
                    time.sleep(gap)
            screen.resize(120, 36)
            screen.until(lambda: "step" not in screen.lines[-1] and "Part 11" in screen.text, seconds=20 * SLACK)
            stormy = {}
            for size in ((120, 36), (40, 10)):
                screen.resize(*size)
                stormy[size] = settled(screen)
            assert screen.alive
            screen.send(KEYS["ctrl+d"])
            assert screen.wait_exit() == 0
        for size, lines in stormy.items():
            with terminal(["-c"], env=env, cwd=workspace, columns=size[0], rows=size[1]) as screen:
                screen.wait_for("ask")
                screen.until(lambda: "write" in screen.text or "print" in screen.text)
                assert settled(screen) == lines, size
