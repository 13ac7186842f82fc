"""Finding by a few letters: how a query is found in a text, how good the find is, and which letters it is.

One definition for the palette and the file picker. A find has a tier, best first; within a tier whoever asks decides.
A word starts at a letter after none (`parse_date`: p, d), at a hump (`parseDate`, `HTTPServer`), and at every
character without case: digits, signs, Chinese.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final

from agent_core.records import dataclass

_HUMP: Final = re.compile("(?<=[a-z])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])")
_NAME_ENDS: Final = ("", ".", "/")
"""What may follow a query that is a whole name: nothing, the name's ending, or a folder's slash."""


class Tier(IntEnum):
    """How a query is found in a text, best first."""

    EXACT = 0
    """It is the whole text, or all before its first dot or slash."""
    START = 1
    WORD = 2
    """As it stands, at the start of a word."""
    PIECES = 3
    """In pieces that each begin a word: "pd" or "pada" in parse_date."""
    WITHIN = 4
    """As it stands, anywhere."""
    SCATTERED = 5
    """Its letters in order."""


@dataclass(frozen=True, slots=True)
class Match:
    tier: Tier
    places: tuple[int, ...]
    """Where in the text the query's characters stand, ascending."""


def fold(text: str) -> str:
    """`text` without the difference of capitals and small letters, each character still at its place."""
    low = text.lower() if text.isascii() else text.casefold()
    return low if len(low) == len(text) else "".join(map(_fold_one, text))


def _fold_one(character: str) -> str:
    return next((low for low in (character.casefold(), character.lower()) if len(low) == 1), character)


def big(character: str) -> str:
    """The capital of a folded character; itself when it has none of one character."""
    capital = character.upper()
    return capital if len(capital) == 1 else character


def mark_starts(text: str) -> str:
    """`text` folded, but with a capital wherever a word starts: parseDate → ParseDate, HTTPServer → HttpServer."""
    if not text.isascii():
        return "\n".join(map(_mark_line, text.split("\n")))
    titled = text.title()
    humps = [found.start() for found in _HUMP.finditer(text)]
    if not humps:
        return titled
    characters = list(titled)
    for at in humps:
        characters[at] = text[at]
    return "".join(characters)


def _mark_line(text: str) -> str:
    """What mark_starts does, for letters that only a walk does right."""
    if text.isascii():
        return mark_starts(text)
    out, before, before_has_case = [], "", False
    for character, low, after in zip(text, fold(text), text[1:] + " ", strict=True):
        capital = big(low)
        hump = character.isupper() and (before.islower() or (before.isupper() and after.islower()))
        out.append(low if before_has_case and not hump else capital)
        before, before_has_case = character, low != capital
    return "".join(out)


# The expressions work on one text and on many joined by newlines alike; the query is folded and has no newline. None
# looks back: each step is taken at its first place, so a search walks over a line once for each start in it. They go
# on to the line's end, so that each line is found once.
_REST: Final = "[^\n]*+"


@lru_cache(maxsize=64)
def word(query: str) -> re.Pattern[str]:
    """Finds a query that begins a word, in text with marked starts."""
    return re.compile(re.escape(big(query[:1])) + "".join(map(_either, query[1:])) + _REST)


@lru_cache(maxsize=64)
def pieces(query: str) -> re.Pattern[str]:
    """Finds a query in pieces that each begin a word, in text with marked starts."""
    steps = (f"(?>{_either(c)}|[^{re.escape(big(c))}\n]*+{re.escape(big(c))})" for c in query[1:])
    return re.compile(re.escape(big(query[:1])) + "".join(steps) + _REST)


@lru_cache(maxsize=256)
def scattered(query: str) -> re.Pattern[str]:
    """Finds the characters of a query in order, in folded text."""
    steps = (f"[^{re.escape(c)}\n]*+{re.escape(c)}" for c in query[1:])
    return re.compile(re.escape(query[:1]) + "".join(steps) + _REST)


def _either(character: str) -> str:
    capital = big(character)
    return re.escape(character) if capital == character else f"[{re.escape(character)}{re.escape(capital)}]"


def match(query: str, text: str) -> Match | None:
    """How `query` is found in `text`, both without newlines; None when it is not. Capitals and small letters are one.

    An empty query is found anywhere.
    """
    query, low = fold(query), fold(text)
    if not scattered(query).search(low):
        return None
    size = len(query)
    if low.startswith(query):
        return Match(Tier.EXACT if low[size : size + 1] in _NAME_ENDS else Tier.START, tuple(range(size)))
    marked = mark_starts(text)
    if found := word(query).search(marked):
        return Match(Tier.WORD, tuple(range(found.start(), found.start() + size)))
    if found := pieces(query).search(marked):
        return Match(Tier.PIECES, _pieces(query, marked, found.start()))
    if (at := low.find(query)) >= 0:
        return Match(Tier.WITHIN, tuple(range(at, at + size)))
    return Match(Tier.SCATTERED, scattered_places(query, low))


def _pieces(query: str, marked: str, start: int) -> tuple[int, ...]:
    places = [start]
    for character in query[1:]:
        at = places[-1] + 1
        if marked[at : at + 1] not in (character, big(character)):
            at = marked.index(big(character), at)
        places.append(at)
    return tuple(places)


def scattered_places(query: str, low: str) -> tuple[int, ...]:
    """Where a query's characters stand in a folded text that has them in order.

    They end where they are first all there, and stand as close together before it as they can.
    """
    end = 0
    for character in query:
        end = low.index(character, end) + 1
    places: list[int] = []
    for character in reversed(query):
        end = low.rindex(character, 0, end)
        places.append(end)
    return tuple(reversed(places))
