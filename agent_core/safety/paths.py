"""The path door: where a path really leads, and whether a file tool may go there.

A path is resolved component by component as the kernel would, then judged by what it came out at and by every name it
passed through. What was judged is opened by descriptor without following any link (`open_beneath`), so a link that
appears after the judgement makes the opening fail instead of leading elsewhere. Sources: F1, F2, decisions on
deny-read and protected writes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import posixpath
import re
import stat
import sys
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from agent_core import limits
from agent_core.ports.tools import IsHidden
from agent_core.records import dataclass
from agent_core.safety import protected
from agent_core.safety.hidden import (
    SECRETS,
    USER_PATTERN,
    WORKSPACE_FILE,
    WORKSPACE_PATTERN,
    nothing_more,
)
from agent_core.safety.protected import Parts, fold_parts
from agent_core.text.printable import printable

Op = Literal["read", "write", "delete", "glob"]
"""A rename is the delete of one path and the write of another."""


@dataclass(frozen=True, slots=True)
class PathRules:
    """What a path is judged against. All absolute; links in them are resolved here."""

    workspace: Path
    home: Path
    data_home: Path
    """Our own home: its keys and policy are never a tool's to touch."""
    read_paths: tuple[Path, ...] = ()
    """Folders outside the workspace that globs may search."""
    add_dirs: tuple[Path, ...] = ()
    """Folders that are written like the workspace; what is protected in it is protected in them."""
    safe_roots: tuple[Path, ...] = ()
    """When given, nothing outside them is written, wherever else it might be (APPR-18)."""
    hidden: IsHidden = field(default=nothing_more, compare=False)
    """What is read only with consent, as it stands now. Not compared: the resolved roots are remembered by the rest."""


@dataclass(frozen=True, slots=True)
class PathVerdict:
    """`text` tells a model or a person why, and what to do instead; empty when allowed."""

    verdict: Literal["allow", "ask", "deny"]
    rule: str
    text: str
    path: Path
    """Absolute, as the kernel would resolve it. For delete the last component is not followed: a link is itself."""
    shown: str
    """As a person writes it: relative inside the workspace, ~/... in the home, else absolute; safe to display."""


