"""The loop of `--plain`: what happened is written as lines, then the next line is read. All in the main thread."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

from agent_core import events, intents, names
from agent_core.errors import AgentError, crash
from agent_core.records import dataclass
from nanoherm_tui import i18n, limits
from nanoherm_tui.actions import Slash, SlashProblem
from nanoherm_tui.history import History
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.panes.entered import OneMoreImage, ShellCommand, entered
from nanoherm_tui.plain import greeting
from nanoherm_tui.plain.by_descriptor import FromDescriptor
from nanoherm_tui.plain.by_readline import FromReadline
from nanoherm_tui.plain.gathering import Gathered
from nanoherm_tui.plain.questions import Choice, Questions
from nanoherm_tui.plain.stopping import Stopping
from nanoherm_tui.plain.typing_in import Ended, Line, Pressed, Source, Woken
from nanoherm_tui.plain.words import Teller, pair
from nanoherm_tui.session_view import SessionView
from nanoherm_tui.terminal import EXIT_BY_SIGNAL
from nanoherm_tui.text import clean, one_line, pasted, shorten_home, visible

if TYPE_CHECKING:
    from agent_core.events import SessionState
    from agent_core.host import Host
    from agent_core.knowledge import Typed
    from agent_core.services import Containment
    from agent_core.session import LiveSession
    from nanoherm_tui.plain.greeting import Begin
    from nanoherm_tui.session_view import Waiting

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Open:
    """A session that is open here."""

    view: SessionView
    teller: Teller


class Face:
    """One run of `--plain`."""

    def __init__(self, host: Host, begin: Begin) -> None:
        self.host = host
        self._begin = begin
        self.home = str(host.places.home)
        self.open: dict[str, Open] = {}
        self.current: Open | None = None
        self.deleted: list[str] = []
        """Ids of sessions that were deleted in this run, the newest last."""
        self.typed_commands: tuple[Typed, ...] = ()
        self.held: Containment | None = None
        """How far commands are confined here."""
        self.history = History(host.places.history_file)
        self.exit_code: int | None = None
        self.gathered = Gathered()
        self.questions = Questions(self)
        self.stopping = Stopping(self)
        self._lines: list[str] = []
        self._typed = ""
        """The message that is being written, as far as it goes."""
        self._typed_at = ("", float("-inf"))
        """What was in the line when it was last looked at, and since when, in monotonic seconds."""
        self._saved = ""
        """What is on disk of it."""
        self._prompted = ""
        """What stands before the line that is being typed."""
        self._waiting_lines: deque[str] = deque()
        """Lines from a program that came before they were wanted."""
        self._first: list[str] = []
        """Messages to send before any line is read."""
        self._input_over = False
        self._last_outcome: events.TurnFinished | None = None
        self._folders: set[Path] = set()
        self._beside = 0
        """How much is being done on other threads."""
        self._done: deque[Callable[[], None]] = deque()
        """What is to be done with results of other threads."""
        terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "")
        self.source: Source = FromReadline(self._due, self._complete) if terminal else FromDescriptor(self._due)

    # -- the loop ----------------------------------------------------------------------------------------------------

    def run(self, session: LiveSession) -> int:
        """Until the person leaves, or the input ends. Returns the exit code."""
        former = {number: signal.signal(number, self._end) for number in EXIT_BY_SIGNAL}
        try:
            self.source.remember(self.history.entries)
            self.source.use_vi(self.host.config.get("display.composer_keys") == "vim")
            greeting.greet(self, self._begin)
            self.show(session)
            self._first = greeting.begin_session(self, self._begin)
            while self.exit_code is None:
                self._turn_of_the_loop()
            return self.exit_code
        except SystemExit as ended:
            return int(ended.code or 0)
        except BrokenPipeError:  # whoever read has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return names.EXIT_FAILED
        except OSError:  # the terminal is gone
            return names.EXIT_FAILED
        except Exception as error:  # it ends in words, with a report
            report = self.host.report_crash(error)
            words = f"{type(error).__name__}: {clean(str(error))[: limits.CRASH_WORDS]}"
            more = (t("app.crash_report", path=report),) if report is not None else ()
            print(t("plain.crashed", error=words), *more, sep="\n", file=sys.stderr)
            return names.EXIT_FAILED
        finally:
            self.source.close()
            for number, handler in former.items():
                signal.signal(number, handler)
            self.host.flush_notes(limits.DESK_SECONDS)

    def _turn_of_the_loop(self) -> None:
        self._gather()
        while self._done:
            self._done.popleft()()
        self.questions.put()
        if self._input_over and self.questions.is_open:
            self.questions.refuse()
        self._write()
        if not (self.questions.is_open or self._at_work):
            if self._first:
                self.take_message(self._first.pop(0))
                return
            if self._waiting_lines:
                self._take_line(self._waiting_lines.popleft())
                return
            if self._input_over:
                self.exit_code = self._code_of_the_end()
                return
        self._read()

    def _read(self) -> None:
        """Wait for the next line, or for something that happens."""
        wanted = self.source.is_terminal or not self._at_work or self.questions.is_open
        prompt = self._prompted = self._prompt
        if (when := min((one.teller.waits.next for one in self.open.values()), default=float("inf"))) < float("inf"):
            self.source.wake_at(when)
        if self.questions.secret and self.source.is_terminal:
            came = self.source.secret(prompt)
        else:
            came = self.source.read(prompt, self._beginning, wanted=wanted and not self._input_over)
        match came:
            case Woken(typed):
                self._keep(typed)
                if typed or prompt:
                    self._end_line()
            case Pressed(typed):
                self._end_line()
                self.stopping.press(typed)
            case Ended():
                self._end_line()
                self._input_ended()
            case Line(text):
                if not self.source.is_terminal:
                    self._put(clean(text, tab_size=0))
                self._take_line(pasted(text))

    @property
    def view(self) -> SessionView:
        assert self.current is not None
        return self.current.view

    @property
    def session(self) -> LiveSession:
        return self.view.session

    @property
    def state(self) -> SessionState:
        return self.session.state if self.current is not None else "idle"

    @property
    def waiting(self) -> list[Waiting]:
        """The questions of this session that wait."""
        return self.view.waiting if self.current is not None else []

    @property
    def _busy(self) -> bool:
        return self.current is not None and (self.session.busy or bool(self.view.turn_started))

    @property
    def _at_work(self) -> bool:
        """A turn runs, or something else whose end is waited for."""
        return self._busy or self._beside > 0

    @property
    def _prompt(self) -> str:
        if self.questions.is_open:
            return self.questions.prompt
        if self.gathered.goes_on:
            return "... "
        return "" if self._at_work else "> "

    @property
    def _beginning(self) -> str:
        """What the line begins with."""
        return self.questions.typed if self.questions.is_open else self._typed

    def _keep(self, typed: str) -> None:
        if self.questions.is_open:
            self.questions.keep(typed)
        else:
            self._typed = typed

    # -- what happened -----------------------------------------------------------------------------------------------

    def _due(self, typed: str) -> bool:
        """Whether the line that is being typed is to be interrupted; keeps it on disk. In a signal's handler."""
        now = time.monotonic()
        if typed != self._typed_at[0]:
            self._typed_at = typed, now
        self._gather()
        asks = self.questions
        if not asks.is_open and self.source.edits:
            self._keep_draft(f"{self.gathered.text}\n{typed}" if self.gathered.goes_on else typed)
        changed = self._prompt != self._prompted
        if not (self._lines or self._done or asks.one_waits or asks.is_void or asks.reminder_due or changed):
            return False
        left = (limits.APPROVAL_ARM if asks.one_waits else limits.PLAIN_HOLD) - (now - self._typed_at[1])
        if typed and left > 0 and self.source.edits:
            self.source.wake_at(now + left)
            return False
        return True

    def _gather(self) -> None:
        """Take what the sessions have told, as lines that wait to be written."""
        for one in list(self.open.values()):
            here = one is self.current
            for envelope in one.view.session.mailbox.drain():
                lines = self._take_event(one, envelope.event)
                self._lines += lines if here else [pair(one_line(one.view.title), line) for line in lines if line]
            self._lines += one.teller.waits.due(time.monotonic()) if here else []

    def _take_event(self, one: Open, event: events.Event) -> list[str]:
        view = one.view
        lines = one.teller.tell(event)
        view.take((event,))
        if isinstance(event, events.HistoryChanged):
            if event.messages:
                self.host.mark_seen(view.id, event.messages[-1].id)
        elif isinstance(event, events.AssistantMessage) and one is self.current:
            self.host.mark_seen(view.id, event.message_id)
        elif isinstance(event, events.TurnFinished) and one is self.current:
            self._last_outcome = event
        elif isinstance(event, events.QuestionClosed):
            self.questions.closed(event.question_id)
        elif isinstance(event, events.ModeToConfirm) and one is self.current:
            from nanoherm_tui.plain.consents import confirm_mode

            self.ask(confirm_mode(self, event))
        for text in view.returned:
            self._typed = f"{self._typed}\n{text}" if self._typed else text
            self._keep_draft(self._typed)
            view.session.send(intents.TextTaken(text))
        view.returned.clear()
        view.errors.clear()
        return lines

    def before_answer(self, consents: bool) -> None:
        """What was typed before the question could be read is no answer to it."""
        if self._typed:
            self._lines.append(t("plain.line_kept"))
        self._write()
        if not self.source.is_terminal:
            self._waiting_lines += self.source.take_waiting()
        elif consents:
            self.source.forget_typed(limits.APPROVAL_ARM)

    def ask(self, choice: Choice) -> None:
        """Have a question of the program's own put next."""
        self.questions.add(choice)

    # -- lines that were typed ---------------------------------------------------------------------------------------

    def _take_line(self, text: str) -> None:
        if self.questions.is_open:
            self.questions.take(text)
        elif (whole := self._whole(text)) is not None:
            self._typed = ""
            if whole.strip():
                self.take_message(whole)
            self._keep_draft(self._typed)

    def _whole(self, text: str) -> str | None:
        """The message that ends with this line; None while it goes on."""
        self._typed = ""
        whole = self.gathered.take(text)
        if whole is None:
            self._keep_draft(self.gathered.text)
        return whole

    def is_command(self, text: str) -> bool:
        from nanoherm_tui.plain import commands

        return isinstance(commands.parse(text.strip(), self.typed_commands), Slash)

    def take_message(self, text: str) -> None:
        """Do what a line means: a command, a shell command, a message."""
        self.history.add(text)
        self.source.remember((text,))
        if text.startswith("/"):
            self.know_typed()
            from nanoherm_tui.plain import commands

            if isinstance(commands.parse(text, self.typed_commands), Slash):
                self.do(lambda: commands.run(self, text))
                return
        made = entered(text, text.partition("\n")[0], self.typed_commands)
        if isinstance(made, SlashProblem):
            self.say(t(made.key, **made.params))
        elif isinstance(made, ShellCommand):
            if made.command:
                self.session.send(intents.Shell(made.command, made.private))
        elif isinstance(made, OneMoreImage):
            from nanoherm_tui.plain import commands

            self._typed, command = f"{made.images} ", made.command
            self.do(lambda: commands.run(self, command))
        else:
            self.session.send(intents.Steer(text))

    def know_typed(self) -> None:
        """Look what can be typed behind a slash here; files may have changed since the last time."""
        try:
            self.typed_commands = self.host.typed(self.session.id).all
        except AgentError as error:  # the program's own commands work all the same
            self.say_error(error)

    def _complete(self, start: str) -> list[str]:
        from nanoherm_tui.plain import commands

        return [f"/{name} " for name in commands.complete(start, self.typed_commands)]

    def clear_line(self, typed: str) -> None:
        """What was written is put away, where it can be called up again; `typed` is its last line."""
        self.history.add(f"{self.gathered.text}\n{typed}".strip("\n"))
        self.source.remember((typed,) if typed else ())
        self.gathered, self._typed = Gathered(), ""
        self._keep_draft("")

    # -- the end -----------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        self.stopping.leave()

    def _input_ended(self) -> None:
        if self.source.is_terminal:
            self.leave()
        else:
            self._input_over = True

    def _code_of_the_end(self) -> int:
        """Of a run whose input has ended: how its last turn did."""
        from agent_core.headless import outcome_code

        return outcome_code(self._last_outcome) if self._last_outcome is not None else names.EXIT_OK

    def _end(self, number: int, frame: FrameType | None) -> None:
        for again in EXIT_BY_SIGNAL:
            signal.signal(again, signal.SIG_IGN)
        raise SystemExit(EXIT_BY_SIGNAL[signal.Signals(number)])

    # -- sessions ----------------------------------------------------------------------------------------------------

    def show(self, session: LiveSession) -> None:
        """Go on in this session."""
        self._keep_draft(self._typed)
        one = self.open.get(session.id)
        if one is None or one.view.session is not session:
            view = SessionView(session, title=session.title, mode=session.mode, model_label=self.host.model.state.label)
            one = self.open[session.id] = Open(view, Teller(view))
            session.mailbox.listen(lambda urgent: self.source.wake())
        elif self.current is not one:
            self._lines.append(t("plain.session_again", title=one_line(one.view.title) or t("sessions.untitled")))
        self.current = one
        self._typed = self._saved = ""
        try:
            self._typed = self._saved = self.host.draft(session.id)
        except AgentError as error:
            self.say_error(error)
        self._look_at_trust(session.workspace)
        Thread(target=partial(self.host.begin_servers, session.id), name="servers", daemon=True).start()
        self.typed_commands = ()

    def switch(self, make: Callable[[], LiveSession]) -> None:
        """Go on in another session; not under a running turn, whose questions nobody would hear."""
        if self._busy:
            self.say(t("plain.busy"))
            return
        self.show(make())
        self.say(t("plain.now_in", folder=self.shown_path(self.session.workspace)))

    def forget(self, session_id: str) -> None:
        self.open.pop(session_id, None)

    def _look_at_trust(self, workspace: Path) -> None:
        if workspace in self._folders:
            return
        self._folders.add(workspace)
        standing = self.host.trusting.look(workspace)
        if standing.asks:
            from nanoherm_tui.plain.consents import trust

            self.ask(trust(self, standing, workspace))

    def _keep_draft(self, text: str) -> None:
        if self.current is not None and text != self._saved:
            self._saved = text
            self.host.keep_draft(self.session.id, text)

    # -- what is said ------------------------------------------------------------------------------------------------

    def say(self, *lines: str) -> None:
        """Write these lines next."""
        self._lines += lines

    def say_error(self, error: AgentError) -> None:
        self.say(t("plain.error", text=clean(tell(error.code, error.params, error.text))))

    def do(self, work: Callable[[], object]) -> None:
        """Do it; what fails is said."""
        try:
            work()
        except AgentError as error:
            self.say_error(error)

    def beside(self, work: Callable[[], T], then: Callable[[T], object]) -> None:
        """Do what may take long on a thread of its own, then `then` with its result in the main thread."""

        def ended(act: Callable[[], object]) -> None:
            self._beside -= 1
            self.do(act)

        def job() -> None:
            try:
                result = work()
            except AgentError as error:
                act: Callable[[], object] = partial(self.say_error, error)
            except Exception as error:  # the face must survive whatever one command does
                log.exception("a command failed")
                act = partial(self.say_error, crash(error))
            else:
                act = partial(then, result)
            self._done.append(partial(ended, act))
            self.source.wake()

        self._beside += 1
        Thread(target=job, name="beside", daemon=True).start()

    @property
    def last_answer(self) -> str:
        """What the model said last here, as Markdown."""
        return self.current.teller.last_answer if self.current is not None else ""

    @property
    def line(self) -> str:
        """What the next line begins with, as far as it is known."""
        return self._typed

    def put_in_line(self, text: str) -> None:
        """Begin the next line with this."""
        self._typed = text

    def shown_path(self, path: Path | str) -> str:
        return shorten_home(visible(str(path)), str(Path.home()))

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        for line in lines:
            self._put(line)

    def _put(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def _end_line(self) -> None:
        """What was being typed stays where it is; what follows begins on a line of its own."""
        self._put("")


def run(host: Host, session: LiveSession, begin: Begin) -> int:
    """Run the face until it ends. Returns the exit code."""
    i18n.set_language(host.config.get("display.language"))
    return Face(host, begin).run(session)
