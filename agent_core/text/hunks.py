"""The hunks of a patch: where they stand in a file by their content, and what the file becomes.

Line numbers never decide where a hunk goes; of places that are equally good they choose one that they are clearly
nearer to. A hunk whose lines are not there, or are there more than once, goes nowhere. Lines that a patch only quotes
stay as the file has them, whatever had to be forgiven to find them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal

from agent_core import limits
from agent_core.records import dataclass
from agent_core.text import runs
from agent_core.text.indent import reindent_added
from agent_core.text.look_alikes import keep_look_alikes
from agent_core.text.match import LINE_RUNGS, How, Place, nearest, similar_starts


@dataclass(frozen=True, slots=True)
class Line:
    kind: Literal[" ", "-", "+"]
    text: str
    no_end: bool = False
    r"""The patch says that the file ends after it without a line end ("\ No newline at end of file")."""


@dataclass(frozen=True, slots=True)
class PatchHunk:
    lines: tuple[Line, ...]
    hints: tuple[str, ...] = ()
    """Lines that stand above it, the outermost first ("@@ class B")."""
    line: int | None = None
    """Where a unified diff says that it begins, from 1."""
    at_end: bool = False
    """Its last line is said to be the file's."""


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch does to one file."""

    does: Literal["add", "update", "delete", "move"]
    path: str
    new_path: str = ""
    """Where it goes, with "move" and perhaps with "update"."""
    hunks: tuple[PatchHunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgiven:
    """A hunk that was not quoted exactly, and what stands in its place now."""

    hunk: int
    """From 1."""
    how: How | Literal["its place"]
    place: Place


@dataclass(frozen=True, slots=True)
class Applied:
    text: str
    forgiven: tuple[Forgiven, ...] = ()


@dataclass(frozen=True, slots=True)
class NoPlace:
    """No hunk was applied, because of this one."""

    hunk: int
    """From 1."""
    reason: Literal["missing", "several", "no such hint", "several hints", "no context", "no change", "overlap"]
    places: tuple[Place, ...] = ()
    """Where it was found, or what comes nearest."""
    count: int = 0
    hint: str = ""


def apply(text: str, hunks: Sequence[PatchHunk], newline: str = "\n") -> Applied | NoPlace:
    """`text` with all hunks applied, or why not. `newline`: the line end that most of its lines have. Pure.

    Hunks quote the file as it was; one that is not found there is looked for in what the others have made.
    """
    return _Work(_split(text, newline), newline).apply(hunks)


# -- lines of a file ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    end: str
    """Its line end; empty: the file ends without one."""


def _split(text: str, newline: str) -> list[_Row]:
    parts = re.split("(\r)" if newline == "\r" else "(\r\n|\n)", text)
    rows = [_Row(line, end) for line, end in zip(parts[::2], [*parts[1::2], ""], strict=True)]
    return rows if rows[-1].text else rows[:-1]


class _Index:
    """Where lines stand, by what the rungs take for equal."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._by_rung: dict[int, tuple[list[str], Mapping[str, list[int]]]] = {}
        self._hints: dict[str, list[int]] = {}

    @cached_property
    def stripped(self) -> list[str]:
        return [line.strip() for line in self.lines]

    @cached_property
    def _whole(self) -> Mapping[str, list[int]]:
        return runs.places(self.stripped)

    @cached_property
    def _is_ascii(self) -> bool:
        return all(line.isascii() for line in self.lines)

    def starts(self, wanted: Sequence[str]) -> tuple[list[int], How]:
        """Where `wanted` stands on the first rung that finds it. No place: it is on none."""
        plain = self._is_ascii and all(line.isascii() for line in wanted)
        for rung, (how, key) in enumerate(LINE_RUNGS):
            if plain and "look-alike" in how:
                continue
            keys, where = self._keys(rung)
            if found := runs.starts(keys, where, [key(line) for line in wanted]):
                return found, how
        return similar_starts(self.stripped, [line.strip() for line in wanted]), "some words"

    def hints(self, hint: str) -> list[int]:
        """Lines that are `hint`, or else begin with it, or else hold it; blanks around it do not count."""
        hint = hint.strip()
        if hint not in self._hints:
            tests = (str.startswith, str.__contains__)
            looks = ([i for i, line in enumerate(self.stripped) if test(line, hint)] for test in tests)
            found = self._whole.get(hint)
            self._hints[hint] = found or next((found for found in looks if found), [])
        return self._hints[hint]

    def place(self, first: int, count: int = 1) -> Place:
        shown = [line[: limits.MATCH_LINE_CHARS] for line in self.lines[first : first + count]]
        return Place(first + 1, "\n".join(shown))

    def _keys(self, rung: int) -> tuple[list[str], Mapping[str, list[int]]]:
        if rung not in self._by_rung:
            keys = [LINE_RUNGS[rung][1](line) for line in self.lines]
            self._by_rung[rung] = keys, runs.places(keys)
        return self._by_rung[rung]


# -- placing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Edit:
    """Replace rows[start:end]."""

    start: int
    end: int
    rows: tuple[_Row, ...]


