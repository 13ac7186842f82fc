"""What is known of the drafts of several sessions, of which the composer shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanoherm_tui.panes.chip_draft import ChipDraft, Kept


class SessionDrafts:
    """Each with its undo, and what of it is on the disk."""

    def __init__(self) -> None:
        self.key = ""
        """Whose draft is shown; "" before there is any session."""
        self._others: dict[str, Kept] = {}
        self._instead: dict[str, str] = {}
        self._restored: set[str] = set()
        self._told: dict[str, str] = {}

    @property
    def instead(self) -> str:
        """The earlier message that the draft is to take the place of; "" when it is a new one."""
        return self._instead.get(self.key, "")

    @instead.setter
    def instead(self, message_id: str) -> None:
        if message_id:
            self._instead[self.key] = message_id
        else:
            self._instead.pop(self.key, None)

    def is_restored(self, key: str) -> bool:
        """What the disk had for this draft has come."""
        return key in self._restored

    def restored(self, key: str, text: str) -> None:
        self._restored.add(key)
        self._told[key] = text

    def to_tell(self, text: str) -> bool:
        """Whether `text`, what is written now, is to be told to be kept; it is then counted as told."""
        if not self.is_restored(self.key) or text == self._told.get(self.key, ""):
            return False
        self._told[self.key] = text
        return True

    def rests(self, key: str) -> None:
        """A session out of view rests: an empty draft gives up its undo, which may hold thousands of keys."""
        kept = self._others.get(key)
        if kept is not None and not kept.raw:
            del self._others[key]

    def switch(self, key: str, draft: ChipDraft) -> None:
        """Put the draft that is shown aside and show that of `key`. What has no session belongs to the first."""
        if self.key:
            self._others[self.key] = draft.set_aside()
        if (kept := self._others.pop(key, None)) is not None:
            draft.take_up(kept)
        self.key = key
