"""Commands that run beside the conversation: each under a relay of its own (relay.py), listed by session.

A task ends with the program, also with one that is killed, unless a person has it kept; then the next program that
opens the session finds it again, by the relay's process number and start, and never runs it anew. Sources: TOOL-21,
TOOL-22, field cases 23 and 26.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from agent_core import events, limits
from agent_core.background import Task, TaskOrigin, TaskOutput
from agent_core.errors import SandboxError, ToolFailure
from agent_core.events import Event
from agent_core.intents import KeepTask, KillTask
from agent_core.jobs import files as job_files
from agent_core.jobs.files import Record
from agent_core.jobs.start import Start, begin, take_in
from agent_core.jobs.watch import Job, as_told, bury, end_all, found, put_away, signal_relay
from agent_core.jobs.words import ended_notice, how_it_is
from agent_core.process import families
from agent_core.process.families import Leftover
from agent_core.process.guard import MARKER
from agent_core.records import dataclass
from agent_core.sandbox.policy import UNCONFINED, Apart, Box, SandboxPolicy
from agent_core.store.owner import life_of
from agent_core.text.ansi import clean
from agent_core.text.clamp import clamp
from agent_core.text.printable import printable

log = logging.getLogger(__name__)

Emit = Callable[[Event], None]
Confine = Callable[[Box], SandboxPolicy | None]


def _nothing() -> None:
    return None


class Jobs:
    """Of one program. Safe to use from several threads."""

    def __init__(
        self, home: Path, redact: Callable[[str], str], keys: Callable[[], Iterable[str]] = lambda: ()
    ) -> None:
        """`home`: the folder of all tasks; it is made when there is one."""
        self.home = home
        self.redact = redact
        self.keys = keys
        self._lock = threading.RLock()
        self._sessions: dict[str, SessionJobs] = {}
        self._watcher: threading.Thread | None = None
        self._wanted = False
        """Something has begun since the watcher's last round."""
        self._closed = False

    def of(self, session_id: str, emit: Emit) -> SessionJobs:
        """The tasks of a session that is open; changes are told to `emit`."""
        with self._lock:
            jobs = self._sessions[session_id] = SessionJobs(self, session_id, emit)
            return jobs

    def list(self, session_id: str) -> tuple[Task, ...]:
        """The tasks of an open session. Reads files."""
        with self._lock:
            jobs = self._sessions.get(session_id)
        return jobs.list() if jobs is not None else ()

    def output(self, session_id: str, task_id: str, start: int, limit: int) -> TaskOutput:
        """At most `limit` bytes of a task's output from `start` on. Reads files. Raises ToolFailure "no_task"."""
        with self._lock:
            jobs = self._sessions.get(session_id)
        if jobs is None:
            raise ToolFailure(f"There is no task {task_id} here.", code="no_task", outcome="not found", task=task_id)
        return jobs.output(task_id, start, limit)

    def let_go(self, session_id: str) -> None:
        """The session is closed: its tasks end, but for those that are kept. Does not wait."""
        with self._lock:
            jobs = self._sessions.pop(session_id, None)
        if jobs is not None:
            jobs.let_go()

    def delete(self, session_id: str) -> None:
        """The session is deleted: all its tasks end, and what is left of them goes. Does not wait."""
        self.let_go(session_id)
        folders = [folder for session, _, folder in job_files.all_folders(self.home) if session == session_id]
        if folders:
            threading.Thread(target=end_all, args=(folders,), name="tasks-delete", daemon=True).start()

    def close(self) -> None:
        """The program ends. Each relay hears of it and does what it has to; that is not waited for."""
        with self._lock:
            self._closed = True
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for jobs in sessions:
            jobs.let_go()

    # -- for the sessions ---------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """See that somebody looks at tasks that run."""
        with self._lock:
            self._wanted = True
            if not self._closed and (self._watcher is None or not self._watcher.is_alive()):
                self._watcher = threading.Thread(target=self._look, name="tasks", daemon=True)
                self._watcher.start()

    def _look(self) -> None:
        while True:
            time.sleep(limits.TASK_LOOK)
            with self._lock:
                self._wanted = False
                sessions = list(self._sessions.values())
            run = [_looked(jobs) for jobs in sessions]
            with self._lock:
                if self._closed or not (self._wanted or any(run)):
                    self._watcher = None
                    return


def _looked(jobs: SessionJobs) -> bool:
    try:
        return jobs.look()
    except Exception:  # what goes wrong with one session's is no reason to see no others end
        log.exception("the tasks of a session could not be looked at")
        return jobs.run


