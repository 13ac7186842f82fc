"""The edit ladder: where a model's "old text" stands in a file, and what its "new text" becomes there.

Models quote files from memory: line ends, trailing blanks, indentation and typographic characters drift. Each rung of
the ladder forgives one kind of drift; the first rung on which the text is found decides, and only when it is found
once (or when every occurrence is wanted). What a rung forgave, the new text follows: it takes the file's line ends,
indentation and typographic characters. Nothing outside the returned spans changes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice
from typing import Final, Literal

from agent_core import limits

How = Literal[
    "exact",
    "line ends",
    "trailing blanks",
    "indentation",
    "look-alike characters",
    "escapes",
    "blanks inside lines",
    "indentation and look-alike characters",
    "some words",
    "line numbers",
    "blank lines around it",
]


@dataclass(frozen=True, slots=True)
class Span:
    """Replace text[start:end] by `new`."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class Match:
    spans: tuple[Span, ...]
    """In order, never overlapping."""
    how: How
    """What had to be forgiven."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the file worth showing: its first line (from 1) and its text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class NoMatch:
    reason: Literal["missing", "several", "empty", "same"]
    places: tuple[Place, ...] = ()
    """For "several" where it was found, for "missing" what comes nearest."""
    count: int = 0


def find(text: str, old: str, new: str, every: bool = False) -> Match | NoMatch:
    """Where `old` stands in `text`, and what to put there so that it reads `new`.

    With `every` all occurrences on the deciding rung, else exactly one. Pure; linear in `text` but for the similarity
    of a few candidate places.
    """
    if not old or old == new:
        return NoMatch("same" if old else "empty")
    file = _File(text)
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    found = _climb(file, old, new, every)
    if found is None:
        # The quote itself may carry what never was in the file: the numbers read_file shows, blank lines around it.
        for how, change in _UNWRAPPED:
            bare_old, bare_new = change(old, new)
            if bare_old.strip() and bare_old != old and (found := _climb(file, bare_old, bare_new, every)) is not None:
                return Match(found.spans, how) if isinstance(found, Match) else found
    return found or NoMatch("missing", _nearest(file, old))


def _climb(file: _File, old: str, new: str, every: bool) -> Match | NoMatch | None:
    """The decision of the first rung on which `old` is found; None when it is on none."""
    for how, rung in _LADDER:
        hits = rung(file, old, new)
        if how not in ("exact", "escapes"):
            hits = [hit for hit in hits if not _over_escaped(file.text[hit.start : hit.end], old, new)]
        if not hits:
            continue
        if len(hits) > (limits.MATCH_MOST if every else 1):
            starts = [file.line_of(hit.start) for hit in hits]
            return NoMatch("several", tuple(file.place(line) for line in starts[: limits.MATCH_PLACES]), len(hits))
        if how == "exact" and file.has_crlf and "\n" in old:
            how = "line ends"
        return Match(tuple(file.span(hit) for hit in _apart(hits)), how)
    return None


def _over_escaped(there: str, old: str, new: str) -> bool:
    """Are quotes escaped in `old` and `new` that are not in the file? Then all of `new` would go in spoilt."""
    return any(quote in old and quote in new and quote not in there for quote in ("\\'", '\\"'))


_NUMBERED: Final = re.compile(r"^ *\d+\t", re.MULTILINE)


def _without_numbers(old: str, new: str) -> tuple[str, str]:
    """Both texts without the line numbers that read_file shows, if every line of `old` has one."""
    lines = _lines_of(old)[0]
    if not all(_NUMBERED.match(line) for line in lines):
        return old, new
    return _NUMBERED.sub("", old), _NUMBERED.sub("", new)


def _without_blank_lines(old: str, new: str) -> tuple[str, str]:
    """Both texts without the blank lines before and after; `new` loses no more than `old`."""
    while "\n" in old and not old.partition("\n")[0].strip():
        old = old.partition("\n")[2]
        first, _, rest = new.partition("\n")
        new = new if first.strip() else rest
    while old.endswith("\n"):
        old = old[:-1].rstrip(" \t")
        new = new[:-1].rstrip(" \t") if new.endswith("\n") else new
    return old, new


_UNWRAPPED: Final[tuple[tuple[How, Callable[[str, str], tuple[str, str]]], ...]] = (
    ("line numbers", _without_numbers),
    ("blank lines around it", _without_blank_lines),
)


def apply(text: str, match: Match) -> str:
    """`text` with the match's spans replaced."""
    out: list[str] = []
    at = 0
    for span in match.spans:
        out += (text[at : span.start], span.new)
        at = span.end
    return "".join((*out, text[at:]))


