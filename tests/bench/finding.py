"""grep and glob over 100,000 files, beside ripgrep itself; and what a command that never stops talking costs."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agent_core.sandbox.policy import UNCONFINED
from agent_core.tools import grep
from agent_core.tools.builtin import builtin_tools
from tests.bench.bars import Bar
from tests.bench.lab import ROOT, Lab
from tests.core.tool_support import context

FILES = 100_000
EACH = 20
"""Files in a folder."""
NEEDLES = 100
WORDS = [
    "account", "batch", "cache", "config", "date", "entry", "export", "filter", "handler", "import", "index", "ledger",
    "model", "parse", "report", "token",
]  # fmt: skip
SEED = 3
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


def ask(lab: Lab, name: str, **args: object) -> Callable[[], str]:
    ctx = context(forest(lab).parent)

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


def compared(lab: Lab, ours: Callable[[], str], theirs: Callable[[], bytes]) -> float:
    """Our time for each second of theirs: the best of three each, in turn."""
    pairs = [(timed(ours), timed(theirs)) for _ in range(3)]
    return min(own for own, _ in pairs) / min(other for _, other in pairs)


def searching(lab: Lab) -> float:
    ours = ask(lab, "grep", pattern="needle")
    if ours().count(":the needle") != NEEDLES:
        raise TimeoutError("grep did not find all there is")
    return compared(lab, ours, ripgrep(lab, "--hidden", "--sort=path", "--line-number", "needle"))


def searching_without(lab: Lab) -> float:
    with without_ripgrep():
        return timed(ask(lab, "grep", pattern="needle"))


def naming(lab: Lab) -> float:
    ours = ask(lab, "glob", pattern="token_7.py")
    return compared(lab, ours, ripgrep(lab, "--files", "--hidden", "--sort=path", "--glob=token_7.py"))


_TALK = """
import resource, sys, tempfile
from pathlib import Path
from tests.core.tool_support import call, context
ctx = context(Path(sys.argv[1]))
call(ctx, "run_command", command="seq 10")  # what comes with the first command is no growth
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
said = call(ctx, "run_command", command=sys.argv[2])
assert said.outcome == "exit 0", said.text
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
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
    Bar("grep: 100,000 files ÷ ripgrep, sorted alike, aim 1.3", 2.5, "×", searching),
    Bar("grep: 100,000 files, without ripgrep", 20.0, "s", searching_without),
    Bar("glob: 100,000 files ÷ ripgrep, sorted alike", 1.3, "×", naming),
    Bar("output: 300 MB of a command, growth of memory", 20.0, "MB", talking, strict=True),
)
