"""Files by descriptor: bounded reads, atomic writes, deletes that check what they delete.

What tools do takes a verdict of the path door (`safety.paths`) and opens exactly the place that was judged, without
following links, so that nothing a program swaps in between is read or written. Sources: F1, LIM-03, decisions on
writes over unseen content.
"""

from __future__ import annotations

import difflib
import errno
import hashlib
import os
import posixpath
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.plain_files import sibling
from agent_core.records import dataclass
from agent_core.safety.paths import PathRules, PathVerdict, open_beneath, writable_root
from agent_core.text.printable import printable

_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_PERMISSIONS = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO  # set-id bits are not carried over to new content

# Between comparing a file with what is expected and putting the new one in its place no other write of ours may come.
_replacing = threading.Lock()


@dataclass(frozen=True, slots=True)
class FileContent:
    data: bytes
    digest: str
    status: os.stat_result

    @property
    def mode(self) -> int:
        """Type and permissions."""
        return self.status.st_mode

    @property
    def changed(self) -> int:
        """When content or status changed last, in ns since the epoch; no program can set it."""
        return self.status.st_ctime_ns

    @property
    def is_link(self) -> bool:
        """The content is a symbolic link's target."""
        return stat.S_ISLNK(self.mode)


def digest(data: bytes) -> str:
    """The name of a content: SHA-256, hex."""
    return hashlib.sha256(data).hexdigest()


def read(verdict: PathVerdict, rules: PathRules, limit: int = limits.READ_FILE) -> FileContent:
    """The whole content of a regular file of at most `limit` bytes.

    Never waits: a pipe, socket or device is refused at the descriptor. Raises ToolFailure with code "missing" (naming
    near names), "directory", "too_large", "special", "denied" or "unreadable".
    """
    _check_allowed(verdict)
    try:
        with folder_of(verdict, rules) as (folder, name):
            return _read_at(folder, name, verdict.shown, limit)
    except FileNotFoundError:
        raise missing(verdict) from None
    except OSError as error:
        raise _failed("read", verdict.shown, error) from error


def read_link(verdict: PathVerdict, rules: PathRules) -> FileContent:
    """What a delete must expect of a symbolic link: its target's text. Raises ToolFailure like `read`."""
    _check_allowed(verdict)
    try:
        with folder_of(verdict, rules) as (folder, name):
            data = os.fsencode(os.readlink(name, dir_fd=folder))
            return FileContent(data, digest(data), os.lstat(name, dir_fd=folder))
    except FileNotFoundError:
        raise missing(verdict) from None
    except OSError as error:
        raise _failed("read", verdict.shown, error) from error


def write(
    verdict: PathVerdict, rules: PathRules, data: bytes, expect: str | None, like: FileContent | None = None
) -> None:
    """Put `data` in the place of a file in one step; a crash leaves the old content or the new, never half.

    `expect` is the digest of what must be there now; None: nothing may be there, missing folders are made. A file
    keeps its permissions and owner, a new one takes those of `like`; other hard links of the old file keep the old
    content. Raises ToolFailure with
    code "stale_file" when something else is there, "too_large", "read_only", "directory", "special", "denied" or
    "unwritable"; then nothing has changed.
    """
    _check_allowed(verdict)
    if len(data) > limits.WRITE_FILE:
        raise ToolFailure(
            f"{verdict.shown} would be {len(data):,} bytes; files of at most {limits.WRITE_FILE:,} bytes are written. "
            "Write it in parts, or with a command.",
            code="too_large",
        )
    try:
        with folder_of(verdict, rules, create=expect is None) as (folder, name):
            _replace(folder, name, data, expect, verdict.shown, like)
    except FileNotFoundError:
        raise _stale(verdict.shown, "it is not there any more") from None
    except OSError as error:
        raise _failed("written", verdict.shown, error) from error


def check(verdict: PathVerdict, rules: PathRules, expect: str | None) -> None:
    """Raise what `write` or `delete` would now raise because something else is there; change nothing.

    `expect` as in `write`.
    """
    _check_allowed(verdict)
    try:
        with folder_of(verdict, rules) as (folder, name):
            if expect is None and _status(folder, name) is not None:
                raise _stale(verdict.shown, "there is a file already")
            if expect is not None:
                _check_content(folder, name, expect, verdict.shown)
    except FileNotFoundError:
        if expect is not None:
            raise _stale(verdict.shown, "it is not there any more") from None
    except OSError as error:
        raise _failed("read", verdict.shown, error) from error


