"""Changes of files as rows: numbers, signs, tints; what changed inside a line in a stronger tint.

While browsing a line is cut at the pane's edge, and old and new may stand side by side; while a change waits for an
answer lines are wrapped, one below the other, so that nothing that is approved is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from itertools import accumulate, zip_longest
from typing import NamedTuple

from agent_core.messages import DiffLine, FileDiff, Hunk
from agent_core.records import dataclass
from agent_core.text.diff import moves
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import BLANK, Row, Span, Spans
from nanoherm_tui.panes.comments import Comments, anchor_of
from nanoherm_tui.panes.wrapped import Piece, code_rows
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, cut_path, fit, visible, width
from nanoherm_tui.text import wrap as text_wrap
from nanoherm_tui.transcript.highlight import PLAIN, Ink, highlight, language_of

NUMBER = 4  # columns of a line number, more for longer files
LIKE = 0.5  # from here on two lines are versions of one another and get their words marked
BETWEEN = 2  # blanks between old and new side by side
FOLD = "fold "  # begins the key of a row that stands for unchanged lines

_GROUND = {"same": "panel", "add": "added_bg", "remove": "removed_bg"}
_WORD_GROUND = {"add": "added_word", "remove": "removed_word"}
_WORDS = re.compile(r"\w+|\s+|.")
_TAB = 4
_ENDS = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}

CharRange = tuple[int, int]
Run = tuple[int, int, Ink]
"""Characters start to end of a line, and how they are coloured."""


@dataclass(frozen=True, slots=True)
class Fold:
    """What is known about a run of unchanged lines that was asked for."""

    shown: int = 0
    """How many of its lines are shown."""
    file: Sequence[str] = ()
    """All lines of the file."""
    old: bool = False
    """They are the file's before the change."""
    problem: str = ""
    """Why the lines cannot be shown."""


def diff_rows(
    diffs: Sequence[FileDiff],
    cells: int,
    *,
    wrap: bool,
    split: bool = False,
    folds: Mapping[str, Fold] | None = None,
    refused: Collection[str] = (),
    comments: Comments | None = None,
) -> list[Row]:
    """The rows of `diffs`, with `split` old and new side by side. `folds` are the unfolded runs, by their rows' key.

    One row of every hunk has a key: its first one (of a file's first hunk the file's heading), or with `wrap` the
    hunk's own heading, which says whether it is `refused`. Rows that stand for unchanged lines have one that begins
    with FOLD. Without `wrap` no more files than fit into limits.DIFF_ROWS are shown; the rest is counted.
    """
    rows: list[Row] = []
    # What waits for an answer is shown whole, unless it is said to move as it is.
    moved = moves(diffs) | ({} if wrap else _moved(diffs))
    for number, diff in enumerate(diffs):
        if number in moved.values():
            continue  # the other half of a move
        if rows:
            rows.append(BLANK)
        if not wrap and len(rows) > limits.DIFF_ROWS:
            left_out = len(diffs) - number
            words = t("dock.older_one") if left_out == 1 else t("dock.older", n=left_out)
            rows.append(_note(words, NUMBER))
            break
        if number in moved:
            key, old = f"{number}.0", diffs[moved[number]].path
            rows += _move_asked(diff, old, cells, key, refused) if wrap else _move(diff, old, cells, key)
            continue
        rows += _file_rows(diff, number, _Shape(cells, _digits(diff), wrap, split), folds or {}, refused, comments)
    return rows


def _digits(diff: FileDiff) -> int:
    last = max((max(h.old_start, h.new_start) + len(h.lines) for h in diff.hunks), default=0)
    return max(NUMBER, len(str(max(last, diff.lines_after))))


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a file's rows are laid out."""

    cells: int
    digits: int
    wrap: bool
    split: bool