# -- the file -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Hit:
    """A place in the file's text with plain line ends, and what goes there."""

    start: int
    end: int
    new: str


class _File:
    """A file's text with every CRLF as LF, its lines, and the way back to the original."""

    def __init__(self, text: str) -> None:
        self.original = text
        self.has_crlf = "\r\n" in text
        self.text = text.replace("\r\n", "\n") if self.has_crlf else text
        # How many CRs were taken out before each one's position, for the way back.
        self._cuts = [m.start() - i for i, m in enumerate(re.finditer("\r\n", text))] if self.has_crlf else []
        self.all_crlf = self.has_crlf and len(self._cuts) == self.text.count("\n")
        self.lines = self.text.split("\n")
        self.starts: list[int] = []
        at = 0
        for line in self.lines:
            self.starts.append(at)
            at += len(line) + 1

    @cached_property
    def bare(self) -> list[str]:
        """The lines without any blanks: a quick look for what cannot be there."""
        return ["".join(line.split()) for line in self.lines]

    @cached_property
    def bare_plain(self) -> list[str]:
        """As `bare`, look-alike characters folded."""
        return ["".join(line.split()) for line in self.text.translate(_GLYPH_TABLE).split("\n")]

    def line_of(self, position: int) -> int:
        """The index of the line that holds a position of `text`."""
        return bisect_right(self.starts, position) - 1

    def place(self, line: int, count: int = 1) -> Place:
        shown = [cut if len(cut := text[: limits.MATCH_LINE_CHARS]) == len(text) else cut + " ..." for text in
                 self.lines[line : line + count]]  # fmt: skip
        return Place(line + 1, "\n".join(shown))

    def span(self, hit: _Hit) -> Span:
        """The hit in terms of the original, without what it leaves as it is, with the line ends of its place."""
        start, end, new = hit.start, hit.end, hit.new
        old = self.text[start:end]
        head = _common_prefix(old, new)
        tail = _common_prefix(old[head:][::-1], new[head:][::-1])
        start, end, new = start + head, end - tail, new[head : len(new) - tail]
        if self.has_crlf and "\n" in new and self._crlf_at(start):
            new = new.replace("\n", "\r\n")
        return Span(self.back(start), self.back(end), new)

    def back(self, position: int) -> int:
        """The original's position. A line end counts as one place: before its CR."""
        return position + (bisect_right(self._cuts, position - 1) if self._cuts else 0)

    def _crlf_at(self, position: int) -> bool:
        """Does the line at `position` end in CRLF? The last line goes by the one before it."""
        if self.all_crlf:
            return True
        line_end = self.text.find("\n", position)
        if line_end < 0:
            line_end = self.text.rfind("\n")
        i = bisect_right(self._cuts, line_end) - 1
        return i >= 0 and self._cuts[i] == line_end


def _common_prefix(a: str, b: str) -> int:
    if a == b:
        return len(a)
    low, high = 0, min(len(a), len(b))
    while low < high:  # by halves: slices compare faster than a loop over characters
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low


def _apart(hits: Sequence[_Hit]) -> list[_Hit]:
    """The hits from left to right, those that overlap an earlier one left out."""
    out: list[_Hit] = []
    for hit in hits:
        if not out or hit.start >= out[-1].end:
            out.append(hit)
    return out


def _occurrences(text: str, part: str) -> list[int]:
    """Positions of `part` side by side; a single one is joined by one that overlaps it: "aa" in "aaa" is ambiguous."""
    found: list[int] = []
    at = text.find(part) if part else -1
    while at >= 0 and len(found) <= limits.MATCH_MOST:
        found.append(at)
        at = text.find(part, at + len(part))
    if len(found) == 1 and (at := text.find(part, found[0] + 1)) >= 0:
        found.append(at)
    return found


# -- folding: look at a text as if some differences were not there --------------------------------------------------


class _Folded:
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
_GLYPH_TABLE: Final = str.maketrans(_GLYPHS)


def _fold_glyphs(text: str) -> _Folded:
    return _Folded(text, _GLYPH, lambda m: _GLYPHS[m[0]])


