"""The best of very many paths for a query, in a few milliseconds.

A query is found in a path when its characters stand there in order, capitals or not. Paths where it is found in the
name alone come first, by its tier there (fuzzy.py); then those whose name begins with the query's end while the rest
stands in the folder; then all others. With a slash, what is before the last one has to stand in the folder, best at
its beginning, and what is after it is the name's; with nothing after it the folder's own content comes first. What
ties is ordered: lately used, written with the same capitals, shorter name, shorter path.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest
from itertools import groupby
from typing import Final

from agent_core.text import fuzzy
from agent_core.text.fuzzy import Tier, fold
from agent_core.text.path_table import PathTable, Shard


@dataclass(frozen=True, slots=True)
class Found:
    """The best paths for a query, best first."""

    paths: tuple[str, ...]
    count: int | None
    """How many fit in all; None: not counted yet."""


def search(table: PathTable, query: str, most: int, recent: Iterable[str] = ()) -> Iterator[Found | None]:
    """The best `most` paths for `query`, a line: perhaps the first of them, then all, then all with their count.

    Nones come between, one after each small piece of work, so that whoever asks can do something else or give up.
    `recent`: paths used lately, the last one first. The table must not change meanwhile.
    """
    yield from _Search(table, query, most, recent).run()


def places(query: str, path: str) -> tuple[int, ...]:
    """Where the characters of `query` stand in a path that search has found for it."""
    query, low = fold(query), fold(path)
    inside = query.rfind("/") + 1
    at = path.rstrip("/").rfind("/") + 1
    folder = low[:at]
    in_name = fuzzy.match(query[inside:], path[at:])
    if in_name is not None and fuzzy.scattered(query[:inside]).search(folder):
        return (*_in_folder(query[:inside], folder), *(at + place for place in in_name.places))
    found = _depth_expression(query).match(folder + "\n")
    depth = found.lastindex or 0 if found else 0
    if low.startswith(query[depth:], at):
        return (*_in_folder(query[:depth], folder), *range(at, at + len(query) - depth))
    return fuzzy.scattered_places(query, low)


def _in_folder(query: str, folder: str) -> tuple[int, ...]:
    return tuple(range(len(query))) if folder.startswith(query) else fuzzy.scattered_places(query, folder)


Stage = Callable[[int, Shard, Iterable[int] | None], Iterable[int]]
"""The items of one rank in a shard, which has a number; of the given items only, if any are given."""

_FEW: Final = 8
"""A look at one item takes about this many times longer than its share of a look at the whole shard."""
_SHORT: Final = 5
"""Characters that many names have; longer rests of a query are looked for in another way."""


class _Search:
    """One search: what is worked out once for all its stages."""

    def __init__(self, table: PathTable, query: str, most: int, recent: Iterable[str]) -> None:
        self.shards = tuple(table.shards)
        self.most = most
        self.query = fold(query)
        self.inside = self.query.rfind("/") + 1
        """So many characters of the query have to stand in the folder."""
        self.tail = self.query[self.inside :]
        self.capitals = query[self.inside :] if query[self.inside :] != self.tail else ""
        self.recent = [place for path in recent if (place := table.find(path))]
        self._depths: dict[int, list[int]] = {}
        self._ranks: dict[int, list[int]] = {}
        self._longs: dict[int, list[int]] = {}
        self._somes: dict[int, list[int]] = {}
        self._runs_of: dict[int, list[tuple[int, int, int]]] = {}
        self._as_it_stands = {n: self.tail in shard.folded for n, shard in enumerate(self.shards)}
        """Whether any name in a shard has the query's tail in one piece."""

    def run(self) -> Iterator[Found | None]:
        hits = [] if self.query else self.recent[: self.most]
        seen = set(hits)
        for stage in self.stages():
            room = self.most - len(hits)
            if room <= 0:
                break
            if stage == self._going_on and hits:  # folders take longest: what is there is shown meanwhile
                yield Found(self._paths(hits), None)
            best: list[tuple[int, int, int]] = []
            for number, shard in enumerate(self.shards):
                weigh = self._scale(number, shard)
                items = stage(number, shard, self._worth_a_look(number, shard, best[room - 1][0])
                              if len(best) == room else None)  # fmt: skip
                fresh = {item for item in items if (number, item) not in seen}
                best = nsmallest(room, best + [(weigh(item), number, item) for item in fresh])
                yield None
            hits += [(number, item) for _, number, item in best]
            seen.update(hits)
        paths = self._paths(hits)
        yield Found(paths, None)
        count = 0
        for number, shard in enumerate(self.shards):
            count += self._count(number, shard)
            yield None
        yield Found(paths, count)

    def _paths(self, hits: Iterable[tuple[int, int]]) -> tuple[str, ...]:
        return tuple(self.shards[number].path(item) for number, item in hits)

    def stages(self) -> Iterator[Stage]:
        """By rank, the best one first. What one has found, those behind it may find again."""
        folder_ranks = (0, 1, 2) if not self.tail else (1, 2) if self.inside else (1,)
        for rank in folder_ranks:
            if self.tail:
                yield from (self._named(tier, rank) for tier in Tier)
            else:
                yield self._all_in(rank)
        if self.query:
            yield self._going_on
            yield self._anywhere

    def _worth_a_look(self, number: int, shard: Shard, worst: int) -> Iterable[int] | None:
        """The only items that can be better than `worst`; None: too many to look at one by one."""
        light = shard.lighter(worst)
        if len(light) * _FEW > len(shard):
            return None
        return {*light, *(item for where, item in self.recent if where == number)}

    def _scale(self, number: int, shard: Shard) -> Callable[[int], int]:
        """What an item weighs among those of its rank."""
        recent = {item: place for place, (where, item) in enumerate(self.recent) if where == number}
        weights = shard.weights
        if not recent and not self.capitals:
            return weights.__getitem__

        def weigh(item: int) -> int:
            weight = weights[item]
            if self.capitals and self.capitals not in shard.name(item):
                weight += 1 << 30
            return weight - ((len(self.recent) - recent[item]) << 32) if item in recent else weight

        return weigh

    # -- stages ---------------------------------------------------------------------------------------------------

    def _named(self, tier: Tier, rank: int) -> Stage:
        """The query's tail is found in the name, in that tier, and what is before it in the folder."""
        tail, led = re.escape(self.tail), tier in (Tier.EXACT, Tier.START)
        expression = {
            Tier.EXACT: lambda: re.compile(f"\n{tail}(?=[\n./])"),
            Tier.START: lambda: _beginning(self.tail),
            Tier.WORD: lambda: fuzzy.word(self.tail),
            Tier.PIECES: lambda: fuzzy.pieces(self.tail),
            Tier.WITHIN: lambda: re.compile(f"{tail}[^\n]*+"),
            Tier.SCATTERED: lambda: fuzzy.scattered(self.tail),
        }[tier]()

        def items(number: int, shard: Shard, only: Iterable[int] | None) -> Iterable[int]:
            if not self._as_it_stands[number] and tier not in (Tier.PIECES, Tier.SCATTERED):
                return ()
            text = shard.marked if tier in (Tier.WORD, Tier.PIECES) else shard.folded
            if only is None and len(self.tail) > _SHORT:
                only = self._some(number, shard)
            if only is not None:
                starts = shard.starts
                return [
                    item
                    for item in self._in_rank(number, shard, rank, only)
                    if expression.search(text, starts[item] - led, starts[item + 1])
                ]
            runs = self._runs(number, shard, rank)
            return [item for first, end in runs for item in _items(shard, expression, text, first, end, led=led)]

        return items

    def _all_in(self, rank: int) -> Stage:
        def items(number: int, shard: Shard, only: Iterable[int] | None) -> Iterable[int]:
            if only is not None:
                return self._in_rank(number, shard, rank, only)
            return [item for run in self._runs(number, shard, rank) for item in range(*run)]

        return items

    def _going_on(self, number: int, shard: Shard, only: Iterable[int] | None) -> Iterator[int]:
        """The name begins with what the folder leaves of the query."""
        if only is None:
            only = self._long(number, shard)
            there: dict[str, bool] = {}
            for rest, first, end in self._short(number, shard):
                if rest not in there:
                    there[rest] = bool(rest) and f"\n{rest}" in shard.folded
                if there[rest]:
                    yield from _items(shard, _beginning(rest), shard.folded, first, end, led=True)
        depths, size = self._depth(number, shard), len(self.query)
        for item in only:
            depth = depths[shard.folder_of(item)]
            if depth < size and shard.folded.startswith(self.query[depth:], shard.starts[item]):
                yield item

    def _anywhere(self, number: int, shard: Shard, only: Iterable[int] | None) -> Iterator[int]:
        """The name has what the folder leaves of the query."""
        if only is not None:
            yield from self._with_rest(number, shard, only)
            return
        for rest, first, end in self._short(number, shard):
            yield from _items(shard, fuzzy.scattered(rest), shard.folded, first, end) if rest else range(first, end)
        yield from self._long(number, shard)

    def _count(self, number: int, shard: Shard) -> int:
        if not self.query:
            return len(shard)
        count = len(self._long(number, shard))
        for rest, first, end in self._short(number, shard):
            if rest:
                found = fuzzy.scattered(rest).finditer(shard.folded, shard.starts[first], shard.starts[end])
                count += sum(1 for _ in found)
            else:
                count += end - first
        return count

    def _with_rest(self, number: int, shard: Shard, items: Iterable[int]) -> list[int]:
        depths, starts, found = self._depth(number, shard), shard.starts, []
        for item in items:
            rest = self.query[depths[shard.folder_of(item)] :]
            if fuzzy.scattered(rest).search(shard.folded, starts[item], starts[item + 1]):
                found.append(item)
        return found

    def _some(self, number: int, shard: Shard) -> list[int]:
        """The few items whose names have the last characters of a long query."""
        items = self._somes.get(number)
        if items is None:
            items = _items(shard, fuzzy.scattered(self.query[-_SHORT:]), shard.folded, 0, len(shard))
            self._somes[number] = items
        return items

    def _short(self, number: int, shard: Shard) -> Iterator[tuple[str, int, int]]:
        """Folders side by side that leave the same few characters of the query: these, and their items."""
        for depth, first, end in self._depth_runs(number, shard):
            if len(self.query) - depth <= _SHORT:
                yield self.query[depth:], first, end

    def _long(self, number: int, shard: Shard) -> list[int]:
        """The items found in folders that leave more."""
        items = self._longs.get(number)
        if items is None:
            items = []
            if len(self.query) > _SHORT:
                depths, most = self._depth(number, shard), len(self.query) - _SHORT
                deep = [item for item in self._some(number, shard) if depths[shard.folder_of(item)] < most]
                items = self._with_rest(number, shard, deep)
            self._longs[number] = items
        return items

    # -- folders --------------------------------------------------------------------------------------------------

    def _depth(self, number: int, shard: Shard) -> list[int]:
        """For each folder: how many of the query's characters it has in order."""
        depths = self._depths.get(number)
        if depths is None:
            expression = _depth_expression(self.query)
            depths = [found.lastindex or 0 for found in expression.finditer(shard.folder_lines)]
            self._depths[number] = depths
        return depths

    def _depth_runs(self, number: int, shard: Shard) -> list[tuple[int, int, int]]:
        """Folders of equal depth that stand side by side: the depth, their first item, and one behind the last."""
        runs = self._runs_of.get(number)
        if runs is None:
            runs, before, start = [], -1, 0
            for depth, first in zip(self._depth(number, shard), shard.firsts, strict=False):
                if depth != before:
                    if first > start:
                        runs.append((before, start, first))
                    before, start = depth, first
            if len(shard) > start:
                runs.append((before, start, len(shard)))
            self._runs_of[number] = runs
        return runs

    def _runs(self, number: int, shard: Shard, rank: int) -> Iterator[tuple[int, int]]:
        """The items in folders of a rank, as ranges."""
        if not self.inside and self.tail:
            yield 0, len(shard)
            return
        at = 0
        for have, run in groupby(self._rank(number, shard, rank)):
            start, at = at, at + sum(1 for _ in run)
            if self._fits(have, rank) and shard.firsts[start] < shard.firsts[at]:
                yield shard.firsts[start], shard.firsts[at]

    def _in_rank(self, number: int, shard: Shard, rank: int, items: Iterable[int]) -> Iterable[int]:
        if not self.inside and self.tail:
            return items
        ranks = self._rank(number, shard, rank)
        return [item for item in items if self._fits(ranks[shard.folder_of(item)], rank)]

    def _fits(self, have: int, rank: int) -> bool:
        """With a name to find, the very folder and those below it are one rank."""
        return have == rank or (have == 0 and rank == 1 and bool(self.tail))

    def _rank(self, number: int, shard: Shard, most: int) -> list[int]:
        """For each folder, where it has what is before the query's last slash.

        0: it is it; 1: it begins with it; 2: it has it elsewhere, looked for only up to `most`; 3: it has not.
        """
        key = number * 2 + (most == 2)
        ranks = self._ranks.get(key)
        if ranks is None:
            wanted = self.query[: self.inside]
            lines = shard.folder_lines.split("\n")[:-1]
            ranks = [0 if line == wanted else 1 if line.startswith(wanted) else 3 for line in lines]
            if most == 2:
                depths = self._depth(number, shard)
                ranks = [
                    2 if have == 3 and depth >= self.inside else have for have, depth in zip(ranks, depths, strict=True)
                ]
            self._ranks[key] = ranks
        return ranks


def _items(
    shard: Shard, expression: re.Pattern[str], text: str, first: int, end: int, *, led: bool = False
) -> list[int]:
    """The items from `first` to before `end` in whose names the expression finds something.

    `led`: it begins with the newline before the name.
    """
    starts = shard.starts
    return [
        bisect_right(starts, found.start() + led) - 1
        for found in expression.finditer(text, starts[first] - led, starts[end])
    ]


@lru_cache(maxsize=64)
def _beginning(tail: str) -> re.Pattern[str]:
    return re.compile("\n" + re.escape(tail))


@lru_cache(maxsize=64)
def _depth_expression(query: str) -> re.Pattern[str]:
    """Matches a line of folded text; its last group that took part is the number of the query's characters there."""
    steps = []
    for number, character in enumerate(query):
        step = f"[^{re.escape(character)}\n]*+({re.escape(character)})?+"
        steps.append(f"(?({number}){step})" if number else step)
    return re.compile("".join(steps) + "[^\n]*+\n")
