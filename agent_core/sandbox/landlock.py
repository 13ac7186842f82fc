"""Landlock rights as data: what a kernel's version can judge, and which rule gives what (S1, S5).

Rules only ever allow. So what shall not be read is kept by allowing everything beside it, and what shall not be
written below a writable folder is the mount view's affair. Pure but for listing folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.records import dataclass
from agent_core.sandbox.policy import SandboxPolicy

NEEDED_ABI: Final = 3
"""Without the right to judge truncation a file outside can be emptied."""

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
REMOVE_DIR: Final = 1 << 4
REMOVE_FILE: Final = 1 << 5
MAKE_CHAR: Final = 1 << 6
MAKE_DIR: Final = 1 << 7
MAKE_REG: Final = 1 << 8
MAKE_SOCK: Final = 1 << 9
MAKE_FIFO: Final = 1 << 10
MAKE_BLOCK: Final = 1 << 11
MAKE_SYM: Final = 1 << 12
REFER: Final = 1 << 13
TRUNCATE: Final = 1 << 14
IOCTL_DEV: Final = 1 << 15

BIND_TCP: Final = 1 << 0
CONNECT_TCP: Final = 1 << 1

SCOPE_ABSTRACT_UNIX: Final = 1 << 0
SCOPE_SIGNAL: Final = 1 << 1

LOG_SUBDOMAINS_OFF: Final = 1 << 2

OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""What a rule about a file that is no folder may hold."""

_READ: Final = EXECUTE | READ_FILE | READ_DIR
_OPENS: Final = READ_FILE | READ_DIR | TRUNCATE | IOCTL_DEV
# No device can be made anywhere: MAKE_CHAR and MAKE_BLOCK are in no rule.
_WRITE: Final = (
    WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_SYM
    | REFER
    | TRUNCATE
)  # fmt: skip
_DEVICE: Final = READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")

_ALL_BY_ABI: Final = ((1, (1 << 13) - 1), (2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))


@dataclass(frozen=True, slots=True)
class Rights:
    """What a kernel judges for us, as masks of its own bits."""

    files: int
    tcp: int
    scopes: int
    restrict_flags: int


def rights(abi: int, *, network: bool, opens: bool = True) -> Rights:
    """The masks for an ABI; a higher one than we know is used as the highest that we know.

    Without `opens` it judges nothing that an open for reading asks for: what else it may, the kernel asks too.
    """
    files = 0
    for since, bits in _ALL_BY_ABI:
        if abi >= since:
            files |= bits
    return Rights(
        files=files if opens else files & ~_OPENS,
        tcp=BIND_TCP | CONNECT_TCP if abi >= 4 and not network else 0,
        scopes=SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL if abi >= 6 else 0,
        restrict_flags=LOG_SUBDOMAINS_OFF if abi >= 7 else 0,
    )


def beside(hidden: Iterable[Path]) -> tuple[Path, ...]:
    """Places that together are the whole file system but for `hidden` and what is created later beside it."""
    holes = {path for path in hidden if path.is_absolute()}
    return tuple(_beside(Path("/"), {hole for hole in holes if not holes.intersection(hole.parents)}))


def _beside(folder: Path, holes: set[Path]) -> list[Path]:
    if not holes:
        return [folder]
    if folder in holes:
        return []
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(limits.SANDBOX_SIBLINGS), entries, strict=False)]
    except OSError:  # gone, or not ours to list: then nothing below it can be read by name either
        return []
    allowed = []
    for name in names:
        path = folder / name
        allowed += _beside(path, {hole for hole in holes if hole == path or path in hole.parents})
    return allowed


def rules(policy: SandboxPolicy, handled: int, *, mount_view: bool) -> list[tuple[str, int]]:
    """What is allowed where: (path, rights), trimmed to what the kernel judges.

    Devices are never among what can be read: to the superuser a disk is a file that holds all others. Hidden places
    that lie in no writable folder are kept here as well when no mount view covers them.
    """
    writable = (*policy.writable, policy.tmp)
    hidden = [Path("/dev")]
    if not mount_view:
        hidden += [place for place in policy.hidden if not _below(place, writable)]
    found = [(Path("/"), READ_DIR)]
    found += [(path, _READ) for path in beside(hidden)]
    for root in writable:
        # A writable root that holds the devices is no reason to write to them.
        tops = [root] if root != Path("/") else [*beside([Path("/dev"), Path("/proc"), Path("/sys")])]
        found += [(path, _READ | _WRITE) for path in tops]
    found += [(Path("/dev") / name, _DEVICE) for name in _DEVICES]
    found.append((Path("/dev/pts"), _DEVICE | READ_DIR))
    found.append((Path("/dev/shm"), _READ | _WRITE))
    return [(str(path), bits & handled) for path, bits in found if bits & handled]


def _below(place: Path, roots: Iterable[Path]) -> bool:
    return any(place == root or root in place.parents for root in roots)
