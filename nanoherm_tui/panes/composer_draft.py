"""The composer's own text area: every key goes to the composer first, and so do pastes that are images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from nanoherm_tui.editing.kill_ring import KillRing
from nanoherm_tui.panes.composer_messages import ImagesPasted
from nanoherm_tui.panes.kill_draft import KillDraft
from nanoherm_tui.terminal.dropped import image_paths

if TYPE_CHECKING:
    from textual import events
    from textual.message import Message
    from textual.widgets.text_area import Edit, EditResult


class Owner(Protocol):
    """The composer, as far as its text area knows it."""

    @property
    def may_have_images(self) -> bool: ...

    def pasted(self) -> None: ...

    def fit_height(self) -> None: ...

    def draft_key(self, event: events.Key) -> bool: ...

    def draft_resized(self) -> None: ...

    def post_message(self, message: Message) -> bool: ...


class ComposerDraft(KillDraft):
    """Tells its owner of keys, pastes, edits and another width."""

    def __init__(self, composer: Owner) -> None:
        super().__init__(KillRing(), id="draft")
        self._composer = composer

    def takes_paste(self, text: str) -> bool:
        self._composer.pasted()
        paths = image_paths(text) if self._composer.may_have_images else ()
        if paths:
            self._composer.post_message(ImagesPasted(paths, text))
        return bool(paths)

    def edit(self, edit: Edit) -> EditResult:
        result = super().edit(edit)
        self._composer.fit_height()  # with the next frame, or its caret would be below the rows that it has
        return result

    async def _on_key(self, event: events.Key) -> None:
        self.begin_key()
        if self._composer.draft_key(event):
            event.stop()
            event.prevent_default()

    def on_resize(self) -> None:
        self.call_after_refresh(self._composer.draft_resized)  # once the text is wrapped to the new width
