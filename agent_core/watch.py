"""Which folders of a tree change, told by the kernel: inotify, one watch a folder.

watchfiles sets its watches in one call that holds the interpreter's lock (a second for 40,000 folders, in which the
screen stands still), goes into ignored folders too, and wakes twenty times a second. Here whoever walks a tree adds
each folder as it comes by, so nothing is missed in between, ignored folders cost nothing, and waiting is free.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from dataclasses import dataclass
from typing import Final

_MODIFY_DONE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000
_MASK: Final = _MODIFY_DONE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_FOLDERS | _NO_LINKS
_HEAD: Final = struct.Struct("iIII")
_READ: Final = 64 * 1024  # bytes of one read; the kernel gives whole events


@dataclass(frozen=True, slots=True)
class Change:
    folder: str
    name: str
    written: bool
    """Only its content has changed; otherwise it came or went."""


class WatchLost(Exception):
    """The kernel has dropped changes: all has to be looked at anew."""


class Watch:
    """Watches the folders it is given. Raises OSError where the kernel cannot, or has no more watches to give."""

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "no inotify here")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        """Readable when there are changes."""
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}

    def add(self, path: str, folder: str) -> None:
        """Watch the folder at `path`, called `folder` from now on. One that is gone or closed to us is let be."""
        watch = self._libc.inotify_add_watch(self.fd, os.fsencode(path), _MASK)
        if watch >= 0:
            self._folders[watch] = folder
            self._watches[folder] = watch
        elif (code := ctypes.get_errno()) not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENAMETOOLONG):
            raise OSError(code, "inotify_add_watch", path)

    def drop(self, folder: str) -> None:
        """Watch it no longer."""
        watch = self._watches.pop(folder, None)
        # A folder that was moved keeps its watch, which by now may go by its new name.
        if watch is not None and self._folders.get(watch) == folder:
            del self._folders[watch]
            self._libc.inotify_rm_watch(self.fd, watch)

    def read(self) -> list[Change]:
        """What has changed since the last time, without waiting. Raises WatchLost."""
        try:
            data = os.read(self.fd, _READ)
        except BlockingIOError:
            return []
        changes, at = [], 0
        while at < len(data):
            watch, mask, _cookie, size = _HEAD.unpack_from(data, at)
            name = data[at + _HEAD.size : at + _HEAD.size + size].rstrip(b"\0")
            at += _HEAD.size + size
            if mask & _OVERFLOW:
                raise WatchLost
            folder = self._folders.get(watch)
            if mask & _IGNORED:  # the folder is gone
                self._folders.pop(watch, None)
            elif folder is not None and name:
                changes.append(Change(folder, os.fsdecode(name), mask & _MODIFY_DONE != 0))
        return changes

    def close(self) -> None:
        os.close(self.fd)
