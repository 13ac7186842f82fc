"""The files of a folder: a bounded, sorted walk that follows no links and leaves out what .gitignore names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import Final

from agent_core import limits, plain_files
from agent_core.cancel import CancelScope
from agent_core.records import dataclass
from agent_core.text import ignore_rules
from agent_core.text.globs import Names
from agent_core.workspace.folders import Listing, list_folder

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
        room = limits.WALK_FILES - self.seen
        found = list_folder(folder, room)
        cut = found.seen > room
        self.seen += found.seen - cut
        self.cut |= cut
        if relative and not self.ignored and (cut or _RULES in found.files):
            above = above.deeper(folder[:-1])
        rules = above if above.layers else None
        return iter(_kept(found, root, relative, rules, links=self.links, names=self.names)), above


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
            room = limits.WALK_FILES - self.seen
            found = list_folder(f"{root}/{path}", room)
            cut = found.seen > room
            self.seen += found.seen - cut
            self.cut |= cut
            if path and not self.ignored and _RULES in found.files:
                ignore = ignore.deeper(f"{root}/{path}".rstrip("/"))
            for name in sorted(found.folders, reverse=True):
                if name not in NEVER and not (ignore.layers and ignore.ignores(f"{root}/{path}{name}", True)):
                    todo.append((f"{path}{name}/", ignore))
            yield Folder(path, found.files, ignore, cut)


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
    found = list_folder(f"{root}/{relative}", room)
    return Inside(_kept(found, root, relative, ignore, links=links), found.seen > room)


def _kept(
    found: Listing, root: str, relative: str, ignore: Ignore | None, *, links: bool, names: Names | None = None
) -> list[tuple[str, bool]]:
    """Of what was found in a folder, what look_into tells of; with `names` only the files that it gives."""
    files: Collection[str] = found.files + found.links if links else found.files
    if names is not None and files:  # before anything else: of most there is no more to be known
        files = names(files)
    every = [(name, False) for name in files] + [(name, True) for name in found.folders if name not in NEVER]
    every.sort()
    if ignore is None:
        return [(relative + name, is_folder) for name, is_folder in every]
    return [
        (relative + name, is_folder)
        for name, is_folder in every
        if not ignore.ignores(f"{root}/{relative}{name}", is_folder)
    ]
