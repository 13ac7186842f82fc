"""Programs that start without their imports: copies of one that has made them and waits.

Most of what a start costs are imports, and the tests start the program hundreds of times. `start` asks a warm
interpreter, one for each process of pytest, for a copy of itself that goes on as `python -m MODULE ...` or
`python -c CODE ...` would: with its own session, folder, arguments and whole environment, on the descriptors it is
given.

What differs from a real start: modules that the program would import later, or not at all, are there from the first;
what is imported is not looked at by the garbage collector; the command line in /proc is that of the warm interpreter.
So tests of the start itself, of imports and of memory ask for a real one, which `can_be_warm` also asks for where an
environment has variables that the interpreter or a module reads but once, when it is loaded.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import faulthandler
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import termios
import time
import types
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

LOADED = (
    "anyio", "certifi", "h11", "httpcore", "httpx", "markdown_it", "pygments.lexers.python", "rich.syntax",
    "socksio", "sqlite3", "textual.drivers.linux_driver", "textual.widgets", "textual.widgets._option_list",
    "textual.widgets._text_area", "urllib.request", "watchfiles", "yaml",
)  # fmt: skip
"""What a start and a first turn import of others."""
NOT_LOADED = ("__main__", "launcher", "_child", "job_relay", "index_child", "sample")
"""Ends of modules that run as programs of their own."""
ONCE = ("PYTHON", "TEXTUAL_", "ESCDELAY", "LC_TERMINAL", "TERM_PROGRAM")
"""Beginnings of variables that are read when a module is loaded, or the interpreter itself."""
TELLS = signal.SIGUSR2
"""A copy that gets this signal writes to its standard error where its threads stand."""
REQUEST = 1 << 20
"""Bytes of a request: an environment and a command line, at most."""


class Child:
    """A program that was started; what the tests use of `subprocess.Popen`, with all output captured as text."""

    def __init__(self, report: int, out: int = -1, err: int = -1):
        self._report, self._told, self._outputs = report, b"", [fd for fd in (out, err) if fd >= 0]
        self.returncode: int | None = None
        self.pid = int(self._line(60.0))  # the first waits for all imports, on whatever machine

    def _line(self, seconds: float) -> str:
        """The next line of the report; empty when none comes in time."""
        if b"\n" not in self._told and select.select([self._report], [], [], max(0.0, seconds))[0]:
            self._told += os.read(self._report, 64)
            assert self._told, f"the warm interpreter has ended: {_last_words()}"
        line, _, self._told = self._told.partition(b"\n")
        return line.decode()

    def poll(self) -> int | None:
        return self._wait(0.0)

    def _wait(self, seconds: float) -> int | None:
        """The exit code, below 0 for a signal; None when it still runs after `seconds`."""
        if self.returncode is None and (line := self._line(seconds)):
            self.returncode = os.waitstatus_to_exitcode(int(line))
            os.close(self._report)
        return self.returncode

    def wait(self, timeout: float) -> int:
        if self._wait(timeout) is None:
            raise subprocess.TimeoutExpired("the program", timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, which is not told yet
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(9)

    def communicate(self, timeout: float = 60.0) -> tuple[str, str]:
        """All that it writes until it ends. Raises subprocess.TimeoutExpired."""
        end = time.monotonic() + timeout
        texts = {fd: bytearray() for fd in self._outputs}
        while self._outputs:
            ready = select.select(self._outputs, [], [], max(0.0, end - time.monotonic()))[0]
            if not ready:
                raise subprocess.TimeoutExpired("the program", timeout)
            for fd in ready:
                if data := os.read(fd, 1 << 16):
                    texts[fd] += data
                else:
                    self._outputs.remove(fd)
                    os.close(fd)
        self.wait(end - time.monotonic())
        out, err = (*(text.decode() for text in texts.values()), "", "")[:2]
        return out, err


def can_be_warm(command: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a copy of the warm interpreter is the same as this command in this environment."""

    def once(given: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in given.items() if name.startswith(ONCE)}

    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    return (
        command[0] == sys.executable
        and command[1] in ("-m", "-c")
        and once(env) == once(_environment())
        and locale.upper().replace("-", "").endswith("UTF8")
    )


def start(command: Sequence[str], env: Mapping[str, str], cwd: Path | str, fds: Sequence[int], *outputs: int) -> Child:
    """A copy that goes on as `command`, with `fds` as its descriptors 0, 1 and 2; `outputs` is what `Child` reads."""
    report, told = os.pipe()
    request = json.dumps([command[1:], dict(env), str(cwd)], ensure_ascii=True).encode()
    socket.send_fds(_link(), [request], [told, *fds])
    os.close(told)
    return Child(report, *outputs)