@dataclass(frozen=True, slots=True)
class _Placed:
    start: int
    """The first line it quotes, from 0."""
    how: How | Literal["its place"]
    edits: tuple[_Edit, ...]
    final_end: str | None
    """What the file's last line ends with, when the hunk says so."""
    size: int
    """Lines it leaves in its place."""


class _Work:
    def __init__(self, rows: Sequence[_Row], newline: str) -> None:
        self._rows = list(rows)
        self._newline = newline
        self._ended = not rows or bool(rows[-1].end)
        self._index = _Index([row.text for row in rows])

    def apply(self, hunks: Sequence[PatchHunk]) -> Applied | NoPlace:
        waiting = list(enumerate(hunks, 1))
        placed: list[tuple[int, _Placed]] = []
        """By number; where each is in the file as it is after the rounds so far."""
        for _ in range(limits.PATCH_ROUNDS):
            found, missing = self._round(waiting)
            stopped = next((miss for miss in missing if miss.reason not in ("missing", "no such hint")), None)
            if stopped is not None:
                return stopped
            if not found or len(missing) > limits.PATCH_MISSING:
                break
            edits = sorted((e for _, one in found for e in one.edits), key=lambda edit: (edit.start, edit.end))
            for before, after in pairwise(edits):
                if after.start < before.end:
                    return NoPlace(found[-1][0], "overlap", (self._index.place(after.start),))
            placed = [(number, _moved(one, edits)) for number, one in (*placed, *found)]
            self._write(edits)
            if not missing:
                return self._applied(placed)
            failed = {miss.hunk for miss in missing}
            waiting = [(number, hunk) for number, hunk in waiting if number in failed]
        return self._near(missing[0], hunks[missing[0].hunk - 1])

    def _near(self, miss: NoPlace, hunk: PatchHunk) -> NoPlace:
        """With the places that come nearest."""
        wanted = miss.hint or "\n".join(line.text for line in hunk.lines if line.kind != "+")
        return replace(miss, places=nearest("\n".join(self._index.lines), wanted))

    def _round(self, hunks: Sequence[tuple[int, PatchHunk]]) -> tuple[list[tuple[int, _Placed]], list[NoPlace]]:
        """The places of hunks in the file as it is now, and those that have none."""
        drift = 0
        found: list[tuple[int, _Placed]] = []
        missing: list[NoPlace] = []
        for number, hunk in hunks:
            place = self._place(number, hunk, drift)
            if isinstance(place, NoPlace):
                missing.append(place)
                if len(missing) > limits.PATCH_MISSING:
                    break
                continue
            if hunk.line is not None:
                drift = place.start + 1 - hunk.line
            found.append((number, place))
        return found, missing

    def _place(self, number: int, hunk: PatchHunk, drift: int) -> _Placed | NoPlace:
        if all(line.kind == " " for line in hunk.lines):
            return NoPlace(number, "no change")
        quoted = [line.text for line in hunk.lines if line.kind != "+"]
        if not quoted:
            return self._insertion(number, hunk)
        starts, how = self._index.starts(quoted)
        if not starts:
            plain = _unescaped(hunk)
            if plain is not None and (found := self._index.starts([x.text for x in plain.lines if x.kind != "+"]))[0]:
                hunk, starts, how = plain, found[0], "escapes"
        if not starts:
            return NoPlace(number, "missing")
        chosen = self._chosen(starts, hunk, len(quoted), drift) if len(starts) > 1 else starts
        if len(chosen) != 1:
            places = tuple(self._index.place(start) for start in chosen[: limits.MATCH_PLACES])
            return NoPlace(number, "several", places, len(chosen))
        return self._fitted(hunk, chosen[0], len(quoted), how)

    def _chosen(self, starts: list[int], hunk: PatchHunk, size: int, drift: int) -> list[int]:
        """Those of several places that the patch can mean: by its end, by the lines above it, by its number."""
        if hunk.at_end and starts[-1] + size == len(self._rows):
            return [starts[-1]]
        if hunk.hints:
            below = _firsts(starts, [line - size + 1 for line in self._under(hunk.hints)])
            starts = below or starts
        if hunk.line is not None and len(starts) > 1:
            wanted = hunk.line - 1 + drift
            best, second = sorted(starts, key=lambda start: abs(start - wanted))[:2]
            # Of two that the number misses by about as much, either may be meant.
            if 2 * abs(best - wanted) < abs(second - wanted):
                starts = [best]
        return starts

    def _under(self, hints: Sequence[str]) -> list[int]:
        """Lines of the last hint that come after one of the hint before it, and so on."""
        lines = self._index.hints(hints[0])
        for hint in hints[1:]:
            lines = _firsts(self._index.hints(hint), [above + 1 for above in lines])
        return lines

    def _insertion(self, number: int, hunk: PatchHunk) -> _Placed | NoPlace:
        """A hunk that only adds goes below the line it names; where it names none, to the end of the file.

        What names a line that is not there, or only a number, has no place.
        """
        rows = self._rows
        at, how = len(rows), "its place" if rows and not hunk.at_end else "exact"
        if hunk.hints:
            found = self._under(hunk.hints)
            places = tuple(self._index.place(line) for line in found[: limits.MATCH_PLACES])
            if len(found) > 1:
                return NoPlace(number, "several hints", places, len(found), hunk.hints[-1])
            if not found:
                return NoPlace(number, "no such hint", hint=hunk.hints[-1])
            at, how = found[0] + 1, "exact"
        elif hunk.line is not None and rows and not hunk.at_end:
            return NoPlace(number, "no context")
        end = self._end_at(at - 1)
        added = tuple(_Row(line.text, end) for line in hunk.lines)
        final_end = _final_end(hunk, self._newline) if at == len(rows) else None
        return _Placed(
            at, "its place" if how == "its place" else "exact", (_Edit(at, at, added),), final_end, len(added)
        )

    def _fitted(self, hunk: PatchHunk, start: int, size: int, how: How) -> _Placed:
        """The hunk at `start`, its new lines with the indentation, the characters and the line ends of that place."""
        rows = self._rows[start : start + size]
        new = iter(self._new_lines(hunk, [row.text for row in rows], how))
        edits: list[_Edit] = []
        at = start
        for line in hunk.lines:
            if line.kind == " ":
                at += 1
                continue
            if not edits or edits[-1].end != at:
                edits.append(_Edit(at, at, ()))
            last = edits[-1]
            if line.kind == "-":
                at += 1
                edits[-1] = replace(last, end=at)
            else:
                edits[-1] = replace(last, rows=(*last.rows, _Row(next(new), self._end_at(max(at - 1, start)))))
        final_end = _final_end(hunk, self._newline) if start + size == len(self._rows) else None
        return _Placed(start, how, tuple(edits), final_end, sum(line.kind != "-" for line in hunk.lines))

    def _new_lines(self, hunk: PatchHunk, there: list[str], how: How) -> Iterator[str]:
        """The lines that the hunk adds."""
        added = [line.text for line in hunk.lines if line.kind == "+"]
        if not added or how == "exact":
            return iter(added)
        quoted = [line for line in hunk.lines if line.kind != "+"]
        if "look-alike" in how:
            old, new = ("\n".join(x.text for x in hunk.lines if x.kind != gone) for gone in "+-")
            kept = keep_look_alikes("\n".join(there), old, new).split("\n")
            sides = [line.kind for line in hunk.lines if line.kind != "-"]
            if len(kept) == len(sides):
                added = [text for text, kind in zip(kept, sides, strict=True) if kind == "+"]
        stays = [line.kind == " " for line in quoted]
        return iter(reindent_added([line.text for line in quoted], there, stays, "\n".join(added)).split("\n"))

    def _end_at(self, line: int) -> str:
        """The line end at a line; where it has none, that of the line before it."""
        ends = (self._rows[i].end for i in (line, line - 1) if 0 <= i < len(self._rows))
        return next((end for end in ends if end), self._newline)

    def _write(self, edits: Sequence[_Edit]) -> None:
        out: list[_Row] = []
        at = 0
        for edit in edits:
            out += (*self._rows[at : edit.start], *edit.rows)
            at = edit.end
        self._rows = [*out, *self._rows[at:]]
        self._index = _Index([row.text for row in self._rows])

    def _applied(self, placed: Sequence[tuple[int, _Placed]]) -> Applied:
        rows = [row if row.end else replace(row, end=self._end_at(i - 1)) for i, row in enumerate(self._rows)]
        said = [found.final_end for _, found in placed if found.final_end is not None]
        if rows and (said[-1] == "" if said else not self._ended):
            rows[-1] = replace(rows[-1], end="")
        forgiven = tuple(
            Forgiven(number, found.how, self._index.place(found.start, min(found.size, limits.MATCH_PLACE_LINES)))
            for number, found in sorted(placed, key=lambda one: one[0])
            if found.how != "exact"
        )
        return Applied("".join(row.text + row.end for row in rows), forgiven)


