"""Which files grep looks into: those below a folder, neither ignored nor protected nor too large.

Without ripgrep each file is walked to and judged before anything reads it. With ripgrep the folders are walked to, it
takes one look at all files right in them, and only what is worth a closer look is judged: of most files nobody needs
to know more than the name. Both ways give the same files, sorted name by name, as far as they match.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field, replace
from functools import partial
from typing import Final, TypeAlias

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.records import dataclass
from agent_core.safety.paths import PathRules, protected_finder, reader_of_found
from agent_core.workspace.scan import Search, TooMany, TooSlow, worth_a_look
from agent_core.workspace.walk import Folder, FolderWalk, Ignore, Walk

from . import base
from .glob import compiled

_ENDINGS: Final = re.compile(r"\*\.(?:[\w.-]+|\{[\w.-]+(?:,[\w.-]+)*\})", re.ASCII)
_MAGIC: Final = re.compile(r"([\\*?\[\]{}!])")
_AHEAD: Final = 3
"""Batches that are walked to before the first of them is waited for."""


@dataclass(slots=True)
class Skipped:
    """What was not searched, to be told."""

    large: int = 0
    unsized: bool = False
    """Not all sizes were asked for, and there may be more that are large."""
    protected: int = 0
    binary: int = 0
    cut: bool = False

    def notes(self) -> list[str]:
        out = []
        most = f"{limits.GREP_FILE // limits.MB} MB"
        if self.unsized:
            out.append(f"[files over {most}, if there are any, not searched]")
        elif self.large:
            out.append(f"[{base.count(self.large, 'file')} over {most} not searched]")
        if self.protected:
            out.append(f"[{base.count(self.protected, 'protected file')} (keys, .env) not searched]")
        if self.binary:
            out.append(f"[{base.count(self.binary, 'binary file')} with matches left out]")
        if self.cut:
            out.append(f"[stopped after {limits.WALK_FILES:,} files; give a path to look in less]")
        return out


@dataclass(frozen=True, slots=True)
class Wanted:
    """The files that are to be searched."""

    root: str
    """Absolute, without a slash at its end."""
    rules: PathRules
    glob: str
    """Only files like this; "" for all."""
    ignored: bool
    """Those that .gitignore names, too."""

    def by_glob(self, file: str) -> bool:
        return "\n" not in file and (not self.glob or compiled(self.glob).fullmatch(file) is not None)


def small(files: Iterable[str], root: str, skipped: Skipped) -> Iterator[str]:
    """The files that are not too large; the others are counted."""
    for file in files:
        try:
            size = os.lstat(f"{root}/{file}").st_size
        except OSError:  # gone since it was seen
            continue
        if size <= limits.GREP_FILE:
            yield file
        else:
            skipped.large += 1


def walked(wanted: Wanted, cancel: CancelScope, skipped: Skipped) -> Iterator[str]:
    """All of them, each judged."""
    walk = Walk(wanted.root or "/", cancel, ignored=wanted.ignored)
    may_read = reader_of_found(wanted.rules)

    def readable() -> Iterator[str]:
        for file in walk:
            if not wanted.by_glob(file):
                continue
            if may_read(f"{wanted.root}/{file}"):
                yield file
            else:
                skipped.protected += 1

    yield from small(readable(), wanted.root, skipped)
    skipped.cut = walk.cut


# -- with ripgrep -------------------------------------------------------------------------------------------------


def can_be_looked_for(glob: str) -> bool:
    """Whether ripgrep understands this glob as we do."""
    return not glob or _ENDINGS.fullmatch(glob) is not None


_Named: TypeAlias = Mapping[str, Sequence[int] | None]
"""Files with the numbers of the lines that were named; None: of none."""


def looked_for(
    wanted: Wanted, search: Search, deadline: float, skipped: Skipped
) -> Generator[tuple[str, Sequence[int] | None]]:
    """Those that are worth a closer look, with the lines to look at if the look has told.

    Raises Interrupted, and TooSlow at `deadline` (monotonic seconds).
    """
    # Batches of folders are looked at while the next one is walked to; two, since a start leaves processors idle. What
    # sorts before the next folder is complete.
    with ThreadPoolExecutor(2, "look") as pool, CancelScope(search.cancel) as scope:
        look = _Look(wanted, replace(search, cancel=scope), deadline)
        ready, looks = _Ready(wanted), deque[tuple[_Batch, Future[_Named]]]()
        try:
            for batch, is_whole in _batches(wanted, scope, skipped):
                if is_whole:
                    looks.append((batch, pool.submit(look.at, batch)))
                while len(looks) > is_whole and (len(looks) > _AHEAD or looks[0][1].done()):
                    ready.add(looks[0][0], looks.popleft()[1].result())
                    yield from ready.take(_key((looks[0][0] if looks else batch).folders[0].path))
            while looks:
                ready.add(looks[0][0], looks.popleft()[1].result())
                yield from ready.take(_key(looks[0][0].folders[0].path) if looks else None)
        finally:
            scope.cancel()  # nobody wants to know any more


@dataclass(slots=True)
class _Batch:
    """Folders that ripgrep looks at in one go."""

    folders: list[Folder] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    """The folders, or instead of one that has no end the files of it that were seen."""
    protected: list[str] = field(default_factory=list)
    sized: bool = True
    """No file in them is too large without being known as such."""
    size: int = 0

    def add(self, place: str) -> None:
        self.places.append(place)
        self.size += (len(place) if place.isascii() else len(os.fsencode(place))) + 3


def _batches(wanted: Wanted, cancel: CancelScope, skipped: Skipped) -> Iterator[tuple[_Batch, bool]]:
    """The folders in runs whose names fit on a command line, the first ones short so that early matches come early.

    With True; with False, now and then, one that is not whole yet.
    """
    walk = FolderWalk(wanted.root or "/", cancel, ignored=wanted.ignored)
    find_protected = protected_finder(wanted.root, wanted.rules)
    batch, most, files = _Batch(), limits.LOOK_FIRST_FOLDERS, 0
    unsized: list[tuple[Folder, Sequence[str]]] = []
    for folder in walk:
        names = folder.names
        batch.folders.append(folder)
        if protected := find_protected(f"{wanted.root}/{folder.path}".rstrip("/"), names):
            skipped.protected += sum(_is_wanted(wanted, folder, name) for name in protected)
            for name in protected:
                batch.protected.append(folder.path + name)
                batch.size += 2 * len(os.fsencode(folder.path + name)) + 10
            keys = set(protected)
            names = [name for name in names if name not in keys]
        files += len(folder.names)
        if files <= limits.LOOK_SIZED:
            unsized.append((folder, names))
        elif folder.names:
            batch.sized, skipped.unsized = False, True
        if not names:  # nothing in it is for ripgrep, mostly as there is nothing
            continue
        for place in [folder.path + name for name in names] if folder.cut else [folder.path]:
            batch.add(place)
            if batch.size >= limits.SCAN_BATCH_BYTES:
                yield batch, True
                batch = _Batch([folder], sized=batch.sized)
        if len(batch.folders) % limits.LOOK_STEP == 0:
            yield batch, False
        if len(batch.folders) >= most:
            yield batch, True
            batch, most = _Batch(), most * limits.LOOK_GROWTH
            # Asked while ripgrep is at work, and not at all where the answer would be of some files only.
            if not skipped.unsized:
                skipped.large += _large(wanted, unsized)
            unsized = []
    if batch.places:
        yield batch, True
    if not skipped.unsized:
        skipped.large += _large(wanted, unsized)
    skipped.cut = walk.cut


def _is_wanted(wanted: Wanted, folder: Folder, name: str) -> bool:
    file = folder.path + name
    return wanted.by_glob(file) and not folder.ignore.ignores(f"{wanted.root}/{file}", False)


def _large(wanted: Wanted, folders: Iterable[tuple[Folder, Sequence[str]]]) -> int:
    """How many of these files, by folders, are too large to be searched."""
    return sum(
        _size(f"{wanted.root}/{folder.path}{name}") > limits.GREP_FILE and _is_wanted(wanted, folder, name)
        for folder, names in folders
        for name in names
    )


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:  # gone since it was seen
        return 0


@dataclass(slots=True)
class _Look:
    """ripgrep's look at one batch after the other."""

    wanted: Wanted
    search: Search
    deadline: float
    slow: bool = False
    """There are large files, or so it seems."""
    many: bool = False
    """Too many lines match for all to be named."""

    def at(self, batch: _Batch) -> _Named:
        """The files that may match."""
        if not batch.places:
            return {}
        # A plain text is found anew in what is shown; an expression could keep this program busy for long.
        if not self.search.pattern.is_plain and not self.many:
            try:
                return self._at(batch, lines=True)
            except TooMany:
                self.many = True
        return dict.fromkeys(self._at(batch, lines=False))

    def _at(self, batch: _Batch, *, lines: bool) -> _Named:
        narrow = [self.wanted.glob] if self.wanted.glob else []
        narrow += [glob for file in batch.protected if (glob := all_but(file))]
        look = partial(worth_a_look, self.search, batch.places, narrow, lines=lines)
        if not batch.sized and not self.slow:
            # To ask each file for its size costs a fifth of the search, and mostly for nothing.
            try:
                found = look(min(time.monotonic() + limits.LOOK_UNSIZED_SECONDS, self.deadline), small=False)
            except TooSlow:
                self.slow = True
        if batch.sized or self.slow:
            found = look(self.deadline, small=True)
        if found is None:  # a release that knows other options, or none at all behind the name
            return {folder.path + name: None for folder in batch.folders for name in folder.names}
        return found


