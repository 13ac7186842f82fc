"""Prefix sums over the heights of thousands of entries: a Fenwick tree."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


class Heights:
    """Rows of each entry, in order. Every operation but the constructor costs O(log n)."""

    __slots__ = ("_top", "_tree", "_values", "total")

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values = list(values)
        size = len(self._values)
        sums = list(accumulate(self._values, initial=0))
        self._tree = [sums[i] - sums[i & (i - 1)] for i in range(size + 1)]
        self.total = sums[-1]
        self._top = 1 << (size.bit_length() - 1) if size else 0

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def set(self, index: int, rows: int) -> int:
        """Give entry `index` a new height; returns by how much it grew."""
        grown = rows - self._values[index]
        if grown:
            self._values[index] = rows
            self.total += grown
            i, size = index + 1, len(self._values)
            while i <= size:
                self._tree[i] += grown
                i += i & -i
        return grown

    def append(self, rows: int) -> None:
        self._values.append(rows)
        i = len(self._values)
        covered, below = rows, i - 1
        while below > i - (i & -i):
            covered += self._tree[below]
            below -= below & -below
        self._tree.append(covered)
        self.total += rows
        self._top = 1 << (i.bit_length() - 1)

    def before(self, index: int) -> int:
        """Rows of all entries before `index`."""
        rows = 0
        while index:
            rows += self._tree[index]
            index -= index & -index
        return rows

    def find(self, row: int) -> tuple[int, int]:
        """The entry that holds `row` and the row within it; (len, rest) past the end. Empty entries hold no row."""
        index, step = 0, self._top
        size = len(self._values)
        while step:
            ahead = index + step
            if ahead <= size and self._tree[ahead] <= row:
                index = ahead
                row -= self._tree[ahead]
            step >>= 1
        return index, row
