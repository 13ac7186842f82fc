"""Text cut into the pieces it is found by. Pure.

Scripts with blanks give words, and identifiers their parts: `parse_date`, `parseDate` and `os.path.join` are found
whole and by each part. Scripts without blanks give runs: every two characters that stand side by side, and the last
one alone, so that any two of them are found without knowing where a word ends.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from operator import add
from typing import Final, NamedTuple

from agent_core import limits

# Han, kana, Bopomofo and Hangul with their marks and supplements; Thai, Lao, Khmer and Burmese have no blanks either.
_UNSPACED: Final = (
    "\u3005-\u3007\u3041-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\u1100-\u11ff\uac00-\ud7af\U00020000-\U0003ffff\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_LETTER: Final = rf"[^\W_{_UNSPACED}]"
_PIECE: Final = re.compile(rf"(?P<run>[{_UNSPACED}]+)|{_LETTER}+(?:[_.\-]{_LETTER}+)*")
_PART: Final = re.compile(r"[^_.\-]+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+")
_HAN: Final = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")


class Piece(NamedTuple):
    """A stretch of a text that is one word or one run, folded."""

    text: str
    parts: tuple[str, ...]
    """Of a word: what it is put together from, itself when it is simple. Of a run: empty."""

    @property
    def is_run(self) -> bool:
        return not self.parts

    @property
    def whole(self) -> str:
        """A word without what joins its parts, so that all ways to write an identifier are one."""
        return "".join(self.parts)


def pieces(text: str) -> Iterator[Piece]:
    """The words and runs of `text`, in order. Longer words than limits.SEARCH_WORD are no words and left out."""
    for found in _PIECE.finditer(text):
        if found["run"]:
            yield Piece(fold(found[0]), ())
            continue
        parts = tuple(fold(hump) for part in _PART.findall(found[0]) for hump in _humps(part))
        if parts := tuple(part for part in parts if len(part) <= limits.SEARCH_WORD):
            yield Piece(fold(found[0]), parts)


def _humps(part: str) -> list[str]:
    return [part] if part.islower() or part.isupper() else _HUMP.findall(part) or [part]


def grams(run: str) -> list[str]:
    """Every two neighbours of a run, and its last character, by which a single one is found too."""
    return [run[i : i + 2] for i in range(len(run))]


def han(run: str) -> list[str]:
    """The stretches of a run that are written in Chinese characters: what a dictionary can cut into words."""
    return _HAN.findall(run)


def not_han(run: str) -> list[str]:
    """What is left of a run: kana, Hangul, Thai."""
    return [part for part in _HAN.split(run) if part]


# -- folding --------------------------------------------------------------------------------------------------------


class _Folds(dict[int, str]):
    """What each character is found as: small, plain, without an accent. Worked out once a character."""

    def __missing__(self, code: int) -> str:
        self[code] = made = _folded(chr(code))
        return made


_FOLDS: Final = _Folds()


def fold(text: str) -> str:
    """`text` as it is compared: every character stays at its place."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


def _folded(char: str) -> str:
    same = unicodedata.normalize("NFKC", char)  # full width, half width, circled
    if len(same) != 1:
        same = char
    if same < "\u0250" or "\u1e00" <= same < "\u1f00":  # in other scripts a mark makes another letter
        apart = unicodedata.normalize("NFD", same)
        same = apart[0] if all(map(unicodedata.combining, apart[1:])) else same
    small = same.lower()
    return small if len(small) == 1 else same


# -- for what is remembered -----------------------------------------------------------------------------------------

# Han, kana, Hangul, their supplements and the compatibility blocks.
_CJK: Final = (
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff\u3300-\u33ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff\U00020000-\U0003ffff"
)
_WORD_OR_RUN: Final = re.compile(rf"[A-Za-z0-9]+|[{_CJK}]+")


def words_and_runs(text: str) -> Iterator[tuple[str, bool]]:
    """The stretches of ASCII letters and digits, small, of two and more; and those of CJK, for which the mark is set.

    Source: MEM-02.
    """
    for found in _WORD_OR_RUN.findall(text):
        if not found[0].isascii():
            yield found, True
        elif len(found) > 1:
            yield found.lower(), False


def bigrams(text: str) -> list[str]:
    """The words of a text, and every two neighbours of its CJK runs; one that stands alone is itself (MEM-02)."""
    terms: list[str] = []
    for piece, is_run in words_and_runs(text):
        if is_run and len(piece) > 1:
            terms += map(add, piece, piece[1:])
        else:
            terms.append(piece)
    return terms