class SessionJobs:
    """The tasks of one session."""

    def __init__(self, jobs: Jobs, session_id: str, emit: Emit) -> None:
        self._jobs = jobs
        self._session_id = session_id
        self._emit = emit
        self.read_to: MutableMapping[str, int] = {}
        """Up to where the model has read the output of each, in bytes."""
        self._lock = threading.RLock()
        self._all: dict[str, Job] = {}
        self._count = 0
        self._starting = 0
        self._closed = False
        self._found = False
        self._news = False
        """Something has changed that nobody was told of."""
        self._told_at = 0.0

    # -- looking ------------------------------------------------------------------------------------------------------

    def find(self) -> None:
        """Find again what an earlier program has left: tasks that were kept, and what can still be read of others."""
        with self._lock:
            if self._found or self._closed:
                return
            self._found = True
            for session, task_id, folder in job_files.all_folders(self._jobs.home):
                is_gone = put_away(folder)  # of any session: it may never be opened again
                if not is_gone and session == self._session_id:
                    self._count = max(self._count, int(task_id[1:]))
                    job = found(folder, self._jobs.keys())
                    if job is not None:
                        self._all[task_id] = job
            self._forget_old()
            some = bool(self._all)
            runs = any(job.runs for job in self._all.values())
        if some:
            self._tell()
        if runs:
            self._jobs.watch()

    @property
    def run(self) -> bool:
        """One of them has not ended, as far as was looked."""
        with self._lock:
            return self._starting > 0 or any(job.runs for job in self._all.values())

    def list(self) -> tuple[Task, ...]:
        """As they are now, the newest last."""
        self.look()
        with self._lock:
            return self._tasks()

    def _tasks(self) -> tuple[Task, ...]:
        return tuple(job.task for job in sorted(self._all.values(), key=lambda job: int(job.task.id[1:])))

    def output(self, task_id: str, start: int, limit: int) -> TaskOutput:
        """At most `limit` bytes of output from `start` on. Raises ToolFailure "no_task"."""
        job = self._job(task_id)
        self._look_at(job)
        text, first, after = job_files.piece(job.folder, start, limit, self._jobs.keys(), running=job.runs)
        return TaskOutput(job.task, text, first, after)

    def _job(self, task_id: str) -> Job:
        with self._lock:
            job = self._all.get(task_id)
            names = [task.id for task in self._tasks()]
        if job is None:
            known = ", ".join(names[-limits.NEAR_NAMES :])
            there_are = f"There are: {known}." if known else "There are none in this session."
            if len(names) > limits.NEAR_NAMES:
                there_are = f"The newest are {known}; task_list names all."
            raise ToolFailure(
                f"There is no task {printable(task_id)[:40]!r}. {there_are}",
                code="no_task", outcome="not found", task=task_id,
            )  # fmt: skip
        return job

    def look(self) -> bool:
        """Take in what has changed, and tell of it; whether anything runs."""
        with self._lock:
            jobs = list(self._all.values())
        for job in jobs:
            self._look_at(job)
        with self._lock:
            self._news |= self._forget_old()
            runs = any(job.runs for job in self._all.values())
            # An end is told at once, that more was written now and then.
            if self._news and (not runs or time.monotonic() - self._told_at >= limits.TASK_LOOK):
                self._tell()
        return runs

    def _look_at(self, job: Job) -> bool:
        """Take in how one task is now; whether that is news."""
        if not job.runs:
            return False
        gone = job.relay.poll() is not None if job.relay is not None else None
        state = job_files.read_state(job.folder)
        lost = gone if gone is not None else life_of(state.relay) == "gone"
        if lost and state.gone is None:
            state = job_files.read_state(job.folder)  # its last word may have come in between
        total = job_files.written(job.folder).total
        newest = job.task.newest
        if total != job.task.output_bytes:
            newest = job_files.newest_line(job.folder, total, self._jobs.keys())
        with self._lock:
            if not job.runs:  # somebody else has looked
                return False
            before = job.task
            job.task = as_told(before, state, lost, total, newest)
            if job.task == before:
                return False
            self._news = True
            callbacks: list[Callable[[], None]] = []
            if not job.runs:
                job.let_go()
                callbacks, job.ended = job.ended, []
        for call in callbacks:
            call()
        if not job.runs:
            if job.task.state == "lost":
                record = job_files.read_record(job.folder)
                families.kill_marked(record.marker if record is not None else "")
            lasted = (job.task.ended or 0.0) - job.task.started
            if (
                not self._closed and not job.wished and lasted > limits.TASK_FIRST_LOOK
            ):  # sooner, the call that began it says so
                self._emit(ended_notice(job.task))
        return True

    def _forget_old(self) -> bool:
        """Those that have ended long ago go, and the oldest of too many. Under the lock."""
        over = len(self._all) + self._starting - limits.TASKS
        ended = sorted((job for job in self._all.values() if not job.runs), key=lambda job: job.task.ended or 0.0)
        old = [
            job
            for number, job in enumerate(ended)
            if number < over or (time.time() - (job.task.ended or 0.0) > limits.TASK_KEPT and put_away(job.folder))
        ]
        for job in old:
            del self._all[job.task.id]
            job_files.remove(job.folder)
        return bool(old)

    def _tell(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._news, self._told_at = False, time.monotonic()
            self._emit(events.TasksChanged(self._tasks()))

    # -- what the model is told ---------------------------------------------------------------------------------------

    @contextmanager
    def news(self) -> Iterator[str]:
        """What has ended and the model has not heard of; "" when nothing has. Once the block has ended it has heard:
        not before its message is stored. Reads and writes files."""
        self.look()
        with self._lock:
            ended = [job for job in self._all.values() if not job.runs and not job.told]
            seen = [job for job in self._all.values() if job.unmarked]
        yield "\n".join(f"[{how_it_is(job.task)}{_where_output_is(job)}]" for job in ended)
        for job in (*seen, *ended):
            job.told, job.unmarked = True, False
            job_files.mark_told(job.folder)

    def saw_end(self, task: Task) -> None:
        """The model is being told how this one is, as `task` has it: it may have ended since.

        It stands on the disk with the next news only, when the message that says so is stored.
        """
        with self._lock:
            job = self._all.get(task.id)
            if job is not None and task.state != "running" and not job.told:
                job.told = job.unmarked = True

    # -- starting -----------------------------------------------------------------------------------------------------

    def start(
        self,
        command: str,
        cwd: Path,
        *,
        box: Box,
        env: Mapping[str, str],
        confine: Confine,
        apart: Callable[[SandboxPolicy], Apart] | None = None,
        ended: Callable[[], None] = _nothing,
        origin: TaskOrigin = "started",
    ) -> Task:
        """Begin one. `ended` is called when it has, not when this raises: OSError, SandboxError, ToolFailure."""
        self._jobs.home.mkdir(mode=0o700, parents=True, exist_ok=True)  # before the policy that hides it
        policy = confine(box)
        if (policy is None and box != UNCONFINED) or (policy is not None and apart is None):
            raise SandboxError("no_sandbox", "This machine cannot confine commands, and it had to be confined.")

        def start(folder: Path, marker: str) -> Start:
            walls = apart(policy) if policy is not None and apart is not None else None
            return begin(folder, ("/bin/sh", "-c", command), cwd, {**env, MARKER: marker}, walls)

        return self._begin(command, cwd, box, origin, start, ended)

    def adopt(self, leftover: Leftover, command: str, cwd: Path, box: Box) -> str:
        """Take in what has outlived a command in the foreground; gives the task's name, "" when that fails."""

        def start(folder: Path, marker: str) -> Start:
            return take_in(folder, leftover)

        try:
            return self._begin(command, cwd, box, "promoted", start, leftover.close, leftover).id
        except (OSError, SandboxError, ToolFailure) as error:
            log.warning("what a command left behind is ended: %s", error)
            return ""

    def when_ended(self, task_id: str, call: Callable[[], None]) -> None:
        """Have `call` called when a task has ended; at once when it has."""
        with self._lock:
            job = self._all.get(task_id)
            if job is not None and job.runs:
                job.ended.append(call)
                return
        call()

    def _begin(
        self,
        command: str,
        cwd: Path,
        box: Box,
        origin: TaskOrigin,
        start: Callable[[Path, str], Start],
        ended: Callable[[], None],
        leftover: Leftover | None = None,
    ) -> Task:
        self.find()
        with self._lock:
            if self._closed:
                raise SandboxError("session_closed", "The session is closed; nothing was run.")
            self._starting += 1
            bury()
            try:
                self._forget_old()
                if len(self._all) + self._starting > limits.TASKS:
                    raise ToolFailure(
                        f"{limits.TASKS} tasks are running, the most there can be. End one with task_kill first.",
                        code="too_many_tasks", outcome="too many",
                    )  # fmt: skip
            except BaseException:
                self._starting -= 1
                raise
        try:
            task_id, folder = self._place()
            record = Record(
                task_id,
                self._session_id,
                clamp(self._jobs.redact(clean(command)), limits.TOOL_RESULT, "both"),
                printable(str(cwd)),
                box.words,
                origin,
                time.time(),
                f"task-{uuid.uuid4().hex}",
            )
            try:
                job_files.write_record(folder, record)
                begun = start(folder, record.marker)
            except BaseException:
                job_files.remove(folder)
                raise
            job = Job(replace(record.task(), pid=begun.pid), folder, begun.relay, begun.control, [ended], leftover)
            with self._lock:
                self._all[task_id] = job
                closed = self._closed
            if closed:  # while it was started
                job.let_go()
        finally:
            with self._lock:
                self._starting -= 1
        self._look_at(job)
        self._tell()
        self._jobs.watch()
        return job.task

    def _place(self) -> tuple[str, Path]:
        """A name for a new task, and its folder. Raises OSError."""
        self._jobs.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            with self._lock:
                self._count += 1
                task_id = f"t{self._count}"
            folder = self._jobs.home / job_files.folder_name(self._session_id, task_id)
            with suppress(FileExistsError):  # another program that has the same session open took the name
                folder.mkdir(mode=0o700)
                return task_id, folder

    # -- ending and keeping -------------------------------------------------------------------------------------------

    def kill(self, task_id: str) -> Task:
        """End one, TERM and then KILL; returns when it is gone. Raises ToolFailure "no_task"."""
        job = self._job(task_id)
        if job.runs:
            job.wished = True
            if not job.say(b"t"):
                signal_relay(job.folder)
            deadline = time.monotonic() + limits.TASK_CLOSE
            while job.runs and time.monotonic() < deadline:
                time.sleep(0.03)
                self._look_at(job)
            self._tell()
        return job.task

    def keep(self, task_id: str, keep: bool) -> Task:
        """Let one outlive the program, or no longer: a person's wish only. Raises ToolFailure."""
        job = self._job(task_id)
        if job.runs and not job.say(b"k" if keep else b"u"):
            raise ToolFailure(
                f"Task {task_id} could not be reached; it stays as it is.", code="task_unreachable", task=task_id
            )
        if job.runs and job.leftover is not None:
            job.leftover.keep(keep)
        with self._lock:
            if job.runs:
                job.task = replace(job.task, kept=keep)
        self._tell()
        return job.task

    def obey(self, intent: KillTask | KeepTask) -> None:
        """Do what the person wants, on a thread of its own; what cannot be done is told."""

        def do() -> None:
            try:
                if isinstance(intent, KillTask):
                    self.kill(intent.task_id)
                else:
                    self.keep(intent.task_id, intent.keep)
            except ToolFailure as failure:
                params = {"task": printable(intent.task_id)}
                self._emit(events.Notice(failure.code, failure.text, "warning", params))

        threading.Thread(target=do, name="task-intent", daemon=True).start()

    def let_go(self) -> None:
        """The session is closed: those that are not kept end. Does not wait."""
        with self._lock:
            self._closed = True
            jobs, self._all = list(self._all.values()), {}
            callbacks = [call for job in jobs for call in job.ended]
            for job in jobs:
                job.ended = []
        for job in jobs:
            job.let_go()
        for call in callbacks:
            call()


def _where_output_is(job: Job) -> str:
    return " task_output shows what it wrote." if job_files.written(job.folder).total else ""


@dataclass(frozen=True, slots=True)
class Runner:
    """What the tools of one turn are given (ports.TaskRunner)."""

    jobs: SessionJobs
    confine: Confine
    """The policy of a box, as for commands in the foreground."""
    apart: Callable[[SandboxPolicy], Apart] | None
    """The same policy with a place of its own; None: nothing is confined."""

    @property
    def read_to(self) -> MutableMapping[str, int]:
        return self.jobs.read_to

    def start(
        self, command: str, cwd: Path, *, box: Box, env: Mapping[str, str], ended: Callable[[], None] = _nothing
    ) -> Task:
        return self.jobs.start(
            command, cwd, box=box, env=env, confine=self.confine, apart=self.apart, ended=ended
        )  # fmt: skip

    def list(self) -> tuple[Task, ...]:
        return self.jobs.list()

    def when_ended(self, task_id: str, call: Callable[[], None]) -> None:
        self.jobs.when_ended(task_id, call)

    def saw_end(self, task: Task) -> None:
        self.jobs.saw_end(task)

    def output(self, task_id: str, start: int, limit: int) -> TaskOutput:
        return self.jobs.output(task_id, start, limit)

    def kill(self, task_id: str) -> Task:
        return self.jobs.kill(task_id)
