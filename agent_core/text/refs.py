"""What a message refers to by an "@": files, folders, differences, commits, pages.

`@src/date.py`, `@src/date.py#20-45` for some lines, `@"my notes.md"` with blanks; and typed: `@file:src/date.py:20-45`,
`@folder:src/`, `@diff`, `@staged`, `@git:2` (the last two commits), `@url:https://example.com`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, Literal

from agent_core.records import dataclass

_INSIDE_A_WORD: Final = r"(?<![A-Za-z0-9_.+@-])"
"""No mention begins behind one of these: me@example.org, pkg@1.2. Behind a Chinese character one does."""
_ENDS: Final = r'\s"@，。、；：！？（）【】《》「」“”'
_QUOTED: Final = re.compile(rf'{_INSIDE_A_WORD}@"(?P<path>[^"]*)(?:"(?P<lines>#[0-9-]*)?)?\Z')
_BARE: Final = re.compile(
    rf"{_INSIDE_A_WORD}@(?P<path>[^{_ENDS}#]*(?:#(?![0-9-]*\Z)[^{_ENDS}#]*)*)(?P<lines>#[0-9-]*)?\Z"
)
_NEEDS_QUOTES: Final = re.compile(rf"[{_ENDS}#]")
_TYPED_FORM: Final = re.compile(r"(?:diff|staged)\Z|(?:file|folder|git|url):")
"""These say by themselves what they are: no file is looked for."""
_LINES: Final = re.compile(r"(\d{1,9})(?:(-)(\d{1,9})?)?\Z")


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention that is being written, from its sign to the caret."""

    start: int
    """The column of its "@"."""
    path: str
    """What is written of the path so far."""
    lines: str | None
    """What is written behind the "#"; None without one."""
    closed: bool
    """The quotes around the path are closed: only lines can follow."""


@dataclass(frozen=True, slots=True)
class Lines:
    first: int
    last: int | None
    """None while it is still to be written: "20-"."""


def mention_before(line: str, column: int) -> Mention | None:
    """The mention of a file that the caret at `column` stands at the end of, if any."""
    before = line[:column]
    found = _QUOTED.search(before) or _BARE.search(before)
    if found is None or _TYPED_FORM.match(found["path"]):
        return None
    lines = found["lines"]
    closed = before[found.start() + 1 :].startswith('"') and before.count('"', found.start()) == 2
    return Mention(found.start(), found["path"], None if lines is None else lines[1:], closed)


def write(path: str, *, open_end: bool = False) -> str:
    """`path` as a mention. `open_end`: more of it is to be written, so quotes are not closed."""
    if not _NEEDS_QUOTES.search(path) or '"' in path:
        return f"@{path}"
    return f'@"{path}' if open_end else f'@"{path}"'


def parse_lines(text: str) -> Lines | None:
    """ "20-45" or "20", which is one line; None for what is no range of lines."""
    found = _LINES.match(text)
    if found is None:
        return None
    first = int(found[1])
    return Lines(first, int(found[3]) if found[3] else None if found[2] else first)


# -- in a whole message -------------------------------------------------------------------------------------------

Kind = Literal["path", "file", "folder", "diff", "staged", "git", "url"]
"""What is referred to. "path" has no type in front: it is one only where there is such a file or folder."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference in a text."""

    raw: str
    """As it is written."""
    kind: Kind
    target: str
    """The path, the address, the number of commits or a revision; empty where the kind says all."""
    start: int
    """Where `raw` begins in the text."""
    first: int | None = None
    """The first line that is meant; None: all."""
    last: int | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.raw)


