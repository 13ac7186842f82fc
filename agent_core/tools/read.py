"""read_file: a text file with line numbers, or a part of one; a notebook by its cells; an image as one."""

from __future__ import annotations

from functools import partial

from agent_core import files, limits
from agent_core.errors import AgentError, SandboxError, ToolFailure
from agent_core.images import reader as images
from agent_core.names import READ_FILE
from agent_core.ports.actions import ReadAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.safety.paths import PathVerdict
from agent_core.sandbox.policy import READ_ONLY
from agent_core.text import ipynb
from agent_core.text.kinds import IMAGE_NAMES, image_kind

from . import base
from .listing import size


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    verdict = base.judged("read", base.text(args, "path"), ctx)
    offset = base.number(args, "offset", 1, 1, limits.READ_FILE)
    limit = base.number(args, "limit", limits.READ_FILE, 1, limits.READ_FILE)

    def run() -> ToolOutput:
        # A folder, a missing or a binary file fails here, after any consent: before it nothing is looked at.
        content = _content(verdict, ctx)
        if image_kind(content.data):
            ctx.files.saw(verdict.path, content.digest)
            return _image(content.data, verdict.shown, ctx)
        file = base.as_text(verdict, content)
        room = ctx.bounds.most - limits.NOTE_BYTES
        cells = ipynb.cells(file.decoded.text) if verdict.path.suffix == ".ipynb" else None
        output = _shown(file, offset, limit, room) if cells is None else _notebook(file, cells, offset, limit, room)
        base.saw(verdict, file.digest, file.decoded.text, ctx)
        return output

    return base.prepared(ReadAction(verdict.shown), run, **base.path_verdict(verdict))


def _content(verdict: PathVerdict, ctx: ToolContext) -> files.FileContent:
    """The bytes of the file; an image may have more of them than text. Raises ToolFailure."""
    read = partial(files.read, verdict, base.rules(ctx))
    if not verdict.path.name.lower().endswith(IMAGE_NAMES):
        return read(limits.READ_FILE)
    try:
        content = read(limits.IMAGE_FILE)
    except ToolFailure as failure:
        if failure.code != "too_large":
            raise
        raise ToolFailure(images.too_large(verdict.shown).text, code="too_large", outcome="too large") from failure
    return content if len(content.data) <= limits.READ_FILE or image_kind(content.data) else read(limits.READ_FILE)


def picture_in(path: str, ctx: ToolContext) -> images.Picture:
    """The image that a file holds which may be read without asking. Raises ToolFailure, Interrupted."""
    verdict = base.judged("read", path, ctx)
    if verdict.verdict != "allow":
        text = f"{verdict.shown} cannot be given on unasked ({verdict.rule}). Look at it with {READ_FILE} yourself."
        raise ToolFailure(text, code="denied", outcome="refused", rule=verdict.rule)
    return _picture(files.read(verdict, base.rules(ctx), limits.IMAGE_FILE).data, verdict.shown, ctx)


def _picture(data: bytes, shown: str, ctx: ToolContext) -> images.Picture:
    """Raises ToolFailure, Interrupted."""
    try:
        return images.fit(data, shown, ctx.cancel, ctx.confine(READ_ONLY))
    except SandboxError as error:
        raise ToolFailure(
            f"The image was not looked at: {error.text}", code=error.code, outcome="no sandbox"
        ) from error
    except AgentError as error:
        if error.code == "interrupted":
            raise
        raise ToolFailure(error.text, code=error.code, outcome="no image") from error


def _image(data: bytes, shown: str, ctx: ToolContext) -> ToolOutput:
    """The image for a model that sees, words about it for one that does not. Raises ToolFailure."""
    picture = _picture(data, shown, ctx)
    words = f"image {picture.words}, {size(len(data))}"
    if ctx.sees_images:
        return ToolOutput(f"[{words}; it is shown to you]", picture.words, images=(picture.part,))
    return ToolOutput(
        f"[{words}. You cannot be shown images here: ask the person what is to be seen, or use a command that reads "
        "it, such as an OCR program.]",
        picture.words,
    )


def _shown(file: base.TextFile, offset: int, limit: int, room: int) -> ToolOutput:
    """The lines asked for, as many as fit into `room` bytes; a note says how to go on."""
    lines = file.lines
    total = base.count(len(lines), "line")
    if not lines:
        return ToolOutput("(the file is empty)", "empty")
    _check_offset(offset, lines, f"{file.verdict.shown} has {total}")
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


def _notebook(file: base.TextFile, lines: list[str], offset: int, limit: int, room: int) -> ToolOutput:
    """A notebook's cells, without line numbers: they would not be those of the file."""
    _check_offset(offset, lines, f"{file.verdict.shown} has {base.count(len(lines), 'line')} when shown by its cells")
    wanted = [base.cut_line(line, limits.READ_LINE_CHARS) for line in lines[offset - 1 : offset - 1 + min(limit, room)]]
    shown = base.bounded(wanted, room)
    last = offset + shown - 1
    notes = ["shown by its cells; edit_file and write_file work on the file's JSON, where each source line is a string"]
    if last < len(lines):
        notes.insert(0, f"lines {offset:,}-{last:,} of {len(lines):,} of this view; go on with offset={last + 1}")
    outcome = base.count(sum(line.startswith("## cell ") for line in lines), "cell")
    return ToolOutput("\n".join([*wanted[:shown], f"[notebook: {'; '.join(notes)}]"]), outcome)


def _check_offset(offset: int, lines: list[str], has: str) -> None:
    if offset > len(lines):
        raise ToolFailure(f"{has}; line {offset:,} is behind its end.", outcome="no such line")


TOOL = Tool(
    READ_FILE,
    "Read a text file with line numbers (number, tab, line), a notebook, or an image. Long files come in parts: pass "
    "offset to go on. Read a file before you change it.",
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
