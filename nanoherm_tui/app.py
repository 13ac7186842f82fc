"""The full-screen face: theme, keymap, panes and focus. What actions do is in commands/; no feature lives here."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.text import Text
from textual import events as textual_events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer

from agent_core import events, intents, names
from agent_core.errors import AgentError, ConfigError, crash
from agent_core.events import Envelope
from nanoherm_tui import clipboard, commands, compat, i18n, limits, remembered, symbols, terminal, welcome
from nanoherm_tui.actions import ACTIONS, PANES, Action, Slash, parse_slash
from nanoherm_tui.bridge import Bridge, Desk
from nanoherm_tui.clipboard import Copied
from nanoherm_tui.file_picker import FilePicker
from nanoherm_tui.history import History
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import load_keymap
from nanoherm_tui.layout import Layout, Side, Wish, hidden, lay_out, shown
from nanoherm_tui.overlays.approval import ApprovalPanel
from nanoherm_tui.overlays.frame import CssPath
from nanoherm_tui.panes.composer import Composer
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.panes.sessions import SessionsPane
from nanoherm_tui.panes.status import StatusLine
from nanoherm_tui.panes.title import TitleRow
from nanoherm_tui.panes.welcome import Welcome
from nanoherm_tui.session_view import Part, SessionView
from nanoherm_tui.summary import session_items, status_info
from nanoherm_tui.terminal_colours import AUTO
from nanoherm_tui.text import clean
from nanoherm_tui.theme_choice import ThemeChoice
from nanoherm_tui.theme_watch import ThemeChange, Watching, watch_themes
from nanoherm_tui.themes import Look, Theme, to_textual
from nanoherm_tui.transcript.view import TranscriptView

if TYPE_CHECKING:
    from agent_core.config.load import Config
    from agent_core.config.paths import Places
    from agent_core.host import Host, ModelState
    from agent_core.session import LiveSession
    from agent_core.store.sessions import SessionRow
    from nanoherm_tui.interrupt import Step
    from nanoherm_tui.overlays.mention import MentionPopup
    from nanoherm_tui.overlays.palette import PaletteScreen
    from nanoherm_tui.overlays.slash import Values

R = TypeVar("R")

log = logging.getLogger(__name__)

# Keys that must reach the app whatever has the focus. Ctrl+D is not one: with a draft it deletes.
_PRIORITY = frozenset(a.id for a in ACTIONS if a.context == "everywhere" and a.id != "quit")
# Textual gives an action that is mapped to nothing its default keys back: this is a key that no terminal sends.
_NO_KEY = "f99"
# What may happen while an overlay is open.
_OVER_OVERLAYS = frozenset({"interrupt", "redraw", "suspend"})


def _bindings() -> list[BindingType]:
    bound: list[BindingType] = [
        Binding(",".join(a.keys), f"command('{a.id}')", id=a.id, priority=a.id in _PRIORITY, show=False)
        for a in ACTIONS
        if a.context == "everywhere" and a.keys
    ]
    return [*bound, Binding("escape", "escape", show=False)]


@dataclass(frozen=True, slots=True)
class Start:
    """What a run of the screen begins with. The core is opened while the first frame is already shown."""

    places: Places
    config: Config
    open_host: Callable[[], tuple[Host, LiveSession | None]]
    """Open the core, and the session that was asked for. Called off the screen's thread; may raise AgentError."""
    prompt: str = ""
    """The first message."""
    choose: bool = False
    """Begin with the list of sessions."""


