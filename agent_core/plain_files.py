"""Files that no door guards: settings, ignore files, what our own home holds. Bounded reads and atomic writes.

It stands apart from files.py so that reading the settings loads nothing of the doors: the first frame waits for it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def read_regular(path: Path | str, limit: int, *, follow: bool = True) -> bytes | None:
    """The first `limit` + 1 bytes of a regular file; None when there is none. Never waits, as a pipe would make it.

    Raises OSError when the file is there and cannot be read.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    with open(fd, "rb") as file:
        return file.read(limit + 1)


def read_part(path: Path, start: int, length: int) -> tuple[bytes, int] | None:
    """At most `length` bytes of a regular file from `start` on, and its size; None when there is none.

    Follows no link and never waits. Raises OSError when the file is there and cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        file.seek(start)
        return file.read(length), status.st_size


def atomic_write(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file of our own home in one step, by default readable by its owner only; folders are made as needed.

    A link at `path` is kept and what it leads to is replaced. Raises OSError.
    """
    target = os.path.realpath(path)
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    folder = os.open(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with sibling(folder, data, mode) as temporary:
            os.rename(temporary, os.path.basename(target), src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def sibling(
    folder: int, data: bytes, mode: int | None, old: os.stat_result | None = None, *, durable: bool = True
) -> Iterator[str]:
    """A new file in `folder` with `data`, on disk, under a name nobody can guess; removed at the end if still there.

    `mode` None: what the umask leaves of 0666. `old`: the file whose owner it gets, where that is allowed. Not
    `durable`: the caller has it brought to the disk.
    """
    import secrets  # brings hashlib, and reading settings needs neither

    name = f".{secrets.token_hex(12)}.tmp"
    # With a mode to keep, private until it is set: the content must not be readable by more people than before.
    creation = 0o666 if mode is None else 0o600
    descriptor = os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, creation, dir_fd=folder
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            if old is not None and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                try:
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
                except PermissionError:
                    pass  # only root may give files away; the content matters more than the owner
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        yield name
    finally:
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            pass  # renamed into place
