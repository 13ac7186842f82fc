"""Changes of files as rows: numbers, signs, tints; what changed inside a line in a stronger tint.

While browsing a line is cut at the pane's edge; while a change waits for an answer it is wrapped, so that nothing that
is approved is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache, partial
from itertools import accumulate
from typing import NamedTuple

from agent_core.messages import DiffLine, FileDiff, Hunk
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.rows import BLANK, Row, Span, Spans
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut_path, visible, width, wrap_code_spans
from nanoherm_tui.transcript.highlight import PLAIN, Ink, highlight

NUMBER = 4  # columns of a line number, more for longer files
LIKE = 0.5  # from here on two lines are versions of one another and get their words marked

_GROUND = {"same": "panel", "add": "added_bg", "remove": "removed_bg"}
_WORD_GROUND = {"add": "added_word", "remove": "removed_word"}
_WORDS = re.compile(r"\w+|\s+|.")
_TAB = 4

NARROWEST = 8  # code is not wrapped into less: a pane that narrow shows nothing that can be read

CharRange = tuple[int, int]
Run = tuple[int, int, Ink]
"""Characters start to end of a line, and how they are coloured."""


def diff_rows(diffs: Sequence[FileDiff], cells: int, *, wrap: bool) -> list[Row]:
    """The rows of `diffs`.

    One row of every hunk has a key: its first one (of a file's first hunk the file's heading), or with `wrap` the
    hunk's own heading. Without `wrap` no more files than fit into limits.DIFF_ROWS are shown; the rest is counted.
    """
    rows: list[Row] = []
    for number, diff in enumerate(diffs):
        if rows:
            rows.append(BLANK)
        if not wrap and len(rows) > limits.DIFF_ROWS:
            left_out = len(diffs) - number
            words = t("dock.older_one") if left_out == 1 else t("dock.older", n=left_out)
            rows.append(_note(words, NUMBER))
            break
        heading = len(rows)
        rows += _heading(diff, cells, wrap=wrap)
        digits = max(NUMBER, len(str(_last_line(diff))))
        end: int | None = None
        for index, hunk in enumerate(diff.hunks):
            if end is not None and hunk.new_start > end:
                rows.append(_gap(hunk.new_start - end, digits))
            end = hunk.new_start + max(1, sum(line.kind != "remove" for line in hunk.lines))
            key = f"{number}.{index}"
            if wrap:
                words = t("dock.hunk", n=index + 1, total=len(diff.hunks))
                rows.append(Row((Span("  "), Span(words, bold=True)), key=key))
                key = ""
            elif index == 0:
                rows[heading] = replace(rows[heading], key=key)
                key = ""
            rows += _HunkRows(hunk, diff.path, digits, cells, wrap).rows(key)
        below = diff.lines_after - end + 1 if end is not None and not diff.omitted_lines else 0
        if below > 0:
            rows.append(_gap(below, digits))
        if diff.omitted_lines:
            rows.append(_note(t("dock.left_out", n=diff.omitted_lines), digits))
    return rows


def plain_diff(diffs: Sequence[FileDiff]) -> str:
    """`diffs` as text, for the clipboard: unified, whole lines."""
    signs = {"same": " ", "add": "+", "remove": "-"}
    parts: list[str] = []
    for diff in diffs:
        parts += [f"--- {diff.path}", f"+++ {diff.path}"]
        for hunk in diff.hunks:
            old = sum(line.kind != "add" for line in hunk.lines)
            new = sum(line.kind != "remove" for line in hunk.lines)
            parts.append(f"@@ -{hunk.old_start},{old} +{hunk.new_start},{new} @@")
            parts += [signs[line.kind] + line.text for line in hunk.lines]
    return "\n".join(parts) + "\n" if parts else ""


class Piece(NamedTuple):
    """A part of a line of code that has a row of its own."""

    start: int
    end: int
    hang: int
    """Blanks before it."""
    join: str
    """What stood between it and the piece before."""


def code_rows(line: str, cells: int | None) -> list[Piece]:
    """The pieces of one line of code in rows of `cells` (None: it is not wrapped)."""
    if cells is None:
        return [Piece(0, len(line), 0, "\n")]
    parts, hang = wrap_code_spans(line, max(cells, NARROWEST))
    pieces = [Piece(*parts[0], 0, "\n")]
    for start, end in parts[1:]:
        blank = line.startswith(" ", start)  # where the line was broken: it begins no row
        pieces.append(Piece(start + blank, end, hang, " " * blank))
    return pieces


@lru_cache(maxsize=64)
def language_of(path: str) -> str:
    """Pygments' name for the language of a file called this, or ""."""
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(path)
    return found.aliases[0] if found and found.aliases else ""


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


