"""What is at a path, and putting an older state in its place: by descriptor, in one step, never through a link.

Beside files.py, which serves tools: here links, permissions and contents of any size that was kept come back too, and
folders that a turn had made go when they are empty.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from agent_core import limits
from agent_core.checkpoints.records import FOLDER, NOTHING, UNKNOWN, State, file_state, link_state
from agent_core.files import folder_of
from agent_core.plain_files import sibling
from agent_core.safety.paths import PathRules, PathVerdict, open_beneath


def look(verdict: PathVerdict, rules: PathRules, limit: int) -> tuple[State, bytes]:
    """The state of a judged path now, with the content of a file of at most `limit` bytes or of a link.

    `UNKNOWN` for what is larger, special, or cannot be read.
    """
    try:
        with folder_of(verdict, rules) as (folder, name):
            return _look_at(folder, name, limit)
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING, b""
    except OSError:
        return UNKNOWN, b""


def _look_at(folder: int, name: str, limit: int) -> tuple[State, bytes]:
    status = os.lstat(name, dir_fd=folder)
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(name, dir_fd=folder))
        return link_state(target), target
    if stat.S_ISDIR(status.st_mode):
        return FOLDER, b""
    if not stat.S_ISREG(status.st_mode):
        return UNKNOWN, b""
    # O_NONBLOCK: what was a file may be a pipe by now, and opening that would wait for its other end.
    descriptor = open_beneath(folder, name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return UNKNOWN, b""
        data = file.read(status.st_size + 1)  # not `limit`: that much memory is asked for at once
        return (UNKNOWN, b"") if len(data) > status.st_size else (file_state(data, status.st_mode), data)


def put(
    verdict: PathVerdict, rules: PathRules, wanted: State, data: bytes, expected: State, *, durable: bool = True
) -> bool:
    """Put `wanted` (its content: `data`) in the place of what must be `expected`; False when something else is there.

    Folders on the way are made. The file keeps its owner. Not `durable`: the caller brings all to the disk. Raises
    OSError.
    """
    with folder_of(verdict, rules, create=wanted != NOTHING) as (folder, name):
        if not _is(folder, name, expected):
            return False
        if wanted in (NOTHING, FOLDER):
            if expected == FOLDER:  # an empty one
                os.rmdir(name, dir_fd=folder)
            elif expected != NOTHING:
                os.unlink(name, dir_fd=folder)
            if wanted == FOLDER:
                os.mkdir(name, dir_fd=folder)
        elif wanted.what.startswith("l:"):
            _put_link(folder, name, data, expected)
        else:
            old = os.lstat(name, dir_fd=folder) if expected.what.startswith("f:") else None
            mode = stat.S_IMODE(old.st_mode) if old is not None else None
            permissions = wanted.mode if wanted.mode >= 0 else mode
            with sibling(folder, data, permissions, old, durable=durable) as temporary:
                if not _is(folder, name, expected):
                    return False
                _rename(folder, temporary, name, expected)
        if durable:
            os.fsync(folder)
    return True


def _is(folder: int, name: str, expected: State) -> bool:
    try:
        return _look_at(folder, name, limits.CHECKPOINT_FILE_MOST)[0].same(expected)
    except FileNotFoundError:
        return expected == NOTHING


def _rename(folder: int, temporary: str, name: str, expected: State) -> None:
    if expected == FOLDER:  # an empty one gives way
        os.rmdir(name, dir_fd=folder)
    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _put_link(folder: int, name: str, target: bytes, expected: State) -> None:
    temporary = f".{os.urandom(12).hex()}.tmp"
    os.symlink(os.fsdecode(target), temporary, dir_fd=folder)
    try:
        _rename(folder, temporary, name, expected)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def is_file(path: bytes) -> bool:
    """Whether something other than a folder is at a path; a link is, wherever it leads."""
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def is_folder(path: bytes) -> bool:
    """Whether a folder is at a path, with no link on the way."""
    return os.path.isdir(path) and os.path.realpath(path) == path


def remove_folder(verdict: PathVerdict, rules: PathRules) -> bool:
    """Remove a folder if it is empty."""
    try:
        with folder_of(verdict, rules) as (folder, name):
            os.rmdir(name, dir_fd=folder)
    except OSError:
        return False
    return True


def make_folder(verdict: PathVerdict, rules: PathRules) -> bool:
    """Make a folder where there is nothing."""
    try:
        with folder_of(verdict, rules, create=True) as (folder, name):
            os.mkdir(name, dir_fd=folder)
    except OSError:
        return False
    return True
