"""A live session: one worker thread, an inbox of intents, an outbox of events."""

from __future__ import annotations

import time

from agent_core import events, intents
from agent_core.cancel import CancelScope
from agent_core.messages import user
from agent_core.session.work import SessionWork

_Move = intents.Undo | intents.Redo | intents.Rewind | intents.Resend | intents.Retry
_MOVES = (intents.Undo, intents.Redo, intents.Rewind, intents.Resend, intents.Retry)
"""What changes which words the conversation holds: never under a running turn."""


_LATE = (
    intents.Steer, intents.Queue, intents.Submit, intents.Redirect, intents.Resend, intents.TextTaken,
    intents.Interrupt, intents.Answer,
)  # fmt: skip
"""What is still heeded when the session was closed: what a person said, and what its end may wait for."""


def busy() -> events.Notice:
    return events.Notice("busy", "A turn is running. Stop it first, then do this again.", "warning")


class LiveSession(SessionWork):
    """One conversation that can be talked to. `send` and the properties may be used from any thread and never block.

    A new session exists on disk from its first message on.
    """

    def start(self) -> None:
        """Begin, or go on after a rest: load the history on the worker and tell the listener (HistoryChanged)."""
        with self._lock:
            if self._worker is None and not self._is_closed:
                first, self._was_up = not self._was_up, True
                self._new_worker(first)

    def close(self) -> None:
        """Stop the turn and end the worker; `join` waits for that. What is said from here on waits for who opens the
        session again, and no command is begun any more."""
        with self._lock:
            if self._is_closed:
                return
            works = not self.rests or self.farewell
            if works:
                self.start()
            self._is_closed = True
        if works:
            self._give(intents.Close())

    def join(self, seconds: float) -> None:
        """Wait at most `seconds` for the worker and for the person's own commands."""
        deadline = time.monotonic() + seconds
        with self._lock:
            threads = self._commands.threads
            if self._worker is not None:
                threads.append(self._worker.thread)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def send(self, intent: intents.Intent) -> None:
        with self._lock:
            if self._is_closed and not isinstance(intent, _LATE):
                return
            if isinstance(intent, intents.Rest):  # it counts as no use of the session
                if self._worker is not None:
                    self._inbox.put(intent)
                return
            self._senders += 1
            self.start()
        try:
            self._give(intent)
        finally:
            with self._lock:
                self._senders -= 1

    def _give(self, intent: intents.Intent) -> None:
        if isinstance(intent, intents.Interrupt):
            self._interrupt(intent.abandon)
        elif isinstance(intent, intents.Answer):
            self._questions.answer(intent)
        elif isinstance(intent, intents.SetMode):
            self._set_mode(intent)
        elif isinstance(intent, intents.SetGoal):
            self._set_goal(intent)
        elif isinstance(intent, intents.SetPolicy):
            self._modes.policy = intent.policy
        elif isinstance(intent, intents.SetOptions):
            if self._model.set_options(intent):
                self._inbox.put(intent)  # the worker stores it
        elif isinstance(intent, intents.SetModel):
            with self._lock:
                self._model.choose(intent)
                self._inbox.put(intent)
        elif isinstance(intent, intents.TakeBack):
            if not self._texts.take_back():
                self._interrupt(abandon=False)
        elif isinstance(intent, intents.TextTaken):
            self._texts.taken(intent.text)
        elif isinstance(intent, intents.Shell):
            with self._lock:
                if self._worker is not None and not self._is_closed:  # it may have been closed just now
                    self._commands.start(intent, self._worker)
        elif isinstance(intent, intents.Compact):
            with self._lock:
                if self._has_turn:
                    self._turns.compactor.wish(intent.focus)
                else:
                    self._inbox.put(intent)
        elif isinstance(intent, intents.SetView):
            with self._lock:
                ours = self._worker is not None and self._worker.elsewhere is None
                self._turns.set_view(intent, in_turn=self._has_turn and ours)
                self._inbox.put(intent)
        elif isinstance(intent, intents.Steer | intents.Queue | intents.Submit | intents.Redirect):
            self._text(intent)
        elif isinstance(intent, _MOVES):
            self._move(intent)
        elif isinstance(intent, intents.KillTask | intents.KeepTask):
            if (tasks := self._turns.kit.tasks) is not None:
                tasks.obey(intent)
        elif isinstance(intent, intents.StopAgent | intents.SteerAgent):
            self._turns.kit.heed(intent)
        elif isinstance(intent, intents.Rollback | intents.RollbackRedo):
            with self._lock:
                if self.busy:
                    self._emit(busy())
                else:
                    self._begin_between()
                    self._inbox.put(intent)
        else:
            if isinstance(intent, intents.Close):
                self._interrupt(abandon=False)
            self._inbox.put(intent)

    # -- texts ----------------------------------------------------------------------------------------------------

    def _text(self, intent: intents.Steer | intents.Queue | intents.Submit | intents.Redirect) -> None:
        message = user(intent.text, intent.images if isinstance(intent, intents.Submit) else ())
        request: CancelScope | None = None
        with self._lock:
            if self._is_closed:
                self._texts.give_back(message)
                return
            self._turns.returns.person_spoke()
            if not self.busy:
                # Busy from here on, so that a second text sent before the worker wakes is not taken for a new turn.
                self._begin(self._texts.hand(message))
                return
            if isinstance(intent, intents.Steer | intents.Redirect):
                self._texts.steer(message)
            else:
                self._texts.queue(message)
            if isinstance(intent, intents.Redirect) and self._worker is not None:
                request = self._worker.cut.want()
        if request is not None:
            request.cancel()  # the request alone: the turn goes on with what came

    def _move(self, intent: _Move) -> None:
        with self._lock:
            if self._is_closed:
                if isinstance(intent, intents.Resend):
                    self._texts.give_back(user(intent.text))
            elif self._has_turn or (self.busy and isinstance(intent, intents.Resend | intents.Retry)):
                self._emit(busy())
                if isinstance(intent, intents.Resend):
                    self._texts.give_back(user(intent.text))
            elif isinstance(intent, intents.Resend):
                self._begin(self._texts.hand(user(intent.text)), intent.message_id)
            elif isinstance(intent, intents.Retry):
                self._begin(None)
            else:
                self._inbox.put(intent)

    # -- stopping -------------------------------------------------------------------------------------------------

    def _interrupt(self, abandon: bool) -> None:
        with self._lock:
            busy = self.busy
            scopes = self._commands.scopes
            if self._worker is not None and self._worker.scope is not None:
                scopes.append(self._worker.scope)
            if busy:
                self._set_state("stopping")
        for scope in scopes:
            scope.cancel()
        if abandon and busy:
            self._abandon()

    def _abandon(self) -> None:
        """Give the stuck worker up: what it still does is neither stored nor heard.

        Whether the store has what it was given to store is known when the next worker has read the history.
        """
        with self._lock:
            if self._worker is not None:
                self._worker.give_up()
            self._has_turn = False
            self._commands.give_up()
            self._texts.give_up()
            self._replace_worker()
            self._emit(events.Notice("abandoned", "The stuck step was given up.", "warning"))
            self._set_state("idle")

    # -- modes and goals ------------------------------------------------------------------------------------------

    def _set_mode(self, intent: intents.SetMode) -> None:
        wanted, self._goal_wanted = self._goal_wanted, ""
        if intent.mode == "goal" and wanted:
            self._modes.want("goal", intent.confirmed, lambda: self._pursue(wanted))
        else:
            self._modes.want(intent.mode, intent.confirmed)

    def _set_goal(self, intent: intents.SetGoal) -> None:
        text = intent.text.strip()
        if text:
            self._goal_wanted = text
            self._modes.want("goal", then=lambda: self._pursue(text))
            return
        self._goal_wanted = ""
        self._turns.kit.goal.set("")
        self._inbox.put(intent)
        self._modes.back("goal")

    def _pursue(self, goal: str) -> None:
        """Mode goal holds: begin a turn with the goal, or tell the running one."""
        self._goal_wanted = ""
        self._turns.kit.goal.set(goal)
        self.send(intents.Steer(goal))
