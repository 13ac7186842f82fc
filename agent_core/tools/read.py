"""read_file: a text file with line numbers, or a part of one."""

from __future__ import annotations

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.names import READ_FILE
from agent_core.ports import Args, Prepared, ReadAction, Tool, ToolContext, ToolOutput

from . import base


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    verdict = base.judged("read", base.text(args, "path"), ctx)
    offset = base.number(args, "offset", 1, 1, limits.READ_FILE)
    limit = base.number(args, "limit", limits.READ_FILE, 1, limits.READ_FILE)

    def run() -> ToolOutput:
        # A folder, a missing or a binary file fails here, after any consent: before it nothing is looked at.
        file = base.read_text(verdict, base.rules(ctx))
        output = _shown(file, offset, limit, ctx.bounds.most - limits.NOTE_BYTES)
        base.saw(verdict, file.digest, file.decoded.text, ctx)
        return output

    return base.prepared(ReadAction(verdict.shown), run, **base.path_verdict(verdict))


def _shown(file: base.TextFile, offset: int, limit: int, room: int) -> ToolOutput:
    """The lines asked for, as many as fit into `room` bytes; a note says how to go on."""
    lines = file.lines
    total = base.count(len(lines), "line")
    if not lines:
        return ToolOutput("(the file is empty)", "empty")
    if offset > len(lines):
        raise ToolFailure(
            f"{file.verdict.shown} has {total}; line {offset:,} is behind its end.", outcome="no such line"
        )
    wanted = lines[offset - 1 : offset - 1 + min(limit, room)]  # a line takes more than a byte: no more can fit
    numbered = [
        f"{number}\t{base.cut_line(line, limits.READ_LINE_CHARS)}" for number, line in enumerate(wanted, offset)
    ]
    shown = base.bounded(numbered, room)
    last = offset + shown - 1
    notes = []
    if last < len(lines):
        notes.append(f"lines {offset:,}-{last:,} of {len(lines):,}; go on with offset={last + 1}")
    if file.decoded.encoding != "utf-8":
        notes.append(f"encoding {file.decoded.encoding}")
    text = "\n".join(numbered[:shown] + ([f"[{'; '.join(notes)}]"] if notes else []))
    return ToolOutput(text, total if shown == len(lines) else f"lines {offset:,}-{last:,} of {len(lines):,}")


TOOL = Tool(
    READ_FILE,
    "Read a text file with line numbers (number, tab, line). Long files come in parts: pass offset to go on. "
    "Read a file before you change it.",
    base.schema(
        ["path"],
        path=base.prop("string", "Relative to the workspace, absolute, or ~/..."),
        offset=base.prop("integer", "First line, from 1"),
        limit=base.prop("integer", "Number of lines"),
    ),
    lambda args: base.paths_effect("read", args),
    lambda args: base.subject(args, "path"),
    _prepare,
)
