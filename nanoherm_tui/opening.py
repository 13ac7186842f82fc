"""The start of the screen: what a run begins with, the core that opens behind the first frame, the first session."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from agent_core import names
from agent_core.errors import AgentError, ConfigError, crash
from agent_core.records import dataclass
from nanoherm_tui import commands, i18n, limits
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from agent_core.config.load import Config
    from agent_core.config.paths import Places
    from agent_core.desk.host import Host
    from agent_core.desk.model_choice import ModelState
    from agent_core.session.live import LiveSession
    from nanoherm_tui.app import NanohermApp

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Start:
    """What a run of the screen begins with. The core is opened while the first frame is already shown."""

    places: Places
    config: Config
    open_host: Callable[[], tuple[Host, LiveSession | None]]
    """Open the core, and the session that was asked for. Called off the screen's thread; may raise AgentError."""
    prompt: str = ""
    """The first message."""
    images: tuple[str, ...] = ()
    """Files with images for it."""
    choose: bool = False
    """Begin with the list of sessions."""
    mode: names.Mode | None = None
    """What the command line wants the first session to be in."""
    new_profile: str = ""
    """The profile that is used for the first time."""
    first: bool = False
    """There was no home yet: somebody is here for the first time."""


class Opening:
    """Of one app: from the moment its first frame is shown until the first session has all that came with the start."""

    def __init__(self, app: NanohermApp, start: Start) -> None:
        self._app = app
        self._start = start
        self.first_prompts = [start.prompt] if start.prompt else []
        """What was sent before there was a session."""
        self._images: list[str] = []  # references to the images of the first message
        self._image_problems: list[str] = []
        self._keymap_told: tuple[str, ...] = ()  # what is wrong with the config's keymap, with its lines

    def begin(self) -> None:
        """Have the core opened off the screen's thread."""
        self._app.desk.do(self._open, self._opened)

    def _open(self) -> AgentError | LiveSession | None:
        """On the desk's thread: open the core. Gives the session that was asked for, or why there is no core."""
        try:
            self._app.host, session = self._start.open_host()
        except AgentError as error:
            return error
        except Exception as error:  # without the core there is nothing to do here: the program ends, in words
            log.exception("the core could not be opened")
            return crash(error)
        if self._app.keymap_problems:
            from nanoherm_tui.commands.keys import problems

            self._keymap_told = problems(self._app)
        self._app.host.model.listen(self._model_has_changed)
        for path in self._start.images:
            try:
                self._images.append(self._app.host.images.take_file(path, os.path.basename(path)))
            except AgentError as error:
                self._image_problems.append(i18n.tell(error.code, error.params, error.text))
        return session

    def _opened(self, came: AgentError | LiveSession | None) -> None:
        app = self._app
        if isinstance(came, AgentError):
            app.exit(exit_code(came), message=Text(f"{names.APP}: {came.text}"))
            return
        app.ready = True
        app.look_at_containment()
        if came is not None:
            self._first_ready(came)
            app.desk.do(app.host.model.settle)
        else:
            app.desk.do(app.host.model.settle, lambda state: app.desk.do(app.host.new, self._first_ready))
        app.conversations.reload()
        app.set_timer(limits.GC_AFTER, app.collecting.settle)
        app.set_timer(limits.SETTLE_AFTER, self._settle_in)

    def _settle_in(self) -> None:
        """The first screen stands: what it did not need."""
        if not self._app.screen_stack:  # the program is ending
            return
        self._app.desk.do(_warm_up)
        self._app.theming.watch()

    def _first_ready(self, session: LiveSession) -> None:
        app = self._app
        app.conversations.show(session)
        for words in self._start_problems():
            app.conversations.tell("start_problem", words)
        if profile := self._start.new_profile:
            words = t("app.new_profile", name=profile, home=str(app.host.places.data_home))
            app.conversations.tell("new_profile", words, warning=False)
        if self._start.mode not in (None, session.mode):
            from nanoherm_tui.commands.settings import set_mode

            set_mode(app, self._start.mode, confirmed=True)  # who writes it on a command line means it
        prompts, self.first_prompts = self.first_prompts, []
        if pictures := " ".join(self._images):
            if self._start.prompt and prompts:
                prompts[0] = f"{prompts[0]}\n{pictures}"
            else:
                app.composer.bring_back(f"{pictures} ")
        problem = app.host.model.state.problem
        if self._start.choose or problem is not None:
            for prompt in reversed(prompts):
                app.composer.bring_back(prompt)
            prompts = []
        if self._start.choose:
            commands.run(app, "sessions")
        elif problem is not None:
            from nanoherm_tui.commands.settings import setup

            told = i18n.tell(problem.code, problem.params, problem.text)
            setup(app, told, str(problem.params.get("provider", "")))
        has_room = app.size.width >= limits.TOUR_LEAST[0] and app.size.height >= limits.TOUR_LEAST[1]
        is_first = self._start.first and not prompts and not self._start.choose
        if is_first and has_room and app.host.config.get("display.hints"):
            commands.run(app, "tour")
        self.first_prompts = prompts  # until it is known whether the folder brings something to be asked about
        app.show_pending()

    def send_first_prompts(self) -> None:
        """What was sent before there was a session, or came with the start, begins now."""
        prompts, self.first_prompts = self.first_prompts, []
        if prompts and self._app.view is not None:
            from agent_core import intents

            for prompt in prompts:
                if prompt.startswith("/") and self._app.composer.is_empty:  # as if it were typed: it may be no message
                    self._app.composer.enter(prompt)
                else:
                    self._app.view.session.send(intents.Steer(prompt))
        self._app.show_pending()

    def _start_problems(self) -> Iterable[str]:
        for problem in self._app.host.hook_problems:
            yield i18n.tell(problem.code, problem.params, problem.text)
        for found in self._app.host.warnings:
            yield i18n.tell(found.code, {"file": found.file, "line": found.line, "key": found.key}, found.text)
        yield from self._keymap_told
        yield from (error.text for error in self._app.themes.broken)
        if self._app.themes.theme() is None:
            yield t("app.unknown_theme", name=self._app.themes.chosen, themes=i18n.series(self._app.themes.all))
        yield from self._image_problems
        yield from self._app.host.store.warnings

    def _model_has_changed(self, state: ModelState) -> None:
        """In the thread that found the model."""
        self._app.call_later(self._app.model_changed, state)


def _warm_up() -> None:
    """Load what the first turn, code block, diff or @ needs, so that it does not hold up its frame."""
    rooms = "agent_core.mind.agent", "agent_core.tools.builtin", "agent_core.text.title", "agent_core.workspace.index"
    for room in rooms:
        importlib.import_module(room)
    importlib.import_module("pygments.lexers")


def exit_code(error: AgentError) -> int:
    """The program's exit code when it could not start because of `error`."""
    return names.EXIT_CONFIG if isinstance(error, ConfigError) else names.EXIT_FAILED
