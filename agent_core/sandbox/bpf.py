"""The system call filter: a seccomp program, put together here as data (S6).

A list of what is refused, with EPERM: a list of what is allowed would break tools that nobody has thought of. What
Landlock judges by path is not repeated here; this closes what it does not see. Pure: words in, bytes out.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from agent_core.errors import SandboxError
from agent_core.records import dataclass

# seccomp_data: nr, arch, instruction pointer, six arguments of 64 bits. All machines in the table are little-endian,
# so the low word of an argument comes first.
_NR: Final = 0
_ARCH: Final = 4


def _low(argument: int) -> int:
    return 16 + 8 * argument


def _high(argument: int) -> int:
    return _low(argument) + 4


_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND: Final = 0x54  # BPF_ALU | BPF_AND | BPF_K
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ANY_BIT: Final = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_FARTHEST: Final = 255  # a conditional jump has eight bits

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
REFUSE: Final = 0x00050001  # SECCOMP_RET_ERRNO | EPERM
UNKNOWN: Final = 0x00050026  # SECCOMP_RET_ERRNO | ENOSYS

_X32: Final = 0x40000000


@dataclass(frozen=True, slots=True)
class Machine:
    """What differs between processors: the audit number, and the numbers of calls."""

    audit: int
    calls: Mapping[str, int]


# fmt: off
# Calls of 2019 and later have the same number everywhere.
_SHARED: Final[dict[str, int]] = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "clone3": 435, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
    "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "open_tree_attr": 467, "file_setattr": 469,
}
_X86_64: Final[dict[str, int]] = _SHARED | {
    "ioctl": 16, "socket": 41, "connect": 42, "socketpair": 53, "clone": 56, "chmod": 90, "fchmod": 91,
    "chown": 92, "fchown": 93, "lchown": 94, "ptrace": 101, "syslog": 103, "utime": 132, "mknod": 133,
    "uselib": 134, "personality": 135, "vhangup": 153, "pivot_root": 155, "adjtimex": 159, "chroot": 161,
    "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169,
    "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "create_module": 174,
    "init_module": 175, "delete_module": 176, "quotactl": 179, "nfsservctl": 180, "setxattr": 188,
    "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199,
    "lookup_dcookie": 212, "clock_settime": 227, "utimes": 235, "kexec_load": 246, "add_key": 248,
    "request_key": 249, "keyctl": 250, "mknodat": 259, "fchownat": 260, "futimesat": 261, "fchmodat": 268,
    "unshare": 272, "utimensat": 280, "perf_event_open": 298, "fanotify_init": 300, "prlimit64": 302,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320,
    "bpf": 321, "userfaultfd": 323,
}
_AARCH64: Final[dict[str, int]] = _SHARED | {
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
    "lookup_dcookie": 18, "ioctl": 29, "mknodat": 33, "umount2": 39, "mount": 40, "pivot_root": 41,
    "nfsservctl": 42, "chroot": 51, "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "vhangup": 58,
    "quotactl": 60, "utimensat": 88, "acct": 89, "personality": 92, "unshare": 97, "kexec_load": 104,
    "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142,
    "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "socket": 198,
    "socketpair": 199, "connect": 203, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220,
    "swapon": 224, "swapoff": 225, "perf_event_open": 241, "prlimit64": 261, "fanotify_init": 262,
    "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
    "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "bpf": 280,
    "userfaultfd": 282, "kexec_file_load": 294,
}
MACHINES: Final[dict[str, Machine]] = {
    "x86_64": Machine(0xC000003E, _X86_64),
    "aarch64": Machine(0xC00000B7, _AARCH64),
}

_NEVER: Final = (
    # Other ways to do what is judged elsewhere: rings skip this filter, handles skip paths.
    "io_uring_setup", "io_uring_enter", "io_uring_register", "name_to_handle_at", "open_by_handle_at",
    # Walls are not moved from inside.
    "mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "unshare", "setns",
    # Other processes, and their memory.
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    # Keys of the kernel, which belong to the user and not to one process.
    "add_key", "request_key", "keyctl",
    # Large and often broken into.
    "bpf", "perf_event_open", "userfaultfd", "fanotify_init", "uselib", "lookup_dcookie", "nfsservctl",
    # The machine's own affairs: clock, name, kernel, modules, swap, quota, ports, log, terminals.
    "clock_settime", "clock_adjtime", "settimeofday", "adjtimex", "sethostname", "setdomainname", "kexec_load",
    "kexec_file_load", "create_module", "init_module", "finit_module", "delete_module", "swapon", "swapoff",
    "reboot", "acct", "quotactl", "quotactl_fd", "iopl", "ioperm", "syslog", "vhangup",
)
_METADATA: Final = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes",
    "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr",
    "fremovexattr", "removexattrat", "file_setattr",
)
# fmt: on

_CLONE_NAMESPACES: Final = 0x7E020000  # mount, cgroup, names, IPC, user, process, network
_TYPE: Final = 0xF000  # of a file's mode
_DEVICES: Final = (0x2000, 0x6000)  # character, block
_TERMINAL_INPUT: Final = (0x5412, 0x541C, 0x541D)  # TIOCSTI, TIOCLINUX, TIOCCONS: typing in another's name
_FILE_FLAGS: Final = (0x40086602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR: as chattr does
# PER_LINUX, PER_LINUX32 and UNAME26 of each, a fixed address space (sanitizers start themselves anew with it), and
# the question what it is.
_PERSONALITIES: Final = (0, 8, 0x20000, 0x20008, 0x40000, 0xFFFFFFFF)
_UNIX: Final = 1
_INET: Final = (2, 10)
_NETLINK: Final = 16
_SOCKET_TYPE: Final = 0xF  # the other bits are SOCK_CLOEXEC and SOCK_NONBLOCK
_STREAM: Final = 1
_DATAGRAM: Final = 2
_SEQUENCED: Final = 5
_TCP: Final = 6
_UDP: Final = 17


class _Program:
    """Instructions with names to jump to. A jump without a name goes on with the next instruction."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, int, str, str]] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        self._labels[name] = len(self._lines)

    def load(self, offset: int) -> None:
        self._lines.append((_LOAD, offset, "", ""))

    def mask(self, bits: int) -> None:
        self._lines.append((_AND, bits, "", ""))

    def jump(self, test: int, value: int, yes: str = "", no: str = "") -> None:
        self._lines.append((test, value, yes, no))

    def give(self, verdict: int) -> None:
        self._lines.append((_RETURN, verdict, "", ""))

    def only(self, values: Sequence[int], otherwise: str = "refuse") -> None:
        """Allow these values of what was loaded; everything else goes to `otherwise`."""
        for value in values[:-1]:
            self.jump(_EQUAL, value, "allow")
        self.jump(_EQUAL, values[-1], "allow", otherwise)

    def bytes(self) -> bytes:
        packed = bytearray()
        for here, (code, value, yes, no) in enumerate(self._lines):
            distances = [self._labels[name] - here - 1 if name else 0 for name in (yes, no)]
            assert all(0 <= distance <= _FARTHEST for distance in distances), f"{yes or no} is too far from {here}"
            packed += struct.pack("<HBBI", code, *distances, value)
        return bytes(packed)


