"""Stands between the program and one command in the background, and outlives the program where it is told to.

A program of its own, as the launcher is: it runs alone from sealed memory, imports nothing of the package and little
of the standard library, since each task has one. It decides nothing. The first argument is the descriptor of its plan,
a marshalled dictionary (start.py). Its input is a pipe from the program, by which it also learns that that has ended:

    "t"   end the command: TERM, and after the plan's grace KILL
    "k"   the command outlives the program; "u": it does not
    end   the program is gone: the command is ended, unless it is kept; then the pipe is opened anew by its name

All that comes from the command is a descendant of this process, whatever it does, because the kernel makes it the
parent of those whose own has ended (PR_SET_CHILD_SUBREAPER). It writes two files in the task's folder: "output", a
line with the number of bytes that went before and then the newest ones; and "state", a line for whatever happens:

    "relay PID TICKS BOOT"   this process, before anything is started: its start in ticks after the boot of that id
    "started PID"            the command's shell, or the launcher that becomes it
    "failed ERRNO"           nothing was started
    "kept 0", "kept 1"       what was said last
    "exit CODE TIME", "signal NUMBER TIME"   how the shell ended, in seconds since the epoch
    "ended", "closed"        its end was wished, or came with the program; before the command hears of it
    "gone TIME"              nothing of it is left; the last line

It also takes in what has outlived a command in the foreground ("foster" of the plan): that is not below it, and is
known by number and start, by the mark in the environment, the mount namespace, or the parent.
"""

import ctypes
import errno
import marshal
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SUBREAPER = 36
_CHUNK = 64 * 1024
_AT_ONCE = 16  # chunks read before anything else is looked at
_LOOK = 1.0  # seconds between two looks at processes whose end nobody tells
_AGAIN = 0.1  # seconds between two rounds of TERM or KILL, since a fork may be faster than one
_PATIENCE = 10.0  # what still lives then cannot be killed by us
_HEAD = 21  # bytes of the output's first line


class Output:
    """The newest part of what the command has written, in a file."""

    def __init__(self, path: bytes, keep: int, room: int) -> None:
        """`keep`: characters that are left when the file has come to `room` bytes."""
        self._path, self._keep, self._room = path, keep, room
        self._base = self._size = 0
        self._file = self._begin(path, 0)

    def _begin(self, path: bytes, base: int) -> int:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _write(file, b"%020d\n" % base, 0)
        except OSError:
            os.close(file)
            raise
        return file

    def add(self, data: bytes) -> None:
        try:
            if self._size + len(data) > self._room:
                self._roll()
            _write(self._file, data, _HEAD + self._size)
            self._size += len(data)
        except OSError:  # a full disk: what cannot be kept is counted
            self._base += self._size + len(data)
            self._size = 0
            try:
                os.ftruncate(self._file, _HEAD)
                os.pwrite(self._file, b"%020d\n" % self._base, 0)
            except OSError:
                pass

    def _roll(self) -> None:
        """Begin the file anew with the last characters. Who reads the old one sees it as it was."""
        begin, left = self._size, self._keep
        while begin:
            start = max(0, begin - 4096)
            piece = os.pread(self._file, begin - start, _HEAD + start)
            # Each character has one byte that goes on from no other.
            left -= len(piece.translate(None, bytes(range(0x80, 0xC0))))
            if left < 0:
                break
            begin = start
        while begin < self._size and begin and os.pread(self._file, 1, _HEAD + begin)[0] & 0xC0 == 0x80:
            begin += 1
        new = self._begin(self._path + b".new", self._base + begin)
        try:
            for at in range(begin, self._size, _CHUNK):
                piece = os.pread(self._file, min(_CHUNK, self._size - at), _HEAD + at)
                _write(new, piece, _HEAD + at - begin)
            os.rename(self._path + b".new", self._path)
        except OSError:
            os.close(new)
            raise
        os.close(self._file)
        self._file, self._base, self._size = new, self._base + begin, self._size - begin


def _write(file: int, data: bytes, at: int) -> None:
    """All of it: a disk that is nearly full takes a part and says so."""
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written


def _stat(pid: str) -> "list[bytes]":
    """The fields of a process' state behind its name; none when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _descendants() -> "list[int]":
    """Everything that came from this process and lives."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        fields = _stat(name) if name.isdigit() else []
        if len(fields) > 1 and fields[0] != b"Z":
            below.setdefault(int(fields[1]), []).append(int(name))
    found, todo = [], [os.getpid()]
    while todo:
        todo += (children := below.get(todo.pop(), []))
        found += children
    return found


