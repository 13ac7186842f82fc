"""The files of a folder: a bounded, sorted walk that follows no links and leaves out what .gitignore names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from agent_core import limits, plain_files
from agent_core.cancel import CancelScope
from agent_core.records import dataclass
from agent_core.text import ignore_rules

NEVER: Final = frozenset({".git", ".hg", ".svn"})
"""Folders that are never walked into: a version store is no content."""


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
        rules = _read_rules(f"{folder}/.gitignore")
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
    .gitignore names, and with `names` the files that it does not fully match by their name. Stops at limits.WALK_FILES
    entries seen and sets `cut`. Raises Interrupted on cancel.
    """

    root: str
    cancel: CancelScope
    ignored: bool = False
    links: bool = False
    names: re.Pattern[str] | None = None
    seen: int = 0
    cut: bool = False

    def __iter__(self) -> Iterator[str]:
        return self._below(self.root.rstrip("/"), "", ignore_for(self.root) if not self.ignored else Ignore())

    def _below(self, root: str, relative: str, ignore: Ignore) -> Iterator[str]:
        # A stack of iterators rather than recursion: trees may be deep.
        stack = [(iter(self._entries(root, relative, ignore)), ignore)]
        while stack:
            entries, rules = stack[-1]
            for path, is_folder in entries:
                if is_folder:
                    below = rules if self.ignored else rules.deeper(f"{root}/{path}")
                    stack.append((iter(self._entries(root, path + "/", below)), below))
                    break
                yield path
            else:
                stack.pop()

    def _entries(self, root: str, relative: str, ignore: Ignore) -> list[tuple[str, bool]]:
        self.cancel.check()
        ignores = ignore if ignore.layers else None
        room = limits.WALK_FILES - self.seen
        inside = look_into(root, relative, ignores, room, links=self.links, names=self.names)
        self.seen += inside.seen
        self.cut |= inside.cut
        return inside.entries


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
            if path and not self.ignored and ".gitignore" in names:
                ignore = ignore.deeper(f"{root}/{path}".rstrip("/"))
            for name in sorted(below, reverse=True):
                if not (ignore.layers and ignore.ignores(f"{root}/{path}{name}", True)):
                    todo.append((f"{path}{name}/", ignore))
            yield Folder(path, names, ignore, cut)


def _names_in(folder: str, room: int) -> tuple[list[str], list[str], int]:
    """The names of the files and of the folders in a folder, and how many entries were seen, at most `room` + 1.

    The last of so many is not among the names. Nothing in a folder that is closed to us, or gone.
    """
    try:
        with os.scandir(folder) as scan:
            found = list(islice(scan, room + 1))
    except OSError:
        return [], [], 0
    seen = len(found)
    del found[room:]
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
    seen: int
    """With those that are left out."""
    cut: bool


def look_into(
    root: str, relative: str, ignore: Ignore | None, room: int, *, links: bool, names: re.Pattern[str] | None = None
) -> Inside:
    """The files and folders, with `links` also the links, in the folder `relative` ("" or with a slash) of `root`.

    Version stores are left out, what `ignore`, the rules that hold there, names, and files that `names` does not fully
    match. At most `room` are looked at. A folder that is closed to us, or gone, is as if it were empty.
    """
    try:
        with os.scandir(f"{root}/{relative}") as scan:
            found = list(islice(scan, room + 1))
    except OSError:
        return Inside([], 0, False)
    cut = len(found) > room
    del found[room:]
    seen, entries = len(found), []
    if names is not None:  # before anything else: of most there is no more to be known
        match = names.fullmatch
        try:
            found = [entry for entry in found if entry.is_dir(follow_symlinks=False) or match(entry.name)]
        except OSError:  # one is gone meanwhile
            found = [entry for entry in found if _kind(entry) == "folder" or match(entry.name)]
    for entry in sorted(found, key=lambda e: e.name):
        kind = _kind(entry)
        is_folder = kind == "folder"
        if not kind or (kind == "link" and not links) or (is_folder and entry.name in NEVER):
            continue
        path = relative + entry.name
        if ignore is None or not ignore.ignores(f"{root}/{path}", is_folder):
            entries.append((path, is_folder))
    return Inside(entries, seen, cut)


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
