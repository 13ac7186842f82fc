"""A block, a width and a look → rows of exactly that width."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment

from agent_core.names import MCP_PREFIX, RUN_COMMAND, TODO_WRITE
from nanoherm_tui import limits
from nanoherm_tui import text as cells
from nanoherm_tui.i18n import phrase, t, tell
from nanoherm_tui.symbols import sym
from nanoherm_tui.transcript import outcomes
from nanoherm_tui.transcript.blocks import Block, Card, Code, Note, Prose, Thought, ThoughtText, UserText
from nanoherm_tui.transcript.code_block import code_block
from nanoherm_tui.transcript.prose import prose
from nanoherm_tui.transcript.row import MARK_AT, RIGHT_MARGIN, TEXT_AT, Ink, Row, row_of, text_width, wrapped

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Look

NAME_CELLS = 12
TIME_CELLS = 8
FIGURE_CELLS = 5  # cells.count
NOTE_HANG = 4  # of a path that a notice lists and that goes on in the next row
TIME_FROM_WIDTH = 56  # a card on a narrower pane shows no time


class Moment(NamedTuple):
    """What running marks and seconds are drawn from."""

    frame: int = 0
    now: float = 0.0


def render(block: Block, width: int, look: Look, moment: Moment) -> list[Row]:
    """The rows of `block`, each `width` cells wide; at least one, but for blocks without anything to show."""
    if isinstance(block, Prose):
        rows = prose(block, width, look)
    elif isinstance(block, Code):
        rows = code_block(block.text, block.lang if block.first else "", width, look, lang=block.lang, plain=block.open)
    elif isinstance(block, UserText):
        rows = _user(block, width, look)
    elif isinstance(block, Card):
        rows = _card(block, width, look, moment)
    elif isinstance(block, Thought):
        rows = [_thought(block, width, look, moment)]
    elif isinstance(block, ThoughtText):
        style = look.style("muted")
        rows = wrapped([(block.text, style)], width, look)
    else:
        rows = _note(block, width, look)
    return rows


def wants_moment(block: Block) -> bool:
    """Whether the block's rows change as time passes."""
    return (isinstance(block, Card) and block.state == "running") or (isinstance(block, Thought) and block.started > 0)


def _user(block: UserText, width: int, look: Look) -> list[Row]:
    bar: list[Ink] = [
        (" " * MARK_AT, look.style()),
        (sym("bar"), look.mark("accent")),
        (" " * (TEXT_AT - MARK_AT - 1), look.style()),
    ]
    stamp = time.strftime("%H:%M", time.localtime(block.created)) if block.created else ""
    room = text_width(width)
    reserve = 8 if width >= TIME_FROM_WIDTH else 0  # the time and three blanks, kept free on every row
    rows = wrapped(_backticks(block.text, look), width, look, first=bar, rest=bar, room=max(2, room - reserve))
    notes: list[str] = []
    if block.hidden_lines:
        notes.append(t("transcript.more_lines", n=block.hidden_lines))
    if block.images:
        notes.append(t("transcript.image" if block.images == 1 else "transcript.images", n=block.images))
    for note in notes:
        shown = cells.cut(f"{sym('cut')} {note}" if block.hidden_lines and note is notes[0] else note, room)
        rows.append(row_of(width, look, bar, (), tail=[(shown, look.style("muted"))]))
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
        took = cells.duration(moment.now - block.started, running=True)
        if block.summary is not None:
            label = t("transcript.compacting", n=block.summary, took=took)
        else:
            label = t("transcript.thinking", took=took)
    else:
        mark = sym("open" if block.open else "folded")
        if block.summary is not None:
            label = t("transcript.compacted", n=block.summary) if block.summary else t("transcript.summary")
        elif block.seconds >= 0.5:
            label = t("transcript.thought", took=cells.duration(round(block.seconds), running=True))
        else:
            label = t("transcript.thought_short")
    muted = look.style("muted")
    lead: list[Ink] = [
        (" " * MARK_AT, look.style()),
        (mark, look.mark("accent" if block.started else "muted")),
        (" " * (TEXT_AT - MARK_AT - 1), look.style()),
    ]
    room = text_width(width)
    label = cells.cut(label, room)
    rest = room - cell_len(label) - 2
    line = cells.cut(block.line, rest) if rest >= 4 and not block.open else ""
    body: list[Ink] = [(label, muted), ("  " if line else "", muted), (line, look.style("muted", italic=True))]
    return row_of(width, look, lead, body)


_STATES = {
    # state: (symbol, colour of the mark, colour of the outcome)
    "arriving": ("running", "accent", "muted"),
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
    if block.state == "arriving":
        outcome = t("transcript.arriving", n=cells.count(block.characters).rjust(FIGURE_CELLS))
    if block.state == "running":
        seconds = cells.duration(moment.now - block.started, running=True)
    elif block.state in ("done", "failed"):
        seconds = cells.duration(block.seconds)
    room = text_width(width)
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
    head = row_of(width, look, lead, body)
    head.text = head.text.rstrip()
    rows = [head]
    margin: list[Ink] = [(" " * TEXT_AT, ground)]
    if block.is_end:
        note = f"{sym('cut')} {t('transcript.before_in_dock')}"
        rows.append(row_of(width, look, margin, (), tail=[(cells.cut(note, room), muted)]))
    for number, line in enumerate(block.rows):
        style = look.style("fail") if block.state == "failed" and number == 0 and not block.open else muted
        row = row_of(width, look, margin, [(cells.cut(line, room), style)])
        row.text = line
        rows.append(row)
    if block.more_lines and not block.is_end:
        note = f"{sym('cut')} {t('transcript.more_in_dock', n=block.more_lines)}"
        rows.append(row_of(width, look, margin, (), tail=[(cells.cut(note, room), muted)]))
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
    listed = [
        f"  {t('text.pair', name=path, value=phrase('left_because', why)) if why else path}"
        for path, why in block.lines
    ]
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
    rows: list[Row] = []
    for line in note_words(block).split("\n"):
        hang = NOTE_HANG if block.lines and line.startswith(" ") else 0
        margin: list[Ink] = [(" " * (TEXT_AT + hang), ground)]
        above: list[Ink] = [(" " * TEXT_AT, ground)]
        rows += wrapped([(line, look.style(role))], width, look, first=above if rows else lead, rest=margin)
    return rows
