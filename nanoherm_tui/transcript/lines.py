"""A row of the transcript's window, and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nanoherm_tui.transcript.blocks import Block
    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.row import Row


class Place(NamedTuple):
    """A row of a block of an entry, by their numbers."""

    entry: int
    block: int
    row: int


class Line(NamedTuple):
    """A row of the window and where it comes from."""

    row: Row
    entry: Entry
    block: Block
    place: Place
