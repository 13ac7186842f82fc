"""A file of our own that several programs change: one at a time, and each sees when another has."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_AGAIN: Final = 0.02  # seconds between two looks at a lock


def lock(path: Path, seconds: float, wait: Callable[[], object] = lambda: time.sleep(_AGAIN)) -> int:
    """The lock that stands beside the file, as a descriptor: closing it gives the lock back.

    Other threads of this program are kept out too. `wait` passes the time between two looks; what it raises ends the
    waiting. Raises BlockingIOError when another one has it for longer than `seconds`, OSError when there can be none.
    """
    beside = path.with_name(path.name + ".lock")
    beside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                wait()
    except BaseException:
        os.close(descriptor)
        raise


def signature(path: Path) -> object:
    """Changes when the file does, its rights and its owner too; None: there is none."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error.errno
    return (
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode,
        status.st_uid,
    )  # fmt: skip


def is_anothers(status: os.stat_result) -> bool:
    """The file belongs to neither this user nor root."""
    return status.st_uid not in (os.geteuid(), 0)


def others_may_write(status: os.stat_result) -> bool:
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
