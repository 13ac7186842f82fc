"""What the program costs when nothing happens: to start, to idle, to have been used."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.bars import Bar
from tests.bench.content import KINDS, end_of
from tests.bench.lab import ROOT, SHORT, Lab
from tests.bench.terminal import Terminal

STARTS = 3
IDLE = 20.0
TURNS = 200
FILLING = 500
"""KB of an answer that fills what is kept of drawn rows: that has a bound, so it is no growth."""
FILLING_RATE = 60_000
"""Characters a second: slow enough for every row to be drawn."""
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Rest:
    frames: int
    cpu: float
    """Percent of one core."""
    pss: float
    """MB."""


@contextlib.contextmanager
def floor(lab: Lab) -> Iterator[Terminal]:
    """The bare Textual app."""
    argv = [sys.executable, "-m", "tests.bench.floor"]
    with Terminal(argv, lab.environment(lab.folder / "home"), lab.folder / "work") as terminal:
        terminal.first_words()
        yield terminal


def start_ratio(lab: Lab) -> float:
    """Time to the first frame against the bare app's; starts of the two take turns."""
    ours, least = [], []
    for _ in range(STARTS):
        with lab.program() as terminal:
            ours.append(terminal.first_words() - terminal.started)
        with floor(lab) as terminal:
            least.append(terminal.first_words() - terminal.started)
    return statistics.median(ours) / statistics.median(least)


def rest(lab: Lab) -> Rest:
    with lab.program() as terminal:
        terminal.quiet(2.0)
        before, began = terminal.cpu(), time.monotonic()
        time.sleep(IDLE)
        used, ended = terminal.cpu() - before, time.monotonic()
        # Every byte counts as a frame: a program at rest has nothing to say.
        frames = len(terminal.frames(began, ended)) or int(terminal.bytes_since(began) > 0)
        return Rest(frames, 100 * used / (ended - began), terminal.pss())


def pss_ratio(lab: Lab) -> float:
    with floor(lab) as terminal:
        time.sleep(2.0)
        least = terminal.pss()
    return lab.once(rest).pss / least


def growth(lab: Lab) -> float:
    """MB that 200 turns have added beyond their text."""
    with lab.program(messages=SHORT) as terminal:
        mark = lab.ask(terminal, "mixed", FILLING, FILLING_RATE)
        lab.go()
        terminal.wait_for(end_of(mark))
        terminal.quiet(3.0)
        before = terminal.pss()
        for _ in range(TURNS):
            since = len(terminal.raw)
            mark = lab.ask(terminal, "mixed", 1, 0)
            terminal.wait_for(end_of(mark), since)
            terminal.quiet(0.05)
        terminal.quiet(3.0)
        return terminal.pss() - before - TURNS * len(KINDS["mixed"](1000).encode()) / MB


def modules_of_version(lab: Lab) -> float:
    """How many of Textual's and httpx's modules `--version` loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nanoherm_tui", "--version"],
        cwd=ROOT, env=lab.environment(lab.folder / "home"), capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    loaded = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    return float(sum(name.partition(".")[0] in ("textual", "httpx") for name in loaded))


BARS = (
    Bar("start: first frame ÷ bare Textual app", 1.4, "×", start_ratio),
    Bar("start: modules of Textual and httpx for --version", 0.0, "", modules_of_version),
    Bar("idle 20 s: frames", 0.0, "", lambda lab: lab.once(rest).frames),
    Bar("idle 20 s: CPU of a core", 0.5, "%", lambda lab: lab.once(rest).cpu, strict=True),
    Bar("idle: PSS ÷ bare Textual app", 2.2, "×", pss_ratio),
    Bar("200 turns: PSS beyond the text", 10.0, "MB", growth),
)
