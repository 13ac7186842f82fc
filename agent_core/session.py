"""A live session: one worker thread, an inbox of intents, an outbox of events."""

from __future__ import annotations

import logging
import queue
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from agent_core import compactor, context, events, intents
from agent_core.cancel import CancelScope
from agent_core.conversation import Said, said
from agent_core.errors import StoreError
from agent_core.events import Event, SessionState
from agent_core.grants import Grants
from agent_core.messages import Message, new_id, user
from agent_core.meter import Meter
from agent_core.names import ApprovalPolicy, Mode
from agent_core.outbox import Outbox
from agent_core.own_commands import OwnCommands
from agent_core.ports.asking import Asker
from agent_core.ports.extras import Extra
from agent_core.ports.means import Goal
from agent_core.questions import Questions
from agent_core.services import SessionServices
from agent_core.session_modes import SessionModes
from agent_core.session_record import SessionRecord
from agent_core.session_rollback import nothing_to_roll_back
from agent_core.session_settings import SessionSettings
from agent_core.session_turns import SessionTurns
from agent_core.session_worker import Inbox, Item, Start, Worker
from agent_core.store.rows import SessionRow
from agent_core.waiting import PendingTexts

log = logging.getLogger(__name__)

_Move = intents.Undo | intents.Redo | intents.Rewind | intents.Resend | intents.Retry
_MOVES = (intents.Undo, intents.Redo, intents.Rewind, intents.Resend, intents.Retry)
"""What changes which words the conversation holds: never under a running turn."""


def busy() -> events.Notice:
    return events.Notice("busy", "A turn is running. Stop it first, then do this again.", "warning")


