"""The rows of one hunk: old and new lines below or beside each other, with numbers, signs and tints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import Row, Span, Spans
from nanoherm_tui.panes.changed_words import CharRange, Compared, Run, coloured, compare, inked
from nanoherm_tui.panes.wrapped import Piece, code_rows
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, fit, visible, width

if TYPE_CHECKING:
    from agent_core.messages import DiffLine, Hunk

NUMBER = 4  # columns of a line number, more for longer files
LIKE = 0.5  # from here on two lines are versions of one another and get their words marked
BETWEEN = 2  # blanks between old and new side by side

_GROUND = {"same": "panel", "add": "added_bg", "remove": "removed_bg"}
_WORD_GROUND = {"add": "added_word", "remove": "removed_word"}
_TAB = 4
_ENDS = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How a file's rows are laid out."""

    cells: int
    digits: int
    wrap: bool
    split: bool


class HunkRows:
    """The rows of one hunk. Words and colours are worked out when a row is first seen, a piece at a time.

    One that is refused has neither tints nor colours: what is coloured is what will be applied.
    """

    def __init__(self, hunk: Hunk, path: str, shape: Shape, *, is_refused: bool = False) -> None:
        self._lines = hunk.lines
        self._is_refused = is_refused
        self._texts = [visible(line.text, tab_size=_TAB) for line in hunk.lines]
        self._path = path
        self._digits = shape.digits
        self._margin_cells = shape.digits + 3  # number, sign and the blanks around it
        self._wrap = shape.wrap
        self._split = shape.split and not shape.wrap
        self._side = (shape.cells - BETWEEN) // 2 if self._split else shape.cells
        groups = list(_groups(hunk.lines))
        self._ends = {i: _ENDS.get(self._lines[i].end, "") for group in groups for i in _other_ends(self._lines, group)}
        most = max((len(words) for words in self._ends.values()), default=0)
        self._end_cells = most + 1 if most else 0
        self._room = max(self._side - self._margin_cells - self._end_cells, 2)
        self._runs: dict[int, list[Run]] = {}
        self._words: dict[int, list[CharRange]] = {}
        self._rewrites = {
            i: group
            for group in groups
            if group.removed and group.added and not is_refused and max(map(len, group)) <= limits.WORD_DIFF_LINES
            for i in (*group.removed, *group.added)
        }

    def rows(self, key: str) -> Iterator[Row]:
        made = self._beside() if self._split else self._below()
        for row in made:
            yield replace(row, key=key) if key else row
            key = ""

    def _below(self) -> Iterator[Row]:
        """Every line on rows of its own."""
        for index, line in enumerate(self._lines):
            ground, text = self._ground(line.kind), self._texts[index]
            for piece in code_rows(text, self._room if self._wrap else None):
                left = partial(self._left, index, piece)
                words = text[piece.start : piece.end]
                margin = self._margin_cells + piece.hang
                end = (Span(self._ends[index], "muted"),) if index in self._ends and piece.join == "\n" else ()
                yield Row(left, end, bg=ground, margin=margin, join=piece.join, words=words)
            if not line.end:
                yield Row((Span(" " * self._margin_cells), Span(t("dock.no_end"), "muted")), bg=ground)

    def _beside(self) -> Iterator[Row]:
        """Old and new side by side; a line that one side lacks is blank there."""
        index = 0
        while index < len(self._lines):
            if self._lines[index].kind == "same":
                yield self._pair(index, index)
                index += 1
                continue
            group = next(_groups(self._lines, index))
            for old, new in zip_longest(group.removed, group.added):
                yield self._pair(old, new)
            index += len(group.removed) + len(group.added)
        last = [self._lines[i].kind for i in range(len(self._lines)) if not self._lines[i].end]
        if last:
            sides = [t("dock.no_end") if kind in last or "same" in last else "" for kind in ("remove", "add")]
            yield Row(self._sides(*((Span(" " * self._margin_cells), Span(words, "muted")) for words in sides)))

    def _pair(self, old: int | None, new: int | None) -> Row:
        return Row(partial(self._both, old, new), words=partial(self._both_words, old, new))

    def _both(self, old: int | None, new: int | None) -> Spans:
        return self._sides(self._half(old, "remove"), self._half(new, "add"))

    def _sides(self, left: Spans, right: Spans) -> Spans:
        return (*_fitted(left, self._side), Span(" " * BETWEEN), *_fitted(right, self._side))

    def _half(self, index: int | None, side: str) -> Spans:
        if index is None:
            return ()
        line, text = self._lines[index], self._texts[index]
        spans = [*self._margin(line, old=side == "remove"), *self._inked(index, 0, len(text))]
        if index in self._ends:
            spans.append(Span(" " + self._ends[index], "muted"))
        ground = self._ground(line.kind)
        # The last one gives the rest of the side its ground.
        return (*(span if span.bg else replace(span, bg=ground) for span in spans), Span("", bg=ground))

    def _both_words(self, old: int | None, new: int | None) -> str:
        """What `_both` shows, without colours."""
        halves = []
        for index, is_old in ((old, True), (new, False)):
            if index is None:
                halves.append(" " * self._side)
                continue
            line = self._lines[index]
            number, sign = self._number(line, old=is_old), _sign(line.kind)
            end = " " + self._ends[index] if index in self._ends else ""
            halves.append(fit(f"{number}{sign} {self._texts[index]}{end}", self._side))
        return (" " * BETWEEN).join(halves)

    def _left(self, index: int, piece: Piece) -> Spans:
        line = self._lines[index]
        margin = self._margin(line, old=line.kind == "remove")
        spans = margin if piece.join == "\n" else (Span(" " * (self._margin_cells + piece.hang)),)
        return (*spans, *self._inked(index, piece.start, piece.end))

    def _inked(self, index: int, start: int, end: int) -> Iterator[Span]:
        if self._is_refused:
            return iter((Span(self._texts[index][start:end], "muted"),))
        kind = self._lines[index].kind
        ground, word_ground = _GROUND[kind], _WORD_GROUND.get(kind, _GROUND[kind])
        return inked(self._texts[index], start, end, self._coloured(index), self._changed(index), ground, word_ground)

    def _margin(self, line: DiffLine, *, old: bool) -> Spans:
        sign = _sign(line.kind)
        role = None if self._is_refused else {"add": "ok", "remove": "fail"}.get(line.kind)
        mark = Span(sign, role, bold=True, mark=True) if role else Span(sign, "muted")
        return Span(self._number(line, old=old), "muted"), mark, Span(" ")

    def _number(self, line: DiffLine, *, old: bool) -> str:
        number = line.old_line if old else line.new_line
        return f"{'' if number is None else number:>{self._digits}} "

    def _ground(self, kind: str) -> str:
        return _GROUND["same" if self._is_refused else kind]

    # -- worked out on first sight ------------------------------------------------------------------------------

    def _coloured(self, index: int) -> list[Run]:
        if index not in self._runs:
            first = index - index % limits.HIGHLIGHT_LINES
            piece = range(first, min(first + limits.HIGHLIGHT_LINES, len(self._lines)))
            # The old and the new text are each read in one go, so that a string over several lines is seen as one.
            for other in ("add", "remove"):
                mine = [i for i in piece if self._lines[i].kind != other]
                runs = coloured([self._texts[i] for i in mine], self._path)
                for i, found in zip(mine, runs, strict=True):
                    self._runs[i] = found
        return self._runs[index]

    def _changed(self, index: int) -> Sequence[CharRange]:
        """What has changed inside a line of a rewrite, all of whose lines are compared at once."""
        if index in self._rewrites and index not in self._words:
            group = self._rewrites[index]
            self._words |= {i: [] for i in (*group.removed, *group.added)}
            for i, j, compared in _pairs(self._texts, group):
                self._words[i], self._words[j] = compared.old, compared.new
        return self._words.get(index, ())


