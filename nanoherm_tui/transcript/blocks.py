"""What the transcript is made of: frozen records, each rendered on its own and cached until it changes.

`key` is a block's place within its entry: it grows from block to block and stays while the entry grows.
`gap` asks for a blank row above. `join` is what stood between a block and the one before it in the source: "" when a
long line was cut, "\\n" when a long piece was, a blank line between paragraphs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from agent_core.records import dataclass

CardState = Literal["arriving", "waiting", "asks", "running", "done", "failed", "lost"]
"""lost: the call has no result and never will (the program died, or the turn was given up)."""

PARAGRAPH = "\n\n"


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown outside top-level code fences: paragraphs, lists, tables, quotes, one heading."""

    key: int
    text: str
    gap: bool = False
    join: str = PARAGRAPH
    head: str = ""
    """A table's first part, when this block goes on with its rows: it fixes the columns and is not drawn again."""
    number: int = 0
    """The number of the first item, when this block goes on with an ordered list."""
    heading: bool = False
    open: bool = False
    """A fence at its end is still being written: drawn without colours, as `Code` is."""


@dataclass(frozen=True, slots=True)
class Code:
    """The content of a fence, or a chunk of a long one."""

    key: int
    text: str
    lang: str = ""
    gap: bool = False
    join: str = PARAGRAPH
    first: bool = True
    """The fence begins here; later chunks go on without a blank row or the language."""
    open: bool = False
    """Still being written: drawn without colours, which come once, with the chunk's end."""


@dataclass(frozen=True, slots=True)
class UserText:
    """What the person wrote, verbatim; a chunk of it when it is long."""

    key: int
    text: str
    created: float = 0.0
    """Seconds since the epoch; 0 on later chunks, which show no time."""
    join: str = "\n"
    images: int = 0
    hidden_lines: int = 0
    """Lines folded away after `text`."""
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """The head row of the model's reasoning, or of a summary that stands for older messages."""

    key: int
    line: str
    """Its first line, or the newest while it is being written."""
    seconds: float = 0.0
    open: bool = False
    started: float = 0.0
    """When it began by the model's clock, while it is being written; else 0."""
    summary: int | None = None
    """How many messages it stands for as a summary; 0: not known; None: it is reasoning."""
    join: str = PARAGRAPH
    gap: bool = False


@dataclass(frozen=True, slots=True)
class ThoughtText:
    """A chunk of unfolded reasoning."""

    key: int
    text: str
    join: str = "\n"
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """A tool call, one row: state, tool, subject, outcome, time; then some rows of a failure or an opened result."""

    key: int
    name: str
    subject: str
    state: CardState = "waiting"
    outcome: str = ""
    seconds: float = 0.0
    started: float = 0.0
    progress: str = ""
    characters: int = 0
    """Of its arguments, while the model still writes them."""
    rows: tuple[str, ...] = ()
    more_lines: int = 0
    is_end: bool = False
    """The rows are the end of the result; the lines that are not shown stand before them."""
    open: bool = False
    join: str = "\n"
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """Words of the program itself: a notice, a warning, an error, or (with `word`) a fixed remark."""

    key: int
    text: str
    level: Literal["info", "warning", "error"] = "info"
    code: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    word: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    """What is listed below the words: a path, and why it is as it is."""
    more: int = 0
    """How many more there are."""
    join: str = PARAGRAPH
    gap: bool = False


Block = Prose | Code | UserText | Thought | ThoughtText | Card | Note