def all_but(file: str) -> str:
    """The glob that keeps ripgrep from reading a file; "" when no glob can name it for sure."""
    if not file.isprintable() or file != file.rstrip():
        return ""
    return "!/" + _MAGIC.sub(r"\\\1", file)


def _key(path: str) -> list[str]:
    """What a path is sorted by: the names it consists of."""
    return path.rstrip("/").split("/") if path else []


@dataclass(slots=True)
class _Ready:
    """What ripgrep has named, until it is clear that nothing sorts before it."""

    wanted: Wanted
    waiting: list[tuple[list[str], str, Sequence[int] | None, Ignore]] = field(default_factory=list)
    """The last one comes first."""

    def add(self, batch: _Batch, found: _Named) -> None:
        ignores = {folder.path: folder.ignore for folder in batch.folders}
        for file, lines in found.items():
            folder = file[: file.rfind("/") + 1]
            if folder in ignores and self.wanted.by_glob(file):
                self.waiting.append((_key(file), file, lines, ignores[folder]))
        self.waiting.sort(key=lambda waits: waits[0], reverse=True)

    def take(self, until: list[str] | None) -> Iterator[tuple[str, Sequence[int] | None]]:
        """The files that sort before `until`, a key, or all; those that are really to be searched."""
        may_read = reader_of_found(self.wanted.rules)
        while self.waiting and (until is None or self.waiting[-1][0] < until):
            _, file, lines, ignore = self.waiting.pop()
            path = f"{self.wanted.root}/{file}"
            if not ignore.ignores(path, False) and may_read(path) and _is_small_file(path):
                yield file, lines


def _is_small_file(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:  # gone since it was seen
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= limits.GREP_FILE
