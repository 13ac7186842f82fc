"""One command in the background as a program holds it: started here, or found again by what an earlier one has left."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.background import Task, TaskState
from agent_core.jobs import files as job_files
from agent_core.jobs.files import State
from agent_core.process import families
from agent_core.process.families import Leftover
from agent_core.records import dataclass
from agent_core.store.owner import life_of

_leaving: Final[list[subprocess.Popen[bytes]]] = []
"""Relays that end by themselves, or outlive us: held, so that each is buried when it has."""


def bury() -> None:
    """Take note of the relays that have ended since."""
    _leaving[:] = [relay for relay in _leaving if relay.poll() is None]


@dataclass(slots=True)
class Job:
    """A task with what it is watched and steered by."""

    task: Task
    folder: Path
    relay: subprocess.Popen[bytes] | None = None
    """None: it was started by another program."""
    control: int = -1
    """The pipe to its relay; while one end is open in a program, the task has one. Only to be used under the lock."""
    ended: list[Callable[[], None]] = field(default_factory=list)
    """To be called when it has."""
    leftover: Leftover | None = None
    """What it is, where it has outlived a command in the foreground."""
    told: bool = False
    """The model knows that it has ended."""
    unmarked: bool = False
    """That is not on the disk yet: the message by which it knows may not be stored."""
    wished: bool = False
    """Somebody here has ended it."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def runs(self) -> bool:
        return self.task.state == "running"

    def say(self, word: bytes) -> bool:
        """Tell the relay; False when it does not listen any more."""
        with self._lock, suppress(OSError):  # the number of a pipe that is closed meanwhile may be another file's
            return self.control >= 0 and os.write(self.control, word) == len(word)
        return False

    def let_go(self) -> None:
        """This program has done with it."""
        with self._lock:
            control, self.control = self.control, -1
            if control >= 0:
                os.close(control)
        if self.relay is not None and self.relay.poll() is None:
            _leaving.append(self.relay)


def as_told(task: Task, state: State, lost: bool, total: int, newest: str) -> Task:
    """`task` with what its relay has said; `lost`: that does not live any more."""
    task = replace(
        task,
        pid=state.pid or task.pid,
        exit_code=state.exit_code,
        signal=state.signal,
        output_bytes=total,
        newest=newest,
        kept=state.kept,
    )
    if state.gone is not None:
        how: TaskState = "killed" if state.wished else "closed" if state.closed else "ended"
        return replace(task, state=how, ended=state.gone, kept=False)
    return replace(task, state="lost", ended=time.time(), kept=False) if lost else task


def found(folder: Path, keys: Iterable[str]) -> Job | None:
    """A task that an earlier program started; None: there is nothing of it, or another program has it."""
    record, state = job_files.read_record(folder), job_files.read_state(folder)
    if record is None:
        return None
    total = job_files.written(folder).total
    life = life_of(state.relay)
    if life != "gone" and state.gone is None and not state.kept:
        return None
    task = as_told(record.task(), state, life == "gone", total, job_files.newest_line(folder, total, keys))
    if task.state == "lost":
        families.kill_marked(record.marker)  # its relay was killed together with the program
        with suppress(OSError):
            task = replace(task, ended=folder.stat().st_mtime)
    job = Job(task, folder, told=job_files.was_told(folder))
    if job.runs:
        job.control = _open_control(folder)
    return job


def _open_control(folder: Path) -> int:
    """The relay's pipe; -1 when nobody reads it."""
    try:
        return os.open(folder / "control", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return -1


def signal_relay(folder: Path) -> None:
    """End a task without its pipe."""
    state = job_files.read_state(folder)
    if state.relay_pid > 1 and life_of(state.relay) == "lives":
        with suppress(OSError):
            os.kill(state.relay_pid, 15)


def end_all(folders: list[Path]) -> None:
    """End the tasks of a deleted session, those that were kept too, and remove what they left."""
    # By the numbers of their relays: one that has just been told that it is kept may not have written it yet.
    for folder in folders:
        signal_relay(folder)
    deadline = time.monotonic() + limits.TASK_CLOSE
    while time.monotonic() < deadline:
        states = [job_files.read_state(folder) for folder in folders]
        if all(state.gone is not None or life_of(state.relay) == "gone" for state in states):
            break
        time.sleep(limits.TASK_LOOK / 5)
    for folder in folders:
        job_files.remove(folder)


def put_away(folder: Path) -> bool:
    """Take off the disk what nobody can want any more: it has ended so long ago, or its program was killed while it
    began. One whose end the model has not heard of waits for its session, for longer; what it wrote does not.

    Gives whether all of it was put away.
    """
    state = job_files.read_state(folder)
    try:
        ended = folder.stat().st_mtime if state.gone is None else state.gone
    except OSError:
        return False
    age = time.time() - ended
    if age <= limits.TASK_KEPT or (state.gone is None and life_of(state.relay) != "gone"):
        return False
    if age > limits.TASK_UNTOLD or job_files.was_told(folder) or job_files.read_record(folder) is None:
        job_files.remove(folder)
        return True
    job_files.forget_output(folder)
    return False
