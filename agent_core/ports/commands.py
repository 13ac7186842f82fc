"""Who runs commands, in front and in the background, and how one ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Protocol

from agent_core.background import Task, TaskOutput
from agent_core.cancel import CancelScope
from agent_core.records import dataclass
from agent_core.sandbox.policy import Box


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended. Streams are head and tail joined by a truncation marker when they were longer."""

    exit_code: int | None
    """None when it was killed or did not start."""
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False
    keyless: bool = False
    """It was ended because it waited for keys: nobody can press one."""
    interrupted: bool = False
    signal: int | None = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    left_running: tuple[int, ...] = ()
    """Process ids of children that outlived the shell; they were ended with the call unless they have become a task."""
    left_as: str = ""
    """The task that they have become."""


class TerminalBackend(Protocol):
    def execute(
        self,
        command: str,
        cwd: Path,
        *,
        box: Box,
        timeout: float,
        env: Mapping[str, str],
        cancel: CancelScope,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecResult:
        """Run `command` with `sh -c`, in `box`. Never raises for what the command does.

        Raises OSError when none can be started, SandboxError when the box cannot be made: then nothing has run.
        """
        ...


class TaskRunner(Protocol):
    """The commands of one session that run in the background. Safe to use from several threads."""

    @property
    def read_to(self) -> MutableMapping[str, int]:
        """Up to where the model has read the output of each task, in bytes."""
        ...

    def start(
        self, command: str, cwd: Path, *, box: Box, env: Mapping[str, str], ended: Callable[[], None] = ...
    ) -> Task:
        """Begin one. `ended` is called when it has. Raises OSError, SandboxError, ToolFailure (too many)."""
        ...

    def list(self) -> tuple[Task, ...]: ...

    def when_ended(self, task_id: str, call: Callable[[], None]) -> None:
        """Have `call` called when a task has ended; at once when it has."""
        ...

    def saw_end(self, task: Task) -> None:
        """The model is being told how it is, which `task` says: where that is its end, no note has to say so."""
        ...

    def output(self, task_id: str, start: int, limit: int) -> TaskOutput:
        """At most `limit` bytes of output from `start` on. Raises ToolFailure when there is no such task."""
        ...

    def kill(self, task_id: str) -> Task:
        """End it, TERM and then KILL; returns when it is gone. Raises ToolFailure when there is no such task."""
        ...
