"""The launcher as a program: which interpreter runs it, where its code lies, how it tells what became of it.

Nothing that a command could have changed takes part: the code lies in sealed memory, made once, and the interpreter in
no folder that a command may write.
"""

from __future__ import annotations

import fcntl
import importlib.util
import marshal
import os
import select
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from importlib.abc import InspectLoader
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from agent_core.errors import SandboxError
from agent_core.records import dataclass
from agent_core.sandbox.mounts import Placeholder

_MODULE: Final = "agent_core.sandbox.launcher"
_SYSTEM_INTERPRETERS: Final = ("/usr/bin/python3", "/usr/local/bin/python3")
_NOEXEC_SEAL: Final = 0x8  # MFD_NOEXEC_SEAL: some systems demand it, older kernels do not know it

WAY_OUT: Final = "Nothing was run. To run it without a sandbox is for a person to allow."
_WORDS: Final = {
    "launcher": "the launcher could not start",
    "limits": "limits could not be set",
    "cgroup": "the control group could not be joined",
    "mounts": "the read-only view of the file system could not be built",
    "privileges": "privileges could not be dropped",
    "landlock": "the kernel refused the Landlock rules",
    "seccomp": "the kernel refused the system call filter",
    "descriptors": "open files could not be closed",
}


@dataclass(slots=True)
class Launch:
    """One command, ready to be spawned. To be closed when the command and all that came from it has ended."""

    argv: tuple[str, ...]
    pass_fds: tuple[int, ...]
    """Descriptors that the started program must inherit under the same numbers."""
    env: Mapping[str, str]
    """What the command's environment has to hold beside its own."""
    places: list[Placeholder]
    """Names that are kept free while it runs."""
    _report: int
    _passed: list[int]
    """Our copies of what only the command's process needs."""
    _heard: list[str] = field(default_factory=list)

    @property
    def namespace(self) -> int:
        """The mount namespace of the command and of all that comes from it; 0: not known (yet), or not its own."""
        first, _, rest = self._told().partition("\n")
        return int(first[1:]) if rest and first.startswith("=") else 0

    def failure(self) -> SandboxError | OSError | None:
        """Why the command was not started, asked once its process has ended by itself; None: it was started."""
        told = self._told()
        if told.startswith("="):
            told = told.partition("\n")[2]
        if told == "+":
            return None
        if told.startswith("+"):
            number = int(told[1:])
            return OSError(number, os.strerror(number))
        layer, _, reason = told[1:].partition("\n")
        return refusal(layer or "launcher", reason or "it ended without a word")

    def hand_over(self) -> None:
        """Its process was started by another one of ours, which holds everything and releases the names."""
        self._close_passed()
        while self.places:
            os.close(self.places.pop().descriptor)

    def wait(self, seconds: float) -> None:
        """After `hand_over`: until the command was started, or was not, but no longer than this."""
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._report, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0 and poll.poll(left * 1000):
            told = len(self._heard)
            self._told()
            if len(self._heard) > told and not self._heard[-1]:  # the other end is closed
                return

    def _told(self) -> str:
        """All that the launcher has said so far. Not to be asked after `close`."""
        with suppress(BlockingIOError):  # nothing new
            self._heard.append(os.read(self._report, 4096).decode("utf-8", "replace"))
        return "".join(self._heard)

    def close(self) -> None:
        """Close the descriptors and take placeholders away; once is enough."""
        self._close_passed()
        while self.places:
            self.places.pop().release()
        if self._report >= 0:
            os.close(self._report)
            self._report = -1

    def _close_passed(self) -> None:
        while self._passed:
            os.close(self._passed.pop())

    def __enter__(self) -> Launch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def refusal(layer: str, reason: str) -> SandboxError:
    """What to tell when a layer could not be put up; `code` names the layer."""
    words = _WORDS.get(layer, layer)
    text = f"The sandbox could not be set up: {words} ({reason}). {WAY_OUT}"
    return SandboxError(f"sandbox_{layer}", text, reason=reason)


