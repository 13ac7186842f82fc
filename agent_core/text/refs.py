"""Files named in a message: `@src/date.py`, `@src/date.py#20-45` for some lines, `@"my notes.md"` with blanks."""

from __future__ import annotations

import re
from typing import Final

from agent_core.records import dataclass

_INSIDE_A_WORD: Final = r"(?<![A-Za-z0-9_.+@-])"
"""No mention begins behind one of these: me@example.org, pkg@1.2. Behind a Chinese character one does."""
_ENDS: Final = r'\s"@，。、；：！？（）【】《》「」“”'
_QUOTED: Final = re.compile(rf'{_INSIDE_A_WORD}@"(?P<path>[^"]*)(?:"(?P<lines>#[0-9-]*)?)?\Z')
_BARE: Final = re.compile(
    rf"{_INSIDE_A_WORD}@(?P<path>[^{_ENDS}#]*(?:#(?![0-9-]*\Z)[^{_ENDS}#]*)*)(?P<lines>#[0-9-]*)?\Z"
)
_NEEDS_QUOTES: Final = re.compile(rf"[{_ENDS}#]")
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
    """The mention the caret at `column` stands at the end of, if any."""
    before = line[:column]
    found = _QUOTED.search(before) or _BARE.search(before)
    if found is None:
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
