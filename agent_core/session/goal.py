"""Mode goal: what the session works towards, and what keeps its turns going until that is reached.

The goal belongs to the session: it is stored, told to the listeners, and said in the system prompt, so that neither a
compaction nor a restart loses it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.events import Event, GoalChanged, Notice
from agent_core.messages import clean_surrogates
from agent_core.names import ASK_USER, GOAL_DONE
from agent_core.ports.asking import Asker, Question, Reply
from agent_core.ports.means import Goal
from agent_core.records import dataclass
from agent_core.session.services import SessionServices

ONWARD = (
    "[The goal has not been declared reached. Go on with the next step. When it is reached, check it and call "
    f"{GOAL_DONE} with what shows it. If only the user can help, ask with {ASK_USER}.]"
)


class GoalKeeper:
    """The goal of one session. Safe to use from several threads."""

    def __init__(self, services: SessionServices, session_id: str, emit: Callable[[Event], None]) -> None:
        self._services = services
        self._session_id = session_id
        self._emit = emit
        self._lock = threading.Lock()
        self._goal = Goal()
        self._unsaved = False
        self._idle = 0
        """Answers in a row for which no tool was run."""
        self._unanswered = False
        """In this turn the model asked, and nobody was there."""

    def read(self) -> Goal:
        return self._goal

    @property
    def words(self) -> str:
        """What the system prompt says of it; empty: there is none to work towards."""
        return self._goal.text if self._goal.state == "open" else ""

    def load(self, goal: Goal) -> None:
        """Take over what was stored, unless one was set here meanwhile."""
        with self._lock:
            if self._unsaved:
                return
            self._goal = goal
        if goal.state:
            self._tell()

    def set(self, text: str) -> None:
        """The person's: work towards this; empty: no longer. `save` stores it."""
        text = clean_surrogates(self._services.redact(text.strip()))[: limits.GOAL_CHARS]
        with self._lock:
            if not text and self._goal.state != "open":
                return
            self._goal = Goal(text, "open") if text else Goal(self._goal.text, "given_up")
            self._unsaved = True
        self._tell()

    def begin(self, text: str) -> None:
        """A turn begins in mode goal with this message; without a goal, that is it. Raises StoreError."""
        self._idle, self._unanswered = 0, False
        if self._goal.state != "open":
            self.set(text)
        self.save()

    def save(self) -> None:
        """Store what is not stored yet. Raises StoreError."""
        with self._lock:
            if self._unsaved:
                self._services.store.set_goal(self._session_id, self._goal)
                self._unsaved = False

    def reached(self, evidence: str) -> None:
        """The model says so, and by what it shows. Raises StoreError; nothing has changed then."""
        evidence = clean_surrogates(self._services.redact(evidence))[: limits.GOAL_CHARS]
        with self._lock:
            goal = Goal(self._goal.text, "reached", evidence)
            self._services.store.set_goal(self._session_id, goal)
            self._goal, self._unsaved = goal, False
        self._tell()

    def onward(self, worked: bool) -> str | Notice:
        """Asked when a turn of mode goal has come to an answer: what to tell the model, so that it goes on.

        "" when the turn may end, a notice when it is to end although the goal is open. `worked`: a tool was run since
        the last answer.
        """
        if self._goal.state != "open":
            return ""
        if self._unanswered:
            text = "Stopped before the goal: the model needs an answer, and nobody is there. Send it as a message."
            return Notice("goal_unanswered", text, "warning")
        self._idle = 0 if worked else self._idle + 1
        most = limits.GOAL_IDLE_ANSWERS
        if self._idle >= most:
            text = f"Stopped before the goal: {most} answers in a row without any work. Send a message to go on."
            return Notice("goal_stalled", text, "warning", {"answers": most})
        return ONWARD

    def listening(self, asker: Asker) -> Asker:
        """`asker`, overheard: a question that nobody is there to answer ends the pursuit."""
        return _Listening(asker, self._note)

    def _note(self, question: Question, reply: Reply) -> None:
        self._unanswered |= question.kind == "ask_user" and reply.by == "unattended"

    def _tell(self) -> None:
        goal = self._goal
        self._emit(GoalChanged(goal.text, goal.state, goal.evidence))


@dataclass(frozen=True, slots=True)
class _Listening:
    asker: Asker
    note: Callable[[Question, Reply], None]

    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        reply = self.asker.ask(question, cancel)
        self.note(question, reply)
        return reply
