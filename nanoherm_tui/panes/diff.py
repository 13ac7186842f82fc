"""Changes of files as rows: numbers, signs, tints; what changed inside a line in a stronger tint.

While browsing a line is cut at the pane's edge, and old and new may stand side by side; while a change waits for an
answer lines are wrapped, one below the other, so that nothing that is approved is hidden.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from agent_core.messages import DiffLine, FileDiff, Hunk
from agent_core.records import dataclass
from agent_core.text.diff import moves
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import BLANK, Row, Span
from nanoherm_tui.panes.comments import Comments, anchor_of
from nanoherm_tui.panes.hunk_rows import NUMBER, HunkRows, Shape
from nanoherm_tui.panes.wrapped import code_rows
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut_path, visible, width
from nanoherm_tui.text import wrap as text_wrap

FOLD = "fold "  # begins the key of a row that stands for unchanged lines


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
        rows += _file_rows(diff, number, Shape(cells, _digits(diff), wrap, split), folds or {}, refused, comments)
    return rows


def _digits(diff: FileDiff) -> int:
    last = max((max(h.old_start, h.new_start) + len(h.lines) for h in diff.hunks), default=0)
    return max(NUMBER, len(str(max(last, diff.lines_after))))


def _file_rows(
    diff: FileDiff,
    number: int,
    shape: Shape,
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
        rows += HunkRows(hunk, diff.path, shape, is_refused=is_refused).rows(key)
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


def _comment_rows(words: str, shape: Shape) -> list[Row]:
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


def _gap_rows(gap: _Gap, path: str, shape: Shape, fold: Fold | None) -> list[Row]:
    if fold is None or not fold.shown:
        rows = [_fold_row("cut", gap.size, shape.digits, gap.key)]
        return [*rows, _note(fold.problem, shape.digits, sign=False)] if fold is not None and fold.problem else rows
    shown = min(fold.shown, gap.size)
    first = gap.old if fold.old else gap.new
    texts = fold.file[first - 1 : first - 1 + shown]
    lines = tuple(DiffLine("same", text, gap.old + n, gap.new + n) for n, text in enumerate(texts))
    rows = [_fold_row("open", gap.size, shape.digits, gap.key)]
    rows += HunkRows(Hunk(gap.old, gap.new, lines), path, shape).rows("")
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
