"""Killed at any moment of a turn: every stored message loads, no effect is repeated, and the next turn works.

The turn reads three files, changes two and runs a command, against a model server that refuses what real ones refuse.
Source: INT-09, NUM-19.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import statistics
import subprocess
import sys
import threading
from collections import Counter

import pytest

from tests.fakes.model_server import ModelServer, Reply
from tests.real.kill_child import NEXT, PROMPT, READS

LONG = pytest.mark.long, pytest.mark.timeout(1_200)
"""Each of some hundred trials is two turns: on a busy machine that is more than any other test may take."""

USUAL = pytest.mark.timeout(400)
"""Some fifteen trials in one test: it is the sum that takes long there."""

PROGRAMS = 2
"""Side by side, which wait for each other and for the disk some of their time; each loads everything first."""

STEPS = (
    Reply("I look.", calls=[("read_file", {"path": name}) for name in READS], gap=0.002),
    Reply(
        calls=[
            ("write_file", {"path": "new.txt", "content": "new\n"}),
            ("edit_file", {"path": "log.txt", "old_text": "END\n", "new_text": "edited\nEND\n"}),
        ]
    ),
    Reply("Now the command.", calls=[("run_command", {"command": "echo ran >> counter; sleep 0.03"})], gap=0.002),
    Reply("It is done. " * 4, gap=0.002),
)


def model(body: dict, number: int) -> Reply:
    """The next step of the turn that its last user message began."""
    since = itertools.takewhile(lambda message: message["role"] != "user", reversed(body["messages"]))
    steps = sum(message["role"] == "assistant" for message in since)
    last = next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")
    # Two messages of the user's in a row are one on the wire.
    return STEPS[steps] if PROMPT in str(last) and NEXT not in str(last) else Reply("all right")


class Programs:
    """Warm programs that run trials side by side."""

    def __init__(self, tmp_path):
        self.server = ModelServer(model)
        self._folders = (tmp_path / str(n) for n in itertools.count())
        self._children: list[subprocess.Popen] = []

    def __enter__(self):
        self.server.__enter__()
        self._children = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.real.kill_child", self.server.base_url],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(PROGRAMS)
        ]
        return self

    def __exit__(self, *exc):
        for child in self._children:
            child.stdin.close()
            child.wait(30)
            child.stdout.close()
        self.server.__exit__(*exc)

    def run(self, trials: list[dict]) -> list[dict]:
        waiting = list(reversed(trials))
        reports: list[dict] = []

        def serve(child: subprocess.Popen) -> None:
            while waiting:
                trial = waiting.pop() | {"folder": str(next(self._folders))}
                child.stdin.write(json.dumps(trial) + "\n")
                child.stdin.flush()
                reports.append(json.loads(child.stdout.readline() or '{"error": "the program has ended"}'))
                shutil.rmtree(trial["folder"], ignore_errors=True)

        threads = [threading.Thread(target=serve, args=(child,)) for child in self._children]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return reports


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    with Programs(tmp_path_factory.mktemp("kills")) as started:
        yield started


def all_is_well(programs: Programs, reports: list[dict], count: int) -> None:
    wrong = [report for report in reports if "error" in report]
    assert not wrong, f"{len(wrong)} of {count}: {wrong[0].get('trial')}\n{wrong[0]['error']}"
    assert programs.server.violations == []
    assert len(reports) == count


@pytest.mark.parametrize("kills", [pytest.param(12, marks=USUAL), pytest.param(200, marks=LONG)])
def test_kills_at_any_moment(programs, kills):
    whole = programs.run([{} for _ in range(2)])
    all_is_well(programs, whole, 2)
    assert all(words[:1] == ["ended"] and words[2] == "completed" for words in (r["said"][-1] for r in whole))
    length = statistics.median(report["seconds"] for report in whole)
    marks = min(sum(words[0] in ("begun", "mark") for words in report["said"]) for report in whole)
    draw = random.Random(4)
    # Evenly over what happens in the turn, so that no part of it is missed however busy this machine is.
    trials = [{"mark": 1 + n * marks // kills, "delay": draw.uniform(0, length / marks)} for n in range(kills)]
    reports = programs.run(trials)
    all_is_well(programs, reports, kills)
    phases = Counter(report["phase"] for report in reports)
    print(f"{marks} marks in {length * 1000:.0f} ms; {dict(phases)}; unknown {sum(r['unknown'] for r in reports)}")
    assert all(report["died"] for report in reports)
    assert phases["ended"] <= kills // 4, "the kills hit the turn"
    phases["after 3 replies"] += phases["after 4 replies"]  # the last one: what is behind it is short
    for replies in range(4):
        assert phases[f"after {replies} replies"] >= 1, f"each part of the turn is hit: {phases}"
    assert sum(report["unknown"] for report in reports) >= kills // 40, "some calls were under way"


@pytest.mark.parametrize("each", [pytest.param(15, marks=USUAL), pytest.param(1, marks=LONG)])
def test_a_kill_before_and_after_a_write(programs, each):
    """Of `each` writes one is tried: the others are among the long tests."""
    [whole] = programs.run([{"write": -1}])
    all_is_well(programs, [whole], 1)
    assert ["queued"] in whole["said"]
    writes = int(whole["said"][-1][1])
    assert writes >= 20, "the hook sees the turn's writes"
    trials = [{"write": n, "moment": moment} for n in range(1, writes + 1, each) for moment in ("before", "after")]
    reports = programs.run(trials)
    all_is_well(programs, reports, len(trials))
    ended = sum(report["phase"] == "ended" for report in reports)
    print(f"{writes} writes; {dict(Counter(report['phase'] for report in reports))}")
    assert ended <= 4, "nearly every one died at its write"


@pytest.mark.parametrize("kills", [6, pytest.param(60, marks=LONG)])
def test_kills_while_a_session_lies_down_rests_and_wakes(programs, kills):
    """Whatever it has let go of is on disk: both turns, the draft, and no call that anybody would do again."""
    draw = random.Random(7)
    trials = [{"rests": 1 + n % 6, "delay": draw.uniform(0, 0.004)} for n in range(kills)]
    reports = programs.run(trials)
    all_is_well(programs, reports, kills)
    assert all(report["died"] for report in reports)
    assert {report["phase"] for report in reports} == {"at rest", "awake again"}
    assert not any(report["unknown"] for report in reports)
