"""A program that goes on beside ours and is talked with."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agent_core.errors import SandboxError
from agent_core.process.families import start_family
from agent_core.sandbox.policy import SandboxPolicy


class Held:
    """A program that goes on beside ours, with all three of its streams piped, and whatever comes from it.

    Whoever holds it reads both its outputs all the time and closes its input. It ends with ours, however ours ends.
    """

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], sandbox: SandboxPolicy | None = None
    ) -> None:
        """Start it. Raises OSError, SandboxError; then nothing runs."""
        self._family = start_family(argv, cwd, env, sandbox, subprocess.PIPE)
        self.process = self._family.process
        self._lock = threading.Lock()
        self._ended = False

    def failure(self) -> Exception | None:
        """Why a program that has ended was never started inside its walls; None: it was."""
        try:
            self._family.walls.check()
        except (OSError, SandboxError) as error:
            return error
        return None

    def end(self, patience: float) -> None:
        """Wait for it to go by itself, its input being closed; then TERM, then KILL, each `patience` seconds later.

        What it has started goes too, also when it has gone itself before.
        """
        with self._lock:
            if self._ended:
                return
            self._ended = True
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        self._family.signal(signal.SIGTERM)
        self._family.finish(patience)
        self.process.wait()
