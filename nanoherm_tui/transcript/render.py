"""A block, a width and a look → rows of exactly that width.

Columns: the mark (or the user's bar) at 2, all text from 4 to two cells before the right end. Rows know what copying
them gives, so that bars, indents and soft breaks are not copied.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agent_core.names import MCP_PREFIX, RUN_COMMAND, TODO_WRITE
from nanoherm_tui import limits
from nanoherm_tui import text as cells
from nanoherm_tui.i18n import phrase, t, tell
from nanoherm_tui.strips import LoneStrip
from nanoherm_tui.symbols import sym
from nanoherm_tui.transcript import highlight, markdown, outcomes
from nanoherm_tui.transcript.blocks import Block, Card, Code, Note, Prose, Thought, ThoughtText, UserText

if TYPE_CHECKING:
    from nanoherm_tui.themes import Look

MARK_AT = 2
TEXT_AT = 4
RIGHT_MARGIN = 2
NAME_CELLS = 12
TIME_CELLS = 8
TIME_FROM_WIDTH = 56  # a card on a narrower pane shows no time
TABLE_GAP = 3


def _cropped(segments: list[Segment], width: int) -> list[Segment]:
    """The first `width` cells; half a character at the edge becomes a blank. Rich's own crop leaves parts of emoji."""
    out: list[Segment] = []
    for segment in segments:
        if segment.cell_length > width:
            kept = cells.take(segment.text, width)
            return [*out, Segment(kept + " " * (width - cell_len(kept)), segment.style)]
        out.append(segment)
        width -= segment.cell_length
    return out


class Row:
    """One row of the screen. Its strip is made when it is painted: most rows of a growing tail never are."""

    __slots__ = ("indent", "join", "segments", "text", "whole", "width")

    def __init__(
        self, segments: list[Segment], width: int, text: str = "", indent: int = 0, join: str = "\n", *, used: int = -1
    ) -> None:
        self.segments = segments if used <= width else _cropped(segments, width)
        """They take `width` cells: what is more (`used`) on a pane too narrow for its margins is cut off."""
        self.width = width
        self.text = text
        """What copying gives: without bars, marks and padding."""
        self.indent = indent
        """Characters of the row before `text`; 0 only in the row between two blocks."""
        self.join = join
        """What copying puts before it: "" or blanks when the row goes on with the line above."""
        self.whole: str | None = None
        """What copying gives instead when rows do not read on one after the other: a table's row with wrapped cells has
        all of it on its first row and "" on the others. A code line with tabs has it too, if it is one row."""

    @property
    def strip(self) -> Strip:
        return LoneStrip(self.segments, self.width)


class Moment(NamedTuple):
    """What running marks and seconds are drawn from."""

    frame: int = 0
    now: float = 0.0


Ink = tuple[str, Style]


def render(block: Block, width: int, look: Look, moment: Moment) -> list[Row]:
    """The rows of `block`, each `width` cells wide; at least one, but for blocks without anything to show."""
    if isinstance(block, Prose):
        rows = _prose(block, width, look)
    elif isinstance(block, Code):
        rows = _code(block.text, block.lang if block.first else "", width, look, lang=block.lang, plain=block.open)
    elif isinstance(block, UserText):
        rows = _user(block, width, look)
    elif isinstance(block, Card):
        rows = _card(block, width, look, moment)
    elif isinstance(block, Thought):
        rows = [_thought(block, width, look, moment)]
    elif isinstance(block, ThoughtText):
        style = look.style("muted")
        rows = _wrapped([(block.text, style)], width, look)
    else:
        rows = _note(block, width, look)
    return rows


def blank_row(width: int, look: Look) -> Row:
    """The row between two blocks."""
    return Row([Segment(" " * width, look.style())], width)