# Behind a path's "/" or a backtick none begins either: node_modules/@types/node, `@staged`.
_BEGINS: Final = r"(?<![A-Za-z0-9_.+@/`-])@"
_QUOTES: Final = r"""\"[^"\n]+"|`[^`\n]+`|'[^'\n]+'"""
_WORD: Final = rf"[^{_ENDS}]+"
_REFERENCE: Final = re.compile(
    rf"{_BEGINS}(?:"
    r"(?P<alone>diff|staged)(?![\w:/#-]|\.\w)"
    rf"|(?P<kind>file|folder|git|url):(?P<value>(?:{_QUOTES})(?:[:#]\d+(?:-\d+)?)?|{_WORD})"
    rf'|(?P<path>"[^"\n]+"(?:#\d+(?:-\d+)?)?|{_WORD})'
    r")"
)
_FENCE: Final = re.compile(r"^(`{3,})(?:(diff)[^\n]*|[ \t]*)$", re.MULTILINE)
"""A line that begins a block of quoted changes, or ends a block."""
_WITH_LINES: Final = re.compile(r"(?P<path>.+?)(?:[:#](?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?\Z", re.DOTALL)
_PATH_LINES: Final = re.compile(r"(?P<path>.+?)(?:#(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?\Z", re.DOTALL)
_BRACKETS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}


def references(text: str) -> tuple[Reference, ...]:
    """Everything `text` refers to, in order. What "@name" means without a type only the disk can tell."""
    found = []
    quoted = _quoted_changes(text)
    for match in _REFERENCE.finditer(text):
        block = bisect_right(quoted, (match.start(), len(text))) - 1
        if block >= 0 and match.start() < quoted[block][1]:
            continue
        if match["alone"]:
            kind: Kind = "diff" if match["alone"] == "diff" else "staged"
            found.append(Reference(match[0], kind, "", match.start()))
            continue
        typed = match["kind"] is not None
        group = "value" if typed else "path"
        written = _without_ending(match[group], typed=typed)
        raw = text[match.start() : match.start(group) + len(written)]
        kind = next((k for k in _TYPED if k == match["kind"]), "path")
        lines = None
        if kind in ("path", "file"):
            lines = (_WITH_LINES if typed else _PATH_LINES).match(written)
        target = _unquoted(lines["path"] if lines is not None else written)
        first = int(lines["first"]) if lines is not None and lines["first"] else None
        last = int(lines["last"]) if lines is not None and lines["last"] else first
        if target:
            found.append(Reference(raw, kind, target, match.start(), first, last))
    return tuple(found)


def _quoted_changes(text: str) -> list[tuple[int, int]]:
    """Where lines of a file are quoted, in order: what stands in them was not written to refer to anything."""
    blocks: list[tuple[int, int]] = []
    begun: list[
        tuple[int, int]
    ] = []  # each with a shorter fence than the one before; any fence that ends it ends those
    for fence in _FENCE.finditer(text):
        length = len(fence[1])
        if fence[2] is not None:
            if not begun or length < begun[-1][0]:
                begun.append((length, fence.start()))
            continue
        ended = next((number for number, (least, _) in enumerate(begun) if least <= length), None)
        if ended is not None:
            start = begun[ended][1]
            del begun[ended:]
            while blocks and blocks[-1][0] > start:  # inside this one
                blocks.pop()
            blocks.append((start, fence.end()))
    return blocks


_TYPED: Final[tuple[Kind, ...]] = ("file", "folder", "git", "url")


def _without_ending(word: str, *, typed: bool) -> str:
    """`word` without what belongs to the sentence around it: a full stop, a bracket that was not opened in it.

    The folder itself and the one above it are dots, and stay where a path is `typed`: `@folder:.`, `@folder:src/..`.
    """
    counts = {sign: word.count(sign) for pair in _BRACKETS.items() for sign in pair}
    end = len(word)
    while end:
        last = word[end - 1]
        if last == ".":
            dots = end
            while end and word[end - 1] == ".":
                end -= 1
            if typed and dots - end <= 2 and (not end or word[end - 1] == "/"):
                return word[:dots]
            continue
        opening = _BRACKETS.get(last)
        if last not in ",.;:!?\\" and (opening is None or counts[last] <= counts[opening]):
            break
        if opening is not None:
            counts[last] -= 1
        end -= 1
    return word[:end]


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 2 and word[0] == word[-1] and word[0] in "\"`'" else word