def _firsts(places: list[int], least: Sequence[int]) -> list[int]:
    """The first of `places` from each of `least` on; both in order."""
    at = {bisect_left(places, one) for one in least}
    return [places[i] for i in sorted(at) if i < len(places)]


def _moved(found: _Placed, edits: Sequence[_Edit]) -> _Placed:
    """A hunk's place when all of these edits have been made."""
    grown = sum(len(edit.rows) - edit.end + edit.start for edit in edits if edit.start < found.start)
    return replace(found, start=found.start + grown) if grown else found


def _final_end(hunk: PatchHunk, newline: str) -> str | None:
    """What the file's last line shall end with, when the patch says so of this hunk, which is the file's last."""
    if any(line.no_end and line.kind != "-" for line in hunk.lines):
        return ""
    return newline if any(line.no_end for line in hunk.lines) else None


_ESCAPED_TAB: Final = "\\t"


def _unescaped(hunk: PatchHunk) -> PatchHunk | None:
    r"""The hunk with tabs where it has a backslash and a t; None when it has none."""
    if not any(_ESCAPED_TAB in line.text for line in hunk.lines if line.kind != "+"):
        return None
    return replace(hunk, lines=tuple(replace(line, text=line.text.replace(_ESCAPED_TAB, "\t")) for line in hunk.lines))
