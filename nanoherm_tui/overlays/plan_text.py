"""A plan as rows of the panel that asks: its Markdown read and wrapped, and nothing of it left out. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nanoherm_tui.symbols import sym
from nanoherm_tui.text import width, wrap_code_spans, wrap_spans
from nanoherm_tui.transcript import markdown
from nanoherm_tui.transcript.slices import slices

Spans = tuple[markdown.Span, ...]
"""Words, and the bits of `markdown` that say how they are drawn."""

_APART: Final = " " * 3  # between the columns of a table


def plan_rows(source: str, cells: int) -> list[Spans]:
    """The rows of `source`, each at most `cells` wide; what goes on in the next one stands under its words."""
    rows: list[Spans] = []
    for piece in markdown.parse(source, bullet=sym("bullet"), quote=sym("bar")):
        rows += [()] if piece.gap else []
        if isinstance(piece, markdown.Line):
            rows += _wrapped(piece.spans, piece.first, piece.rest, cells)
        elif isinstance(piece, markdown.Fence):
            rows += [row for line in piece.text.split("\n") for row in _code(line, piece.indent, cells)]
        elif isinstance(piece, markdown.Table):
            rows += [row for line in _table(piece) for row in _wrapped(line, piece.indent, piece.indent, cells)]
        else:
            rows.append(((_APART.join([sym("bullet")] * 3), markdown.MUTED),))
    return rows


def _wrapped(spans: Spans, first: str, rest: str, cells: int) -> Iterator[Spans]:
    """Words in rows, `first` before the first of them and `rest` before the others."""
    if width(rest) > cells // 2:  # nested deep on a narrow panel: the words keep half of the row
        first = rest = ""
    pieces = wrap_spans("".join(words for words, _ in spans), max(cells - width(rest), 2))
    for number, row in enumerate(slices(spans, pieces)):
        before = rest if number else first
        yield (*([(before, markdown.MUTED)] if before else []), *row)


def _code(line: str, indent: str, cells: int) -> Iterator[Spans]:
    indent = indent if width(indent) <= cells // 2 else ""
    pieces, hang = wrap_code_spans(line, max(cells - width(indent), 2))
    for start, end in pieces:
        yield (indent + " " * (hang if start else 0), 0), (line[start:end], markdown.CODE)


def _table(table: markdown.Table) -> Iterator[Spans]:
    """A table's rows, its columns below each other as long as nothing wraps."""
    lines = [table.header, *table.rows]
    wide = [max(_width(line[at]) for line in lines) for at in range(len(table.header))]
    for number, line in enumerate(lines):
        row: list[markdown.Span] = []
        for cell, cells in zip(line, wide, strict=True):
            row += [(words, bits | (0 if number else markdown.STRONG)) for words, bits in cell]
            row.append((" " * (cells - _width(cell)) + _APART, 0))
        yield tuple(row[:-1])


def _width(cell: Spans) -> int:
    return sum(width(words) for words, _ in cell)
