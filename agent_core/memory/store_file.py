"""A file of what is remembered: read whole or refused, changed by one program at a time, replaced in one step."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_core import limits
from agent_core.errors import MemoryFailure
from agent_core.plain_files import atomic_write, read_regular


def load(path: Path, most: int = limits.MEMORY_FILE) -> str:
    """The text of the file; "" when there is none.

    Raises MemoryFailure when it cannot be read, is larger than `most` bytes, is no UTF-8, or when another user could
    have written it: a model is told what stands there.
    """
    try:
        status = os.stat(path)
        data = read_regular(path, most)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise broken(path, f"cannot be read ({os.strerror(error.errno or 0)})") from error
    if status.st_uid not in (os.geteuid(), 0):
        raise broken(path, f"belongs to another user (id {status.st_uid})")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise broken(path, "can be written by others (chmod 600 it when you have looked it through)")
    if data is None:
        raise broken(path, "is no regular file")
    if len(data) > most:
        raise broken(path, f"is larger than {most // limits.KB:,} KB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise broken(path, "is no UTF-8 text", data.count(b"\n", 0, error.start) + 1) from None


def save(path: Path, text: str) -> None:
    """Replace the file, for its owner only; whoever reads has the old text or the new. Raises MemoryFailure."""
    try:
        atomic_write(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise _unwritten(path, os.strerror(error.errno or 0)) from error


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """No other program and no other thread changes the file meanwhile. Raises MemoryFailure."""
    lock = path.with_name(path.name + ".lock")
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unwritten(path, os.strerror(error.errno or 0)) from error
    try:
        deadline = time.monotonic() + limits.MEMORY_LOCKED
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise _unwritten(path, "another program is changing it") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def signature(path: Path) -> object:
    """Changes when the file does; None: there is none."""
    try:
        status = os.stat(path)
    except OSError as error:
        return error.errno
    return (
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode,
        status.st_uid,
    )  # fmt: skip


def broken(path: Path, what: str, line: int = 0) -> MemoryFailure:
    """Why a file is refused."""
    place = f"{path}:{line}" if line else str(path)
    return MemoryFailure(
        "memory_broken",
        f"{place} {what}. Nothing is remembered, and nothing written there, until it is mended or moved away.",
        path=str(path),
        line=line,
        what=what,
    )


def _unwritten(path: Path, why: str) -> MemoryFailure:
    return MemoryFailure(
        "memory_unwritable",
        f"{path} could not be written: {why}. What was to be remembered is not; try again when that is mended.",
        path=str(path),
        why=why,
    )
