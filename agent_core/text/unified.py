r"""Unified diffs, as git and diff write them and as models do: with wrong numbers, wrong counts, lost blanks.

What is not a change of text (modes, binary content, links) is refused in words. Raises ToolFailure.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Final, Literal

from agent_core.errors import ToolFailure
from agent_core.records import dataclass
from agent_core.text.hunks import FilePatch, Line, PatchHunk

HUNK: Final = re.compile(r"@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@+ ?(.*)")
NO_END: Final = "\\ "
r"""Begins "\ No newline at end of file", in any language."""
_STARTS: Final = re.compile(r"(?:diff --git |--- |@@ -)")
_TIMESTAMP: Final = re.compile(r"(?:\t.*|\s\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d.*)?)$")
_PREFIXES: Final = "abciow"  # a/ and b/; with git's mnemonic prefixes commit, index, object, worktree
_BACKUP: Final = (".orig", ".old", ".bak")
_NOTHING: Final = "/dev/null"
_PLAIN_MODES: Final = ("100644", "100664", "100755")
_WHAT_MODES: Final = {"120000": "a symbolic link", "160000": "a submodule"}


def looks_like(lines: list[str]) -> bool:
    """Is this a unified diff?"""
    return any(_STARTS.match(line) for line in lines)


@dataclass(slots=True)
class _Section:
    """What has been read of one file's part."""

    header: str = ""
    """What stands after "diff --git"."""
    old: str | None = None
    new: str | None = None
    renamed: list[str] = field(default_factory=list)
    """The names of "rename from" and "rename to"."""
    kind: str = ""
    """ "new" or "deleted", as git says it."""
    hunks: list[PatchHunk] = field(default_factory=list)


def parse(lines: list[str]) -> tuple[FilePatch, ...]:
    """The files of a unified diff. Raises ToolFailure for what is no change of text."""
    sections: list[_Section] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("diff --git "):
            sections.append(_Section(line.removeprefix("diff --git ")))
            at += 1
        elif _is_names(lines, at):
            if not sections or sections[-1].old is not None:
                sections.append(_Section())
            sections[-1].old, sections[-1].new = _name(line[4:]), _name(lines[at + 1][4:])
            at += 2
        elif _head(line):
            if not sections or sections[-1].old is None:
                raise _bad(f'line {at + 1}: a hunk without the lines "--- path" and "+++ path" before it.')
            hunk, at = _hunk(lines, at)
            sections[-1].hunks.append(hunk)
        else:
            if sections and not sections[-1].hunks:
                _extended(line, sections[-1])
            at += 1
    return tuple(_file(section) for section in sections)


@dataclass(frozen=True, slots=True)
class _Head:
    """What the head of a hunk says; where nobody has counted ("@@", "@@ ... @@", "@@ def f @@") `start` is None."""

    start: int | None
    heading: str
    old_count: int = 0
    new_count: int = 0


def _head(line: str) -> _Head | None:
    if not line.startswith("@@"):
        return None
    if found := HUNK.match(line):
        return _Head(int(found[1]), found[5].strip(), int(found[2] or 1), int(found[4] or 1))
    text = line.lstrip("@").strip()
    if text[:1] in ("-", "+"):
        return None
    heading = text.rstrip("@").strip()
    return _Head(None, "" if heading == "..." else heading)


def _is_names(lines: list[str], at: int) -> bool:
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _extended(line: str, section: _Section) -> None:
    """A line of git's between the header and the first hunk."""
    word, _, rest = line.partition(" ")
    if word in ("rename", "copy") and rest.startswith(("from ", "to ")):
        if word == "copy":
            raise _bad("copies of files are not made; write the copy with write_file or a command.")
        section.renamed.append(_unquoted(rest.partition(" ")[2]))
    elif line.startswith(("old mode ", "new mode ")):
        raise _bad("a file's mode is not changed by a patch; run chmod.")
    elif line.startswith(("new file mode ", "deleted file mode ")):
        mode = line.rpartition(" ")[2]
        if mode not in _PLAIN_MODES:
            raise _bad(f"{_WHAT_MODES.get(mode, f'a file of mode {mode}')} is not made or removed by a patch.")
        if mode == "100755" and word == "new":
            raise _bad("a new file's mode is not set by a patch; leave the mode line out and run chmod +x afterwards.")
        section.kind = word
    elif line.startswith("GIT binary patch") or (line.startswith("Binary files ") and line.endswith(" differ")):
        raise _bad("binary content is not patched; make the file with a command.")


