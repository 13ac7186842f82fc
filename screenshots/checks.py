"""What must hold of every screen, whatever it shows. Pure: a frame in, what is wrong with it out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from rich.cells import cell_len, split_graphemes

from nanoherm_tui import i18n, symbols, text
from nanoherm_tui.i18n import LANGUAGES
from nanoherm_tui.panes.image import GLYPHS
from nanoherm_tui.words import plots
from screenshots import content
from screenshots.frame import Frame, Pane

_BARS: Final = frozenset({symbols.sym("bar"), "|", "#"})
# Columns at a pane's left and right that hold nothing but a bar, a rule or a scrollbar.
_EDGES: Final = {
    "sessions": (2, 2),
    "dock": (2, 2),
    "transcript": (2, 2),
    "title": (4, 3),
    "welcome": (2, 3),
    "composer": (2, 3),
    "approval": (2, 3),
    "status": (2, 2),
    "overlay-box": (2, 2),
}
_MIDDLE: Final = frozenset({"title", "welcome", "transcript", "approval", "composer"})
# What the fonts of nearly every terminal have: Latin, CJK with its punctuation, pictures of control characters.
_BLOCKS: Final = (
    (0x20, 0x7E),
    (0xC0, 0x24F),
    (0x2400, 0x2421),
    (0x3000, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xFF01, 0xFF60),
    (0xFFE0, 0xFFE6),
)
_WORD: Final = re.compile(r"[A-Za-z]{3,}|[\u4e00-\u9fff]{2,}")


@dataclass(frozen=True, slots=True)
class Fault:
    row: int
    """Counted from 1."""
    what: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.what}"


def faults(frame: Frame) -> list[Fault]:
    """Everything that is wrong with a frame, by rows."""
    found: list[Fault] = []
    for y in range(len(frame.rows)):
        found += [Fault(y + 1, what) for what in (*_width(frame, y), *_characters(frame.text(y)))]
    if not found:  # a row of another width has no columns to speak of
        grid = [_cells(frame.text(y)) for y in range(len(frame.rows))]
        found += _columns(frame)
        for pane in frame.panes:
            found += _edges(pane, grid)
            found += _cut_words(pane, grid)
    return sorted(found, key=lambda fault: fault.row)


def _width(frame: Frame, y: int) -> Iterator[str]:
    row = frame.text(y)
    for measure, cells in (("the terminal's measure", cell_len(row)), ("our own", text.width(row))):
        if cells != frame.columns:
            yield f"{cells} cells by {measure}, the screen has {frame.columns}: {row!r}"


def _characters(row: str) -> Iterator[str]:
    for character in dict.fromkeys(row):
        named = f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()
        if unicodedata.category(character)[0] == "C":
            yield f"the control character {named}: {row!r}"
        elif not _has_glyph(character):
            yield f"{named} may have no glyph: {row!r}"
        elif unicodedata.east_asian_width(character) == "A":
            yield f"{named} is two cells wide in some terminals: {row!r}"


@cache
def _has_glyph(character: str) -> bool:
    code = ord(character)
    return character in _signs() or any(first <= code <= last for first, last in _BLOCKS)


@cache
def _signs() -> frozenset[str]:
    """The program's own signs, whichever set of them is in use now, and those that images and plots are drawn with."""
    own = symbols.SPINNER + symbols.STILL + GLYPHS + plots.GLYPHS
    return frozenset(own + "".join(glyph for glyph, _ in symbols._TABLE.values()))


def _cells(row: str) -> list[str]:
    """A row's characters by column; "" is the second half of the wide one before."""
    out: list[str] = []
    for begin, end, cells in split_graphemes(row)[0]:
        out += [row[begin:end], *[""] * (cells - 1)]
    return out


def _columns(frame: Frame) -> Iterator[Fault]:
    """What stands between sessions and dock shares one left and one right edge."""
    middle = [pane for pane in frame.panes if pane.name in _MIDDLE]
    for pane in middle[1:]:
        if (pane.x, pane.width) != (middle[0].x, middle[0].width):
            yield Fault(pane.y + 1, f"{pane.name} is not as wide as {middle[0].name}")


def _edges(pane: Pane, grid: Sequence[Sequence[str]]) -> Iterator[Fault]:
    if pane.name not in _EDGES:
        return
    left, right = _EDGES[pane.name]
    for y in range(pane.y, pane.y + pane.height):
        row = grid[y][pane.x : pane.x + pane.width]
        if len(row) < left + right:
            continue
        # Only the outermost column may hold a bar.
        inner = (*row[1:left], *row[-right:-1])
        outer = (row[0], row[-1])
        if any(cell != " " for cell in inner) or any(cell not in (" ", *_BARS) for cell in outer):
            yield Fault(y + 1, f"text at the edge of {pane.name}: {''.join(row)!r}")


_ADDRESS: Final = 30
"""Cells without a blank from which on something is an address or a key, not words."""


def _cut_words(pane: Pane, grid: Sequence[Sequence[str]]) -> Iterator[Fault]:
    """Words of the interface that end before their end, and do not go on in the next row."""
    rows = ["".join(grid[y][pane.x : pane.x + pane.width]) for y in range(pane.y, pane.y + pane.height)]
    for number, row in enumerate(rows):
        following = rows[number + 1].lstrip(f" {''.join(_BARS)}") if number + 1 < len(rows) else ""
        for found in _WORD.finditer(row):
            word = found[0]
            if word in _known() or row[found.end() :].strip(f" {''.join(_BARS)}"):
                continue
            if len(row[: found.end()].split()[-1]) > _ADDRESS:  # it may be broken anywhere
                continue
            if not any(whole.startswith(word) for whole in _interface()):
                continue
            rest = [whole[len(word) :] for whole in _known() if whole.startswith(word)]
            if not any(following.startswith(more) for more in rest):
                yield Fault(pane.y + number + 1, f"{word!r} is cut in {pane.name}: {row!r}")


@cache
def _interface() -> frozenset[str]:
    return frozenset(word for code in LANGUAGES for words in i18n.texts(code).values() for word in _WORD.findall(words))


@cache
def _known() -> frozenset[str]:
    """Whole words: those of the interface and of what the pictures tell."""
    told = " ".join(
        [
            *content.FOLDERS,
            content.DATES_BEFORE,
            content.DATES_AFTER,
            content.REPORT,
            content.REPORT_NEW,
            content.FAILED_RUN,
        ]
        + [repr(words) for words in content.WORDS.values()]
        + [prompt for code in LANGUAGES for prompt in content.prompts(code).values()]
    )
    as_remarks = frozenset(word[:1].lower() + word[1:] for word in _interface())  # help has titles in its lists
    return _interface() | as_remarks | frozenset(_WORD.findall(told))