def _fold_glyphs_one_dash(text: str) -> _Folded:
    """As `_fold_glyphs`, but every dash is one hyphen: some models write an em dash as "-"."""
    return _Folded(text, _DASH, lambda m: "-" if m[0] in ("\u2014", "\u2015", "--") else _GLYPHS[m[0]])


# -- the rungs ----------------------------------------------------------------------------------------------------


def _exact(file: _File, old: str, new: str) -> list[_Hit]:
    return [_Hit(at, at + len(old), new) for at in _occurrences(file.text, old)]


def _trailing_blanks(file: _File, old: str, new: str) -> list[_Hit]:
    return _whole_lines(file, file.bare, old, new, str.rstrip)


def _indentation(file: _File, old: str, new: str) -> list[_Hit]:
    return _whole_lines(file, file.bare, old, new, str.strip)


def _look_alikes(file: _File, old: str, new: str) -> list[_Hit]:
    if file.text.isascii() and old.isascii():
        return []
    for fold in (_fold_glyphs, _fold_glyphs_one_dash):
        folded_old = fold(old).text
        if not folded_old.strip():
            return []
        folded = fold(file.text)
        hits = []
        for at in _occurrences(folded.text, folded_old):
            start, end = folded.back(at, at + len(folded_old))
            hits.append(_Hit(start, end, _keep_glyphs(file.text[start:end], old, new)))
        if hits:
            return hits
    return []


def _keep_glyphs(there: str, old: str, new: str) -> str:
    """`new`, with the file's own characters wherever the edit leaves the text as it was.

    A character that stands for several ("—" for "--") stays when any of them does. Where the quote has the
    typographic characters and the file the plain ones, `new` gets plain ones too.
    """
    foreign = {ord(char): plain for char, plain in _GLYPHS.items() if char in old and char not in there}
    new = new.translate(foreign)
    fold = _fold_glyphs if _fold_glyphs(there).text == _fold_glyphs(old).text else _fold_glyphs_one_dash
    folded, plain = fold(there), fold(old).text
    head = _common_prefix(plain, new)
    tail = _common_prefix(plain[head:][::-1], new[head:][::-1])
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


def _escapes(file: _File, old: str, new: str) -> list[_Hit]:
    r"""`old` was escaped once too often: a backslash and a t where the file has a tab.

    In `new` only what the matched text shows to be wrong is undone. A written-out `\n` stays: line breaks come
    through as they are, and `\n` is far more often part of a string.
    """
    plain = old.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r")
    if plain == old:
        return []
    hits = []
    for at in _occurrences(file.text, plain):
        there = file.original[file.back(at) : file.back(at + len(plain))]
        fixed = new.replace("\\t", "\t") if "\t" in there else new
        fixed = fixed.replace("\\r", "\r") if "\r" in there else fixed
        hits.append(_Hit(at, at + len(plain), fixed))
    return hits


def _inner_blanks(file: _File, old: str, new: str) -> list[_Hit]:
    if not old.strip() or "".join(old.split()) not in "".join(file.bare):
        return []
    for key in (_blanks_key, _squeeze_key):
        if hits := _whole_lines(file, file.bare, old, new, key):
            return hits
    # Part of a line. Indentation before the first word belongs to the line, not to what is looked for.
    indent = len(old) - len(old.lstrip(" \t"))
    shorter = new[indent:] if not new[:indent].strip() else new.lstrip(" \t")
    part = old.strip(" \t")
    for expression in (_any_blanks(part), _optional_blanks(part)):
        found = islice(expression.finditer(file.text), limits.MATCH_MOST + 1)
        if hits := [_Hit(place.start(), place.end(), shorter) for place in found]:
            return hits
    return []


_BLANKS: Final = re.compile(r"[ \t]+")
_TOKEN: Final = re.compile(r"\w+|[^\w \t]")


def _blanks_key(line: str) -> str:
    return _BLANKS.sub(" ", line.strip())


def _squeeze_key(line: str) -> str:
    """Blanks only where they part two words: `f(a, b)` is `f(a,b)`."""
    return "".join(before + token for before, token in _tokens(line, " ", ""))


def _any_blanks(text: str) -> re.Pattern[str]:
    return re.compile(r"[ \t]+".join(map(re.escape, _BLANKS.split(text))))


def _optional_blanks(text: str) -> re.Pattern[str]:
    return re.compile("".join(before + re.escape(token) for before, token in _tokens(text, r"[ \t]+", r"[ \t]*")))


