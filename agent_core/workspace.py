"""The files of a folder: a bounded, sorted walk that follows no links and leaves out what .gitignore names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Final

from agent_core import limits, plain_files
from agent_core.cancel import CancelScope
from agent_core.records import dataclass
from agent_core.text import ignore_rules
from agent_core.text.globs import Names

NEVER: Final = frozenset({".git", ".hg", ".svn"})
"""Folders that are never walked into: a version store is no content."""
_RULES: Final = ".gitignore"


# -- .gitignore -----------------------------------------------------------------------------------------------------


def _read_rules(path: str) -> ignore_rules.Rules:
    """The rules of an ignore file; none when it is missing, no regular file, or cannot be read."""
    try:
        data = plain_files.read_regular(path, limits.IGNORE_FILE, follow=False)
    except OSError:
        return ()
    return ignore_rules.parse(data.decode("utf-8", "surrogateescape")) if data else ()


@dataclass(frozen=True, slots=True)
class Ignore:
    """What the ignore files from the repository's root down to one folder say about what lies below it."""

    layers: tuple[tuple[str, ignore_rules.Rules], ...] = ()
    """Folder and rules, outermost first; the innermost file that names a path decides, in it the last rule."""

    def deeper(self, folder: str) -> Ignore:
        """With the rules of the .gitignore in `folder`, an absolute path below those so far."""
        rules = _read_rules(f"{folder}/{_RULES}")
        return Ignore((*self.layers, (folder.rstrip("/"), rules))) if rules else self

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Is this absolute path ignored, the folders above it taken as not?"""
        for folder, rules in reversed(self.layers):
            found = ignore_rules.verdict(rules, path[len(folder) + 1 :], is_folder)
            if found is not None:
                return found
        return False


def ignore_for(folder: str) -> Ignore:
    """The ignore rules that hold in `folder` (absolute), its own .gitignore included."""
    chain = [folder]
    while not os.path.lexists(f"{chain[-1]}/.git"):
        parent = os.path.dirname(chain[-1])
        if parent == chain[-1]:  # no repository: only what lies in the folder itself counts
            return Ignore().deeper(folder)
        chain.append(parent)
    root = chain[-1]
    ignore = Ignore()
    if exclude := _read_rules(f"{root}/.git/info/exclude"):
        ignore = Ignore(((root.rstrip("/"), exclude),))
    for step in reversed(chain):
        ignore = ignore.deeper(step)
    return ignore


# -- the walk -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Walk:
    """Iterates over the regular files below `root` (absolute): paths relative to it, sorted name by name.

    Links are not followed; with `links` they are among the files. Version stores are left out, unless `ignored` what
    .gitignore names, and with `names` the files that are not among those it gives. Stops at limits.WALK_FILES entries
    seen and sets `cut`. Raises Interrupted on cancel.
    """

    root: str
    cancel: CancelScope
    ignored: bool = False
    links: bool = False
    names: Names | None = None
    seen: int = 0
    cut: bool = False

    def __iter__(self) -> Iterator[str]:
        return self._below(self.root.rstrip("/"), "", ignore_for(self.root) if not self.ignored else Ignore())

    def _below(self, root: str, relative: str, ignore: Ignore) -> Iterator[str]:
        # A stack of iterators rather than recursion: trees may be deep.
        stack = [self._entries(root, relative, ignore)]
        while stack:
            entries, rules = stack[-1]
            for path, is_folder in entries:
                if is_folder:
                    stack.append(self._entries(root, path + "/", rules))
                    break
                yield path
            else:
                stack.pop()

    def _entries(self, root: str, relative: str, above: Ignore) -> tuple[Iterator[tuple[str, bool]], Ignore]:
        """What stands in a folder, and the rules that hold there: those `above` it and its own."""
        self.cancel.check()
        folder = f"{root}/{relative}"
        found, seen = _scanned(folder, limits.WALK_FILES - self.seen)
        self.seen += len(found)
        self.cut |= seen > len(found)
        names = [entry.name for entry in found]
        if relative and not self.ignored and (_RULES in names or seen > len(found)):
            above = above.deeper(folder[:-1])
        if self.names is not None:  # before anything else: of most there is no more to be known
            found = _folders_and(self.names(names), found)
        rules = above if above.layers else None
        return iter(_kept(found, root, relative, rules, links=self.links) if found else ()), above


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that a walk came to."""

    path: str
    """Relative to the root: "", or with a slash at its end."""
    names: list[str]
    """Of its regular files in no order, those that are ignored among them."""
    ignore: Ignore
    cut: bool
    """There is more in it."""


