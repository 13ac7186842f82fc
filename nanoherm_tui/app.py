"""The full-screen face: theme, keymap, panes and focus. What actions do is in commands/; no feature lives here."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import events as textual_events
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.timer import Timer

from nanoherm_tui import commands, i18n, limits, symbols, welcome
from nanoherm_tui.actions import ACTIONS, Action
from nanoherm_tui.arranging import Arranging
from nanoherm_tui.collecting import Collecting
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.compat.alt_keys import teach_alt_keys
from nanoherm_tui.compat.compositor import TightScreen
from nanoherm_tui.compat.driver import OwnDriver
from nanoherm_tui.compat.few_bytes import FewBytes, set_frame_rate
from nanoherm_tui.compat.kept_rules import keep_rules
from nanoherm_tui.compat.letting_go import share_grounds
from nanoherm_tui.compat.whole_app import QuietCrash, begin_with_theme, keep_clipboard, write_terminal
from nanoherm_tui.desk import Desk
from nanoherm_tui.file_picker import FilePicker
from nanoherm_tui.history import History
from nanoherm_tui.i18n import t
from nanoherm_tui.kept_look import KeptLook
from nanoherm_tui.keymap import Keymap, load_keymap
from nanoherm_tui.layout import Wish, lay_out
from nanoherm_tui.opening import Opening
from nanoherm_tui.pane_handlers import PaneHandlers
from nanoherm_tui.panes.composer import Composer
from nanoherm_tui.panes.sessions import SessionsPane
from nanoherm_tui.panes.status import StatusLine
from nanoherm_tui.panes.title import TitleRow
from nanoherm_tui.panes.welcome import Welcome
from nanoherm_tui.remarks import Remarks
from nanoherm_tui.terminal import signals as terminal
from nanoherm_tui.terminal.notes import has_title
from nanoherm_tui.text import clean
from nanoherm_tui.theming import safe_diffs
from nanoherm_tui.theming.choice import ThemeChoice
from nanoherm_tui.theming.drawing import Theming
from nanoherm_tui.theming.themes import Look, to_textual
from nanoherm_tui.ticking import Ticking

if TYPE_CHECKING:
    from agent_core.desk.host import Host
    from agent_core.desk.model_choice import ModelState
    from agent_core.errors import AgentError
    from agent_core.session.services import Containment
    from nanoherm_tui.compat.told import GroundTold
    from nanoherm_tui.conversations import Conversations
    from nanoherm_tui.interrupt import Step
    from nanoherm_tui.opening import Start
    from nanoherm_tui.overlays.frame import CssPath
    from nanoherm_tui.overlays.slash import Values
    from nanoherm_tui.panes.tour import TourCard
    from nanoherm_tui.session_view import SessionView
    from nanoherm_tui.terminal.clipboard import Copied

R = TypeVar("R")

# Keys that must reach the app whatever has the focus. Ctrl+D is not one: with a draft it deletes.
_PRIORITY = frozenset(a.id for a in ACTIONS if a.context == "everywhere" and a.id != "quit")
# Textual gives an action that is mapped to nothing its default keys back: this is a key that no terminal sends.
_NO_KEY = "f99"
# What may happen while an overlay is open.
_OVER_OVERLAYS = frozenset({"interrupt", "redraw", "suspend"})


def _bindings() -> list[BindingType]:
    bound: list[BindingType] = [
        Binding(",".join(a.keys) or _NO_KEY, f"command('{a.id}')", id=a.id, priority=a.id in _PRIORITY, show=False)
        for a in ACTIONS
        if a.context == "everywhere"  # also what has no key yet: the config may give it one
    ]
    return [*bound, Binding("escape", "escape", show=False)]


class NanohermApp(PaneHandlers, OwnDriver, FewBytes, QuietCrash, Arranging):
    """One window over one Host."""

    CSS_PATH: ClassVar[CssPath] = [
        f"css/{name}.tcss" for name in ("app", "sessions", "title", "composer", "approval", "dock", "status")
    ]
    BINDINGS: ClassVar[list[BindingType]] = _bindings()
    ENABLE_COMMAND_PALETTE = False
    INLINE_PADDING = 0

    def __init__(self, start: Start) -> None:
        i18n.set_language(start.config.get("display.language"))
        safe_diffs.use(start.config.get("display.diff_colours"))
        self.themes = ThemeChoice(start.places.themes_dir, start.config.get("display.theme"))
        self.asks_ground = self.themes.asks_terminal
        self.look = Look(self.themes.theme_or_auto())  # before super: Textual asks for styles while it starts
        super().__init__()
        keep_rules(self)
        for theme in self.themes.all.values():
            self.register_theme(to_textual(theme))
        begin_with_theme(self, self.look.theme.name)
        self.theming = Theming(self, start.places.themes_dir)
        self.host: Host
        """The core, from the moment it is open: `ready` tells."""
        self.folders_seen: set[Path] = set()
        """Workspaces of sessions that were in view: what they bring was asked about."""
        self.conversations: Conversations
        self.kept_look = kept = KeptLook(self, start.places.screen_file)
        self.models_seen: tuple[str, ...] = ()
        """The models that the endpoint last listed."""
        self.tour: TourCard | None = None
        self.remarks = Remarks(kept.value("remarks", dict) or {}, on=start.config.get("display.hints"))
        self.wish = Wish(kept.value("sessions", bool), kept.value("dock", bool))
        self.panes = lay_out(limits.NARROW, limits.SHORT, self.wish)
        self.keymap, self.keymap_problems = load_keymap(start.config.get("keymap"))
        self._start = start
        self.opening = Opening(self, start)
        self.held: Containment | None = None
        """How far commands are confined here; None until the core has looked."""
        self._hint = ""
        self._hint_timer: Timer | None = None
        self.ticking = Ticking(self)
        self.collecting = Collecting(self)
        self.frame_rate: int = start.config.get("display.fps")
        """Frames a second at most."""
        self.last_ctrl_c: tuple[float, Step] = (float("-inf"), "nothing")
        """When Ctrl+C was pressed last, and what it did."""
        self.last_leave = float("-inf")
        """When it was said what would end with the program."""
        self.last_escape: tuple[float, Step] = (float("-inf"), "nothing")
        self.sessions_pane = SessionsPane()
        self.title_row = TitleRow()
        self.welcome = Welcome()
        self.composer = Composer(History(start.places.history_file, later=self._later), self.keymap, id="composer")
        self.composer.values_of = self._values_of
        self.composer.vim = start.config.get("display.composer_keys") == "vim"
        self.typed_told: set[str] = set()
        """What was told of files of commands/ that cannot be used."""
        self.dock_side = Vertical(id="dock-side")
        self.sessions_pane.keymap, self.sessions_pane.begin_message = self.keymap, self.begin_message
        self.status = StatusLine()
        self.desk: Desk
        self.files: FilePicker
        self._at_the_end = ExitStack()
        """What a start that got that far must close."""

    def _later(self, work: Callable[[], None]) -> None:
        """Have the desk do it, which is there once anything can be typed."""
        self.desk.do(work)

    # -- start ----------------------------------------------------------------------------------------------------

    def crash_words(self, error: BaseException) -> str:
        report = self.host.report_crash(error) if self.ready else None
        words = f"{type(error).__name__}: {clean(str(error))[: limits.CRASH_WORDS]}"
        return t("app.crashed", error=words) + (f"\n{t('app.crash_report', path=report)}" if report else "")

    def get_default_screen(self) -> Screen[None]:
        return TightScreen()

    def on_load(self) -> None:
        teach_alt_keys()
        share_grounds()
        self.animation_level = "none"  # nothing glides, whatever the config says of motion
        get = self._start.config.get
        symbols.set_ascii(True if get("display.ascii") else None)
        symbols.set_reduced_motion(get("display.reduced_motion"))
        self.use_frame_rate(get("display.fps"))
        self.names_window = get("display.title") and has_title(os.environ)

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        self.desk = Desk(loop, self._desk_failed, self.end_with, lambda: not self.is_running)
        self.files = FilePicker(loop)
        self._at_the_end.callback(self.files.close)
        self.composer.mention.files = self.files
        terminal.on_end_signals(loop, self.exit)
        look = self.look
        if self.ground_told is not None:
            self.theming.ground_is(self.ground_told)
        if self.look is not look:
            self.refresh_css(animate=False)  # not in its own time: nothing has been drawn yet
        self._bind_keys()
        self.arrange()
        self.theming.paint_page()
        self.composer.focus()
        self.show_pending()
        self.greet()
        # Only now the rest: neither half of our modules nor the core, its store and the model are what a first frame
        # waits for.
        self.call_after_refresh(self._furnish)

    def _bind_keys(self) -> None:
        # What has its default keys is left out: Textual goes through all of it at every key that is pressed.
        changed = [a for a in ACTIONS if a.context == "everywhere" and self.keymap.keys(a.id) != a.keys]
        self.set_keymap({a.id: ",".join(self.keymap.keys(a.id)) or _NO_KEY for a in changed})

    def use_keymap(self, keymap: Keymap) -> None:
        """Have these keys everywhere from now on: all panes hold the one keymap."""
        self.keymap.become(keymap)
        self._bind_keys()
        self.refresh_look()

    def _furnish(self) -> None:
        """The first frame is shown: bring what it did without, then open the core."""
        from nanoherm_tui.conversations import Conversations
        from nanoherm_tui.overlays.approval import ApprovalPanel
        from nanoherm_tui.panes.dock import Dock
        from nanoherm_tui.transcript.view import TranscriptView

        self.transcript = TranscriptView(id="transcript")
        self.transcript.display = False
        self.dock = Dock()
        self.dock.restore(self.kept_look.value("dock_look", dict) or {})
        for pane in (self.transcript, self.dock):
            pane.keymap, pane.begin_message = self.keymap, self.begin_message
        self.approval = ApprovalPanel(self.keymap, id="approval")
        self.conversations = Conversations(self, asyncio.get_running_loop())
        self.query_one("#main").mount(self.transcript, self.approval, before=self.composer)
        self.dock_side.mount(self.dock)
        self.approval.attach(self.composer)
        self.furnished = True
        self.opening.begin()

    @property
    def view(self) -> SessionView | None:
        """The session in view."""
        return self.conversations.view if self.furnished else None

    def _desk_failed(self, error: AgentError) -> None:
        if self.furnished:
            self.hint("")  # what was said to be under way is not any more
            self.conversations.tell_error(error)

    def on_unmount(self) -> None:
        self.theming.stop_watching()
        self._at_the_end.close()

    def wait_for_threads(self) -> None:
        """After the end, when the terminal is whole again: wait for what must not outlive the screen."""
        self.theming.wait()

    def show_pending(self) -> None:
        """Above the draft: what waits to be sent, with what waits for the first session."""
        steers, queued = (self.view.steers, self.view.queued) if self.view is not None else ((), ())
        self.composer.set_pending(steers, (*queued, *self.opening.first_prompts))

    # -- the clipboard --------------------------------------------------------------------------------------------

    def copy(self, text: str, missing: str = "") -> None:
        """Put text on the clipboard and say where it went; `missing` is what to say when there is none."""
        if not text:
            self.hint(missing or t("app.nothing_to_copy"))
            return
        from nanoherm_tui.terminal import clipboard

        self.screen.clear_selection()
        folder = self._start.places.cache_dir
        self.desk.do(lambda: clipboard.copy(text, os.environ, folder), self._copied)

    def copy_to_clipboard(self, text: str) -> None:
        """What fields cut and copy goes the same way."""
        keep_clipboard(self, text)
        self.copy(text)

    def _copied(self, copied: Copied) -> None:
        if copied.sequence:
            write_terminal(self, copied.sequence)
        key = f"app.copied_{copied.how}" + ("_terminal" if copied.how == "tmux" and copied.detail else "")
        self.hint(t(key, n=copied.characters, tool=copied.detail, path=copied.detail))

    # -- status, hints, notices -----------------------------------------------------------------------------------

    def show_status(self) -> None:
        from nanoherm_tui.summary import status_info

        model = self.host.model.state.label if self.ready else ""
        waiting = self.conversations.questions if self.furnished else 0
        yolo = self.ready and self.host.launch.yolo
        inbox = self.keymap.label("inbox")
        self.status.update(status_info(self.view, model, self._hint, waiting, self.held, yolo=yolo, inbox=inbox))

    def hint(self, words: str, seconds: float = limits.TOLD_HINT) -> None:
        """Show `words` in the status line for a while."""
        self._hint = words
        if self._hint_timer is not None:
            self._hint_timer.stop()
        self._hint_timer = self.set_timer(seconds, self._end_hint)
        self.show_status()

    def _end_hint(self) -> None:
        self._hint = ""
        self.show_status()

    def look_at_containment(self) -> None:
        """Ask the core how far commands are confined now."""
        ask = self.desk.do_beside if self.held is None else self.desk.do  # the first answer takes a try
        ask(self.host.walls.containment, self._contained)

    def _contained(self, held: Containment) -> None:
        if held != self.held:
            self.held = held
            self.greet()
            self.show_status()
            self.conversations.tell_no_sandbox()

    def model_changed(self, state: ModelState) -> None:
        self.greet()
        self.show_status()

    def greet(self) -> None:
        """An empty transcript gives its place to the greeting."""
        comes = self.view is not None and self.view.stored and not self.view.loaded
        empty = self.view is None or not (self.view.model.entries or self.conversations.looks.shown or comes)
        if empty:
            model = self.host.model.state if self.view is not None else None
            self.welcome.show(welcome.greeting(model, self.keymap, self.held))
        if self.furnished and self.welcome.display != empty:
            self.welcome.display, self.transcript.display = empty, not empty
        # In the demo the first message is written already: one key shows how the program works.
        ready = self.view is not None and self.composer.is_restored
        if empty and ready and self.view is not None and self.host.model.state.demo and not self.view.greeted:
            self.view.greeted = True
            if self.composer.is_empty:
                self.composer.text = t("welcome.demo_prompt")

    # -- look -----------------------------------------------------------------------------------------------------

    def on_ground_told(self, message: GroundTold) -> None:
        self.theming.ground_is(message.colour)

    def open_overlay(self, overlay: Screen[R], then: Callable[[R | None], None] = lambda result: None) -> None:
        """Show an overlay and call `then` with what it gives; everything behind it is muted meanwhile."""

        def closed(result: R | None) -> None:
            self.call_next(self._overlay_gone)
            then(result)

        self.push_screen(overlay, closed)
        self._look_again()

    def _overlay_gone(self) -> None:
        self._look_again()
        if self.focused is None:
            self.composer.focus()

    def _look_again(self) -> None:
        self.look = Look(self.look.theme, behind=len(self.screen_stack) > 1)
        self.refresh_look()

    def use_frame_rate(self, fps: int) -> None:
        """Draw at most `fps` times a second from now on, and take what the core says in batches no closer."""
        self.frame_rate = fps
        set_frame_rate(self, fps)
        if self.furnished:
            self.conversations.bridge.interval = max(limits.BATCH_SECONDS, 1 / fps)

    def use_language(self, choice: str) -> None:
        i18n.set_language(choice)
        self.refresh_look()

    def refresh_look(self) -> None:
        if not self.is_running:
            return
        for pane in (self.sessions_pane, self.title_row, self.welcome, self.composer, self.status):
            pane.refresh_look()
        if self.furnished:
            self.transcript.refresh_look()
            self.dock.refresh_look()
            self.approval.refresh_look()
        if self.tour is not None:
            self.tour.refresh_look()
        self.greet()

    def setting(self, name: str) -> Any:
        """A value of the config that the program was started with."""
        return self._start.config.get(name)

    def on_app_focus(self) -> None:
        self._window_tells()

    def on_app_blur(self) -> None:
        self._window_tells()

    def _window_tells(self) -> None:
        """The window has got or lost the keyboard."""
        if self.furnished:
            self.approval.window_tells()
            self.call_later(self.conversations.attention.window_tells)
            self.call_later(self._hold_keyboard)

    def _hold_keyboard(self) -> None:
        """What had the keyboard when the window lost it may be gone by now."""
        if self.app_focus and self.focused is None and len(self.screen_stack) == 1:
            self.composer.focus()

    # -- actions --------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "command" and len(self.screen_stack) > 1:
            over = frozenset({"interrupt"}) if getattr(self.screen, "takes_keys", False) else _OVER_OVERLAYS
            return bool(parameters) and parameters[0] in over
        return True

    def begin_message(self, character: str) -> None:
        """A letter that a pane has no use for begins a message, or goes on with it."""
        focus_pane(self, "composer")
        self.composer.insert(character)

    def on_key(self, event: textual_events.Key) -> None:
        """A letter that nobody has taken: nothing typed is lost."""
        if event.is_printable and event.character and isinstance(self.screen, TightScreen):
            event.stop()
            self.begin_message(event.character)

    def action_command(self, action_id: str) -> None:
        commands.run(self, action_id)

    def action_escape(self) -> None:
        from nanoherm_tui.commands.stopping import press_escape

        press_escape(self)

    def _values_of(self, action: Action) -> Values:
        from nanoherm_tui.commands.writing import values_of

        return values_of(self, action)


def run(start: Start) -> int:
    """Run the screen to its end; the terminal is whole again when this returns. Returns the exit code."""
    sys.setswitchinterval(limits.SWITCH)
    app = NanohermApp(start)
    try:
        code = app.run()
    finally:
        if app.ready:
            if app.view is not None and app.composer.is_restored:
                app.host.keep_draft(app.view.id, app.composer.text)
                app.conversations.keep_comments(app.view.comments)
            app.conversations.mark_seen()
            app.desk.finish(limits.DESK_SECONDS)
            app.host.close()
        app.wait_for_threads()
    if app.view is not None and app.view.stored:
        terminal.say_how_to_resume(app.view.id)
    return code if code is not None else app.return_code or 0
