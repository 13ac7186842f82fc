"""One unit of a conversation and the blocks it is drawn as, which are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from agent_core.names import SHELL
from nanoherm_tui import limits
from nanoherm_tui.text import clean, one_line
from nanoherm_tui.transcript.blocks import Block, Card, Note, Thought, ThoughtText, UserText
from nanoherm_tui.transcript.split import Splitter, chunks, split

LIVE = "live-"
"""What the id of an entry begins with that the store has not, or not yet."""

Kind = Literal["user", "answer", "thought", "card", "note"]


class Entry:
    """One unit of the conversation. Only its model changes it; `version` counts the changes."""

    __slots__ = (
        "_blocks",
        "_card",
        "_live",
        "_pieces",
        "_stored",
        "_tail",
        "_text",
        "created",
        "id",
        "images",
        "index",
        "kind",
        "note",
        "open",
        "seconds",
        "started",
        "summary",
        "version",
    )

    def __init__(self, id: str, kind: Kind, text: str = "", *, index: int = 0) -> None:
        self.id = id
        self.kind: Kind = kind
        self.index = index
        self.version = 0
        self.open = False
        self.created = 0.0
        self.images = 0
        self.note: Note | None = None
        self.seconds = 0.0
        self.started = 0.0
        self.summary: int | None = None  # how many messages a summary stands for
        self._card: Card | None = None
        self._stored: Callable[[], Card] | None = None  # makes a card of a stored call, when it is first seen
        self._text = text
        self._pieces: list[str] | None = None  # of a text that is still arriving
        self._live: Splitter | None = None
        self._blocks: list[Block] | None = None
        self._tail: list[Block] | None = None

    @property
    def text(self) -> str:
        """Its source: the user's words, the answer's Markdown, a tool's result."""
        if self._pieces is not None:
            if len(self._pieces) > 1:
                self._pieces = ["".join(self._pieces)]
            return self._pieces[0] if self._pieces else ""
        return self._text

    @property
    def card(self) -> Card | None:
        """The tool call as its row shows it."""
        if self._stored is not None:
            self._card, self._stored = self._stored(), None
        return self._card

    @card.setter
    def card(self, card: Card) -> None:
        self._card, self._stored = card, None

    @property
    def is_stored(self) -> bool:
        """It has the id that it has in the store too."""
        return self.kind != "note" and not self.id.startswith(LIVE)

    @property
    def is_live(self) -> bool:
        """Its text is still arriving."""
        return self._pieces is not None

    @property
    def is_split(self) -> bool:
        """Its blocks have been made."""
        return self._blocks is not None or self._live is not None

    @property
    def blocks(self) -> Sequence[Block]:
        """Its finished blocks, and after them those that may still change."""
        closed = self.closed
        tail = self.tail
        return [*closed, *tail] if tail else closed

    @property
    def closed(self) -> list[Block]:
        """The blocks that will not change again while the text grows. The list itself grows; do not change it."""
        if self._blocks is None:
            self._blocks = _make_blocks(self)
        return self._blocks

    def block(self, number: int) -> Block:
        """One of its blocks."""
        closed = self.closed
        return closed[number] if number < len(closed) else self.tail[number - len(closed)]

    @property
    def tail(self) -> list[Block]:
        """The blocks at the end of a text that is still arriving."""
        if self._live is None:
            return []
        if self._tail is None:
            self._tail = list(self._live.tail())
        return self._tail

    # -- changes, for the model alone -----------------------------------------------------------------------------

    def touch(self) -> None:
        self.version += 1
        if self._live is None:
            self._blocks = None

    def store(self, card: Callable[[], Card], text: str) -> None:
        """It is a call of a stored conversation: `card` makes its row, `text` is its result."""
        self._stored, self._text = card, text

    def begin(self) -> None:
        """The text starts to arrive."""
        self._pieces = []
        if self.kind == "answer":
            self._live = Splitter()
            self._blocks = []

    def grow(self, text: str) -> None:
        if self._pieces is None:
            raise ValueError("the entry is not live")
        self._pieces.append(text)
        self.version += 1
        if self._live is not None:
            self.closed.extend(self._live.feed(text))
            self._tail = None
        else:
            self._blocks = None

    def finish(self, text: str) -> None:
        """The text is complete. What was streamed stands if it was the same text."""
        same = self.text == text
        if self._live is not None:
            self._blocks = [*self.closed, *self._live.finish()] if same else None
        else:
            self._blocks = None
        self._live = self._tail = self._pieces = None
        self._text = text
        self.version += 1