class Foster:
    """The processes that outlived a command in the foreground."""

    def __init__(self, known: "list[tuple[int, int]]", mark: bytes, namespace: int) -> None:
        self._known, self._mark, self._namespace = set(known), mark, namespace

    def live(self) -> bool:
        """Whether any of it does. Those known are looked at first: the others cost more."""
        if any(_since(pid) == since for pid, since in self._known) or self.members():
            return True
        time.sleep(_AGAIN)  # one that was just becoming another program showed no mark
        return bool(self.members())

    def members(self) -> "list[int]":
        states = {int(name): _stat(name) for name in os.listdir("/proc") if name.isdigit()}
        living = {pid: fields for pid, fields in states.items() if len(fields) > 19 and fields[0] not in (b"Z", b"X")}
        own = os.getpid()
        found = {
            pid
            for pid, fields in living.items()
            if pid != own and ((pid, int(fields[19])) in self._known or self._is_marked(pid))
        }
        grown = True
        while grown:
            more = {pid for pid, fields in living.items() if int(fields[1]) in found} - found
            found |= more
            grown = bool(more)
        self._known = {(pid, int(living[pid][19])) for pid in found}
        return sorted(found)

    def _is_marked(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                marks = [entry for entry in file.read().split(b"\0") if entry.startswith(b"NANOHERM_COMMAND=")]
            if marks:  # that of another command: the kernel may have used the namespace's number again
                return self._mark in marks
            return bool(self._namespace) and os.stat(f"/proc/{pid}/ns/mnt").st_ino == self._namespace
        except OSError:
            return False


def _since(pid: int) -> int:
    """When a living process began, in ticks since boot; 0: there is none."""
    fields = _stat(str(pid))
    return int(fields[19]) if len(fields) > 19 and fields[0] not in (b"Z", b"X") else 0


class Relay:
    def __init__(self, plan: "dict[str, Any]") -> None:
        self._plan = plan
        self._folder: bytes = plan["folder"]
        self._kept = False
        self._shell = 0
        self._ending = 0.0
        """When KILL is due (monotonic); 0: nobody wishes its end."""
        self._given_up = 0.0
        self._told: set[int] = set()
        """Processes that were sent TERM."""
        self._control = 0
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._state = os.open(self._folder + b"/state", flags, 0o600)
        self._output = Output(self._folder + b"/output", plan["keep"], plan["room"])
        self._poll = select.poll()
        # Before anybody can know of us: a signal that comes while the command is started must not be lost.
        self._wake, woken = os.pipe()
        for descriptor in (self._wake, woken):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        self._poll.register(self._wake, select.POLLIN)
        self._readers: list[int] = []
        foster = plan["foster"]
        self._foster = Foster(*foster) if foster else None

    def say(self, line: str) -> None:
        try:
            os.write(self._state, line.encode() + b"\n")
        except OSError:  # a full disk: the program sees that we have ended, not how
            pass

    # -- the command ----------------------------------------------------------------------------------------------

    def start(self) -> str:
        """Start it; gives the line that says so."""
        plan = self._plan
        if self._foster is not None:
            for descriptor in plan["readers"]:
                self._read_from(descriptor)
            return f"started {plan['foster'][0][0][0]}"
        reader, writer = os.pipe()
        parent = [str(os.getpid())] if plan["launcher"] else []
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_DUP2, writer, 2),
        ]
        ours = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM]
        try:
            os.chdir(plan["cwd"])
            self._shell = os.posix_spawn(
                plan["argv"][0], [*plan["argv"], *parent], plan["env"],
                file_actions=streams, setsid=True, setsigdef=ours,
            )  # fmt: skip
        except OSError as error:
            return f"failed {error.errno}"
        finally:
            os.chdir("/")
            os.close(writer)
            for descriptor in plan["pass"]:
                os.close(descriptor)
        self._read_from(reader)
        for group in plan["groups"]:  # the launcher waits for it, and refuses when it does not come
            try:
                with open(group + b"/cgroup.procs", "wb", buffering=0) as file:
                    file.write(b"%d" % self._shell)
            except OSError:
                pass
        return f"started {self._shell}"

    def _read_from(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._readers.append(descriptor)
        self._poll.register(descriptor, select.POLLIN)

    # -- while it runs --------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Until nothing of it is left."""
        self._poll.register(self._control, select.POLLIN)
        while self._lives():
            for descriptor, _ in self._poll.poll(self._patience()):
                if descriptor == self._wake:
                    numbers = os.read(self._wake, 4096)
                    if signal.SIGTERM in numbers:
                        self._end(self._plan["grace"])
                elif descriptor == self._control:
                    self._hear()
                else:
                    self._drain(descriptor)
            self._press()
        for descriptor in list(self._readers):
            self._drain(descriptor)

    def _patience(self) -> "float | None":
        """Milliseconds to wait at most."""
        if not self._ending:
            return None if self._foster is None else _LOOK * 1000
        return _AGAIN * 1000

    def _hear(self) -> None:
        try:
            words = os.read(self._control, 64)
        except BlockingIOError:
            return
        for word in words:
            if word == ord("t"):
                self._end(self._plan["grace"])
            elif word in b"ku":
                self._kept = word == ord("k")
                self.say(f"kept {int(self._kept)}")
        if words:
            return
        self._poll.unregister(self._control)
        os.close(self._control)
        self._control = -1
        if self._kept:
            try:
                self._control = os.open(self._folder + b"/control", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                self._poll.register(self._control, select.POLLIN)
                return
            except OSError:  # the folder is gone: nobody will ask for it any more
                pass
        self._end(self._plan["grace_alone"], "closed")

    def _end(self, grace: float, why: str = "ended") -> None:
        due = time.monotonic() + grace
        if not self._ending:
            self.say(why)
            self._signal(signal.SIGTERM)
            self._ending, self._given_up = due, due + _PATIENCE
        self._ending = min(self._ending, due)

    def _press(self) -> None:
        if self._ending and time.monotonic() < self._ending:
            self._signal(signal.SIGTERM)  # what was just being forked has not heard of it
        elif self._ending:
            for group in self._plan["groups"][:1]:
                try:
                    with open(group + b"/cgroup.kill", "wb", buffering=0) as file:
                        file.write(b"1")
                except OSError:  # an older kernel
                    pass
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        try:
            members = _descendants() if self._foster is None else self._foster.members()
        except OSError:  # no /proc: its group has to do
            members = [-self._shell]
        if number == signal.SIGTERM:  # each is told once
            members = [pid for pid in members if pid not in self._told]
            self._told.update(members)
        for pid in members:
            try:
                os.kill(pid, number)
            except OSError:  # gone, or another user's by now
                pass

    def _drain(self, reader: int) -> None:
        for _ in range(_AT_ONCE):
            try:
                data = os.read(reader, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._poll.unregister(reader)
                self._readers.remove(reader)
                os.close(reader)
                return
            self._output.add(data)

    def _lives(self) -> bool:
        """Bury the dead; False when that was the last."""
        if self._ending and time.monotonic() > self._given_up:
            return False
        if self._foster is not None:
            return self._foster.live()
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return True
                if pid == self._shell:
                    code = os.waitstatus_to_exitcode(status)
                    how = f"exit {code}" if code >= 0 else f"signal {-code}"
                    self.say(f"{how} {time.time():.3f}")
        except ChildProcessError:
            return False

    # -- the end --------------------------------------------------------------------------------------------------

    def tidy(self) -> None:
        """Take away what it had for itself, and the names that were kept free while it ran."""
        for path, descriptor in self._plan["places"]:
            _release(path, descriptor)
        if self._plan["tmp"]:
            _remove(self._plan["tmp"])
        for group in self._plan["remove"]:
            try:
                os.rmdir(group)
            except OSError:  # something in it could not be killed
                pass
        try:
            os.unlink(self._folder + b"/control")
        except OSError:
            pass


def _release(path: bytes, descriptor: int) -> None:
    """Remove a placeholder (sandbox/mounts.py) when nobody else holds it and it is still empty and ours."""
    import fcntl  # seldom needed

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held, there = os.fstat(descriptor), os.lstat(path)
        if os.path.samestat(held, there) and held.st_mtime_ns == 1_000_000_000 * 10**9:
            if held.st_mode & 0o170000 == 0o040000:
                os.rmdir(path)
            elif not held.st_size:
                os.unlink(path)
    except OSError:
        pass
    os.close(descriptor)


def _remove(folder: bytes) -> None:
    """A folder and all below it, as far as that goes; no link is followed."""
    try:
        os.chmod(folder, 0o700)
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)
        except OSError:
            pass
    try:
        os.rmdir(folder)
    except OSError:
        pass


def _prepare(plan: "dict[str, Any]") -> None:
    for name in os.listdir("/dev/fd"):  # but for what the launcher is given, nothing goes on to the command
        descriptor = int(name)
        if descriptor > 2 and descriptor not in plan["pass"]:
            try:
                os.set_inheritable(descriptor, False)
            except OSError:  # that of the listing itself
                pass
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):  # of a terminal that is not ours
        signal.signal(number, signal.SIG_IGN)
    try:
        if ctypes.CDLL(None).prctl(_SUBREAPER, ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3):
            raise OSError(errno.ENOSYS, "prctl")
    except (OSError, AttributeError):  # another system: what leaves its group and its parent is not found
        pass


def main() -> None:
    with open(int(sys.argv[1]), "rb") as file:
        file.seek(0)
        plan = marshal.load(file)
    _prepare(plan)
    relay = Relay(plan)
    fields = _stat("self")
    since = fields[19].decode() if len(fields) > 19 else "0"
    relay.say(f"relay {os.getpid()} {since} {plan['boot']}")
    begun = relay.start()
    relay.say(begun)
    try:
        os.write(1, begun.encode())
    except OSError:  # the program has just ended: the control pipe says so too, and what was started ends with it
        pass
    nowhere = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    if begun.startswith("started"):
        relay.watch()
    relay.tidy()
    relay.say(f"gone {time.time():.3f}")


if __name__ == "__main__":
    main()
