"""Where vim's motions lead: from a place in the text to another, counted in characters. Nothing is changed here.

Lines are those of the text, whatever the screen wraps. Units are those of units.py, so no caret stands within one.
"""

from __future__ import annotations

from typing import Final, Literal

from agent_core.records import dataclass
from nanoherm_tui.editing.page import Span
from nanoherm_tui.editing.units import Kind, after, bare, before, kind, snap
from nanoherm_tui.text import width

How = Literal["exclusive", "inclusive", "lines"]
END: Final = 1_000_000_000
"""The wanted column behind `$`: the end of every line."""
PAIRS: Final = {
    "(": ")",
    "[": "]",
    "{": "}",
    "（": "）",
    "【": "】",
    "「": "」",
    "『": "』",
    "《": "》",
    "“": "”",
    "‘": "’",
}
_OPENERS: Final = {closer: opener for opener, closer in PAIRS.items()}
_ENDS: Final = ".!?。！？"
_CLOSERS: Final = ")]\"'）】」』”’"


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a motion leads, and what an operator takes: up to there, with it, or the whole lines."""

    at: int
    how: How = "exclusive"


def line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """The place of the line's end, behind its last character."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def first_word(text: str, at: int) -> int:
    """The first place of the line that is no blank, else its end."""
    start, end = line_start(text, at), line_end(text, at)
    return next((place for place in range(start, end) if not text[place].isspace()), end)


def last_unit(text: str, at: int) -> int:
    """The place of the line's last unit; its start when it is empty."""
    start, end = line_start(text, at), line_end(text, at)
    return before(text, end) if end > start else start


def last_word(text: str, at: int) -> int:
    """The last place of the line that is no blank, else its start."""
    start, end = line_start(text, at), line_end(text, at)
    while end > start and text[end - 1].isspace():
        end -= 1
    return before(text, end) if end > start else start


def lines(text: str, one: int, other: int) -> Span:
    """The whole lines from that of one place to that of another."""
    first, last = sorted((one, other))
    end = line_end(text, last)
    return Span(line_start(text, first), min(end + 1, len(text)), True, end == len(text))


def beyond(text: str, at: int) -> int:
    """Behind the unit at `at`, also where that is a line end."""
    return min(at + 1, len(text)) if at == line_end(text, at) else after(text, at)


def on_unit(text: str, at: int) -> int:
    """`at`, or the nearest place where the caret may stand when nothing is being typed."""
    at = snap(text, max(0, min(at, len(text))))
    return last_unit(text, at) if at == line_end(text, at) else at


def cells(text: str, at: int) -> int:
    """The column of a place, in cells."""
    return width(text[line_start(text, at) : at])


def at_cells(text: str, start: int, column: int) -> int:
    """The unit at that column of the line which begins at `start`, else its last one."""
    end = line_end(text, start)
    at = start
    while at < end and width(text[start : after(text, at)]) <= column:
        at = after(text, at)
    return on_unit(text, at)


def by_lines(text: str, at: int, count: int, column: int) -> Goal | None:
    """`count` lines down, or up where it is negative, as far as they go; to `column` (cells). None: nowhere."""
    start = first = line_start(text, at)
    for _ in range(abs(count)):
        if count > 0:
            end = line_end(text, start)
            if end == len(text):
                break
            start = end + 1
        elif start > 0:
            start = line_start(text, start - 1)
    if start == first and count:
        return None
    return Goal(last_unit(text, start) if column == END else at_cells(text, start, column), "lines")


def to_line(text: str, number: int) -> Goal:
    """The first word of a line, counted from 1; beyond the last it is the last."""
    start = 0
    for _ in range(number - 1):
        end = line_end(text, start)
        if end == len(text):
            break
        start = end + 1
    return Goal(on_unit(text, first_word(text, start)), "lines")


# -- words -----------------------------------------------------------------------------------------------------------


def class_of(text: str, at: int, big: bool) -> Kind:
    """The kind of a unit; of a big word everything but blanks is one."""
    found = kind(text, at)
    return "word" if big and found != "blank" else found


def _is_empty_line(text: str, at: int) -> bool:
    return text[at : at + 1] == "\n" and (at == 0 or text[at - 1] == "\n")


def next_word(text: str, at: int, big: bool) -> int:
    """The start of the next word; an empty line is one."""
    of = class_of(text, at, big)
    if of != "blank":
        while at < len(text) and class_of(text, at, big) == of:
            at = after(text, at)
    elif at < len(text):
        at = after(text, at)
    while at < len(text) and class_of(text, at, big) == "blank" and not _is_empty_line(text, at):
        at = after(text, at)
    return at


