"""What stands in folders. Most folders are as they were a moment ago: those are not read again.

A folder's times change with every name that comes, goes or becomes something else, so a listing holds as long as they
are the same: where the kernel keeps them itself, on a disk of this machine. On other file systems every look is a
real one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from agent_core import limits
from agent_core.records import dataclass

_KEEP_TIMES: Final = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs", "tmpfs", "overlay"})
_MOUNTS: Final = Path("/proc/self/mountinfo")  # not there on other systems: nothing is remembered
_SEPARATOR: Final = "\0"  # in no name


@dataclass(frozen=True, slots=True)
class Listing:
    """The names in one folder, by what they are, in no order."""

    files: list[str]
    """Regular ones."""
    folders: list[str]
    links: list[str]
    seen: int
    """Entries, those of other kinds among them."""


_NONE: Final = Listing([], [], [], 0)


_State: TypeAlias = tuple[int, int, int, int]
"""Of a folder: device, number, when it was written and when it was changed, in nanoseconds."""


class _Kept(NamedTuple):  # made in a third of a data class's time, for each folder of a walk
    """A listing in few bytes."""

    state: _State
    """The folder's, as it was before it was read."""
    files: str
    folders: str
    links: str
    seen: int


def list_folder(folder: str, room: int) -> Listing:
    """What stands in `folder` (absolute): of at most `room` entries, of which one more may be counted.

    Nothing in a folder that is closed to us, or gone.
    """
    try:
        state = _state(os.stat(folder))
        kept = _memory.get(folder)
        if kept is not None and kept.state == state and kept.seen <= room:
            return Listing(_names(kept.files), _names(kept.folders), _names(kept.links), kept.seen)
        with os.scandir(folder) as scan:
            found = list(islice(scan, room + 1))
    except OSError:
        return _NONE
    listing = _sorted_out(found[:room], len(found))
    if len(found) <= room:
        _memory.keep(folder, state, listing)
    return listing


def remember(folder: str, status: os.stat_result, entries: Sequence[os.DirEntry[str]]) -> None:
    """Keep what somebody else has read: all that stands in `folder`. `status`: the folder's, before it was read."""
    state = _state(status)
    kept = _memory.get(folder)
    if kept is None or kept.state != state:
        _memory.keep(folder, state, _sorted_out(entries, len(entries)))


def _sorted_out(entries: Sequence[os.DirEntry[str]], seen: int) -> Listing:
    """Entries of a folder by what they are."""
    try:
        files = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]  # most have nothing else
    except OSError:  # one is gone meanwhile
        files = [entry.name for entry in entries if _is(entry, "file")]
    if len(files) == len(entries):
        return Listing(files, [], [], seen)
    folders = [entry.name for entry in entries if _is(entry, "folder")]
    links = [entry.name for entry in entries if _is(entry, "link")]
    return Listing(files, folders, links, seen)


def _is(entry: os.DirEntry[str], kind: Literal["file", "folder", "link"]) -> bool:
    try:
        if kind == "link":
            return entry.is_symlink()
        return entry.is_file(follow_symlinks=False) if kind == "file" else entry.is_dir(follow_symlinks=False)
    except OSError:  # gone meanwhile
        return False


def forget() -> None:
    """Read every folder anew."""
    _memory.clear()


def _state(status: os.stat_result) -> _State:
    # The time of change cannot be set, so a folder that is given its old time of writing is another one all the same.
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _names(joined: str) -> list[str]:
    return joined.split(_SEPARATOR) if joined else []


class _Memory:
    """The listings of this process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._names = 0
        self._lock = threading.Lock()
        self._devices: dict[int, bool] = {}
        """Whether the file system of each keeps times that can be trusted."""

    def get(self, folder: str) -> _Kept | None:
        return self._kept.get(folder.rstrip("/"))

    def keep(self, folder: str, state: _State, listing: Listing) -> None:
        device, _, written, changed = state
        # A change in the same tick of the clock as the one before would have the same time.
        settled = time.time_ns() - limits.FOLDER_RACY * 1e9
        if written >= settled or changed >= settled or not self._is_trusted(device):
            return
        files, folders, links = map(_SEPARATOR.join, (listing.files, listing.folders, listing.links))
        new = _Kept(state, files, folders, links, listing.seen)
        folder = folder.rstrip("/")
        with self._lock:
            if folder in self._kept:
                self._drop(folder)
            self._kept[folder] = new
            self._names += new.seen + 1
            while self._names > limits.FOLDERS_KEPT:
                self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._names = 0

    def _drop(self, folder: str) -> None:
        self._names -= self._kept.pop(folder).seen + 1

    def _is_trusted(self, device: int) -> bool:
        if device not in self._devices:
            self._devices = {device: False, **_mounted()}
        return self._devices[device]


def _mounted() -> dict[int, bool]:
    """The devices of the mounted file systems (proc_pid_mountinfo(5)), and whether they are of a kind to trust."""
    found: dict[int, bool] = {}
    try:
        lines = _MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return found
    for line in lines:
        before, _, behind = line.partition(" - ")
        major, _, minor = before.split()[2].partition(":")
        found[os.makedev(int(major), int(minor))] = behind.split()[0] in _KEEP_TIMES
    return found


_memory: Final = _Memory()
