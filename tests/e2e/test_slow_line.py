"""Over a slow line, or one that stands still: what is shown is of now, keys are answered, Ctrl+C stops the turn."""

import random
import re
import time
from string import ascii_lowercase

import pytest

from tests.e2e.screen import KEYS, SLACK, Screen
from tests.fakes.model_server import ModelServer, Reply

SLOW = 15_000
"""Bytes a second: an old modem would do; a screen of this size is some 25 KB."""
LETTERS = random.Random(7)
WORDS = "".join(
    f"paragraph {n} " + " ".join("".join(LETTERS.choices(ascii_lowercase, k=9)) for _ in range(14)) + "，第三段。\n\n"
    for n in range(4_000)
)
"""No row is like the one above it: each frame has to write all of them."""
ENDLESS = Reply(text=WORDS, piece=60, gap=0.002)
FRAME = re.compile(rb"\x1b\[\?2026h(.+?)\x1b\[\?2026l", re.DOTALL)


@pytest.fixture
def streaming(workspace, server_env):
    """Starts an answer that streams faster than the line carries it."""

    def begin(*args):
        screen = Screen(args, env=server_env(server), cwd=workspace, columns=180, rows=50, holds_frames=True)
        screen.wait_for("test-model")
        screen.submit("write")
        screen.wait_for("paragraph ")
        return screen

    with ModelServer([ENDLESS]) as server:
        yield server, begin


def test_over_a_slow_line_a_key_is_answered_and_ctrl_c_stops_the_turn(streaming):
    server, begin = streaming
    with begin() as screen:
        screen.rate = SLOW
        time.sleep(1.5)  # as much as would be half a minute of old frames
        came = []
        for number in range(1, 4):
            since = len(screen.raw)
            screen.send("zqz"[number - 1])
            screen.wait_for(f"› {'zqz'[:number]}", seconds=20 * SLACK)
            came.append((len(screen.raw) - since) / SLOW)
        assert sorted(came)[1] < 2.0, came  # seconds of the line; behind a queue of frames it is more than 3
        screen.send(KEYS["ctrl+c"])
        screen.until(lambda: not server.open_streams)
        screen.wait_for("Stopped.", "› zqz", seconds=20 * SLACK)


def test_while_the_line_stands_still_ctrl_c_stops_the_turn_and_afterwards_the_newest_frame_is_drawn(streaming):
    server, begin = streaming
    with begin() as screen:
        screen.holds = True
        time.sleep(1.0)  # 20 frames, of which the terminal takes none
        screen.send(KEYS["ctrl+c"])
        screen.until(lambda: not server.open_streams)
        before = len(screen.raw)
        screen.holds = False
        screen.wait_for("Message, /command", "Stopped")
        shown = screen.still()
        assert len(screen.raw) - before < 100_000  # no more than what was under way and a frame or two
        screen.send("\x0c")  # drawn anew, all is as it was
        assert screen.still() == shown


def test_frames_a_second_are_bounded_by_the_config(streaming):
    _, begin = streaming
    with begin("--set", "display.fps=5") as screen:
        time.sleep(0.5)
        began, since = time.monotonic(), len(screen.raw)
        time.sleep(1.5)
        frames = len(FRAME.findall(bytes(screen.raw[since:])))
        assert 3 <= frames <= 5 * (time.monotonic() - began) + 2
