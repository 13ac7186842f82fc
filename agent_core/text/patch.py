"""What a patch says, in either of two ways: between "*** Begin Patch" and "*** End Patch", or as a unified diff.

Models leave markers, blanks and counts out; what is plain all the same is taken. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Final, Literal

from agent_core.errors import ToolFailure
from agent_core.records import dataclass
from agent_core.text import unified
from agent_core.text.hunks import FilePatch, Line, PatchHunk

_BEGIN: Final = re.compile(r"\*\*\* ?Begin Patch\b")
_END: Final = re.compile(r"\*\*\* ?End Patch\b")
_FILE: Final = re.compile(r"\*\*\* ?(Add|Create|Update|Delete|Remove|Move|Rename) File: *(\S.*)")
_MOVE_TO: Final = re.compile(r"\*\*\* ?Move to: *(\S.*)")
_END_OF_FILE: Final = re.compile(r"\*\*\* ?End of File *")
_ARROW: Final = " -> "
_DOES: Final[dict[str, Literal["add", "update", "delete", "move"]]] = {
    "Add": "add", "Create": "add", "Update": "update", "Delete": "delete", "Remove": "delete", "Move": "move",
    "Rename": "move",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Patch:
    files: tuple[FilePatch, ...]
    strays: tuple[str, ...] = ()
    """Lines that look like an instruction and are none: such a patch should not be applied."""


def parse(text: str) -> Patch:
    """What a patch does to which files, in its order. Raises ToolFailure when a part of it cannot be meant so."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    lines = _unfenced(lines)
    if any(_BEGIN.match(line) or _FILE.fullmatch(line) for line in lines):
        return _parse(_inside(lines))
    if unified.looks_like(lines):
        return Patch(unified.parse(lines))
    return Patch(())


def _unfenced(lines: list[str]) -> list[str]:
    """The lines without blank ones and a Markdown fence around them."""
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1]:
        last -= 1
    if last - first > 1 and lines[first].startswith("```") and lines[last - 1].rstrip() == "```":
        return lines[first + 1 : last - 1]
    return lines[first:last]


def paths(text: str) -> tuple[str, ...]:
    """The paths that a patch names; none when it cannot be read."""
    try:
        files = parse(text).files
    except ToolFailure:
        return ()
    return tuple(dict.fromkeys(path for file in files for path in (file.path, file.new_path) if path))


def _inside(lines: list[str]) -> Iterator[str]:
    """The lines between the markers, of which either may be missing. A patch may be several."""
    inside = not any(_BEGIN.match(line) for line in lines)
    for line in lines:
        if _BEGIN.match(line):
            inside = True
        elif _END.match(line):
            inside = False
            yield line
        elif inside or _FILE.fullmatch(line):
            inside = True
            yield line


@dataclass(slots=True)
class _Hunk:
    hints: list[str] = field(default_factory=list)
    line: int | None = None
    at_end: bool = False
    lines: list[Line] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _File:
    does: Literal["add", "update", "delete", "move"]
    path: str
    new_path: str = ""
    hunks: list[_Hunk] = field(default_factory=list)


def _parse(lines: Iterator[str]) -> Patch:
    files: list[_File] = []
    strays: list[str] = []
    current: _File | None = None
    for line in lines:
        if _END.match(line):
            current = None
        elif found := _FILE.fullmatch(line):
            current = _begun(found[1], found[2].rstrip())
            if current is None:
                strays.append(line)
            else:
                files.append(current)
        elif current is None:
            if line.startswith("*** "):
                strays.append(line)
        elif found := _MOVE_TO.fullmatch(line):
            current.new_path = found[1].rstrip()
        elif _END_OF_FILE.fullmatch(line):
            if current.hunks:
                current.hunks[-1].at_end = True
        elif line.startswith("*** "):
            strays.append(line)
        elif line.startswith("@@"):
            _head(line, current)
        else:
            _add(line, current)
    return Patch(tuple(_finished(file) for file in files), tuple(strays))


def _begun(word: str, path: str) -> _File | None:
    does = _DOES[word]
    if does != "move":
        return _File(does, path)
    old, arrow, new = path.partition(_ARROW)
    return _File(does, old.strip(), new.strip()) if arrow and old.strip() and new.strip() else None


def _head(line: str, file: _File) -> None:
    """A line that begins a hunk: "@@", "@@ class A", "@@ class A @@", or with the numbers of a unified diff."""
    numbers = unified.HUNK.match(line)
    hint = numbers[5] if numbers else line.removeprefix("@@").strip().removesuffix("@@")
    last = file.hunks[-1] if file.hunks else None
    # Several in a row lead to the place step by step.
    hunk = last if last is not None and not last.lines else _Hunk()
    if hunk is not last:
        file.hunks.append(hunk)
    if hint.strip():
        hunk.hints.append(hint.strip())
    if numbers:
        hunk.line = int(numbers[1])


def _add(line: str, file: _File) -> None:
    if not file.hunks:
        file.hunks.append(_Hunk())
    hunk = file.hunks[-1]
    if line.startswith(unified.NO_END):
        if hunk.lines:
            hunk.lines[-1] = replace(hunk.lines[-1], no_end=True)
        return
    if file.does == "add":  # all of it is the file, whether or not a line has kept its sign
        kind, text = "+", line.removeprefix("+")
        hunk.lines.append(Line("+", text))
    else:
        kind, text = unified.split_line(line)
        hunk.lines.append(Line(kind, text))
    hunk.raw.append(line)


def _finished(file: _File) -> FilePatch:
    hunks = tuple(
        PatchHunk(lines, tuple(hunk.hints), hunk.line, hunk.at_end)
        for hunk in file.hunks
        if (lines := unified.without_blank_ends(hunk.lines, hunk.raw))
    )
    hunks = hunks[1:] if len(hunks) > 1 and _are_names(file.hunks[0].raw) else hunks
    if file.does == "update" and not hunks and not file.new_path:
        raise ToolFailure(
            f"The patch cannot be used: it updates {file.path} and has no hunks for it. Nothing was changed.",
            code="patch",
            outcome="invalid patch",
        )
    return FilePatch(file.does, file.path, file.new_path, hunks)


def _are_names(raw: list[str]) -> bool:
    """Are these the names of a unified diff ("--- a/x", "+++ b/x"), which some models put before the first hunk?"""
    return len(raw) == 2 and raw[0].startswith("--- ") and raw[1].startswith("+++ ")