def machine(name: str) -> Machine:
    """The table of a processor, as `os.uname().machine` calls it. Raises SandboxError for one we have none for."""
    try:
        return MACHINES[name]
    except KeyError:
        raise SandboxError(
            "sandbox_arch",
            f"Commands cannot be confined on this processor ({name}): its system calls are not known here. "
            f"The sandbox works on {' and '.join(MACHINES)}.",
            machine=name,
        ) from None


def assemble(name: str, *, network: bool, metadata: bool) -> bytes:
    """The filter for a processor (`os.uname().machine`), as an array of struct sock_filter.

    `network`: TCP and UDP are allowed. `metadata`: mode, owner, times and attributes of files may be changed; no in a
    read-only box without a mount view, where nothing else keeps them. Raises SandboxError for an unknown processor.
    """
    table = machine(name)
    refused = {table.calls[call] for call in _NEVER if call in table.calls}
    if not metadata:
        refused |= {table.calls[call] for call in _METADATA if call in table.calls}
    program = _Program()
    program.load(_ARCH)
    program.jump(_EQUAL, table.audit, "", "kill")
    program.load(_NR)
    if name == "x86_64":
        program.jump(_AT_LEAST, _X32, "refuse")
    judged = ["clone", "clone3", "ioctl", "mknod", "mknodat", "personality", "prlimit64", "socket", "socketpair"]
    for call in judged:
        if call in table.calls:
            program.jump(_EQUAL, table.calls[call], call)
    if not network:
        program.jump(_EQUAL, table.calls["connect"], "refuse")
    for number in sorted(refused):
        program.jump(_EQUAL, number, "refuse")
    program.give(ALLOW)
    _judge_arguments(program, table, network=network, metadata=metadata)
    program.label("allow")
    program.give(ALLOW)
    program.label("refuse")
    program.give(REFUSE)
    program.label("unknown")
    program.give(UNKNOWN)
    program.label("kill")
    program.give(KILL)
    return program.bytes()


