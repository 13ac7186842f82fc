"""A stretch of what a command in the background has written, kept in pieces; older ones are asked for.

The newest output is read on as long as somebody looks at the end; whoever looks further up is given older pieces, and
nothing moves under their eyes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from agent_core.records import dataclass
from nanoherm_tui import limits

if TYPE_CHECKING:
    from nanoherm_tui.panes.bodies import Row


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of the output from byte `start` up to byte `next`."""

    start: int
    next: int
    text: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be read next, in bytes of all the output."""

    start: int
    end: int


class OutputWindow:
    """Pieces in a row, at most limits.TASK_LINES lines and limits.TASK_KEPT bytes where they are more than two."""

    def __init__(self, task_id: str, size: int) -> None:
        """`size`: how many bytes the task has written so far."""
        self.task_id = task_id
        self.problem = ""
        """Why nothing could be read."""
        self.laid: Mapping[str, Sequence[Row]] = {}
        """The rows of each line when it was last laid out, in `laid_in` cells: while output comes most lines stay."""
        self.laid_in = 0
        self._size = size
        self._first = 0  # where what is kept of the output begins, as far as is known
        self._pieces: deque[Piece] = deque()
        self._asked: Wanted | None = None
        self._text: str | None = None

    @property
    def text(self) -> str:
        """All that is kept here, as one text."""
        if self._text is None:
            self._text = "".join(piece.text for piece in self._pieces)
        return self._text

    @property
    def has_older(self) -> bool:
        return bool(self._pieces) and self._pieces[0].start > self._first

    @property
    def has_newer(self) -> bool:
        """There is output behind what is kept here."""
        return (self._pieces[-1].next if self._pieces else 0) < self._size

    def grown(self, size: int) -> None:
        """The task has written `size` bytes by now."""
        self._size = max(self._size, size)

    def wanted(self, *, at_top: bool, at_end: bool) -> Wanted | None:
        """What to read now, as it is looked at; None: nothing, or it is on its way. It counts as asked for."""
        if self._asked is not None or self.problem:
            return None
        self._asked = self._next(at_top=at_top, at_end=at_end)
        return self._asked

    def _next(self, *, at_top: bool, at_end: bool) -> Wanted | None:
        if not self._pieces:
            return Wanted(max(0, self._size - limits.TASK_PIECE), self._size) if self._size else None
        start, end = self._pieces[0].start, self._pieces[-1].next
        if at_end and self._size - end > limits.TASK_KEPT:  # too much to read through: the end is what is looked at
            return Wanted(self._size - limits.TASK_PIECE, self._size)
        if at_end and end < self._size:
            return Wanted(end, min(self._size, end + limits.TASK_PIECE))
        if at_top and start > self._first:
            return Wanted(max(self._first, start - limits.TASK_PIECE), start)
        return None

    def take(self, piece: Piece) -> int:
        """What was asked for has come. Returns how many lines it has put in front of what was there."""
        asked, self._asked = self._asked, None
        if asked is None:
            return 0
        if piece.start > asked.start:  # what was before it is not kept any more
            self._first = max(self._first, min(piece.start, piece.next))
        if piece.next <= piece.start:  # nothing there: that is where it begins, or ends for now
            if self._pieces and asked.end == self._pieces[0].start:
                self._first = asked.end
            else:
                self._size = asked.start
            return 0
        added = 0
        if self._pieces and piece.next == self._pieces[0].start:
            self._pieces.appendleft(piece)
            added = piece.text.count("\n")
            self._trim(self._pieces.pop)
        else:
            if self._pieces and piece.start != self._pieces[-1].next:
                self._pieces.clear()
            self._pieces.append(piece)
            self._trim(self._pieces.popleft)
        self._text = None
        return added

    def _trim(self, drop: Callable[[], Piece]) -> None:
        while len(self._pieces) > 2 and (  # the one that has come, and the one it was asked for at
            sum(piece.next - piece.start for piece in self._pieces) > limits.TASK_KEPT
            or sum(piece.text.count("\n") for piece in self._pieces) > limits.TASK_LINES
        ):
            drop()

    def failed(self, problem: str) -> None:
        """It cannot be read; what is here stays."""
        self._asked, self.problem = None, problem