@dataclass(slots=True)
class FolderWalk:
    """Iterates over the folders that Walk goes through, each before what it holds, sorted name by name.

    It leaves it to the caller to ask of a file whether it is ignored: of most nobody wants to know.
    """

    root: str
    cancel: CancelScope
    ignored: bool = False
    seen: int = 0
    cut: bool = False

    def __iter__(self) -> Iterator[Folder]:
        root = self.root.rstrip("/")
        todo = [("", Ignore() if self.ignored else ignore_for(self.root))]
        while todo:
            self.cancel.check()
            path, ignore = todo.pop()
            names, below, seen = _names_in(f"{root}/{path}", limits.WALK_FILES - self.seen)
            cut = seen > limits.WALK_FILES - self.seen
            self.seen += seen - cut
            self.cut |= cut
            if path and not self.ignored and _RULES in names:
                ignore = ignore.deeper(f"{root}/{path}".rstrip("/"))
            for name in sorted(below, reverse=True):
                if not (ignore.layers and ignore.ignores(f"{root}/{path}{name}", True)):
                    todo.append((f"{path}{name}/", ignore))
            yield Folder(path, names, ignore, cut)


def _scanned(folder: str, room: int) -> tuple[list[os.DirEntry[str]], int]:
    """At most `room` entries of a folder, and how many were seen, at most one more.

    None in a folder that is closed to us, or gone.
    """
    try:
        with os.scandir(folder) as scan:
            found = list(islice(scan, room + 1))
    except OSError:
        return [], 0
    seen = len(found)
    del found[room:]
    return found, seen


def _names_in(folder: str, room: int) -> tuple[list[str], list[str], int]:
    """The names of the files and of the folders in a folder, and how many entries were seen, at most `room` + 1.

    The last of so many is not among the names. Nothing in a folder that is closed to us, or gone.
    """
    found, seen = _scanned(folder, room)
    try:
        names = [entry.name for entry in found if entry.is_file(follow_symlinks=False)]  # no call more: there are many
    except OSError:  # one is gone meanwhile
        names = [entry.name for entry in found if _kind(entry) == "file"]
    if len(names) == len(found):
        return names, [], seen
    return names, [e.name for e in found if e.name not in NEVER and _kind(e) == "folder"], seen


@dataclass(frozen=True, slots=True)
class Inside:
    """What stands in a folder."""

    entries: list[tuple[str, bool]]
    """Path relative to the root, and whether it is a folder; sorted by name."""
    cut: bool


def look_into(root: str, relative: str, ignore: Ignore | None, room: int, *, links: bool) -> Inside:
    """The files and folders, with `links` also the links, in the folder `relative` ("" or with a slash) of `root`.

    Version stores are left out, and what `ignore`, the rules that hold there, names. At most `room` are looked at. A
    folder that is closed to us, or gone, is as if it were empty.
    """
    found, seen = _scanned(f"{root}/{relative}", room)
    return Inside(_kept(found, root, relative, ignore, links=links), seen > len(found))


def _folders_and(names: Collection[str], found: list[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
    """Of what was found in a folder, the folders and what has one of these names."""
    wanted = frozenset(names)
    try:
        if not wanted:
            return [entry for entry in found if entry.is_dir(follow_symlinks=False)]
        return [entry for entry in found if entry.is_dir(follow_symlinks=False) or entry.name in wanted]
    except OSError:  # one is gone meanwhile
        return [entry for entry in found if _kind(entry) == "folder" or entry.name in wanted]


def _kept(
    found: Iterable[os.DirEntry[str]], root: str, relative: str, ignore: Ignore | None, *, links: bool
) -> list[tuple[str, bool]]:
    """Of what was found in a folder, what look_into tells of."""
    entries = []
    for entry in sorted(found, key=lambda e: e.name):
        kind = _kind(entry)
        is_folder = kind == "folder"
        if not kind or (kind == "link" and not links) or (is_folder and entry.name in NEVER):
            continue
        path = relative + entry.name
        if ignore is None or not ignore.ignores(f"{root}/{path}", is_folder):
            entries.append((path, is_folder))
    return entries


def _kind(entry: os.DirEntry[str]) -> str:
    """ "folder", "file", "link", or "" for anything else."""
    try:
        if entry.is_file(follow_symlinks=False):  # first: most are
            return "file"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "link" if entry.is_symlink() else ""
    except OSError:  # gone meanwhile
        return ""
