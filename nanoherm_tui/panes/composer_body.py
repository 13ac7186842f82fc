"""What the composer consists of, and how it stands: the draft, the rows around it, the lists above, by what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget

from nanoherm_tui import limits
from nanoherm_tui.overlays.mention import MentionPopup
from nanoherm_tui.overlays.slash import SlashPopup
from nanoherm_tui.panes import composer_words
from nanoherm_tui.panes.addressee import AddresseeRow
from nanoherm_tui.panes.composer_rows import ComposerHint, PendingRows
from nanoherm_tui.panes.composer_words import Doing
from nanoherm_tui.panes.draft import DraftBar, DraftPrompt
from nanoherm_tui.panes.entered import shell_command
from nanoherm_tui.panes.held import HeldRow
from nanoherm_tui.panes.history_search import HistorySearch
from nanoherm_tui.panes.session_drafts import SessionDrafts
from nanoherm_tui.text import width

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.screen import Screen

    from agent_core.delegation import AgentRow
    from agent_core.events import SessionState
    from nanoherm_tui.keymap import Keymap
    from nanoherm_tui.overlays.popup import Popup
    from nanoherm_tui.panes.kill_draft import KillDraft
    from nanoherm_tui.panes.vim_draft import VimDraft


class ComposerBody(Widget):
    """The base of the composer. What keys do and what is sent is the composer's."""

    def __init__(self, draft: KillDraft, offered: Popup, keymap: Keymap, *, id: str | None = None) -> None:
        """`offered` is one more list above the draft: that of the snippets."""
        super().__init__(id=id)
        self.keymap = keymap
        self._draft = draft
        self._drafts = SessionDrafts()
        self._search = HistorySearch(draft)
        self._vim: VimDraft | None = None
        self._state: SessionState = "idle"
        self._screen_height = 0
        self._popup = SlashPopup()
        self._offered = offered
        self.mention = MentionPopup(draft, keymap)
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
        self.screen.screen_layout_refresh_signal.subscribe(self, self._follow_screen)
        self.watch(self._draft, "scroll_y", self._show_more, init=False)
        self._show_state()
        self.fit_height()

    @property
    def is_empty(self) -> bool:
        document = self._draft.document
        return not self._search.is_on and document.line_count == 1 and not document[0]

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

    def focus(self, scroll_visible: bool = True) -> Self:
        self._draft.focus(scroll_visible)
        return self

    @property
    def holds_focus(self) -> bool:
        return self._draft.has_focus

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
        self._hint.keys, self._hint.words, self._hint.short = told.keys, told.words, told.short
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
        self._show_more()
        self.call_after_refresh(self._draft.place_terminal_caret)

    def _show_more(self) -> None:
        """Say where the draft goes on beyond its room."""
        height, prompt = self._draft.styles.height, self._prompt
        room = round(height.value) if height is not None else 1
        above = round(self._draft.scroll_y) > 0
        below = self._draft.rows - round(self._draft.scroll_y) > room
        if (above, below) != (prompt.above, prompt.below):
            prompt.above, prompt.below = above, below
            prompt.refresh()

    def _follow_screen(self, screen: Screen[object]) -> None:
        """On a short screen the blank rows above and below go."""
        if self._screen_height != screen.size.height:
            self._screen_height = screen.size.height
            self.set_class(screen.size.height < limits.SHORT, "-short")
            self.fit_height()

    def _say(self, problem: str) -> None:
        self._hint.problem = problem
        self._hint.set_class(not self._hint.is_blank, "-told")
        self._hint.refresh()

    def on_descendant_focus(self) -> None:
        self._light(True)

    def on_descendant_blur(self) -> None:
        self._light(False)

    def _light(self, on: bool) -> None:
        self._bar.lit = self._prompt.lit = on
        self._bar.refresh()
        self._prompt.refresh()