def new_row(width: int, look: Look) -> Row:
    """The row above the first block that has not been seen."""
    room = max(0, width - MARK_AT)
    words = cells.cut(f" {t('transcript.new')}", room - 1) if room else ""
    segments = [
        Segment(" " * min(width, MARK_AT), look.style()),
        Segment(sym("newlines") if room else "", look.mark("accent", bold=True)),
        Segment(words, look.style("accent", bold=True)),
        Segment(" " * (room - 1 - cell_len(words)), look.style()),
    ]
    return Row(segments, width)


def wants_moment(block: Block) -> bool:
    """Whether the block's rows change as time passes."""
    return (isinstance(block, Card) and block.state == "running") or (isinstance(block, Thought) and block.started > 0)


# -- rows ---------------------------------------------------------------------------------------------------------


def _text_width(width: int) -> int:
    return max(2, width - TEXT_AT - RIGHT_MARGIN)


def _row(
    width: int, look: Look, lead: Iterable[Ink], body: Iterable[Ink], join: str = "\n", tail: Iterable[Ink] = ()
) -> Row:
    """A row: `lead`, then `body`, which alone is copied, then `tail` and padding. All texts are clean."""
    segments = [Segment(text, style) for text, style in lead if text]
    indent = sum(len(s.text) for s in segments)
    used = sum(cell_len(s.text) for s in segments)
    copied: list[str] = []
    for text, style in body:
        if text:
            segments.append(Segment(text, style))
            copied.append(text)
            used += cell_len(text)
    for text, style in tail:
        if text:
            segments.append(Segment(text, style))
            used += cell_len(text)
    if used < width:
        segments.append(Segment(" " * (width - used), look.style()))
    return Row(segments, width, "".join(copied), indent, join, used=used)


def _slices(inks: Sequence[Ink], spans: Iterable[tuple[int, int]]) -> list[list[Ink]]:
    """Cut styled text at (start, end) character spans in ascending order."""
    out: list[list[Ink]] = []
    index, at = 0, 0  # the current ink and where it begins
    for start, end in spans:
        row: list[Ink] = []
        while index < len(inks) and at < end:
            text, style = inks[index]
            stop = at + len(text)
            if stop > start:
                row.append((text[max(0, start - at) : end - at], style))
            if stop > end:
                break
            at = stop
            index += 1
        out.append(row)
    return out


def _wrapped(
    inks: Sequence[Ink],
    width: int,
    look: Look,
    *,
    first: Sequence[Ink] | None = None,
    rest: Sequence[Ink] | None = None,
    room: int | None = None,
) -> list[Row]:
    """Prose rows of styled text. `first` and `rest` stand before the first and the other rows instead of the margin."""
    ground = look.style()
    margin: Sequence[Ink] = ((" " * TEXT_AT, ground),)
    first, rest = first or margin, rest or margin
    taken = sum(cell_len(text) for text, _ in rest)
    room = max(2, width - RIGHT_MARGIN - taken) if room is None else room
    rows: list[Row] = []
    for line in _split_lines(inks):
        plain = "".join(text for text, _ in line)
        join = "\n"
        spans = cells.wrap_spans(plain, room)
        end_before = 0
        for (start, end), body in zip(spans, _slices(line, spans), strict=True):
            if start:
                join = plain[end_before:start]
            rows.append(_row(width, look, rest if rows else first, body, join))
            end_before = end
    return rows


def _split_lines(inks: Sequence[Ink]) -> list[list[Ink]]:
    lines: list[list[Ink]] = [[]]
    for text, style in inks:
        head, *others = text.split("\n")
        lines[-1].append((head, style))
        lines.extend([(part, style)] for part in others)
    return lines


# -- Markdown -----------------------------------------------------------------------------------------------------


