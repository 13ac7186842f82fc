"""The hunks of a change that waits for an answer, by their names ("file.hunk"), and what is left without some."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from agent_core.records import dataclass
from agent_core.text.diff import hunks_of

if TYPE_CHECKING:
    from agent_core.messages import FileDiff


def hunk_keys(diffs: Sequence[FileDiff]) -> tuple[str, ...]:
    """The names of all hunks, as in `intents.Answer.refused`: the places of file and hunk, "0.2"."""
    return tuple(hunks_of(diffs))


def _keys(diff: FileDiff, number: int) -> list[str]:
    return [f"{number}.{index}" for index in range(len(diff.hunks))]


@dataclass(frozen=True, slots=True)
class Left:
    """What would still be done to a file."""

    added: int
    removed: int
    is_nothing: bool = False
    """Every hunk of it is refused; the figures are then those of the whole change."""


def left_of(diff: FileDiff, number: int, refused: Collection[str]) -> Left:
    """What is left of `diff`, the file at place `number`, without the refused hunks."""
    keys = _keys(diff, number)
    gone = [hunk for key, hunk in zip(keys, diff.hunks, strict=True) if key in refused]
    if gone and len(gone) == len(keys):
        return Left(diff.added, diff.removed, is_nothing=True)
    kinds = [line.kind for hunk in gone for line in hunk.lines]
    return Left(diff.added - kinds.count("add"), diff.removed - kinds.count("remove"))
