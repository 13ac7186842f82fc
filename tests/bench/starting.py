"""A start with much configured against one with nothing of it: 50 skills, 3 MCP servers, 10,000 memories.

Both homes have a config.yaml: what is compared is what stands in it. The first start of the furnished one is not
measured: it asks the servers what they offer, which is kept.
"""

from __future__ import annotations

import contextlib
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.bars import Bar
from tests.bench.lab import ROOT, Lab
from tests.bench.remembering import memory_file
from tests.bench.terminal import Terminal

STARTS = 11
"""Of each kind, in turn."""
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
    """Medians."""

    first: float
    """Seconds to the first frame."""
    first_cpu: float
    """CPU seconds used by then."""
    ready: float
    """Seconds until the session is there."""
    ready_cpu: float
    asked: float
    """Seconds from a start with a first message to its request."""


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
            begin(lab, home)
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


def begin(lab: Lab, home: Path) -> Started:
    """One start in a home, and one with a first message."""
    with started(lab, home) as terminal:
        first, first_cpu = terminal.first_words() - terminal.started, terminal.cpu()
        ready, ready_cpu = terminal.wait_for(READY) - terminal.started, terminal.cpu()
    before = len(lab.arrivals())
    with started(lab, home, f"bench line 0.2 0 {lab.mark()}") as terminal:
        terminal.wait_for(READY)
        while len(came := lab.arrivals()) == before:
            if time.monotonic() > terminal.started + LONGEST:
                raise TimeoutError(f"no request in {LONGEST:g} s")
            time.sleep(0.05)
        asked = came[before] - terminal.started
    return Started(first, first_cpu, ready, ready_cpu, asked)


def both(lab: Lab) -> tuple[Started, Started]:
    """The plain and the furnished start; the two take turns."""
    with homes(lab) as pair:
        runs = [[begin(lab, home) for home in pair] for _ in range(STARTS)]
    plain, full = zip(*runs, strict=True)
    return _medians(plain), _medians(full)


def _medians(runs: tuple[Started, ...]) -> Started:
    return Started(*(statistics.median(getattr(run, name) for run in runs) for name in Started.__slots__))


def _ratio(lab: Lab, field: str) -> float:
    plain, full = lab.once(both)
    least: float = getattr(plain, field)
    most: float = getattr(full, field)
    return most / least


def _later(lab: Lab) -> float:
    """Seconds: what has to do with the message is looked for among the memories, for the first time in the program."""
    plain, full = lab.once(both)
    return full.asked - plain.asked


_WITH = f"{SKILLS} skills, {len(SERVERS)} servers, 10,000 memories ÷ none"
BARS = (
    Bar(f"start with {_WITH}: first frame", 1.05, "×", lambda lab: _ratio(lab, "first")),
    Bar(f"start with {_WITH}: CPU to the first frame", 1.05, "×", lambda lab: _ratio(lab, "first_cpu")),
    Bar(f"start with {_WITH}: session", 1.05, "×", lambda lab: _ratio(lab, "ready")),
    Bar(f"start with {_WITH}: CPU to the session", 1.05, "×", lambda lab: _ratio(lab, "ready_cpu")),
    Bar("start with the same and a first message: its request comes later by", 1.0, "s", _later),
)
