"""What was killed, newest first, to be yanked again: as Emacs and readline have it, one ring for all drafts."""

from __future__ import annotations

from agent_core.records import dataclass
from nanoherm_tui import limits


@dataclass(frozen=True, slots=True)
class Kill:
    """One text. Whole `lines` (vim) are put in as lines; theirs ends with a line end."""

    text: str
    lines: bool = False


class KillRing:
    """Holds limits.KILLS texts, of limits.KILLS_LENGTH characters together; the newest is kept whatever its length."""

    def __init__(self) -> None:
        self._kills: list[Kill] = []
        self._at = 0

    def add(self, text: str, *, lines: bool = False) -> None:
        """Remember a text as the newest; an empty one is none."""
        if text:
            self._kills.insert(0, Kill(text, lines))
            self._at = 0
            self._bound()

    def join(self, text: str, *, in_front: bool) -> None:
        """The kill goes on: `text` belongs to the newest, behind it or in front."""
        if not self._kills:
            self.add(text)
            return
        newest = self._kills[0].text
        self._kills[0] = Kill(text + newest if in_front else newest + text)
        self._at = 0
        self._bound()

    @property
    def current(self) -> Kill | None:
        """What is yanked: the newest, or the one that the ring was turned to since."""
        return self._kills[self._at] if self._kills else None

    def turn(self) -> Kill | None:
        """Go on to the next older one, from the oldest to the newest."""
        if self._kills:
            self._at = (self._at + 1) % len(self._kills)
        return self.current

    def _bound(self) -> None:
        del self._kills[limits.KILLS :]
        length = 0
        for index, kill in enumerate(self._kills):
            length += len(kill.text)
            if index and length > limits.KILLS_LENGTH:
                del self._kills[index:]
                return
