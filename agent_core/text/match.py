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
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate
from typing import Final, Literal

from agent_core import limits
from agent_core.records import dataclass
from agent_core.text import runs
from agent_core.text.indent import reindent
from agent_core.text.look_alikes import PLAIN, Folded, common_prefix, fold, fold_one_dash, keep_look_alikes

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
    if file.has_crlf and old.endswith("\r"):  # cut in the middle of a line end, whose CR stays
        new = new.removesuffix("\r")
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

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins."""
        return list(accumulate((len(line) + 1 for line in self.lines[:-1]), initial=0))

    @cached_property
    def bare(self) -> _Bare:
        return _Bare(self.text)

    @cached_property
    def bare_plain(self) -> _Bare:
        """With look-alike characters folded."""
        return _Bare(self.text.translate(PLAIN))

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
        head = common_prefix(old, new)
        tail = common_prefix(old[head:][::-1], new[head:][::-1])
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


class _Bare:
    """A file's lines without any blanks: a quick look for what cannot be there."""

    def __init__(self, text: str) -> None:
        self.lines = ["".join(line.split()) for line in text.split("\n")]
        self.where = runs.places(self.lines)


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
    for folding in (fold, fold_one_dash):
        folded_old = folding(old).text
        if not folded_old.strip():
            return []
        folded = folding(file.text)
        places = [folded.back(at, at + len(folded_old)) for at in _occurrences(folded.text, folded_old)]
        kept = dict.fromkeys((file.text[start:end] for start, end in places), "")
        for there in kept:
            kept[there] = keep_look_alikes(there, old, new)
        if hits := [_Hit(start, end, kept[file.text[start:end]]) for start, end in places]:
            return hits
    return []


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
    if not old.strip() or "".join(old.split()) not in "".join(file.bare.lines):
        return []
    for key in (_blanks_key, _squeeze_key):
        if hits := _whole_lines(file, file.bare, old, new, key):
            return hits
    # Part of a line. Indentation before the first word belongs to the line, not to what is looked for.
    indent = len(old) - len(old.lstrip(" \t"))
    shorter = new[indent:] if not new[:indent].strip() else new.lstrip(" \t")
    part = old.strip(" \t")
    for put in (_one_blank, _needed_blank):
        squeezed, wanted = Folded(file.text, _BLANKS, put), Folded(part, _BLANKS, put).text
        places = (squeezed.back(at, at + len(wanted)) for at in _occurrences(squeezed.text, wanted))
        if hits := [_Hit(start, end, shorter) for start, end in places]:
            return hits
    return []


_BLANKS: Final = re.compile(r"[ \t]+")


def _blanks_key(line: str) -> str:
    return _BLANKS.sub(" ", line.strip())


def _squeeze_key(line: str) -> str:
    """Blanks only where they part two words: `f(a, b)` is `f(a,b)`."""
    return _BLANKS.sub(_needed_blank, line.strip(" \t"))


def _one_blank(found: re.Match[str]) -> str:
    return " "


def _needed_blank(found: re.Match[str]) -> str:
    before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
    return " " if _is_word(before) and _is_word(after) else ""


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _indentation_and_look_alikes(file: _File, old: str, new: str) -> list[_Hit]:
    if file.text.isascii() and old.isascii():
        return []
    key = LINE_RUNGS[-1][1]
    return _whole_lines(file, file.bare_plain, old, new, key)


def _similar_lines(file: _File, old: str, new: str) -> list[_Hit]:
    """Three lines or more whose first and last stand in the file, with nearly the same between them.

    At least half of the lines between must be the same, and the whole of them similar: this forgives one misquoted
    line, not a block that is something else.
    """
    wanted, tail = _lines_of(old)
    keys = [line.strip() for line in wanted]
    lines = [line.strip() for line in file.lines]
    return [_line_hit(file, first, wanted, tail, new) for first in similar_starts(lines, keys)]


