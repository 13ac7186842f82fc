"""Where messages are written: a draft of many lines, what waits to be sent above it, commands, shell and history."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from agent_core.text.image_refs import leading
from nanoherm_tui import limits
from nanoherm_tui.actions import SlashProblem
from nanoherm_tui.compat import break_as_prose, read_lines_as_pastes, teach_alt_keys
from nanoherm_tui.dropped import image_paths
from nanoherm_tui.editing.kill_ring import KillRing
from nanoherm_tui.history import History, Walk
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import Keymap
from nanoherm_tui.overlays.mention import MentionPopup
from nanoherm_tui.overlays.slash import SlashPopup, ValuesOf
from nanoherm_tui.overlays.snippets import SnippetPopup, word_before
from nanoherm_tui.panes import composer_messages, composer_words
from nanoherm_tui.panes.addressee import AddresseeRow
from nanoherm_tui.panes.composer_rows import ComposerHint, PendingRows
from nanoherm_tui.panes.composer_words import Doing
from nanoherm_tui.panes.draft import DraftBar, DraftPrompt
from nanoherm_tui.panes.entered import Command, OneMoreImage, Said, ShellCommand, entered, shell_command
from nanoherm_tui.panes.held import HeldRow
from nanoherm_tui.panes.history_search import HistorySearch
from nanoherm_tui.panes.kill_draft import KILLS, KillDraft
from nanoherm_tui.panes.session_drafts import SessionDrafts
from nanoherm_tui.text import width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.delegation import AgentRow
    from agent_core.events import SessionState
    from agent_core.knowledge import Typed
    from agent_core.snippets import Snippet
    from nanoherm_tui.panes.composer_messages import How
    from nanoherm_tui.panes.keys import KeyFilter
    from nanoherm_tui.panes.vim_draft import VimDraft


class _Draft(KillDraft):
    """The composer's own text area: every key goes to the composer first."""

    def __init__(self, composer: Composer) -> None:
        super().__init__(KillRing(), id="draft")
        self._composer = composer

    def takes_paste(self, text: str) -> bool:
        self._composer.pasted()
        paths = image_paths(text) if self._composer.may_have_images else ()
        if paths:
            self._composer.post_message(self._composer.ImagesPasted(paths, text))
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