def _make_blocks(entry: Entry) -> list[Block]:
    if entry.kind == "answer":
        return list(split(entry.text))
    if entry.kind == "user":
        return list(_user_blocks(entry))
    if entry.kind == "thought":
        return list(_thought_blocks(entry))
    if entry.kind == "card" and entry.card is not None:
        return [_with_rows(entry.card, entry)]
    return [entry.note] if entry.note is not None else []


def _user_blocks(entry: Entry) -> Iterable[UserText]:
    text = clean(entry.text).rstrip("\n")
    hidden = text.count("\n") + 1 - limits.USER_LINES_FOLDED
    if not entry.open and can_open(entry):
        text = "\n".join(text.split("\n", limits.USER_LINES_FOLDED)[: limits.USER_LINES_FOLDED])
    else:
        hidden = 0
    pieces = chunks(text)
    for number, (key, piece, join) in enumerate(pieces):
        last = number == len(pieces) - 1
        yield UserText(
            key,
            piece,
            entry.created if number == 0 else 0.0,
            join,
            images=entry.images if last else 0,
            hidden_lines=hidden if last else 0,
        )


def _thought_blocks(entry: Entry) -> Iterable[Thought | ThoughtText]:
    text = entry.text
    line = _last_line(text) if entry.started else _first_line(text if entry.summary is None else _said(text))
    yield Thought(0, line, entry.seconds, entry.open, entry.started, entry.summary)
    if entry.open:
        for key, piece, join in chunks(clean(text).strip("\n")):
            yield ThoughtText(key + 2, piece, join)


def _with_rows(card: Card, entry: Entry) -> Card:
    """The card with the rows it shows below its head: a failure's preview, the start of an opened result, or the end of
    what the person's own command wrote at length, where its errors stand."""
    if not entry.open or not _says_more(card, entry.text):
        return card
    lines = clean(entry.text).rstrip("\n").split("\n")
    if card.name == SHELL and lines[0].startswith("exit code "):
        del lines[0]  # the person looks for what it wrote; how it ended stands above
    if not lines:
        return card
    more, is_end = max(0, len(lines) - limits.CARD_LINES), False
    if card.name == SHELL and more:
        more, is_end = len(lines) - limits.CARD_END, True
    shown = lines[more:] if is_end else lines[: limits.CARD_LINES]
    return replace(card, rows=tuple(shown), more_lines=more, is_end=is_end, open=True)


def can_open(entry: Entry) -> bool:
    """Whether unfolding would show more."""
    if entry.kind == "user":
        return entry.text.count("\n") >= limits.USER_LINES
    if entry.kind == "card":
        return entry.card is not None and _says_more(entry.card, entry.text)
    return entry.kind == "thought"


def _says_more(card: Card, result: str) -> bool:
    """Whether a call's result is more than the outcome that its card tells in any case."""
    return result.strip() not in ("", card.outcome)


def _said(text: str) -> str:
    """A summary from its first line on that is no heading."""
    return next((line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")), text)


def _first_line(text: str) -> str:
    start = text.lstrip()[: 4 * limits.KB]
    return one_line(start.split("\n", 1)[0]).strip("*# ")


def _last_line(text: str) -> str:
    end = text.rstrip()[-4 * limits.KB :]
    return one_line(end.rsplit("\n", 1)[-1]).strip("*# ")