def _prose(block: Prose, width: int, look: Look) -> list[Row]:
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
            prefixes = [_prefix(margin + p, look) for p in (piece.first, piece.rest)]
            # Deep nesting on a narrow pane: the text keeps at least half of the row.
            if cell_len(piece.rest) > _text_width(width) // 2:
                prefixes = [_prefix(margin, look)] * 2
            rows += _wrapped(body, width, look, first=prefixes[0], rest=prefixes[1])
        elif isinstance(piece, markdown.Fence):
            indent = piece.indent if cell_len(piece.indent) <= _text_width(width) // 2 else ""
            growing = block.open and piece is pieces[-1]
            rows += _code(piece.text, piece.lang, width, look, lang=piece.lang, lead=indent, plain=growing)
        elif isinstance(piece, markdown.Table):
            wants = _head_wants(block.head) if block.head else _wants(piece)
            rows += _table(piece, wants, width, look, inks, with_header=not block.head)
        else:
            body = [("   ".join([sym("bullet")] * 3), look.style("muted"))]
            rows.append(_row(width, look, [(margin, ground)], body))
    return rows


def _prefix(text: str, look: Look) -> list[Ink]:
    return [(text, look.style("muted"))]


def _table_head(head: str) -> str:
    """The header and the rule under it."""
    return "\n".join(head.split("\n", 2)[:2])


@lru_cache(maxsize=16)
def _head_wants(head: str) -> tuple[Want, ...]:
    """What the columns of a table want by its first part, for the parts that follow."""
    pieces = markdown.parse(head, bullet=" ", quote=" ")
    return next((_wants(piece) for piece in pieces if isinstance(piece, markdown.Table)), ())


Cell = tuple[markdown.Span, ...]


def _plain(cell: Cell) -> str:
    return "".join(text for text, _ in cell)


class Want(NamedTuple):
    """Cells of a column: in which nothing of it is wrapped, and in which no word is broken."""

    whole: int
    word: int


def _wants(table: markdown.Table) -> tuple[Want, ...]:
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


def _table(
    table: markdown.Table,
    wants: Sequence[Want],
    width: int,
    look: Look,
    inks: dict[int, Style],
    *,
    with_header: bool,
) -> list[Row]:
    lead: list[Ink] = _prefix(" " * TEXT_AT + table.indent, look)
    room = _text_width(width) - cell_len(table.indent)
    widths = _column_widths(wants, room)
    if widths is None:
        return _stacked(table, width, look, inks)
    rows: list[Row] = []
    if with_header:
        header = [
            tuple((text, markdown.STRONG | (bits & markdown.CODE)) for text, bits in cell) for cell in table.header
        ]
        under = {b: look.style("code" if b & markdown.CODE else "muted", bold=True, underline=True) for b in inks}
        rows += _table_row(header, widths, table.aligns, width, look, lead, under)
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
        blocks.append(_slices([(text, inks[bits]) for text, bits in cell], spans))
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
        made = _row(width, look, lead, body, " " if number else "\n")
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
            rows += _wrapped(body, width, look)
    return rows or _wrapped([(_plain(name) + " ", look.style("muted")) for name in table.header], width, look)


# -- code ---------------------------------------------------------------------------------------------------------


