"""The questions of one session that wait for a person: an implementation of ports.Asker over events and intents."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.events import Event, QuestionAsked, QuestionClosed
from agent_core.intents import Answer
from agent_core.ports.asking import Question, Reply


class Questions:
    """Asks a person through `emit`, and waits at most `seconds`; `unattended`, the answer is no at once.

    `asking(True)` is called when the first question begins to wait, `asking(False)` when the last one is closed; both,
    and `emit`, under `lock`, so that what a listener hears is in order.
    """

    def __init__(
        self,
        lock: threading.RLock,
        emit: Callable[[Event], None],
        asking: Callable[[bool], None],
        seconds: float,
        unattended: bool,
    ) -> None:
        self._lock = lock
        self._emit = emit
        self._asking = asking
        self._seconds = seconds
        self._unattended = unattended
        self._waiting: dict[str, _Waiting] = {}

    @property
    def are_none(self) -> bool:
        """Nobody is waited for."""
        return not self._waiting

    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        """Show the question, wait for the answer, the deadline or a stop. Raises Interrupted."""
        if self._unattended:
            return Reply("refuse", by="unattended")
        waiting = _Waiting(question)
        with self._lock:
            self._waiting[question.id] = waiting
            self._emit(QuestionAsked(question, time.time() + self._seconds))
            self._asking(True)
        try:
            with cancel.closing(waiting.wake):
                waiting.done.wait(self._seconds)
            if cancel.cancelled:
                reply = Reply("refuse", by="interrupt")
                raise Interrupted
            reply = waiting.reply or Reply("refuse", by="timeout")
            return reply
        finally:
            with self._lock:
                del self._waiting[question.id]
                if not self._waiting:
                    self._asking(False)
                self._emit(QuestionClosed(question.id, reply.decision, reply.by))

    def answer(self, answer: Answer) -> None:
        """Take a person's answer; one that comes too late, behind another one too, or that was not offered, is none."""
        with self._lock:
            waiting = self._waiting.get(answer.question_id)
            if waiting is None or waiting.reply is not None or answer.decision not in waiting.question.decisions:
                return
            waiting.reply = Reply(
                answer.decision, answer.text, pattern=answer.pattern, refused=answer.refused, values=answer.values
            )
        waiting.wake()


class _Waiting:
    """A question that waits; `wake` ends the waiting whether or not there is a reply."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.done = threading.Event()
        self.reply: Reply | None = None
        self.wake = self.done.set
