"""Commands that run beside the conversation, as data."""

from __future__ import annotations

from typing import Literal

from agent_core.records import dataclass

TaskState = Literal["running", "ended", "killed", "closed", "lost"]
"""How a task is: "killed" by somebody's wish, "closed" with its session or the program, "lost" when it went away while
nobody watched and its exit is unknown."""

TaskOrigin = Literal["started", "promoted"]
"""Started in the background, or left running by a command in the foreground."""


@dataclass(frozen=True, slots=True)
class Task:
    """A command in the background, as it was when it was looked at. Texts are free of keys and control bytes."""

    id: str
    """Short and unique in its session: "t1"."""
    session_id: str
    command: str
    cwd: str
    box: str
    """What it runs in (Box.words)."""
    pid: int
    """Of the command's shell."""
    started: float
    """Seconds since the epoch."""
    state: TaskState = "running"
    ended: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    output_bytes: int = 0
    """All it has written so far; of more than is kept the oldest goes."""
    newest: str = ""
    """The newest line of its output."""
    origin: TaskOrigin = "started"
    kept: bool = False
    """It outlives the program; the next one that opens the session finds it again."""


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """A piece of a task's output: both streams as they came, cleaned of control bytes."""

    task: Task
    text: str
    start: int
    """Where the piece begins, in bytes of all the output; more than was asked for when the oldest was dropped."""
    next: int
    """What to ask for next."""
