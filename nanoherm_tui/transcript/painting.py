"""What is painted over a row of the transcript: the cursor, what is selected, what was found, the mark at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from nanoherm_tui.symbols import sym
from nanoherm_tui.text import take
from nanoherm_tui.transcript.row import RIGHT_MARGIN, TEXT_AT
from nanoherm_tui.transcript.spots import size_of

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look
    from nanoherm_tui.transcript.find import Find
    from nanoherm_tui.transcript.lines import Line
    from nanoherm_tui.transcript.select import Selected


def with_cursor(strip: Strip, look: Look) -> Strip:
    bar = Strip([Segment(sym("bar"), look.mark("accent"))], 1)
    return Strip.join([bar, strip.crop(1)])


def with_mark(strip: Strip, mark: str, width: int, look: Look) -> Strip:
    """`strip` with the mark at its right end; of what it covers no part is left over, and ⋯ says that there is more.

    A bar stands before it: where grounds are equal nothing else tells it from the text.
    """
    end = width - RIGHT_MARGIN
    note = Strip([Segment(sym("bar"), look.mark("accent")), Segment(mark, look.style("accent", "surface"))])
    start = max(0, end - note.cell_length)
    before, covered = strip.crop(0, start), strip.crop(start, start + note.cell_length)
    if covered.text.strip() and start > TEXT_AT:
        kept = _whole(before.text, covered.text)
        before = _signed(before, kept.ljust(TEXT_AT - 1), look)  # ⋯ stands where text does, also when none is left
    return Strip.join([before, note, strip.crop(start + note.cell_length)])


def _whole(text: str, covered: str) -> str:
    """What of `text` stays before the mark that hides `covered`: no half words, no part of an outcome or a time."""
    kept = take(text, cell_len(text) - 2)
    after = (text + covered)[len(kept) :]
    if kept[-1:].strip() and after[:1].strip() and (blank := kept.rfind(" ")) > TEXT_AT:
        kept = kept[:blank]
        after = (text + covered)[blank:]
    # Figures at the right stand apart by two blanks; further left that is but a gap in what is read.
    column = kept.rstrip().rfind("  ")
    if column > len(text) // 2 and not kept.endswith("  ") and not after.startswith("  "):
        kept = kept[:column]
    return kept.rstrip()


def _signed(before: Strip, kept: str, look: Look) -> Strip:
    """`before`, of whose text `kept` stays, then ⋯ on the ground that is there."""
    sign = " " if kept.endswith(sym("cut")) else f" {sym('cut')}"
    used = cell_len(kept)
    over = next((s.style for s in before.crop(used) if s.style is not None), Style())
    rest = sign + " " * (before.cell_length - used - cell_len(sign))
    return Strip.join([before.crop(0, used), Strip([Segment(rest, look.style("muted") + Style(bgcolor=over.bgcolor))])])


def with_selection(strip: Strip, line: Line, selected: Selected, look: Look, *, focused: bool) -> Strip:
    row, plain = line.row, strip
    chars = selected.chars_on(line)
    if chars is not None:
        # An empty row inside the selection shows by one cell.
        end = max(chars[1], int(not row.text))
        style = look.style("seltext", "selection")
        strip = _over(strip, row.indent + chars[0], row.indent + end, style)
    caret = selected.caret
    if caret is not None and caret.place == line.place and focused:
        at = row.indent + caret.char
        end = at + max(1, size_of(row.text, caret.char))
        lost = chars is not None and look.theme.hides_caret
        strip = _underlined(strip, plain, at, end) if lost else _reversed(strip, at, end)
    return strip


def with_hits(strip: Strip, line: Line, find: Find, look: Look) -> Strip:
    """The hit that was gone to looks selected, the others are underlined."""
    style = look.style("seltext", "selection") if find.is_at(line) else look.style("accent", "surface", underline=True)
    for start, end in find.spans(line):
        strip = _over(strip, line.row.indent + start, line.row.indent + end, style)
    return strip


def _over(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """`strip` with the characters from `start` to `end` in another style; bold stays."""
    text = strip.text
    first, last = cell_len(text[:start]), cell_len(text[:end])
    if last <= first:
        return strip
    bold = style + Style(bold=True)
    middle = [Segment(s.text, bold if s.style and s.style.bold else style) for s in strip.crop(first, last)]
    return Strip.join([strip.crop(0, first), Strip(middle, last - first), strip.crop(last)])


def _underlined(strip: Strip, plain: Strip, start: int, end: int) -> Strip:
    """`strip` with the characters from `start` to `end` as in `plain`, underlined: beside a selection in reverse."""
    text = strip.text
    first, last = cell_len(text[:start]), cell_len(text[:end])
    line = Style(bold=True, underline=True, reverse=False)
    under = [Segment(s.text, (s.style or Style()) + line) for s in plain.crop(first, last)]
    return Strip.join([strip.crop(0, first), Strip(under, last - first), strip.crop(last)])


def _reversed(strip: Strip, start: int, end: int) -> Strip:
    """`strip` with the characters from `start` to `end` in reverse, back again where they are so already."""
    text = strip.text
    first, last = cell_len(text[:start]), cell_len(text[:end])
    turned = [
        Segment(s.text, (s.style or Style()) + Style(reverse=not (s.style and s.style.reverse)))
        for s in strip.crop(first, last)
    ]
    return Strip.join([strip.crop(0, first), Strip(turned, last - first), strip.crop(last)])
