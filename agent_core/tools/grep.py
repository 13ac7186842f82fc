"""grep: lines that match a pattern."""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import field, replace
from pathlib import Path

from agent_core import files, limits
from agent_core.errors import SandboxError, ToolFailure
from agent_core.names import GREP
from agent_core.ports.actions import ReadAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.safety.paths import PathVerdict
from agent_core.sandbox.policy import READ_ONLY, SandboxPolicy
from agent_core.text.pattern import Pattern, UnsupportedPattern, compile_pattern
from agent_core.workspace.scan import Search, find_ripgrep, matches, plain_lines, settled, too_slow

from . import base
from .glob import compiled
from .grep_files import Skipped, Wanted, can_be_looked_for, looked_for, small, walked
from .listing import join


@dataclass(frozen=True, slots=True)
class _Request:
    verdict: PathVerdict
    pattern: Pattern
    glob: str
    context: int
    files_only: bool
    ignored: bool


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    verdict = base.judged("read", base.text(args, "path", ".") or ".", ctx)
    try:
        pattern = compile_pattern(
            base.text(args, "pattern"), fixed=base.flag(args, "fixed"), ignore_case=base.flag(args, "ignore_case")
        )
    except UnsupportedPattern as error:
        raise ToolFailure(
            f"The pattern cannot be used: {error}. For plain text pass fixed=true.",
            code="invalid_pattern",
            outcome="invalid pattern",
        ) from None
    request = _Request(
        verdict,
        pattern,
        base.text(args, "glob", ""),
        base.number(args, "context", 0, 0, limits.GREP_CONTEXT),
        base.flag(args, "files_only"),
        base.flag(args, "ignored", not ctx.respect_gitignore),
    )
    if request.glob:
        compiled(request.glob)
    return base.prepared(ReadAction(verdict.shown), lambda: _run(request, ctx), **base.search_verdict(verdict, ctx))


def _run(request: _Request, ctx: ToolContext) -> ToolOutput:
    place = request.verdict.path
    if not os.path.lexists(place):
        raise files.missing(request.verdict)
    one_file = not place.is_dir()
    root, shown = (place.parent, posixpath.dirname(request.verdict.shown) or ".") if one_file else (
        place, request.verdict.shown)  # fmt: skip
    skipped = Skipped()
    wanted = Wanted(str(root).rstrip("/"), base.rules(ctx), request.glob, request.ignored)
    search = Search(
        request.pattern,
        root,
        ctx.env,
        ctx.cancel,
        find_ripgrep(ctx.env, ctx.workspace),
        _box(place, ctx),
        most=1 if request.files_only else limits.GREP_MATCHES + 1,
    )
    report = _Report(request, search, wanted, shown, skipped, ctx.bounds.most - limits.NOTE_BYTES)
    with closing(_found(search, wanted, place.name if one_file else "", skipped)) as found:
        for file, numbers in found:
            if not report.add(file, numbers):
                break
    return report.output()


def _found(
    search: Search, wanted: Wanted, one_file: str, skipped: Skipped
) -> Generator[tuple[str, Sequence[int] | None]]:
    """Files with the numbers of their matching lines, None where those are to be looked for in the text."""
    deadline = time.monotonic() + limits.GREP_SECONDS
    if one_file:
        yield from matches(search, small([one_file], wanted.root, skipped), deadline)
        return
    if search.ripgrep is None or not can_be_looked_for(wanted.glob):
        yield from matches(search, walked(wanted, search.cancel, skipped), deadline)
        return
    with closing(looked_for(wanted, search, deadline, skipped)) as looked:
        for file, numbers in looked if search.pattern.is_plain else settled(search, looked, deadline):
            search.cancel.check()
            if time.monotonic() >= deadline:
                raise too_slow()
            yield file, numbers


def _box(place: Path, ctx: ToolContext) -> SandboxPolicy | None:
    """What the search program is held to: reading. A file that the person let be searched is not hidden from it."""
    try:
        policy = ctx.confine(READ_ONLY)
    except SandboxError:  # this machine cannot: then it runs as it always did, with nothing but reading to do
        return None
    seen = tuple(path for path in policy.hidden if not place.is_relative_to(path)) if policy else ()
    return policy and replace(policy, hidden=seen, looks=True)


