"""Files for a person to look at: a bounded part with line numbers, and the lines that a change left as they were.

Judged and opened like a tool's reads, and without keys; line numbers stay those of the file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from agent_core import files, limits
from agent_core.errors import AgentError, ToolFailure
from agent_core.images import reader as images
from agent_core.images.reader import Drawing
from agent_core.records import dataclass
from agent_core.safety.paths import PathRules, PathVerdict, classify
from agent_core.text.diff import version
from agent_core.text.encoding import Decoded, decode, lines_of, plain_newlines

Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class FilePreview:
    """A part of a file, at most limits.PREVIEW characters."""

    path: str
    """As a person writes it."""
    lines: tuple[str, ...]
    first: int
    """The number of the first of them, from 1."""
    total: int
    """How many lines the file has."""


@dataclass(frozen=True, slots=True)
class FileLines:
    """All lines of a file that is still what a change came from or led to."""

    lines: tuple[str, ...]
    old: bool
    """They are those before the change."""


def preview(path: str, line: int, rules: PathRules, redact: Redact) -> FilePreview:
    """The part of a file around line number `line`, two thirds of it from there on.

    Raises AgentError, in words for a person: "path_refused" for what is not shown without consent, "file_missing",
    "file_is_folder", "file_too_large", "file_binary" or "file_unreadable".
    """
    verdict, decoded = _read(path, rules)
    lines = _without_keys(plain_newlines(decoded), redact)
    first = min(max(line, 1), len(lines) or 1) - 1
    first -= _fitting(reversed(lines[:first]), limits.PREVIEW // 3)
    shown = lines[first : first + max(1, _fitting(lines[first:], limits.PREVIEW))]
    return FilePreview(verdict.shown, tuple(each[: limits.PREVIEW] for each in shown), first + 1, len(lines))


def draw(path: str, rules: PathRules, columns: int, rows: int, ground: str) -> Drawing:
    """The image in a file, in cells. Raises AgentError as `preview` does, and as images.draw."""
    verdict = _allowed(path, rules)
    try:
        data = files.read(verdict, rules, limits.IMAGE_FILE).data
    except ToolFailure as failure:
        if failure.code == "too_large":
            raise images.too_large(verdict.shown) from None
        raise _for_a_person(failure, verdict.shown) from None
    return images.draw(data, verdict.shown, columns, rows, ground)


def unchanged_lines(path: str, versions: tuple[str, str], rules: PathRules, redact: Redact) -> FileLines:
    """The lines of a file, if it still is one of `versions` (FileDiff.versions).

    Raises AgentError as `preview` does, and with code "file_changed" when it is neither.
    """
    text = _read(path, rules)[1].text
    now = version(text)
    if now not in versions:
        raise AgentError("file_changed", "The file has changed since; its lines of then are not known.")
    return FileLines(tuple(_without_keys(text, redact)), old=now != versions[1])


def _read(path: str, rules: PathRules) -> tuple[PathVerdict, Decoded]:
    verdict = _allowed(path, rules)
    try:
        return verdict, decode(files.read(verdict, rules).data)
    except ToolFailure as failure:
        raise _for_a_person(failure, verdict.shown) from None


def _allowed(path: str, rules: PathRules) -> PathVerdict:
    verdict = classify("read", path, rules)
    if verdict.verdict != "allow":
        raise AgentError("path_refused", verdict.text)
    return verdict


def _for_a_person(failure: ToolFailure, path: str) -> AgentError:
    """The failure of a read without the advice it gives to a model."""
    match failure.code:
        case "missing":
            return AgentError("file_missing", f"{path} does not exist.", path=path)
        case "directory":
            return AgentError("file_is_folder", f"{path} is a folder.", path=path)
        case "too_large":
            mb = limits.READ_FILE // limits.MB
            return AgentError("file_too_large", f"{path} is larger than {mb} MB and is not shown.", path=path, mb=mb)
        case "binary":
            return AgentError("file_binary", f"{path} is no text and is not shown.", path=path)
        case _:
            return AgentError("file_unreadable", failure.text, path=path)


def _without_keys(text: str, redact: Redact) -> Sequence[str]:
    """The lines of `text`, ended as in a diff, redacted.

    Where several became one, empty ones keep the numbers of those that follow.
    """
    original, shown = lines_of(text), lines_of(redact(text))
    if len(original) == len(shown):
        return shown
    places: dict[str, list[int]] = {}
    for number, line in enumerate(original):
        places.setdefault(line, []).append(number)
    out: list[str] = []
    for line in shown:
        if line in original[len(out) : len(out) + 1] or not out:
            out.append(line)
            continue
        found = places.get(line, [])
        next_one = bisect_left(found, len(out))
        out += [""] * (found[next_one] - len(out) if next_one < len(found) else 0) + [line]
    return out


def _fitting(lines: Sequence[str] | Iterator[str], room: int) -> int:
    """How many of `lines` fit into `room` characters, line ends included."""
    count = 0
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        count += 1
    return count
