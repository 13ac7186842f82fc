"""Tabs of the dock that are lists of what the core keeps: what each of them has to know, and what it may ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, Literal

from agent_core.records import dataclass
from nanoherm_tui.panes.bodies import Row, Span
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import wrap

ListName = Literal["memory", "servers", "turns"]
LISTS: Final[tuple[ListName, ...]] = ("memory", "servers", "turns")
Key = Literal["open", "drop", "give_back", "again", "log_in"]
"""What a key asks of the row with the cursor: Enter, and the keys that drop, give back, do again and log in."""
INDENT: Final = 2  # blanks before what belongs to the row above


@dataclass(frozen=True, slots=True)
class Ask:
    """What a list wants done; `what` is a name that the commands of that list know."""

    what: str
    argument: str = ""
    path: str = ""


class ListTab(ABC):
    """One list. It knows no widget and reads nothing: what it shows it is given."""

    name: ListName

    def __init__(self) -> None:
        self.at = ""
        """The key of the row with the cursor."""
        self.sure = ""
        """The row whose key has been pressed once: the second press acts."""
        self.open: set[str] = set()
        """The rows that show what is below them."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """There is nothing in it."""

    @abstractmethod
    def rows(self, cells: int) -> list[Row]:
        """What is shown; without anything, why."""

    @abstractmethod
    def hints(self) -> list[tuple[str, str]]:
        """Actions, by their ids, that do something at the row with the cursor, and what."""

    @abstractmethod
    def text(self) -> str:
        """The list as text, for copying."""

    @abstractmethod
    def press(self, key: Key) -> Ask | bool:
        """Do what a key means here: what is to be asked for, or whether anything was done."""

    @abstractmethod
    def clear(self) -> None:
        """Another session comes."""

    def turn(self, key: str) -> None:
        """Open what is closed, and the other way round."""
        self.open ^= {key}


def wrapped(words: str, cells: int, fg: str = "text", indent: int = 0) -> list[Row]:
    """Words over as many rows as they need."""
    room = max(cells - indent, 1)
    rows: list[Row] = []
    for number, line in enumerate(wrap(words, room)):
        rows.append(Row((Span(" " * indent + line, fg),), margin=indent, join="\n" if not number else ""))
    return rows


def heading(words: str) -> Row:
    return Row((Span(words, "muted"),))


def fold_mark(is_open: bool, can: bool = True) -> Span:
    """Before a row with something below it."""
    return Span(f"{sym('open' if is_open else 'folded') if can else ' '} ", "muted")


def plain(rows: Sequence[Row]) -> str:
    """Rows as text."""
    return "".join(f"{row.text}\n" for row in rows)
