"""Which lines of which files match: ripgrep where it is installed, else a slower program of our own.

Both are children that can be killed, both get the same files (walked and judged by the caller), and both answer with
line numbers only; the caller reads the lines itself. So the engines differ in speed, not in what is found. With
ripgrep the caller may first ask which files of whole folders are worth a look (`worth_a_look`).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from agent_core import limits, plain_files
from agent_core.cancel import CancelScope
from agent_core.errors import SandboxError, ToolFailure
from agent_core.process.running import alarm, running
from agent_core.records import dataclass
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.text.pattern import Pattern
from agent_core.workspace import scan_child

_CHILD: Final = str(Path(__file__).with_name("scan_child.py"))
# --text: a NUL must not end the search early; the caller tells binary files itself. --max-columns: lines are not
# needed, and a minified one must not come through the pipe.
_RG: Final = (
    "--no-config", "--color=never", "--no-heading", "--with-filename", "--null", "--line-number", "--max-columns=1",
    "--text", "--no-ignore", "--hidden", "--no-messages", "--no-crlf", "--no-mmap",
)  # fmt: skip
# What no line of UTF-8 has: a byte that begins nothing, one that goes on where nothing has begun or after the end, a
# beginning without its end, and the forms that are ruled out (too long, half a pair, beyond Unicode). And NUL.
_MORE: Final = r"[\x80-\xbf]"
NOT_UTF8: Final = "(?-u:" + "|".join([
    r"[\x00\xc0\xc1\xf5-\xff]", rf"(?:^|[\x00-\x7f]){_MORE}", rf"[\xc2-\xdf]{_MORE}{{2}}",
    rf"[\xe0-\xef]{_MORE}{{3}}", rf"[\xf0-\xf4]{_MORE}{{4}}", r"[\xc2-\xf4](?:[^\x80-\xbf]|$)",
    rf"[\xe0-\xf4]{_MORE}(?:[^\x80-\xbf]|$)", rf"[\xf0-\xf4]{_MORE}{{2}}(?:[^\x80-\xbf]|$)",
    r"\xe0[\x80-\x9f]", r"\xed[\xa0-\xbf]", r"\xf0[\x80-\x8f]", r"\xf4[\x90-\xbf]",
]) + ")"  # fmt: skip
_NUL: Final = r"\x00"


Lines: TypeAlias = dict[str, list[int]]
"""The numbers of lines by the names of files."""


@dataclass(frozen=True, slots=True)
class Search:
    pattern: Pattern
    root: Path
    """Absolute; the files are given relative to it."""
    env: Mapping[str, str]
    cancel: CancelScope
    ripgrep: str | None
    """Its path; None for the engine of our own."""
    sandbox: SandboxPolicy | None = None
    """What the engine is held to, which reads files that anybody may have written; None: nothing."""
    most: int = limits.GREP_MATCHES + 1
    """Lines wanted of one file."""
    looked: bool = False
    """The files are all worth a look already."""


def find_program(name: str, env: Mapping[str, str], workspace: Path) -> str | None:
    """The program that PATH finds, unless it lies in the workspace, where a tool may have put it."""
    for folder in env.get("PATH", "").split(os.pathsep):
        found = shutil.which(name, path=folder) if os.path.isabs(folder) else None
        if found and not Path(os.path.realpath(found)).is_relative_to(workspace):
            return found
    return None


def find_ripgrep(env: Mapping[str, str], workspace: Path) -> str | None:
    """The rg that PATH finds (find_program)."""
    return find_program("rg", env, workspace)


def matches(search: Search, files: Iterable[str], deadline: float) -> Iterator[tuple[str, list[int]]]:
    """Files with the numbers of their first matching lines, in the order of `files`, batch by batch.

    Raises Interrupted on cancel and TooSlow when it is not done at `deadline` (monotonic seconds).
    """
    # One batch is searched while the files of the next are walked and judged.
    with ThreadPoolExecutor(1, "scan") as pool, CancelScope(search.cancel) as scope:
        inner, before = replace(search, cancel=scope), None
        try:
            for batch in _batches(files):
                after = batch, pool.submit(_searched, inner, batch, deadline)
                if before is not None:
                    yield from _in_order(*before)
                before = after
            if before is not None:
                yield from _in_order(*before)
        finally:
            scope.cancel()  # nobody wants to know any more


def worth_a_look(
    search: Search, places: Sequence[str], narrow: Sequence[str], until: float, *, small: bool, lines: bool = False
) -> Lines | None:
    """Those of these files, and of the files right in these folders, that may match; in no order.

    All that match are among them, whatever their encoding. All are relative to the root; a folder is "" or has a
    slash at its end. `narrow`: globs of ripgrep for files. `small`: none over limits.GREP_FILE. `lines`: with the
    numbers of the lines, which are those that match wherever a file is UTF-8 (`is_utf8`). None when ripgrep does not
    work; raises Interrupted, TooSlow at `until` (monotonic seconds), TooMany lines, and ToolFailure.
    """
    if search.ripgrep is None:
        return None
    # The bytes of plain ASCII are there in every encoding but those with NULs.
    wanted = ("-e", search.pattern.rust, "-e", _NUL if search.pattern.is_plain else NOT_UTF8)
    bounds = ("--max-depth=1", *([f"--max-filesize={limits.GREP_FILE}"] if small else []))
    globs = [f"--glob={glob}" for glob in narrow]
    what = f"--max-count={search.most}" if lines else "--files-with-matches"
    argv = (search.ripgrep, *_RG, what, _case(search), *bounds, *globs, *wanted, "--")
    try:
        return _run(search, (*argv, *_named(places)), until, limits.LOOK_LINES)
    except _EngineFailed:
        return None


def settled(
    search: Search, looked: Iterable[tuple[str, Sequence[int] | None]], deadline: float
) -> Iterator[tuple[str, Sequence[int]]]:
    """The files that match, in their order, of those that are worth a look, with the numbers of their lines.

    `looked`: with the lines that the look has named, or None. Those of files that are no UTF-8 are looked for anew.
    Raises what `matches` raises.
    """
    closer, most = replace(search, looked=True), limits.SCAN_FIRST_BATCH
    waiting: dict[str, Sequence[int] | None] = {}  # from the first on that has to be looked into
    for file, named in looked:
        sure = named if named is not None and is_utf8(f"{search.root}/{file}") else None
        if sure is not None and not waiting:
            yield file, sure
            continue
        waiting[file] = sure
        if len(waiting) >= most:
            yield from _settled(closer, waiting, deadline)
            waiting, most = {}, most * 4
    yield from _settled(closer, waiting, deadline)


def _settled(
    search: Search, waiting: Mapping[str, Sequence[int] | None], deadline: float
) -> Iterator[tuple[str, Sequence[int]]]:
    found = dict(matches(search, [file for file, sure in waiting.items() if sure is None], deadline))
    for file, sure in waiting.items():
        if numbers := sure or found.get(file):
            yield file, numbers


def is_utf8(path: str) -> bool:
    """Whether a file that is to be searched is UTF-8 without a NUL."""
    try:
        data = plain_files.read_regular(path, limits.GREP_FILE, follow=False) or b"\0"
        data.decode()
    except (OSError, UnicodeDecodeError):
        return False
    return b"\0" not in data


def plain_lines(search: Search, data: bytes) -> list[int]:
    """The numbers of the lines that have a plain pattern (Pattern.is_plain), as the engine of our own finds them.

    In this very program: a text is found in a time that is bounded by the file's.
    """
    text = re.sub(r"\\(.)", r"\1", search.pattern.rust)
    if not any(text.encode(encoding) in data for encoding in ("ascii", "utf-16-le", "utf-16-be")):
        return []
    return scan_child.matching_lines(scan_child.text_of(data) or "", re.compile(re.escape(text)), search.most)


def _case(search: Search) -> str:
    return "--ignore-case" if search.pattern.ignore_case else "--case-sensitive"


def _in_order(batch: list[str], answer: Future[Lines]) -> Iterator[tuple[str, list[int]]]:
    found = answer.result()
    for file in batch:
        if file in found:
            yield file, sorted(found[file])


def _searched(search: Search, batch: list[str], deadline: float) -> Lines:
    if search.ripgrep is not None:
        return _ripgrep(search, search.ripgrep, batch, deadline)
    return _own(search, batch, deadline)


def _batches(files: Iterable[str]) -> Iterator[list[str]]:
    """Runs of files whose names fit on a command line, the first ones short so that early matches come early."""
    batch: list[str] = []
    size, most = 0, limits.SCAN_FIRST_BATCH
    for file in files:
        batch.append(file)
        size += len(os.fsencode(file)) + 1
        if len(batch) >= most or size >= limits.SCAN_BATCH_BYTES:
            yield batch
            batch, size, most = [], 0, most * 4
    if batch:
        yield batch


def _ripgrep(search: Search, program: str, batch: list[str], deadline: float) -> Lines:
    wanted = (_case(search), "-e", search.pattern.rust)
    # One quick look at all: what matches, and what is no UTF-8, for there a second look has to be taken.
    worth = ("--files-with-matches", *wanted, "-e", NOT_UTF8)
    lines = (f"--max-count={search.most}", *wanted)
    # Lines that are not UTF-8: ripgrep sees no characters in them, so old encodings go to the other engine; so does
    # what has a NUL, which may be UTF-16.
    undecodable = ("--max-count=1", "--invert-match", "-e", r"^[^\x00]*$")
    try:
        if not search.looked:
            found = _run(search, (program, *_RG, *worth, "--", *_named(batch)), deadline)
            batch = [file for file in batch if file in found]
        if not batch:
            return {}
        with ThreadPoolExecutor(1, "scan-other") as pool:
            beside = pool.submit(_run, search, (program, *_RG, *undecodable, "--", *_named(batch)), deadline)
            found = _run(search, (program, *_RG, *lines, "--", *_named(batch)), deadline)
            other = beside.result()
    except _EngineFailed:  # a release that knows other options, or none at all behind the name
        return _own(search, batch, deadline)
    for file in other:
        found.pop(file, None)
    if other:
        found.update(_own(search, list(other), deadline))
    return found


def _own(search: Search, batch: list[str], deadline: float) -> Lines:
    """The answer of the engine of our own. Raises ToolFailure when it does not work."""
    flags = "i" if search.pattern.ignore_case else "-"
    child = (sys.executable, "-I", "-S", "-W", "ignore", _CHILD, flags, search.pattern.python, str(search.most))
    try:
        return _run(search, (*child, *_named(batch)), deadline)
    except _EngineFailed as error:
        raise ToolFailure(f"The search program failed: {error}", code="search_failed") from error


def _named(batch: Sequence[str]) -> list[str]:
    return [f"./{file}" for file in batch]  # never an option, whatever the name


def _take(line: bytes, found: Lines) -> None:
    """Put what an engine says into `found`: a file, NUL, and the number of a line; or files alone, a NUL after each."""
    *files, rest = line.split(b"\0")
    number = rest.partition(b":")[0]
    for file in files:
        numbers = found.setdefault(os.fsdecode(file).removeprefix("./"), [])
        if number.isdigit():
            numbers.append(int(number))


def too_slow() -> TooSlow:
    return TooSlow(
        f"The search took longer than {limits.GREP_SECONDS:.0f} s and was stopped. "
        "Give a path or a glob to look in less, or a simpler pattern.",
        outcome="too slow",
    )


class TooSlow(ToolFailure):
    """The search was stopped because its time was up."""


class TooMany(Exception):
    """A search program named more lines than anybody will want."""


class _EngineFailed(Exception):
    """A search program could not be started or said that it cannot do what it was asked."""


def _run(search: Search, argv: Sequence[str], deadline: float, most: int | None = None) -> Lines:
    """The answer of one engine over one batch. Raises TooMany above `most` lines."""
    found: Lines = {}
    env = {"PATH": search.env.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
    late = CancelScope(search.cancel)
    try:
        with (
            late,
            running(argv, search.root, env, late, search.sandbox) as child,
            alarm(deadline, late),
        ):
            assert child.stdout is not None
            assert child.stderr is not None
            # The pipe closes when the child is killed, so that reading ends on cancel too.
            with open(child.stdout.fileno(), "rb", closefd=False) as lines:  # the pipe itself is not buffered
                for count, line in enumerate(lines):
                    if count == most:
                        raise TooMany
                    _take(line, found)
            complaint = child.stderr.read(limits.ERROR_TEXT_CHARS) or b""
            code = child.wait()
    except OSError as error:
        raise _EngineFailed(str(error)) from error
    except SandboxError as error:  # never tried without
        raise ToolFailure(f"The search was not run: {error.text}", code=error.code, outcome="no sandbox") from error
    search.cancel.check()
    if late.cancelled:
        raise too_slow()
    # Unreadable files give an exit code too, but without messages they say nothing.
    if code not in (0, 1) and complaint:
        raise _EngineFailed(complaint.decode("utf-8", "replace").strip())
    return found