def _hunk(lines: list[str], at: int) -> tuple[PatchHunk, int]:
    """The hunk whose header is at `at`, and where it ends.

    Its counts are believed only where they help: to tell a removed line "-- x" from the next file's header, and a
    remark after the patch from a line that has lost its blank.
    """
    head = _head(lines[at])
    assert head is not None
    is_counted = head.start is not None
    old_left, new_left = head.old_count, head.new_count
    body: list[Line] = []
    raw: list[str] = []
    at += 1
    while at < len(lines):
        line = lines[at]
        open_ = old_left > 0 or new_left > 0
        if line.startswith("diff --git ") or _head(line) or (not open_ and line == "-- "):
            break
        if _is_names(lines, at) and not (open_ and _are_content(lines, at, old_left, new_left)):
            break
        if line.startswith(NO_END):
            if body:
                body[-1] = replace(body[-1], no_end=True)
            at += 1
            continue
        if is_counted and not open_ and line[:1] not in ("+", "-", " "):
            break
        kind, text = split_line(line)
        body.append(Line(kind, text))
        raw.append(line)
        old_left -= kind != "+"
        new_left -= kind != "-"
        at += 1
    hints = (head.heading,) if head.heading else ()
    return PatchHunk(without_blank_ends(body, raw), hints, head.start), at


def _are_content(lines: list[str], at: int, old_left: int, new_left: int) -> bool:
    """Do the counts say that "--- x" and "+++ y" are a removed and an added line?"""
    after = lines[at + 2] if at + 2 < len(lines) else ""
    return old_left >= 1 and new_left >= 1 and not (HUNK.match(after) and (old_left, new_left) != (1, 1))


def split_line(line: str) -> tuple[Literal[" ", "-", "+"], str]:
    """A line of a hunk: its sign and its text. One that has lost its sign is taken as quoted."""
    if line.startswith("+"):
        return "+", line[1:]
    if line.startswith("-"):
        return "-", line[1:]
    return " ", line.removeprefix(" ")


def without_blank_ends(body: list[Line], raw: list[str]) -> tuple[Line, ...]:
    """The lines without empty ones that have no sign before and after them: they part hunks for the eye."""
    first, last = 0, len(body)
    while first < last and not raw[first]:
        first += 1
    while last > first and not raw[last - 1]:
        last -= 1
    return tuple(body[first:last])


# -- names ----------------------------------------------------------------------------------------------------------


def _file(section: _Section) -> FilePatch:
    hunks = tuple(hunk for hunk in section.hunks if hunk.lines)
    if section.old is None and section.new is None and not section.renamed:
        path = _header_path(section.header)
        if section.kind == "new":
            return FilePatch("add", path)
        if section.kind == "deleted":
            return FilePatch("delete", path)
        raise _bad(f"nothing is said of what becomes of {path}.")
    if section.renamed:
        if len(section.renamed) != 2:
            raise _bad('a move needs both "rename from" and "rename to".')
        return FilePatch("update" if hunks else "move", section.renamed[0], section.renamed[1], hunks)
    old, new = _stripped(section.old or "", section.new or "")
    if old == _NOTHING and new == _NOTHING:
        raise _bad("both names of a file are /dev/null.")
    if old == _NOTHING:
        return FilePatch("add", new, hunks=hunks)
    if new == _NOTHING:
        return FilePatch("delete", old, hunks=hunks)
    if old != new and not any(old == new + end for end in _BACKUP):
        raise _bad(f'it is not clear which file is meant, {old} or {new}. A move has "rename from" and "rename to".')
    if not hunks:
        raise _bad(f"there are no hunks for {new}.")
    return FilePatch("update", new, hunks=hunks)


def _stripped(old: str, new: str) -> tuple[str, str]:
    """Both names without "a/" and "b/", or git's other prefixes: one letter each, never the same."""
    sides = [name for name in (old, new) if name != _NOTHING]
    prefixed = [len(name) > 2 and name[1] == "/" and name[0] in _PREFIXES for name in sides]
    if not all(prefixed) or (len(sides) == 2 and (old[0] == new[0] or old[2:] != new[2:])):
        return old, new
    if len(sides) == 1 and sides[0][0] != ("b" if old == _NOTHING else "a"):
        return old, new
    return tuple(name if name == _NOTHING else name[2:] for name in (old, new))  # type: ignore[return-value]


def _header_path(header: str) -> str:
    """The one path that "diff --git a/x b/x" names."""
    if header.startswith('"'):
        first = re.match(r'"(?:[^"\\]|\\.)*"', header)
        return _unquoted(first[0])[2:] if first else header
    middle = len(header) // 2
    old, new = header[:middle], header[middle + 1 :]
    if header[middle : middle + 1] == " " and old[2:] == new[2:]:
        return old[2:]
    raise _bad(f"it is not clear which file {header!r} names.")


def _name(text: str) -> str:
    return _unquoted(text) if text.startswith('"') else _TIMESTAMP.sub("", text.rstrip("\r")).rstrip()


_ESCAPE: Final = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_ESCAPES: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def _unquoted(text: str) -> str:
    """A name as it is: git writes one with unusual bytes in quotes, the bytes in octal."""
    text = text.strip()
    end = text.rfind('"')
    if not text.startswith('"') or end == 0:
        return text

    def plain(found: re.Match[bytes]) -> bytes:
        escaped = found[1]
        return bytes([int(escaped, 8) & 255]) if escaped.isdigit() else _ESCAPES.get(escaped, escaped)

    data = _ESCAPE.sub(plain, text[1:end].encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def _bad(text: str) -> ToolFailure:
    return ToolFailure(f"The patch cannot be used: {text} Nothing was changed.", code="patch", outcome="invalid patch")
