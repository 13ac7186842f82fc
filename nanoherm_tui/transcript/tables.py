"""Tables of Markdown as rows: columns as wide as their words want, or cell by cell where they have no room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len
from rich.style import Style

from nanoherm_tui import text as cells
from nanoherm_tui.transcript import markdown
from nanoherm_tui.transcript.row import TEXT_AT, Ink, Row, blank_row, prefix, row_of, text_width, wrapped
from nanoherm_tui.transcript.slices import slices

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look

TABLE_GAP = 3

Cell = tuple[markdown.Span, ...]


def _plain(cell: Cell) -> str:
    return "".join(text for text, _ in cell)


class Want(NamedTuple):
    """Cells of a column: in which nothing of it is wrapped, and in which no word is broken."""

    whole: int
    word: int


def wants_of(table: markdown.Table) -> tuple[Want, ...]:
    out = []
    for column in range(len(table.header)):
        texts = [_plain(row[column]) for row in (table.header, *table.rows) if column < len(row)]
        words = (cell_len(part.rstrip()) for text in texts for _, _, part in cells.unbroken(text))
        out.append(Want(max(map(cell_len, texts)), max(words, default=0)))
    return tuple(out)


_LEAST: Final = 6  # cells of a column, below which it could not be read


def _column_widths(wants: Sequence[Want], room: int) -> list[int] | None:
    """Cells of each column so that the row fits into `room`; None when the columns would become unreadable.

    Words stay whole where there is room for all of them.
    """
    room -= TABLE_GAP * (len(wants) - 1)
    natural = [want.whole for want in wants]
    if sum(natural) <= room:
        return natural
    widths = [min(max(_LEAST, want.word), want.whole) for want in wants]
    if room < sum(widths):
        widths = [min(_LEAST, n) for n in natural]
    if room < sum(widths):
        return None
    spare = room - sum(widths)
    while spare > 0:
        # The columns that want more share what is left evenly; what one does not need goes to the others.
        hungry = [c for c, n in enumerate(natural) if widths[c] < n]
        share = max(1, spare // len(hungry))
        for c in hungry:
            more = min(share, natural[c] - widths[c], spare)
            widths[c] += more
            spare -= more
    return widths


def table_rows(
    table: markdown.Table,
    wants: Sequence[Want],
    width: int,
    look: Look,
    inks: dict[int, Style],
    *,
    with_header: bool,
) -> list[Row]:
    lead: list[Ink] = prefix(" " * TEXT_AT + table.indent, look)
    room = text_width(width) - cell_len(table.indent)
    widths = _column_widths(wants, room)
    if widths is None:
        return _stacked(table, width, look, inks)
    rows: list[Row] = []
    if with_header:
        header = [
            tuple((text, markdown.STRONG | (bits & markdown.CODE)) for text, bits in cell) for cell in table.header
        ]
        high, under = (
            {b: look.style("code" if b & markdown.CODE else "muted", bold=True, underline=line) for b in inks}
            for line in (False, True)
        )
        # The line is the table's only one: it stands under the last of the header's rows.
        rows += _table_row(header, widths, table.aligns, width, look, lead, high)[:-1]
        rows += _table_row(header, widths, table.aligns, width, look, lead, under)[-1:]
    for row in table.rows:
        rows += _table_row(row, widths, table.aligns, width, look, lead, inks)
    return rows


def _table_row(
    row: Sequence[Cell],
    widths: Sequence[int],
    aligns: Sequence[markdown.Align],
    width: int,
    look: Look,
    lead: Sequence[Ink],
    inks: dict[int, Style],
) -> list[Row]:
    """One row of a table, as many screen rows high as its highest cell."""
    blocks: list[list[list[Ink]]] = []
    for column, room in enumerate(widths):
        cell = row[column] if column < len(row) else ()
        spans = cells.wrap_spans(_plain(cell), room)
        blocks.append(slices([(text, inks[bits]) for text, bits in cell], spans))
    rows: list[Row] = []
    height = max(map(len, blocks))
    for number in range(height):
        body: list[Ink] = []
        for column, room in enumerate(widths):
            part = blocks[column][number] if number < len(blocks[column]) else []
            pad = room - sum(cell_len(text) for text, _ in part)
            align = aligns[column] if column < len(aligns) else "left"
            left = pad if align == "right" else pad // 2 if align == "center" else 0
            between = TABLE_GAP if column < len(widths) - 1 else 0
            body += [(" " * left, inks[0]), *part, (" " * (pad - left + between), inks[0])]
        made = row_of(width, look, lead, body, " " if number else "\n")
        made.text = made.text.rstrip()
        if height > 1:
            made.whole = "" if number else (" " * TABLE_GAP).join(_plain(cell).strip() for cell in row)
        rows.append(made)
    return rows


def _stacked(table: markdown.Table, width: int, look: Look, inks: dict[int, Style]) -> list[Row]:
    """A table too wide for its pane: each cell on a row of its own, named by its column."""
    rows: list[Row] = []
    for number, row in enumerate(table.rows):
        if number:
            rows.append(blank_row(width, look))
        for name, cell in zip(table.header, row, strict=False):
            body = [(f"{_plain(name)}: ", look.style("muted")), *((text, inks[bits]) for text, bits in cell)]
            rows += wrapped(body, width, look)
    return rows or wrapped([(_plain(name) + " ", look.style("muted")) for name in table.header], width, look)
