"""list_dir: what lies in a folder."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable
from itertools import islice

from agent_core import files, limits
from agent_core.errors import ToolFailure
from agent_core.names import LIST_DIR
from agent_core.ports.actions import ReadAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.safety.paths import PathVerdict
from agent_core.text.printable import printable
from agent_core.workspace.walk import Ignore, ignore_for

from . import base


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    verdict = base.judged("read", base.text(args, "path", ".") or ".", ctx)

    def run() -> ToolOutput:
        ignore = ignore_for(str(verdict.path)) if ctx.respect_gitignore else Ignore()
        return _list(verdict, ignore, ctx.cancel.check)

    return base.prepared(ReadAction(verdict.shown), run, **base.path_verdict(verdict))


def _list(verdict: PathVerdict, ignore: Ignore, check: Callable[[], None]) -> ToolOutput:
    shown = verdict.shown
    found: list[os.DirEntry[str]] = []
    try:
        with os.scandir(verdict.path) as scan:
            while more := list(islice(scan, min(limits.LIST_STEP, limits.WALK_FILES - len(found)))):
                found += more
                check()
            is_whole = len(found) < limits.WALK_FILES or next(scan, None) is None
    except FileNotFoundError:
        raise files.missing(verdict) from None
    except NotADirectoryError:
        raise ToolFailure(f"{shown} is a file; read it with read_file.", code="not_a_folder") from None
    except OSError as error:
        raise ToolFailure(f"{shown} cannot be listed: {error.strerror}.", code="unreadable") from error
    entries = sorted((not _is_folder(entry), entry.name, entry) for entry in found)
    lines = [
        _line(entry) + (" (ignored)" if ignore.ignores(entry.path, not is_file) else "")
        for is_file, _, entry in entries[: limits.LIST_ENTRIES]
    ]
    fits = base.bounded(lines, limits.TOOL_RESULT - limits.NOTE_BYTES)
    outcome = base.count(len(found), "entry", "entries") if is_whole else f"{len(found):,}+ entries"
    if fits < len(found):
        lines[fits:] = [f"[{fits:,} of {outcome}; use glob to narrow it down]"]
    return ToolOutput("\n".join(lines) if lines else "(the folder is empty)", outcome)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _line(entry: os.DirEntry[str]) -> str:
    name = printable(entry.name)
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            return f"{name}/"
        if stat.S_ISLNK(status.st_mode):
            return f"{name} -> {printable(os.readlink(entry.path))}{_where_it_leads(entry)}"
        if not stat.S_ISREG(status.st_mode):
            return f"{name} (device, pipe or socket)"
        return f"{name}  {size(status.st_size)}"
    except OSError:
        return f"{name} (gone)"


def _where_it_leads(link: os.DirEntry[str]) -> str:
    try:
        return "/" if stat.S_ISDIR(link.stat().st_mode) else ""
    except OSError:  # to nothing, in a circle, or where we may not look
        return " (leads nowhere)"


def size(number: int) -> str:
    """A file's size for reading: "812 B", "1.2 KB", "3.4 MB", "10.0 GB"."""
    if number < limits.KB:
        return f"{number} B"
    if number < limits.MB:
        return f"{number / limits.KB:.1f} KB"
    return f"{number / limits.MB:.1f} MB" if number < limits.GB else f"{number / limits.GB:.1f} GB"


def join(folder: str, relative: str) -> str:
    """A path below a folder that is shown as `folder`, as the model may use it again."""
    return printable(relative) if folder == "." else posixpath.join(folder, printable(relative))


TOOL = Tool(
    LIST_DIR,
    "List a folder: folders first, then files with their sizes. What .gitignore names is marked.",
    base.schema([], path=base.prop("string", "Default: the workspace")),
    lambda args: base.paths_effect("read", args, "."),
    lambda args: base.subject(args, "path") or ".",
    _prepare,
)
