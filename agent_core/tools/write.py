"""write_file: a whole new content for a file, new or old."""

from __future__ import annotations

from agent_core.errors import ToolFailure
from agent_core.messages import clean_surrogates
from agent_core.names import WRITE_FILE
from agent_core.ports.actions import NoAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.text import encoding

from . import base, change


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    verdict = base.judged("write", base.text(args, "path"), ctx)
    content = clean_surrogates(base.text(args, "content"))
    try:
        old = base.read_text(verdict, base.rules(ctx))
    except ToolFailure as failure:
        if failure.code != "missing":
            raise
        return change.prepared([change.creation(verdict, content)], ctx)
    base.check_seen(old, ctx)
    # A model writes plain line ends; the file keeps its own, with its encoding and byte order mark.
    made = change.edit(old, encoding.fit_newlines(content, old.decoded))
    if made is None:
        same = ToolOutput(f"{verdict.shown} has exactly this content already; nothing was written.", "no change")
        return base.prepared(NoAction(), lambda: same)
    return change.prepared([made], ctx)


TOOL = Tool(
    WRITE_FILE,
    "Write a whole file: a new one, or all of an existing one that you have read. To change parts, use edit_file.",
    base.schema(["path", "content"], path=base.prop("string"), content=base.prop("string")),
    lambda args: base.paths_effect("write", args),
    lambda args: base.subject(args, "path"),
    _prepare,
)