class _Refused(Exception):
    """The text cannot name a file for us, or resolving it failed."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule = rule
        self.text = text


@dataclass(frozen=True, slots=True)
class _Roots:
    workspace: str
    home: str
    own: tuple[str, ...]
    read: tuple[str, ...]
    writable: tuple[str, ...]
    """The workspace first."""
    safe: tuple[str, ...]


@lru_cache(maxsize=64)
def _roots(rules: PathRules) -> _Roots:
    real = os.path.realpath
    home = real(rules.home)
    own = (real(rules.data_home), real(os.path.join(home, ".nanohermes")), real(os.path.join(home, ".hermes")))
    workspace = real(rules.workspace)
    return _Roots(
        workspace,
        home,
        own,
        tuple(real(path) for path in rules.read_paths),
        (workspace, *(real(path) for path in rules.add_dirs)),
        tuple(real(path) for path in rules.safe_roots),
    )


def classify(op: Op, text: str, rules: PathRules) -> PathVerdict:
    """Judge `text`, a path as a model wrote it, for one operation. Looks at the file system, changes nothing.

    Never raises: what cannot be a path is denied. `glob` judges a pattern: the folder it starts in, and that it stays
    below it.
    """
    roots = _roots(rules)
    try:
        base = _spell(text, roots.home)
        if op == "glob":
            base = _glob_base(base)
        place = _walk(roots.workspace, base, follow_last=op != "delete")
        verdict, rule, why = _judge(op, base, place, roots, rules.hidden)
    except _Refused as refused:
        shown = printable(text)
        return PathVerdict("deny", refused.rule, refused.text, Path(roots.workspace), shown)
    shown = _shown(place.path, roots)
    return PathVerdict(verdict, rule, f"{shown} {why}" if why else "", Path(place.path), shown)


def may_read_found(path: str, rules: PathRules) -> bool:
    """Whether the content of a file met on a walk may be shown without asking: `classify` without resolving.

    `path` is absolute and no component of it is a link, because the walk does not follow any.
    """
    return reader_of_found(rules)(path)


def reader_of_found(rules: PathRules) -> Callable[[str], bool]:
    """`may_read_found` under these rules, for many files."""
    roots, hidden = _roots(rules), rules.hidden
    return lambda path: not _read_protection(path, fold_parts(path), roots, hidden, is_dir=False)


def protected_finder(top: str, rules: PathRules) -> Callable[[str, Sequence[str]], list[str]]:
    """The names, of those of files met in a folder, whose content `may_read_found` does not show.

    For many folders below `top`, or `top` itself; all absolute, and no component of theirs is a link.
    """
    roots, may_read = _roots(rules), reader_of_found(rules)
    # Below an ordinary folder are ordinary folders, unless a home may begin there.
    all_ordinary = (
        len(fold_parts(top)) > 1
        and _ordinary_folder(top, roots)
        and not any(_beneath(root, top) for root in (roots.home, *roots.own))
    )

    def find(folder: str, names: Sequence[str]) -> list[str]:
        if rules.hidden is nothing_more and (all_ordinary or _ordinary_folder(folder, roots)):
            names = protected.perhaps_secret(names)
        return [name for name in names if not may_read(f"{folder}/{name}")]

    return find


def _ordinary_folder(folder: str, roots: _Roots) -> bool:
    """Whether nothing in a folder is protected because of where it lies."""
    parts = fold_parts(folder)
    return (
        not any(_beneath(folder, root) for root in roots.own)
        and all(protected.ordinary_below_home(below) for below in _home_parts(folder, parts, roots))
        and protected.ordinary_below_root(parts)
    )


def writable_root(path: Path, rules: PathRules) -> str:
    """The innermost of the workspace and the folders beside it that a resolved path lies in; "" outside them all."""
    return max((root for root in _roots(rules).writable if _beneath(str(path), root)), key=len, default="")


# -- the text -----------------------------------------------------------------------------------------------------

_VARIABLE: Final = re.compile(r"\$(\{[A-Z_]+\}|[A-Z_]+)(/|\Z)")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_WINDOWS: Final = re.compile(r"\.\.?\\|[A-Za-z]:\\")


def _spell(text: str, home: str) -> str:
    """The path `text` writes: only `~/` is expanded. Raises _Refused for what is no path at all."""
    if not text.strip():
        raise _Refused("no path", "No path was given.")
    if "\0" in text:
        raise _Refused("not a path", "A path cannot contain a NUL character.")
    try:
        raw = os.fsencode(text)
    except UnicodeEncodeError:
        raise _Refused("not a path", "The path holds characters no file name can have.") from None
    if len(raw) >= limits.PATH_BYTES or any(len(part) > limits.NAME_BYTES for part in raw.split(b"/")):
        raise _Refused("not a path", "The path, or a name in it, is longer than a file system allows.")
    if _VARIABLE.match(text):
        raise _Refused("not a path", "Variables are not expanded in paths. Write the path out.")
    if _URL.match(text):
        raise _Refused("not a path", "This is a URL, not a path. File tools work on files of this machine.")
    if _WINDOWS.match(text):
        raise _Refused("not a path", "Paths are written with / between folders.")
    for part in text.split("/"):
        if not part.isascii() and unicodedata.normalize("NFKC", part) in (".", ".."):
            raise _Refused("not a path", "The path holds a look-alike of '..'. Write it in plain characters.")
    if text == "~" or text.startswith("~/"):
        return home + text[1:]
    if text.startswith("~") and _is_user(text[1:].split("/", 1)[0]):
        raise _Refused("not a path", "Only ~/ is expanded in paths. Write the path of another user's home out.")
    return text


def _is_user(name: str) -> bool:
    import pwd

    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError, UnicodeError):
        return False
    return True


_MAGIC: Final = re.compile(r"[*?\[{]")
_CLIMB: Final = re.compile(r"(\A|[/{,])\.\.(\Z|[/},])")


def _glob_base(pattern: str) -> str:
    """The folder a pattern starts in. Raises _Refused when a later part climbs out of it again."""
    magic = _MAGIC.search(pattern)
    if magic is None:
        return pattern
    start = pattern.rfind("/", 0, magic.start()) + 1
    if _CLIMB.search(pattern[start:]):
        raise _Refused("outside the workspace", "A pattern may not climb with '..' after its first wildcard.")
    return pattern[:start] or "."


# -- resolving ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    passed: tuple[str, ...]
    """The same place as it was spelled before each link on the way was followed."""
    status: os.stat_result | None
    """Of the path itself, by lstat; None when nothing is there."""


def _walk(start: str, text: str, *, follow_last: bool) -> _Place:
    """Resolve `text` from `start` as the kernel does, link by link. Raises _Refused where the kernel would fail.

    What does not exist yet is taken by its spelling: nothing can be a link there, and its folders may be created.
    """
    todo = deque(text.split("/"))
    here = "/" if text.startswith("/") else start
    passed: list[str] = []
    try:
        while todo:
            name = todo.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                here = posixpath.dirname(here)
                continue
            child = posixpath.join(here, name)
            try:
                status = os.lstat(child)
            except FileNotFoundError:
                here = child
                continue
            if stat.S_ISLNK(status.st_mode) and (todo or follow_last):
                if len(passed) >= limits.PATH_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                passed.append(posixpath.normpath(posixpath.join(child, *(part for part in todo if part))))
                target = os.readlink(child)
                todo.extendleft(reversed(target.split("/")))
                here = "/" if target.startswith("/") else here
                continue
            if any(todo) and not stat.S_ISDIR(status.st_mode):
                raise _Refused("not a path", f"{printable(name)} is a file, not a folder.")
            here = child
        try:
            last = os.lstat(here)
        except FileNotFoundError:
            last = None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise _Refused("cannot be resolved", f"The path cannot be followed: {reason}.") from error
    return _Place(here, tuple(passed), last)


def _beneath(path: str, root: str) -> bool:
    return path.startswith(root) and (len(path) == len(root) or root.endswith("/") or path[len(root)] == "/")


def _below(path: str, root: str) -> Parts:
    """The folded components of `path` below `root`, which it must lie beneath."""
    return fold_parts(path[len(root) :])


def _shown(path: str, roots: _Roots) -> str:
    if _beneath(path, roots.workspace):
        return printable(posixpath.relpath(path, roots.workspace))
    if _beneath(path, roots.home) and roots.home != "/":
        return printable(("~/" + path[len(roots.home) :].lstrip("/")).rstrip("/"))
    return printable(path)


# -- judging ------------------------------------------------------------------------------------------------------

_Judgement = tuple[Literal["allow", "ask", "deny"], str, str]
_ALLOW: Final[_Judgement] = ("allow", "", "")


def _judge(op: Op, spelled: str, place: _Place, roots: _Roots, hidden: IsHidden) -> _Judgement:
    """The strictest of: what is there, what protects a name on the way, and whether it lies in the workspace."""
    status = place.status
    is_dir = status is not None and stat.S_ISDIR(status.st_mode)
    found = [_protection(op, path, roots, hidden, is_dir=is_dir) for path in (place.path, *place.passed)]
    for judgement in found:
        if judgement and judgement[0] == "deny":
            return judgement
    changes = op in ("write", "delete")
    inside = _inside(place.path, roots)
    if changes and not inside:
        return (
            "deny",
            "outside the workspace",
            f"lies outside the workspace {printable(roots.workspace)}. Files are changed inside it only: choose a path "
            "there, or ask the person to add the other folder (--add-dir) or to open a session in it.",
        )
    if changes and roots.safe and not any(_beneath(place.path, root) for root in roots.safe):
        return (
            "deny",
            "outside the safe roots",
            f"lies outside the folders that the person's setting files.write_safe_roots allows. {_BY_HAND}",
        )
    if op == "glob" and not inside and not any(_beneath(place.path, root) for root in roots.read):
        return (
            "deny",
            "outside the workspace",
            "lies outside the workspace. Search inside it; single files and folders outside can be read by their path.",
        )
    if changes and (is_dir or spelled.endswith("/")):
        return "deny", "not a file", "is a folder. Name a file."
    if status is not None and not is_dir and not _ordinary(status, op):
        return "deny", "not a file", "is a device, pipe or socket, not a regular file."
    return next((judgement for judgement in found if judgement), _ALLOW)


def _ordinary(status: os.stat_result, op: Op) -> bool:
    return stat.S_ISREG(status.st_mode) or (op == "delete" and stat.S_ISLNK(status.st_mode))


_BY_HAND: Final = "The person can do it by hand if it is really wanted."


def _protection(op: Op, path: str, roots: _Roots, hidden: IsHidden, *, is_dir: bool) -> _Judgement | None:
    """What protects an absolute path because of its name, wherever the workspace ends."""
    parts = fold_parts(path)
    if op in ("read", "glob"):
        return _read_protection(path, parts, roots, hidden, is_dir=is_dir)
    inside = _inside(path, roots)
    for below in _own_parts(path, roots):
        if protected.own_keys(below) or protected.own_policy(below):
            return "deny", "protected: the agent's own settings", f"decides what this program may do. {_BY_HAND}"
    for below in _home_parts(path, parts, roots):
        if protected.credential_place(below):
            return "deny", "protected: credentials", f"holds keys or passwords and is never written. {_BY_HAND}"
        later = protected.runs_later(below)
        # A person who opens the session inside such a place (an editor's settings folder) means to change it.
        if later and all(protected.runs_later(_home_below(root, roots)) != later for root in roots.writable):
            text = f"runs by itself later (shell, editor, desktop). {_BY_HAND}"
            return ("ask" if inside else "deny"), "protected: runs later", text
    tree = protected.system_tree(parts)
    if tree and (
        protected.kernel_tree(parts) or all(protected.system_tree(fold_parts(root)) != tree for root in roots.writable)
    ):
        return "deny", "protected: system files", f"belongs to the system. {_BY_HAND}"
    if not inside:
        return None
    if rule := hidden(path, is_dir):
        return "ask", rule, f"{_WHY_HIDDEN[rule]}; a person has to agree."
    if any(_own_parts(path, roots)) or any(
        protected.control_place(_below(path, root)) or _in_git_dir(path, root)
        for root in roots.writable
        if _beneath(path, root)
    ):
        return "ask", "protected: runs later", "steers git, an editor or this program; a person has to agree."
    return None


_WHY_HIDDEN: Final = {
    SECRETS: "is a file of secrets",
    USER_PATTERN: "is on the person's list of what is not read",
    WORKSPACE_PATTERN: f"is on the list of what is not read in {WORKSPACE_FILE}",
}


def _read_protection(path: str, parts: Parts, roots: _Roots, hidden: IsHidden, *, is_dir: bool) -> _Judgement | None:
    for below in _own_parts(path, roots):
        if protected.own_keys(below):
            return "deny", "protected: credentials", "holds this program's own keys and is never read by tools."
        if protected.own_records(below):
            return "deny", "protected: history", "holds what was said in other sessions and is never read by tools."
    for below in _home_parts(path, parts, roots):
        if protected.credential_place(below) and not protected.public_key(below):
            return "deny", "protected: credentials", "holds keys or passwords and is never read by tools."
        if protected.history_place(below):
            return "deny", "protected: history", "holds what was typed, secrets included, and is never read by tools."
    if protected.system_secret(parts):
        return "deny", "protected: system secrets", "holds secrets of the system, or is no file with an end."
    if rule := hidden(path, is_dir):
        return "ask", rule, f"{_WHY_HIDDEN[rule]}; a person has to agree before it is read."
    return None


def _own_parts(path: str, roots: _Roots) -> Iterable[Parts]:
    return (_below(path, root) for root in roots.own if _beneath(path, root))


def _home_parts(path: str, parts: Parts, roots: _Roots) -> Iterable[Parts]:
    """The components below the person's home, and below whatever other user's home the path lies in."""
    if _beneath(path, roots.home):
        yield parts[_depth(roots.home) :]
    usual = protected.home_of(parts)
    if usual:
        yield parts[usual:]


@lru_cache(maxsize=64)
def _depth(root: str) -> int:
    return len(fold_parts(root))


def _home_below(root: str, roots: _Roots) -> Parts:
    return _below(root, roots.home) if _beneath(root, roots.home) else ()


def _inside(path: str, roots: _Roots) -> bool:
    return any(_beneath(path, root) for root in roots.writable)


def _in_git_dir(path: str, workspace: str) -> bool:
    """Whether a folder above is git's own under another name: a bare repository, a separate git directory."""
    folder = posixpath.dirname(path)
    while _beneath(folder, workspace):
        if all(os.path.lexists(posixpath.join(folder, name)) for name in ("HEAD", "objects", "refs")):
            return True
        if folder == "/":
            break
        folder = posixpath.dirname(folder)
    return False


