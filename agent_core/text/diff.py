"""What a change does to a file, as data: hunks of lines with a little context.

Lines are first matched where they occur once on both sides (patience), so that a diff follows the functions of a
program rather than its braces; only the gaps between are compared line by line, and only while that is cheap.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from agent_core import limits
from agent_core.messages import DiffLine, FileDiff, Hunk

CONTEXT: Final = 3

_Block = tuple[int, int, int]
"""Lines a, b and on are the same on both sides, this many."""


def build(path: str, old: str | None, new: str | None) -> FileDiff:
    """The difference between two contents of the file shown as `path`; None means that it does not exist.

    A line's end belongs to it: another line end, or none at the end of the file, is a change. Hunks hold at most
    limits.DIFF_LINES lines, the rest is counted in `omitted_lines`.
    """
    a, b = _lines(old or ""), _lines(new or "")
    blocks = _same_blocks(a, b)
    kept = sum(size for _, _, size in blocks)
    hunks: list[Hunk] = []
    room, omitted = limits.DIFF_LINES, 0
    for hunk in _hunks(a, b, blocks):
        shown = hunk.lines[:room]
        room -= len(shown)
        omitted += len(hunk.lines) - len(shown)
        if shown:
            hunks.append(Hunk(hunk.old_start, hunk.new_start, shown))
    return FileDiff(
        path=path,
        hunks=tuple(hunks),
        added=len(b) - kept,
        removed=len(a) - kept,
        change="create" if old is None else "delete" if new is None else "edit",
        omitted_lines=omitted,
        lines_after=len(b),
        versions=("" if old is None else version(old), "" if new is None else version(new)),
    )


def without(old: str, new: str, refused: Collection[int], shown: int) -> str:
    """`new` as it is when some hunks of `build` between these contents are left out.

    `shown`: how many hunks that diff has. What it only counts (`omitted_lines`) goes the way of its last hunk: nobody
    can have looked at it, so whoever refuses what they see last has not agreed to what comes after.
    """
    a, b = _lines(old), _lines(new)
    out: list[str] = []
    at = 0
    for number, hunk in enumerate(_hunks(a, b, _same_blocks(a, b))):
        before = [line for line in hunk.lines if line.old_line is not None]
        after = [line for line in hunk.lines if line.new_line is not None]
        start, new_start = hunk.old_start - bool(before), hunk.new_start - bool(after)
        out += a[at:start]
        at = start + len(before)
        out += a[start:at] if min(number, shown - 1) in refused else b[new_start : new_start + len(after)]
    return "".join((*out, *a[at:]))


def version(text: str) -> str:
    """A name for a file's text: 16 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def stat(diff: FileDiff) -> str:
    """Lines added and removed in a few characters: "+12 -3"."""
    return f"+{diff.added} -{diff.removed}"


def moves(diffs: Sequence[FileDiff]) -> dict[int, int]:
    """Files that move as they are: the place of the one that is made, to that of the one beside it that goes."""
    pairs = pairwise(diffs)
    return {
        number: number + 1
        for number, (made, gone) in enumerate(pairs)
        if (made.change, gone.change) == ("create", "delete") and made.old_path and made.old_path == gone.path
    }


def hunks_of(diffs: Sequence[FileDiff]) -> dict[str, tuple[FileDiff, Hunk]]:
    """The hunks of `diffs` by the names they are refused by ("file.hunk", Answer.refused).

    A file that moves as it is has one: what goes goes with what is made.
    """
    gone = moves(diffs).values()
    return {
        f"{number}.{index}": (diff, hunk)
        for number, diff in enumerate(diffs)
        if number not in gone
        for index, hunk in enumerate(diff.hunks)
    }


