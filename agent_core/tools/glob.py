"""glob: files by name."""

from __future__ import annotations

import posixpath
import re

from agent_core import files, limits
from agent_core.errors import ToolFailure
from agent_core.names import GLOB
from agent_core.ports.actions import ReadAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.text import globs
from agent_core.workspace.walk import Walk

from . import base
from .listing import join

_MAGIC = re.compile(r"[*?\[{\\]")


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    path, pattern = base.text(args, "path", ".") or ".", base.text(args, "pattern")
    ignored = base.flag(args, "ignored", not ctx.respect_gitignore)
    if pattern.startswith(("/", "~/")):
        path, pattern = split(pattern)
    elif (head := pattern.removeprefix("./")) and not pattern.startswith("**") and "/" in head:
        folder, pattern = split(head)
        path = posixpath.join(path, folder) if folder else path
    base.judged("glob", posixpath.join(path, pattern.lstrip("/") or "*"), ctx)
    verdict = base.judged("glob", posixpath.join(path, "*"), ctx)
    expression, names = compiled(pattern), globs.compile_names(pattern)
    folder, hidden = str(verdict.path).rstrip("/"), base.rules(ctx).hidden

    def run() -> ToolOutput:
        if not verdict.path.exists():
            raise files.missing(verdict)
        if not verdict.path.is_dir():
            raise ToolFailure(f"{verdict.shown} is a file; give the folder to look in.", code="not_a_folder")
        walk = Walk(str(verdict.path), ctx.cancel, ignored=ignored, links=True, names=names)
        found: list[str] = []
        more = False
        for file in walk:
            if expression.fullmatch(file) and not hidden(f"{folder}/{file}", False):
                if len(found) == limits.GLOB_FILES:
                    more = True
                    break
                found.append(join(verdict.shown, file))
        return _shown(found, more, walk.cut)

    return base.prepared(ReadAction(verdict.shown), run, **base.search_verdict(verdict, ctx))


def split(pattern: str) -> tuple[str, str]:
    """A pattern as the folder it names in full and the rest, which keeps its tie to that folder."""
    parts = pattern.split("/")
    plain = 0
    while plain < len(parts) - 1 and not _MAGIC.search(parts[plain]):
        plain += 1
    rest = "/".join(parts[plain:])
    return "/".join(parts[:plain]) or ("/" if pattern.startswith("/") else ""), f"/{rest}" if plain else rest


def compiled(pattern: str) -> re.Pattern[str]:
    try:
        return globs.compile_glob(pattern)
    except ValueError as error:
        raise ToolFailure(f"The pattern cannot be used: {error}.", outcome="invalid pattern") from None


def _shown(found: list[str], more: bool, cut: bool) -> ToolOutput:
    fits = base.bounded(found, limits.TOOL_RESULT - limits.NOTE_BYTES)
    lines = found[:fits]
    if more or fits < len(found):
        lines.append(f"[the first {fits:,} only, there are more; narrow the pattern or the path]")
    if cut:
        lines.append(f"[stopped after {limits.WALK_FILES:,} files; give a path to look in less]")
    outcome = base.count(len(found), "file") if not more else f"{len(found):,}+ files"
    return ToolOutput("\n".join(lines) or "No file matches.", outcome)


TOOL = Tool(
    GLOB,
    "Find files by name: `*.py` at any depth, `src/**/test_*.ts`, `*.{js,ts}`. Sorted by path.",
    base.schema(
        ["pattern"],
        pattern=base.prop("string"),
        path=base.prop("string", "Folder to look in; default: the workspace"),
        ignored=base.prop("boolean", "Also what .gitignore leaves out"),
    ),
    lambda args: base.paths_effect("read", args, "."),
    lambda args: base.subject(args, "pattern"),
    _prepare,
)
