"""grep and glob over 100,000 files, beside ripgrep itself; and what a command that never stops talking costs."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agent_core import limits
from agent_core.confinement import Confinement
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox.policy import UNCONFINED, Box, SandboxPolicy
from agent_core.tools import grep
from agent_core.tools.builtin import builtin_tools
from agent_core.workspace import folders
from agent_core.workspace.secret_files import WALKS
from tests.bench.bars import Bar
from tests.bench.lab import ROOT, Lab
from tests.core.tool_support import context

FILES = 100_000
EACH = 20
"""Files in a folder."""
NEEDLES = 100
COMMON = "account"
"""Of WORDS: nearly every file has it, and grep ends with its 200th line."""
PAIRS = 7
WORDS = [
    "account", "batch", "cache", "config", "date", "entry", "export", "filter", "handler", "import", "index", "ledger",
    "model", "parse", "report", "token",
]  # fmt: skip
SEED = 3
ANSWER = 1.0
"""Seconds that a quick model takes from a message to its first call."""
TALK = 300
"""MB of output."""
TOOLS = {tool.name: tool for tool in builtin_tools()}


def forest(lab: Lab) -> Path:
    """A workspace of FILES small files, made once; every thousandth has the needle."""
    root = lab.folder / "forest" / "ws"
    if root.exists():
        return root
    dice = random.Random(SEED)
    for number in range(FILES // EACH):
        folder = root / f"part{number % 20}" / f"module{number}"
        folder.mkdir(parents=True)
        for place in range(EACH):
            text = "".join(" ".join(dice.choices(WORDS, k=8)) + "\n" for _ in range(12))
            needle = (number * EACH + place) % (FILES // NEEDLES) == 0
            (folder / f"{dice.choice(WORDS)}_{place}.py").write_text(text + "the needle\n" * needle)
    return root


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def ask(
    lab: Lab, name: str, confine: Callable[[Box], SandboxPolicy | None] | None = None, **args: object
) -> Callable[[], str]:
    ctx = context(forest(lab).parent, **({"confine": confine} if confine else {}))

    def run() -> str:
        return TOOLS[name].prepare(args, ctx).run(UNCONFINED).text

    return run


@contextlib.contextmanager
def without_ripgrep() -> Iterator[None]:
    found = grep.find_ripgrep
    grep.find_ripgrep = lambda env, workspace: None
    try:
        yield
    finally:
        grep.find_ripgrep = found


def ripgrep(lab: Lab, *words: str) -> Callable[[], bytes]:
    program = shutil.which("rg")
    if program is None:
        raise TimeoutError("ripgrep is not installed")
    root = forest(lab)
    return lambda: subprocess.run([program, *words], cwd=root, capture_output=True, check=True).stdout


def compared(ours: Callable[[], str], theirs: Callable[[], bytes]) -> float:
    """Our time for each second of theirs: the median of PAIRS of runs, one right behind the other."""
    ours(), theirs()  # the first reads from the disk
    pairs = []
    for _ in range(PAIRS):
        own = timed(ours)
        while any(thread.name == WALKS for thread in threading.enumerate()):
            time.sleep(0.05)  # what we do behind a search is not to fall on theirs
        pairs.append((own, timed(theirs)))
    return statistics.median(own / other for own, other in pairs)


def searching(pattern: str, *, confined: bool = False, unread: bool = False) -> Callable[[Lab], float]:
    """grep beside plain `rg PATTERN`, which walks and searches with all cores and sorts nothing.

    `unread`: no folder is known from the run before.
    """

    def measure(lab: Lab) -> float:
        theirs = ripgrep(lab, "--line-number", pattern)
        with walls(lab) if confined else contextlib.nullcontext() as policy:
            ours = ask(lab, "grep", policy, pattern=pattern)
            found = len(re.findall(r"^\d+:", ours(), re.MULTILINE))
            if found != (limits.GREP_MATCHES if pattern == COMMON else NEEDLES):
                raise TimeoutError(f"grep found {found} lines")
            return compared(anew(ours) if unread else ours, theirs)

    return measure


def anew(work: Callable[[], str]) -> Callable[[], str]:
    def run() -> str:
        folders.forget()
        return work()

    return run


@contextlib.contextmanager
def walls(lab: Lab) -> Iterator[Callable[[Box], SandboxPolicy | None]]:
    """What holds ripgrep to reading in a session."""
    home = forest(lab).parent / "home"
    made = Confinement(forest(lab), home, home / ".nanohermes", lambda: nothing_more)
    try:
        yield made.policy
    finally:
        made.close()


_FIRST = """
import sys, time
from pathlib import Path
from agent_core.confinement import Confinement
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox.policy import UNCONFINED
from agent_core.sandbox.probe import layers
from tests.core.tool_support import TOOLS, context
top = Path(sys.argv[1])
layers()  # the kernel is asked when the program starts
walls = Confinement(top / "ws", top / "home", top / "home" / ".nanohermes", lambda: nothing_more)
walls.warm()  # as when a request has left
time.sleep(float(sys.argv[2]))
ctx = context(top, confine=walls.policy)
begun = time.perf_counter()
said = TOOLS["grep"].prepare({"pattern": "needle"}, ctx).run(UNCONFINED)
print(time.perf_counter() - begun)
walls.close()
"""


def searching_first(lab: Lab) -> float:
    """The first grep of a program, in a session whose model took ANSWER seconds to ask for it, beside plain rg."""
    theirs = ripgrep(lab, "--line-number", "needle")
    argv = [sys.executable, "-c", _FIRST, str(forest(lab).parent), str(ANSWER)]

    def ours() -> float:
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise TimeoutError(done.stderr[-2_000:])
        return float(done.stdout)

    theirs()
    pairs = [(ours(), timed(theirs)) for _ in range(PAIRS)]
    return statistics.median(own / other for own, other in pairs)


def searching_without(lab: Lab) -> float:
    with without_ripgrep():
        return timed(ask(lab, "grep", pattern="needle"))


def naming(*how: str) -> Callable[[Lab], float]:
    def measure(lab: Lab) -> float:
        ours = ask(lab, "glob", pattern="token_7.py")
        return compared(ours, ripgrep(lab, "--files", "--hidden", "--glob=token_7.py", *how))

    return measure


_TALK = """
import sys
from pathlib import Path
from tests.core.tool_support import call, context
from tests.peak import peak
ctx = context(Path(sys.argv[1]))
call(ctx, "run_command", command="seq 10")  # what comes with the first command is no growth
before = peak(reset=True)
said = call(ctx, "run_command", command=sys.argv[2])
assert said.outcome == "exit 0", said.text
print((peak() - before) / 2**20)
"""


def talking(lab: Lab) -> float:
    """MB that a program has grown by at its largest, after a command has said TALK MB. It is one of its own: what this
    one held earlier says nothing."""
    with tempfile.TemporaryDirectory(dir=lab.folder) as folder:
        command = f"yes 'a line of output, as a build has thousands of them' | head -c {TALK * 2**20}"
        argv = [sys.executable, "-c", _TALK, folder, command]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise TimeoutError(done.stderr[-2_000:])
    return float(done.stdout)


BARS = (
    Bar("grep: a word in 100 of 100,000 files ÷ plain rg", 1.3, "×", searching("needle")),
    # What no session meets whose walls were warmed: beside its own walk ripgrep's work is half as long again.
    Bar("grep: a word in 100 of 100,000 files, no folder known ÷ plain rg", 1.5, "×", searching("needle", unread=True)),
    Bar("grep: a word in each of 100,000 files ÷ plain rg", 1.3, "×", searching(COMMON)),
    Bar("grep: an expression in 100 of 100,000 files ÷ plain rg", 1.3, "×", searching(r"\bneed\w+")),
    Bar("grep: a word in 100 of 100,000 files, confined ÷ plain rg", 1.3, "×", searching("needle", confined=True)),
    Bar(
        "grep: an expression in 100 of 100,000 files, confined ÷ plain rg",
        1.3,
        "×",
        searching(r"\bneed\w+", confined=True),
    ),
    Bar("grep: a word in 100 of 100,000 files, the first of a session ÷ plain rg", 1.3, "×", searching_first),
    Bar("grep: 100,000 files, without ripgrep", 20.0, "s", searching_without),
    Bar("glob: 100,000 files ÷ ripgrep, sorted alike", 1.3, "×", naming("--sort=path")),
    Bar("glob: 100,000 files ÷ ripgrep with two threads, in no order", 2.0, "×", naming()),
    Bar("output: 300 MB of a command, growth of memory", 20.0, "MB", talking, strict=True),
)