@dataclass(slots=True)
class _Report:
    """The result as it grows, within its bounds."""

    request: _Request
    search: Search
    wanted: Wanted
    shown: str
    skipped: Skipped
    room: int
    """Bytes that are left."""
    lines: list[str] = field(default_factory=list)
    matches: int = 0
    files: int = 0
    full: str = ""

    def add(self, file: str, numbers: Sequence[int] | None) -> bool:
        """Take in a file's matching lines; False when the result is full."""
        path = join(self.shown, file)
        try:
            verdict = PathVerdict("allow", "", "", self.search.root / file, path)
            content = files.read(verdict, self.wanted.rules)
            if numbers is None and not (numbers := plain_lines(self.search, content.data)):
                return True
            lines = base.as_text(verdict, content).searched_lines
        except ToolFailure as failure:
            # Binary, or gone or grown since it was searched: there is no line to show.
            self.skipped.binary += failure.code == "binary"
            return True
        if self.request.files_only:
            return self._add_file(path)
        numbers = [number for number in numbers if number <= len(lines)]
        wanted = numbers[: limits.GREP_MATCHES - self.matches]
        if len(wanted) < len(numbers):
            self.full = (
                f"[the first {limits.GREP_MATCHES} matches only, there are more; narrow the pattern or the path]"
            )
        if wanted and self._put(path):
            self.files += 1
            self._add_lines(lines, wanted)
        return not self.full

    def _add_file(self, path: str) -> bool:
        if self.files == limits.GLOB_FILES:
            self.full = f"[the first {limits.GLOB_FILES} files only, there are more; narrow the pattern or the path]"
        elif self._put(path):
            self.files += 1
        return not self.full

    def _add_lines(self, lines: Sequence[str], wanted: Sequence[int]) -> None:
        matching, context, last = set(wanted), self.request.context, 0
        for match in wanted:
            first = max(match - context, last + 1)
            if context and last and first > last + 1 and not self._put("--"):
                return
            # Context behind a match ends at the next match, which brings its own.
            for number in range(first, min(match + context, len(lines)) + 1):
                if number > match and number in matching:
                    break
                mark = ":" if number in matching else "-"
                text = base.cut_line(lines[number - 1], limits.GREP_LINE_CHARS)
                if not self._put(f"{number}{mark}{text}"):
                    return
                self.matches += number in matching
                last = number

    def _put(self, line: str) -> bool:
        self.room -= len(line.encode("utf-8", "replace")) + 1
        if self.room < 0:
            self.full = (
                "[the result is full, there are more matches; narrow the pattern or the path, or use files_only]"
            )
            return False
        self.lines.append(line)
        return True

    def output(self) -> ToolOutput:
        plus = "+" if self.full else ""
        found = f"{self.files:,}{plus} " + ("file" if self.files == 1 and not plus else "files")
        if not self.request.files_only:
            noun = "match" if self.matches == 1 and not plus else "matches"
            found = f"{self.matches:,}{plus} {noun} in {found}"
        notes = ([self.full] if self.full else []) + self.skipped.notes()
        if not self.lines:
            return ToolOutput("\n".join(["No match.", *notes]), "no match")
        return ToolOutput("\n".join([*self.lines, *notes]), found)


TOOL = Tool(
    GREP,
    "Search file contents by regular expression, line by line. Result: path, then `line:text` of its matches.",
    base.schema(
        ["pattern"],
        pattern=base.prop("string"),
        path=base.prop("string", "Folder or file; default: the workspace"),
        glob=base.prop("string", "Only files like this, e.g. *.py"),
        fixed=base.prop("boolean", "The pattern is plain text"),
        ignore_case=base.prop("boolean"),
        context=base.prop("integer", "Lines around each match"),
        files_only=base.prop("boolean", "Only the names of files with a match"),
        ignored=base.prop("boolean", "Also what .gitignore leaves out"),
    ),
    lambda args: base.paths_effect("read", args, "."),
    lambda args: base.subject(args, "pattern"),
    _prepare,
)
