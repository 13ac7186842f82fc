"""Run programs: one spawner thread, output bounded while it is read, and process groups that really end.

Every child is started by one long-lived thread, because the kernel's parent-death signal follows the thread that
forked. No Python runs between fork and exec; the death signal itself is set by the program that is started (the
sandbox launcher), not here. A command that is held to a policy is started by that launcher or not at all.
"""

from __future__ import annotations

import atexit
import codecs
import errno
import logging
import os
import queue
import selectors
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Literal

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import SandboxError
from agent_core.keyless import Keyless
from agent_core.ports.commands import ExecResult
from agent_core.records import dataclass
from agent_core.sandbox import cgroup
from agent_core.sandbox.policy import UNCONFINED, Box, SandboxPolicy

if TYPE_CHECKING:
    from agent_core.sandbox.launch import Launch

log = logging.getLogger(__name__)

MARKER: Final = "NANOHERM_COMMAND"
"""Environment variable by which descendants that left their session are found again."""

_HAS_PROC: Final = os.path.isdir("/proc/self")
_CHUNK: Final = 64 * limits.KB
_POLL: Final = 0.05
_MARKER_ROOM: Final = 80  # the truncation marker counts inside the limit


class HeadTail:
    """Keeps the first and the last bytes of a stream of any length in bounded memory."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit // 2
        self._tail_room = limit - self._head_room
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # Trimmed only now and then, so that many small pieces cost linear time.
        if len(self._tail) > 2 * self._tail_room:
            del self._tail[: -self._tail_room]

    def text(self) -> str:
        """What was kept, as text. A cut is marked, and never splits a character (LIM-02, LIM-11)."""
        if len(self._head) + len(self._tail) == self.total <= self._head_room + self._tail_room:
            return (self._head + self._tail).decode("utf-8", "replace")
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        tail = bytes(self._tail[-(self._tail_room - _MARKER_ROOM) :])
        while tail and tail[0] & 0xC0 == 0x80:
            tail = tail[1:]
        shown = len(self._head) + len(tail)
        marker = f"\n... [truncated: showing {shown} of {self.total} bytes]\n"
        return head + marker + tail.decode("utf-8", "replace")


# -- starting -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Request:
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdin: int
    pass_fds: Sequence[int]
    done: threading.Event
    process: subprocess.Popen[bytes] | None = None
    error: Exception | None = None


class _Spawner:
    """The one thread that starts children. It lives as long as the program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def spawn(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: int, pass_fds: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        request = _Request(argv, cwd, env, stdin, pass_fds, threading.Event())
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="spawner", daemon=True)
                self._thread.start()
        self._requests.put(request)
        request.done.wait()
        if request.error is not None:
            raise request.error
        assert request.process is not None
        return request.process

    def _serve(self) -> None:
        while True:
            request = self._requests.get()
            try:
                request.process = subprocess.Popen(
                    request.argv,
                    cwd=request.cwd,
                    env=dict(request.env),
                    stdin=request.stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    close_fds=True,
                    pass_fds=request.pass_fds,
                    bufsize=0,
                )
            except ValueError as error:  # a NUL or a lone surrogate: nothing the system could start
                request.error = OSError(errno.EINVAL, f"cannot be passed to a program: {error}")
            except Exception as error:  # handed to the thread that asked
                request.error = error
            request.done.set()


_spawner = _Spawner()


def spawn(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    *,
    stdin: int = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start `argv` in a session of its own, both its output streams piped and unbuffered. Raises OSError.

    `stdin`: empty, subprocess.PIPE, or a descriptor to read from; `pass_fds`: descriptors that it inherits.
    """
    return _spawner.spawn(argv, cwd, env, stdin, pass_fds)


_GUARD: Final = """
trap '' HUP INT TERM
spared=
while read -r word mark; do
    case $word in
        farewell) exit 0 ;;
        spare) spared="$spared $mark" ;;
    esac