def similar_starts(lines: Sequence[str], keys: Sequence[str]) -> list[int]:
    """Where in `lines` something like `keys` begins (`_similar_lines`); both without the blanks around each line."""
    size = len(keys)
    if size < 3 or not keys[0] or not keys[-1]:
        return []
    ends = [i for i in range(len(lines) - size + 1) if lines[i] == keys[0] and lines[i + size - 1] == keys[-1]]
    if len(ends) * size > limits.RUNS_DIRECT:
        return []
    starts: list[int] = []
    room = limits.MATCH_ALIKE
    for first in ends:
        between = lines[first + 1 : first + size - 1]
        same = sum(a == b for a, b in zip(between, keys[1:-1], strict=True))
        a, b = "\n".join(between), "\n".join(keys[1:-1])
        if 2 * same < len(between) or len(a) * len(b) > limits.MATCH_COMPARE or len(starts) > limits.MATCH_PLACES:
            continue
        room -= len(a) * len(b)
        if room < 0:
            return []  # whether one of them is the only one cannot be told in time
        matcher = SequenceMatcher(None, a, b, autojunk=False)
        if matcher.quick_ratio() >= _SIMILAR and matcher.ratio() >= _SIMILAR:
            starts.append(first)
    return starts


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


# The rungs that compare line by line, for what is a list of lines: what has equal keys is taken for equal.
LINE_RUNGS: Final[tuple[tuple[How, Callable[[str], str]], ...]] = (
    ("exact", str),
    ("trailing blanks", str.rstrip),
    ("indentation", str.strip),
    ("look-alike characters", lambda line: fold(line).text),
    ("look-alike characters", lambda line: fold_one_dash(line).text),
    ("blanks inside lines", _blanks_key),
    ("blanks inside lines", _squeeze_key),
    ("indentation and look-alike characters", lambda line: _squeeze_key(line.translate(PLAIN))),
)


# -- whole lines --------------------------------------------------------------------------------------------------


def _lines_of(text: str) -> tuple[list[str], bool]:
    """The lines of a text, and whether it ends with a line end."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        return lines[:-1], True
    return lines, False


def _whole_lines(file: _File, bare: _Bare, old: str, new: str, key: Callable[[str], str]) -> list[_Hit]:
    """Find the lines of `old` as whole lines of the file, compared by `key`. What has equal keys is equal in `bare`."""
    wanted, tail = _lines_of(old)
    keys = [key(line) for line in wanted]
    first_look = ["".join(k.split()) for k in keys]
    if not any(first_look):
        return []
    looks = runs.starts(bare.lines, bare.where, first_look)
    size = len(keys)
    keyed = [""] * len(file.lines)  # of lines that may be meant only
    done = 0
    for first in looks:
        for number in range(max(first, done), first + size):
            keyed[number] = key(file.lines[number])
        done = first + size
    candidates = runs.among(keyed, keys, looks)
    if tail and not file.lines[-1]:  # what follows the last line end is no line
        candidates = [first for first in candidates if first + size < len(file.lines)]
    starts: list[int] = []
    for first in candidates:
        if (not starts or first >= starts[-1] + size) and len(starts) <= limits.MATCH_MOST:
            starts.append(first)
    if len(starts) == 1:  # one that overlaps it makes it ambiguous
        starts += candidates[1:2]
    return [_line_hit(file, first, wanted, tail, new) for first in starts]


def _line_hit(file: _File, first: int, wanted: Sequence[str], tail: bool, new: str) -> _Hit:
    """Replace the lines from `first` that stand for `wanted`; `tail`: the line end after them belongs to it.

    The lines that `wanted` and `new` have in common stay as the file has them: they were only quoted.
    """
    last = first + len(wanted) - 1
    start, end = file.starts[first], file.starts[last] + len(file.lines[last])
    if tail and last + 1 < len(file.lines):
        end += 1
    elif tail and new.endswith("\n"):
        new = new[:-1]  # the file's last line has no end; it gets none
    there = file.lines[first : last + 1]
    return _Hit(start, end, _kept(wanted, there, new, reindent(wanted, there, new)))


def _kept(wanted: Sequence[str], there: Sequence[str], new: str, made: str) -> str:
    """`made`, which is `new` in the file's indentation, with the lines of `there` that `new` has from `wanted`."""
    said, out = new.split("\n"), made.split("\n")
    if len(wanted) * len(said) > limits.MATCH_COMPARE:
        return made
    for i, j, size in SequenceMatcher(None, wanted, said, autojunk=False).get_matching_blocks():
        out[j : j + size] = there[i : i + size]
    return "\n".join(out)


# -- when nothing was found -----------------------------------------------------------------------------------------


def nearest(text: str, old: str) -> tuple[Place, ...]:
    """The places of `text` that are most like `old`, which is not in it."""
    return _nearest(_File(text), old)


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
