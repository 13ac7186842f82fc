"""Vim's text objects: the word, quote, bracket or paragraph around a place, with or without what surrounds it."""

from __future__ import annotations

from typing import Final

from nanoherm_tui.editing.page import Span
from nanoherm_tui.editing.units import after, bare, before, kind
from nanoherm_tui.editing.vim_motions import PAIRS, closing, enclosing, line_end, line_start, opening

QUOTES: Final = "\"'`"
BRACKETS: Final = {"b": "(", "B": "{", "<": "<", ">": "<"} | {one: o for o, c in PAIRS.items() for one in (o, c)}


def text_object(text: str, at: int, name: str, count: int = 1) -> Span | None:
    """The object called `name` ("iw", "a(") at `at`; None where there is none, or no such name."""
    around, name = name[0] == "a", name[1:]
    if name in "wW":
        return _word(text, at, around, name == "W", count)
    if name in QUOTES:
        return _quote(text, at, around, name)
    if name == "p":
        return _paragraph(text, at, around, count)
    if name in BRACKETS and BRACKETS[name] in PAIRS:
        return _bracket(text, at, around, BRACKETS[name], count)
    return None


def _word(text: str, at: int, around: bool, big: bool, count: int) -> Span | None:
    low, high = line_start(text, at), line_end(text, at)

    def of(place: int) -> str:
        found = kind(text, place)
        return "word" if big and found != "blank" else found

    def run(place: int) -> int:
        here = of(place)
        while place < high and of(place) == here:
            place = after(text, place)
        return place

    start, end = at, at
    while start > low and of(before(text, start)) == of(at):
        start = before(text, start)
    for _ in range(count):
        was_blank = end < high and of(end) == "blank"
        end = run(end)
        if around and end < high and (was_blank or of(end) == "blank"):
            end = run(end)
    if around and of(at) != "blank" and of(before(text, end)) != "blank":  # no blank behind: those in front
        while start > low and of(before(text, start)) == "blank":
            start = before(text, start)
    return Span(start, end) if end > start or not around else None


def _quote(text: str, at: int, around: bool, quote: str) -> Span | None:
    low, high, text = line_start(text, at), line_end(text, at), bare(text)
    places = [p for p in range(low, high) if text[p] == quote and not (p > low and text[p - 1] == "\\")]
    pairs = list(zip(places[::2], places[1::2], strict=False))
    found = next(((a, b) for a, b in pairs if b >= at), None)
    if found is None:
        return None
    start, end = found[0] + (not around), found[1] + around
    if around:
        spaced = end
        while spaced < high and text[spaced] in " \t":
            spaced += 1
        while spaced == end and start > low and text[start - 1] in " \t":  # no blank behind: those in front
            start -= 1
        end = spaced
    return Span(start, end)


def _bracket(text: str, at: int, around: bool, opener: str, count: int) -> Span | None:
    """The `count`th pair around `at`."""
    text = bare(text)
    start = opening(text, at, opener)
    if start is None:  # not within: the next one of the line
        found = text.find(opener, at, line_end(text, at))
        start = found if found >= 0 else None
    for _ in range(count - 1):
        start = enclosing(text, start, opener) if start is not None else None
    end = closing(text, start, opener) if start is not None else None
    if start is None or end is None:
        return None
    return Span(start, end + 1) if around else _within(text, start + 1, end)


def _within(text: str, start: int, end: int) -> Span:
    """What stands between two brackets; where they have lines of their own, the lines between them."""
    start += text[start : start + 1] == "\n"
    line = line_start(text, end)
    if start <= line and not text[line:end].strip():
        end = line
    return Span(start, max(start, end))


def _paragraph(text: str, at: int, around: bool, count: int) -> Span | None:
    lines = text.split("\n")
    number = text.count("\n", 0, at)
    empty = [not line.strip() for line in lines]
    first = last = number
    while first > 0 and empty[first - 1] == empty[number]:
        first -= 1

    def run(line: int) -> int:
        while line + 1 < len(lines) and empty[line + 1] == empty[line]:
            line += 1
        return line

    last = run(number)
    for step in range(count * (2 if around else 1) - 1):
        if last + 1 < len(lines):
            last = run(last + 1)
        elif around and step == count * 2 - 2 and not empty[number]:  # no empty line behind: those in front
            while first > 0 and empty[first - 1]:
                first -= 1
        else:
            return None
    start = sum(len(line) + 1 for line in lines[:first])
    end = start + sum(len(line) + 1 for line in lines[first : last + 1])
    return Span(start, min(end, len(text)), True, end > len(text))
