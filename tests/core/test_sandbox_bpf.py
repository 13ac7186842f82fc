"""The system call filter, judged by an interpreter of its own: what the kernel would answer, call by call."""

import struct

import pytest

from agent_core.errors import SandboxError
from agent_core.sandbox import bpf
from tests.rows import each_row

MACHINES = sorted(bpf.MACHINES)
OTHER_ARCH = 0x40000003  # 32-bit x86, by the old gate
NEWUSER, NEWNS, NEWPID, THREAD = 0x10000000, 0x20000, 0x20000000, 0x50F00
UNIX, INET, INET6, NETLINK, PACKET, VSOCK = 1, 2, 10, 16, 17, 40
STREAM, DATAGRAM, RAW, SEQUENCED, CLOEXEC, NONBLOCK = 1, 2, 3, 5, 0o2000000, 0o4000
MPTCP, ICMP, SCTP, UDPLITE = 262, 1, 132, 136


def answer(program, number, arguments=(), arch=None, machine="x86_64"):
    """Run the program over one call, as the kernel does."""
    arch = bpf.MACHINES[machine].audit if arch is None else arch
    words = [value & 0xFFFFFFFFFFFFFFFF for value in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch, 0, *words)
    code = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    at = accumulator = 0
    while True:
        operation, yes, no, value = code[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x06:
            return value
        else:
            holds = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[operation]
            at += yes if holds else no


def ask(name, call, *arguments, network=False, metadata=True):
    program = bpf.assemble(name, network=network, metadata=metadata)
    return answer(program, bpf.MACHINES[name].calls[call], arguments, machine=name)


EVERYWHERE_REFUSED = """
    io_uring_setup io_uring_enter io_uring_register bpf perf_event_open userfaultfd fanotify_init mount
    umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr
    unshare setns ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd add_key
    request_key keyctl name_to_handle_at open_by_handle_at lookup_dcookie nfsservctl clock_settime
    clock_adjtime settimeofday adjtimex sethostname setdomainname kexec_load kexec_file_load init_module
    finit_module delete_module swapon swapoff reboot acct quotactl quotactl_fd syslog vhangup
""".split()  # noqa: SIM905


@each_row("name", MACHINES)
@each_row("network", [False, True])
@each_row("call", EVERYWHERE_REFUSED)
def test_what_reaches_around_the_walls_is_refused_with_and_without_network(name, network, call):
    assert ask(name, call, network=network) == bpf.REFUSE


@pytest.mark.parametrize("call", ["iopl", "ioperm", "uselib", "create_module"])
def test_calls_of_the_old_x86_are_refused_there(call):
    assert ask("x86_64", call) == bpf.REFUSE


# fmt: off
SOCKETS = [
    # family, type, protocol, without network, with network
    (UNIX, STREAM, 0, True, False),  # with it, connect is open, and a socket would reach every local service
    (UNIX, STREAM | CLOEXEC | NONBLOCK, 0, True, False),
    (UNIX, SEQUENCED, 0, True, False),
    (UNIX, DATAGRAM, 0, False, False),  # sends to a path without connecting
    (UNIX, RAW, 0, False, False),  # the kernel makes a datagram socket of it
    (INET, STREAM, 0, False, True),
    (INET, STREAM | CLOEXEC, 6, False, True),
    (INET6, STREAM, 6, False, True),
    (INET, DATAGRAM, 0, False, True),
    (INET6, DATAGRAM | NONBLOCK, 17, False, True),
    (INET, STREAM, MPTCP, False, False),
    (INET6, STREAM, MPTCP, False, False),
    (INET, STREAM, SCTP, False, False),
    (INET, SEQUENCED, SCTP, False, False),
    (INET, DATAGRAM, UDPLITE, False, False),
    (INET, DATAGRAM, ICMP, False, False),
    (INET, RAW, ICMP, False, False),
    (INET6, RAW, 58, False, False),
    (INET, RAW, 255, False, False),
    (INET, 10, 0, False, False),  # SOCK_PACKET, the old way to packets
    (NETLINK, RAW, 0, False, True),  # getaddrinfo asks which addresses there are
    (NETLINK, DATAGRAM, 0, False, True),
    (NETLINK, RAW, 9, False, False),  # audit
    (NETLINK, RAW, 16, False, False),  # generic
    (NETLINK, RAW, 15, False, False),  # device events
    (PACKET, RAW, 3, False, False),
    (VSOCK, STREAM, 0, False, False),
    *[(family, STREAM, 0, False, False) for family in (0, 3, 4, 5, 9, 29, 30, 31, 38, 44, 45)],
    (38, SEQUENCED, 0, False, False),  # AF_ALG, the kernel's ciphers
]
# fmt: on


@each_row("name", MACHINES)
@each_row(("family", "kind", "protocol", "off", "on"), SOCKETS)
def test_sockets_are_judged_by_family_type_and_protocol(name, family, kind, protocol, off, on):
    verdicts = [ask(name, "socket", family, kind, protocol, network=network) for network in (False, True)]
    assert verdicts == [bpf.ALLOW if wanted else bpf.REFUSE for wanted in (off, on)]


@each_row("name", MACHINES)
@each_row("network", [False, True])
@each_row(
    ("family", "kind", "allowed"),
    [
        (UNIX, STREAM, True),
        (UNIX, STREAM | CLOEXEC, True),
        (UNIX, SEQUENCED, True),
        (UNIX, DATAGRAM, False),
        (UNIX, RAW, False),
        (30, STREAM, False),
    ],
)
def test_pairs_of_sockets_work_but_those_that_can_send_elsewhere(name, network, family, kind, allowed):
    wanted = bpf.ALLOW if allowed else bpf.REFUSE
    assert ask(name, "socketpair", family, kind, 0, network=network) == wanted


@pytest.mark.parametrize("name", MACHINES)
def test_connecting_needs_the_network(name):
    assert ask(name, "connect", 3, 1 << 40, 16) == bpf.REFUSE
    assert ask(name, "connect", 3, 1 << 40, 16, network=True) == bpf.ALLOW


@each_row("name", MACHINES)
@each_row(
    ("call", "arguments", "wanted"),
    [
        ("clone", (THREAD,), bpf.ALLOW),
        ("clone", (17,), bpf.ALLOW),
        ("clone", (NEWUSER | 17,), bpf.REFUSE),
        ("clone", (NEWNS,), bpf.REFUSE),
        ("clone", (NEWPID | THREAD,), bpf.REFUSE),
        *[("clone", (1 << bit,), bpf.REFUSE) for bit in (17, 25, 26, 27, 28, 29, 30)],
        ("clone3", (1 << 40, 88), bpf.UNKNOWN),  # so that the C library takes the older one
        ("ioctl", (0, 0x5412), bpf.REFUSE),
        ("ioctl", (0, 0x1_0000_5412), bpf.REFUSE),  # the kernel looks at 32 bits
        ("ioctl", (0, 0x541C), bpf.REFUSE),
        ("ioctl", (0, 0x541D), bpf.REFUSE),
        ("ioctl", (0, 0x5413), bpf.ALLOW),  # the window's size
        ("ioctl", (0, 0x40086602), bpf.ALLOW),
        ("mknodat", (-100, 1 << 40, 0o010644), bpf.ALLOW),  # a FIFO
        ("mknodat", (-100, 1 << 40, 0o100644), bpf.ALLOW),
        ("mknodat", (-100, 1 << 40, 0o060600, 0x700), bpf.REFUSE),
        ("mknodat", (-100, 1 << 40, 0o020600, 0x103), bpf.REFUSE),
        ("personality", (0xFFFFFFFF,), bpf.ALLOW),
        ("personality", (0,), bpf.ALLOW),
        ("personality", (0x40000,), bpf.ALLOW),
        ("personality", (0x400000,), bpf.REFUSE),
        ("personality", (0x100000,), bpf.REFUSE),
        ("prlimit64", (0, 7, 1 << 40, 0), bpf.ALLOW),
        ("prlimit64", (1234, 7, 0, 1 << 40), bpf.ALLOW),
        ("prlimit64", (1234, 7, 1 << 40, 0), bpf.REFUSE),
        ("prlimit64", (1234, 7, 0x1000, 0), bpf.REFUSE),
    ],
)
def test_calls_that_only_some_arguments_make_dangerous(name, call, arguments, wanted):
    for network in (False, True):
        assert ask(name, call, *arguments, network=network) == wanted


def test_the_older_call_for_devices_is_judged_too():
    assert ask("x86_64", "mknod", 1 << 40, 0o060600, 0x700) == bpf.REFUSE
    assert ask("x86_64", "mknod", 1 << 40, 0o010600, 0) == bpf.ALLOW


METADATA = """
    fchmod fchmodat fchmodat2 fchown fchownat utimensat setxattr lsetxattr fsetxattr setxattrat removexattr
    lremovexattr fremovexattr removexattrat file_setattr
""".split()  # noqa: SIM905


@each_row("name", MACHINES)
@each_row("call", METADATA)
def test_mode_owner_times_and_attributes_are_refused_where_nothing_else_keeps_them(name, call):
    assert ask(name, call) == bpf.ALLOW
    assert ask(name, call, metadata=False) == bpf.REFUSE


@each_row("call", ["chmod", "chown", "lchown", "utime", "utimes", "futimesat"])
def test_the_older_calls_for_that_are_refused_with_them(call):
    assert ask("x86_64", call) == bpf.ALLOW
    assert ask("x86_64", call, metadata=False) == bpf.REFUSE


@pytest.mark.parametrize("request_", [0x40086602, 0x401C5820])
def test_flags_of_files_count_as_metadata(request_):
    assert ask("x86_64", "ioctl", 3, request_, metadata=False) == bpf.REFUSE


# read write open close poll mmap pipe dup nanosleep fork vfork execve exit wait4 kill rename mkdir unlink bind listen
# sendto sendmsg futex epoll_wait getrandom memfd_create close_range openat2 landlock_restrict_self
ORDINARY = [0, 1, 2, 3, 7, 9, 22, 32, 35, 57, 58, 59, 60, 61, 62, 82, 83, 87, 49, 50, 44, 46, 202, 232, 318, 319, 436]


@each_row("network", [False, True])
@each_row("number", [*ORDINARY, 437, 446, 500, 1000])
def test_everything_else_is_allowed_also_what_later_kernels_bring(number, network):
    program = bpf.assemble("x86_64", network=network, metadata=False)
    assert answer(program, number) == bpf.ALLOW


@pytest.mark.parametrize("name", MACHINES)
def test_calls_by_another_machine_s_numbers_end_the_process(name):
    program = bpf.assemble(name, network=True, metadata=True)
    assert answer(program, 1, arch=OTHER_ARCH, machine=name) == bpf.KILL
    other = next(machine.audit for other, machine in bpf.MACHINES.items() if other != name)
    assert answer(program, 1, arch=other, machine=name) == bpf.KILL


@pytest.mark.parametrize("number", [0x40000000, 0x40000001, 0x400001FF, 0xFFFFFFFF])
def test_the_x32_numbers_are_refused(number):
    program = bpf.assemble("x86_64", network=True, metadata=True)
    assert answer(program, number) == bpf.REFUSE


@each_row("name", ["i686", "armv7l", "riscv64", "ppc64le", "s390x", "loongarch64", ""])
def test_a_machine_without_a_table_is_refused_by_name(name):
    with pytest.raises(SandboxError) as caught:
        bpf.assemble(name, network=False, metadata=True)
    assert caught.value.code == "sandbox_arch"
    assert name in caught.value.text


@pytest.mark.parametrize("name", MACHINES)
def test_numbers_are_used_once_and_the_program_fits_the_kernel(name):
    calls = bpf.MACHINES[name].calls
    assert len(set(calls.values())) == len(calls)
    for network in (False, True):
        for metadata in (False, True):
            assert len(bpf.assemble(name, network=network, metadata=metadata)) // 8 <= 4096