def make_link(verdict: PathVerdict, rules: PathRules, target: bytes) -> None:
    """Make a symbolic link where nothing is: how a removed one is put back. Raises ToolFailure like `write`."""
    _check_allowed(verdict)
    try:
        with folder_of(verdict, rules) as (folder, name):
            os.symlink(target, name, dir_fd=folder)
            os.fsync(folder)
    except OSError as error:
        raise _failed("written", verdict.shown, error) from error


def missing_folders(verdict: PathVerdict) -> tuple[Path, ...]:
    """Folders that `write` would have to make for a new file, the innermost first."""
    return tuple(takewhile(lambda folder: not folder.exists(), verdict.path.parents))


def remove_folder(verdict: PathVerdict, rules: PathRules, folder: Path) -> None:
    """Remove a folder on the way to a judged path, if it is empty and no link leads there."""
    try:
        with folder_of(replace(verdict, path=folder), rules) as (above, name):
            os.rmdir(name, dir_fd=above)
    except OSError as error:
        raise _failed("removed", str(folder), error) from error


def delete(verdict: PathVerdict, rules: PathRules, expect: str) -> None:
    """Remove a file (or a link: the link itself) whose content is still `expect`.

    Raises ToolFailure like `write`.
    """
    _check_allowed(verdict)
    try:
        with folder_of(verdict, rules) as (folder, name), _replacing:
            _check_content(folder, name, expect, verdict.shown)
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)
    except FileNotFoundError:
        raise _stale(verdict.shown, "it is not there any more") from None
    except OSError as error:
        raise _failed("deleted", verdict.shown, error) from error


# -- the parts ----------------------------------------------------------------------------------------------------


def _check_allowed(verdict: PathVerdict) -> None:
    # "ask" comes here only after somebody agreed; a denied path must not be opened whatever a caller forgot.
    if verdict.verdict == "deny":
        raise ToolFailure(verdict.text, code="denied", outcome="refused")