class LiveSession:
    """One conversation that can be talked to. `send` and the properties may be used from any thread and never block.

    A new session exists on disk from its first message on.
    """

    def __init__(self, services: SessionServices, row: SessionRow, *, stored: bool) -> None:
        self.id = row.id
        self.workspace = Path(row.workspace)
        self._services = services
        self._outbox = outbox = Outbox(row.id)
        self.mailbox = outbox.mailbox
        self._lock = outbox.lock
        self._emit = outbox.emit
        self._inbox: Inbox = queue.SimpleQueue()
        """The worker's."""
        self._has_turn = False
        self._failed = False
        self._state: SessionState = "idle"
        self._modes = SessionModes(services, row, outbox, lambda mode: self._inbox.put(intents.SetMode(mode)),
                                   stored=stored)  # fmt: skip
        """The worker stores a new one."""
        self._goal_wanted = ""
        """The goal that waits for mode goal to be confirmed."""
        self._questions = Questions(self._lock, self._emit, self._asks, services.approval_timeout, services.unattended)
        self._settings = SessionSettings(services, row)
        self._record = SessionRecord(services, row, outbox, self._settings, lambda: self._modes.mode, stored=stored)
        self._texts = PendingTexts(services, self._record, outbox)
        self._commands = OwnCommands(
            services, self._record, outbox, self._command_begun, self._command_ended, lambda: self._inbox.put(None)
        )
        self._turns = SessionTurns(
            services, self._record, self._settings, outbox, self._commands, self._texts, self._questions,
            lambda: self._modes.ways, self._modes.back,
        )  # fmt: skip
        self._model, self._history = self._turns.model, self._turns.history
        self._turns.kit.come = self._come
        self._worker: Worker | None = None
        """None: not begun yet, or at rest."""
        self._was_up = self._is_closed = False
        self._senders = 0
        """How many threads are about to give the worker something."""

    # -- what a face may look at --------------------------------------------------------------------------------

    @property
    def state(self) -> SessionState:
        return self._state

    @property
    def title(self) -> str:
        return self._record.title

    @property
    def mode(self) -> Mode:
        return self._modes.mode

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes there are; where commands cannot be confined and nobody has accepted that, only some."""
        return self._modes.modes

    @property
    def goal(self) -> Goal:
        """What mode goal works towards."""
        return self._turns.kit.goal.read()

    @property
    def extras(self) -> tuple[Extra, ...]:
        """What it has beside the built-in tools. The first call makes them: not on a screen's thread."""
        return self._turns.kit.extras

    @property
    def asker(self) -> Asker:
        """Puts a question before the person who looks at this session; it is shown like those of a turn."""
        return self._questions

    @property
    def grants(self) -> Grants:
        """What was allowed for this session, and for good where it works."""
        return self._turns.kit.grants

    @property
    def ways(self) -> tuple[Mode, ApprovalPolicy, str]:
        """The mode, the approval policy, and what a command runs in that asks for no more (Box.words)."""
        mode, policy = self._modes.ways
        return mode, policy, self._modes.box_words(mode)

    def forget_confirmed(self, mode: Mode) -> None:
        """What was confirmed here was taken back: entering the mode asks again."""
        self._modes.forget(mode)

    @property
    def stored(self) -> bool:
        """It has a message, and so is on disk."""
        return self._record.stored

    def context(self) -> context.Report:
        """What fills the model's window now, and what the person wants of it. Reads files: not on a screen's thread."""
        return self._turns.report(self._worker)

    def said(self) -> tuple[Said, ...]:
        """What the person said here, oldest first, exactly as they wrote it."""
        worker = self._worker
        return said(list(worker.conversation)) if worker is not None and worker.conversation is not None else ()

    def message(self, message_id: str) -> Message | None:
        """A message of the conversation as it is in memory. May take a moment; None when there is none."""
        with self._lock:
            worker = self._worker
        conversation = worker.conversation if worker is not None else None
        return next((message for message in conversation or () if message.id == message_id), None)

    @property
    def rests(self) -> bool:
        """It has no worker, no history and no connection until something is sent to it (intents.Rest)."""
        return self._was_up and self._worker is None

    @property
    def busy(self) -> bool:
        return self._state in ("running", "asking", "stopping")

    @property
    def goes_on(self) -> bool:
        """A turn runs, or something beside the turns whose result begins one."""
        return self._turns.returns.are_at_work or self.busy  # in this order: what has come is a turn by then

    # -- intents ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, or go on after a rest: load the history on the worker and tell the listener (HistoryChanged)."""
        with self._lock:
            if self._worker is None and not self._is_closed:
                first, self._was_up = not self._was_up, True
                self._new_worker(first)

    def close(self) -> None:
        """Stop the turn and end the worker; `join` waits for that."""
        with self._lock:
            if self.rests and not self.farewell:
                self._is_closed = True
                return
        self.send(intents.Close())

    @property
    def is_learning(self) -> bool:
        """Its last turn is still looked at for what later ones should know. Closing it cuts that short."""
        return self._turns.kit.is_learning

    @property
    def farewell(self) -> bool:
        """Closing it runs hooks, which may take limits.SESSION_END_HOOKS."""
        return self._turns.hooks.farewell

    def join(self, seconds: float) -> None:
        """Wait at most `seconds` for the worker and for the person's own commands."""
        deadline = time.monotonic() + seconds
        with self._lock:
            threads = self._commands.threads
            if self._worker is not None:
                threads.append(self._worker.thread)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def tell(self, event: Event) -> None:
        """Tell the session's listener something that did not come about in it."""
        self._emit(event)

    def send(self, intent: intents.Intent) -> None:
        with self._lock:
            if self._is_closed:
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
                worker = self._worker
            assert worker is not None
            self._commands.start(intent, worker)
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

    # -- texts that wait ----------------------------------------------------------------------------------------

    def _text(self, intent: intents.Steer | intents.Queue | intents.Submit | intents.Redirect) -> None:
        message = user(intent.text, intent.images if isinstance(intent, intents.Submit) else ())
        request: CancelScope | None = None
        with self._lock:
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

    def _move(self, intent: _Move) -> None:
        with self._lock:
            if self._has_turn or (self.busy and isinstance(intent, intents.Resend | intents.Retry)):
                self._emit(busy())
                if isinstance(intent, intents.Resend):
                    self._texts.give_back(user(intent.text))
            elif isinstance(intent, intents.Resend):
                self._begin(self._texts.hand(user(intent.text)), intent.message_id)
            elif isinstance(intent, intents.Retry):
                self._begin(None)
            else:
                self._inbox.put(intent)

    # -- stopping -----------------------------------------------------------------------------------------------

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

    # -- events -------------------------------------------------------------------------------------------------

    def _set_state(self, state: SessionState) -> None:
        with self._lock:
            if state != self._state:
                self._state = state
                self._emit(events.StateChanged(state))

    def _asks(self, waits: bool) -> None:
        """The first question waits, or the last one no longer does."""
        if waits and self._state == "running":
            self._set_state("asking")
        elif not waits and self._state == "asking":
            self._set_state("running")

    # -- the worker ---------------------------------------------------------------------------------------------

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
            if isinstance(item, intents.Rest):
                if self._lie_down(worker):
                    return
                continue
            try:
                # A stop also ends what is in the turn's way while another program holds the database.
                with self._services.store.database.while_not(lambda: self._state == "stopping"):
                    self._do(item, worker)
            except Exception as error:  # the worker outlives whatever goes wrong with one intent
                worker.tell_failure(error)
                if isinstance(item, Start):
                    self._finish(worker, "failed")
        self._turns.hooks.close()
        self._turns.kit.close()
        if worker.connection is not None:
            worker.connection.client.close()

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

    def _next(self, worker: Worker) -> Item:
        """What comes next; while another program runs a turn here, what that stores is read meanwhile."""
        while worker.elsewhere is not None:
            with suppress(queue.Empty):
                return worker.inbox.get(timeout=worker.pause)
            self._history.read_along(worker)
        return worker.inbox.get()

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
        if (focus := self._turns.compactor.take_wish()) is not None and finished.outcome in ("completed", "cap"):
            self._inbox.put(intents.Compact(focus))  # it came too late for a step of this turn
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
                self._settle(goes_on=outcome in ("completed", "cap") and self._state != "stopping")

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