def _code(
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
        for number, body in enumerate(_slices(inks, cuts)):
            pad = inset + (hang if number else 0)
            left = [*before, (" " * pad, surface)]
            used = pad + sum(cell_len(text) for text, _ in body)
            note = label if not rows and used + 1 + cell_len(label) + inset <= box else ""
            fill = max(0, box - used - cell_len(note) - (inset if note else 0))
            tail: list[Ink] = [(" " * fill, surface)]
            if note:
                tail += [(note, look.style("muted", "surface")), (" " * inset, surface)]
            rows.append(_row(width, look, left, body, "" if number else "\n", tail))
        if len(cuts) == 1 and index < len(written) and "\t" in written[index]:
            rows[-1].whole = written[index]  # its tabs are copied as tabs
    return rows


# -- the rest -----------------------------------------------------------------------------------------------------


def _user(block: UserText, width: int, look: Look) -> list[Row]:
    bar: list[Ink] = [
        (" " * MARK_AT, look.style()),
        (sym("bar"), look.mark("accent")),
        (" " * (TEXT_AT - MARK_AT - 1), look.style()),
    ]
    stamp = time.strftime("%H:%M", time.localtime(block.created)) if block.created else ""
    room = _text_width(width)
    reserve = 8 if width >= TIME_FROM_WIDTH else 0  # the time and three blanks, kept free on every row
    rows = _wrapped(_backticks(block.text, look), width, look, first=bar, rest=bar, room=max(2, room - reserve))
    notes: list[str] = []
    if block.hidden_lines:
        notes.append(t("transcript.more_lines", n=block.hidden_lines))
    if block.images:
        notes.append(t("transcript.image" if block.images == 1 else "transcript.images", n=block.images))
    for note in notes:
        shown = cells.cut(f"{sym('cut')} {note}" if block.hidden_lines and note is notes[0] else note, room)
        rows.append(_row(width, look, bar, (), tail=[(shown, look.style("muted"))]))
    if stamp and reserve:
        *segments, padding = rows[0].segments
        padding = Segment(padding.text[: -len(stamp) - RIGHT_MARGIN], padding.style)
        segments += [padding, Segment(stamp, look.style("muted")), Segment(" " * RIGHT_MARGIN, look.style())]
        rows[0] = Row(segments, width, rows[0].text, rows[0].indent)
    return rows


def _backticks(text: str, look: Look) -> list[Ink]:
    """The user's words verbatim, what stands in backticks in the colour of code."""
    plain, code = look.style(), look.style("code")
    inks: list[Ink] = []
    parts = text.split("`")
    for number, part in enumerate(parts):
        if number % 2 and number < len(parts) - 1 and "\n" not in part:
            inks.append((f"`{part}`", code))
        else:
            inks.append(("`" + part if number % 2 else part, plain))
    return inks


def _thought(block: Thought, width: int, look: Look, moment: Moment) -> Row:
    if block.started:
        mark = sym("running", moment.frame)
        seconds = max(0, int(moment.now - block.started))
        if block.summary is not None:
            label = t("transcript.compacting", n=block.summary, seconds=seconds)
        else:
            label = t("transcript.thinking", seconds=seconds)
    else:
        mark = sym("open" if block.open else "folded")
        if block.summary is not None:
            label = t("transcript.compacted", n=block.summary) if block.summary else t("transcript.summary")
        elif block.seconds >= 0.5:
            label = t("transcript.thought", seconds=round(block.seconds))
        else:
            label = t("transcript.thought_short")
    muted = look.style("muted")
    lead: list[Ink] = [
        (" " * MARK_AT, look.style()),
        (mark, look.mark("accent" if block.started else "muted")),
        (" " * (TEXT_AT - MARK_AT - 1), look.style()),
    ]
    room = _text_width(width)
    label = cells.cut(label, room)
    rest = room - cell_len(label) - 2
    line = cells.cut(block.line, rest) if rest >= 4 and not block.open else ""
    body: list[Ink] = [(label, muted), ("  " if line else "", muted), (line, look.style("muted", italic=True))]
    return _row(width, look, lead, body)


_STATES = {
    # state: (symbol, colour of the mark, colour of the outcome)
    "waiting": ("waiting", "muted", "muted"),
    "asks": ("asks", "warn", "warn"),
    "running": ("running", "accent", "accent"),
    "done": ("done", "ok", "muted"),
    "failed": ("failed", "fail", "fail"),
    "lost": ("failed", "warn", "warn"),
}


def _card(block: Card, width: int, look: Look, moment: Moment) -> list[Row]:
    ground, muted = look.style(), look.style("muted")
    symbol, mark_role, outcome_role = _STATES[block.state]
    if block.state == "done" and block.name == RUN_COMMAND:
        outcome_role = "ok"
    outcome, seconds = outcomes.in_words(block.outcome), ""
    if block.state in ("waiting", "asks", "running", "lost"):
        outcome = t(f"transcript.{block.state}")
    if block.state == "running":
        seconds = cells.duration(moment.now - block.started, running=True)
    elif block.state in ("done", "failed"):
        seconds = cells.duration(block.seconds)
    room = _text_width(width)
    timed = width + 1 >= TIME_FROM_WIDTH  # with the scrollbar's column, the pane's width
    outcome = cells.cut(outcome, room) if outcome else ""
    right = cell_len(outcome) + (TIME_CELLS if timed else 0) + (2 if outcome else 0)
    shared = room - 1 - right  # of name and subject
    if shared - NAME_CELLS < 4 and timed:  # the time gives way before the subject does
        timed = False
        shared += TIME_CELLS
    said = outcomes.in_words(block.subject) if block.name == TODO_WRITE else block.subject  # "4 items"
    name = _name(block.name, min(room, max(NAME_CELLS, shared * 3 // 4, shared - cells.width(said))))
    subject_room = shared - cell_len(name)
    subject = _subject(said, max(0, subject_room))
    progress_room = subject_room - cell_len(subject) - 3
    progress = cells.cut(block.progress, progress_room) if block.progress and progress_room >= 8 else ""
    middle = "   " + progress if progress else ""
    left_cells = cell_len(name) + 1 + cell_len(subject) + cell_len(middle)
    right_cells = cell_len(outcome) + (TIME_CELLS if timed else 0)
    pad = " " * max(0, room - left_cells - right_cells)
    lead: list[Ink] = [
        (" " * MARK_AT, ground),
        (sym(symbol, moment.frame), look.mark(mark_role, bold=True)),
        (" " * (TEXT_AT - MARK_AT - 1), ground),
    ]
    body: list[Ink] = [
        (name, muted),
        (" ", ground),
        (subject, ground),
        (middle, muted),
        (pad, ground),
        (outcome, look.style(outcome_role)),
        (cells.fit(seconds, TIME_CELLS, "right") if timed else "", muted),
    ]
    head = _row(width, look, lead, body)
    head.text = head.text.rstrip()
    rows = [head]
    margin: list[Ink] = [(" " * TEXT_AT, ground)]
    for number, line in enumerate(block.rows):
        style = look.style("fail") if block.state == "failed" and number == 0 and not block.open else muted
        row = _row(width, look, margin, [(cells.cut(line, room), style)])
        row.text = line
        rows.append(row)
    if block.more_lines:
        note = f"{sym('cut')} {t('transcript.more_in_dock', n=block.more_lines)}"
        rows.append(_row(width, look, margin, (), tail=[(cells.cut(note, room), muted)]))
    return rows


def _name(name: str, room: int) -> str:
    """A tool's name in its column, or in what it needs beyond that: the server stays to be read, and the tool."""
    if cells.width(name) > room:
        name = cells.cut_middle(name.removeprefix(MCP_PREFIX), room)
    return cells.fit(name, max(cell_len(name), min(NAME_CELLS, room)))


def _subject(subject: str, room: int) -> str:
    looks_like_path = "/" in subject and " " not in subject and "://" not in subject  # of an address the host counts
    return cells.cut_path(subject, room) if looks_like_path else cells.cut(subject, room)


def note_words(block: Note) -> str:
    """What a note says, in the interface's language."""
    words = cells.clean(t(block.word, **block.params) if block.word else tell(block.code, block.params, block.text))
    listed = [f"  {path}: {phrase('left_because', why)}" if why else f"  {path}" for path, why in block.lines]
    if (count := len(listed) + block.more) > limits.NOTE_LINES:
        listed[limits.NOTE_LINES - 1 :] = [f"  {t('rollback.and_more', n=count - limits.NOTE_LINES + 1)}"]
    return "\n".join((words, *map(cells.visible, listed)))


def _note(block: Note, width: int, look: Look) -> list[Row]:
    role = {"info": "muted", "warning": "warn", "error": "fail"}[block.level]
    mark = {"info": " ", "warning": "!", "error": sym("failed")}[block.level]
    ground = look.style()
    lead: list[Ink] = [
        (" " * MARK_AT, ground),
        (mark, look.mark(role, bold=True)),
        (" " * (TEXT_AT - MARK_AT - 1), ground),
    ]
    return _wrapped([(note_words(block), look.style(role))], width, look, first=lead)
