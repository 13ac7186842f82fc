"""Markdown as rows: lines with what stands before them, code, tables."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len

from nanoherm_tui.symbols import sym
from nanoherm_tui.transcript import markdown
from nanoherm_tui.transcript.code_block import code_block
from nanoherm_tui.transcript.row import TEXT_AT, Row, blank_row, prefix, row_of, text_width, wrapped
from nanoherm_tui.transcript.tables import Want, table_rows, wants_of

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look
    from nanoherm_tui.transcript.blocks import Prose


def prose(block: Prose, width: int, look: Look) -> list[Row]:
    """The rows of a part of an answer; of one that goes on with a table, its `head` says what its columns are."""
    ground, bullet, quote = look.style(), sym("bullet"), sym("bar")
    source = f"{_table_head(block.head)}\n{block.text}" if block.head else block.text
    pieces = markdown.parse(source, bullet=bullet, quote=quote, number=block.number)
    inks = {
        bits: look.style(
            "code" if bits & markdown.CODE else "muted" if bits & markdown.MUTED else "text",
            bold=bool(bits & markdown.STRONG),
        )
        for bits in range(8)
    }
    rows: list[Row] = []
    margin = " " * TEXT_AT
    for piece in pieces:
        if piece.gap:
            rows.append(blank_row(width, look))
        if isinstance(piece, markdown.Line):
            body = [(text, inks[bits]) for text, bits in piece.spans]
            prefixes = [prefix(margin + p, look) for p in (piece.first, piece.rest)]
            # Deep nesting on a narrow pane: the text keeps at least half of the row.
            if cell_len(piece.rest) > text_width(width) // 2:
                prefixes = [prefix(margin, look)] * 2
            rows += wrapped(body, width, look, first=prefixes[0], rest=prefixes[1])
        elif isinstance(piece, markdown.Fence):
            indent = piece.indent if cell_len(piece.indent) <= text_width(width) // 2 else ""
            growing = block.open and piece is pieces[-1]
            rows += code_block(piece.text, piece.lang, width, look, lang=piece.lang, lead=indent, plain=growing)
        elif isinstance(piece, markdown.Table):
            wants = _head_wants(block.head) if block.head else wants_of(piece)
            rows += table_rows(piece, wants, width, look, inks, with_header=not block.head)
        else:
            body = [("   ".join([sym("bullet")] * 3), look.style("muted"))]
            rows.append(row_of(width, look, [(margin, ground)], body))
    return rows


def _table_head(head: str) -> str:
    """The header and the rule under it."""
    return "\n".join(head.split("\n", 2)[:2])


@lru_cache(maxsize=16)
def _head_wants(head: str) -> tuple[Want, ...]:
    """What the columns of a table want by its first part, for the parts that follow."""
    pieces = markdown.parse(head, bullet=" ", quote=" ")
    return next((wants_of(piece) for piece in pieces if isinstance(piece, markdown.Table)), ())
