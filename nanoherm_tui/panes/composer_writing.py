"""What is written in the composer: drafts of several sessions, the history, snippets, and what Enter makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.text.image_refs import leading
from nanoherm_tui import limits
from nanoherm_tui.actions import SlashProblem
from nanoherm_tui.history import History, Walk
from nanoherm_tui.panes import composer_messages as messages
from nanoherm_tui.panes.composer_body import ComposerBody
from nanoherm_tui.panes.entered import Command, OneMoreImage, Said, ShellCommand, entered
from nanoherm_tui.panes.snippet_offers import SnippetOffers
from nanoherm_tui.words.arguments import told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.timer import Timer
    from textual.widgets import TextArea

    from agent_core.knowledge import Typed
    from agent_core.snippets import Snippet
    from nanoherm_tui.keymap import Keymap
    from nanoherm_tui.overlays.slash import Offer, ValuesOf
    from nanoherm_tui.panes.composer_messages import How
    from nanoherm_tui.panes.kill_draft import KillDraft


class ComposerWriting(ComposerBody):
    """The base of the composer that knows no key."""

    def __init__(self, draft: KillDraft, history: History, keymap: Keymap, *, id: str | None = None) -> None:
        self._snippets = SnippetOffers(draft, self._want_snippets, self.put_snippet)
        super().__init__(draft, self._snippets.popup, keymap, id=id)
        self._history = history
        self._walk = Walk(history)
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
        if self._is_command and not self._search.is_on:
            self._popup.update(self._draft.text)
        if sent and sent == self.text:
            self._enter()

    def forget_typed(self) -> None:
        """Another session's draft is shown: what can be typed in it is not known yet."""
        self._snippets.forget()
        self._typed, self._popup.typed, self._sent_early = None, (), ""
        if self._is_command:
            self.post_message(messages.CommandsWanted())

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
        self.post_message(messages.SnippetsWanted())

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
            self.post_message(messages.DraftChanged(self._drafts.key, text))

    @property
    def has_paste(self) -> bool:
        """A long paste stands in the draft as a chip."""
        return self._draft.has_paste

    def after_keys(self, do: Callable[[], None]) -> None:
        """Do something behind the keys that are on their way to the draft."""
        self._draft.call_later(do)

    def end_search(self, taken: str | None = None) -> None:
        """Go back to the draft as it was; `taken` from the history comes in its place, undoably."""
        if self._search.end(taken):
            self._show_state()

    # -- what follows the draft --------------------------------------------------------------------------------------

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
                self.post_message(messages.CommandsWanted())
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
        if chosen is not None and not self._is_guess(chosen):
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
                self.post_message(messages.SlashEntered(made.command))
            case Said():
                self._submit("send")
            case SlashProblem() if self._typed is None and made.is_unknown:
                self._sent_early = self.text  # it goes, or is told to be unknown, in a moment
            case SlashProblem():
                self._problem_draft = draft.text
                self._say(told(made))
            case Command():
                self._history.add(text)
                self._reset()
                self.post_message(messages.SlashEntered(text))

    def _is_guess(self, chosen: Offer) -> bool:
        """Whether an offer only has the letters of what was typed, which may be a command that is not known yet."""
        written = self._draft.text.lower()
        return self._typed is None and " " not in written and not chosen.draft.lower().startswith(written)

    def _run_shell(self, shell: ShellCommand) -> None:
        if shell.command:
            self._history.add(self._draft.whole.rstrip())
            self._reset()
            self.post_message(messages.ShellEntered(shell.command, shell.private))

    def _submit(self, how: How) -> None:
        text = self._draft.whole.rstrip()
        if not text.strip():
            return
        self._history.add(text)
        instead = self._drafts.instead
        self._reset()
        self.post_message(messages.Submitted(text, how, instead))

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
