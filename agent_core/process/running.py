"""Helper programs whose output the caller reads."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent_core.cancel import CancelScope
from agent_core.process.guard import MARKER, guard
from agent_core.process.spawner import spawn
from agent_core.process.walls import CommandWalls
from agent_core.sandbox.policy import SandboxPolicy


@contextmanager
def running(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    cancel: CancelScope,
    sandbox: SandboxPolicy | None = None,
    stdin: int = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[bytes]]:
    """A helper program (ripgrep, git) whose output the caller reads; killed on cancel and on leaving the block.

    `sandbox`: what it is held to; None: nothing. `stdin`: empty, or a descriptor of a file. Raises OSError and
    SandboxError when it cannot be started, the latter also on leaving, when it had not been.
    """
    walls = CommandWalls(argv, cwd, sandbox)
    mark = {MARKER: guard.new_mark()}  # without one it could be taken for what is left of a command (`Family`)
    try:
        process = spawn(walls.argv, cwd, {**env, **walls.env, **mark}, stdin=stdin, pass_fds=walls.pass_fds)
        try:
            walls.started(process)
            with cancel.closing(process.kill):
                yield process
                if process.poll() is not None:
                    walls.check()
        finally:
            process.kill()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()
    finally:
        walls.close()


@contextmanager
def alarm(deadline: float, scope: CancelScope) -> Iterator[None]:
    """Cancel `scope` when the block is still running at `deadline` (monotonic seconds)."""
    timer = threading.Timer(max(deadline - time.monotonic(), 0), scope.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