done
before=1
for try in 1 2 3 4; do
    found=
    for file in $(grep -lsF "$1" /proc/[0-9]*/environ /proc/[0-9]*/mountinfo; grep -lsF "$2" /proc/[0-9]*/cgroup); do
        pid=${file#/proc/}
        pid=${pid%/*}
        for mark in $spared; do
            grep -qsF "$mark" "/proc/$pid/environ" "/proc/$pid/mountinfo" && continue 2
        done
        kill -KILL "$pid" 2>/dev/null && found=1
    done
    [ "$found$before" ] || exit 0
    before=$found
    sleep 0.2
done
"""


class _Guard:
    """A small shell that outlives the program by a moment and ends what its commands leave when it was killed.

    A killed program can end nothing itself, and the kernel's death signal reaches direct children alone. The shell
    waits for the end of a pipe; the word farewell tells it that there is nothing to do, others whom to spare. What has
    put off the mark in its environment is known by that of its mounts, or by its control group. Two rounds have to find
    nothing: what is being forked, or is becoming another program, shows itself in the next one only.
    """

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        """What the markers of the program's commands begin with."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def new_mark(self) -> str:
        """The mark of one more program, in its environment (MARKER)."""
        return f"{self.id}-{uuid.uuid4().hex}"

    def watch(self) -> None:
        """See that it runs. Without /proc, or a shell, commands are run unguarded."""
        with self._lock:
            if not _HAS_PROC or (self._process is not None and self._process.poll() is None):
                return
            argv = ["/bin/sh", "-c", _GUARD, "guard", self.id, f"/{cgroup.name_of(os.getpid())}"]
            try:
                process = spawn(argv, Path("/"), {"PATH": os.defpath}, stdin=subprocess.PIPE)
            except OSError as error:
                log.warning("commands are not guarded: %s", error)
                return
            for stream in (process.stdout, process.stderr):  # it says nothing
                if stream is not None:
                    stream.close()
            self._process = process

    def spare(self, marker: str) -> None:
        """What bears this mark outlives the program."""
        with self._lock, suppress(OSError):
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(f"spare {marker}\n".encode())

    def dismiss(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with suppress(OSError):  # it is gone already
            process.stdin.write(b"farewell\n")
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL)


_guard = _Guard()


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
    walls = _Walls(argv, cwd, sandbox)
    mark = {MARKER: _guard.new_mark()}  # without one it could be taken for what is left of a command (`_Family`)
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


class _Walls:
    """What stands around one command while it runs. Without a policy: nothing."""

    def __init__(self, argv: Sequence[str], cwd: Path, policy: SandboxPolicy | None) -> None:
        self.argv: Sequence[str] = argv
        self.env: Mapping[str, str] = {}
        self.pass_fds: Sequence[int] = ()
        self.leaf: Path | None = None
        self._groups: tuple[Path, ...] = ()
        self._launch: Launch | None = None
        self._namespace = 0
        self._lock = threading.Lock()
        self._kept: int | None = None
        self._closed = False
        if policy is None:
            return
        from agent_core.sandbox.launch import prepare  # no start waits for it

        if policy.cgroups:
            try:
                joined = cgroup.leaf(policy.cgroups)
            except OSError as error:  # the group was removed by somebody; its bounds are not for us to leave out
                raise SandboxError(
                    "sandbox_cgroup", f"The command's control group could not be made: {error}. Nothing was run."
                ) from error
            self._groups, self.leaf = joined, joined[0]
            policy = replace(policy, cgroups=joined)
        try:
            self._launch = prepare(argv, cwd, policy)
        except BaseException:
            self.close()
            raise
        self.argv, self.pass_fds = self._launch.argv, self._launch.pass_fds
        self.env = self._launch.env

    @property
    def namespace(self) -> int:
        """The mount namespace of all that comes from the command; 0: it has none of its own."""
        with self._lock:
            if not self._namespace and self._launch is not None and not self._closed:
                self._namespace = self._launch.namespace
            return self._namespace

    def keep_namespace(self, pid: int) -> None:
        """While a descriptor of it is open, no other mount namespace gets its number. `pid` is a process in it."""
        with self._lock, suppress(OSError):
            if self._kept is None and not self._closed:
                self._kept = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def started(self, process: subprocess.Popen[bytes]) -> None:
        """Right after the launcher was started, which waits for it. Raises SandboxError; the process is ended then."""
        try:
            for group in self._groups:
                cgroup.join(group, process.pid)
        except OSError as error:
            process.kill()
            process.wait()
            raise SandboxError(
                "sandbox_cgroup", f"The command's control group could not be joined: {error}. Nothing was run."
            ) from error

    def hand_over(self) -> list[tuple[str, int]]:
        """Copies of what keeps names free, by their paths: who has them releases the names. Ours are closed."""
        if self._launch is None:
            return []
        copies = [(str(place.path), os.dup(place.descriptor)) for place in self._launch.places]
        self._launch.hand_over()
        return copies

    def check(self) -> None:
        """After the process has ended by itself. Raises SandboxError or OSError when the command was not started."""
        failure = self._launch.failure() if self._launch is not None else None
        if failure is not None:
            raise failure

    def close(self) -> None:
        """When everything has ended."""
        with self._lock:
            if self._kept is not None and not self._closed:
                os.close(self._kept)
            self._closed = True
            if self._launch is not None:
                self._launch.close()
        if self.leaf is not None:
            cgroup.remove((self.leaf,))


# -- ending -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Member:
    """A process by id and start time, since ids are used again."""

    pid: int
    started: int


def _stat(pid: int) -> tuple[str, int, int, int, int] | None:
    """State, parent, group, session and start time (clock ticks since boot) of a process; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 20:
        return None
    return fields[0].decode("ascii", "replace"), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19])


def _environ(pid: int) -> bytes:
    """What a process was started with; empty when that cannot be seen."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _namespace(pid: int) -> int:
    """The mount namespace of a process; 0 when that cannot be seen."""
    try:
        return os.stat(f"/proc/{pid}/ns/mnt").st_ino
    except OSError:
        return 0


class _Family:
    """A command's shell and everything that came from it.

    A descendant is known by its session or group, by its parent, or, when it left both (setsid) and its parent is
    gone, by the marker in its environment. One that was confined is known for sure, whatever it does: by the leaf of
    a control group and by its mount namespace, where it has them.
    """

    def __init__(self, process: subprocess.Popen[bytes], marker: str, walls: _Walls) -> None:
        self.process = process
        self.walls = walls
        self._leaf = walls.leaf
        self.marker = marker
        self._marker = f"{MARKER}={marker}".encode()
        stat = _stat(process.pid)
        self._since = stat[4] if stat is not None else 0
        self._known: set[_Member] = set()

    def members(self) -> tuple[_Member, ...]:
        """The living descendants, the shell itself excepted; empty where there is no /proc."""
        shell = self.process.pid
        found: dict[int, _Member] = {}
        others: list[tuple[int, int, _Member]] = []
        for pid in _process_ids():
            stat = _stat(pid)
            if pid == shell or stat is None or stat[0] in "ZX":
                continue
            _, parent, group, session, started = stat
            member = _Member(pid, started)
            if session == shell or group == shell or member in self._known:
                found[pid] = member
            elif started >= self._since:
                others.append((pid, parent, member))
        inside = set(cgroup.members(self._leaf)) if self._leaf is not None else set()
        namespace = self.walls.namespace
        for pid, _, member in others:
            environ = _environ(pid)
            if pid in inside or self._marker in environ or (namespace and self._is_in(namespace, pid, environ)):
                found[pid] = member
        grown = True
        while grown:
            grown = False
            for pid, parent, member in others:
                if pid not in found and parent in found:
                    found[pid] = member
                    grown = True
        self._known.update(found.values())
        return tuple(found[pid] for pid in sorted(found))

    def _is_in(self, namespace: int, pid: int, environ: bytes) -> bool:
        """Whether a process is in the command's mount namespace, by its number, which the kernel may use again.

        So whoever bears the mark of another command is not, and the first one found keeps the number ours.
        """
        if _namespace(pid) != namespace or f"{MARKER}=".encode() in environ:
            return False
        self.walls.keep_namespace(pid)
        return True

    def signal(self, number: int) -> bool:
        """Signal the group and every member outside it; True while anything is alive."""
        if number == signal.SIGKILL and self._leaf is not None:
            cgroup.kill(self._leaf)
        members = self.members()
        running = self.process.poll() is None
        if running or _group_exists(self.process.pid):
            _ignoring_gone(os.killpg, self.process.pid, number)
        for member in members:
            stat = _stat(member.pid)
            if stat is not None and stat[4] == member.started and stat[2] != self.process.pid:
                _ignoring_gone(os.kill, member.pid, number)
        return running or bool(members)

    def alive(self) -> bool:
        if self.process.poll() is None:
            return True
        return bool(self.members()) if _HAS_PROC else _group_exists(self.process.pid)

    def wait_gone(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL)
        return True

    def finish(self, grace: float) -> None:
        """After TERM: wait out the grace (seconds), then KILL until nothing is left.

        KILL is repeated, since a fork may race a sweep, but not for ever: what became another user's stays.
        """
        if not self.wait_gone(grace):
            deadline = time.monotonic() + limits.COMMAND_KILL_WAIT
            while time.monotonic() < deadline and self.signal(signal.SIGKILL) and not self.wait_gone(_POLL * 4):
                pass
        self.close()

    def close(self) -> None:
        """Forget it, and take down its walls. To be called once."""
        _families.discard(self)
        self.walls.close()


def kill_marked(marker: str) -> None:
    """Kill whatever bears this mark; for what nobody watches any more. The empty mark is nobody's.

    One round is not enough: a process may be forked behind the round, and one that is just becoming another program
    shows no environment. So it goes on until a round has found neither, for limits.COMMAND_KILL_WAIT seconds at most.
    """
    mark = f"{MARKER}={marker}".encode()
    deadline = time.monotonic() + limits.COMMAND_KILL_WAIT
    while marker and _kill_round(mark) and time.monotonic() < deadline:
        time.sleep(_POLL / 5)


def _kill_round(mark: bytes) -> bool:
    """Kill what bears the mark now; whether there may be more."""
    more = False
    for pid in _process_ids():
        environ = _environ(pid)
        if mark in environ.split(b"\0"):
            _ignoring_gone(os.kill, pid, signal.SIGKILL)
            more = True
        elif not environ and _is_becoming(pid):
            more = True
    return more


def _is_becoming(pid: int) -> bool:
    """Whether a process whose environment is empty is in the middle of exec: it has a program and no words yet."""
    try:
        os.readlink(f"/proc/{pid}/exe")  # threads of the kernel and the dead have none
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return not file.read(1)
    except OSError:
        return False


class Held:
    """A program that goes on beside ours, with all three of its streams piped, and whatever comes from it.

    Whoever holds it reads both its outputs all the time and closes its input. It ends with ours, however ours ends.
    """

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], sandbox: SandboxPolicy | None = None
    ) -> None:
        """Start it. Raises OSError, SandboxError; then nothing runs."""
        marker = _guard.new_mark()
        _guard.watch()
        walls = _Walls(argv, cwd, sandbox)
        try:
            started = {**env, **walls.env, MARKER: marker}
            self.process = spawn(walls.argv, cwd, started, stdin=subprocess.PIPE, pass_fds=walls.pass_fds)
            walls.started(self.process)
        except BaseException:
            walls.close()
            raise
        self._family = _Family(self.process, marker, walls)
        _families.add(self._family)
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


class Leftover:
    """What has outlived its command and is to go on: its processes, and the pipes that they hold.

    Whoever takes it has it watched (job_relay.py), reads the pipes, and calls `close` when all of it has ended.
    """

    def __init__(self, family: _Family, pids: tuple[int, ...], pipes: tuple[int, int]) -> None:
        self._family = family
        self.pids = pids
        self.pipes = pipes
        """Descriptors; they are the command's result's, to be copied."""

    @property
    def marker(self) -> str:
        return self._family.marker

    def members(self) -> list[tuple[int, int]]:
        """Ids and starts (ticks since boot) of its processes."""
        return [(member.pid, member.started) for member in self._family.members()]

    @property
    def namespace(self) -> int:
        return self._family.walls.namespace

    def move(self) -> tuple[Path, ...]:
        """Out of the session's control group into one of its own, which is given; none where it is in none."""
        leaf = self._family.walls.leaf
        return cgroup.move_apart(leaf) if leaf is not None else ()

    def hand_over(self) -> list[tuple[str, int]]:
        """See _Walls.hand_over."""
        return self._family.walls.hand_over()

    def keep(self, keep: bool) -> None:
        """Whether the end of the program is to spare it."""
        if keep:
            _families.discard(self._family)
            _guard.spare(self.marker)
        else:
            _families.add(self._family)

    def close(self) -> None:
        self._family.close()


def _process_ids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def _ignoring_gone(send: Callable[[int, int], None], target: int, number: int) -> None:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):  # gone meanwhile, or became another user's (sudo)
        pass


class _Families:
    """The families that still run, so that none outlives the program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: set[_Family] = set()

    def add(self, family: _Family) -> None:
        with self._lock:
            self._all.add(family)

    def discard(self, family: _Family) -> None:
        with self._lock:
            self._all.discard(family)

    def kill_all(self) -> None:
        with self._lock:
            families = list(self._all)
        for family in families:
            family.signal(signal.SIGKILL)


_families = _Families()
atexit.register(_families.kill_all)


def kill_all() -> None:
    """Kill every command that still runs, at once. For leaving the program; also registered with atexit."""
    _families.kill_all()
    _guard.dismiss()


# -- running ------------------------------------------------------------------------------------------------------


class _Wake:
    """A file descriptor that any thread may make readable, also after it was closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._open = True

    def set(self) -> None:
        with self._lock:
            if self._open:
                try:
                    os.write(self._writer, b"x")
                except BlockingIOError:  # full is as readable as it gets
                    pass

    def close(self) -> None:
        with self._lock:
            if self._open:
                self._open = False
                os.close(self.reader)
                os.close(self._writer)


def run(
    argv: Sequence[str],
    cwd: Path,
    *,
    env: Mapping[str, str],
    timeout: float,
    cancel: CancelScope,
    on_output: Callable[[str], None] | None = None,
    stdin: int = subprocess.DEVNULL,
    stream_limit: int = limits.COMMAND_STREAM,
    sandbox: SandboxPolicy | None = None,
    leave: Callable[[Leftover], str] | None = None,
) -> ExecResult:
    """Run a program to its end, its time limit (seconds) or `cancel`, whichever is first.

    Both streams are drained all the time, whatever is kept of them (LIM-10). A child that outlives the program and
    holds a pipe is waited for no longer than limits.COMMAND_PIPE_GRACE, named in `left_running`, and ended (TERM,
    then KILL). On cancel this returns at once while the ending goes on. `on_output` gets the output as it arrives,
    in this thread. `stdin`: empty, or a descriptor of a file. `sandbox`: what it is held to; None: nothing. `leave`
    may take what outlived the program and give it a name (ExecResult.left_as); then it is not ended. One that waits for
    keys is ended (ExecResult.keyless).

    Raises OSError when the program cannot be started, SandboxError when it cannot be confined as it had to be: then
    nothing has run, and nothing is tried without (A8).
    """
    marker = _guard.new_mark()
    _guard.watch()
    started = time.monotonic()
    walls = _Walls(argv, cwd, sandbox)
    try:
        process = spawn(walls.argv, cwd, {**env, **walls.env, MARKER: marker}, stdin=stdin, pass_fds=walls.pass_fds)
        walls.started(process)
    except BaseException:
        walls.close()
        raise
    family = _Family(process, marker, walls)
    _families.add(family)
    assert process.stdout is not None
    assert process.stderr is not None
    streams = (HeadTail(stream_limit), HeadTail(stream_limit))
    drain = _Drain(process, dict(zip((process.stdout, process.stderr), streams, strict=True)), on_output)
    wake = _Wake()
    left: tuple[int, ...] = ()
    left_as = ""
    try:
        with cancel.closing(wake.set):
            keyless = Keyless(lambda: (process.pid, *(member.pid for member in family.members())))
            ended = drain.until_exit(started + timeout, wake.reader, cancel, keyless)
            if ended == "exit":
                walls.check()
                left = _linger(family, drain)
                if left and leave is not None:
                    pipes = (process.stdout.fileno(), process.stderr.fileno())
                    left_as = leave(Leftover(family, left, pipes))
            if ended == "exit" and not left:
                family.close()
            elif not left_as:
                grace = limits.COMMAND_TERM_GRACE
                family.signal(signal.SIGTERM)
                if ended == "timeout":
                    # A program that tidies up on TERM may still say something useful.
                    drain.until_exit(time.monotonic() + grace, wake.reader, cancel)
                    grace = 0
                threading.Thread(target=family.finish, args=(grace,), name="reaper", daemon=True).start()
            drain.for_seconds(0)
    except BaseException:  # `on_output` raised: nothing may be left running behind it
        family.signal(signal.SIGKILL)
        family.close()
        raise
    finally:
        wake.close()
        drain.close()
    code = process.poll() if ended == "exit" else None
    return ExecResult(
        exit_code=code if code is not None and code >= 0 else None,
        stdout=streams[0].text(),
        stderr=streams[1].text(),
        seconds=time.monotonic() - started,
        timed_out=ended == "timeout",
        keyless=ended == "keyless",
        interrupted=ended == "cancel",
        signal=-code if code is not None and code < 0 else None,
        stdout_bytes=streams[0].total,
        stderr_bytes=streams[1].total,
        left_running=left,
        left_as=left_as,
    )


def _linger(family: _Family, drain: _Drain) -> tuple[int, ...]:
    """Give what outlived the program a moment to end by itself; the ids of what did not."""
    deadline = time.monotonic() + limits.COMMAND_PIPE_GRACE
    members = family.members()
    while members and time.monotonic() < deadline:
        time.sleep(_POLL)
        drain.for_seconds(0)
        members = family.members()
    # Without descendants the pipes hold only what has been written already.
    drain.for_seconds(0 if members else limits.COMMAND_PIPE_GRACE)
    return tuple(member.pid for member in members)


class _Drain:
    """Reads both pipes of a process in the calling thread, into bounded buffers."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        buffers: Mapping[IO[bytes], HeadTail],
        on_output: Callable[[str], None] | None,
    ) -> None:
        self._process = process
        self._selector = selectors.DefaultSelector()
        self._buffers = buffers
        self._on_output = on_output
        self._decoders = {pipe: codecs.getincrementaldecoder("utf-8")("replace") for pipe in buffers}
        self._pipes = {pipe.fileno(): pipe for pipe in buffers}
        self._pidfd: int | None = None
        for pipe in buffers:
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ)
        if hasattr(os, "pidfd_open"):
            try:
                self._pidfd = os.pidfd_open(process.pid)
                self._selector.register(self._pidfd, selectors.EVENT_READ)
            except OSError:  # an old kernel: the exit is polled for
                self._pidfd = None

    def until_exit(
        self, deadline: float, wake: int, cancel: CancelScope, keyless: Keyless | None = None
    ) -> Literal["exit", "timeout", "cancel", "keyless"]:
        """Read until the process ends, the deadline (monotonic seconds) passes, or `cancel` made `wake` readable.

        With `keyless`, also until it waits for a key.
        """
        self._selector.register(wake, selectors.EVENT_READ)
        look = time.monotonic() + limits.COMMAND_LOOK
        try:
            while True:
                if cancel.cancelled:
                    return "cancel"
                if self._process.poll() is not None:
                    return "exit"
                now = time.monotonic()
                left = deadline - now
                if left <= 0:
                    return "timeout"
                if keyless is not None:
                    if now >= look:
                        if keyless.waits():
                            return "keyless"
                        look = now + limits.COMMAND_LOOK
                    left = min(left, max(look - now, 0.0))
                self._step(left if self._pidfd is not None else min(left, _POLL))
        finally:
            self._selector.unregister(wake)

    def for_seconds(self, seconds: float) -> None:
        """Read what is there, waiting up to `seconds` for the pipes to close."""
        if self._pidfd is not None and self._pidfd in self._selector.get_map():
            self._selector.unregister(self._pidfd)
        deadline = time.monotonic() + seconds
        while self._selector.get_map():
            left = max(deadline - time.monotonic(), 0)
            if not self._step(left) or not left:
                return

    def _step(self, timeout: float) -> bool:
        """Wait for one round of events and read; False when there was none."""
        events = self._selector.select(timeout)
        for key, _ in events:
            pipe = self._pipes.get(key.fd)
            if pipe is not None:
                self._read(pipe)
        return bool(events)

    def _read(self, pipe: IO[bytes]) -> None:
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._buffers[pipe].add(data)
        else:
            self._selector.unregister(pipe)
        if self._on_output is not None:
            text = self._decoders[pipe].decode(data, final=not data)
            if text:
                self._on_output(text)

    def close(self) -> None:
        self._selector.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
        for pipe in self._buffers:
            pipe.close()


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """Commands on this machine, in the box they are given (ports.TerminalBackend)."""

    confine: Callable[[Box], SandboxPolicy | None] = lambda box: None
    """The policy of a box; None: it sets no bounds. Raises SandboxError when it cannot be made."""
    adopt: Callable[[Leftover, str, Path, Box], str] | None = None
    """Take what outlives a command, which it is given with its folder and box, and give it a name; "": it cannot."""

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
        argv, policy = ("/bin/sh", "-c", command), self.confine(box)
        if policy is None and box != UNCONFINED:
            raise SandboxError("no_sandbox", "This machine cannot confine commands, and it had to be confined.")
        adopt, leave = self.adopt, None
        if adopt is not None:
            leave = lambda leftover: adopt(leftover, command, cwd, box)  # noqa: E731
        return run(argv, cwd, env=env, timeout=timeout, cancel=cancel, on_output=on_output, sandbox=policy, leave=leave)