def _tokens(text: str, parted: str, joined: str) -> Iterator[tuple[str, str]]:
    """The words and signs of a text, each with what stands before it: `parted` between two words, else `joined`."""
    after_word = False
    first = True
    for token in _TOKEN.findall(text):
        word = token[0].isalnum() or token[0] == "_"
        yield ("" if first else parted if word and after_word else joined), token
        after_word, first = word, False


def _indentation_and_look_alikes(file: _File, old: str, new: str) -> list[_Hit]:
    if file.text.isascii() and old.isascii():
        return []
    return _whole_lines(file, file.bare_plain, old, new, lambda line: _squeeze_key(line.translate(_GLYPH_TABLE)))


def _similar_lines(file: _File, old: str, new: str) -> list[_Hit]:
    """Three lines or more whose first and last stand in the file, with nearly the same between them.

    At least half of the lines between must be the same, and the whole of them similar: this forgives one misquoted
    line, not a block that is something else.
    """
    wanted, tail = _lines_of(old)
    keys = [line.strip() for line in wanted]
    size = len(keys)
    if size < 3 or not keys[0] or not keys[-1]:
        return []
    hits: list[_Hit] = []
    lines = [line.strip() for line in file.lines]
    for first in range(len(lines) - size + 1):
        if lines[first] != keys[0] or lines[first + size - 1] != keys[-1] or len(hits) > limits.MATCH_PLACES:
            continue
        between = lines[first + 1 : first + size - 1]
        same = sum(a == b for a, b in zip(between, keys[1:-1], strict=True))
        a, b = "\n".join(between), "\n".join(keys[1:-1])
        if 2 * same < len(between) or len(a) * len(b) > limits.MATCH_COMPARE:
            continue
        matcher = SequenceMatcher(None, a, b, autojunk=False)
        if matcher.quick_ratio() >= _SIMILAR and matcher.ratio() >= _SIMILAR:
            hits.append(_line_hit(file, first, wanted, tail, new))
    return hits


_SIMILAR: Final = 0.8

_LADDER: Final[tuple[tuple[How, Callable[[_File, str, str], list[_Hit]]], ...]] = (
    ("exact", _exact),
    ("trailing blanks", _trailing_blanks),
    ("indentation", _indentation),
    ("look-alike characters", _look_alikes),
    ("escapes", _escapes),
    ("blanks inside lines", _inner_blanks),
    ("indentation and look-alike characters", _indentation_and_look_alikes),
    ("some words", _similar_lines),
)


# -- whole lines --------------------------------------------------------------------------------------------------


