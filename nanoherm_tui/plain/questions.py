"""What is asked in lines, one question at a time: those of the session, and the program's own."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_core.intents import Answer
from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.question import time_left
from nanoherm_tui.plain import asking
from nanoherm_tui.plain.entering import is_command, take_message
from nanoherm_tui.text import one_line

if TYPE_CHECKING:
    from nanoherm_tui.plain.face import Face
    from nanoherm_tui.session_view import Waiting


@dataclass(frozen=True, slots=True)
class Choice:
    """A question of the program's own. It may be answered by nothing but what `take` knows."""

    lines: tuple[str, ...]
    prompt: str
    take: Callable[[str], bool]
    """Given what was typed; False: it was no answer, and the question stays. Of an empty line it says why itself."""
    consents: bool = True
    """It lets something act: what was typed before it was asked must not reach it."""
    typed: str = ""
    """What the answer begins with, to be changed."""
    enter_answers: bool = False
    """An empty line is an answer: it keeps what there is, and lets nothing act."""
    secret: bool = False
    """What is typed is not shown."""


class Questions:
    """The question that is put now, and those that wait behind it."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._asked: asking.Asked | None = None
        self._reminded = ""
        """The question whose end was told to be near."""
        self._wanted_first = ""
        """The question that somebody wants to be put before the others."""
        self._closing, self._closing_until = "", 0.0
        """The question that was answered last, until the session has told so; monotonic seconds."""
        self._choices: deque[Choice] = deque()
        self._shown: Choice | None = None
        self._answer = ""
        """What was typed of it so far."""

    def add(self, choice: Choice) -> None:
        """Have a question of the program's own put next."""
        self._choices.append(choice)

    @property
    def is_open(self) -> bool:
        return self._shown is not None or self._asked is not None

    @property
    def of_session(self) -> bool:
        """The open one is the session's."""
        return self._asked is not None

    @property
    def secret(self) -> bool:
        return self._shown is not None and self._shown.secret

    @property
    def prompt(self) -> str:
        return self._shown.prompt if self._shown is not None else self._asked.prompt if self._asked is not None else ""

    @property
    def typed(self) -> str:
        return self._answer

    def keep(self, typed: str) -> None:
        self._answer = typed

    # -- putting them ------------------------------------------------------------------------------------------------

    @property
    def _waiting(self) -> list[Waiting]:
        """Those of the session, in the order in which they are put."""
        return sorted(self._face.waiting, key=lambda one: one.question.id != self._wanted_first)

    @property
    def one_waits(self) -> bool:
        """There is one to be put, and none is."""
        return not self.is_open and bool(self._choices or self._face.waiting) and not self._is_closing

    @property
    def _is_closing(self) -> bool:
        """What came of the last answer is to be read before the next question."""
        return bool(self._closing) and time.monotonic() < self._closing_until

    @property
    def is_void(self) -> bool:
        """The one that is put waits no more."""
        return self._asked is not None and all(w.question.id != self._asked.question.id for w in self._face.waiting)

    @property
    def reminder_due(self) -> bool:
        asked = self._asked
        return (
            asked is not None
            and self._reminded != asked.question.id
            and asked.deadline - time.time() <= limits.PLAIN_REMIND
        )

    def put(self) -> None:
        """Put the next one, unless one is put already; what that was asked about may be void by now."""
        if self.is_void:
            self._asked, self._answer = None, ""
        if self.reminder_due and self._asked is not None:
            self._reminded = self._asked.question.id
            self._face.say(t("plain.remind", time=time_left(self._asked.deadline, time.time())))
        if self.is_open:
            return
        if self._is_closing:
            self._face.source.wake_at(self._closing_until)
        elif self._choices:
            self._shown = self._choices.popleft()
            self._face.say(*self._shown.lines)
            self._answer = self._shown.typed if self._face.source.edits else ""
            self._face.before_answer(self._shown.consents)
        elif waiting := self._waiting:
            first = waiting[0]
            self._asked, self._answer = asking.Asked(first.question, first.deadline), ""
            self._face.say(*asking.asked_lines(self._asked, len(waiting)))
            self._face.before_answer(True)
            until = first.deadline - time.time() - limits.PLAIN_REMIND
            if until > 0:
                self._face.source.wake_at(time.monotonic() + until)
            else:
                self._reminded = first.question.id  # it has just been said

    def bring(self, question_id: str) -> None:
        """Put this one of the session's first; the one that is put waits for later."""
        self._wanted_first, self._asked, self._answer = question_id, None, ""

    # -- answers -----------------------------------------------------------------------------------------------------

    def take(self, text: str) -> None:
        """What was typed to the open one."""
        if self._shown is not None:
            self._take_choice(self._shown, text)
        elif self._asked is not None:
            self._take_answer(self._asked, text)

    def _take_choice(self, choice: Choice, text: str) -> None:
        self._answer = ""
        said = text.strip()
        if not (said or choice.enter_answers):
            self._face.say(t("plain.enter_is_none"))
        elif choice.take(said):
            self._shown = None
        elif said:
            self._face.say(t("plain.not_that"))

    def _take_answer(self, asked: asking.Asked, text: str) -> None:
        face = self._face
        self._answer = ""
        if asked.stage == "" and is_command(face, text):
            take_message(face, text.strip())
            return
        taken = asking.take(asked, text)
        face.say(*taken.lines)
        if taken.answer is not None:
            if asked.edited:  # what is told of the call is told of what runs
                face.view.work.renamed(asked.question.call_id, one_line(asked.edited))
            self._send(taken.answer)
            return
        self._asked = taken.asked
        if self._asked is not None and self._asked.stage == "edit" and asked.stage != "edit":
            self._answer = self._asked.typed if face.source.edits else ""

    def _send(self, answer: Answer) -> None:
        """Answer; the session tells so in a moment, and it must not be put again before that."""
        face = self._face
        face.session.send(answer)
        face.view.waiting = [w for w in face.view.waiting if w.question.id != answer.question_id]
        self._asked = None
        self._closing, self._closing_until = answer.question_id, time.monotonic() + limits.PLAIN_CLOSING

    def closed(self, question_id: str) -> None:
        """The session has told what came of it."""
        if question_id == self._closing:
            self._closing = ""

    def leave_choice(self) -> bool:
        """Ctrl+C: a question of the program's own is left as it is. False: there is none."""
        was_shown, self._shown = self._shown is not None, None
        return was_shown

    def refuse(self) -> None:
        """Nobody can answer any more, here or in a session out of view."""
        self._shown = None
        self._choices.clear()
        if self._asked is not None:
            self._send(Answer(self._asked.question.id, "refuse"))
        for one, waits in self._face.opened.waiting_elsewhere():
            one.view.session.send(Answer(waits.question.id, "refuse"))
            one.view.waiting.remove(waits)