def _judge_arguments(program: _Program, table: Machine, *, network: bool, metadata: bool) -> None:
    """The blocks of the calls whose arguments decide."""
    program.label("clone")
    program.load(_low(0))
    program.jump(_ANY_BIT, _CLONE_NAMESPACES, "refuse", "allow")

    # Its flags lie in memory, where a filter cannot look; the C library then uses clone.
    program.label("clone3")
    program.give(UNKNOWN)

    program.label("ioctl")
    program.load(_low(1))
    for request in (*_TERMINAL_INPUT, *(() if metadata else _FILE_FLAGS)):
        program.jump(_EQUAL, request, "refuse")
    program.give(ALLOW)

    for call, mode in (("mknod", 1), ("mknodat", 2)):
        if call in table.calls:
            program.label(call)
            program.load(_low(mode))
            program.mask(_TYPE)
            for kind in _DEVICES:
                program.jump(_EQUAL, kind, "refuse")
            program.give(ALLOW)

    program.label("personality")
    program.load(_low(0))
    program.only(_PERSONALITIES)

    # A limit of another process may be looked at, not set: the agent runs as the same user.
    program.label("prlimit64")
    program.load(_low(0))
    program.jump(_EQUAL, 0, "allow")
    program.load(_low(2))
    program.jump(_EQUAL, 0, "", "refuse")
    program.load(_high(2))
    program.jump(_EQUAL, 0, "allow", "refuse")

    # A datagram can be sent to any socket in the file system without connecting; streams cannot.
    program.label("socketpair")
    program.load(_low(0))
    program.jump(_EQUAL, _UNIX, "", "refuse")
    program.load(_low(1))
    program.mask(_SOCKET_TYPE)
    program.only((_STREAM, _SEQUENCED))

    program.label("socket")
    program.load(_low(0))
    if not network:
        program.jump(_EQUAL, _UNIX, "", "refuse")
        program.load(_low(1))
        program.mask(_SOCKET_TYPE)
        program.only((_STREAM, _SEQUENCED))
        return
    # With connect allowed, a UNIX socket would reach every service of the machine that listens in the file system
    # (containers, keys, the desktop), so there is none.
    for family in _INET:
        program.jump(_EQUAL, family, "inet")
    program.jump(_EQUAL, _NETLINK, "", "refuse")
    program.load(_low(2))  # getaddrinfo asks the route family which addresses there are
    program.jump(_EQUAL, 0, "allow", "refuse")
    program.label("inet")
    program.load(_low(1))
    program.mask(_SOCKET_TYPE)
    program.jump(_EQUAL, _STREAM, "stream")
    program.jump(_EQUAL, _DATAGRAM, "", "refuse")
    program.load(_low(2))
    program.only((0, _UDP))
    program.label("stream")  # multipath TCP is one of the other protocols: Landlock's TCP rules do not see it
    program.load(_low(2))
    program.only((0, _TCP))
