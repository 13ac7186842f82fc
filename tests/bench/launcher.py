"""What the walls around a command cost: the same command with and without them, in turn."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from agent_core.cancel import CancelScope
from agent_core.confinement import Confinement
from agent_core.process.command import LocalBackend
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox.env import child_env
from agent_core.sandbox.policy import UNCONFINED, Box
from tests.bench.bars import Bar
from tests.bench.lab import Lab

PAIRS = 50
WRITE = Box("workspace-write")


def overhead(lab: Lab) -> float:
    """Milliseconds that a command in a workspace with a repository takes longer when it is confined, by the medians."""
    with tempfile.TemporaryDirectory(dir=lab.folder) as name:
        top = Path(name)
        subprocess.run(["git", "init", "-q", str(top / "ws")], check=True)
        walls = Confinement(top / "ws", top / "home", top / "home" / ".nanohermes", lambda: nothing_more)
        backend, env = LocalBackend(walls.policy), child_env(os.environ)

        def seconds(box: Box) -> float:
            begun = time.perf_counter()
            result = backend.execute("true", top / "ws", box=box, timeout=30, env=env, cancel=CancelScope())
            if result.exit_code != 0:
                raise TimeoutError(f"the command ended with {result.exit_code}: {result.stderr}")
            return time.perf_counter() - begun

        try:
            seconds(WRITE)  # the first looks what this machine has
            pairs = [(seconds(UNCONFINED), seconds(WRITE)) for _ in range(PAIRS)]
        finally:
            walls.close()
    plain, confined = (statistics.median(times) for times in zip(*pairs, strict=True))
    return 1000 * (confined - plain)


BARS = (Bar("launcher: overhead of a confined command", 20.0, "ms", overhead),)
