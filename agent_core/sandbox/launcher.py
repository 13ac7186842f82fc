"""Builds the walls around itself, then becomes the command. Runs alone, between spawn and exec (S4).

This file is a program of its own: it imports nothing of the package and little of the standard library, since every
command waits for it. It decides nothing. What to do stands in the plan (launch.py), a marshalled dictionary in the
file whose descriptor is the first argument; the third, where there is one, is the process it ends with in place of
the plan's; the second is a pipe that learns how it went:

    "=NUMBER\\n"     comes first where there is a mount view: its namespace, by which all that comes from the command,
                    and nothing else, can be found
    "+"             the walls stand, the command is being started
    "+NUMBER"       but it could not be started: the errno
    "-LAYER\\nTEXT"  a wall could not be built, and nothing was started

It never starts a command with fewer walls than the plan has.
"""

import ctypes
import errno
import marshal
import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself would cost as much as all the rest
    from typing import Any, NoReturn

_MARKER = b"NANOHERM_COMMAND"
_REFUSED = 126
_GROUP_PATIENCE = 10.0
_NOT_FOUND = 127

_PDEATHSIG, _SET_SECCOMP, _CAPBSET_DROP, _SET_SECUREBITS, _NO_NEW_PRIVS, _CAP_AMBIENT = 1, 22, 24, 28, 38, 47
_AMBIENT_RAISE, _AMBIENT_CLEAR_ALL, _FILTER = 2, 4, 2
# User 0 gets no capabilities by being user 0, a change of user gives none, no more become ambient; for good.
_SECUREBITS = 0b11101111
_CAPABILITY_VERSION_3 = 0x20080522
_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25
_RLIMIT_NPROC = 6

_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT = 428, 429, 430, 431, 432
_CLOSE_RANGE, _OPENAT2, _MOUNT_SETATTR = 436, 437, 442
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446

