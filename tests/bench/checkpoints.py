"""What keeping changes of files costs in a folder of 200,000 files: the first prompt, and each command."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.checkpoints.keeper import Checkpoints, Options
from agent_core.safety.paths import PathRules
from agent_core.sandbox.policy import Box
from tests.bench.bars import Bar
from tests.bench.picker import wide_folder

if TYPE_CHECKING:
    from tests.bench.lab import Lab

PAIRS = 7
COMMANDS = 40
PATIENCE = 300.0


def _first_prompt(lab: Lab, folder: Path) -> float:
    """Seconds from the first prompt in a fresh home to its request's arrival at the server."""
    from tests.bench.lab import ROOT

    with lab.home() as home:
        argv = [sys.executable, "-m", "tests.bench.first_prompt", str(folder)]
        run = subprocess.run(
            argv, cwd=ROOT, env=lab.environment(home), check=True, capture_output=True, timeout=60, text=True
        )
        submitted: float = json.loads(run.stdout)["submitted"]
    return min(moment for moment in lab.arrivals() if moment > submitted) - submitted


def prompt_ratio(lab: Lab) -> float:
    """How much later the first prompt's request leaves in the wide folder than in an empty one: the medians' ratio."""
    wide, empty = wide_folder(lab), lab.folder / "work"
    times: dict[Path, list[float]] = {wide: [], empty: []}
    for number in range(PAIRS):
        for folder in (wide, empty) if number % 2 else (empty, wide):
            times[folder].append(_first_prompt(lab, folder))
    return statistics.median(times[wide]) / statistics.median(times[empty])


def command_cost(lab: Lab) -> float:
    """Milliseconds that keeping what a command changes adds to it, once the files have been looked at: the median."""
    wide = wide_folder(lab)
    with tempfile.TemporaryDirectory(dir=lab.folder) as name:
        home = Path(name)
        kept = Checkpoints(home, home, Options, lambda ws: PathRules(ws, home, home), lambda text: text)
        try:
            with kept.turn("session", "turn", wide, "bench") as turn:
                answer = kept._looks._ask(str(wide)).wait(PATIENCE)
                if "seconds" not in answer:
                    raise TimeoutError(f"the files were not looked at within {PATIENCE:.0f} s")
                costs = []
                for _ in range(COMMANDS):
                    began = time.perf_counter()
                    ended = turn.command(Box("workspace-write"))
                    ended()
                    costs.append(time.perf_counter() - began)
            return statistics.median(costs) * 1000
        finally:
            kept.close()


BARS = (
    Bar("checkpoints first prompt", 1.1, "×", prompt_ratio),
    Bar("checkpoints command", 10.0, "ms", command_cost),
)
