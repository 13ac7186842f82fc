"""Code as rows: a block on a ground of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from nanoherm_tui import text as cells
from nanoherm_tui.transcript import highlight
from nanoherm_tui.transcript.row import RIGHT_MARGIN, TEXT_AT, Ink, Row, row_of
from nanoherm_tui.transcript.slices import slices

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look


def code_block(
    code: str, label: str, width: int, look: Look, *, lang: str, lead: str = "", plain: bool = False
) -> list[Row]:
    """A code block on `surface`, two cells of it left and right of the text, `label` at its right top."""
    written = code.split("\n")
    code = code.expandtabs(cells.TAB) if "\t" in code else code
    surface = look.style(bg="surface")
    styles: dict[highlight.Ink, Style] = {}
    before: list[Ink] = [(" " * TEXT_AT + lead, look.style("muted"))]
    box = max(4, width - RIGHT_MARGIN - TEXT_AT - cell_len(lead))
    inset = 2 if box >= 20 else 0
    room = box - 2 * inset
    lines = None if plain else highlight.highlight(code, lang)
    if lines is None:
        lines = [[(line, highlight.PLAIN)] for line in code.split("\n")]
    rows: list[Row] = []
    label = cells.one_line(label)
    for index, spans in enumerate(lines):
        inks: list[Ink] = []
        for text, ink in spans:
            style = styles.get(ink)
            if style is None:
                style = styles[ink] = look.style(ink[0], "surface", bold=ink[1])
            inks.append((text, style))
        source = "".join(text for text, _ in inks)
        cuts, hang = cells.wrap_code_spans(source, room)
        for number, body in enumerate(slices(inks, cuts)):
            pad = inset + (hang if number else 0)
            left = [*before, (" " * pad, surface)]
            used = pad + sum(cell_len(text) for text, _ in body)
            note = label if not rows and used + 1 + cell_len(label) + inset <= box else ""
            fill = max(0, box - used - cell_len(note) - (inset if note else 0))
            tail: list[Ink] = [(" " * fill, surface)]
            if note:
                tail += [(note, look.style("muted", "surface")), (" " * inset, surface)]
            rows.append(row_of(width, look, left, body, "" if number else "\n", tail))
        if len(cuts) == 1 and index < len(written) and "\t" in written[index]:
            rows[-1].whole = written[index]  # its tabs are copied as tabs
    return rows
