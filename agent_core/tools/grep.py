"""grep: lines that match a pattern."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent_core import limits
from agent_core.errors import SandboxError, ToolFailure
from agent_core.names import GREP
from agent_core.ports import Args, Prepared, ReadAction, Tool, ToolContext, ToolOutput
from agent_core.safety.paths import PathRules, PathVerdict, reader_of_found
from agent_core.sandbox.policy import READ_ONLY, SandboxPolicy
from agent_core.scan import Search, find_ripgrep, matches
from agent_core.text.pattern import Pattern, UnsupportedPattern, compile_pattern
from agent_core.workspace import Walk

from . import base
from .glob import compiled
from .listing import join


@dataclass(slots=True)
class _Skipped:
    """What was not searched, to be told."""

    large: int = 0
    protected: int = 0
    binary: int = 0
    cut: bool = False

    def notes(self) -> list[str]:
        out = []
        if self.large:
            out.append(f"[{base.count(self.large, 'file')} over {limits.GREP_FILE // limits.MB} MB not searched]")
        if self.protected:
            out.append(f"[{base.count(self.protected, 'protected file')} (keys, .env) not searched]")
        if self.binary:
            out.append(f"[{base.count(self.binary, 'binary file')} with matches left out]")
        if self.cut:
            out.append(f"[stopped after {limits.WALK_FILES:,} files; give a path to look in less]")
        return out


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
        raise ToolFailure(f"{request.verdict.shown} does not exist.", code="missing", outcome="not found")
    one_file = not place.is_dir()
    root, shown = (place.parent, posixpath.dirname(request.verdict.shown) or ".") if one_file else (
        place, request.verdict.shown)  # fmt: skip
    skipped = _Skipped()
    candidates = _small([place.name], root, skipped) if one_file else _candidates(request, root, ctx, skipped)
    search = Search(
        request.pattern,
        root,
        ctx.env,
        ctx.cancel,
        find_ripgrep(ctx.env, ctx.workspace),
        _box(place, ctx),
        most=1 if request.files_only else limits.GREP_MATCHES + 1,
    )
    report = _Report(request, root, shown, base.rules(ctx), skipped, ctx.bounds.most - limits.NOTE_BYTES)
    for file, numbers in matches(search, candidates):
        if not report.add(file, numbers):
            break
    return report.output()


def _box(place: Path, ctx: ToolContext) -> SandboxPolicy | None:
    """What the search program is held to: reading. A file that the person let be searched is not hidden from it."""
    try:
        policy = ctx.confine(READ_ONLY)
    except SandboxError:  # this machine cannot: then it runs as it always did, with nothing but reading to do
        return None
    return policy and replace(policy, hidden=tuple(path for path in policy.hidden if not place.is_relative_to(path)))


def _candidates(request: _Request, root: Path, ctx: ToolContext, skipped: _Skipped) -> Iterator[str]:
    """The files below a folder that are to be searched."""
    only = compiled(request.glob) if request.glob else None
    walk = Walk(str(root), ctx.cancel, ignored=request.ignored)
    may_read = reader_of_found(base.rules(ctx))
    prefix = f"{str(root).rstrip('/')}/"

    def readable() -> Iterator[str]:
        for file in walk:
            if "\n" in file or (only is not None and not only.fullmatch(file)):
                continue
            if may_read(prefix + file):
                yield file
            else:
                skipped.protected += 1

    yield from _small(readable(), root, skipped)
    skipped.cut = walk.cut


def _small(files: Iterator[str] | Sequence[str], root: Path, skipped: _Skipped) -> Iterator[str]:
    prefix = f"{str(root).rstrip('/')}/"
    for file in files:
        try:
            size = os.lstat(prefix + file).st_size
        except OSError:  # gone since it was seen
            continue
        if size <= limits.GREP_FILE:
            yield file
        else:
            skipped.large += 1


@dataclass(slots=True)
class _Report:
    """The result as it grows, within its bounds."""

    request: _Request
    root: Path
    shown: str
    rules: PathRules
    skipped: _Skipped
    room: int
    """Bytes that are left."""
    lines: list[str] = field(default_factory=list)
    matches: int = 0
    files: int = 0
    full: str = ""

    def add(self, file: str, numbers: Sequence[int]) -> bool:
        """Take in a file's matching lines; False when the result is full."""
        path = join(self.shown, file)
        try:
            verdict = PathVerdict("allow", "", "", self.root / file, path)
            lines = base.read_text(verdict, self.rules).lines
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
