"""Typographic characters and the plain ones they are quoted as, each way.

A model quotes a curly quote as a straight one, or a dash as a hyphen; an edit must neither fail for it nor change
characters that it is not about.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Final

from agent_core import limits


class Folded:
    """A text with parts replaced, and the way back from its positions to the original's."""

    def __init__(self, text: str, pattern: re.Pattern[str], put: Callable[[re.Match[str]], str]) -> None:
        out: list[str] = []
        self._at: list[int] = []  # where each replaced part begins in the folded text
        self._parts: list[tuple[int, int, int]] = []  # its folded end, original start and original end
        position = length = 0
        for found in pattern.finditer(text):
            out.append(text[position : found.start()])
            length += found.start() - position
            part = put(found)
            self._at.append(length)
            self._parts.append((length + len(part), found.start(), found.end()))
            out.append(part)
            length += len(part)
            position = found.end()
        out.append(text[position:])
        self.text = "".join(out)

    def back(self, start: int, end: int) -> tuple[int, int]:
        """The original's range for a folded one; a part that is touched is taken whole."""
        return self._position(start, False), self._position(end, True)

    def _position(self, folded: int, is_end: bool) -> int:
        i = bisect_right(self._at, folded - 1 if is_end else folded) - 1
        if i < 0:
            return folded
        part_end, start, end = self._parts[i]
        if folded >= part_end:
            return end + folded - part_end
        return end if is_end else start


_GLYPHS: Final = {
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201b": "'", "\u2032": "'",
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u201f": '"', "\u2033": '"',
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "--", "\u2015": "--", "\u2212": "-",
    "\u2026": "...", "\u00ad": "", "\u200b": "", "\u200c": "", "\u200d": "", "\u2060": "", "\ufeff": "",
    "\u3000": " ", "\u00a0": " ", "\u202f": " ", "\u205f": " ", **{chr(c): " " for c in range(0x2000, 0x200B)},
    **{chr(c): chr(c - 0xFEE0) for c in range(0xFF01, 0xFF5F)},
}  # fmt: skip
_GLYPH: Final = re.compile("[" + "".join(map(re.escape, _GLYPHS)) + "]")
_DASH: Final = re.compile("[\u2014\u2015]|--|" + _GLYPH.pattern)
PLAIN: Final = str.maketrans(_GLYPHS)
"""For str.translate, where nothing has to be found again in the original."""


def fold(text: str) -> Folded:
    """`text` in plain characters."""
    return Folded(text, _GLYPH, lambda m: _GLYPHS[m[0]])


def fold_one_dash(text: str) -> Folded:
    """As `fold`, but every dash is one hyphen: some models write an em dash as "-"."""
    return Folded(text, _DASH, lambda m: "-" if m[0] in ("\u2014", "\u2015", "--") else _GLYPHS[m[0]])


def keep_look_alikes(there: str, old: str, new: str) -> str:
    """`new`, with the file's own characters wherever the edit leaves the text as it was.

    A character that stands for several ("—" for "--") stays when any of them does. Where the quote has the
    typographic characters and the file the plain ones, `new` gets plain ones too.
    """
    foreign = {ord(char): plain for char, plain in _GLYPHS.items() if char in old and char not in there}
    new = new.translate(foreign)
    folding = fold if fold(there).text == fold(old).text else fold_one_dash
    folded, plain = folding(there), folding(old).text
    head = common_prefix(plain, new)
    tail = common_prefix(plain[head:][::-1], new[head:][::-1])
    middle_old, middle_new = plain[head : len(plain) - tail], new[head : len(new) - tail]
    blocks = [(0, 0, head)]
    if len(middle_old) * len(middle_new) <= limits.MATCH_COMPARE:
        matcher = SequenceMatcher(None, middle_old, middle_new, autojunk=False)
        blocks += [(a + head, b + head, size) for a, b, size in matcher.get_matching_blocks()]
    blocks.append((len(plain) - tail, len(new) - tail, tail))
    out: list[str] = []
    at = used = 0
    for a, b, size in blocks:
        out.append(new[at:b])
        at = b + size
        if size:
            start, end = folded.back(a, a + size)
            out.append(there[max(start, used) : end])
            used = end
    return "".join(out)


def common_prefix(a: str, b: str) -> int:
    """How many characters two texts have in common at their start."""
    if a == b:
        return len(a)
    low, high = 0, min(len(a), len(b))
    while low < high:  # by halves: slices compare faster than a loop over characters
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low