def _file_rows(
    diff: FileDiff,
    number: int,
    shape: _Shape,
    folds: Mapping[str, Fold],
    refused: Collection[str],
    comments: Comments | None,
) -> list[Row]:
    rows = _heading(diff, shape.cells, wrap=shape.wrap)
    if diff.old_path:
        rows.append(_note(t("dock.moved_from"), NUMBER, sign=False))
        rows += _old_path(diff.old_path, shape.cells, wrap=shape.wrap)
    old_end: int | None = None
    new_end = 0
    for index, hunk in enumerate(diff.hunks):
        if old_end is not None and hunk.new_start > new_end:
            gap = _Gap(f"{FOLD}{number}.{index}", old_end, new_end, hunk.new_start - new_end)
            rows += _gap_rows(gap, diff.path, shape, folds.get(gap.key))
        old_end = hunk.old_start + max(1, sum(line.kind != "add" for line in hunk.lines))
        new_end = hunk.new_start + max(1, sum(line.kind != "remove" for line in hunk.lines))
        key = f"{number}.{index}"
        is_refused = key in refused
        if shape.wrap:
            words = t("dock.hunk", n=index + 1, total=len(diff.hunks))
            rows.append(_hunk_heading(words, key, is_refused=is_refused, is_decided=bool(refused)))
            key = ""
        elif index == 0:
            rows[0] = replace(rows[0], key=key)
            key = ""
        rows += _HunkRows(hunk, diff.path, shape, is_refused=is_refused).rows(key)
        if comments and (words := comments.on(anchor_of(diff, hunk))):
            rows += _comment_rows(words, shape)
    below = diff.lines_after - new_end + 1 if old_end is not None and not diff.omitted_lines else 0
    if old_end is not None and below > 0:
        gap = _Gap(f"{FOLD}{number}.{len(diff.hunks)}", old_end, new_end, below)
        rows += _gap_rows(gap, diff.path, shape, folds.get(gap.key))
    if diff.omitted_lines:
        rows.append(_note(t("dock.left_out", n=diff.omitted_lines), shape.digits))
    return rows


def _hunk_heading(words: str, key: str, *, is_refused: bool, is_decided: bool) -> Row:
    """What would be done with the hunk, by sign and word. Before the first is refused nothing is said of any."""
    if is_refused:
        mark, said = Span(sym("failed"), "fail", bold=True, mark=True), Span(t("dock.hunk_refused"), "fail")
    elif is_decided:
        mark, said = Span(sym("done"), "ok", bold=True, mark=True), Span(t("dock.hunk_taken"), "muted")
    else:
        mark, said = Span(sym("waiting"), "muted"), Span("")
    return Row((mark, Span(" "), Span(words, bold=True)), (said,) if said.text else (), key=key)


def _comment_rows(words: str, shape: _Shape) -> list[Row]:
    """What the person says about the hunk above, beside a bar."""
    indent = shape.digits + 1
    bar = (Span(" " * indent), Span(sym("bar"), "accent", mark=True), Span(" "))
    lines = [line for part in words.split("\n") for line in text_wrap(part, max(shape.cells - indent - 2, 2)) or [""]]
    return [Row((*bar, Span(line)), bg="surface", margin=indent + 2) for line in lines]


# -- unchanged lines ----------------------------------------------------------------------------------------------


class _Gap(NamedTuple):
    """Unchanged lines between two hunks or below the last one."""

    key: str
    old: int
    """The number of its first line before the change."""
    new: int
    size: int


def _gap_rows(gap: _Gap, path: str, shape: _Shape, fold: Fold | None) -> list[Row]:
    if fold is None or not fold.shown:
        rows = [_fold_row("cut", gap.size, shape.digits, gap.key)]
        return [*rows, _note(fold.problem, shape.digits, sign=False)] if fold is not None and fold.problem else rows
    shown = min(fold.shown, gap.size)
    first = gap.old if fold.old else gap.new
    texts = fold.file[first - 1 : first - 1 + shown]
    lines = tuple(DiffLine("same", text, gap.old + n, gap.new + n) for n, text in enumerate(texts))
    rows = [_fold_row("open", gap.size, shape.digits, gap.key)]
    rows += _HunkRows(Hunk(gap.old, gap.new, lines), path, shape).rows("")
    if shown < gap.size:
        rows.append(_fold_row("cut", gap.size - shown, shape.digits, gap.key + "+"))
    return rows


def _fold_row(glyph: str, lines: int, digits: int, key: str) -> Row:
    words = t("dock.unchanged_one") if lines == 1 else t("dock.unchanged", n=lines)
    return replace(_note(words, digits, glyph=glyph), key=key)