# -- opening ------------------------------------------------------------------------------------------------------

_OPENAT2: Final = 437  # the same number on every Linux architecture since 5.6
_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_NO_SYMLINKS: Final = 0x04
_RESOLVE_BENEATH: Final = 0x08


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(root: int, relative: str, flags: int, mode: int = 0) -> int:
    """Open `relative` below the folder descriptor `root` without following any link on the way; return a descriptor.

    `relative` is a resolved path ("." for the folder itself). Raises OSError: ELOOP for a link, EXDEV for an attempt
    to leave, otherwise what open() raises.
    """
    names = [name for name in relative.split("/") if name not in ("", ".")]
    if relative.startswith("/") or ".." in names:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW
    if sys.platform == "linux":
        try:
            return _openat2(root, "/".join(names) or ".", flags, mode)
        except OSError as error:
            # An old kernel, or a container that filters the call: walk instead.
            if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
                raise
    return _open_walking(root, names or ["."], flags, mode)


def _openat2(root: int, relative: str, flags: int, mode: int) -> int:
    how = _OpenHow(
        flags,
        mode if flags & os.O_CREAT else 0,
        _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS,
    )
    raw = ctypes.c_char_p(os.fsencode(relative))
    for _ in range(limits.OPEN_TRIES):
        descriptor = _libc().syscall(
            ctypes.c_long(_OPENAT2), ctypes.c_int(root), raw, ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how))
        )
        if descriptor >= 0:
            return int(descriptor)
        code = ctypes.get_errno()
        # EAGAIN: a rename somewhere on the machine made the kernel unsure; it asks to try again.
        if code not in (errno.EINTR, errno.EAGAIN):
            break
    raise OSError(code, os.strerror(code), relative)


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _open_walking(root: int, names: list[str], flags: int, mode: int) -> int:
    folder = root
    try:
        for name in names[:-1]:
            deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            if folder != root:
                os.close(folder)
            folder = deeper
        return os.open(names[-1], flags, mode, dir_fd=folder)
    except NotADirectoryError as error:
        # O_DIRECTORY and O_NOFOLLOW on a link: some kernels say ENOTDIR, we always say ELOOP.
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), error.filename) from error
    finally:
        if folder != root:
            os.close(folder)
