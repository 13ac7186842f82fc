"""Where messages are written: a draft of many lines, what waits to be sent above it, commands, shell and history."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from textual import events
from textual.timer import Timer
from textual.widgets import TextArea

from agent_core.text.image_refs import leading
from nanoherm_tui import limits
from nanoherm_tui.actions import SlashProblem
from nanoherm_tui.compat import break_as_prose, read_lines_as_pastes, teach_alt_keys
from nanoherm_tui.history import History, Walk
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import Keymap
from nanoherm_tui.panes import composer_messages
from nanoherm_tui.panes.composer_body import ComposerBody
from nanoherm_tui.panes.composer_draft import ComposerDraft
from nanoherm_tui.panes.entered import Command, OneMoreImage, Said, ShellCommand, entered, shell_command
from nanoherm_tui.panes.kill_draft import KILLS
from nanoherm_tui.panes.snippet_offers import SnippetOffers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.knowledge import Typed
    from agent_core.snippets import Snippet
    from nanoherm_tui.overlays.slash import ValuesOf
    from nanoherm_tui.panes.composer_messages import How
    from nanoherm_tui.panes.keys import KeyFilter


class Composer(ComposerBody):
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
        draft = ComposerDraft(self)
        self._snippets = SnippetOffers(draft, self._want_snippets, self.put_snippet)
        super().__init__(draft, self._snippets.popup, keymap or Keymap(), id=id)
        self._history = history or History(None)
        self._walk = Walk(self._history)
        self.key_filter: KeyFilter | None = None
        """Is given each key before the composer; True means it took it."""
        self.guide: KeyFilter | None = None
        """Is given each key before all others: that of the tour."""
        self.last_key = float("-inf")
        """Monotonic seconds when a key came last."""
        self._problem_draft = ""
        self._typed: Sequence[Typed] | None = None
        self._is_command = False
        self._sent_early = ""  # a draft that was sent before it was known what can be typed
        self._resting: Timer | None = None

    def on_mount(self) -> None:
        self.call_after_refresh(self._history.load)
        self._resting = self.set_interval(limits.DRAFT_REST, self.tell_draft, pause=True)

    # -- what the app calls ------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The whole draft: what stands for a long paste is the paste."""
        return self._search.draft_text if self._search.is_on else self._draft.whole

    @text.setter
    def text(self, value: str) -> None:
        self.end_search()
        self._draft.put(value)

    @property
    def selected_text(self) -> str:
        return self._draft.selected_text

    @property
    def values_of(self) -> ValuesOf:
        """What the arguments of commands may be, for the list above the draft. Has to answer at once."""
        return self._popup.values_of

    @values_of.setter
    def values_of(self, values_of: ValuesOf) -> None:
        self._popup.values_of = values_of

    @property
    def typed(self) -> Sequence[Typed]:
        """What can be typed beside the program's own commands, as far as it is known."""
        return self._typed or ()

    @typed.setter
    def typed(self, typed: Sequence[Typed]) -> None:
        self._typed = self._popup.typed = typed
        sent, self._sent_early = self._sent_early, ""
        if sent and sent == self.text:
            self._enter()
        elif self._is_command and not self._search.is_on:
            self._popup.update(self._draft.text)

    def forget_typed(self) -> None:
        """Another session's draft is shown: what can be typed in it is not known yet."""
        self._snippets.forget()
        self._typed, self._popup.typed, self._sent_early = None, (), ""
        if self._is_command:
            self.post_message(self.CommandsWanted())

    @property
    def snippets(self) -> Sequence[Snippet]:
        """What a word behind a semicolon may become, as far as it is known."""
        return self._snippets.known

    @snippets.setter
    def snippets(self, known: Sequence[Snippet]) -> None:
        self._snippets.known = known
        self._snippets.follow(searching=self._search.is_on)

    def put_snippet(self, snippet: Snippet, word: str = "") -> None:
        """Put a snippet in at the caret, in the place of the `word` before it; its first place is selected."""
        self.end_search()
        self._type_anew()
        self._draft.put_snippet(snippet, len(word))
        self._snippets.follow()
        self._show_state()

    def _want_snippets(self) -> None:
        self.post_message(self.SnippetsWanted())

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

    def insert(self, text: str) -> None:
        """Put `text` at the caret, over a selection."""
        self._draft.type_in(text)

    @property
    def may_have_images(self) -> bool:
        """The draft is a message: no command, and no search."""
        return not self._search.is_on and not self._draft.document[0].startswith(("!", "/"))

    def add_image(self, reference: str, instead: str = "") -> None:
        """Put an image into the draft, as a chip: in the place of the text `instead`, else at the caret."""
        self.end_search()
        self._draft.put_image(reference, instead)

    def bring_back(self, text: str) -> None:
        """A text that was not sent after all: it stands before the present draft."""
        draft = self.text
        self.text = f"{text}\n{draft}" if draft.strip() else text

    def begin_command(self, name: str) -> None:
        """Write a slash command whose argument is still to be typed. The history keeps the draft."""
        images, behind = leading(f"{self.text.rstrip()} ")
        if behind.strip() or name != "image":
            if not self.is_empty:
                self.clear_to_history()
            images = ""
        self.text = f"{images}/{name} "
        self.focus()

    def enter(self, text: str) -> None:
        """Do with `text` what Enter does with a draft."""
        self._draft.put(text)
        self._enter()

    def write_instead(self, message_id: str, text: str) -> None:
        """Have an earlier message written anew: what is sent next takes its place. The history keeps the draft."""
        if not self.is_empty:
            self.clear_to_history()
        self.text = text
        self._drafts.instead = message_id
        self._show_state()
        self.focus()

    def clear_to_history(self) -> None:
        """Empty the draft; the history keeps it. A search through the history ends instead."""
        if self._search.is_on:
            self.end_search()
            return
        self._history.add(self.text)
        self._reset()

    # -- drafts of several sessions ----------------------------------------------------------------------------------

    @property
    def is_restored(self) -> bool:
        """What the disk had for this draft is in it: from then on changes are told."""
        return self._drafts.is_restored(self._drafts.key)

    def rests(self, key: str) -> None:
        """The session `key`, out of view, rests."""
        self._drafts.rests(key)

    def show_draft(self, key: str) -> bool:
        """Show the draft of session `key` and keep the one that was shown, each with its undo.

        True: what the disk has for it is not known yet; `restore` takes it. What was typed before there was any
        session belongs to the first.
        """
        self.end_search()
        if key != self._drafts.key:
            if self._drafts.key:
                self.tell_draft()
                self._walk.reset()
            self._type_anew()
            self._drafts.switch(key, self._draft)
        return not self._drafts.is_restored(key)

    def restore(self, key: str, text: str) -> None:
        """The draft that the disk has for `key`: it stands before what has been typed since, unless it is that."""
        if key != self._drafts.key or self._drafts.is_restored(key):
            return
        self._drafts.restored(key, text)
        if text.strip() and text != self.text:
            self.bring_back(text)

    def tell_draft(self) -> None:
        """Post DraftChanged if the draft is another than the one told last."""
        if self._resting is not None:
            self._resting.pause()
        text = self.text
        if self._drafts.to_tell(text):
            self.post_message(self.DraftChanged(self._drafts.key, text))

    @property
    def has_paste(self) -> bool:
        """A long paste stands in the draft as a chip."""
        return self._draft.has_paste

    def after_keys(self, do: Callable[[], None]) -> None:
        """Do something behind the keys that are on their way to the draft."""
        self._draft.call_later(do)

    def on_descendant_blur(self) -> None:
        self.tell_draft()
        if self.app.app_focus:  # not when it is the terminal that lost the keyboard
            self.end_search()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._hint.problem and self._draft.text != self._problem_draft:
            self._say("")
        if self._search.is_on:
            self._search.follow()
        else:
            is_command = self._draft.document[0].startswith("/")
            if is_command and not self._is_command:
                self.post_message(self.CommandsWanted())
            self._is_command = is_command
            self._popup.update(self._draft.text)
            self.mention.follow()
            self._snippets.follow()
            if self._resting is not None:
                self._resting.reset()
        self._show_state()
        self.fit_height()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if not self._search.is_on:
            self.mention.follow()
            self._snippets.follow()

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

    def end_search(self, taken: str | None = None) -> None:
        """Go back to the draft as it was; `taken` from the history comes in its place, undoably."""
        if self._search.end(taken):
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

    # -- sending -----------------------------------------------------------------------------------------------------

    def _enter(self) -> None:
        draft = self._draft
        row_index, column = draft.cursor_location
        line = draft.document[row_index]
        if line[:column].endswith("\\") and not line[:column].endswith("\\\\"):
            draft.replace("\n", (row_index, column - 1), (row_index, column), maintain_selection_offset=False)
            draft.move_cursor((row_index + 1, 0))
            return
        chosen = self._popup.chosen
        if chosen is not None:
            self._draft.put(chosen.draft)
            if not chosen.whole:
                return
        text = draft.whole.rstrip()
        made = entered(text, draft.document[0], self.typed)
        match made:
            case ShellCommand():
                self._run_shell(made)
            case OneMoreImage():
                self._history.add(made.command)
                draft.put(made.images)
                self.post_message(self.SlashEntered(made.command))
            case Said():
                self._submit("send")
            case SlashProblem() if self._typed is None and made.is_unknown:
                self._sent_early = self.text  # it goes, or is told to be unknown, in a moment
            case SlashProblem():
                self._problem_draft = draft.text
                self._say(t(made.key, **made.params))
            case Command():
                self._history.add(text)
                self._reset()
                self.post_message(self.SlashEntered(text))

    def _run_shell(self, shell: ShellCommand) -> None:
        if shell.command:
            self._history.add(self._draft.whole.rstrip())
            self._reset()
            self.post_message(self.ShellEntered(shell.command, shell.private))

    def _submit(self, how: How) -> None:
        text = self._draft.whole.rstrip()
        if not text.strip():
            return
        self._history.add(text)
        instead = self._drafts.instead
        self._reset()
        self.post_message(self.Submitted(text, how, instead))

    def _reset(self) -> None:
        self._walk.reset()
        self._type_anew()
        self._drafts.instead = ""
        self._draft.put("")
        self.tell_draft()

    def _type_anew(self) -> None:
        if self._vim is not None:
            self._vim.begin_anew()

    def _earlier(self) -> None:
        self._recall(self._walk.previous(self._draft.whole))

    def _later(self) -> None:
        self._recall(self._walk.next())

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self._draft.put(text)
