"""The panes of the app: which there are, where they stand on a screen of any size, and which has the keyboard."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size

from nanoherm_tui import limits
from nanoherm_tui.actions import PANES
from nanoherm_tui.compat.driver import look_at_size
from nanoherm_tui.layout import Layout, Side, Wish, hidden, lay_out, shown

if TYPE_CHECKING:
    from textual.timer import Timer

    from nanoherm_tui.kept_look import KeptLook
    from nanoherm_tui.overlays.approval import ApprovalPanel
    from nanoherm_tui.panes.composer import Composer
    from nanoherm_tui.panes.dock import Dock
    from nanoherm_tui.panes.sessions import SessionsPane
    from nanoherm_tui.panes.status import StatusLine
    from nanoherm_tui.panes.title import TitleRow
    from nanoherm_tui.panes.welcome import Welcome
    from nanoherm_tui.ticking import Ticking
    from nanoherm_tui.transcript.view import TranscriptView


class Arranging(App[int]):
    """The base of the app. A subclass makes the panes, and says what follows from where they are."""

    sessions_pane: SessionsPane
    title_row: TitleRow
    welcome: Welcome
    transcript: TranscriptView
    approval: ApprovalPanel
    composer: Composer
    dock: Dock
    dock_side: Vertical
    """Where the dock is; it has its place from the first frame on."""
    status: StatusLine

    ready = False
    """The core is open."""
    furnished = False
    """What the first frame does without is there: conversations, transcript and approval."""
    wish: Wish
    panes: Layout
    last_pane = "transcript"
    """The pane beside the composer that had the keyboard last."""
    ticking: Ticking
    kept_look: KeptLook
    _dock_for_question = False
    _resting: Timer | None = None

    # -- what a subclass does -------------------------------------------------------------------------------------

    def action_command(self, action_id: str) -> None:
        """Do what a key, the palette or a slash command would."""

    # -- where they are -------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            yield self.sessions_pane
            with Vertical(id="main"):
                yield self.title_row
                yield self.welcome
                yield self.composer
            yield self.dock_side
        yield self.status

    def arrange(self, size: Size | None = None) -> None:
        """Lay the panes out for `size` (else the present one) and the user's wish."""
        width, height = size or self.size
        self.panes = panes = lay_out(width, height, self.wish)
        main = self.query_one("#main")
        self.sessions_pane.display = panes.sessions != "hidden"
        self.sessions_pane.styles.width = "1fr" if panes.sessions == "over" else panes.sessions_width
        self.dock_side.display = panes.dock != "hidden"
        self.dock_side.styles.width = "1fr" if panes.dock == "over" else panes.dock_width
        main.display = panes.transcript
        self.title_row.display = panes.title
        self.screen.set_class(width >= limits.WIDE, "-wide")
        if self.ready and self.furnished:
            self.ticking.keep()
        if not panes.transcript:
            self.pane("dock" if panes.dock == "over" else "sessions").focus()
        elif self.focused is None or not all(node.display for node in self.focused.ancestors_with_self):
            self.composer.focus()

    def on_resize(self, event: events.Resize) -> None:
        if not self.is_running:
            return
        # What was on its way while the size changed was drawn for another one: once it rests, all is drawn anew.
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(limits.RESIZE_RESTS, self._redraw) if self.ready else None
        self.arrange(event.size)  # the app's own size follows later

    def _redraw(self) -> None:
        if self.screen_stack:  # not while the program is ending
            look_at_size(self)
            self.action_command("redraw")

    def show_pane(self, name: Side, show: bool = True) -> None:
        """Show the sessions or the dock, beside the transcript or over it, or hide them."""
        if (self.panes.place(name) == "hidden") == show:
            self.wish = (shown if show else hidden)(self.wish, name, *self.size)
            self.arrange()
            self.kept_look.keep()

    def show_while_asked(self, asked: bool) -> None:
        """Nobody should say yes to changes that are out of sight: a hidden dock stands there while they wait.

        Where it cannot stand beside the transcript it is opened with its key: over the panel nobody could answer.
        """
        fits = lay_out(*self.size, replace(self.wish, dock=True)).dock == "side"
        if asked and fits and self.panes.dock == "hidden":
            self.wish, self._dock_for_question = replace(self.wish, over="dock"), True
            self.arrange()
        elif not asked and self._dock_for_question:
            self._dock_for_question = False
            if self.wish.over == "dock":
                self.wish = replace(self.wish, over=None)
                self.arrange()

    # -- which has the keyboard -----------------------------------------------------------------------------------

    def pane(self, name: str) -> Composer | TranscriptView | SessionsPane | Dock:
        """The pane of this name: composer, transcript, sessions or dock."""
        if name == "sessions":
            return self.sessions_pane
        if name in ("transcript", "dock") and self.furnished:
            return self.transcript if name == "transcript" else self.dock
        return self.composer

    @property
    def focused_context(self) -> str:
        """The name of the pane that has the keyboard."""
        return next((name for name in PANES if self.pane(name).has_focus), "composer")

    def on_descendant_focus(self) -> None:
        if (name := self.focused_context) in PANES:
            self.last_pane = name
