"""What the caret steps over in a draft: a character as a person sees it, or a chip. Places are counted in characters.

A character as seen may be several: a letter and its accents, an emoji of a family, a flag.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

from rich.cells import get_character_cell_size, split_graphemes

_CHIP: Final = re.compile("\\[\x0e[^\x0e\x0f\n]*\x0f\\]")  # as chips.py makes them
_ENDS: Final = re.compile("\n|\\[\x0e")  # no character goes on over a line end, or into a chip
_SIMPLE: Final = "\u0300"  # below it no character joins the one before
_JOINER: Final = "\u200d"
_JOINS: Final = _JOINER + "\ufe0f"  # and what makes the character before it an emoji
_PIECE: Final = 64  # characters looked at for one that is seen; the longest emoji have some ten
_BACK: Final = 256  # characters gone back for one that surely begins a new one

Kind = Literal["blank", "word", "han", "hiragana", "katakana", "emoji", "chip", "mark"]
"""What belongs together in a word. Chinese has no blanks: a run of its characters is one, as vim has it."""


def after(text: str, at: int) -> int:
    """Where the unit that begins at `at` ends; the length of `text` at its end."""
    if at + 1 >= len(text):
        return len(text)
    one, two = text[at], text[at + 1]
    if one == "[" and two == "\x0e" and (chip := _CHIP.match(text, at)):
        return chip.end()
    if two < _SIMPLE or one == "\n":
        return at + 1
    piece = _ENDS.split(text[at : at + _PIECE], maxsplit=1)[0]
    spans = split_graphemes(piece)[0]
    pair = len(spans) > 1 and _is_half_flag(piece[0]) and _is_half_flag(piece[spans[1][0]])
    return at + spans[1 if pair else 0][1]


def before(text: str, at: int) -> int:
    """Where the unit begins that ends at `at`, or that `at` lies within; 0 at the start."""
    if at <= 0:
        return 0
    one = text[at - 1]
    if at < len(text) and (chip := chip_around(text, at)):
        return chip[0]
    if one == "]" and at > 1 and text[at - 2] == "\x0f" and (start := text.rfind("[\x0e", 0, at)) >= 0:
        return start
    start = at - 1
    while start > max(0, at - _BACK) and not _surely_begins(text, start):
        start -= 1
    while (end := after(text, start)) < at:
        start = end
    return start


def snap(text: str, at: int) -> int:
    """`at`, or the start of the unit that it lies within."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    if (chip := chip_around(text, at)) is not None:
        return chip[0]
    if text[at] < _SIMPLE and text[at - 1] != _JOINER:
        return at
    start = before(text, at)
    return at if after(text, start) == at else start


def chip_around(text: str, at: int) -> tuple[int, int] | None:
    """Both ends of the chip that `at` lies within."""
    start = text.rfind("[\x0e", 0, at + 1) if "\x0e" in text else -1
    chip = _CHIP.match(text, start) if start >= 0 else None
    return chip.span() if chip is not None and chip.start() < at < chip.end() else None


def bare(text: str) -> str:
    """The text, place for place, without what stands in its chips: no bracket, quote or letter of theirs is meant."""
    return _CHIP.sub(lambda chip: "\x0e" * len(chip[0]), text) if "\x0e" in text else text


def _surely_begins(text: str, at: int) -> bool:
    """Whether a unit begins at `at`: a character with a width of its own, behind no joiner. Of flags it is not sure."""
    one, last = text[at], text[at - 1]
    if text[at : at + 2] == "[\x0e" or text[max(0, at - 2) : at] == "\x0f]":  # nothing joins a chip
        return True
    if last == _JOINER or one < _SIMPLE:
        return last != _JOINER
    return get_character_cell_size(one) > 0 and one not in _JOINS and not _is_half_flag(one)


def _is_half_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def kind(text: str, at: int) -> Kind:
    """What the unit at `at` is; the end of the text counts as blank."""
    one = text[at : at + 1]
    if not one or one.isspace():
        return "blank"
    if one == "[" and text[at + 1 : at + 2] == "\x0e":
        return "chip"
    if (
        "\u3400" <= one <= "\u9fff"
        or "\uf900" <= one <= "\ufaff"
        or "\U00020000" <= one <= "\U0003ffff"
        or one in "々〇"
    ):
        return "han"
    if "\u3041" <= one <= "\u309f":
        return "hiragana"
    if "\u30a1" <= one <= "\u30ff" or "\uff66" <= one <= "\uff9f":
        return "katakana"
    if one.isalnum() or one == "_":
        return "word"
    return "emoji" if one >= "\U0001f000" else "mark"


def word_left(text: str, at: int) -> int:
    """The start of the word before `at`, as Alt+Backspace takes it; at a line's start the end of the line before."""
    if at and text[at - 1] == "\n":
        return at - 1
    at = _back_while(text, at, lambda k: k in ("blank", "mark"))
    if at and text[at - 1] != "\n":
        of = kind(text, before(text, at))
        at = _back_while(text, at, lambda k: k == of)
    return at


def word_right(text: str, at: int) -> int:
    """The end of the word behind `at`; at a line's end the start of the next."""
    if text[at : at + 1] == "\n":
        return at + 1
    at = _on_while(text, at, lambda k: k in ("blank", "mark"))
    of = kind(text, at)
    return _on_while(text, at, lambda k: k == of) if of != "blank" else at


def big_word_left(text: str, at: int) -> int:
    """What Ctrl+W takes: back to a blank, or to the full-width mark that ends a part of a sentence."""
    if at and text[at - 1] == "\n":
        return at - 1

    def gap(place: int) -> bool:
        return kind(text, place) == "blank" or (text[place] > "\u2e7f" and kind(text, place) == "mark")

    while at and text[at - 1] != "\n" and gap(before(text, at)):
        at = before(text, at)
    while at and text[at - 1] != "\n" and not gap(before(text, at)):
        at = before(text, at)
    return at


def _back_while(text: str, at: int, wanted: Callable[[Kind], bool]) -> int:
    while at and text[at - 1] != "\n" and wanted(kind(text, start := before(text, at))):
        at = start
    return at


def _on_while(text: str, at: int, wanted: Callable[[Kind], bool]) -> int:
    while at < len(text) and text[at] != "\n" and wanted(kind(text, at)):
        at = after(text, at)
    return at
