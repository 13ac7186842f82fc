"""The search through what was sent before: the draft area holds what is looked for, and the draft is set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui import limits
from nanoherm_tui.overlays.history import HistoryPopup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nanoherm_tui.panes.chip_draft import ChipDraft, Kept


class HistorySearch:
    """Uses the composer's `draft`; the hits stand in `popup`."""

    def __init__(self, draft: ChipDraft) -> None:
        self._draft = draft
        self._kept: Kept | None = None
        self.popup = HistoryPopup()

    @property
    def is_on(self) -> bool:
        return self._kept is not None

    @property
    def draft_text(self) -> str:
        """The draft that was set aside."""
        return self._kept.text if self._kept is not None else ""

    def begin(self, entries: Sequence[str]) -> None:
        self._kept = self._draft.set_aside()
        self.popup.open(entries)

    def end(self, taken: str | None = None) -> bool:
        """Go back to the draft as it was; `taken` from the history comes in its place, undoably. False: it was off."""
        if self._kept is None:
            return False
        kept, self._kept = self._kept, None
        self.popup.close()
        self._draft.take_up(kept)
        if taken is not None:
            self._draft.put(taken)
        return True

    def follow(self) -> None:
        """Look for what is written now."""
        self.popup.look_for(self._draft.text)

    def move(self, key: str) -> None:
        """To another hit; a key that is no arrow and no page goes to the next older one."""
        self.popup.move({"up": -1, "pageup": -limits.SLASH_ROWS, "pagedown": limits.SLASH_ROWS}.get(key, 1))
