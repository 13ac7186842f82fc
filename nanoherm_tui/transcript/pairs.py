"""Two conversations aligned for reading side by side: entries in pairs, turn by turn. No Textual here.

The common beginning is one fold. Within a turn what is of the same kind stands side by side: the n-th answer, the same
tool. All is made of the same entries and blocks as a transcript, which are drawn when they come into view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from agent_core.records import dataclass
from nanoherm_tui.transcript.model import TranscriptModel

if TYPE_CHECKING:
    from agent_core.messages import Message
    from nanoherm_tui.transcript.entry import Entry

_MATCHED: Final = 200  # entries of a turn that are matched by kind; finding out is quadratic

Side = int
"""0: left, 1: right."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What stands side by side; a side may have nothing there."""

    entries: tuple[Entry | None, Entry | None]
    turn: int
    """Of the turns behind the common beginning, from 1; 0: in it."""
    starts: bool = False
    """A turn begins here."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The common beginning."""

    messages: int


@dataclass(frozen=True, slots=True)
class Head:
    """Stacked: what follows is this side's part of a turn."""

    side: Side
    turn: int
    is_empty: bool
    """It has no such turn."""


Unit = Pair | Fold | Head


@dataclass(frozen=True, slots=True)
class Aligned:
    common: tuple[Pair, ...]
    messages: int
    """How many messages the common beginning has: the whole turns of it."""
    turns: tuple[tuple[Pair, ...], ...]
    models: tuple[TranscriptModel, ...]
    """Of the common beginning, the left and the right, for what folds and unfolds."""

    def units(self, *, stacked: bool, unfolded: bool) -> list[Unit]:
        """What is shown, from above: side by side, or of each turn the left's part and then the right's."""
        out: list[Unit] = [Fold(self.messages)] if self.messages else []
        if unfolded:
            out += self.common
        for turn in self.turns:
            if not stacked:
                out += turn
                continue
            for side in (0, 1):
                own: list[Unit] = [
                    Pair(_alone(entry, side), pair.turn) for pair in turn if (entry := pair.entries[side]) is not None
                ]
                out += [Head(side, turn[0].turn, not own), *own]
        return out


def _alone(entry: Entry, side: Side) -> tuple[Entry | None, Entry | None]:
    return (entry, None) if side == 0 else (None, entry)


def align(left: Sequence[Message], right: Sequence[Message], equal: int) -> Aligned:
    """Pair what two sessions hold; `equal` messages at their beginning are the same.

    Takes some time for a long one: not for the thread that draws.
    """
    models = []
    folded = _folded(left, right, equal)
    for messages in (left[:folded], left[folded:], right[folded:]):
        model = TranscriptModel()
        model.load(messages)
        models.append(model)
    common = tuple(Pair((entry, entry), 0) for entry in models[0].entries)
    turns = zip_longest(_turns(models[1].entries), _turns(models[2].entries), fillvalue=())
    return Aligned(
        common,
        folded,
        tuple(tuple(_pairs(ours, theirs, number)) for number, (ours, theirs) in enumerate(turns, 1)),
        tuple(models),
    )


def _folded(left: Sequence[Message], right: Sequence[Message], equal: int) -> int:
    """How many messages the fold holds: the turn in which the two part is shown from its beginning."""
    after = [messages[equal] for messages in (left, right) if len(messages) > equal]
    if all(message.starts_turn for message in after):
        return equal
    return next((n for n in range(equal - 1, -1, -1) if left[n].starts_turn), equal)


def _turns(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Entries by turn; what comes before the first words of the person belongs to the first."""
    turns: list[list[Entry]] = []
    for entry in entries:
        if not turns or (entry.kind == "user" and any(e.kind == "user" for e in turns[-1])):
            turns.append([])
        turns[-1].append(entry)
    return turns


def _pairs(left: Sequence[Entry], right: Sequence[Entry], turn: int) -> Iterator[Pair]:
    starts = True
    for a, b in _matched(left, right):
        yield Pair((a, b), turn, starts)
        starts = False


def _matched(left: Sequence[Entry], right: Sequence[Entry]) -> Iterator[tuple[Entry | None, Entry | None]]:
    if max(len(left), len(right)) > _MATCHED:
        yield from zip_longest(left, right)
        return
    matcher = SequenceMatcher(None, [_kind(e) for e in left], [_kind(e) for e in right], autojunk=False)
    for tag, a, a_end, b, b_end in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(left[a:a_end], right[b:b_end], strict=True)
        else:
            yield from zip_longest(left[a:a_end], right[b:b_end])


def _kind(entry: Entry) -> tuple[str, str]:
    return entry.kind, entry.card.name if entry.card is not None else ""