_NEWNS, _NEWIPC, _NEWUSER = 0x20000, 0x8000000, 0x10000000
_PRIVATE_ALL, _NOSUID_NODEV, _NOSUID_NOEXEC, _DETACH = 0x44000, 0x6, 0xA, 2
_EMPTY_PATH, _RECURSIVE, _CLONE = 0x1000, 0x8000, 1
_BOTH_EMPTY = 0x4 | 0x40  # MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
_FS_CLOEXEC, _CONFIG_STRING, _CONFIG_CREATE = 1, 1, 6
_NO_SYMLINKS = 4
_O_PATH = 0o10000000
_HERE = -100  # AT_FDCWD

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _kernel(what: str, number: int, *arguments: "int | bytes | None") -> int:
    """A system call by its number. Numbers go as 64 bits, byte strings as pointers."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *words), what)


def _prctl(what: str, option: int, *arguments: int) -> None:
    words = [ctypes.c_ulong(word) for word in (*arguments, 0, 0, 0, 0)[:4]]
    _checked(_libc.prctl(option, *words), what)


def _words(*values: int) -> bytes:
    """A structure of 64-bit numbers."""
    return b"".join(value.to_bytes(8, "little") for value in values)


# -- limits -------------------------------------------------------------------------------------------------------


def _follow(parent: int) -> None:
    """End with the agent. It may have ended already."""
    _prctl("parent death signal", _PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        sys.exit(_REFUSED)


def _limit(resource: int, value: int) -> None:
    """Lower a limit, the hard one too; one that is lower already stays."""
    held = ctypes.create_string_buffer(16)
    _checked(_libc.getrlimit(resource, held), "getrlimit")
    value = min(value, int.from_bytes(held.raw[8:], "little"))
    _checked(_libc.setrlimit(resource, _words(value, value)), "setrlimit")


def _be_in(group: bytes) -> None:
    """Wait until the agent has put us into a control group: it does so meanwhile, since that may take 10 ms."""
    os.stat(group)
    name = b"/" + os.path.basename(group)
    deadline = time.monotonic() + _GROUP_PATIENCE
    while True:
        with open("/proc/self/cgroup", "rb") as file:
            if any(line.endswith(name) for line in file.read().splitlines()):
                return
        if time.monotonic() > deadline:
            raise OSError(errno.ETIMEDOUT, f"not put into {os.fsdecode(group)}")
        time.sleep(0.0005)


# -- the mount view -----------------------------------------------------------------------------------------------


def _new_view(by_user: bool) -> None:
    """A mount table of our own, as root or by a user namespace in which the user stays who he is."""
    uid, gid = os.geteuid(), os.getegid()
    _checked(_libc.unshare(_NEWNS | _NEWIPC | (_NEWUSER if by_user else 0)), "unshare")
    if by_user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "wb", buffering=0) as file:
                file.write(text.encode())
    _checked(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE_ALL), None), "private mounts")


def _place(path: bytes) -> int:
    """A descriptor of what lies there now; a link is not followed, and one on the way is an error."""
    how = _words(_O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, 0, _NO_SYMLINKS)
    return _kernel(f"open {os.fsdecode(path)}", _OPENAT2, _HERE, path, how, len(how))


def _copy(fd: int, path: bytes = b"") -> int:
    """A mount of its own, attached nowhere yet, that shows what lies at a descriptor, or below it."""
    flags = _CLONE | os.O_CLOEXEC | _EMPTY_PATH | (0 if path else _RECURSIVE)
    return _kernel("open_tree", _OPEN_TREE, fd, path, flags)


def _make_read_only(fd: int, path: bytes = b"") -> None:
    """A mount and all below it."""
    change = _words(_RDONLY, 0, 0, 0)
    _kernel("mount_setattr", _MOUNT_SETATTR, fd, path, _EMPTY_PATH | _RECURSIVE, change, len(change))


def _attach(mount: int, target: int) -> None:
    _kernel("move_mount", _MOVE_MOUNT, mount, b"", target, b"", _BOTH_EMPTY)


def _pin(path: bytes, *, read_only: bool) -> None:
    """Mount a place on itself: it can no longer be renamed, replaced or removed; if so wished, nor changed."""
    place = _place(path)
    mount = _copy(place)
    if read_only:
        _make_read_only(mount)
    _attach(mount, place)
    os.close(mount)
    os.close(place)


def _blank(name: bytes, like: os.stat_result, folder: int) -> bytes:
    """Make a file that nobody may read, as large and old as another one: to git one that it tracks is unchanged."""
    file = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0, dir_fd=folder)
    try:
        os.ftruncate(file, like.st_size)
    except OSError:  # larger than a file may be
        pass
    os.utime(file, ns=(like.st_atime_ns, like.st_mtime_ns))
    os.close(file)
    return name


def _moved(path: bytes) -> OSError:
    return OSError(errno.ESTALE, f"{os.fsdecode(path)} has just been moved or replaced; try again")


def _cover(hidden: "list[bytes]", inodes: "dict[bytes, int]", scratch: bytes) -> None:
    """Lay an unreadable file without content over hidden files, and an empty folder over hidden folders.

    `inodes`: what has to lie at some of them. Another command may have moved it since it was looked for, and it could
    be read where it lies now.
    """
    system = _kernel("fsopen", _FSOPEN, b"tmpfs", _FS_CLOEXEC)
    _kernel("fsconfig", _FSCONFIG, system, _CONFIG_STRING, b"size", b"64k", 0)
    _kernel("fsconfig", _FSCONFIG, system, _CONFIG_CREATE, None, None, 0)
    covers = _kernel("fsmount", _FSMOUNT, system, _FS_CLOEXEC, _NOSUID | _NODEV | _NOEXEC)
    os.close(system)
    # Older kernels copy only what is attached somewhere; it is taken away again at the end.
    somewhere = _place(scratch)
    _attach(covers, somewhere)
    os.close(somewhere)
    os.mkdir(b"folder", 0o555, dir_fd=covers)
    for number, path in enumerate(hidden):
        try:
            place = _place(path)
        except PermissionError:  # shut for the command as well
            continue
        except (FileNotFoundError, NotADirectoryError):
            if path in inodes:
                raise _moved(path) from None
            continue
        status = os.fstat(place)
        if inodes.get(path, status.st_ino) != status.st_ino:
            raise _moved(path)
        cover = b"folder" if stat.S_ISDIR(status.st_mode) else _blank(b"%d" % number, status, covers)
        mount = _copy(covers, cover)
        _make_read_only(mount)
        _attach(mount, place)
        os.close(mount)
        os.close(place)
    os.close(covers)
    _checked(_libc.umount2(scratch, _DETACH), "umount")


def _see(view: "dict[str, Any]", mark: bytes) -> None:
    """Everything read-only, the writable folders as they were, protected places pinned, hidden ones covered.

    What is mounted anew has `mark` for its source: unlike one in the environment, no process can be rid of that.
    """
    _new_view(view["by_user"])
    roots = []
    for path in view["writable"]:
        place = _place(path)
        roots.append((path, _copy(place)))
        os.close(place)
    if not view["all_writable"]:
        _make_read_only(_HERE, b"/")
    for path, mount in roots:
        place = _place(path)
        _attach(mount, place)
        os.close(place)
        os.close(mount)
    for path in view["parents"]:
        _pin(path, read_only=False)
    for path in view["read_only"]:
        _pin(path, read_only=True)
    if view["shm"]:
        options = f"mode=1777,size={view['shm']}".encode()
        mounted = _libc.mount(mark, b"/dev/shm", b"tmpfs", ctypes.c_ulong(_NOSUID_NODEV), options)
        _checked(mounted, "shared memory")
    if view["pts"]:
        # The other terminals are the user's: they would show what is written there, and tell what is typed.
        options = b"newinstance,ptmxmode=0666,mode=620"
        mounted = _libc.mount(mark, b"/dev/pts", b"devpts", ctypes.c_ulong(_NOSUID_NOEXEC), options)
        _checked(mounted, "terminals")
    if view["hidden"]:
        _cover(view["hidden"], view["inodes"], view["scratch"])


# -- privileges ---------------------------------------------------------------------------------------------------


def _drop_capabilities(kept: int) -> None:
    """All sets empty but for a mask of `kept` ones, and no way to fill them.

    Whoever may not bound them has none to bound.
    """
    _prctl("ambient capabilities", _CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    try:
        for capability in range(64):
            if not kept >> capability & 1:
                _prctl("bounding set", _CAPBSET_DROP, capability)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL):  # as said; or that was the last
            raise
    header = _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4)
    if kept:
        # Only ambient ones live on when a program is started; they have to be inheritable first.
        held = ctypes.create_string_buffer(24)
        _checked(_libc.capget(header, held), "capget")
        effective, permitted = held.raw[:4], int.from_bytes(held.raw[4:8], "little")
        kept &= permitted
        low, high = permitted.to_bytes(4, "little"), held.raw[12:20] + bytes(4)
        _checked(_libc.capset(header, effective + low + kept.to_bytes(4, "little") + high), "capset")
        for capability in range(32):
            if kept >> capability & 1:
                _prctl("ambient capability", _CAP_AMBIENT, _AMBIENT_RAISE, capability)
    try:
        _prctl("secure bits", _SET_SECUREBITS, _SECUREBITS)
    except PermissionError:
        pass
    _checked(_libc.capset(header, kept.to_bytes(4, "little") * 3 + bytes(12)), "capset")


def _ruleset(landlock: "dict[str, Any]") -> int:
    attributes = _words(*landlock["handled"])
    ruleset = _kernel("landlock_create_ruleset", _CREATE_RULESET, attributes, len(attributes), 0)
    for path, rights in landlock["rules"]:
        try:
            place = os.open(path, _O_PATH | os.O_CLOEXEC)
        except OSError:  # not there, or behind a door that is shut for the command too: nothing to allow
            continue
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= landlock["of_files"]
        if rights:
            rule = rights.to_bytes(8, "little") + place.to_bytes(4, "little")
            _kernel("landlock_add_rule", _ADD_RULE, ruleset, 1, rule, 0)
        os.close(place)
    return ruleset


def _filter_calls(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    header = (len(program) // 8).to_bytes(8, "little") + ctypes.addressof(code).to_bytes(8, "little")
    pointer = ctypes.create_string_buffer(header, len(header))
    _prctl("seccomp", _SET_SECCOMP, _FILTER, ctypes.addressof(pointer))


# -- the whole ----------------------------------------------------------------------------------------------------


def _environment() -> "dict[bytes, bytes]":
    """As we were given it; os.environ has what the interpreter added to its own locale."""
    with open("/proc/self/environ", "rb") as file:
        pairs = [entry.partition(b"=") for entry in file.read().split(b"\0")]
    return {name: value for name, _, value in pairs if name}


def _confine(plan: "dict[str, Any]", mark: bytes, at: "list[str]") -> None:
    """Build every wall of the plan, in the order of S4. `at` is told which one it is at."""
    at[0] = "limits"
    _follow(plan["parent"])
    for resource, value in plan["limits"]:
        _limit(resource, value)
    if plan["view"]:
        at[0] = "mounts"
        _see(plan["view"], mark)
        # The folder we were started in lies in the old view.
        os.chdir(plan["cwd"])
    at[0] = "limits"
    _limit(_RLIMIT_NPROC, plan["processes"])
    at[0] = "landlock"
    ruleset = _ruleset(plan["landlock"])
    at[0] = "privileges"
    _drop_capabilities(plan["kept"])
    _prctl("no new privileges", _NO_NEW_PRIVS, 1)
    _follow(plan["parent"])  # a change of credentials may have undone it
    at[0] = "landlock"
    _kernel("landlock_restrict_self", _RESTRICT_SELF, ruleset, plan["landlock"]["flags"])
    os.close(ruleset)
    at[0] = "cgroup"
    for group in plan["cgroups"]:
        _be_in(group)
    at[0] = "seccomp"
    _filter_calls(plan["filter"])


def _become(argv: "list[bytes]", environment: "dict[bytes, bytes]") -> OSError:
    """Turn into the program; returns only why that cannot be done. A bare name is looked for in PATH."""
    for number in (_SIGPIPE, _SIGXFSZ):  # the interpreter ignores them
        _libc.signal(number, None)
    places = [argv[0]]
    if b"/" not in argv[0]:
        folders = environment.get(b"PATH", b"/usr/bin:/bin").split(b":")
        places = [os.path.join(folder or b".", argv[0]) for folder in folders]
    failure = OSError(errno.ENOENT, "not found")
    for place in places:
        try:
            os.execve(place, argv, environment)
        except OSError as error:
            # What is there but will not start says more than what is not.
            if error.errno not in (errno.ENOENT, errno.ENOTDIR) or failure.errno == errno.ENOENT:
                failure = error
    return failure


def _refuse(report: int, layer: str, reason: object) -> "NoReturn":
    text = f"-{layer}\n{reason}"[:1000]
    os.write(report, text.encode("utf-8", "replace"))
    sys.exit(_REFUSED)


def main() -> "NoReturn":
    with open(int(sys.argv[1]), "rb") as file:
        file.seek(0)
        plan = marshal.load(file)
    plan["parent"] = int(sys.argv[3]) if len(sys.argv) > 3 else plan["parent"]
    report, at = int(sys.argv[2]), ["launcher"]
    os.set_inheritable(report, False)
    try:
        environment = _environment()
        _confine(plan, environment.get(_MARKER, b"none"), at)
        at[0] = "descriptors"
        # The report too, but only when the command is started.
        for first, last in ((3, report - 1), (report + 1, 0xFFFFFFFF)):
            if first <= last:
                _kernel("close_range", _CLOSE_RANGE, first, last, 0)
    except OSError as error:
        _refuse(report, at[0], error.strerror or error)
    except Exception as error:  # whatever else goes wrong, nothing may run
        _refuse(report, at[0], f"{type(error).__name__}: {error}")
    namespace = os.stat("/proc/self/ns/mnt").st_ino if plan["view"] else 0
    os.write(report, b"=%d\n+" % namespace if namespace else b"+")
    failure = _become(plan["argv"], environment)
    os.write(report, str(failure.errno).encode())
    sys.exit(_NOT_FOUND if failure.errno == errno.ENOENT else _REFUSED)


if __name__ == "__main__":
    main()