def _note(words: str, digits: int, *, glyph: str = "cut", sign: bool = True) -> Row:
    mark = sym(glyph) if sign else " "
    return Row((Span(" " * (digits - 1) + mark + "   ", "muted"), Span(words, "muted")))


# -- files that only moved ----------------------------------------------------------------------------------------


def _moved(diffs: Sequence[FileDiff]) -> dict[int, int]:
    """Files that were made with the very lines of one that was deleted beside it: the index of each, to the other's."""
    found: dict[int, int] = {}
    for first in range(len(diffs) - 1):
        for made, gone in ((first, first + 1), (first + 1, first)):
            one, other = diffs[made], diffs[gone]
            if (one.change, other.change) != ("create", "delete") or one.omitted_lines or other.omitted_lines:
                continue
            if {made, gone} & {*found, *found.values()} or one.added != other.removed:
                continue
            if _texts(one) == _texts(other):
                found[made] = gone
    return found


def _texts(diff: FileDiff) -> list[tuple[str, str]]:
    return [(line.text, line.end) for hunk in diff.hunks for line in hunk.lines]


def _move(new: FileDiff, old: str, cells: int, key: str) -> list[Row]:
    words = "  " + t("dock.renamed")
    path = cut_path(visible(new.path), max(cells - width(words), 2))
    return [
        Row((Span(path, bold=True), Span(words, "muted")), key=key),
        *_old_path(old, cells, wrap=False),
    ]


def _move_asked(new: FileDiff, old: str, cells: int, key: str, refused: Collection[str]) -> list[Row]:
    """The same while it waits for an answer: nothing is cut, and it is refused like a hunk."""
    rows = [
        *_wrapped(new.path, cells, 0, Span("", bold=True)),
        Row((Span("  "), Span(t("dock.renamed"), "muted"))),
        *_old_path(old, cells, wrap=True),
    ]
    if new.hunks:
        words = t("dock.hunk", n=1, total=1)
        rows.append(_hunk_heading(words, key, is_refused=key in refused, is_decided=bool(refused)))
    return rows


def _old_path(path: str, cells: int, *, wrap: bool) -> list[Row]:
    if not wrap:
        return [Row((Span("  "), Span(cut_path(visible(path), max(cells - 2, 2)), "muted")), margin=2)]
    return _wrapped(path, cells, 2, Span("", "muted"))


def _wrapped(path: str, cells: int, indent: int, like: Span) -> list[Row]:
    """A path in whole, in as many rows as it needs, in the style of `like`."""
    shown, rows = visible(path), []
    for piece in code_rows(shown, max(cells - indent, 2)):
        margin = indent + piece.hang
        words = replace(like, text=shown[piece.start : piece.end])
        rows.append(Row((Span(" " * margin), words), margin=margin, join=piece.join))
    return rows


def plain_diff(diffs: Sequence[FileDiff]) -> str:
    """`diffs` as text, for the clipboard: unified, whole lines."""
    signs = {"same": " ", "add": "+", "remove": "-"}
    parts: list[str] = []
    for diff in diffs:
        parts.append("--- " + ("/dev/null" if diff.change == "create" else diff.old_path or diff.path))
        parts.append("+++ " + ("/dev/null" if diff.change == "delete" else diff.path))
        for hunk in diff.hunks:
            old = sum(line.kind != "add" for line in hunk.lines)
            new = sum(line.kind != "remove" for line in hunk.lines)
            parts.append(f"@@ -{hunk.old_start},{old} +{hunk.new_start},{new} @@")
            for line in hunk.lines:
                parts.append(signs[line.kind] + line.text)
                if not line.end:
                    parts.append("\\ No newline at end of file")
    return "\n".join(parts) + "\n" if parts else ""


def coloured(lines: Sequence[str], path: str) -> list[list[Run]]:
    """How each of the lines of a file is coloured, from its start to its end; empty where it is plain."""
    found = highlight("\n".join(lines), language_of(path))
    if found is None or len(found) != len(lines):
        return [[] for _ in lines]
    out: list[list[Run]] = []
    for spans in found:
        ends = list(accumulate(len(words) for words, _ in spans))
        out.append([(end - len(words), end, ink) for end, (words, ink) in zip(ends, spans, strict=True)])
    return out