@dataclass(frozen=True, slots=True)
class Interpreter:
    path: str
    own: bool
    """The one that we run in ourselves, so that compiled code fits it."""
    pins: tuple[Path, ...] = ()
    """What has to be read-only for it to be trusted: no other lies outside the folders that commands may write."""


def interpreter(writable: Sequence[Path], *, can_pin: bool) -> Interpreter:
    """What may run the launcher when commands may write `writable`. Raises SandboxError when nothing may.

    `can_pin`: a mount view can keep single places from commands.
    """
    own = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    library = os.path.realpath(os.path.dirname(os.__file__))
    runs = os.access(own, os.X_OK)
    if runs and _is_out_of_reach(own, writable) and _is_out_of_reach(library, writable):
        return Interpreter(own, own=True)
    for name in _SYSTEM_INTERPRETERS:
        path = os.path.realpath(name)
        if os.access(path, os.X_OK) and _is_out_of_reach(path, writable):
            return Interpreter(path, own=False)
    if runs and can_pin:
        return Interpreter(own, own=True, pins=(Path(own), Path(library)))
    raise refusal("launcher", f"every Python lies where commands may write, or cannot be run: {own}")


def _is_out_of_reach(path: str, writable: Sequence[Path]) -> bool:
    """Whether nothing of it can be written. Packages that were added to a library do not count: none is loaded."""
    place = Path(path)
    return not any(
        folder == place
        or folder in place.parents
        or (place in folder.parents and folder.relative_to(place).parts[0] not in ("site-packages", "dist-packages"))
        for folder in writable
    )


def launch(
    plan: Mapping[str, Any], env: Mapping[str, str], by: Interpreter, places: Iterable[Placeholder] = ()
) -> Launch:
    """Open what a launcher with this plan needs.

    `places` are released with close(), or at once when this raises: OSError without descriptors.
    """
    held, passed = list(places), list[int]()
    try:
        code = _code(_MODULE, compiled=by.own)
        passed.append(data := memory(marshal.dumps(dict(plan), 4)))
        reader, writer = os.pipe()
        passed.append(writer)
        os.set_blocking(reader, False)
    except BaseException:
        for place in held:
            place.release()
        for descriptor in passed:
            os.close(descriptor)
        raise
    argv = (by.path, "-I", "-S", f"/proc/self/fd/{code}", str(data), str(writer))
    return Launch(argv, (code, data, writer), env, held, reader, passed)


def helper(module: str, writable: Sequence[Path], *, can_pin: bool) -> tuple[tuple[str, ...], int]:
    """How to run another such program of ours: its command line, and a descriptor it must inherit.

    `writable` and `can_pin` as for `interpreter`. Raises SandboxError and OSError.
    """
    by = interpreter(writable, can_pin=can_pin)
    code = _code(module, compiled=by.own)
    return (by.path, "-I", "-S", f"/proc/self/fd/{code}"), code


_lock = threading.Lock()
_codes: dict[str, tuple[int, int]] = {}


def _code(module: str, *, compiled: bool) -> int:
    """A descriptor of a module's code, which stays open: compiled for ourselves, as source for another Python.

    Both are made at once, before any command could reach the file they come from, and while we may still read it.
    """
    with _lock:
        if module not in _codes:
            spec = importlib.util.find_spec(module)
            loader = spec.loader if spec is not None else None
            assert isinstance(loader, InspectLoader)
            # The header of a .pyc that is never looked up: no time, no size.
            header = importlib.util.MAGIC_NUMBER + bytes(12)
            source = memory((loader.get_source(module) or "").encode())
            _codes[module] = source, memory(header + marshal.dumps(loader.get_code(module)))
        return _codes[module][compiled]


def memory(content: bytes) -> int:
    """A descriptor of sealed memory that holds `content`; nobody can change it any more."""
    # Named here, since other systems have none of them and import this all the same.
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        descriptor = os.memfd_create("nanoherm", flags | _NOEXEC_SEAL)
    except OSError:
        descriptor = os.memfd_create("nanoherm", flags)
    try:
        with open(descriptor, "wb", buffering=0, closefd=False) as file:
            file.write(content)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        with suppress(OSError):
            os.close(descriptor)
        raise
    return descriptor