def _gap(lines: int, digits: int) -> Row:
    return _note(t("dock.unchanged_one") if lines == 1 else t("dock.unchanged", n=lines), digits)


def _note(words: str, digits: int) -> Row:
    return Row((Span(" " * (digits - 1) + sym("cut") + "   ", "muted"), Span(words, "muted")))


def _last_line(diff: FileDiff) -> int:
    return max((max(h.old_start, h.new_start) + len(h.lines) for h in diff.hunks), default=0)


class _HunkRows:
    """The rows of one hunk. Words and colours are worked out when a row is first seen, a piece at a time."""

    def __init__(self, hunk: Hunk, path: str, digits: int, cells: int, wrap: bool) -> None:
        self._lines = hunk.lines
        self._texts = [visible(line.text, tab_size=_TAB) for line in hunk.lines]
        self._path = path
        self._digits = digits
        self._cells = max(cells - digits - 3, 2)  # beside number, sign and the blanks around it
        self._wrap = wrap
        self._runs: dict[int, list[Run]] = {}
        self._words: dict[int, list[CharRange]] = {}
        self._rewrites = {i: rewrite for rewrite in _rewrites(hunk.lines) for i in (*rewrite.removed, *rewrite.added)}

    def rows(self, key: str) -> Iterator[Row]:
        for index, line in enumerate(self._lines):
            ground = _GROUND[line.kind]
            for piece in code_rows(self._texts[index], self._cells if self._wrap else None):
                left = partial(self._left, index, piece)
                yield Row(left, bg=ground, key=key, margin=self._digits + 3 + piece.hang, join=piece.join)
                key = ""

    def _left(self, index: int, piece: Piece) -> Spans:
        line, text = self._lines[index], self._texts[index]
        ground = _GROUND[line.kind]
        spans = list(self._margin(line)) if piece.join == "\n" else [Span(" " * (self._digits + 3 + piece.hang))]
        words = self._changed(index)
        word_ground = _WORD_GROUND.get(line.kind, ground)
        for a, b, tone in _filled(self._coloured(index), piece.start, piece.end):
            for c, d, inside in _split(a, b, words):
                spans.append(Span(text[c:d], tone[0], word_ground if inside else ground, bold=tone[1]))
        return tuple(spans)

    def _margin(self, line: DiffLine) -> Spans:
        number = line.old_line if line.kind == "remove" else line.new_line
        signs = {
            "add": Span("+", "ok", bold=True, mark=True),
            "remove": Span(sym("removed"), "fail", bold=True, mark=True),
        }
        text = f"{'' if number is None else number:>{self._digits}} "
        return Span(text, "muted"), signs.get(line.kind, Span(" ")), Span(" ")

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
            rewrite = self._rewrites[index]
            self._words |= {i: [] for i in (*rewrite.removed, *rewrite.added)}
            for i, j, compared in _pairs(self._texts, rewrite):
                self._words[i], self._words[j] = compared.old, compared.new
        return self._words.get(index, ())


class Rewrite(NamedTuple):
    """Removed lines and the added ones right after them, by index."""

    removed: list[int]
    added: list[int]


def _rewrites(lines: Sequence[DiffLine]) -> Iterator[Rewrite]:
    index = 0
    while index < len(lines):
        removed: list[int] = []
        added: list[int] = []
        while index < len(lines) and lines[index].kind == "remove":
            removed.append(index)
            index += 1
        while index < len(lines) and lines[index].kind == "add":
            added.append(index)
            index += 1
        if removed and added and max(len(removed), len(added)) <= limits.WORD_DIFF_LINES:
            yield Rewrite(removed, added)
        if not removed and not added:
            index += 1


def _pairs(texts: Sequence[str], rewrite: Rewrite) -> Iterator[tuple[int, int, Compared]]:
    """Which added line is the new version of which removed one: by place when there are as many, else the likest."""
    removed, added = rewrite
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