def popen(command: Sequence[str], *, env: Mapping[str, str], cwd: Path | str, input: str = "", fresh: bool = False):
    """`command` with its output captured, as a warm copy if it can be one and not `fresh`."""
    stdin = os.memfd_create("input", 0)
    os.write(stdin, input.encode())
    os.lseek(stdin, 0, os.SEEK_SET)
    try:
        if fresh or not can_be_warm(command, env):
            pipe = subprocess.PIPE
            return subprocess.Popen(command, env=env, cwd=cwd, stdin=stdin, stdout=pipe, stderr=pipe, text=True)
        (out, its_out), (err, its_err) = os.pipe(), os.pipe()
        try:
            return start(command, env, cwd, (stdin, its_out, its_err), out, err)
        finally:
            os.close(its_out)
            os.close(its_err)
    finally:
        os.close(stdin)


def run(command: Sequence[str], *, timeout: float = 60.0, **options) -> subprocess.CompletedProcess[str]:
    """A whole run of `command`; `options` as for `popen`."""
    child = popen(command, **options)
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        raise
    return subprocess.CompletedProcess(command, child.returncode, out, err)


# -- the warm interpreter -------------------------------------------------------------------------------------------

_started: list[socket.socket] = []


def _end(program: subprocess.Popen[bytes]) -> None:
    _started.pop().close()
    program.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}


def _link() -> socket.socket:
    """The socket of this process's warm interpreter, which is started when it is first asked for and ends with us."""
    if not _started:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, its):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST)
        # Neither a file nor a terminal: Python makes streams that fit whatever a copy is given.
        program = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.warm"],
            cwd=ROOT, env=_environment(), stdin=its, stdout=its, stderr=its, start_new_session=True,
        )  # fmt: skip
        its.close()
        _started.append(ours)
        atexit.register(_end, program)
    return _started[0]


def _last_words() -> str:
    said = b""
    with contextlib.suppress(OSError):
        while part := _started[0].recv(REQUEST, socket.MSG_DONTWAIT):
            said += part
    return said.decode()


def load(*packages: str) -> None:
    """Import all of `packages`, and what they import when it is needed: copies share it, and the words of languages."""
    from nanoherm_tui import cli, i18n  # first, as in a real start: see nanoherm_tui/leaving.py

    assert cli
    for language in i18n.LANGUAGES:
        i18n.texts(language)
    for package in packages:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith(NOT_LOADED):
                with contextlib.suppress(Exception):  # is told where it is needed
                    importlib.import_module(module.name)
    for name in LOADED:
        importlib.import_module(name)
    settle()


def settle() -> None:
    """Write the methods of the records that are loaded, which wait for their first call; count nothing as garbage."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("agent_core.", "nanoherm_tui.")):
            for cls in list(vars(module).values()):
                if isinstance(cls, type) and dataclasses.is_dataclass(cls):
                    with contextlib.suppress(Exception):  # it is called, on whatever it may be
                        cls.__init__(object())
    gc.collect()
    gc.freeze()


def _serve() -> list[str]:
    """Make copies until nobody can ask any more. Returns in each copy, with the arguments of its interpreter."""
    link = socket.socket(fileno=os.dup(0))
    waiting = selectors.PollSelector()  # holds no descriptor
    waiting.register(link, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is not link:
                pid, told = key.data
                waiting.unregister(key.fd)
                os.close(key.fd)
                os.write(told, b"%d\n" % os.waitpid(pid, 0)[1])
                os.close(told)
                continue
            request, fds, _, _ = socket.recv_fds(link, REQUEST, 4)
            if not request:
                os._exit(0)
            told, *its = fds
            pid = os.fork()
            if not pid:
                link.detach()
                return _begin(json.loads(request), its)
            waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, told))
            os.write(told, b"%d\n" % pid)
            for fd in its:
                os.close(fd)


def _begin(request: tuple[list[str], dict[str, str], str], fds: list[int]) -> list[str]:
    """Be a process of its own: session, terminal, folder, environment and descriptors."""
    arguments, env, folder = request
    os.setsid()
    if os.isatty(fds[0]):
        fcntl.ioctl(fds[0], termios.TIOCSCTTY, 0)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    faulthandler.register(TELLS, file=2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(line_buffering=stream.isatty() and not stream.write_through)
    return arguments


def _become(arguments: list[str]) -> None:
    """Go on as the interpreter does that is given these arguments."""
    what, name, *rest = arguments
    sys.path[0] = os.getcwd() if what == "-m" else ""
    sys.argv = [what, *rest]
    if what == "-m":
        # A package runs its __main__; what has ended is told by SystemExit.
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(name, "<string>", "exec"), main.__dict__)


if __name__ == "__main__":
    load("agent_core", "nanoherm_tui")
    _become(_serve())
