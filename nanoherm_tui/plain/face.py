"""The loop of `--plain`: what happened is written as lines, then the next line is read. All in the main thread."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, TypeVar

from agent_core import names
from agent_core.errors import AgentError
from nanoherm_tui import i18n, limits
from nanoherm_tui.history import History
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.plain import commands, entering, greeting
from nanoherm_tui.plain.beside import Beside
from nanoherm_tui.plain.by_descriptor import FromDescriptor
from nanoherm_tui.plain.by_readline import FromReadline
from nanoherm_tui.plain.drafting import Draft
from nanoherm_tui.plain.opened import Opened
from nanoherm_tui.plain.questions import Choice, Questions
from nanoherm_tui.plain.stopping import Stopping
from nanoherm_tui.plain.typing_in import Ended, Line, Pressed, Source, Woken
from nanoherm_tui.terminal.signals import EXIT_BY_SIGNAL
from nanoherm_tui.text import clean, pasted, shorten_home, visible

if TYPE_CHECKING:
    from agent_core.desk.host import Host
    from agent_core.events import SessionState
    from agent_core.knowledge import Typed
    from agent_core.session.live import LiveSession
    from agent_core.session.services import Containment
    from nanoherm_tui.plain.greeting import Begin
    from nanoherm_tui.session_view import SessionView, Waiting

T = TypeVar("T")

_GONE: Final = (errno.EPIPE, errno.EIO)
"""Whoever read has seen enough; the terminal is gone."""


class Face:
    """One run of `--plain`."""

    def __init__(self, host: Host, begin: Begin) -> None:
        self.host = host
        self._begin = begin
        self.home = str(host.places.home)
        self.typed_commands: tuple[Typed, ...] = ()
        self.held: Containment | None = None
        """How far commands are confined here."""
        self.history = History(host.places.history_file)
        self.exit_code: int | None = None
        self.draft = Draft(self._keep_draft)
        self.opened = Opened(self)
        self.questions = Questions(self)
        self.stopping = Stopping(self)
        self._lines: list[str] = []
        self._typed_at = ("", float("-inf"))
        """What was in the line when it was last looked at, and since when, in monotonic seconds."""
        self._prompted = ""
        """What stands before the line that is being typed."""
        self._waiting_lines: deque[str] = deque()
        """Lines from a program that came before they were wanted."""
        self._first: list[str] = []
        """Messages to send before any line is read."""
        self._input_over = False
        terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "")
        self.source: Source = FromReadline(self._due, self._complete) if terminal else FromDescriptor(self._due)
        self._beside = Beside(self.say_error, self.source.wake)

    # -- the loop ----------------------------------------------------------------------------------------------------

    def run(self, session: LiveSession) -> int:
        """Until the person leaves, or the input ends. Returns the exit code."""
        former = {number: signal.signal(number, self._end) for number in EXIT_BY_SIGNAL}
        try:
            self.source.remember(self.history.entries)
            self.source.use_vi(self.host.config.get("display.composer_keys") == "vim")
            greeting.greet(self, self._begin)
            self.opened.show(session)
            self._first = greeting.begin_session(self, self._begin)
            while self.exit_code is None:
                self._turn_of_the_loop()
            return self.exit_code
        except SystemExit as ended:
            return int(ended.code or 0)
        except Exception as error:  # it ends in words, with a report
            if isinstance(error, OSError):
                os.dup2(
                    os.open(os.devnull, os.O_WRONLY), 1
                )  # the output may be what failed: nothing is tried on it again
                if error.errno in _GONE:
                    return names.EXIT_FAILED
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
        self.opened.gather()
        self._beside.settle()
        self.questions.put()
        if self._input_over:
            self.questions.refuse()
        self._write()
        if not (self.questions.is_open or self._at_work):
            if self._first:
                entering.take_message(self, self._first.pop(0))
                return
            if self._waiting_lines:
                self._take_line(self._waiting_lines.popleft())
                return
            if self._is_over:
                self.exit_code = self._code_of_the_end()
                return
        self._read()

    def _read(self) -> None:
        """Wait for the next line, or for something that happens."""
        wanted = self.source.is_terminal or not self._at_work or self.questions.is_open
        prompt = self._prompted = self._prompt
        if (when := self.opened.next_word) < float("inf"):
            self.source.wake_at(when)
        if self._input_over and not self._at_work:  # sub-agents beside the turns are waited for
            self.source.wake_at(time.monotonic() + limits.PLAIN_HOLD)
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
        assert self.opened.current is not None
        return self.opened.current.view

    @property
    def session(self) -> LiveSession:
        return self.view.session

    @property
    def state(self) -> SessionState:
        return self.session.state if self.opened.current is not None else "idle"

    @property
    def waiting(self) -> list[Waiting]:
        """The questions of this session that wait."""
        return self.view.waiting if self.opened.current is not None else []

    @property
    def _at_work(self) -> bool:
        """A turn runs, or something else whose end is waited for."""
        return self.opened.busy or self._beside.at_work

    @property
    def _is_over(self) -> bool:
        """No line will come, and nothing that began here goes on, beside the turns neither."""
        return self._input_over and not (self._at_work or self.opened.goes_on)

    @property
    def _prompt(self) -> str:
        if self.questions.is_open:
            return self.questions.prompt
        if self.draft.goes_on:
            return "... "
        return "" if self._at_work or self._input_over else "> "

    @property
    def _beginning(self) -> str:
        """What the line begins with."""
        return self.questions.typed if self.questions.is_open else self.draft.line

    def _keep(self, typed: str) -> None:
        if self.questions.is_open:
            self.questions.keep(typed)
        else:
            self.draft.put(typed)

    # -- what happened -----------------------------------------------------------------------------------------------

    def _due(self, typed: str) -> bool:
        """Whether the line that is being typed is to be interrupted; keeps it on disk. In a signal's handler."""
        now = time.monotonic()
        if typed != self._typed_at[0]:
            self._typed_at = typed, now
        self.opened.gather()
        asks = self.questions
        if not asks.is_open and self.source.edits:
            self.draft.typed(typed)
        changed = self._prompt != self._prompted or self._is_over
        if not (self._lines or self._beside.is_done or asks.one_waits or asks.is_void or asks.reminder_due or changed):
            return False
        left = (limits.APPROVAL_ARM if asks.one_waits else limits.PLAIN_HOLD) - (now - self._typed_at[1])
        if typed and left > 0 and self.source.edits:
            self.source.wake_at(now + left)
            return False
        return True

    def before_answer(self, consents: bool) -> None:
        """What was typed before the question could be read is no answer to it."""
        if self.draft.line:
            self.say(t("plain.line_kept"))
        self._write()
        if not self.source.is_terminal:
            self._waiting_lines += self.source.take_waiting()
        elif consents:
            self.source.forget_typed(limits.APPROVAL_ARM, self._is_void)

    def _is_void(self) -> bool:
        """The question was closed while it waits for a moment without keys."""
        self.opened.gather()
        return self.questions.is_void

    def ask(self, choice: Choice) -> None:
        """Have a question of the program's own put next."""
        self.questions.add(choice)

    # -- lines that were typed ---------------------------------------------------------------------------------------

    def _take_line(self, text: str) -> None:
        if self.questions.is_open:
            self.questions.take(text)
        elif (whole := self.draft.take(text)) is not None:
            if whole.strip():
                entering.take_message(self, whole)
            self.draft.save()

    def _complete(self, start: str) -> list[str]:
        return [f"/{name} " for name in commands.complete(start, self.typed_commands)]

    def clear_line(self, typed: str) -> None:
        """What was written is put away, where it can be called up again; `typed` is its last line."""
        self.history.add(self.draft.clear(typed))
        self.source.remember((typed,) if typed else ())

    def _keep_draft(self, text: str) -> None:
        if self.opened.current is not None:
            self.host.keep_draft(self.session.id, text)

    # -- the end -----------------------------------------------------------------------------------------------------

    def _input_ended(self) -> None:
        if self.source.is_terminal:
            self.stopping.leave()
        else:
            self._input_over = True

    def _code_of_the_end(self) -> int:
        """Of a run whose input has ended: how its last turn did."""
        from agent_core.headless import outcome_code

        last = self.opened.last_outcome
        return outcome_code(last) if last is not None else names.EXIT_OK

    def _end(self, number: int, frame: FrameType | None) -> None:
        for again in EXIT_BY_SIGNAL:
            signal.signal(again, signal.SIG_IGN)
        raise SystemExit(EXIT_BY_SIGNAL[signal.Signals(number)])

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
        self._beside.do(work, then)

    def soon(self, act: Callable[[], object]) -> None:
        """From any thread: do this in the main one."""
        self._beside.soon(act)

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