def word_end(text: str, at: int, big: bool) -> int:
    """The last unit of this word, or of the next where `at` is that already."""
    at = after(text, at)
    while at < len(text) and class_of(text, at, big) == "blank":
        at = after(text, at)
    of = class_of(text, at, big)
    while (behind := after(text, at)) < len(text) and class_of(text, behind, big) == of:
        at = behind
    return at


def word_back(text: str, at: int, big: bool) -> int:
    """The start of this word, or of the one before where `at` is that already."""
    at = before(text, at)
    while at and class_of(text, at, big) == "blank" and not _is_empty_line(text, at):
        at = before(text, at)
    of = class_of(text, at, big)
    while of != "blank" and at and class_of(text, before(text, at), big) == of:
        at = before(text, at)
    return at


def word_end_back(text: str, at: int, big: bool) -> int:
    """The last unit of the word before."""
    of = class_of(text, at, big)
    if of == "blank" and at and _is_empty_line(text, at):
        at -= 1
    while at and class_of(text, at, big) == of and of != "blank":
        at = before(text, at)
    while at and class_of(text, at, big) == "blank" and not _is_empty_line(text, at):
        at = before(text, at)
    return at


# -- in the line, brackets, sentences, paragraphs --------------------------------------------------------------------


def find(text: str, at: int, wanted: str, count: int, *, on: bool, till: bool, over: bool = False) -> int | None:
    """f, t (`on`) and F, T: the `count`th `wanted` of the line, or the unit beside it (`till`).

    `over`: ; after t goes over the one that it stands before.
    """
    start, end = line_start(text, at), line_end(text, at)
    place, seen = at, bare(text)
    if over and till:
        place = after(text, at) if on else before(text, at)
    for _ in range(count):
        place = seen.find(wanted, after(text, place), end) if on else seen.rfind(wanted, start, place)
        if place < 0:
            return None
    if till:
        place = before(text, place) if on else after(text, place)
    return place


def match_bracket(text: str, at: int) -> int | None:
    """%: the partner of the first bracket at or behind `at` in its line."""
    end, text = line_end(text, at), bare(text)
    place = next((p for p in range(at, end) if text[p] in PAIRS or text[p] in _OPENERS), -1)
    if place < 0:
        return None
    one = text[place]
    return closing(text, place, one) if one in PAIRS else opening(text, place, _OPENERS[one])


def closing(text: str, at: int, opener: str) -> int | None:
    """The bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == opener) - (text[place] == PAIRS[opener])
        if depth == 0:
            return place
    return None


def opening(text: str, at: int, opener: str) -> int | None:
    """The bracket that opens what the one at `at` closes; `at` may also lie between them."""
    depth = 0 if text[at : at + 1] == PAIRS[opener] else 1
    for place in range(at, -1, -1):
        if place < len(text):
            if place == at and depth == 1 and text[place] == opener:
                return place
            depth += (text[place] == PAIRS[opener]) - (text[place] == opener)
            if depth == 0:
                return place
    return None


def enclosing(text: str, at: int, opener: str) -> int | None:
    """The bracket around the one at `at`."""
    depth = 1
    for place in range(at - 1, -1, -1):
        depth += (text[place] == PAIRS[opener]) - (text[place] == opener)
        if depth == 0:
            return place
    return None


def next_paragraph(text: str, at: int) -> int:
    """The next empty line behind text, else the end."""
    start, seen = line_start(text, at), False
    while (end := line_end(text, start)) < len(text):
        if end > start:
            seen = True
        elif seen:
            return start
        start = end + 1
    return len(text) if end > start or not seen else start


def paragraph_back(text: str, at: int) -> int:
    """The empty line before the text at `at` or before, else the start."""
    start = line_start(text, at)
    seen = line_end(text, start) > start
    while start > 0:
        start = line_start(text, start - 1)
        if line_end(text, start) > start:
            seen = True
        elif seen:
            return start
    return 0


def sentences(text: str) -> list[int]:
    """Where sentences begin. One ends at . ! ? before a blank, at 。！？ before anything, and at an empty line."""
    starts: list[int] = [] if not text or text[0].isspace() else [0]
    ended = not starts
    for at, one in enumerate(text):
        if _is_empty_line(text, at):
            starts.append(at)
            ended = True
        elif ended and not one.isspace():
            if one not in _CLOSERS or (at and text[at - 1].isspace()):
                starts.append(at)
                ended = False
        elif one in _ENDS:
            behind = at + 1
            while behind < len(text) and text[behind] in _CLOSERS + _ENDS:
                behind += 1
            ended = one > "\u2e7f" or behind == len(text) or text[behind].isspace()
    return sorted(set(starts))


def next_sentence(text: str, at: int) -> int:
    return next((start for start in sentences(text) if start > at), len(text))


def sentence_back(text: str, at: int) -> int:
    return next((start for start in reversed(sentences(text)) if start < at), 0)
