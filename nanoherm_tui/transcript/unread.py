"""What of a session has been seen: where it was left, and what has come since.

Blocks are what is seen or not: what has grown since is unseen from the block that grew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.model import TranscriptModel


class Seen(NamedTuple):
    """The end of a session as it was shown."""

    entry: Entry | None
    """The last one; None of an empty session."""
    entries: int
    characters: int
    """Of the last entry's text."""
    blocks: int
    """Of the last entry."""


def left_at(model: TranscriptModel) -> Seen:
    """All of it has been seen."""
    if not model.entries:
        return Seen(None, 0, 0, 0)
    last = model.entries[-1]
    return Seen(last, len(model.entries), len(last.text), len(last.blocks))


def first_unseen(model: TranscriptModel, seen: Seen) -> tuple[int, int] | None:
    """The first (entry, block) that is new since; None when nothing is."""
    entries, last = model.entries, seen.entry
    index = min(seen.entries, len(entries))
    if last is not None and last.index < len(entries) and entries[last.index] is last:
        index = last.index + 1
        # A tool's result is folded away: its card has changed, but there is no more to read.
        if len(last.text) > seen.characters and last.kind in ("answer", "thought") and last.blocks:
            return last.index, min(max(0, seen.blocks - 1), len(last.blocks) - 1)
    return _from(model, index)


def last_message(model: TranscriptModel, entries: int) -> str:
    """The id of the last stored message among the first `entries`: of the user's or an answer."""
    shown = (e for e in reversed(model.entries[:entries]) if e.kind in ("user", "answer") and not e.is_live)
    return next((entry.id for entry in shown), "")


def message_after(model: TranscriptModel, id: str) -> tuple[int, int] | None:
    """The first (entry, block) after a message and what belongs to it; None when there is none, or no such message."""
    entries = model.entries
    names = (id, f"{id}-thought")  # an assistant's message may have no more than its thought to show
    index = next((i for i in range(len(entries) - 1, -1, -1) if entries[i].id in names), None)
    if index is None:
        return None
    index += 1
    # Calls and thoughts are not messages of their own: whoever saw an answer saw them come.
    while index < len(entries) and entries[index].kind not in ("user", "answer"):
        index += 1
    return _from(model, index)


def _from(model: TranscriptModel, index: int) -> tuple[int, int] | None:
    entries = model.entries
    while index < len(entries) and not entries[index].blocks:
        index += 1
    return (index, 0) if index < len(entries) else None
