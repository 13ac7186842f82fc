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
from collections.abc import Callable, Collection, Iterable, Iterator, Sized
from dataclasses import field
from functools import lru_cache
from heapq import nsmallest
from itertools import chain, groupby
from typing import Final

from agent_core.records import dataclass
from agent_core.text import fuzzy
from agent_core.text.fuzzy import Tier, fold
from agent_core.text.path_table import PathTable, Shard


@dataclass(frozen=True, slots=True)
class Found:
    """Paths for a query, best first."""

    paths: tuple[str, ...]
    count: int | None
    """How many fit in all; None: not counted yet."""
    settled: bool = True
    """They are the best; otherwise better ones may still be found."""


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


Stage = Callable[[int, Collection[int] | None], Iterable[int]]
"""The items of one rank in the shard of a number; of the given items only, if any are given."""

_FEW: Final = 16
"""A look at one item takes some times longer than its share of a look through the whole shard; half of this."""
_SHORT: Final = 5
"""Characters that many names have; longer tails of a query are looked for in another way."""


@dataclass(slots=True)
class _Known:
    """What has been found out about a shard. A search whose query has only grown begins with it."""

    shard: Shard
    query: str = ""
    """What `depths` and `open` are about."""
    depths: list[int] | None = None
    """For each folder: how many of the query's characters it has in order."""
    open: list[tuple[int, int]] = field(default_factory=list)
    """The folders that have all of them, and where in the folders' text they end."""
    ranks: dict[tuple[str, bool], list[int]] = field(default_factory=dict)
    """For what is before the last slash: the ranks of the folders."""
    named: tuple[str, list[int]] | None = None
    """A query, and the items that have its tail in their names and the rest in their folders."""
    items: tuple[str, list[int]] | None = None
    """A query, and the few items it is found in."""
    missing: set[int] = field(default_factory=set)
    """Depths that leave of the query what no name begins with."""

    def few(self, items: Sized) -> bool:
        """Whether looking at these one by one takes far less time than looking through the shard."""
        return len(items) * _FEW <= len(self.shard)


