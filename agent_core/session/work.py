"""What the one worker thread of a session does: the turns, one after the other, and what comes between them."""

from __future__ import annotations

import logging
import queue
import threading
import time
from contextlib import suppress
from dataclasses import replace

from agent_core import events, intents
from agent_core.cancel import CancelScope
from agent_core.errors import StoreError
from agent_core.messages import Message, new_id, user
from agent_core.mind.meter import Meter
from agent_core.session import compactor
from agent_core.session.parts import SessionParts
from agent_core.session.rollback import nothing_to_roll_back
from agent_core.session.worker import Item, Start, Worker

log = logging.getLogger(__name__)


class SessionWork(SessionParts):
    """A session that works. Any thread decides under the lock what begins; its worker does it."""

    # -- what begins ----------------------------------------------------------------------------------------------

    def _begin_between(self) -> None:
        """Something begins that is no turn, and during which none may run. Under the lock."""
        self._has_turn = True
        self._set_state("running")

    def _begin(self, message: Message | None, rewind: str = "", *, returned: bool = False) -> None:
        """Have the worker begin a turn; None: with the message of the last one. `rewind`: to this message first.
        `returned`: with what has come back from beside the turns."""
        self._has_turn, self._failed = True, False
        self._set_state("running")
        self._inbox.put(Start(message, rewind, returned))

    def _come(self) -> None:
        """Something has come back from beside the turns: it begins one, now or when the one that runs has ended."""
        with self._lock:
            if not (self.busy or self._is_closed) and self._turns.returns.may_begin():
                self._begin(None, returned=True)

    def _settle(self, *, goes_on: bool = True) -> None:
        """Without a turn: straight on with what was queued meanwhile, or has come back, or idle again.

        `goes_on` False: the turn was stopped, or failed: what came back waits for the next one.
        The person's own commands are waited for, so that what is asked after one sees what it gave.
        """
        if self._has_turn:
            return
        if self._commands.are_running:
            self._set_state("stopping" if self._state == "stopping" else "running")
            return
        message = self._texts.hand_next()
        returns = self._turns.returns
        if message is not None:
            self._begin(message)
        elif goes_on and not self._failed and returns.wanted and returns.may_begin():
            self._begin(None, returned=True)
        else:
            self._set_state("failed" if self._failed else "idle")

    def _command_begun(self) -> None:
        if not self.busy:
            self._failed = False
            self._set_state("running")

    def _command_ended(self, stopped: bool) -> None:
        if stopped and not self._has_turn:
            self._texts.return_all(self._worker.conversation if self._worker is not None else None)
        self._settle()

    # -- the worker -----------------------------------------------------------------------------------------------

    def _new_worker(self, first: bool = False) -> None:
        services = self._services
        meter = Meter(services.store.costs, self.id, services.price, services.budget, window=services.window)
        worker = self._worker = Worker(self._inbox, meter, self._outbox)
        worker.thread = threading.Thread(
            target=self._work, args=(worker, first), name=f"session-{self.id[:8]}", daemon=True
        )
        worker.thread.start()

    def _replace_worker(self) -> None:
        """Leave the old worker, which may be stuck or asleep, an inbox in which only comes what wakes it to its end."""
        old, self._inbox = self._inbox, queue.SimpleQueue()
        self._new_worker()
        with suppress(queue.Empty):  # the old one may be faster
            while True:
                self._hand_on(old.get_nowait())
        old.put(None)

    def _hand_on(self, item: Item) -> None:
        """Give the worker there is now what came for one that was given up; the turns of that one are over."""
        if not isinstance(item, Start):
            self._inbox.put(item)

    def _work(self, worker: Worker, first: bool) -> None:
        try:
            if not first:
                # What the worker before this one was just storing is stored by then, or never will be.
                self._services.store.database.await_write()
            self._history.load(worker)
            if first:
                self._texts.bring_back()
        except Exception as error:  # without its history the session can still be looked at and closed
            worker.tell_failure(error)
        with self._lock:
            if worker.is_current:
                self._texts.return_adrift(worker.conversation)
        while True:
            item = self._next(worker)
            with self._lock:
                if not worker.is_current:
                    self._hand_on(item)
                    return
            if isinstance(item, intents.Close):
                break
            try:
                if isinstance(item, intents.Rest):
                    if self._lie_down(worker):
                        return
                    continue
                # A stop also ends what is in the turn's way while another program holds the database.
                with self._services.store.database.while_not(lambda: self._state == "stopping"):
                    self._do(item, worker)
            except Exception as error:  # the worker outlives whatever goes wrong with one intent
                worker.tell_failure(error)
                if isinstance(item, Start):
                    self._finish(worker, "failed")
        try:
            self._turns.hooks.close()
        finally:
            self._turns.kit.close()
            if worker.connection is not None:
                worker.connection.client.close()

    def _next(self, worker: Worker) -> Item:
        """What comes next; while another program runs a turn here, what that stores is read meanwhile."""
        while worker.elsewhere is not None:
            with suppress(queue.Empty):
                return worker.inbox.get(timeout=worker.pause)
            try:
                self._history.read_along(worker)
            except Exception as error:  # the worker outlives it, and tries again behind what comes next
                worker.tell_failure(error)
                break
        return worker.inbox.get()

    def _lie_down(self, worker: Worker) -> bool:
        """Go to rest; False when something of the session is under way, waits, or comes in between."""
        with self._lock:
            if not self._may_rest(worker):
                return False
        self._turns.let_go(worker)  # whatever comes in between has it made anew
        with self._lock:
            if not self._may_rest(worker):
                return False
            self._worker = worker.conversation = None  # what was made for a turn may still know the worker
            self._emit(events.Resting())
        return True

    def _may_rest(self, worker: Worker) -> bool:
        """Under the lock."""
        is_wanted = self._senders or not worker.inbox.empty() or not worker.is_current or worker.elsewhere is not None
        if is_wanted or self._has_turn or self.busy:
            return False
        return self._texts.are_none and self._questions.are_none and self._commands.are_over and self._turns.are_over

    # -- what it does ---------------------------------------------------------------------------------------------

    def _do(self, intent: Item, worker: Worker) -> None:
        if intent is None:
            if worker.conversation is not None and worker.elsewhere is None:
                self._commands.place(worker.conversation)
        elif isinstance(intent, Start) and intent.returned:
            if came := self._turns.returns.take():
                self._turn(came[-1], "", worker)
            else:
                self._finish(worker, "completed")
        elif isinstance(intent, Start):
            start = intent if intent.message is not None else self._again(worker)
            if start.message is not None:
                self._turn(start.message, start.rewind, worker)
            else:
                self._emit(events.Notice("nothing_to_retry", "Nothing was said here yet that could be tried again."))
                self._finish(worker, "completed")
        elif isinstance(intent, intents.SetModel):
            self._model.change(worker, in_turn=self._has_turn)
        elif isinstance(intent, intents.SetOptions):
            if self._record.stored:
                self._settings.store(self.id)
        elif isinstance(intent, intents.SetMode) and self._record.stored:
            self._services.store.set_mode(self.id, intent.mode)
        elif isinstance(intent, intents.SetGoal) and self._record.stored:
            self._turns.kit.goal.save()
        elif isinstance(intent, intents.Undo | intents.Redo | intents.Rewind):
            self._history.take_out_or_back(intent, worker)
        elif isinstance(intent, intents.Rename):
            self._record.rename(intent.title)
        elif isinstance(intent, intents.Compact):
            self._compact(intent.focus, worker)
        elif isinstance(intent, intents.SetView):
            self._turns.store_views(worker)
        elif isinstance(intent, intents.Rollback | intents.RollbackRedo):
            self._roll_back(intent, worker)

    def _again(self, worker: Worker) -> Start:
        """The last turn's beginning, to be said again in its place; what the person added to that turn comes too."""
        first, steers = self._history.last_said(worker)
        if first is None:
            return Start(None)
        if first.origin == "agents":  # no words of the person's, which a stop would give back to them
            return Start(replace(first, id=new_id(), created=time.time()), first.id)
        with self._lock:
            for steer in steers:
                self._texts.steer(user(steer.text, steer.parts))
            return Start(self._texts.hand(user(first.text, first.parts)), first.id)

    def _turn(self, message: Message, rewind: str, worker: Worker) -> None:
        scope = CancelScope()
        with self._lock:
            if not worker.is_current:
                return
            if self._state == "stopping":  # stopped between the key and the worker's waking
                scope.cancel()
            worker.scope = scope
        finished = self._turns.run(message, rewind, worker, scope)
        self._finish(worker, finished.outcome, finished)
        self._turns.after(finished, worker)

    def _compact(self, focus: str, worker: Worker) -> None:
        """Compact between two turns; what is sent meanwhile waits."""
        if not self._record.stored:
            self._emit(compactor.too_short())
            return
        scope = CancelScope()
        with self._lock:
            if not worker.is_current:
                return
            if self._has_turn:  # one was begun meanwhile and waits for this thread: it compacts with its first step
                self._turns.compactor.wish(focus)
                return
            worker.scope = scope
            self._begin_between()
        self._finish(worker, self._turns.compact(focus, worker, scope))

    def _roll_back(self, intent: intents.Rollback | intents.RollbackRedo, worker: Worker) -> None:
        """Bring files back between two turns; what is sent meanwhile waits."""
        scope = CancelScope()
        with self._lock:
            if not worker.is_current:
                return
            worker.scope = scope
            self._begin_between()  # it may have come for a worker that was given up
        outcome: events.Outcome = "completed"
        if self._record.stored:
            outcome = self._turns.roll_back(intent, worker, scope)
        else:
            self._emit(nothing_to_roll_back())
        self._finish(worker, outcome)

    def _finish(self, worker: Worker, outcome: events.Outcome, finished: events.TurnFinished | None = None) -> None:
        """The turn is over. One that was stopped, or failed, is not followed by what waited.

        Who hears of its end can be sure that what they send then begins the next one.
        """
        try:
            worker.meter.end()
        except StoreError as error:  # no reason to lose the turn's end
            log.warning("the time of a turn was not counted: %s", error.text)
        if worker.stood_in_for and worker.connection is not None and worker.is_current:
            self._model.tell(worker, worker.connection)  # the next turn is its own again
        worker.stood_in_for = False
        with self._lock:
            if worker.is_current:
                if finished is not None:
                    self._emit(finished)
                if outcome in ("interrupted", "failed") or self._state == "stopping":
                    self._texts.return_all(worker.conversation)
                worker.scope = None
                self._has_turn, self._failed = False, outcome == "failed"
                self._texts.forget_stored(worker.conversation)
                goes_on = outcome in ("completed", "cap") and self._state != "stopping"
                self._settle(goes_on=goes_on)
                if (focus := self._turns.compactor.take_wish()) is not None and goes_on:
                    self._inbox.put(intents.Compact(focus))  # it came too late for a step of a turn
