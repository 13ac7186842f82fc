"""Where messages are written: a draft of many lines, what waits to be sent above it, commands, shell and history.

Here is what keys do. How it stands is composer_body.py's, what is written and sent composer_writing.py's.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeAlias

from nanoherm_tui.compat.alt_keys import teach_alt_keys
from nanoherm_tui.compat.reading import read_lines_as_pastes
from nanoherm_tui.compat.whole_app import break_as_prose
from nanoherm_tui.history import History
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import Keymap
from nanoherm_tui.panes import composer_messages
from nanoherm_tui.panes.composer_draft import ComposerDraft
from nanoherm_tui.panes.composer_writing import ComposerWriting
from nanoherm_tui.panes.entered import shell_command
from nanoherm_tui.panes.kill_draft import KILLS

if TYPE_CHECKING:
    from textual import events

    from nanoherm_tui.panes.keys import KeyFilter


class Composer(ComposerWriting):
    """The draft and all that stands around it. Give it the focus, and its keys are the keymap's."""

    Submitted: TypeAlias = composer_messages.Submitted
    SlashEntered: TypeAlias = composer_messages.SlashEntered
    ShellEntered: TypeAlias = composer_messages.ShellEntered
    DraftChanged: TypeAlias = composer_messages.DraftChanged
    ImagesPasted: TypeAlias = composer_messages.ImagesPasted
    ImagePreviewRequested: TypeAlias = composer_messages.ImagePreviewRequested
    ImagePasteRequested: TypeAlias = composer_messages.ImagePasteRequested
    CommandsWanted: TypeAlias = composer_messages.CommandsWanted
    SnippetsWanted: TypeAlias = composer_messages.SnippetsWanted
    TakeBackRequested: TypeAlias = composer_messages.TakeBackRequested

    def __init__(self, history: History | None = None, keymap: Keymap | None = None, *, id: str | None = None) -> None:
        break_as_prose()
        teach_alt_keys()
        read_lines_as_pastes()
        super().__init__(ComposerDraft(self), history or History(None), keymap or Keymap(), id=id)
        self.key_filter: KeyFilter | None = None
        """Is given each key before the composer; True means it took it."""
        self.guide: KeyFilter | None = None
        """Is given each key before all others: that of the tour."""
        self.last_key = float("-inf")
        """Monotonic seconds when a key came last."""

    @property
    def vim(self) -> bool:
        """The draft is edited with vim's keys."""
        return self._vim is not None

    @vim.setter
    def vim(self, on: bool) -> None:
        if on and self._vim is None:
            from nanoherm_tui.panes.vim_draft import VimDraft

            self._vim = VimDraft(self._draft, self._earlier, self._later, self._is_bound)
        elif not on and self._vim is not None:
            self._vim.begin_anew()
            self._vim = None
        if self.is_mounted:
            self._show_state()

    def _is_bound(self, key: str) -> bool:
        return any(self.keymap.action(key, where) for where in ("composer", "running", "everywhere"))

    def pasted(self) -> None:
        """A text is about to be pasted."""
        if self._vim is not None:
            self._vim.changed_elsewhere()

    # -- keys --------------------------------------------------------------------------------------------------------

    def draft_key(self, event: events.Key) -> bool:
        """Take a key before the text area does; False leaves it to the text area and the app."""
        self.last_key = time.monotonic()
        if self._hint.remark:
            self.end_remark(self._hint.remark)
        if self.guide is not None and self.guide(event):
            return True
        if self.key_filter is not None and self.key_filter(event):
            return True

        # xterm's modifyOtherKeys reports Enter with its own character.
        key = event.key.replace("+\r", "+enter")
        if self._search.is_on:
            return self._search_key(key)
        if self.mention.key(event):
            return True
        if self._draft.document[0].startswith("/"):
            self._popup.update(self._draft.text)  # keys of one read come before the change they made is told
        if self._popup.is_open and self._popup_key(key):
            return True
        if self._snippets.key(key):
            self._show_state()
            return True
        if self._vim is not None and self._vim.key(event):
            self._show_state()
            return True
        if self.keymap.action(key, "composer") == "send":
            self._enter()
            return True
        return self._edit_key(key, event)

    def _edit_key(self, key: str, event: events.Key) -> bool:
        draft = self._draft
        if self._act(self.keymap.action(key, "running") or self.keymap.action(key, "composer")):
            return True
        if key == "tab":
            pass  # with nothing to queue or to complete it does nothing: it never moves the keyboard away
        elif key == "ctrl+d" and not self.is_empty:
            draft.action_delete_right()
        elif key == "escape" and not self._doing.runs and draft.selected_text:
            draft.move_cursor(draft.cursor_location)
        elif key == "escape" and not self._doing.runs and self._drafts.instead:
            self._reset()  # all is as it was
        else:
            return False
        return True

    def perform(self, action_id: str) -> None:
        """Do what one of the composer's keys does."""
        if action_id in ("send", "steer"):
            self._enter()
        else:
            self._act(action_id)

    def _act(self, action: str) -> bool:
        """Do an action of the composer; False when there is nothing to do it to."""
        draft = self._draft
        if action == "newline":
            draft.type_in("\n")
        elif action == "queue" and self._doing.runs and not self.is_empty:
            shell = shell_command(draft.whole) if draft.document[0].startswith("!") else None
            if shell is None:
                self._submit("queue")
            else:
                self._run_shell(shell)  # it never waits for a turn
        elif action == "take_back" and (self._pending.steers or self._pending.queued):
            self.post_message(self.TakeBackRequested())
        elif action == "history_previous" and draft.on_first_row:
            self._earlier()
        elif action == "history_next" and draft.on_last_row:
            self._later()
        elif action in KILLS:
            draft.kill(action)
        elif action == "yank":
            draft.yank()
        elif action == "yank_older":
            return draft.yank_older()
        elif action == "undo_edit":
            draft.undo()
        elif action == "history_search":
            self._begin_search()
        elif action == "expand_paste":
            self._expand_paste()
        elif action == "paste_image":
            self.post_message(self.ImagePasteRequested())
        elif action == "redo_edit":
            draft.redo()
        elif action == "preview_file":
            return self.mention.preview() or self._preview_image()
        elif action == "help_empty" and self.is_empty:
            self.post_message(self.SlashEntered("/help"))
        else:
            return False
        return True

    def _popup_key(self, key: str) -> bool:
        first = self._popup.first
        if key in ("up", "down"):
            self._popup.move(-1 if key == "up" else 1)
        elif key == "escape":
            self._popup.dismiss(self._draft.text)
        elif key == "tab" and first is not None:
            self._draft.put(first.draft)
            if not first.draft.endswith(" "):
                self._popup.dismiss(self._draft.text)
        else:
            return False
        return True

    def _preview_image(self) -> bool:
        """Ask for the image of the chip at the caret, or the nearest before it, to be shown."""
        found = self._draft.image_at_caret()
        if found is not None:
            self.post_message(self.ImagePreviewRequested(*found))
        return found is not None

    def _expand_paste(self) -> None:
        if self._draft.expand_chip() == "too long":
            self._problem_draft = self._draft.text
            self._say(t("composer.chip_too_long", key=self.keymap.label("editor")))

    # -- the search through the history ------------------------------------------------------------------------------

    def _begin_search(self) -> None:
        if self._search.is_on:
            self._search.move("")
            return
        self._popup.dismiss(self._draft.text)
        self._type_anew()
        self._search.begin(self._history.entries)
        self.mention.follow()
        self._show_state()

    def _search_key(self, key: str) -> bool:
        """A key while the history is searched. The editing keys are left to what is looked for."""
        self._search.follow()
        action = self.keymap.action(key, "composer")
        if action == "send" or key == "tab":
            if self._search.popup.chosen is not None:
                self.end_search(self._search.popup.chosen)
        elif key == "escape":
            self.end_search()
        elif key in ("up", "down", "pageup", "pagedown") or action == "history_search":
            self._search.move(key)
        elif action in ("undo_edit", "redo_edit", "yank", "yank_older", *KILLS):
            self._act(action)
        else:
            return action in ("newline", "expand_paste")
        return True