class Search:
    """A search for the best `most` paths for `query`, a line. The table must not change meanwhile.

    `recent`: paths used lately, the last one first. `before`: another search; what it has found out is made use of
    when the query has only grown since.
    """

    def __init__(
        self, table: PathTable, query: str, most: int, recent: Iterable[str] = (), before: Search | None = None
    ) -> None:
        self.most = most
        self.query = fold(query)
        self.inside = self.query.rfind("/") + 1
        """So many characters of the query have to stand in the folder."""
        self.tail = self.query[self.inside :]
        self.capitals = query[self.inside :] if query[self.inside :] != self.tail else ""
        self.recent = [place for path in recent if (place := table.find(path))]
        grown = before is not None and self.query.startswith(before.query)
        had = {id(known.shard): known for known in before.known} if before is not None and grown else {}
        self.known: list[_Known] = [had.get(id(shard)) or _Known(shard) for shard in table.shards]
        self._hits: list[tuple[int, int]] = []
        self._best: list[tuple[int, int, int]] = []
        self._as_it_stands: dict[int, bool] = {}
        self._ranked: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._runs_of: dict[int, list[tuple[int, int, int]]] = {}

    def run(self) -> Iterator[Found | None]:
        """All the best ones, then the same with their count.

        Nones come between, one after each small piece of work, so that whoever asks can do something else, take what
        there is `so_far`, or give up.
        """
        self._hits = [] if self.query else self.recent[: self.most]
        seen = set(self._hits)
        for stage in self._stages():
            room = self.most - len(self._hits)
            if room <= 0:
                break
            for number in range(len(self.known)):
                worst = self._best[room - 1][0] if len(self._best) == room else None
                only = self._worth_a_look(number, worst) if worst is not None else None
                weigh = self._scale(number)
                fresh = {item for item in stage(number, only) if (number, item) not in seen}
                self._best = nsmallest(room, self._best + [(weigh(item), number, item) for item in fresh])
                yield None
            self._hits += [(number, item) for _, number, item in self._best]
            self._best = []
            seen.update(self._hits)
        found = self.so_far()
        yield Found(found.paths, None)
        count = 0
        for number in range(len(self.known)):
            count += self._count(number)
            yield None
        yield Found(found.paths, count)

    def so_far(self) -> Found:
        """The best ones found until now."""
        hits = self._hits + [(number, item) for _, number, item in self._best]
        return Found(tuple(self.known[number].shard.path(item) for number, item in hits), None, settled=False)

    def _stages(self) -> Iterator[Stage]:
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

    def _worth_a_look(self, number: int, worst: int) -> Collection[int] | None:
        """The only items that can be better than `worst`; None: too many to look at one by one."""
        shard = self.known[number].shard
        light = shard.lighter(worst)
        if len(light) * _FEW > 2 * len(shard):
            return None
        return {*light, *(item for where, item in self.recent if where == number)}

    def _scale(self, number: int) -> Callable[[int], int]:
        """What an item weighs among those of its rank."""
        shard = self.known[number].shard
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

    # -- found in the name ----------------------------------------------------------------------------------------

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

        def items(number: int, only: Collection[int] | None) -> Iterable[int]:
            if tier not in (Tier.PIECES, Tier.SCATTERED) and not self._stands(number):
                return ()
            known = self.known[number]
            shard, starts = known.shard, known.shard.starts
            text = shard.marked if tier in (Tier.WORD, Tier.PIECES) else shard.folded
            only = _fewer(only, self._in_names(number))
            if only is None:
                runs = self._runs(number, rank)
                return [item for run in runs for item in _items(shard, expression, text, *run, led=led)]
            return [
                item
                for item in self._in_rank(number, rank, only)
                if expression.search(text, starts[item] - led, starts[item + 1])
            ]

        return items

    def _stands(self, number: int) -> bool:
        """Whether any name has the query's tail in one piece."""
        stands = self._as_it_stands.get(number)
        if stands is None:
            stands = self._as_it_stands[number] = self.tail in self.known[number].shard.folded
        return stands

    def _in_names(self, number: int) -> list[int] | None:
        """The items that have the query's tail in their names, if they are few and soon found."""
        known, expression = self.known[number], fuzzy.scattered(self.tail)
        before, items = known.named or ("", [])
        if before != self.query:
            shard, starts = known.shard, known.shard.starts
            if before and len(before) >= self.inside and known.few(items):
                items = [item for item in items if expression.search(shard.folded, starts[item], starts[item + 1])]
            elif len(self.tail) > _SHORT:
                runs = (run for rank in ((1, 2) if self.inside else (1,)) for run in self._runs(number, rank))
                items = [item for run in runs for item in _items(shard, expression, shard.folded, *run)]
            else:  # there are many, and the best ones are found sooner
                return None
            known.named = self.query, items
        return items if known.few(items) else None

    def _all_in(self, rank: int) -> Stage:
        def items(number: int, only: Collection[int] | None) -> Iterable[int]:
            if only is not None:
                return self._in_rank(number, rank, only)
            return [item for run in self._runs(number, rank) for item in range(*run)]

        return items

    # -- found in folder and name ---------------------------------------------------------------------------------

    def _going_on(self, number: int, only: Collection[int] | None) -> Iterator[int]:
        """The name begins with what the folder leaves of the query."""
        known, depths = self.known[number], self._depths(number)
        shard, size = known.shard, len(self.query)
        if size > 2 * _SHORT and only is None and known.items is None:
            self._all(number)  # likely few, and then both stages that are left take no time
        only = _fewer(only, self._narrowed(number))
        if only is not None:
            for item in only:
                depth = depths[shard.folder_of(item)]
                if depth < size and shard.folded.startswith(self.query[depth:], shard.starts[item]):
                    yield item
            return
        there: dict[int, re.Pattern[str]] = {}
        for depth, first, end in self._depth_runs(number):
            if depth == size or depth in known.missing:
                continue
            if depth not in there:
                if f"\n{self.query[depth:]}" not in shard.folded:
                    known.missing.add(depth)
                    continue
                there[depth] = _beginning(self.query[depth:])
            yield from _items(shard, there[depth], shard.folded, first, end, led=True)

    def _anywhere(self, number: int, only: Collection[int] | None) -> Iterable[int]:
        """The name has what the folder leaves of the query."""
        narrowed = self._narrowed(number)
        if narrowed is not None:
            return narrowed
        if only is not None:
            return self._with_rest(number, only)
        return self._all(number)[0]

    def _count(self, number: int) -> int:
        if not self.query:
            return len(self.known[number].shard)
        narrowed = self._narrowed(number)
        return len(narrowed) if narrowed is not None else self._all(number)[1]

    def _narrowed(self, number: int) -> list[int] | None:
        """The items the query is found in, when they are known to be few."""
        known = self.known[number]
        if known.items is None:
            return None
        if known.items[0] != self.query:
            known.items = self.query, self._with_rest(number, known.items[1])
        return known.items[1]

    def _all(self, number: int) -> tuple[Iterable[int], int]:
        """The items the query is found in, worked out as they are taken, and how many they are."""
        known, size = self.known[number], len(self.query)
        shard, starts = known.shard, known.shard.starts
        whole: list[range] = []
        places: list[int] = []
        for depth, first, end in self._depth_runs(number):
            if depth == size:
                whole.append(range(first, end))
            else:
                found = fuzzy.scattered(self.query[depth:]).finditer(shard.folded, starts[first], starts[end])
                places += [hit.start() for hit in found]
        items = chain(chain.from_iterable(whole), (bisect_right(starts, place) - 1 for place in places))
        count = len(places) + sum(map(len, whole))
        if count * _FEW > len(shard):
            return items, count
        known.items = self.query, list(items)
        return known.items[1], count

    def _with_rest(self, number: int, items: Iterable[int]) -> list[int]:
        """Those of the items that the query is found in."""
        shard, depths, found = self.known[number].shard, self._depths(number), []
        folded, starts = shard.folded, shard.starts
        for item in items:
            rest = self.query[depths[shard.folder_of(item)] :]
            if fuzzy.scattered(rest).search(folded, starts[item], starts[item + 1]):
                found.append(item)
        return found

    # -- folders --------------------------------------------------------------------------------------------------

    def _depths(self, number: int) -> list[int]:
        """For each folder: how many of the query's characters it has in order."""
        known = self.known[number]
        if known.depths is None:
            found = list(_depth_expression(self.query).finditer(known.shard.folder_lines))
            known.depths = [line.lastindex or 0 for line in found]
            size = len(self.query)
            known.open = [
                (folder, line.end(size) if size else line.start())
                for folder, line in enumerate(found)
                if known.depths[folder] == size
            ]
        elif known.query != self.query:
            known.depths, known.open = self._deeper(known, self.query[len(known.query) :])
        known.query = self.query
        return known.depths

    @staticmethod
    def _deeper(known: _Known, more: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Depths and open folders when the query has grown by `more`."""
        lines, depths, still = known.shard.folder_lines, list(known.depths or ()), []
        for folder, at in known.open:
            stop = lines.find("\n", at)
            for character in more:
                at = lines.find(character, at, stop) + 1
                if not at:
                    break
                depths[folder] += 1
            else:
                still.append((folder, at))
        return depths, still

    def _depth_runs(self, number: int) -> list[tuple[int, int, int]]:
        """Folders of equal depth that stand side by side: the depth, their first item, and one behind the last."""
        runs = self._runs_of.get(number)
        if runs is None:
            shard = self.known[number].shard
            runs, before, start = [], -1, 0
            for depth, first in zip(self._depths(number), shard.firsts, strict=False):
                if depth != before:
                    if first > start:
                        runs.append((before, start, first))
                    before, start = depth, first
            if len(shard) > start:
                runs.append((before, start, len(shard)))
            self._runs_of[number] = runs
        return runs

    def _runs(self, number: int, rank: int) -> list[tuple[int, int]]:
        """The items in folders of a rank, as ranges."""
        firsts = self.known[number].shard.firsts
        if not self.inside and self.tail:
            return [(0, firsts[-1])]
        runs = self._ranked.get((number, rank))
        if runs is None:
            runs, at = [], 0
            for have, run in groupby(self._ranks(number, rank)):
                start, at = at, at + sum(1 for _ in run)
                if self._fits(have, rank) and firsts[start] < firsts[at]:
                    runs.append((firsts[start], firsts[at]))
            self._ranked[number, rank] = runs
        return runs

    def _in_rank(self, number: int, rank: int, items: Iterable[int]) -> Iterable[int]:
        if not self.inside and self.tail:
            return items
        ranks, shard = self._ranks(number, rank), self.known[number].shard
        return [item for item in items if self._fits(ranks[shard.folder_of(item)], rank)]

    def _fits(self, have: int, rank: int) -> bool:
        """With a name to find, the very folder and those below it are one rank."""
        return have == rank or (have == 0 and rank == 1 and bool(self.tail))

    def _ranks(self, number: int, most: int) -> list[int]:
        """For each folder, where it has what is before the query's last slash.

        0: it is it; 1: it begins with it; 2: it has it elsewhere, looked for only up to `most`; 3: it has not.
        """
        known, wanted = self.known[number], self.query[: self.inside]
        ranks = known.ranks.get((wanted, most == 2))
        if ranks is None:
            lines = known.shard.folder_lines.split("\n")[:-1]
            ranks = [0 if line == wanted else 1 if line.startswith(wanted) else 3 for line in lines]
            if most == 2:
                depths = self._depths(number)
                ranks = [
                    2 if have == 3 and depth >= self.inside else have for have, depth in zip(ranks, depths, strict=True)
                ]
            known.ranks[wanted, most == 2] = ranks
        return ranks


def _fewer(some: Collection[int] | None, others: Collection[int] | None) -> Collection[int] | None:
    """The shorter of two lists that each have all that is looked for."""
    if some is None or others is None:
        return others if some is None else some
    return min(some, others, key=len)


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