def _lines_of(text: str) -> tuple[list[str], bool]:
    """The lines of a text, and whether it ends with a line end."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        return lines[:-1], True
    return lines, False


def _whole_lines(file: _File, bare: Sequence[str], old: str, new: str, key: Callable[[str], str]) -> list[_Hit]:
    """Find the lines of `old` as whole lines of the file, compared by `key`.

    `bare` are the file's lines without blanks: lines with equal keys are equal there, and comparing them is quick.
    """
    wanted, tail = _lines_of(old)
    keys = [key(line) for line in wanted]
    first_look = ["".join(k.split()) for k in keys]
    if not any(first_look):
        return []
    # Begin at the line of `old` that is rarest in the file: blank lines and braces would make this quadratic.
    rarest = min((i for i, k in enumerate(first_look) if k), key=lambda i: bare.count(first_look[i]))
    size = len(keys)

    def stands_at(first: int) -> bool:
        return (
            bare[first : first + size] == first_look
            and [key(line) for line in file.lines[first : first + size]] == keys
        )

    starts: list[int] = []
    candidates = [i - rarest for i, line in enumerate(bare) if line == first_look[rarest] and i >= rarest]
    for first in candidates:
        if (not starts or first >= starts[-1] + size) and len(starts) <= limits.MATCH_MOST and stands_at(first):
            starts.append(first)
    if len(starts) == 1:  # one that overlaps it makes it ambiguous
        only = starts[0]
        starts += [first for first in candidates if only < first < only + size and stands_at(first)][:1]
    return [_line_hit(file, first, wanted, tail, new) for first in starts]


def _line_hit(file: _File, first: int, wanted: Sequence[str], tail: bool, new: str) -> _Hit:
    """Replace the lines from `first` that stand for `wanted`; `tail`: the line end after them belongs to it."""
    last = first + len(wanted) - 1
    start, end = file.starts[first], file.starts[last] + len(file.lines[last])
    if tail and last + 1 < len(file.lines):
        end += 1
    elif tail and new.endswith("\n"):
        new = new[:-1]  # the file's last line has no end; it gets none
    return _Hit(start, end, _reindent(wanted, file.lines[first : last + 1], new))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _reindent(wanted: Sequence[str], there: Sequence[str], new: str) -> str:
    """`new` with the indentation the file has where `wanted` was quoted with another.

    A shift that is the same for every line is made for the new lines too. Tabs for blanks (or the other way) are
    exchanged by the width the quoted lines show. Any other difference is followed only when `new` keeps a line whose
    indentation differs, because the new lines must then agree with that one; else `new` is taken as written.
    """
    pairs = [(_indent(a), _indent(b)) for a, b in zip(wanted, there, strict=True) if a.strip() and b.strip()]
    if not pairs or all(a == b for a, b in pairs):
        return new
    added, removed = pairs[0][1], pairs[0][0]
    if removed and added.endswith(removed):
        added, removed = added[: -len(removed)], ""
    elif added and removed.endswith(added):
        added, removed = "", removed[: -len(added)]
    if not removed and all(b == added + a for a, b in pairs):
        return _each_line(new, lambda indent: added + indent)
    if not added and all(a == removed + b for a, b in pairs):
        return _each_line(new, lambda indent: indent[_common_prefix(indent, removed) :])
    table = dict(pairs)
    if any(("\t" in a) != ("\t" in b) for a, b in pairs) or _keeps_moved_line(wanted, there, new):
        return _each_line(new, lambda indent: table[indent] if indent in table else _carry_over(indent, table))
    return new


def _each_line(text: str, change: Callable[[str], str]) -> str:
    """Change the indentation of every line that is not blank."""
    lines = text.split("\n")
    return "\n".join(change(_indent(line)) + line[len(_indent(line)) :] if line.strip() else line for line in lines)


def _keeps_moved_line(wanted: Sequence[str], there: Sequence[str], new: str) -> bool:
    kept = {line.strip() for line in new.split("\n")}
    return any(a.strip() and a.strip() in kept and _indent(a) != _indent(b) for a, b in zip(wanted, there, strict=True))


def _carry_over(indent: str, table: dict[str, str]) -> str:
    """An indentation that was not quoted: from the nearest shallower quoted one on, in the file's own units."""
    width = _width(indent)
    below = [(a, b) for a, b in table.items() if _width(a) <= width]
    base_old, base_new = max(below, key=lambda ab: _width(ab[0])) if below else ("", "")
    extra = width - _width(base_old)
    unit_old, unit_new = _unit(table)
    if not unit_old:
        return base_new + " " * extra
    return base_new + unit_new * (extra // unit_old) + " " * (extra % unit_old)


def _unit(table: dict[str, str]) -> tuple[int, str]:
    """One step of indentation: its width as quoted and its text in the file, as the quoted lines show them."""
    steps = sorted(table.items(), key=lambda ab: _width(ab[0]))
    for (a, b), (c, d) in zip([("", ""), *steps], steps, strict=False):
        gap, grown = _width(c) - _width(a), d[len(b) :]
        if gap > 0 and grown and d.startswith(b):
            if set(grown) == {"\t"} and gap % len(grown) == 0:
                return gap // len(grown), "\t"
            return gap, grown
    return 0, ""


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))


# -- when nothing was found -----------------------------------------------------------------------------------------


def _nearest(file: _File, old: str) -> tuple[Place, ...]:
    """The places of the file that share most lines with `old`, or else most words with its longest line."""
    wanted = [line.strip() for line in _lines_of(old)[0]]
    where: dict[str, list[int]] = {line: [] for line in wanted if line}
    for number, line in enumerate(file.lines):
        found = where.get(line.strip())
        if found is not None and len(found) < limits.MATCH_CANDIDATES:
            found.append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(wanted):
        for number in where.get(line, ()):
            votes[max(number - offset, 0)] += len(line)
    if not votes and where:
        words = set(re.findall(r"\w+", max(where, key=len)))
        for number, line in enumerate(file.lines[: limits.MATCH_NEAREST_LINES]):
            shared = len(words.intersection(re.findall(r"\w+", line)))
            if shared * 2 > len(words):
                votes[number] = shared
    best = sorted(votes, key=lambda line: (-votes[line], line))[: limits.MATCH_PLACES]
    count = min(max(len(wanted), 1), limits.MATCH_PLACE_LINES)
    return tuple(file.place(line, count) for line in sorted(best))
