"""Where a conversation was read, for when it has been let go of and comes back: found again by ids, not by numbers.

With the place come what was found and selected there, and the block that the keys stood on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_core.records import dataclass
from nanoherm_tui.transcript.lines import Place
from nanoherm_tui.transcript.spots import Point, Spot, point_of, spot_of
from nanoherm_tui.transcript.unread import last_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nanoherm_tui.transcript.entry import Entry
    from nanoherm_tui.transcript.layout import Layout
    from nanoherm_tui.transcript.model import TranscriptModel
    from nanoherm_tui.transcript.window import Page


class KeptSpot(NamedTuple):
    """A Spot, by the id of its entry."""

    entry: str
    key: int
    ink: int
    blanks: int


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
    query: str = ""
    """What was looked for."""
    hit: KeptSpot | None = None
    """The one that was gone to."""
    cursor: tuple[str, int] | None = None
    """The selected block: its entry, and its key there."""
    selected: tuple[KeptSpot, KeptSpot] | None = None
    """The ends of what was selected, the one that moves last."""


def place_of(page: Page) -> KeptPlace:
    """The place of a model that was laid out and is out of view."""
    layout = page.layout
    model = layout.model
    entries = model.entries
    at = ""
    block = characters = 0
    spot = layout.spot
    if not layout.stick and spot is not None:
        entry = spot[0]
        if entry.is_stored:
            at, block, characters = entry.id, *spot[1:]
        else:
            before = next((one for one in reversed(entries[: entry.index]) if one.is_stored), None)
            at = before.id if before is not None else ""
    return KeptPlace(
        at,
        block,
        characters,
        seen=last_message(model, len(entries) if layout.stick else layout.seen_entries),
        folded=frozenset(entry.id for entry in entries if entry.open != model.opens(entry.kind)),
        query=page.find.query,
        hit=_hit(page),
        cursor=_cursor(page),
        selected=_selected(page),
    )


def find_again(kept: KeptPlace, model: TranscriptModel, page: Page) -> bool:
    """Fold and scroll a model that was loaded anew as it was; False while that place has not been read yet.

    What was selected, or found and gone to, is given up where its entry is gone.
    """
    layout = page.layout
    named = {one.id: one for one in model.entries}
    needed = [kept.entry] if kept.entry else []
    needed += [spot.entry for spot in kept.selected or ()]
    if model.earlier and any(id not in named for id in needed):
        return False
    layout.update([one for one in model.entries if one.id in kept.folded and model.toggle(one)])
    if kept.entry in named:
        layout.go_to_spot(named[kept.entry], kept.block, kept.characters)
    if kept.query:
        place = _place(kept.hit, named, layout)
        page.find.put_back(kept.query, None if place is None else (model.entries[place.entry], *place[1:]))
    if kept.cursor is not None and kept.cursor[0] in named:
        page.cursor.at = (named[kept.cursor[0]], kept.cursor[1])
    if kept.selected is not None:
        anchor, head = (_spot(end, named) for end in kept.selected)
        if anchor is not None and head is not None:
            page.selected.put_back(anchor, head)
    return True


def _kept(spot: Spot) -> KeptSpot | None:
    return KeptSpot(spot.entry.id, *spot[1:]) if spot.entry.is_stored else None


def _spot(kept: KeptSpot, named: Mapping[str, Entry]) -> Spot | None:
    return Spot(named[kept.entry], *kept[1:]) if kept.entry in named else None


def _place(kept: KeptSpot | None, named: Mapping[str, Entry], layout: Layout) -> Place | None:
    spot = _spot(kept, named) if kept is not None else None
    point = point_of(layout, spot) if spot is not None else None
    return point.place if point is not None else None


def _hit(page: Page) -> KeptSpot | None:
    if page.find.at is None:
        return None
    entry, block, row = page.find.at
    entries = page.layout.model.entries
    if entry.index >= len(entries) or entries[entry.index] is not entry or block >= len(entry.blocks):
        return None
    return _kept(spot_of(page.layout, Point(Place(entry.index, block, row), 0)))


def _cursor(page: Page) -> tuple[str, int] | None:
    at = page.cursor.at
    return (at[0].id, at[1]) if at is not None and at[0].is_stored else None


def _selected(page: Page) -> tuple[KeptSpot, KeptSpot] | None:
    ends = page.selected.ends
    anchor, head = (_kept(end) for end in ends) if ends is not None else (None, None)
    return (anchor, head) if anchor is not None and head is not None else None
