"""Inside a line: how it is coloured, and which of its words are others than in its older or newer version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple, TypeVar

from nanoherm_tui import limits
from nanoherm_tui.panes.bodies import Span
from nanoherm_tui.transcript.highlight import PLAIN, Ink, highlight, language_of

Kind = TypeVar("Kind")

_WORDS = re.compile(r"\w+|\s+|.")

CharRange = tuple[int, int]
Run = tuple[int, int, Ink]
"""Characters start to end of a line, and how they are coloured."""


def coloured(lines: Sequence[str], path: str) -> list[list[Run]]:
    """How each of the lines of a file is coloured, from its start to its end; empty where it is plain."""
    found = highlight("\n".join(lines), language_of(path))
    if found is None or len(found) != len(lines):
        return [[] for _ in lines]
    out: list[list[Run]] = []
    for spans in found:
        ends = list(accumulate(len(words) for words, _ in spans))
        out.append([(end - len(words), end, ink) for end, (words, ink) in zip(ends, spans, strict=True)])
    return out


def inked(
    line: str, start: int, end: int, runs: Sequence[Run], words: Sequence[CharRange], ground: str, word_ground: str
) -> Iterator[Span]:
    """A part of a line in its colours, those of its characters that are in `words` on a ground of their own."""
    for a, b, tone in _filled(runs, start, end, PLAIN):
        for c, d, inside in _filled(((*piece, True) for piece in words), a, b, False):
            yield Span(line[c:d], tone[0], word_ground if inside else ground, bold=tone[1])


class Compared(NamedTuple):
    """Two versions of a line: how much they have in common, and the characters that differ in each."""

    likeness: float
    """Blanks aside: 0.0 nothing, 1.0 all."""
    old: list[CharRange]
    new: list[CharRange]


def compare(old: str, new: str) -> Compared:
    """Compare two lines word by word. Of long lines nothing is like another."""
    if max(len(old), len(new)) > limits.WORD_DIFF_CHARS:
        return Compared(0.0, [(0, len(old))], [(0, len(new))])
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    same = 0
    old_ranges: list[CharRange] = []
    new_ranges: list[CharRange] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            same += _solid(a[a1:a2])
        else:
            _add_range(old_ranges, a, a1, a2)
            _add_range(new_ranges, b, b1, b2)
    likeness = 2 * same / max(1, _solid(a) + _solid(b))
    return Compared(likeness, _worth_marking(old, old_ranges), _worth_marking(new, new_ranges))


def _solid(tokens: Iterable[str]) -> int:
    return sum(len(token) for token in tokens if not token.isspace())


def _worth_marking(line: str, ranges: list[CharRange]) -> list[CharRange]:
    """Blanks are marked only where nothing else has changed."""
    solid = [(a, b) for a, b in ranges if not line[a:b].isspace()]
    return solid or ranges


def _add_range(ranges: list[CharRange], tokens: list[str], first: int, last: int) -> None:
    if first == last:
        return
    start = sum(len(token) for token in tokens[:first])
    end = start + sum(len(token) for token in tokens[first:last])
    if ranges and start - ranges[-1][1] <= 1:  # one blank or dot between two changes is not worth a gap
        start = ranges.pop()[0]
    ranges.append((start, end))


def _filled(
    runs: Iterable[tuple[int, int, Kind]], start: int, end: int, between: Kind
) -> Iterator[tuple[int, int, Kind]]:
    """`runs` within start to end, the places between them filled with ones of kind `between`."""
    at = start
    for a, b, tone in runs:
        a, b = max(a, at), min(b, end)
        if a >= b:
            continue
        if a > at:
            yield at, a, between
        yield a, b, tone
        at = b
    if at < end:
        yield at, end, between
