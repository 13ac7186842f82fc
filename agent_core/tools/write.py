"""write_file: a whole new content for a file, new or old."""

from __future__ import annotations

from agent_core import files, limits
from agent_core.errors import ToolFailure
from agent_core.messages import clean_surrogates
from agent_core.names import WRITE_FILE
from agent_core.ports import Args, EditAction, NoAction, Prepared, Tool, ToolContext, ToolOutput
from agent_core.safety import redact
from agent_core.safety.paths import PathVerdict
from agent_core.text import diff, encoding

from . import base


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    verdict = base.judged("write", base.text(args, "path"), ctx)
    content = clean_surrogates(base.text(args, "content"))
    try:
        old = base.read_text(verdict, base.rules(ctx))
    except ToolFailure as failure:
        if failure.code != "missing":
            raise
        return _creation(verdict, content, ctx)
    base.check_seen(old, ctx)
    # A model writes plain line ends; the file keeps its own, with its encoding and byte order mark.
    return replacement(old, encoding.fit_newlines(content, old.decoded), ctx)


def _creation(verdict: PathVerdict, content: str, ctx: ToolContext) -> Prepared:
    data = _encoded(content, encoding.UTF8, verdict)
    change = diff.build(verdict.shown, None, content)

    def run() -> ToolOutput:
        files.write(verdict, base.rules(ctx), data, None)
        base.saw(verdict, files.digest(data), content, ctx)
        lines = base.count(change.added, "line")
        return ToolOutput(f"Created {verdict.shown} ({lines}).", f"new, {lines}", effect="done", diffs=(change,))

    return base.prepared(EditAction((change,)), run, **base.path_verdict(verdict))


def replacement(old: base.TextFile, new: str, ctx: ToolContext, note: str = "") -> Prepared:
    """The call that puts `new` (with the line ends it shall have) in place of the content of `old`.

    Raises ToolFailure when the file's encoding lacks a character of it, or when a mark would take a key's place.
    """
    verdict = old.verdict
    if new.count(redact.MARK) > old.decoded.text.count(redact.MARK):
        raise ToolFailure(
            f"The new text of {verdict.shown} holds {redact.MARK}, which stands for a key you are not shown: writing "
            "it would destroy the key. Change the lines around it with edit_file. Nothing was changed.",
            code="redacted",
            outcome="would destroy a key",
        )
    data = _encoded(new, old.decoded, verdict)
    change = diff.build(verdict.shown, old.decoded.text, new)
    if files.digest(data) == old.digest:
        same = ToolOutput(f"{verdict.shown} has exactly this content already; nothing was written.", "no change")
        return base.prepared(NoAction(), lambda: same)

    def run() -> ToolOutput:
        files.write(verdict, base.rules(ctx), data, old.digest)
        base.saw(verdict, files.digest(data), new, ctx)
        stat = diff.stat(change)
        return ToolOutput(f"Changed {verdict.shown} ({stat}).{note}", stat, effect="done", diffs=(change,))

    return base.prepared(EditAction((change,)), run, **base.path_verdict(verdict))


def _encoded(content: str, like: encoding.Decoded, verdict: PathVerdict) -> bytes:
    """The bytes to write. What could not be written is refused here, before anybody is asked about it."""
    data = encoding.encode(content, like)
    if len(data) > limits.WRITE_FILE:
        raise ToolFailure(
            f"{verdict.shown} would be {len(data):,} bytes; files of at most {limits.WRITE_FILE:,} bytes are written. "
            "Make it with a command.",
            code="too_large",
            outcome="too large",
        )
    return data


TOOL = Tool(
    WRITE_FILE,
    "Write a whole file: a new one, or all of an existing one that you have read. To change parts, use edit_file.",
    base.schema(["path", "content"], path=base.prop("string"), content=base.prop("string")),
    lambda args: base.paths_effect("write", args),
    lambda args: base.subject(args, "path"),
    _prepare,
)
