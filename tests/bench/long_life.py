"""Eight hours of work in eight minutes: whether the program, left running, grows or keeps what it should give back.

One replayed hour is a minute. In it go some thirty turns: answers that stream, files read, searched and changed,
commands, tasks in the background, each question answered by its key; and between them what hands do: sessions begun and
gone back to, searches, overlays, the dock, other sizes of the window. After each bout the program is left alone for a
moment and looked at. The first hour is not judged: it loads what it needs.

BENCH_HOURS makes it shorter, for who works on it.
"""

from __future__ import annotations

import contextlib
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench import work_server
from tests.bench.bars import Bar
from tests.bench.content import end_of
from tests.bench.lab import ENTER, ESC, ROOT, Lab
from tests.bench.terminal import Terminal

HOURS = float(os.environ.get("BENCH_HOURS", "8"))
HOUR = 60.0
"""Seconds of ours that a replayed one takes."""
ARMED = 0.7
"""Seconds after which a letter answers a question."""
CALM = 0.5
"""Seconds without output after which a bout is over."""
REST = 6.0
"""Seconds in which nobody does anything, every three bouts: six minutes of the replayed day."""
SETTLED = 20.0
"""Seconds a task and a title may still take after a bout."""
PAUSE = 0.5
"""Seconds without output after a key before the next: what it opened is there, and what is behind it is no Alt."""
TYPED = 0.3
"""Seconds between words and Enter: sooner, it is a line end of something pasted."""
PATIENCE = 90.0
"""Seconds that a question, or an answer, may take on a machine that does other things too."""
GLANCE = 4.0
"""Seconds after which the screen is drawn anew: of a word only the cells that differ are written, maybe in pieces."""
BEGUN = 3
"""New sessions one after the other, at the beginning."""
SEARCH = (b"Search what was said", b"hits", b"left", b"No ")
"""Of the search's first row: it asks, tells how many were found or are not looked at yet, or that there are none."""
SIZES = ((150, 40), (80, 24), (200, 60), (40, 10), (150, 40))
ASKED = frozenset({"command", "task", "edit"})
QUESTION = (b"once", b"rule", b"mode ask")
"""Of the words on a question; one of them may be written in pieces, because some of its letters stood there already."""
TURNS = ("talk", "read", "edit", "talk", "command", "plan", "talk", "grep", "task", "talk")
CTRL_L, CTRL_N, CTRL_P, CTRL_O, F1, F2, F3 = "\x0c", "\x0e", "\x10", "\x0f", "\x1bOP", "\x1bOQ", "\x1bOR"


@dataclass(frozen=True, slots=True)
class Look:
    """What the program holds at one moment of its life."""

    hour: float
    rss: float
    """MB of the program itself."""
    files: int
    threads: int
    children: int


@dataclass(frozen=True, slots=True)
class Life:
    """What is made of the looks after the first hour."""

    growth: float
    """MB in a replayed hour, by least squares."""
    more: tuple[int, int, int]
    """Open files, threads and children that there are more at the end than at the beginning."""
    turns: int


def look_at(pid: int, hour: float) -> Look:
    status = Path(f"/proc/{pid}/status").read_text()
    size, threads = (re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE) for name in ("VmRSS", "Threads"))
    assert size is not None
    assert threads is not None
    children = "".join(p.read_text() for p in Path(f"/proc/{pid}/task").glob("*/children")).split()
    return Look(hour, int(size[1]) / 1024, len(os.listdir(f"/proc/{pid}/fd")), int(threads[1]), len(children))


def slope(looks: list[Look]) -> float:
    """MB in an hour, by least squares; 0 for less than two looks."""
    if len(looks) < 2:
        return 0.0
    return statistics.linear_regression([one.hour for one in looks], [one.rss for one in looks]).slope


