"""Where a conversation was read, for when it has been let go of and comes back: found again by ids, not by numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.records import dataclass
from nanoherm_tui.transcript.unread import last_message

if TYPE_CHECKING:
    from nanoherm_tui.transcript.layout import Layout
    from nanoherm_tui.transcript.model import TranscriptModel


@dataclass(frozen=True, slots=True)
class KeptPlace:
    """Ids are those of entries as they come from the store too."""

    entry: str
    """What the window's top row belongs to; "" at the end, which was followed."""
    block: int = 0
    characters: int = 0
    """Of that block above the top row: rows change with the width."""
    seen: str = ""
    """The last message that had been in the window."""
    folded: frozenset[str] = frozenset()
    """Entries that are not as the others of their kind: unfolded alone, or folded alone."""


def place_of(layout: Layout) -> KeptPlace:
    """The place of a model that was laid out and is out of view."""
    model = layout.model
    entries = model.entries
    seen = last_message(model, len(entries) if layout.stick else layout.seen_entries)
    folded = frozenset(entry.id for entry in entries if entry.open != model.opens(entry.kind))
    spot = layout.spot
    if layout.stick or spot is None:
        return KeptPlace("", seen=seen, folded=folded)
    entry, block, characters = spot
    if entry.is_stored:
        return KeptPlace(entry.id, block, characters, seen, folded)
    before = next((one for one in reversed(entries[: entry.index]) if one.is_stored), None)
    return KeptPlace(before.id if before is not None else "", seen=seen, folded=folded)


def find_again(kept: KeptPlace, model: TranscriptModel, layout: Layout) -> bool:
    """Fold and scroll a model that was loaded anew as it was; False while that place has not been read yet."""
    entry = next((one for one in model.entries if one.id == kept.entry), None) if kept.entry else None
    if kept.entry and entry is None and model.earlier:
        return False
    layout.update([one for one in model.entries if one.id in kept.folded and model.toggle(one)])
    if entry is not None:
        layout.go_to_spot(entry, kept.block, kept.characters)
    return True
