"""Hundreds of thousands of paths in a few large texts: little memory, and one expression looks through thousands.

Names are kept apart from their folders and joined by newlines, some thousand to a shard. path_search.py looks in them.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from agent_core import limits
from agent_core.records import dataclass
from agent_core.text.fuzzy import fold, mark_starts

_PATH_BITS: Final = 13  # of a path's length in a weight; it is at most limits.PATH_BYTES


@dataclass(frozen=True, slots=True)
class Shard:
    """Some folders and the names in them. Item n of a shard is its nth name; a folder's name ends with a slash."""

    folders: tuple[str, ...]
    """Relative; "" or ending with a slash."""
    names: str
    """A newline, then each name with a newline behind, folder by folder."""
    folded: str
    marked: str
    """`names` folded, and with marked starts of words: each character at its place."""
    starts: array[int]
    """Where each name begins, and one behind the last newline."""
    firsts: array[int]
    """The first item of each folder, and the number of all."""
    weights: array[int]
    """For each item: its name's length, then its path's. The lighter of two equals is the better one."""
    by_weight: array[int]
    """The items, the lightest first."""
    folder_lines: str
    """The folders, folded, each with a newline behind."""

    def __len__(self) -> int:
        return len(self.weights)

    def folder_of(self, item: int) -> int:
        """The number of the folder an item is in."""
        return bisect_right(self.firsts, item) - 1

    def lighter(self, weight: int) -> Sequence[int]:
        """The items that weigh less."""
        return self.by_weight[: bisect_left(self.by_weight, weight, key=self.weights.__getitem__)]

    def name(self, item: int) -> str:
        return self.names[self.starts[item] : self.starts[item + 1] - 1]

    def path(self, item: int) -> str:
        return self.folders[self.folder_of(item)] + self.name(item)

    def part(self, folder: int) -> list[str]:
        """The names a folder has here."""
        first, end = self.firsts[folder], self.firsts[folder + 1]
        return self.names[self.starts[first] : self.starts[end] - 1].split("\n") if first < end else []

    def content(self, without: Container[str] = ()) -> list[tuple[str, Sequence[str]]]:
        return [(folder, self.part(n)) for n, folder in enumerate(self.folders) if folder not in without]


def make_shard(content: Sequence[tuple[str, Sequence[str]]]) -> Shard:
    """From folders and the names in each; no name has a newline."""
    names = "\n" + "".join(f"{name}\n" for _, below in content for name in below)
    starts = array("I", [found.end() for found in re.finditer("\n", names)])
    firsts, weights = array("I", [0]), array("I")
    for folder, below in content:
        firsts.append(firsts[-1] + len(below))
        weights.extend([len(name) << _PATH_BITS | len(folder) + len(name) for name in below])
    folders = tuple(folder for folder, _ in content)
    by_weight = array("I", sorted(range(len(weights)), key=weights.__getitem__))
    lines = fold("".join(f"{folder}\n" for folder in folders))
    return Shard(folders, names, fold(names), mark_starts(names), starts, firsts, weights, by_weight, lines)


@dataclass(slots=True)
class PathTable:
    """All paths, changed folder by folder. Not to be changed by one thread while another reads it."""

    shards: list[Shard] = field(default_factory=list)
    _home: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The numbers of the shards a folder is in; a very large one is in several."""

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    def __contains__(self, folder: str) -> bool:
        return folder in self._home

    def names(self, folder: str) -> list[str]:
        """What stands in a folder; nothing when it is unknown."""
        shards = (self.shards[number] for number in self._home.get(folder, ()))
        return [name for shard in shards for name in shard.part(shard.folders.index(folder))]

    def below(self, folders: Container[str]) -> list[str]:
        """These folders and those below them, as far as they are known."""
        return [have for have in self._home if any(above in folders for above in _above(have))]

    def find(self, path: str) -> tuple[int, int] | None:
        """The number of the shard and the item of a path."""
        at = path.rstrip("/").rfind("/") + 1
        folder, name = path[:at], path[at:]
        for number in self._home.get(folder, ()):
            shard = self.shards[number]
            home = shard.folders.index(folder)
            first, end = shard.firsts[home], shard.firsts[home + 1]
            found = shard.names.find(f"\n{name}\n", shard.starts[first] - 1, shard.starts[end])
            if found >= 0:
                return number, bisect_right(shard.starts, found + 1) - 1
        return None

    def change(self, changes: Mapping[str, Sequence[str] | None]) -> None:
        """Set what stands in folders; None takes a folder out, but not those below it."""
        touched = sorted({number for folder in changes for number in self._home.pop(folder, ())})
        content = {number: self.shards[number].content(without=changes) for number in touched}
        sizes = {number: sum(len(part) for _, part in content[number]) for number in touched}
        if self.shards:
            last = len(self.shards) - 1
            sizes.setdefault(last, len(self.shards[last]))
        for folder, part in _parts(changes):
            number = next((n for n, size in sizes.items() if size + len(part) <= limits.INDEX_SHARD), -1)
            if number < 0:
                number, sizes = len(self.shards), {}  # the others are full enough
                self.shards.append(make_shard(()))
            if number not in content:
                content[number] = self.shards[number].content()
            content[number].append((folder, part))
            sizes[number] = sizes.get(number, 0) + len(part)
            self._home[folder] = (*self._home.get(folder, ()), number)
        for number, below in content.items():
            self.shards[number] = make_shard(below)


def _parts(changes: Mapping[str, Sequence[str] | None]) -> Iterator[tuple[str, Sequence[str]]]:
    """Folders with their names, in parts that fit into a shard."""
    for folder, names in changes.items():
        if names is not None:
            for start in range(0, max(1, len(names)), limits.INDEX_SHARD):
                yield folder, names[start : start + limits.INDEX_SHARD]


def _above(folder: str) -> Iterator[str]:
    """`folder` and those it lies in, the innermost first."""
    yield folder
    end = folder.rfind("/", 0, -1)
    while end >= 0:
        yield folder[: end + 1]
        end = folder.rfind("/", 0, end)
    yield ""