class NanohermApp(compat.FewBytes, compat.QuietCrash, App[int]):
    """One window over one Host."""

    CSS_PATH: ClassVar[CssPath] = [
        f"css/{name}.tcss" for name in ("app", "sessions", "title", "composer", "approval", "dock", "status")
    ]
    BINDINGS: ClassVar[list[BindingType]] = _bindings()
    ENABLE_COMMAND_PALETTE = False
    INLINE_PADDING = 0

    def __init__(self, start: Start) -> None:
        i18n.set_language(start.config.get("display.language"))
        self.themes = ThemeChoice(start.places.themes_dir, start.config.get("display.theme"))
        self.look = Look(self.themes.theme_or_auto())  # before super: Textual asks for styles while it starts
        super().__init__()
        self.host: Host
        """The core, from the moment it is open: `ready` tells."""
        self.ready = False
        self.views: dict[str, SessionView] = {}
        self.view: SessionView | None = None
        self.rows: list[SessionRow] = []
        self._remembered = remembered.recall(start.places.screen_file)
        self.recent: list[str] = [item for item in self._recalled("recent", list) or () if isinstance(item, str)]
        """Ids of palette items chosen lately, newest first."""
        self.models_seen: tuple[str, ...] = ()
        """The models that the endpoint last listed."""
        self.deleted: list[str] = []
        """Ids of sessions deleted in this run, the newest last."""
        self.last_pane = "transcript"
        """The pane beside the composer that had the keyboard last."""
        self.wish = Wish(self._recalled("sessions", bool), self._recalled("dock", bool))
        self.panes: Layout = lay_out(limits.NARROW, limits.SHORT, self.wish)
        self.keymap, self.keymap_problems = load_keymap(start.config.get("keymap"))
        self._start = start
        self._first_prompt = start.prompt
        self._hint = ""
        self._hint_timer: Timer | None = None
        self._ticker: Timer | None = None
        self._frame = 0
        self.last_ctrl_c: tuple[float, Step] = (float("-inf"), "nothing")
        """When Ctrl+C was pressed last, and what it did."""
        self._held: list[events.Event] = []
        self._watching: Watching | None = None
        self.sessions_pane = SessionsPane()
        self.title_row = TitleRow()
        self.welcome = Welcome()
        self.transcript = TranscriptView(id="transcript")
        self.transcript.display = False
        self.approval = ApprovalPanel(self.keymap, id="approval")
        self.composer = Composer(History(start.places.history_file), self.keymap, id="composer")
        self.composer.values_of = self._values_of
        self.dock = Dock()
        self.dock.restore(self._recalled("dock_look", dict) or {})
        for pane in (self.sessions_pane, self.transcript, self.dock):
            pane.keymap = self.keymap
        self.status = StatusLine()
        self.bridge: Bridge
        self.desk: Desk
        self.files: FilePicker

    # -- start ----------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            yield self.sessions_pane
            with Vertical(id="main"):
                yield self.title_row
                yield self.welcome
                yield self.transcript
                yield self.approval
                yield self.composer
            yield self.dock
        yield self.status

    def crash_words(self, error: BaseException) -> str:
        report = self.host.report_crash(error) if self.ready else None
        words = f"{type(error).__name__}: {clean(str(error))[: limits.CRASH_WORDS]}"
        return t("app.crashed", error=words) + (f"\n{t('app.crash_report', path=report)}" if report else "")

    def get_default_screen(self) -> Screen[None]:
        return compat.TightScreen()

    def on_load(self) -> None:
        compat.teach_alt_keys()
        for theme in self.themes.all.values():
            self.register_theme(to_textual(theme))
        self._draw_with(self.look.theme)
        get = self._start.config.get
        symbols.set_ascii(True if get("display.ascii") else None)
        symbols.set_reduced_motion(get("display.reduced_motion"))

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        self.bridge = Bridge(loop, self.deliver, self.end_with)
        self.desk = Desk(loop, self.tell_error, self.end_with)
        self.files = FilePicker(loop)
        self.composer.mention.files = self.files
        terminal.on_end_signals(loop, self.exit)
        if self.themes.asks_terminal:
            compat.ask_ground(self)
        keys = {a.id: self.keymap.keys(a.id) or (_NO_KEY,) for a in ACTIONS if a.context == "everywhere"}
        self.set_keymap({action_id: ",".join(of_action) for action_id, of_action in keys.items()})
        self.approval.attach(self.composer)
        self.arrange()
        self.composer.focus()
        self._greet()
        # Only now the core: its modules, the store and the model are not what a first frame waits for.
        self.call_after_refresh(self.desk.do, self._open, self._opened)

    def on_unmount(self) -> None:
        if self._watching is not None:
            self._watching.stop()
        self.files.close()

    def wait_for_threads(self) -> None:
        """After the end, when the terminal is whole again: wait for what must not outlive the screen."""
        if self._watching is not None:
            self._watching.wait()

    def _open(self) -> AgentError | LiveSession | None:
        """On the desk's thread: open the core. Gives the session that was asked for, or why there is no core."""
        try:
            self.host, session = self._start.open_host()
        except AgentError as error:
            return error
        except Exception as error:  # without the core there is nothing to do here: the program ends, in words
            log.exception("the core could not be opened")
            return crash(error)
        self.host.on_model(self._model_has_changed)
        return session

    def _model_has_changed(self, state: ModelState) -> None:
        """In the thread that found the model."""
        self.call_later(self.model_changed, state)

    def _opened(self, came: AgentError | LiveSession | None) -> None:
        if isinstance(came, AgentError):
            self.exit(exit_code(came), message=Text(f"{names.APP}: {came.text}"))
            return
        self.ready = True
        if came is not None:
            self._first_ready(came)
            self.desk.do(self.host.look_for_models)
        else:
            self.desk.do(self.host.look_for_models, lambda state: self.desk.do(self.host.new, self._first_ready))
        self.reload_sessions()
        self.desk.do(_warm_up)
        self._watching = watch_themes(
            self._start.places.themes_dir,
            lambda change: self.call_later(self.themes_changed, change),
            known=self.themes.all,
            told=self.themes.broken,
        )
        self.set_timer(limits.GC_AFTER, _settle_gc)

    def _first_ready(self, session: LiveSession) -> None:
        self.show_session(session)
        for words in self._start_problems():
            self.tell("start_problem", words)
        problem = self.host.model.problem
        if self._start.choose:
            commands.run(self, "sessions")
        elif problem is not None:
            commands.run(self, "setup", problem.text)
        elif self._first_prompt:
            prompt, self._first_prompt = self._first_prompt, ""
            session.send(intents.Submit(prompt))

    def _start_problems(self) -> Iterable[str]:
        yield from (warning.text for warning in self.host.config.warnings)
        yield from (t(p.key, **p.params) for p in self.keymap_problems)
        yield from (error.text for error in self.themes.broken)
        if self.themes.theme() is None:
            yield t("app.unknown_theme", name=self.themes.chosen, themes=", ".join(self.themes.all))
        yield from self.host.store.warnings

    # -- sessions -------------------------------------------------------------------------------------------------

    def show_session(self, session: LiveSession) -> None:
        """Bring a session to the front; its view is made on first sight."""
        view = self.views.get(session.id)
        if view is None or view.session is not session:
            view = SessionView(session, title=session.title, mode=session.mode)
            self.views[session.id] = view
            self.bridge.watch(session)
        if self.view is not None and self.view is not view:
            self.approval.clear()
            self.dock.clear()
        self.view = view
        self.files.show(session.workspace)
        view.unread = False
        if self.composer.show_draft(view.id):
            self.desk.do(lambda: self.host.draft(view.id), lambda text: self._draft_known(view, text))
        self.transcript.show(view.model)
        self._greet()
        for waiting in view.waiting:
            self.approval.ask(waiting.question, waiting.deadline)
        self._show(view, {"status", "list", "title", "plan", "pending", "diffs", "error", "returned"})
        self.composer.focus()

    def _draft_known(self, view: SessionView, text: str) -> None:
        self.composer.restore(view.id, text)
        self._greet()

    def forget_session(self, session_id: str) -> None:
        self.views.pop(session_id, None)
        self.bridge.forget(session_id)

    def reload_sessions(self) -> None:
        self.desk.do(self.host.sessions, self._sessions_loaded)

    def _sessions_loaded(self, rows: list[SessionRow]) -> None:
        self.rows = rows
        self._show_list()

    def deliver(self, batch: Sequence[Envelope]) -> None:
        """One batch of events: the transcript in view, then the panes whose content has changed."""
        for session_id, group in groupby(batch, key=lambda envelope: envelope.session_id):
            view = self.views.get(session_id)
            if view is None:
                continue
            happened = [envelope.event for envelope in group]
            changed = view.take(happened)
            if view is self.view:
                self.transcript.apply(happened)
                self._ask(happened)
                if any(isinstance(event, events.HistoryChanged) for event in happened):
                    held, self._held = self._held, []
                    self.transcript.apply(held)
                    self.set_timer(limits.GC_AFTER, _settle_gc)
                self._greet()
            else:
                for event in happened:
                    view.model.apply(event)
            if changed:
                self._show(view, changed)
            if any(isinstance(event, events.TurnFinished) for event in happened):
                self.reload_sessions()

    def _ask(self, happened: Iterable[events.Event]) -> None:
        for event in happened:
            if isinstance(event, events.QuestionAsked):
                self.approval.ask(event.question, event.deadline)
            elif isinstance(event, events.QuestionClosed):
                self.approval.close(event.question_id)

    def _show(self, view: SessionView, changed: set[Part]) -> None:
        if "list" in changed:
            self._show_list()
            self._keep_ticking()
        if view is not self.view:
            return
        if "status" in changed or "mode" in changed:
            self.show_status()
            self.composer.set_state(view.state)
        if "title" in changed:
            self._show_title(view)
            self.desk.do(view.look_at_branch, lambda _: self._show_title(view))
        if "plan" in changed:
            self.dock.show_plan(view.plan)
        if "diffs" in changed and not view.waiting:
            # Not away from somebody who is reading something else there.
            self.dock.show_diffs(view.diffs, bring=bool(view.diffs) and not self.dock.holds_focus)
        if "pending" in changed:
            self.composer.set_pending(view.steers, view.queued)
        if "returned" in changed:
            returned, view.returned = view.returned, []
            for text in returned:
                self.composer.bring_back(text)
            for text in returned:  # on disk as part of the draft before it is gone from what waits
                self.host.keep_draft(view.id, self.composer.text)
                view.session.send(intents.TextTaken(text))
        if "error" in changed:
            errors, view.errors = view.errors, []
            from nanoherm_tui.commands.settings import needs_setup

            if any(needs_setup(self, error) for error in errors):
                commands.run(self, "setup", errors[-1].text)

    def _show_title(self, view: SessionView) -> None:
        if view is self.view:
            self.title_row.update(view.title, str(view.session.workspace), view.branch)

    def _show_list(self) -> None:
        here = self.view.id if self.view is not None else ""
        self.sessions_pane.update(session_items(self.rows, self.views.values(), here), here)

    def copy(self, text: str, missing: str = "") -> None:
        """Put text on the clipboard and say where it went; `missing` is what to say when there is none."""
        if not text:
            self.hint(missing or t("app.nothing_to_copy"))
            return
        self.screen.clear_selection()
        folder = self._start.places.cache_dir
        self.desk.do(lambda: clipboard.copy(text, os.environ, folder), self._copied)

    def _copied(self, copied: Copied) -> None:
        if copied.sequence:
            compat.write_terminal(self, copied.sequence)
        key = f"app.copied_{copied.how}" + ("_terminal" if copied.how == "tmux" and copied.detail else "")
        self.hint(t(key, n=copied.characters, tool=copied.detail, path=copied.detail), limits.COPIED_HINT)

    # -- status, hints, notices -----------------------------------------------------------------------------------

    def show_status(self) -> None:
        waiting = sum(len(view.waiting) for view in self.views.values())
        model = self.host.model.label if self.ready else ""
        self.status.update(status_info(self.view, model, self._hint, waiting))

    def hint(self, words: str, seconds: float = limits.AGAIN_SECONDS) -> None:
        """Show `words` in the status line for a while."""
        self._hint = words
        if self._hint_timer is not None:
            self._hint_timer.stop()
        self._hint_timer = self.set_timer(seconds, self._end_hint)
        self.show_status()

    def _end_hint(self) -> None:
        self._hint = ""
        self.show_status()

    def tell(self, code: str, english: str, *, warning: bool = True, **params: Any) -> None:
        """Put a notice of the program's own into the transcript in view."""
        self._put(events.Notice(code, english, "warning" if warning else "info", params))

    def tell_error(self, error: AgentError) -> None:
        self._put(events.ErrorRaised(error.code, error.text, error.params))

    def _put(self, event: events.Event) -> None:
        """Show an event of the program's own; one that comes before the session's history waits for it."""
        if self.view is None or not self.view.loaded:
            self._held.append(event)
        else:
            self.transcript.apply([event])
            self._greet()

    def model_changed(self, state: ModelState) -> None:
        self._greet()
        self.show_status()

    def _greet(self) -> None:
        """An empty transcript gives its place to the greeting."""
        empty = self.view is None or not self.view.model.entries
        if empty:
            model = self.host.model if self.view is not None else None
            self.welcome.show(welcome.greeting(model, self.keymap))
        if self.welcome.display != empty:
            self.welcome.display, self.transcript.display = empty, not empty
        # In the demo the first message is written already: one key shows how the program works.
        ready = self.view is not None and self.composer.is_restored
        if empty and ready and self.view is not None and self.host.model.demo and not self.view.greeted:
            self.view.greeted = True
            if self.composer.is_empty:
                self.composer.text = t("welcome.demo_prompt")

    # -- time -----------------------------------------------------------------------------------------------------

    def _keep_ticking(self) -> None:
        """The running marks step only while something runs; an idle program paints nothing."""
        busy = any(view.session.busy or view.turn_started for view in self.views.values())
        if busy and self._ticker is None:
            self._ticker = self.set_interval(limits.TICK_SECONDS, self._tick)
        elif not busy and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _tick(self) -> None:
        self._frame += 1
        self.transcript.tick()
        self.sessions_pane.tick(self._frame)
        self.status.tick(self._frame)
        self.show_status()
        self._keep_ticking()

    # -- look -----------------------------------------------------------------------------------------------------

    def use_theme(self, name: str) -> None:
        """Draw with the theme called `name`, or that `auto` stands for; an unknown one leaves all as it is."""
        theme = self.themes.theme(name)
        if theme is not None and theme != self.look.theme:
            self._draw_with(theme)

    def _draw_with(self, theme: Theme) -> None:
        self.look = Look(theme, behind=len(self.screen_stack) > 1)
        self.theme = theme.name
        self.refresh_look()

    def on_ground_told(self, message: compat.GroundTold) -> None:
        self.themes.ground_is(message.colour)
        if self.themes.chosen == AUTO:
            self.use_theme(AUTO)

    def themes_changed(self, change: ThemeChange) -> None:
        """A user's theme was saved, renamed or deleted."""
        draw_with = self.themes.now_there_are(change.themes, self.look.theme)
        for theme in self.themes.all.values():
            self.register_theme(to_textual(theme))
        if draw_with != self.look.theme:
            self._draw_with(draw_with)
            self.mutate_reactive(App.theme)  # for Textual the name alone is the theme
        for fault in change.broken:
            self.tell(fault.code, fault.text)

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

    def use_language(self, choice: str) -> None:
        i18n.set_language(choice)
        self.refresh_look()

    def refresh_look(self) -> None:
        if not self.is_running:
            return
        for pane in (
            self.sessions_pane, self.title_row, self.welcome, self.transcript, self.approval, self.composer, self.dock,
            self.status,
        ):  # fmt: skip
            pane.refresh_look()
        self._greet()

    def show_pane(self, name: Side, show: bool = True) -> None:
        """Show the sessions or the dock, beside the transcript or over it, or hide them."""
        if (self.panes.place(name) == "hidden") == show:
            self.wish = (shown if show else hidden)(self.wish, name, *self.size)
            self.arrange()
            self.keep_look()

    def remember_choice(self, item_id: str) -> None:
        """A palette item was chosen: it is offered first from now on."""
        self.recent = [item_id, *(i for i in self.recent if i != item_id)][: limits.RECENT_CHOICES]
        self.keep_look()

    def keep_look(self) -> None:
        """Have what the next start should look like written, if it has changed."""
        now = {
            "sessions": self.wish.sessions,
            "dock": self.wish.dock,
            "dock_look": self.dock.state(),
            "recent": self.recent,
        }
        if now != self._remembered:
            self._remembered = now
            self.desk.do(lambda: remembered.remember(self._start.places.screen_file, now))

    def _recalled(self, name: str, kind: type[R]) -> R | None:
        value = self._remembered.get(name)
        return value if isinstance(value, kind) else None

    def pane(self, name: str) -> Composer | TranscriptView | SessionsPane | Dock:
        """The pane of this name: composer, transcript, sessions or dock."""
        panes = {"sessions": self.sessions_pane, "transcript": self.transcript, "dock": self.dock}
        return panes.get(name, self.composer)

    @property
    def focused_context(self) -> str:
        """The name of the pane that has the keyboard."""
        return next((name for name in PANES if self.pane(name).has_focus), "composer")

    def on_descendant_focus(self) -> None:
        if (name := self.focused_context) in PANES:
            self.last_pane = name

    def arrange(self, size: Size | None = None) -> None:
        """Lay the panes out for `size` (else the present one) and the user's wish."""
        width, height = size or self.size
        self.panes = panes = lay_out(width, height, self.wish)
        main = self.query_one("#main")
        self.sessions_pane.display = panes.sessions != "hidden"
        self.sessions_pane.styles.width = "1fr" if panes.sessions == "over" else panes.sessions_width
        self.dock.display = panes.dock != "hidden"
        self.dock.styles.width = "1fr" if panes.dock == "over" else panes.dock_width
        main.display = panes.transcript
        self.title_row.display = panes.title
        self.screen.set_class(width >= limits.WIDE, "-wide")
        if not panes.transcript:
            (self.dock if panes.dock == "over" else self.sessions_pane).focus()
        elif self.focused is None or not self.focused.display:
            self.composer.focus()

    def on_resize(self, event: textual_events.Resize) -> None:
        if self.is_running:
            self.arrange(event.size)  # the app's own size follows later

    # -- actions --------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "command" and len(self.screen_stack) > 1:
            return bool(parameters) and parameters[0] in _OVER_OVERLAYS
        return True

    def on_key(self, event: textual_events.Key) -> None:
        """A letter that the focused pane has no use for begins or goes on with a message: nothing typed is lost."""
        if event.is_printable and event.character and isinstance(self.screen, compat.TightScreen):
            event.stop()
            self.composer.focus()
            self.composer.insert(event.character)

    def action_command(self, action_id: str) -> None:
        commands.run(self, action_id)

    def action_escape(self) -> None:
        from nanoherm_tui.commands.stopping import press_escape

        press_escape(self)

    # -- messages of the panes ------------------------------------------------------------------------------------

    def on_composer_submitted(self, message: Composer.Submitted) -> None:
        if self.view is None:  # the first session is not there yet
            self._first_prompt = message.text
            return
        intent = intents.Queue(message.text) if message.how == "queue" else intents.Steer(message.text)
        self.view.session.send(intent)
        self.transcript.action_end()

    def on_composer_slash_entered(self, message: Composer.SlashEntered) -> None:
        parsed = parse_slash(message.text)
        if isinstance(parsed, Slash):
            commands.run(self, parsed.action.id, parsed.argument)

    def on_composer_shell_entered(self, message: Composer.ShellEntered) -> None:
        if self.view is None:
            self.composer.bring_back(("!!" if message.private else "!") + message.command)
            return
        self.view.session.send(intents.Shell(message.command, message.private))
        self.transcript.action_end()

    def on_composer_draft_changed(self, message: Composer.DraftChanged) -> None:
        self.host.keep_draft(message.key, message.text)

    def _values_of(self, action: Action) -> Values:
        from nanoherm_tui.commands.writing import values_of

        return values_of(self, action)

    def on_composer_take_back_requested(self) -> None:
        if self.view is not None:
            self.view.session.send(intents.TakeBack())

    def on_approval_panel_answered(self, message: ApprovalPanel.Answered) -> None:
        if self.view is not None:
            self.view.session.send(intents.Answer(message.question_id, message.decision, message.text))

    def on_approval_panel_question_shown(self, message: ApprovalPanel.QuestionShown) -> None:
        question = message.question
        if question is not None and question.diffs:
            self.dock.show_diffs(question.diffs, asking=True)
        elif self.view is not None:
            self.dock.show_diffs(self.view.diffs, bring=False)

    def on_mention_popup_preview_requested(self, message: MentionPopup.PreviewRequested) -> None:
        from nanoherm_tui.commands.looking import preview

        preview(self, message.path, message.first, message.last)

    def on_palette_screen_previewed(self, message: PaletteScreen.Previewed) -> None:
        name = message.item.id.partition(":")[2] if message.item is not None else self.themes.chosen
        self.use_theme(name)

    def on_transcript_view_open_requested(self, message: TranscriptView.OpenRequested) -> None:
        self.open_call(message.call_id)

    def on_transcript_view_copy_requested(self, message: TranscriptView.CopyRequested) -> None:
        self.copy(message.text, message.missing)

    def on_dock_copy_requested(self, message: Dock.CopyRequested) -> None:
        self.copy(message.text)

    def on_dock_look_changed(self) -> None:
        self.keep_look()

    def on_dock_spill_copy_requested(self, message: Dock.SpillCopyRequested) -> None:
        from nanoherm_tui.commands.looking import copy_output

        copy_output(self, message.name)

    def on_dock_page_requested(self, message: Dock.PageRequested) -> None:
        from nanoherm_tui.commands.looking import read_page

        read_page(self, message.name, message.page)

    def on_dock_lines_requested(self, message: Dock.LinesRequested) -> None:
        from nanoherm_tui.commands.looking import read_unchanged

        read_unchanged(self, message.change)

    def on_sessions_pane_opened(self, message: SessionsPane.Opened) -> None:
        from nanoherm_tui.commands.sessions import open_by_id

        open_by_id(self, message.session_id)

    def on_sessions_pane_new_requested(self, message: SessionsPane.NewRequested) -> None:
        commands.run(self, "new_in" if message.choose else "new", message.folder)

    def on_sessions_pane_fork_requested(self, message: SessionsPane.ForkRequested) -> None:
        commands.run(self, "fork", message.session_id)

    def on_sessions_pane_rename_requested(self, message: SessionsPane.RenameRequested) -> None:
        from nanoherm_tui.commands.sessions import rename_by_id

        rename_by_id(self, message.session_id)

    def on_sessions_pane_export_requested(self, message: SessionsPane.ExportRequested) -> None:
        from nanoherm_tui.commands.sessions import export_by_id

        export_by_id(self, message.session_id)

    def on_sessions_pane_restore_requested(self) -> None:
        commands.run(self, "restore")

    def on_sessions_pane_delete_requested(self, message: SessionsPane.DeleteRequested) -> None:
        commands.run(self, "delete", message.session_id)

    def open_call(self, call_id: str) -> None:
        """Show a tool call's result, or its changes, in the dock."""
        from nanoherm_tui.commands.looking import call_result

        if self.view is None:
            return
        shown = self.view.calls.get(call_id)
        if shown is None:
            return
        if shown.diffs:
            self.dock.show_diffs(shown.diffs)
        else:
            self.dock.show_result(call_result(shown))
        self.show_pane("dock")


def _warm_up() -> None:
    """Load what the first code block or diff needs, so that it does not hold up its frame."""
    importlib.import_module("pygments.lexers")


def _settle_gc() -> None:
    """Keep the collector from walking what lives as long as the program while an answer streams."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*limits.GC_THRESHOLDS)


def exit_code(error: AgentError) -> int:
    """The program's exit code when it could not start because of `error`."""
    return names.EXIT_CONFIG if isinstance(error, ConfigError) else names.EXIT_FAILED


def run(start: Start) -> int:
    """Run the screen to its end; the terminal is whole again when this returns. Returns the exit code."""
    app = NanohermApp(start)
    try:
        code = app.run()
    finally:
        if app.ready:
            if app.composer.draft_of:
                app.host.keep_draft(app.composer.draft_of, app.composer.text)
            app.host.close()
        app.wait_for_threads()
    if app.view is not None and app.view.stored:
        terminal.say_how_to_resume(app.view.id)
    return code if code is not None else app.return_code or 0