def _sign(kind: str) -> str:
    return "+" if kind == "add" else sym("removed") if kind == "remove" else " "


def _fitted(spans: Spans, cells: int) -> Iterator[Span]:
    """`spans` in exactly `cells`: the end cut with ⋯, or filled up on the ground of the last one."""
    room = cells
    for number, span in enumerate(spans):
        rest = sum(width(later.text) for later in spans[number + 1 :])
        size = width(span.text)
        if size + rest > room and size + min(rest, 1) > room:
            yield replace(span, text=cut(span.text + " " * room, room))
            return
        room -= size
        yield span
    if room:
        yield Span(" " * room, bg=spans[-1].bg if spans else None)


class Group(NamedTuple):
    """Removed lines and the added ones right after them, by index."""

    removed: list[int]
    added: list[int]


def _groups(lines: Sequence[DiffLine], start: int = 0) -> Iterator[Group]:
    index = start
    while index < len(lines):
        group = Group([], [])
        for kind, members in zip(("remove", "add"), group, strict=True):
            while index < len(lines) and lines[index].kind == kind:
                members.append(index)
                index += 1
        if group.removed or group.added:
            yield group
        else:
            index += 1


def _other_ends(lines: Sequence[DiffLine], group: Group) -> list[int]:
    """The lines of a group whose line ends have to be named, because they are what has changed."""
    old, new = ({lines[i].end for i in members} - {""} for members in group)
    return [*group.removed, *group.added] if old and new and old != new else []


def _pairs(texts: Sequence[str], group: Group) -> Iterator[tuple[int, int, Compared]]:
    """Which added line is the new version of which removed one: by place when there are as many, else the likest."""
    removed, added = group
    by_place = len(removed) == len(added)
    if not by_place and _characters(texts, removed) * _characters(texts, added) > limits.WORD_DIFF_WORK:
        return
    begin = 0
    for place, i in enumerate(removed):
        candidates = [place] if by_place else range(begin, len(added))
        found = [(at, compare(texts[i], texts[added[at]])) for at in candidates]
        at, best = max(found, key=lambda pair: pair[1].likeness, default=(0, None))
        if best is not None and best.likeness >= LIKE:
            yield i, added[at], best
            begin = at + 1


def _characters(texts: Sequence[str], indexes: Iterable[int]) -> int:
    return sum(len(texts[i]) for i in indexes)
