"""Vim's keys on the composer's draft, where the user has chosen them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nanoherm_tui.editing.kill_ring import Kill
from nanoherm_tui.editing.vim import Vim
from nanoherm_tui.editing.vim_motions import on_unit

if TYPE_CHECKING:
    from textual import events

    from nanoherm_tui.editing.vim import Done, Mode
    from nanoherm_tui.panes.kill_draft import KillDraft


class _Register:
    """The kill ring as vim's unnamed register: what holds chips is kept as it is meant."""

    def __init__(self, draft: KillDraft) -> None:
        self._draft = draft

    @property
    def current(self) -> Kill | None:
        kill = self._draft.ring.current
        if kill is None:
            return None
        text = kill.text.removesuffix("\n") if kill.lines else kill.text
        return Kill(self._draft.folded(text) + "\n" * kill.lines, kill.lines)

    def add(self, text: str, *, lines: bool = False) -> None:
        self._draft.ring.add(self._draft.expanded(text), lines=lines)


class VimDraft:
    """Gives the draft what the engine makes of the keys."""

    def __init__(
        self,
        draft: KillDraft,
        earlier: Callable[[], None],
        later: Callable[[], None],
        is_bound: Callable[[str], bool],
    ) -> None:
        """`earlier` and `later` bring a draft of the history: k on the first line and j on the last.

        `is_bound`: whether a key has a meaning for the program.
        """
        self._draft = draft
        self._vim = Vim(_Register(draft))
        self._is_bound = is_bound
        self._walks = {"history_previous": earlier, "history_next": later}

    @property
    def mode(self) -> Mode:
        return self._vim.mode

    @property
    def pending(self) -> str:
        return self._vim.pending

    def begin_anew(self) -> None:
        """The draft is another, or was sent: text is typed."""
        self._draft.end_step()
        self._vim.begin_anew()

    def changed_elsewhere(self) -> None:
        """A paste has come: nothing is selected any more."""
        self._vim.leave_selection()

    def key(self, event: events.Key) -> bool:
        """Take a key before all that types; False: it is none of vim's now.

        Esc and a letter that come in one read look like Alt and the letter: over a slow line they do. While text is
        typed they are Esc and the letter, as for vim; else, as for Neovim, what the key is bound to comes first.
        """
        letter = event.key.rpartition("+")[2]
        if event.key.startswith("alt+") and len(letter) == 1 and letter.isalpha():
            if self._vim.mode != "insert" and self._is_bound(event.key):
                return False
            self._press("escape")
            return self._press(letter.upper() if "+shift+" in event.key else letter) or True
        if event.is_printable and event.character:
            if self._vim.mode != "insert" and event.character == "?" and not self._draft.text:
                return False  # help, as in an empty draft it always is
            return self._press(event.character)
        return self._press(event.key)

    def _press(self, key: str) -> bool:
        draft, before = self._draft, self._vim.mode
        done = self._vim.press(key, draft.text, draft.caret, draft.held_from)
        if done is None:
            return False
        if before != "insert" and self._vim.mode == "insert":
            draft.begin_step()  # up to Esc
        with draft.one_step():
            for change in done.changes:
                draft.change(change)
        if before == "insert":
            draft.end_step()
        draft.select(done.anchor, done.caret)
        self._ask(done)
        return True

    def _ask(self, done: Done) -> None:
        draft = self._draft
        if done.ask in ("undo", "redo"):
            for _ in range(done.times):
                draft.undo() if done.ask == "undo" else draft.redo()
        elif done.ask:
            self._walks[done.ask]()
        else:
            return
        at = on_unit(draft.text, min(draft.held_from, draft.caret))  # what was selected then is not now
        draft.select(at, at)