@contextmanager
def folder_of(verdict: PathVerdict, rules: PathRules, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """A descriptor of the folder a judged path lies in, and the last name. Links on the way fail with ELOOP."""
    path = str(verdict.path)
    root = writable_root(verdict.path, rules)
    if not root or path == root:
        root = "/"
    above, name = posixpath.split(posixpath.relpath(path, root))
    if name in ("", ".", ".."):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if create:
            _make_folders(top, above)
        folder = open_beneath(top, above or ".", os.O_RDONLY | os.O_DIRECTORY)
    finally:
        os.close(top)
    try:
        yield folder, name
    finally:
        os.close(folder)


def _make_folders(top: int, relative: str) -> None:
    """Make the folders of `relative` below `top` that are missing, one by one so that none is made through a link."""
    names = [name for name in relative.split("/") if name]
    for count in range(1, len(names) + 1):
        try:
            os.close(open_beneath(top, "/".join(names[:count]), os.O_RDONLY | os.O_DIRECTORY))
        except FileNotFoundError:
            parent = open_beneath(top, "/".join(names[: count - 1]) or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.mkdir(names[count - 1], dir_fd=parent)
            except FileExistsError:
                pass  # somebody else made it meanwhile; if it is no folder the next opening fails
            finally:
                os.close(parent)


def _read_at(folder: int, name: str, shown: str, limit: int) -> FileContent:
    # O_NONBLOCK: opening a pipe would wait for its other end. It means nothing to a regular file.
    descriptor = open_beneath(folder, name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise ToolFailure(f"{shown} is a folder; list it instead.", code="directory")
        if not stat.S_ISREG(status.st_mode):
            raise ToolFailure(f"{shown} is a device, pipe or socket, not a regular file.", code="special")
        # The size is only a hint (0 below /proc, growing logs): reading stops at the limit whatever it says.
        data = bytearray()
        while status.st_size <= limit and len(data) <= limit:
            chunk = os.read(descriptor, min(limit + 1 - len(data), limits.MB))
            if not chunk:
                content = bytes(data)
                return FileContent(content, digest(content), status)
            data += chunk
    finally:
        os.close(descriptor)
    size = max(status.st_size, len(data))
    raise ToolFailure(
        f"{shown} is {size:,} bytes; files of at most {limit:,} bytes are read. "
        "Take a part of it with a command: head, tail, sed -n '100,200p', or rg for a search.",
        code="too_large",
        outcome="too large",
        size=size,
        limit=limit,
    )


def _check_content(folder: int, name: str, expect: str, shown: str) -> None:
    """Raises FileNotFoundError, or ToolFailure when a file, or a link's target, is not `expect`."""
    if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
        found = digest(os.fsencode(os.readlink(name, dir_fd=folder)))
    else:
        found = _read_at(folder, name, shown, limits.READ_FILE).digest
    if found != expect:
        raise _stale(shown, "it has changed")


def _replace(folder: int, name: str, data: bytes, expect: str | None, shown: str, like: FileContent | None) -> None:
    old = _status(folder, name)
    if old is not None and not stat.S_ISREG(old.st_mode):
        kind, code = ("a folder", "directory") if stat.S_ISDIR(old.st_mode) else ("not a regular file", "special")
        raise ToolFailure(f"{shown} is {kind} and is not written.", code=code)
    if old is not None and not old.st_mode & _WRITE_BITS:
        raise ToolFailure(f"{shown} is marked read-only; ask the person before changing that.", code="read_only")
    model = like.status if old is None and like is not None else old
    permissions = None if model is None else model.st_mode & _PERMISSIONS
    with sibling(folder, data, permissions, model) as temporary, _replacing:
        if expect is None:
            _put_new(folder, temporary, name, shown)
        elif _read_at(folder, name, shown, limits.READ_FILE).digest != expect:
            raise _stale(shown, "it has changed")
        else:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def _put_new(folder: int, temporary: str, name: str, shown: str) -> None:
    """Give the temporary file its name unless something has that name."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise _stale(shown, "there is a file already") from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        # A file system without hard links: the look and the rename are two steps there.
        if _status(folder, name) is not None:
            raise _stale(shown, "there is a file already") from None
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None


# -- what went wrong, in words ------------------------------------------------------------------------------------


def _stale(shown: str, what: str) -> ToolFailure:
    return ToolFailure(f"{shown} was not touched: {what}. Read it again first.", code="stale_file", outcome="changed")


def _failed(done: str, shown: str, error: OSError) -> ToolFailure:
    if error.errno == errno.ELOOP:
        return _stale(shown, "a link has appeared on its way")
    if error.errno in (errno.EISDIR, errno.ENOTDIR):
        text = f"{shown}: a file, a folder or a link stands where another stood. Look again."
        return ToolFailure(text, code="directory")
    reason = os.strerror(error.errno) if error.errno else str(error)
    code = "unreadable" if done == "read" else "unwritable"
    return ToolFailure(f"{shown} could not be {done}: {reason}.", code=code, errno=error.errno)


def missing(verdict: PathVerdict) -> ToolFailure:
    """The failure for what is not there, with the names nearest to it in the folder where it should be."""
    near = _near_names(verdict)
    above = posixpath.dirname(verdict.shown)
    paths = [posixpath.join(above, printable(name)) for name in near]
    if paths:
        hint = f"Near it: {', '.join(paths)}."
    elif verdict.path.parent.is_dir():
        hint = "Look with list_dir or glob."
    else:
        hint = f"Its folder {above or '.'} does not exist either; look with list_dir or glob."
    return ToolFailure(f"{verdict.shown} does not exist. {hint}", code="missing", outcome="not found", near=paths)


def _near_names(verdict: PathVerdict) -> list[str]:
    names: dict[str, str] = {}
    try:
        with os.scandir(verdict.path.parent) as entries:
            for entry, _ in zip(entries, range(limits.NEAR_NAMES_SCAN), strict=False):
                names.setdefault(entry.name.casefold(), entry.name)
    except OSError:
        return []  # the folder is missing or closed to us; the caller says so
    close = difflib.get_close_matches(verdict.path.name.casefold(), names, n=limits.NEAR_NAMES)
    return [names[name] for name in close]
