"""A start with much configured against one with nothing of it: 50 skills, 3 MCP servers, 10,000 memories.

Both homes have a config.yaml: what is compared is what stands in it. The first start of the furnished one is not
measured: it asks the servers what they offer, which is kept.

The two are started at the same moment, and what counts is the median of the ratios of such twins: a machine may be
twice as fast from one second to the next, or busy with other things, but it is so for both of them.
"""

from __future__ import annotations

import contextlib
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.bars import Bar
from tests.bench.lab import ROOT, Lab
from tests.bench.remembering import memory_file
from tests.bench.terminal import Terminal

TWINS = 21
"""Starts of each kind, which of them is the first in turn."""
MESSAGES = 5
"""Starts of each kind with a first message, one after the other."""
SKILLS = 50
SERVERS = ("files", "issues", "mail")
SERVER = ROOT / "tests" / "fakes" / "mcp_bad_server.py"
TOOLS = 10
"""Of each server, beside its own few."""
READY = "JKQXJKQX"
"""The model's name: it comes on the screen with the first session, when a message can be sent to it."""
REST = 3.0
"""Seconds without output after which the servers have said what they offer."""
LONGEST = 60.0
"""Seconds that a first message may take to its request."""


@dataclass(frozen=True, slots=True)
class Started:
    first: float
    """Seconds to the first frame."""
    first_cpu: float
    """CPU seconds used by then."""
    ready: float
    """Seconds until the session is there."""
    ready_cpu: float


def furnish(home: Path) -> None:
    """Put the skills, servers and memories into a home."""
    ours = home / ".nanohermes"
    for number in range(SKILLS):
        folder = ours / "skills" / f"skill-{number}"
        folder.mkdir(parents=True)
        head = f"---\nname: skill-{number}\ndescription: What to do with things of kind {number}, step by step\n---\n"
        (folder / "SKILL.md").write_text(f"{head}# Steps\n" + "Do this, then that.\n" * 40)
    shutil.copyfile(memory_file(home.parent / "remembering"), ours / "memory.json")
    (ours / "memory.json").chmod(0o600)
    with (ours / "config.yaml").open("a") as config:
        config.write("mcp_servers:\n")
        for name in SERVERS:
            config.write(f"  {name}:\n    command: {sys.executable}\n    args: [{SERVER}, tools={TOOLS}]\n")


@contextlib.contextmanager
def homes(lab: Lab) -> Iterator[tuple[Path, Path]]:
    """A plain home and a furnished one, each started once."""
    with lab.home() as plain, lab.home() as full:
        for home in (plain, full):
            (home / ".nanohermes" / "config.yaml").write_text("display:\n  theme: nanoherm-dark\n")
        furnish(full)
        for home in (plain, full):
            with started(lab, home) as terminal:
                terminal.wait_for(READY)
                terminal.quiet(REST)
        yield plain, full


@contextlib.contextmanager
def started(lab: Lab, home: Path, *arguments: str) -> Iterator[Terminal]:
    environment = {**lab.environment(home), "NANOHERMES_MODEL": READY}
    argv = [sys.executable, "-m", "nanoherm_tui", *arguments]
    with Terminal(argv, environment, lab.folder / "work") as terminal:
        yield terminal


def twins(lab: Lab, homes: Sequence[Path]) -> list[Started]:
    """One start in each home, at the same time."""
    with contextlib.ExitStack() as stack:
        both = [stack.enter_context(started(lab, home)) for home in homes]
        ready = [terminal.wait_for(READY) for terminal in both]
        return [_started(terminal, moment) for terminal, moment in zip(both, ready, strict=True)]


def _started(terminal: Terminal, ready: float) -> Started:
    first = terminal.first_words()
    begun = terminal.started
    return Started(first - begun, terminal.cpu_at(first), ready - begun, terminal.cpu_at(ready))


def ratios(lab: Lab) -> Started:
    """The furnished start for each second of the plain one."""
    pairs = []
    with homes(lab) as (plain, full):
        for number in range(TWINS):
            first, second = (plain, full) if number % 2 else (full, plain)
            begun = dict(zip((first, second), twins(lab, (first, second)), strict=True))
            pairs.append((begun[plain], begun[full]))
    return Started(
        *(statistics.median(getattr(b, name) / getattr(a, name) for a, b in pairs) for name in Started.__slots__)
    )


def asked(lab: Lab, home: Path) -> float:
    """Seconds from a start with a first message to its request."""
    before = len(lab.arrivals())
    with started(lab, home, f"bench line 0.2 0 {lab.mark()}") as terminal:
        terminal.wait_for(READY)
        while len(came := lab.arrivals()) == before:
            if time.monotonic() > terminal.started + LONGEST:
                raise TimeoutError(f"no request in {LONGEST:g} s")
            time.sleep(0.05)
        return came[before] - terminal.started


def later(lab: Lab) -> float:
    """Seconds: what has to do with the message is looked for among the memories, for the first time in the program."""
    with homes(lab) as pair:
        plain, full = zip(*([asked(lab, home) for home in pair] for _ in range(MESSAGES)), strict=True)
    return statistics.median(full) - statistics.median(plain)


_WITH = f"{SKILLS} skills, {len(SERVERS)} servers, 10,000 memories ÷ none"
BARS = (
    Bar(f"start with {_WITH}: first frame", 1.05, "×", lambda lab: lab.once(ratios).first),
    Bar(f"start with {_WITH}: CPU to the first frame", 1.05, "×", lambda lab: lab.once(ratios).first_cpu),
    Bar(f"start with {_WITH}: session", 1.05, "×", lambda lab: lab.once(ratios).ready),
    Bar(f"start with {_WITH}: CPU to the session", 1.05, "×", lambda lab: lab.once(ratios).ready_cpu),
    Bar("start with the same and a first message: its request comes later by", 1.0, "s", later),
)
