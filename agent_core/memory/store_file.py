"""A file of what is remembered: read whole or refused, changed by one program at a time, replaced in one step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_core import limits
from agent_core.errors import MemoryFailure
from agent_core.plain_files import atomic_write, read_regular
from agent_core.shared_file import is_anothers, lock, others_may_write


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
    if is_anothers(status):
        raise broken(path, f"belongs to another user (id {status.st_uid})")
    if others_may_write(status):
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
    try:
        descriptor = lock(path, limits.MEMORY_LOCKED)
    except BlockingIOError:
        raise _unwritten(path, "another program is changing it") from None
    except OSError as error:
        raise _unwritten(path, os.strerror(error.errno or 0)) from error
    try:
        yield
    finally:
        os.close(descriptor)


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
