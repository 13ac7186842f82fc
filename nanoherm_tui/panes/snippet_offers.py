"""Snippets while a message is written: what is offered behind a semicolon, and the keys that take and fill one in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.overlays.snippets import SnippetPopup, word_before

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_core.snippets import Snippet
    from nanoherm_tui.panes.kill_draft import KillDraft


class SnippetOffers:
    """Follows the caret of `draft`; the offers stand in `popup`."""

    def __init__(self, draft: KillDraft, want: Callable[[], None], put: Callable[[Snippet, str], None]) -> None:
        """`want` asks for what there is, `put` writes a snippet in the place of the word before the caret."""
        self._draft = draft
        self._want = want
        self._put = put
        self._writes = False  # a name behind a semicolon
        self.popup = SnippetPopup()

    @property
    def known(self) -> Sequence[Snippet]:
        """All that there are, as far as it is known."""
        return self.popup.known or ()

    @known.setter
    def known(self, known: Sequence[Snippet]) -> None:
        self.popup.known = known

    def forget(self) -> None:
        """What there is has to be asked for again."""
        self.popup.known, self._writes = None, False

    def follow(self, *, searching: bool = False) -> None:
        """A name behind a semicolon is being written, or no longer."""
        row_index, column = self._draft.cursor_location
        line = self._draft.document[row_index]
        selected = not self._draft.selection.is_empty or searching
        word = word_before(line, column) if ";" in line and not selected else None
        if word is not None and not self._writes:
            self._want()
        self._writes = word is not None
        self.popup.follow(word)

    def key(self, key: str) -> bool:
        """A key while snippets are offered, or places of one are to be filled in. False: it means something else."""
        draft = self._draft
        if ";" in draft.document[draft.cursor_location[0]]:
            self.follow()  # keys of one read come before the change they made is told
        chosen = self.popup.chosen
        if chosen is not None and key in ("up", "down"):
            self.popup.move(-1 if key == "up" else 1)
        elif chosen is not None and key in ("tab", "escape"):
            word = word_before(draft.document[draft.cursor_location[0]], draft.cursor_location[1])
            if key == "tab":
                self._put(chosen, f";{word}")
            else:
                self.popup.shut(word)
        else:
            return key in ("tab", "shift+tab") and draft.next_stop(back=key == "shift+tab")
        return True
