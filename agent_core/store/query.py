"""What a person looks for, as an FTS5 expression and as patterns that mark the hits. Pure.

Plain words must all be there, in any order; what stands in quotes must stand together. Whatever is typed is a query:
there is no syntax to get wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from agent_core import limits
from agent_core.records import dataclass
from agent_core.text.tokenize import Piece, fold, grams, han, not_han, pieces

Cut = Callable[[Sequence[str]], Sequence[Sequence[str]] | None]
"""Cuts runs of Chinese characters into words by a dictionary; None when there is none."""

_QUOTED: Final = re.compile(r'["“”„«»「」]([^"“”„«»「」]*)(?:["“”„«»「」]|\Z)')
# Words of one character that say how others belong together: a text that says it otherwise is meant too.
_PARTICLES: Final = frozenset("的了着过地得是在和与及而也都就把被给让对从向到说吗呢吧啊么个")
_BETWEEN: Final = r"[\W_]{0,4}"  # what may stand between two pieces of a phrase where hits are marked


@dataclass(frozen=True, slots=True)
class Query:
    """`match` is empty when there is nothing to look for."""

    match: str
    """For FTS5's MATCH, over the columns `grams` and `words`."""
    needles: tuple[re.Pattern[str], ...] = ()
    """One for each thing that must be there; they are looked for in folded text."""


@dataclass(slots=True)
class _Made:
    conditions: list[str]
    needles: list[str]

    def want(self, condition: str, *needles: str) -> None:
        self.conditions.append(condition)
        self.needles += needles


def parse(text: str, cut: Cut) -> Query:
    """Read what was typed. `cut` is asked once at most, and not for what can be told without it."""
    text = text[: limits.SEARCH_QUERY]
    phrases = [list(pieces(quoted)) for quoted in _QUOTED.findall(text)]
    plain = list(pieces(_QUOTED.sub(" ", text)))
    long_runs = [run for piece in plain if piece.is_run and len(piece.text) > 2 for run in han(piece.text)]
    words = cut(long_runs) if long_runs else ()
    cuts = dict(zip(long_runs, words, strict=True)) if words is not None else {}
    made = _Made([], [])
    for piece in plain:
        if piece.is_run:
            _run(made, piece.text, cuts)
        else:
            _word(made, piece)
    for phrase in phrases:
        if tokens := _phrase(phrase):
            made.want(_together(tokens), _pattern(part for piece in phrase for part in piece.parts or (piece.text,)))
    needles = tuple(re.compile(needle) for needle in dict.fromkeys(made.needles))
    return Query(" AND ".join(dict.fromkeys(made.conditions)), needles)


def _word(made: _Made, piece: Piece) -> None:
    """A word, or the beginning of one; the very word counts more."""
    last = piece.parts[-1]
    if len(piece.parts) > 1:
        made.want(f'({_together(piece.parts)}* OR "{piece.whole}"*)', _pattern(piece.parts))
    elif len(last) == 1:
        made.want(f'"{last}"', rf"(?<![^\W_]){re.escape(last)}(?![^\W_])")
    else:
        # It may be an identifier that was typed without what joins its parts.
        made.want(f'("{last}" OR "{last}"*)', r"[_.\-]?".join(map(re.escape, last)))


def _run(made: _Made, run: str, cuts: dict[str, Sequence[str]]) -> None:
    """Characters without blanks between: the words in them, better side by side."""
    if len(run) == 1:
        made.want(f'"{run}"*', re.escape(run))
        return
    if len(run) == 2:
        made.want(f'"{run}"', re.escape(run))
        return
    whole = _together(grams(run)[:-1])
    words = [word for part in han(run) for word in _joined(cuts.get(part, ())) if len(word) > 1]
    others = [part for part in not_han(run) if len(part) > 1]
    if not words or (len(words) == 1 and not others):
        made.want(whole, re.escape(run))
        return
    wanted = list(dict.fromkeys([*words, *others]))
    inside = " AND ".join(_together(grams(word)[:-1]) for word in wanted)
    made.want(f"(({inside}) OR {whole})", *map(re.escape, wanted))


def _joined(words: Sequence[str]) -> list[str]:
    """Words of a dictionary; what it has left as single characters is one word where it stands together."""
    out: list[str] = []
    joins = False
    for word in words:
        alone = len(word) == 1 and word not in _PARTICLES
        if alone and joins:
            out[-1] += word
        elif word not in _PARTICLES:
            out.append(word)
        joins = alone
    return out


def _phrase(phrase: Iterable[Piece]) -> list[str]:
    """The tokens of a quotation, as the index has them one behind the other."""
    tokens: list[str] = []
    ends_in_run = False
    for piece in phrase:
        tokens += piece.parts or grams(piece.text)
        ends_in_run = piece.is_run
    # In the text the run may go on.
    return tokens[:-1] if ends_in_run and len(tokens) > 1 else tokens


def _together(tokens: Sequence[str]) -> str:
    return f'grams:"{" ".join(tokens)}"'


def _pattern(parts: Iterable[str]) -> str:
    return _BETWEEN.join(re.escape(fold(part)) for part in parts)