def more_held(looks: list[Look]) -> tuple[int, int, int]:
    """What the last third holds more than the first, each by its least look: one thing under way is no leak."""
    third = max(1, len(looks) // 3)

    def least(part: list[Look]) -> tuple[int, int, int]:
        return min(o.files for o in part), min(o.threads for o in part), min(o.children for o in part)

    begun, ended = least(looks[:third]), least(looks[-third:])
    return ended[0] - begun[0], ended[1] - begun[1], ended[2] - begun[2]


@contextlib.contextmanager
def work_model() -> Iterator[str]:
    """A server for work; gives its address."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.work_server"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    finally:
        server.terminate()
        server.wait(5.0)


class Worker:
    """Whoever sits before the program."""

    def __init__(self, lab: Lab, terminal: Terminal, folder: Path) -> None:
        self.lab, self.terminal, self.folder = lab, terminal, folder
        self.turns = self.edits = self.sessions = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            with contextlib.suppress(TimeoutError):  # a key may change nothing
                self.terminal.settled(self.terminal.send(key), PAUSE)

    def say(self, words: str) -> None:
        with contextlib.suppress(TimeoutError):  # nothing was drawn of what is there already
            self.terminal.settled(self.terminal.send(words), gap=TYPED)
        self.terminal.send(ENTER)

    def turn(self, kind: str) -> None:
        mark, since = self.lab.mark(), len(self.terminal.raw)
        self.say(f"work {kind} {mark} {self.edits}")
        if kind in ASKED:
            self.see(QUESTION, since)
            time.sleep(ARMED)
            self.terminal.send("y")
        self.see((end_of(mark).encode(),), since, asked=kind in ASKED)
        self.terminal.quiet(0.1)
        self.edits += kind == "edit"
        self.turns += 1

    def see(self, words: tuple[bytes, ...], since: int, *, asked: bool = False) -> None:
        """Wait until one of these stands on the screen; `asked`: a question that is still there is answered.

        Raises TimeoutError.
        """
        begun = drawn = time.monotonic()
        while not any(word in self.terminal.raw[since:] for word in words):
            now = time.monotonic()
            if now > begun + PATIENCE:
                shown = self.terminal.plain(bytes(self.terminal.raw[-3000:]))[-300:]
                raise TimeoutError(f"none of {words} came in {PATIENCE:g} s; last came {shown!r}")
            if now > drawn + GLANCE:
                drawn, since = now, len(self.terminal.raw)
                self.press(CTRL_L)
                if asked and any(word in self.terminal.raw[since:] for word in QUESTION):
                    time.sleep(ARMED)
                    self.terminal.send("y")
            time.sleep(0.02)

    def bout(self) -> None:
        """A third of an hour, or so: ten turns, and what lies between."""
        for number, kind in enumerate(TURNS):
            self.turn(kind)
            if number % 3 == 2:
                self.play(number)
        for size in SIZES:
            self.terminal.resize(*size)
            time.sleep(0.25)
        self.elsewhere()

    def play(self, number: int) -> None:
        """What is looked at between two turns."""
        if number == 2:
            self.press(F3, F3, F2, F2, CTRL_O, CTRL_O)
        elif number == 5:
            self.press(F1, ESC, CTRL_P, "t", "h", ESC)
        else:
            since = len(self.terminal.raw)
            self.say("/search offset")
            self.see(SEARCH, since)  # before it is there Esc would not close it
            self.press(ESC)
        self.terminal.quiet(PAUSE)

    def elsewhere(self) -> None:
        """To another session: every third time a new one, else one that has been. The first hour begins as many as
        stay awake, so that what each of them holds is there before it is judged."""
        if self.sessions < BEGUN or self.sessions % 3 == 0:
            self.press(CTRL_N)
            self.terminal.quiet(0.3)
            self.turn("talk")
            self.say(f"/rename work number {self.sessions:03}")
        else:
            self.say(f"/resume work number {self.sessions // 3 * 3:03}")
            self.terminal.quiet(0.3)
        self.sessions += 1


def lived(lab: Lab) -> Life:
    """Work for HOURS replayed hours and look at what it left."""
    work = lab.folder / "long"
    work.mkdir(exist_ok=True)
    (work / work_server.FILE).write_text("".join(work_server.line(n, 0) for n in range(work_server.LINES)))
    looks: list[Look] = []
    with work_model() as address, lab.home() as home:
        env = {**lab.environment(home), "NANOHERMES_BASE_URL": address}
        argv = [sys.executable, "-m", "nanoherm_tui"]
        with Terminal(argv, env, work) as terminal:
            terminal.first_words()
            terminal.quiet(1.0)
            worker, begun = Worker(lab, terminal, work), time.monotonic()
            while not looks or looks[-1].hour < HOURS:
                worker.bout()
                terminal.quiet(CALM, SETTLED)
                if len(looks) % 3 == 2:
                    time.sleep(REST)
                looks.append(look_at(terminal.pid, (time.monotonic() - begun) / HOUR))
                if report := os.environ.get("BENCH_LOOKS"):
                    with open(report, "a") as out:
                        print(looks[-1], worker.turns, len(terminal.raw), file=out, flush=True)
    judged = [one for one in looks if one.hour >= 1.0] or looks
    return Life(slope(judged), more_held(judged), worker.turns)


def _more(what: int) -> Callable[[Lab], float]:
    return lambda lab: float(lab.once(lived).more[what])


BARS = (
    Bar("long: 8 hours, memory in an hour", 5.0, "MB", lambda lab: lab.once(lived).growth, strict=True, long=True),
    Bar("long: 8 hours, more open files at the end", 0.0, "", _more(0), long=True),
    Bar("long: 8 hours, more threads at the end", 0.0, "", _more(1), long=True),
    Bar("long: 8 hours, more children at the end", 0.0, "", _more(2), long=True),
)