def inked(
    line: str, start: int, end: int, runs: Sequence[Run], words: Sequence[CharRange], ground: str, word_ground: str
) -> Iterator[Span]:
    """A part of a line in its colours, those of its characters that are in `words` on a ground of their own."""
    for a, b, tone in _filled(runs, start, end):
        for c, d, inside in _split(a, b, words):
            yield Span(line[c:d], tone[0], word_ground if inside else ground, bold=tone[1])


class Compared(NamedTuple):
    """Two versions of a line: how much they have in common, and the characters that differ in each."""

    likeness: float
    """Blanks aside: 0.0 nothing, 1.0 all."""
    old: list[CharRange]
    new: list[CharRange]


def compare(old: str, new: str) -> Compared:
    """Compare two lines word by word. Of long lines nothing is like another."""
    if max(len(old), len(new)) > limits.WORD_DIFF_CHARS:
        return Compared(0.0, [(0, len(old))], [(0, len(new))])
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    same = 0
    old_ranges: list[CharRange] = []
    new_ranges: list[CharRange] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            same += _solid(a[a1:a2])
        else:
            _add_range(old_ranges, a, a1, a2)
            _add_range(new_ranges, b, b1, b2)
    likeness = 2 * same / max(1, _solid(a) + _solid(b))
    return Compared(likeness, _worth_marking(old, old_ranges), _worth_marking(new, new_ranges))


def _solid(tokens: Iterable[str]) -> int:
    return sum(len(token) for token in tokens if not token.isspace())


def _worth_marking(line: str, ranges: list[CharRange]) -> list[CharRange]:
    """Blanks are marked only where nothing else has changed."""
    solid = [(a, b) for a, b in ranges if not line[a:b].isspace()]
    return solid or ranges


def _add_range(ranges: list[CharRange], tokens: list[str], first: int, last: int) -> None:
    if first == last:
        return
    start = sum(len(token) for token in tokens[:first])
    end = start + sum(len(token) for token in tokens[first:last])
    if ranges and start - ranges[-1][1] <= 1:  # one blank or dot between two changes is not worth a gap
        start = ranges.pop()[0]
    ranges.append((start, end))


# -- rows ---------------------------------------------------------------------------------------------------------


def _heading(diff: FileDiff, cells: int, *, wrap: bool) -> list[Row]:
    counts = (Span(f"+{diff.added}", "ok"), Span(" "), Span(f"{sym('removed')}{diff.removed}", "fail"))
    words = {"create": t("dock.created"), "delete": t("dock.deleted"), "edit": ""}[diff.change]
    tail = (Span("  " + words, "muted"),) if words else ()
    path = visible(diff.path)
    room = max(cells - 1 - sum(width(s.text) for s in (*counts, *tail)), 2)
    if not wrap:
        return [Row((Span(cut_path(path, room), bold=True), *tail), counts)]
    rows: list[Row] = []
    for piece in code_rows(path, room):
        name = Span(" " * piece.hang + path[piece.start : piece.end], bold=True)
        first = not rows
        rows.append(
            Row((name, *tail) if first else (name,), counts if first else (), margin=piece.hang, join=piece.join)
        )
    return rows


class _HunkRows:
    """The rows of one hunk. Words and colours are worked out when a row is first seen, a piece at a time.

    One that is refused has neither tints nor colours: what is coloured is what will be applied.
    """

    def __init__(self, hunk: Hunk, path: str, shape: _Shape, *, is_refused: bool = False) -> None:
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


def _filled(runs: Sequence[Run], start: int, end: int) -> Iterator[Run]:
    """`runs` within start to end, the places between them filled with plain ones."""
    at = start
    for a, b, tone in runs:
        a, b = max(a, at), min(b, end)
        if a >= b:
            continue
        if a > at:
            yield at, a, PLAIN
        yield a, b, tone
        at = b
    if at < end:
        yield at, end, PLAIN


def _split(start: int, end: int, ranges: Sequence[CharRange]) -> Iterator[tuple[int, int, bool]]:
    """start to end in pieces that lie wholly inside or wholly outside `ranges`."""
    at = start
    for a, b in ranges:
        a, b = max(a, at), min(b, end)
        if a >= b:
            continue
        if a > at:
            yield at, a, False
        yield a, b, True
        at = b
    if at < end:
        yield at, end, False
