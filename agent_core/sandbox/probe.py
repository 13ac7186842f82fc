"""Which walls this machine has: asked of the kernel itself, not read from /sys; what cannot be asked is tried."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final, Literal

from agent_core import limits
from agent_core.errors import SandboxError
from agent_core.records import dataclass
from agent_core.sandbox import bpf, cgroup
from agent_core.sandbox.landlock import NEEDED_ABI
from agent_core.sandbox.plan import Kernel, ViewBy, plan
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.sandbox.program import interpreter, launch

_LANDLOCK_CREATE_RULESET: Final = 444
_VERSION: Final = 1
_ERRATA: Final = 2
_SECCOMP: Final = {"x86_64": 317, "aarch64": 277}
_SECCOMP_GET_ACTION_AVAIL: Final = 2


@dataclass(frozen=True, slots=True)
class Layers:
    """What confines commands here, and of what is missing the reason."""

    arch: str
    """As `os.uname().machine` calls the processor."""
    landlock_abi: int
    """0: none."""
    landlock_error: str
    """Why there is none: the call that failed, and with what; empty when there is one."""
    errata: int
    """Bits of Landlock's mistakes that this kernel has mended."""
    seccomp: bool
    view_by: ViewBy
    view_error: str
    cgroup: Literal["v2", "v1", ""]
    """Which control groups can be made here."""

    @property
    def can_confine(self) -> bool:
        """All that a command must have. Only the mount view may be missing."""
        return self.landlock_abi >= NEEDED_ABI and self.seccomp

    @property
    def why(self) -> str:
        """What keeps this kernel from confining commands: the call that failed, or what is too old; empty: nothing."""
        if self.landlock_abi < NEEDED_ABI:
            return self.landlock_error or f"Landlock ABI {self.landlock_abi}, {NEEDED_ABI} is needed"
        return "" if self.seccomp else f"no system call filter on {self.arch}"

    @property
    def mount_view(self) -> bool:
        return bool(self.view_by)

    @property
    def missing(self) -> tuple[str, ...]:
        """Layers that are not there, by name; "signals": those to programs outside are not held back."""
        found = []
        if self.landlock_abi < NEEDED_ABI:
            found.append("landlock")
        if not self.seccomp:
            found.append("seccomp")
        if not self.view_by:
            found.append("mount view")
        if NEEDED_ABI <= self.landlock_abi < 6:
            found.append("signals")
        if not self.cgroup:
            found.append("cgroup")
        return tuple(found)

    @property
    def kernel(self) -> Kernel:
        return Kernel(self.landlock_abi, self.view_by, self.arch)


def landlock_version() -> int:
    """Landlock's ABI. Raises OSError: ENOSYS not in this kernel, EOPNOTSUPP switched off. Tests put another here."""
    return _create_ruleset(_VERSION)


def _create_ruleset(flag: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    arguments = (_LANDLOCK_CREATE_RULESET, 0, 0, flag)
    result = int(libc.syscall(*map(ctypes.c_long, arguments)))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _has_seccomp(machine: str) -> bool:
    """Whether the kernel takes filters that answer with an error, on a machine whose calls we know."""
    if machine not in bpf.MACHINES:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    action = ctypes.c_uint32(bpf.REFUSE & 0xFFFF0000)
    number = ctypes.c_long(_SECCOMP[machine])
    return (
        int(libc.syscall(number, ctypes.c_long(_SECCOMP_GET_ACTION_AVAIL), ctypes.c_long(0), ctypes.byref(action))) == 0
    )


_lock = threading.Lock()
_known: dict[int, Layers] = {}


def layers() -> Layers:
    """The layers of this machine for the user we are. The first call may take some hundredths of a second."""
    user = os.geteuid()
    with _lock:
        if user not in _known:
            _known[user] = look()
        return _known[user]


def look() -> Layers:
    """As layers(), but looked at anew."""
    machine = os.uname().machine
    if not sys.platform.startswith("linux"):
        # Elsewhere the same numbers are other system calls, so nothing is asked.
        return Layers(machine, 0, f"only Linux has Landlock, and this is {os.uname().sysname}", 0, False, "", "", "")
    abi, why = 0, ""
    try:
        abi = landlock_version()
    except OSError as error:
        # The number has two names, and Landlock's manual uses this one.
        names = {**errno.errorcode, errno.EOPNOTSUPP: "EOPNOTSUPP"}
        why = f"landlock_create_ruleset: {names.get(error.errno or 0, error.errno)}"
    errata = 0
    if abi:
        try:
            errata = _create_ruleset(_ERRATA)
        except OSError:  # a kernel that does not tell
            pass
    seccomp = _has_seccomp(machine)
    by: ViewBy = ""
    view_error = "not tried"
    if abi >= NEEDED_ABI and seccomp:
        by, view_error = _find_view(abi, machine)
    ground = cgroup.ground()
    return Layers(machine, abi, why, errata, seccomp, by, view_error, ground.version if ground is not None else "")


def _find_view(abi: int, machine: str) -> tuple[ViewBy, str]:
    """The way to a mount view that works, by building one around a command that does nothing; or why none does."""
    reasons: list[str] = []
    ways: tuple[ViewBy, ...] = ("root", "user") if os.geteuid() == 0 else ("user",)
    for way in ways:
        try:
            failure = _try(Kernel(abi, way, machine))
        except (OSError, SandboxError, subprocess.TimeoutExpired) as error:
            failure = str(error)
        if not failure:
            return way, ""
        reasons.append(failure)
    return "", "; ".join(reasons)


def _try(kernel: Kernel) -> str:
    """Why a command in a mount view cannot be started; empty when it can."""
    with tempfile.TemporaryDirectory(prefix="nanoherm-") as folder:
        policy = SandboxPolicy(writable=(), tmp=Path(os.path.realpath(folder)))
        made, held = plan(("/bin/sh", "-c", ":"), Path("/"), policy, kernel)
        with launch(made, {}, interpreter((), can_pin=False), held) as ready:
            subprocess.run(
                ready.argv,
                pass_fds=ready.pass_fds,
                cwd="/",
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=limits.SANDBOX_PROBE,
                check=False,
            )
            failure = ready.failure()
    if isinstance(failure, SandboxError):
        return str(failure.params.get("reason", failure))
    return ""
