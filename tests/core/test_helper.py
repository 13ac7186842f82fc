"""Programs of our own that are given bytes and answer: what came, how much of it, and that none outstays its time."""

import os
import threading
import time

import pytest

from agent_core import helper
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted

ECHO = """
import json, sys
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(json.dumps({"words": sys.argv[1:], "bytes": len(data)}).encode() + b"\\n" + data)
"""


@pytest.fixture
def ask(tmp_path):
    def asked(text, words=(), data=b"", *, seconds=10.0, most=1_000, cancel=None):
        program = tmp_path / "program.py"
        program.write_text(text)
        return helper.ask(str(program), words, data, memory=64, seconds=seconds, most=most, cancel=cancel)

    return asked


@pytest.mark.parametrize(("size", "is_cut"), [(0, False), (999, False), (1_000, False), (1_001, True), (300_000, True)])
def test_it_gets_its_words_its_bounds_and_the_bytes_and_is_read_as_far_as_was_asked(ask, size, is_cut):
    answer = ask(ECHO, ("fit", "-x"), os.urandom(size), seconds=9.5)
    assert answer.about == {"words": ["fit", "-x", "64", "10"], "bytes": size}
    assert (len(answer.out), answer.is_cut, answer.is_late) == (min(size, 1_000), is_cut, False)


@pytest.mark.parametrize(
    "text",
    ["", "raise SystemExit(3)", "import os; os.abort()", "print('no JSON')", "print('[1]')", "print('{')"],
)
def test_one_that_falls_or_talks_otherwise_has_said_nothing(ask, text):
    assert ask(text).about == {}


def test_one_that_complains_more_than_a_pipe_holds_ends_with_its_time(ask):
    """Nobody reads what it complains of."""
    assert ask("import sys; sys.stderr.write('x' * 300_000); print('{}')", seconds=0.8).is_late


def test_one_that_goes_on_is_killed_when_its_time_is_over_or_the_turn_is_stopped(ask):
    sleeps = "import time; print('{}', flush=True); time.sleep(60)"
    began = time.monotonic()
    assert ask(sleeps, seconds=0.3).is_late
    scope = CancelScope()
    threading.Timer(0.3, scope.cancel).start()
    with pytest.raises(Interrupted):
        ask(sleeps, seconds=50, cancel=scope)
    assert time.monotonic() - began < 30