class Composer(Widget):
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
        super().__init__(id=id)
        break_as_prose()
        teach_alt_keys()
        read_lines_as_pastes()
        self._history = history or History(None)
        self._walk = Walk(self._history)
        self.keymap = keymap or Keymap()
        self.key_filter: KeyFilter | None = None
        """Is given each key before the composer; True means it took it."""
        self.guide: KeyFilter | None = None
        """Is given each key before all others: that of the tour."""
        self.last_key = float("-inf")
        """Monotonic seconds when a key came last."""
        self._state: SessionState = "idle"
        self._problem_draft = ""
        self._typed: Sequence[Typed] | None = None
        self._is_command = False
        self._sent_early = ""  # a draft that was sent before it was known what can be typed
        self._screen_height = 0
        self._draft = _Draft(self)
        self._drafts = SessionDrafts()
        self._search = HistorySearch(self._draft)
        self._vim: VimDraft | None = None
        self._resting: Timer | None = None
        self._popup = SlashPopup()
        self._offered = SnippetPopup()
        self._writes_snippet = False
        self.mention = MentionPopup(self._draft, self.keymap)
        """Offers files once it knows whose: see its `files`."""
        self._bar, self._prompt = DraftBar(), DraftPrompt()
        self._held, self._pending, self._hint = HeldRow(), PendingRows(), ComposerHint()
        self._addressee = AddresseeRow()

    def compose(self) -> ComposeResult:
        yield self._popup
        yield self._search.popup
        yield self.mention
        yield self._offered
        with Horizontal(id="composer-row"):
            yield self._bar
            with Vertical(id="composer-body"):
                yield self._addressee
                yield self._held
                yield self._pending
                with Horizontal(id="composer-line"):
                    yield self._prompt
                    yield self._draft
                yield self._hint

    def on_mount(self) -> None:
        self.call_after_refresh(self._history.load)
        self._resting = self.set_interval(limits.DRAFT_REST, self.tell_draft, pause=True)
        self.screen.screen_layout_refresh_signal.subscribe(self, self._follow_screen)
        self._show_state()
        self.fit_height()

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
    def is_empty(self) -> bool:
        document = self._draft.document
        return not self._search.is_on and document.line_count == 1 and not document[0]

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
        self._offered.known, self._writes_snippet = None, False
        self._typed, self._popup.typed, self._sent_early = None, (), ""
        if self._is_command:
            self.post_message(self.CommandsWanted())

    @property
    def snippets(self) -> Sequence[Snippet]:
        """What a word behind a semicolon may become, as far as it is known."""
        return self._offered.known or ()

    @snippets.setter
    def snippets(self, known: Sequence[Snippet]) -> None:
        self._offered.known = known
        self._follow_snippet()

    def put_snippet(self, snippet: Snippet, word: str = "") -> None:
        """Put a snippet in at the caret, in the place of the `word` before it; its first place is selected."""
        self.end_search()
        self._type_anew()
        self._draft.put_snippet(snippet, len(word))
        self._follow_snippet()
        self._show_state()

    def _follow_snippet(self) -> None:
        """A name behind a semicolon is being written, or no longer."""
        row_index, column = self._draft.cursor_location
        line = self._draft.document[row_index]
        selected = not self._draft.selection.is_empty or self._search.is_on
        word = word_before(line, column) if ";" in line and not selected else None
        if word is not None and not self._writes_snippet:
            self.post_message(self.SnippetsWanted())
        self._writes_snippet = word is not None
        self._offered.follow(word)

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

    def set_state(self, state: SessionState) -> None:
        """What the session is doing, shown in words."""
        if state != self._state:
            self._state = state
            self._held.waits = state != "idle"
            if self._held.pid:  # else it has no row, and arranging the screen anew for none takes a frame's time
                self._held.refresh(layout=True)
            self._show_state()

    def set_pending(self, steers: tuple[str, ...], queued: tuple[str, ...]) -> None:
        """The texts that wait, oldest first."""
        if (steers, queued) != (self._pending.steers, self._pending.queued):
            self._pending.steers, self._pending.queued = steers, queued
            self._pending.take_back_key = self.keymap.label("take_back")
            self._pending.refresh(layout=True)
            self.call_after_refresh(self._draft.place_terminal_caret)

    def set_held(self, pid: int, since: float) -> None:
        """The other program that runs a turn in the session, and since when; `pid` 0: none does."""
        if (pid, since) != (self._held.pid, self._held.since):
            self._held.pid, self._held.since = pid, since
            self._held.keys = self.keymap.label("send"), self.keymap.label("stop")
            self._held.refresh(layout=True)
            self.call_after_refresh(self._draft.place_terminal_caret)

    def set_addressee(self, agent: AgentRow | None) -> None:
        """The sub-agent that is looked at, and told what is written; None: the session itself."""
        shown = self._addressee.agent
        self._addressee.agent = agent
        if (shown and (shown.id, shown.ended)) != (agent and (agent.id, agent.ended)):
            self._addressee.stop_key = self.keymap.label("stop_agent")
            self._addressee.refresh(layout=True)
            self._show_state()
            self.call_after_refresh(self._draft.place_terminal_caret)

    def remark(self, words: str) -> bool:
        """Say `words` in the row under the draft, until the next key. False: there is no room, or no such row."""
        has_room = self._hint.is_blank and self._hint.display and width(words) <= self._hint.size.width
        if has_room:
            self._hint.remark = words
            self._hint.refresh()
        return has_room

    def end_remark(self, words: str) -> None:
        if self._hint.remark == words:
            self._hint.remark = ""
            self._hint.refresh()

    @property
    def has_paste(self) -> bool:
        """A long paste stands in the draft as a chip."""
        return self._draft.has_paste

    def refresh_look(self) -> None:
        """Theme or language have changed."""
        self._show_state()
        self._addressee.refresh()
        self._draft.refresh_look()
        for widget in (
            self._bar,
            self._prompt,
            self._held,
            self._pending,
            self._popup,
            self._search.popup,
            self.mention,
            self._offered,
        ):
            widget.refresh()

    def focus(self, scroll_visible: bool = True) -> Composer:
        self._draft.focus(scroll_visible)
        return self

    @property
    def holds_focus(self) -> bool:
        return self._draft.has_focus

    def after_keys(self, do: Callable[[], None]) -> None:
        """Do something behind the keys that are on their way to the draft."""
        self._draft.call_later(do)

    # -- state and size ----------------------------------------------------------------------------------------------

    @property
    def _doing(self) -> Doing:
        searching = self._search.is_on
        return Doing(
            self._state,
            not self.is_empty,
            searching,
            None if searching else shell_command(self._draft.document[0]),
            bool(self._drafts.instead),
            self._addressee.agent,
            self._addressee.who,
            self._vim.mode if self._vim is not None and not searching else "insert",
            self._vim.pending if self._vim is not None else "",
            self._draft.has_stops,
        )

    def _show_state(self) -> None:
        """Placeholder, prompt sign and the row below, by what Enter would do now."""
        doing, label = self._doing, self._label
        self._hint.mode = composer_words.mode(doing)
        told = composer_words.hint(doing, label)
        self._hint.keys, self._hint.words = told.keys, told.words
        # Before the first layout a guess: the words of the first frame should be those of the second.
        room = self._draft.size.width or self.app.size.width // 2
        choices = composer_words.placeholders(doing, label)
        self._draft.placeholder = Content(next((words for words in choices if width(words) <= room), choices[-1]))
        sign, role = composer_words.sign(doing)
        if (self._prompt.sign, self._bar.role) != (sign, role):
            self._prompt.sign, self._bar.role, self._prompt.role = sign, role, role
            self._bar.refresh()
            self._prompt.refresh()
        self._hint.set_class(not self._hint.is_blank, "-told")
        self._hint.refresh()
        self._draft.refresh()

    def _label(self, action_id: str) -> str:
        """The key to show for an action; while vim types Esc stops nothing."""
        types = self._vim is not None and self._vim.mode == "insert"
        return self.keymap.label("interrupt" if types and action_id == "stop" else action_id)

    def draft_resized(self) -> None:
        if width(self._hint.remark) > self._hint.size.width:
            self.end_remark(self._hint.remark)
        self._show_state()
        self.fit_height()

    def fit_height(self) -> None:
        """As many rows as the draft needs, up to a third of the screen."""
        if not self.is_mounted:
            return
        most = max(1, self.app.size.height // limits.COMPOSER_SHARE)
        rows = max(1, min(self._draft.rows, most))
        height = self._draft.styles.height
        if height is None or height.value != rows:
            self._draft.styles.height = rows
        self.call_after_refresh(self._draft.place_terminal_caret)

    def _follow_screen(self, screen: Screen[object]) -> None:
        """On a short screen the blank rows above and below go."""
        if self._screen_height != screen.size.height:
            self._screen_height = screen.size.height
            self.set_class(screen.size.height < limits.SHORT, "-short")
            self.fit_height()

    def on_descendant_focus(self) -> None:
        self._light(True)

    def on_descendant_blur(self) -> None:
        self._light(False)
        self.tell_draft()
        if self.app.app_focus:  # not when it is the terminal that lost the keyboard
            self.end_search()

    def _light(self, on: bool) -> None:
        self._bar.lit = self._prompt.lit = on
        self._bar.refresh()
        self._prompt.refresh()

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
            self._follow_snippet()
            if self._resting is not None:
                self._resting.reset()
        self._show_state()
        self.fit_height()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if not self._search.is_on:
            self.mention.follow()
            self._follow_snippet()

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
        if self._snippet_key(key):
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

    def _snippet_key(self, key: str) -> bool:
        """A key while snippets are offered, or places of one are to be filled in."""
        draft = self._draft
        if ";" in draft.document[draft.cursor_location[0]]:
            self._follow_snippet()  # keys of one read come before the change they made is told
        chosen = self._offered.chosen
        if chosen is not None and key in ("up", "down"):
            self._offered.move(-1 if key == "up" else 1)
        elif chosen is not None and key in ("tab", "escape"):
            word = word_before(draft.document[draft.cursor_location[0]], draft.cursor_location[1])
            if key == "tab":
                self.put_snippet(chosen, f";{word}")
            else:
                self._offered.shut(word)
        elif key in ("tab", "shift+tab") and draft.next_stop(back=key == "shift+tab"):
            self._show_state()
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

    def _say(self, problem: str) -> None:
        self._hint.problem = problem
        self._hint.set_class(not self._hint.is_blank, "-told")
        self._hint.refresh()

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
