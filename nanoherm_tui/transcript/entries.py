"""The entries of a transcript, in order, and which of them have changed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nanoherm_tui.transcript.blocks import Note
from nanoherm_tui.transcript.entry import LIVE, Entry, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

_STOPPED = Note(0, "", word="transcript.stopped")
_BROKEN = Note(0, "", word="transcript.broken")


def cut_short(stopped: bool) -> Note:
    """What stands below an answer that is not whole: whether somebody stopped it, or it broke off by itself."""
    return _STOPPED if stopped else _BROKEN


class Entries:
    """One for each user message, answer, thought, tool call and note. `clock`: the time in seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.entries: list[Entry] = []
        self.structure = 0
        """Grows when more than the entries that `apply` names have changed: some were taken out, put in, or folded."""
        self.clock = clock
        self.running: dict[Entry, None] = {}
        """Entries whose rows change as time passes, in order."""
        self.details = False
        """Thoughts and results are unfolded, those to come too."""
        self._count = 0

    def add(self, kind: Kind, id: str, text: str = "") -> Entry:
        """Put an entry at the end."""
        entry = Entry(id, kind, text, index=len(self.entries))
        entry.open = self.opens(kind)
        self.entries.append(entry)
        return entry

    def is_here(self, entry: Entry) -> bool:
        """Whether it was not taken out."""
        return entry.index < len(self.entries) and self.entries[entry.index] is entry

    def add_note(self, note: Note) -> Entry:
        self._count += 1
        entry = self.add("note", f"note-{self._count}", note.text)
        entry.note = note
        return entry

    def begin(self, kind: Kind) -> Entry:
        """Put an entry at the end whose text starts to arrive; the store does not know it yet."""
        self._count += 1
        entry = self.add(kind, f"{LIVE}{self._count}")
        entry.begin()
        return entry

    def remove(self, entry: Entry) -> None:
        del self.entries[entry.index]
        self.renumber()

    def renumber(self) -> None:
        """Entries stand elsewhere than before."""
        for index, entry in enumerate(self.entries):
            entry.index = index
        self.structure += 1

    def opens(self, kind: Kind) -> bool:
        """Whether entries of a kind are unfolded when they come."""
        return self.details and kind in ("thought", "card")