def _lines(text: str) -> list[str]:
    """Lines with their ends. Only LF ends one: a lone CR or U+2028 is part of a line."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


# -- what stayed the same -----------------------------------------------------------------------------------------


def _same_blocks(a: Sequence[str], b: Sequence[str]) -> list[_Block]:
    """Runs of equal lines in order, joined where they touch."""
    out: list[_Block] = []
    room = limits.DIFF_COMPARE
    todo = [(0, len(a), 0, len(b))]
    while todo:  # ranges still to be compared, the next one last
        a0, a1, b0, b1 = todo.pop()
        head = 0
        while a0 + head < a1 and b0 + head < b1 and a[a0 + head] == b[b0 + head]:
            head += 1
        if head:
            _append(out, a0, b0, head)
            a0, b0 = a0 + head, b0 + head
        tail = 0
        while a0 < a1 - tail and b0 < b1 - tail and a[a1 - tail - 1] == b[b1 - tail - 1]:
            tail += 1
        if tail:
            todo.append((a1 - tail, a1, b1 - tail, b1))
            todo.append((a0, a1 - tail, b0, b1 - tail))
            continue
        if a0 == a1 or b0 == b1:
            continue
        if anchors := _anchors(a, a0, a1, b, b0, b1):
            ends = [*anchors[1:], (a1, b1)]
            for (i, j), (i_end, j_end) in reversed(list(zip(anchors, ends, strict=True))):
                todo.append((i, i_end, j, j_end))
            todo.append((a0, anchors[0][0], b0, anchors[0][1]))
        elif (cost := _cost(a[a0:a1], b[b0:b1])) <= room:
            room -= cost
            matcher = SequenceMatcher(None, a[a0:a1], b[b0:b1], autojunk=False)
            for i, j, size in matcher.get_matching_blocks():
                if size:
                    _append(out, a0 + i, b0 + j, size)
        # else: too much to compare; shown as removed and added whole
    return out


def _cost(a: Sequence[str], b: Sequence[str]) -> int:
    """What comparing lines may cost: SequenceMatcher looks at each pair of equal ones, once a block at worst."""
    of_b = Counter(b)
    return sum(count * of_b[line] for line, count in Counter(a).items()) * min(len(a), len(b))


def _append(blocks: list[_Block], a: int, b: int, size: int) -> None:
    if blocks:
        last_a, last_b, last_size = blocks[-1]
        if last_a + last_size == a and last_b + last_size == b:
            blocks[-1] = (last_a, last_b, last_size + size)
            return
    blocks.append((a, b, size))


def _anchors(a: Sequence[str], a0: int, a1: int, b: Sequence[str], b0: int, b1: int) -> list[tuple[int, int]]:
    """Pairs of lines that occur once on both sides, the longest series of them that is in order on both."""
    once_a, once_b = Counter(a[a0:a1]), Counter(b[b0:b1])
    where = {b[j]: j for j in range(b0, b1) if once_b[b[j]] == 1}
    pairs = [(i, where[a[i]]) for i in range(a0, a1) if once_a[a[i]] == 1 and a[i] in where]
    # Longest increasing subsequence of the second numbers, by patience sorting.
    tops: list[int] = []
    top_pairs: list[int] = []
    back: list[int] = []
    for number, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        back.append(top_pairs[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(j)
            top_pairs.append(number)
        else:
            tops[pile], top_pairs[pile] = j, number
    out: list[tuple[int, int]] = []
    number = top_pairs[-1] if top_pairs else -1
    while number >= 0:
        out.append(pairs[number])
        number = back[number]
    return out[::-1]


# -- hunks --------------------------------------------------------------------------------------------------------


def _hunks(a: Sequence[str], b: Sequence[str], blocks: Sequence[_Block]) -> Iterator[Hunk]:
    lines: list[DiffLine] = []
    old_start = new_start = 0
    i = j = 0
    for block_a, block_b, size in (*blocks, (len(a), len(b), 0)):
        changed = i < block_a or j < block_b
        if changed and not lines:
            context = min(CONTEXT, i)  # at the start both sides begin together, later the block before is long enough
            old_start, new_start = i - context, j - context
            lines = [_same(a, i - n, j - n) for n in range(context, 0, -1)]
        lines += [DiffLine("remove", _bare(a[n]), n + 1, None, _end(a[n])) for n in range(i, block_a)]
        lines += [DiffLine("add", _bare(b[n]), None, n + 1, _end(b[n])) for n in range(j, block_b)]
        last = block_a + size == len(a) and block_b + size == len(b)
        if lines and (size > 2 * CONTEXT or last):
            lines += [_same(a, block_a + n, block_b + n) for n in range(min(CONTEXT, size))]
            yield _hunk(lines, old_start, new_start)
            lines = []
        elif lines:
            lines += [_same(a, block_a + n, block_b + n) for n in range(size)]
        i, j = block_a + size, block_b + size
        if last:
            return


def _hunk(lines: Sequence[DiffLine], old_start: int, new_start: int) -> Hunk:
    """Starts count from 1; a side without lines names the line before, as in a unified diff."""
    has_old = any(line.old_line is not None for line in lines)
    has_new = any(line.new_line is not None for line in lines)
    return Hunk(old_start + has_old, new_start + has_new, tuple(lines))


def _same(a: Sequence[str], i: int, j: int) -> DiffLine:
    return DiffLine("same", _bare(a[i]), i + 1, j + 1, _end(a[i]))


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _end(line: str) -> str:
    return line[len(_bare(line)) :]
