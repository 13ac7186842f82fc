"""A live session: one worker thread, an inbox of intents, an outbox of events."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from agent_core import compactor, context, events, intents, limits, messages, shell, spill, turn_lease
from agent_core.agent import TurnEnd, run_turn
from agent_core.cancel import CancelScope, Cut
from agent_core.compactor import Compactor, Means
from agent_core.conversation import Conversation, Said, said
from agent_core.errors import AgentError, Interrupted, StoreError, crash
from agent_core.events import Envelope, Event, SessionState
from agent_core.kit import Kit
from agent_core.mailbox import Mailbox
from agent_core.messages import Message, new_id, user
from agent_core.meter import Meter
from agent_core.names import MODES, MODES_WITHOUT_SANDBOX, SHELL, ApprovalPolicy, Mode
from agent_core.ports import (
    DeltaSink,
    LlmClient,
    LlmReply,
    LlmRequest,
)
from agent_core.questions import Questions
from agent_core.services import Connection, SessionServices
from agent_core.session_prompt import SessionPrompt
from agent_core.session_settings import SessionSettings
from agent_core.store.db import Budget
from agent_core.store.lease import Holder, lost
from agent_core.store.notes import Waiting
from agent_core.store.sessions import SessionRow, end_of
from agent_core.text.title import cut_title, title_of
from agent_core.turn import TurnTools
from agent_core.turn_lease import TurnLease
from agent_core.waiting import WaitingTexts

log = logging.getLogger(__name__)


class LiveSession:
    """One conversation that can be talked to. `send` and the properties may be used from any thread and never block.

    A new session exists on disk from its first message on.
    """

    def __init__(self, services: SessionServices, row: SessionRow, *, stored: bool) -> None:
        self.id = row.id
        self.workspace = Path(row.workspace)
        self.mailbox = Mailbox()
        self._services = services
        self._row = row
        self._stored = stored
        self._lock = threading.RLock()
        self._seq = 0
        self._row_lock = threading.Lock()
        self._inbox: _Inbox = queue.SimpleQueue()
        """The worker's."""
        self._texts = WaitingTexts()
        self._noted: tuple[tuple[str, str], ...] = ()
        """What of these was written down last."""
        self._has_turn = False
        self._failed = False
        self._shells: dict[str, _Shell] = {}
        """The person's own commands that run, by call id."""
        self._shells_done: list[Message] = []
        """Those that have ended and wait for a step boundary; the store has them."""
        self._state: SessionState = "idle"
        self._mode: Mode = row.mode if row.mode in self.modes else "ask"
        self._policy: ApprovalPolicy = services.policy
        self._title = row.title
        self._questions = Questions(self._lock, self._emit, self._asks, services.approval_timeout, services.unattended)
        self._kit = Kit(services, row.id, self._emit)
        self._settings = SessionSettings(services, row)
        self._model: intents.SetModel | None = None
        """A choice that no request has been made with yet."""
        self._prompt = SessionPrompt(services, row.id, self.workspace, self._context_notice)
        self._prompt_key: tuple[str, ...] = ("", "", "")
        """What the prompt also depends on: model, provider, the text of the persona."""
        means = Means(
            services.store.views, services.connect, self._kit.todos.read, self._fixed_tokens, self._prompt.renew
        )
        self._compactor = Compactor(services.compaction, means)
        self._views: list[intents.SetView] = []
        """What the person wants requests to make of messages, until it is stored."""
        self._worker: _Worker | None = None

    # -- what a face may look at --------------------------------------------------------------------------------

    @property
    def state(self) -> SessionState:
        return self._state

    @property
    def title(self) -> str:
        return self._title

    @property
    def mode(self) -> Mode:
        return self._mode

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes there are; without a kernel sandbox only those that need none."""
        return MODES if self._services.sandboxed else MODES_WITHOUT_SANDBOX

    @property
    def stored(self) -> bool:
        """It has a message, and so is on disk."""
        return self._stored

    def context(self) -> context.Report:
        """What fills the model's window now, and what the person wants of it. Reads files: not on a screen's thread."""
        with self._lock:
            worker, wanted = self._worker, tuple(self._views)
        conversation = worker.conversation if worker is not None else None
        connection = worker.connection if worker is not None else None
        return context.report(
            list(conversation) if conversation is not None else [],
            {uid: intent.view for intent in wanted for uid in intent.message_ids},
            self._fixed_tokens(),
            self._compactor.factor,
            connection.context_window if connection is not None else None,
        )

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
    def busy(self) -> bool:
        return self._state in ("running", "asking", "stopping")

    # -- intents ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin: load the history on the worker and tell the listener (HistoryChanged)."""
        with self._lock:
            if self._worker is None:
                self._new_worker(first=True)

    def close(self) -> None:
        """Stop the turn and end the worker; `join` waits for that."""
        self.send(intents.Close())

    def join(self, seconds: float) -> None:
        """Wait at most `seconds` for the worker and for the person's own commands."""
        deadline = time.monotonic() + seconds
        with self._lock:
            threads = [running.thread for running in self._shells.values()]
            if self._worker is not None:
                threads.append(self._worker.thread)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def tell(self, event: Event) -> None:
        """Tell the session's listener something that did not come about in it."""
        self._emit(event)

    def send(self, intent: intents.Intent) -> None:
        self.start()
        if isinstance(intent, intents.Interrupt):
            self._interrupt(intent.abandon)
        elif isinstance(intent, intents.Answer):
            self._questions.answer(intent)
        elif isinstance(intent, intents.SetMode):
            self._set_mode(intent.mode)
        elif isinstance(intent, intents.SetPolicy):
            self._policy = intent.policy
        elif isinstance(intent, intents.SetOptions):
            self._set_options(intent)
        elif isinstance(intent, intents.SetModel):
            with self._lock:
                self._model = intent
                self._inbox.put(intent)
        elif isinstance(intent, intents.TakeBack):
            self._take_back()
        elif isinstance(intent, intents.TextTaken):
            self._text_taken(intent.text)
        elif isinstance(intent, intents.Shell):
            self._start_shell(intent)
        elif isinstance(intent, intents.Compact):
            with self._lock:
                if self._has_turn:
                    self._compactor.wish(intent.focus)
                else:
                    self._inbox.put(intent)
        elif isinstance(intent, intents.SetView):
            with self._lock:
                self._views.append(intent)
                self._emit(events.ViewChanged(intent.message_ids, intent.view))
                self._inbox.put(intent)
        elif isinstance(intent, intents.Steer | intents.Queue | intents.Submit | intents.Redirect):
            self._text(intent)
        elif isinstance(intent, _MOVES):
            self._move(intent)
        else:
            if isinstance(intent, intents.Close):
                self._interrupt(abandon=False)
            self._inbox.put(intent)

    # -- texts that wait ----------------------------------------------------------------------------------------

    def _text(self, intent: intents.Steer | intents.Queue | intents.Submit | intents.Redirect) -> None:
        message = user(intent.text, intent.images if isinstance(intent, intents.Submit) else ())
        request: CancelScope | None = None
        with self._lock:
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
            self._tell_pending()
        if request is not None:
            request.cancel()  # the request alone: the turn goes on with what came

    def _begin(self, message: Message | None, rewind: str = "") -> None:
        """Have the worker begin a turn; None: with the message of the last one. `rewind`: to this message first."""
        self._has_turn, self._failed = True, False
        self._note_waiting()
        self._set_state("running")
        self._inbox.put(_Start(message, rewind))

    def _move(self, intent: _Move) -> None:
        with self._lock:
            if self._has_turn or (self.busy and isinstance(intent, intents.Resend | intents.Retry)):
                self._emit(events.Notice("busy", "A turn is running. Stop it first, then do this again.", "warning"))
                if isinstance(intent, intents.Resend):
                    self._tell_returned(self._texts.bring_back([(new_id(), intent.text)]))
            elif isinstance(intent, intents.Resend):
                self._begin(self._texts.hand(user(intent.text)), intent.message_id)
            elif isinstance(intent, intents.Retry):
                self._begin(None)
            else:
                self._inbox.put(intent)

    def _take_back(self) -> None:
        with self._lock:
            self._tell_returned(self._texts.return_newest())

    def _return_pending(self) -> None:
        """After a stop, what was pending goes back to the composer: nothing runs unasked, nothing is lost."""
        self._forget_stored()
        self._tell_returned(self._texts.return_all())

    def _bring_back(self) -> None:
        """What waited when the program was killed goes to the composer too."""
        texts = self._services.store.notes.waiting(self.id) if self._stored else ()
        if texts:
            with self._lock:
                self._noted = texts
                self._tell_returned(self._texts.bring_back(texts))

    def _text_taken(self, text: str) -> None:
        with self._lock:
            self._texts.taken(text)
            self._note_waiting()

    def _return_adrift(self, worker: _Worker) -> None:
        """Of what a worker that was given up held, return what it has not stored: now that is certain."""
        with self._lock:
            if worker is self._worker:
                conversation = worker.conversation
                # Without a history nobody knows what is stored; rather twice than never.
                self._tell_returned(
                    self._texts.return_adrift(conversation.has if conversation is not None else lambda _: False)
                )
                self._note_waiting()

    def _forget_stored(self) -> None:
        if self._worker is not None and self._worker.conversation is not None:
            self._texts.forget(self._worker.conversation.has)

    def _tell_returned(self, text: str | None) -> None:
        if text is not None:
            self._tell_pending()
            self._emit(events.TextReturned(text))

    def _tell_pending(self) -> None:
        self._emit(events.PendingChanged(self._texts.steers, self._texts.queued))
        self._note_waiting()

    def _note_waiting(self) -> None:
        """Have everything written down that a crash would lose."""
        texts = self._texts.all()
        if texts != self._noted:
            self._noted = texts
            self._services.keep(Waiting(self.id, str(self.workspace), texts))

    # -- stopping -----------------------------------------------------------------------------------------------

    def _interrupt(self, abandon: bool) -> None:
        with self._lock:
            busy = self.busy
            scopes = [running.scope for running in self._shells.values()]
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
            self._shells.clear()
            self._texts.give_up()
            self._tell_returned(self._texts.return_all())
            self._replace_worker()
            self._emit(events.Notice("abandoned", "The stuck step was given up.", "warning"))
            self._set_state("idle")

    def _set_mode(self, mode: Mode) -> None:
        if mode not in self.modes:
            self._emit(
                events.ErrorRaised(
                    "mode_needs_sandbox",
                    f"Mode {mode} needs the kernel sandbox, which this build does not have yet. "
                    f"Modes now: {', '.join(self.modes)}.",
                    {"mode": mode, "modes": ", ".join(self.modes)},
                )
            )
            return
        self._mode = mode
        self._emit(events.ModeChanged(mode))
        self._inbox.put(intents.SetMode(mode))  # the worker stores it

    # -- events -------------------------------------------------------------------------------------------------

    def _emit(self, event: Event) -> None:
        with self._lock:
            self._seq += 1
            self.mailbox.put(Envelope(self.id, self._seq, time.time(), event))

    def _emitter(self, worker: _Worker | None) -> Callable[[Event], None]:
        """Tells what a worker does for as long as it is the session's."""

        def emit(event: Event) -> None:
            with self._lock:
                if worker is self._worker:
                    self._emit(event)

        return emit

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
        worker = self._worker = _Worker(self._inbox, meter)
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

    def _hand_on(self, item: intents.Intent | _Start | None) -> None:
        """Give the worker there is now what came for one that was given up; the turns of that one are over."""
        if not isinstance(item, _Start):
            self._inbox.put(item)

    def _work(self, worker: _Worker, first: bool) -> None:
        try:
            if not first:
                # What the worker before this one was just storing is stored by then, or never will be.
                self._services.store.database.await_write()
            self._load(worker)
            if first:
                self._bring_back()
        except Exception as error:  # without its history the session can still be looked at and closed
            self._tell_failure(error)
        self._return_adrift(worker)
        while True:
            item = self._next(worker)
            with self._lock:
                if worker is not self._worker:
                    self._hand_on(item)
                    return
            if isinstance(item, intents.Close):
                break
            try:
                self._do(item, worker)
            except Exception as error:  # the worker outlives whatever goes wrong with one intent
                self._tell_failure(error)
                if isinstance(item, _Start):
                    self._finish(worker, "failed")
        if worker.connection is not None:
            worker.connection.client.close()

    def _next(self, worker: _Worker) -> intents.Intent | _Start | None:
        """What comes next; while another program runs a turn here, what that stores is read meanwhile."""
        while worker.elsewhere is not None:
            with suppress(queue.Empty):
                return worker.inbox.get(timeout=worker.pause)
            self._read_along(worker)
        return worker.inbox.get()

    def _read_along(self, worker: _Worker) -> None:
        store = self._services.store
        with suppress(StoreError):  # the next look may have more luck
            if store.leases.holder(self.id) is None or store.has_moved(self.id):
                self._load(worker)

    def _held_by(self, worker: _Worker, holder: Holder | None) -> None:
        if holder != worker.elsewhere and worker is self._worker:
            worker.elsewhere = holder
            self._emit(events.HeldElsewhere(holder.pid, holder.since) if holder else events.HeldElsewhere(0))

    def _tell_failure(self, error: Exception) -> str:
        """Tell the listener of a failure; returns its code."""
        failure = error if isinstance(error, AgentError) else crash(error)
        if failure is not error:
            log.exception("session worker")
        self._emit(events.ErrorRaised(failure.code, failure.text, failure.params))
        return failure.code

    def _load(self, worker: _Worker, budget: Budget = "activity") -> None:
        began = time.monotonic()
        told = self._tell_end() if worker.conversation is None and self._stored else None
        with self._row_lock:
            with self._lock:
                running = tuple(self._shells)
                self._shells_done.clear()  # the store has them
            history, holder = self._history(running, budget, told)
        if history is None:
            assert told is not None
            whole, rest = told, None
        else:
            cut = end_of(history, limits.HISTORY_TOLD)
            whole, rest = events.HistoryChanged(tuple(history[cut:]), cut), None if cut else history
        conversation = Conversation(self._services.store, self.id, rest, self._services.redact)
        if not worker.take_up(conversation):
            return
        ended = {message.shell.result.call_id for message in whole.messages if message.shell is not None}
        self._held_by(worker, holder)
        worker.read_at = time.monotonic()
        worker.pause = max(limits.LEASE_LOOK, limits.READ_ALONG_SHARE * (worker.read_at - began))
        with self._lock:
            if whole != told:
                self._emit(whole)
            # Its cards are all there are now: those of commands that run come again, whenever they began.
            for call_id, command in self._shells.items():
                if call_id not in ended:
                    self._emit(events.ToolQueued(call_id, SHELL, command.subject, command.private))
                    if command.started:
                        self._emit(events.ToolStarted(call_id))
            for run in (message.shell for message in self._shells_done):  # those that have ended just now
                if run is not None and run.result.call_id not in ended | self._shells.keys():
                    subject = shell.subject(run.command, self._services.redact)
                    self._emit(events.ToolQueued(run.result.call_id, SHELL, subject, run.private))
                    self._emit(events.finished(run.result))
        if self._stored:
            self._kit.todos.load(self._services.store.todos(self.id))
            self._tell_used()
        if history is not None and rest is None:
            from agent_core.heap import give_back  # with ctypes, which short sessions do without

            del history
            give_back()

    def _tell_end(self) -> events.HistoryChanged | None:
        """Of a long session tell the end at once: whether there is something to mend is seen while it is drawn."""
        messages, earlier = self._services.store.end(self.id, limits.HISTORY_TOLD)
        if not earlier:
            return None
        told = events.HistoryChanged(tuple(messages), earlier)
        self._emit(told)
        return told

    def _history(
        self, running: tuple[str, ...], budget: Budget, told: events.HistoryChanged | None
    ) -> tuple[list[Message] | None, Holder | None]:
        """The conversation, and the other program that runs a turn in it.

        None in place of a long one whose end was `told` and which needs no mending: it is read when it is needed.
        """
        store = self._services.store
        if not self._stored:
            return [], None
        while (holder := store.leases.holder(self.id)) is None:
            try:
                if told is not None and store.is_whole(self.id, running):
                    return None, None
                return store.recover(self.id, running, budget), None
            except StoreError as error:
                if error.code != "session_in_use":  # its turn has just begun
                    raise
        return store.read_along(self.id), holder

    def _do(self, intent: intents.Intent | _Start | None, worker: _Worker) -> None:
        if intent is None:
            if worker.conversation is not None and worker.elsewhere is None:
                self._place_shells(worker.conversation)
        elif isinstance(intent, _Start):
            start = intent if intent.message is not None else self._again(worker)
            if start.message is not None:
                self._turn(start.message, start.rewind, worker)
            else:
                self._emit(events.Notice("nothing_to_retry", "Nothing was said here yet that could be tried again."))
                self._finish(worker, "completed")
        elif isinstance(intent, intents.SetModel):
            self._change_model(worker)
        elif isinstance(intent, intents.SetOptions):
            if self._stored:
                self._settings.store(self.id)
        elif isinstance(intent, intents.SetMode) and self._stored:
            self._services.store.set_mode(self.id, intent.mode)
        elif isinstance(intent, intents.Undo | intents.Redo | intents.Rewind):
            self._take_out_or_back(intent, worker)
        elif isinstance(intent, intents.Rename):
            self._rename(intent.title)
        elif isinstance(intent, intents.Compact):
            self._compact(intent.focus, worker)
        elif isinstance(intent, intents.SetView) and worker.conversation is not None:
            self._store_views(worker.conversation)

    def _again(self, worker: _Worker) -> _Start:
        """The last turn's beginning, to be said again in its place; what the person added to that turn comes too."""
        if worker.conversation is None:
            self._load(worker)
        said = [m for m in worker.conversation or () if m.role == "user" and (m.starts_turn or m.origin == "steer")]
        first = next((at for at in reversed(range(len(said))) if said[at].starts_turn), None)
        if first is None:
            return _Start(None)
        with self._lock:
            for steer in said[first + 1 :]:
                self._texts.steer(user(steer.text))
            return _Start(self._texts.hand(user(said[first].text, said[first].parts)), said[first].id)

    def _take_out_or_back(self, intent: intents.Undo | intents.Redo | intents.Rewind, worker: _Worker) -> None:
        store, turns = self._services.store, 0
        if self._stored and isinstance(intent, intents.Undo):
            turns = store.undo(self.id, intent.turns)
        elif self._stored and isinstance(intent, intents.Rewind):
            turns = store.rewind(self.id, intent.message_id)
        elif self._stored:
            turns = store.redo(self.id)
        if turns:
            self._load(worker)
        elif isinstance(intent, intents.Redo):
            self._emit(events.Notice("nothing_to_redo", "Nothing was taken out that could be put back."))
        else:
            self._emit(events.Notice("nothing_to_undo", "There is no turn that could be taken out."))

    def _rewind(self, message: Message, to: str, worker: _Worker) -> Message:
        """Take the message `to` and all behind it out; returns `message` with its images. Raises StoreError."""
        old = next((m for m in worker.conversation or () if m.id == to), None)
        self._services.store.rewind(self.id, to)
        self._load(worker, "transcript")
        return message if old is None or message.parts else replace(message, parts=old.parts)

    def _turn(self, message: Message, rewind: str, worker: _Worker) -> None:
        emit = self._emitter(worker)
        turn_id = new_id()
        scope = CancelScope()
        with self._lock:
            if worker is not self._worker:
                return
            if self._state == "stopping":  # stopped between the key and the worker's waking
                scope.cancel()
            worker.scope = scope
        emit(events.TurnStarted(turn_id))
        try:
            # A stop also ends the waiting for a database that another program holds.
            with self._services.store.database.while_not(lambda: scope.cancelled):
                end = self._run(message, rewind, worker, scope, emit, turn_id)
        except Interrupted:  # before the turn could begin
            finished = events.TurnFinished(turn_id, "interrupted", 0, 0.0)
        except Exception as error:  # whatever went wrong before the turn began; the turn itself never raises
            code = self._tell_failure(error)
            finished = events.TurnFinished(
                turn_id, "interrupted" if scope.cancelled else "failed", 0, 0.0, error_code=code
            )
        else:
            code = end.error.code if end.error is not None else ""
            finished = events.TurnFinished(turn_id, end.outcome, end.steps, end.seconds, end.text, code)
        code = finished.error_code
        if code == lost().code:  # which stops the turn as a person would, but nobody did
            finished = replace(finished, outcome="failed")
        self._finish(worker, finished.outcome, finished)
        if (focus := self._compactor.take_wish()) is not None and finished.outcome in ("completed", "cap"):
            self._inbox.put(intents.Compact(focus))  # it came too late for a step of this turn
        if code.startswith(("store_", "session_")):
            worker.conversation = None  # a call's result may be missing in it; to be read anew, which mends it
            if code == lost().code:
                with suppress(StoreError):
                    self._load(worker)  # what was on its way is not in the session

    def _run(
        self,
        message: Message,
        rewind: str,
        worker: _Worker,
        scope: CancelScope,
        emit: Callable[[Event], None],
        turn_id: str,
    ) -> TurnEnd:
        """The turn itself, with everything it needs. Raises AgentError for what goes wrong before it begins."""
        self._make_row(message.text)
        with self._lease(worker, scope) as lease:
            if rewind:
                message = self._rewind(message, rewind, worker)
            conversation = worker.conversation
            assert conversation is not None
            self._place_shells(conversation)
            turn = self._turn_tools(worker, conversation, scope, emit, turn_id)
            if news := self._prompt.news():
                conversation.add(user(news, origin="note"))
                emit(events.Notice("context_changed", "The guidance files have changed; the model is told."))
            end = run_turn(
                turn, message, lambda: self._at_boundary(worker), self._services.max_steps, self._compactor.ask
            )
        if lease.lost and end.error is None:
            raise lost()
        return end

    @contextmanager
    def _lease(self, worker: _Worker, scope: CancelScope) -> Iterator[TurnLease]:
        """The right to change the conversation; it is then as the store has it."""
        store, patience = self._services.store, 0.0 if self._services.unattended else limits.LEASE_WAIT

        def waiting(holder: Holder) -> None:
            self._held_by(worker, holder)
            if time.monotonic() - worker.read_at >= worker.pause:
                self._read_along(worker)

        with turn_lease.held(store.leases, self.id, scope, waiting, patience, allowed=worker.check) as lease:
            worker.lease = lease
            if worker.conversation is None or worker.elsewhere is not None or store.has_moved(self.id):
                self._load(worker, "transcript")
            yield lease

    def _turn_tools(
        self,
        worker: _Worker,
        conversation: Conversation,
        scope: CancelScope,
        emit: Callable[[Event], None],
        turn_id: str,
    ) -> TurnTools:
        connection = self._connected(worker)
        self._prompt_key = connection.model, connection.provider, self._settings.persona
        toolbox = self._kit.toolbox(self.workspace, scope, self._questions, emit, self._ways, self._tool_set_mode)
        worker.meter.begin(connection.provider, connection.model)

        def telling(event: Event) -> None:
            worker.stood_in_for |= isinstance(event, events.ModelChanged)
            emit(event)

        return TurnTools(
            _Line(lambda: self._connected(worker).client),
            conversation,
            replace(toolbox, tools=self._prompt.in_order(toolbox.tools, self._prompt_key)),
            telling,
            scope,
            self._system_prompt,
            partial(self._settings.request, turn_id),
            worker.meter,
            connection.context_window,
            worker.cut,
            self._services.guard,
            self._services.batch_timeout,
        )

    def _compact(self, focus: str, worker: _Worker) -> None:
        """Compact between two turns; what is sent meanwhile waits."""
        if not self._stored:
            self._emit(compactor.too_short())
            return
        scope = CancelScope()
        outcome: events.Outcome = "completed"
        with self._lock:
            if worker is not self._worker:
                return
            worker.scope, self._has_turn = scope, True
            self._set_state("running")
        try:
            with self._lease(worker, scope):
                assert worker.conversation is not None
                turn = self._turn_tools(worker, worker.conversation, scope, self._emitter(worker), new_id())
                self._compactor.compact(turn, focus)
        except Interrupted:
            outcome = "interrupted"
        except Exception as error:  # told, and the session can be used again
            self._tell_failure(error)
            outcome = "failed"
        self._finish(worker, outcome)

    def _store_views(self, conversation: Conversation) -> None:
        """What the person dropped, pinned or gave back acts on the next request."""
        while True:
            with self._lock:
                if not self._views:
                    return
                wanted = self._views[0]
            try:
                conversation.set_view(wanted.message_ids, wanted.view)
            except StoreError as error:  # no reason to end a turn
                self._tell_failure(error)
            with self._lock:  # only now: until then `context` counts it as wanted
                self._views = [waiting for waiting in self._views if waiting is not wanted]

    def _at_boundary(self, worker: _Worker) -> list[Message]:
        """Between two steps: the commands the person ran join the history; gives the steers that came."""
        if worker is self._worker and worker.conversation is not None:
            self._place_shells(worker.conversation)
            self._store_views(worker.conversation)
            try:
                self._change_model(worker)
            except AgentError as error:  # the turn goes on with the one it has
                self._tell_failure(error)
        with self._lock:
            if worker is not self._worker:
                return []
            self._forget_stored()
            worker.cut.mend()
            steers = self._texts.hand_steers()
            if steers:
                self._tell_pending()
            else:
                self._note_waiting()
            return steers

    def _finish(self, worker: _Worker, outcome: events.Outcome, finished: events.TurnFinished | None = None) -> None:
        """The turn is over. One that was stopped, or failed, is not followed by what waited.

        Who hears of its end can be sure that what they send then begins the next one.
        """
        try:
            worker.meter.end()
        except StoreError as error:  # no reason to lose the turn's end
            log.warning("the time of a turn was not counted: %s", error.text)
        if worker.stood_in_for and worker.connection is not None and worker is self._worker:
            self._tell_model(worker.connection)  # the next turn is its own again
        worker.stood_in_for = False
        with self._lock:
            if worker is self._worker:
                if finished is not None:
                    self._emit(finished)
                if outcome in ("interrupted", "failed") or self._state == "stopping":
                    self._return_pending()
                worker.scope = None
                self._has_turn, self._failed = False, outcome == "failed"
                self._forget_stored()
                self._settle()

    def _settle(self) -> None:
        """Without a turn: straight on with what was queued meanwhile, or idle again.

        The person's own commands are waited for, so that what is asked after one sees what it gave.
        """
        if self._has_turn:
            return
        if self._shells:
            self._set_state("stopping" if self._state == "stopping" else "running")
            return
        message = self._texts.hand_next()
        if message is not None:
            self._begin(message)
            self._tell_pending()
        else:
            self._note_waiting()
            self._set_state("failed" if self._failed else "idle")

    # -- the person's own commands ------------------------------------------------------------------------------

    def _start_shell(self, intent: intents.Shell) -> None:
        subject = shell.subject(intent.command, self._services.redact)
        if not subject:
            return
        call_id, scope = new_id(), CancelScope()
        with self._lock:
            thread = threading.Thread(
                target=self._run_shell, args=(call_id, intent, scope, self._worker), name="shell", daemon=True
            )
            self._shells[call_id] = _Shell(subject, intent.private, scope, thread)
            if not self.busy:
                self._failed = False
                self._set_state("running")
            self._emit(events.ToolQueued(call_id, SHELL, subject, intent.private))
        thread.start()

    def _run_shell(self, call_id: str, intent: intents.Shell, scope: CancelScope, worker: _Worker | None) -> None:
        emit, command = self._emitter(worker), shell.recorded(intent.command, self._services.redact)
        try:
            self._make_row()
            with self._row_lock:  # `_load` would take it for one that a crash cut off
                self._services.store.shell_started(self.id, call_id, command, intent.private)
            with self._lock:
                if call_id in self._shells:
                    self._shells[call_id] = replace(self._shells[call_id], started=True)
                emit(events.ToolStarted(call_id))
            run = shell.run(
                self._shell_place(intent.private), call_id, intent.command, intent.private, scope,
                lambda line: emit(events.ToolProgress(call_id, line)),
            )  # fmt: skip
            if worker is self._worker:
                message = messages.shell(run)
                if self._services.store.put_aside(self.id, message):
                    with self._lock:
                        self._shells_done.append(message)
                        self._inbox.put(None)
            result = run.result
        except Exception as error:  # the thread's own end: the card must come to one too
            failure = error if isinstance(error, AgentError) else crash(error)
            log.warning("shell command: %s", failure.text, exc_info=failure is not error)
            result = messages.ToolResult(call_id, SHELL, failure.text, ok=False, outcome="failed")
        with self._lock:
            emit(events.finished(result))
            if self._shells.pop(call_id, None) is not None and worker is self._worker:
                if scope.cancelled and not self._has_turn:
                    self._return_pending()
                self._settle()

    def _shell_place(self, private: bool) -> shell.ShellPlace:
        services = self._services
        return shell.ShellPlace(
            self.workspace,
            services.backend,
            services.command_env,
            services.command_timeout,
            services.data_home / (spill.PRIVATE if private else spill.FOLDER),
            services.redact,
            tuple(services.keys()),
        )

    def _place_shells(self, conversation: Conversation) -> None:
        """Give those that have ended their place in the history. On the worker's thread, at a step boundary."""
        while True:
            with self._lock:
                if not self._shells_done:
                    return
                message = self._shells_done.pop(0)
            try:
                conversation.place(message)
            except StoreError:
                with self._lock:
                    self._shells_done.insert(0, message)
                raise

    # -- the row ------------------------------------------------------------------------------------------------

    def _make_row(self, first_words: str = "") -> None:
        """See that the session is in the store, and has a title once there are words for one."""
        store = self._services.store
        with self._row_lock:
            if not self._title and (title := title_of(self._services.redact(first_words))):
                self._title = title
                self._emit(events.TitleChanged(title))
                if self._stored:
                    store.rename(self.id, title)
            if not self._stored:
                store.create(str(self.workspace), session_id=self.id, mode=self._mode, title=self._title)
                self._stored = True
                self._settings.store(self.id)

    def _rename(self, title: str) -> None:
        with self._row_lock:
            self._title = cut_title(self._services.redact(title))
            if self._stored:
                self._services.store.rename(self.id, self._title)
        self._emit(events.TitleChanged(self._title))

    def _connected(self, worker: _Worker) -> Connection:
        connection = worker.connection
        if connection is None:
            try:
                connection = worker.connection = self._connect(*self._settings.chosen)
            except AgentError as error:
                # Not kept: the next turn tries again. The message is stored all the same, and the turn says why.
                return Connection(_Unconnected(error), "", "", "")
            self._tell_model(connection)
        self._settings.store(self.id, connection.model, connection.provider)
        window = self._services.window(connection.provider, connection.model)
        if window and window != connection.context_window:
            connection = worker.connection = replace(connection, context_window=window)
        return connection

    def _connect(self, model: str, provider: str) -> Connection:
        return self._services.connect(model, provider) if provider else self._services.connect(model)

    def _change_model(self, worker: _Worker) -> None:
        """Talk to the model that was chosen last; one that cannot be set up leaves all as it is."""
        with self._lock:
            wanted, self._model = self._model, None
        if wanted is None:
            return
        connection = self._connect(wanted.model, wanted.provider)
        before, worker.connection = worker.connection, connection
        if before is not None:
            before.client.close()
        chosen = (connection.model, connection.provider) if wanted.model else ("", "")
        self._settings.choose_model(*chosen)
        if self._has_turn:
            worker.meter.begin(connection.provider, connection.model)
        self._prompt_key = connection.model, connection.provider, self._settings.persona
        self._tell_model(connection)
        if self._stored:
            self._settings.store(self.id, connection.model, connection.provider)

    def _tell_used(self) -> None:
        """What was chosen for a stored session, and what it has used, for who opens it."""
        model, provider = self._settings.chosen
        if model and self._worker is not None and self._worker.connection is None:
            self._emit(events.ModelChanged(model, provider, model))
        if not self._settings.is_usual:
            self._emit(self._settings.event())
        spent = self._services.store.costs.spent(self.id)
        if spent.models:
            self._emit(events.UsageLoaded(spent.usage, spent.cost, spent.is_partial))

    def _set_options(self, wanted: intents.SetOptions) -> None:
        try:
            changed = self._settings.take(wanted)
        except AgentError as error:
            self._tell_failure(error)
            self._emit(self._settings.event())  # as it is, for those that have gone ahead
            return
        self._prompt_key = (*self._prompt_key[:2], self._settings.persona)
        self._emit(changed)
        self._inbox.put(wanted)  # the worker stores it

    def _tell_model(self, connection: Connection) -> None:
        self._emit(events.ModelChanged(connection.model, connection.provider, connection.label))

    def _system_prompt(self) -> str:
        text = self._prompt.text(self._mode, self._prompt_key)
        self._prompt.save()
        return text

    def _fixed_tokens(self) -> Mapping[str, int]:
        return self._prompt.fixed(self._mode, self._prompt_key)

    def _context_notice(self, notice: str) -> None:
        self._emit(events.Notice("context_file", notice, "warning"))

    def _ways(self) -> tuple[Mode, ApprovalPolicy]:
        return self._mode, self._policy

    def _tool_set_mode(self, mode: str) -> None:
        for known in self.modes:
            if known == mode:
                self._set_mode(known)


@dataclass(frozen=True, slots=True)
class _Start:
    """Begin a turn with this message; None: with what began the last one."""

    message: Message | None
    rewind: str = ""
    """The message that it takes the place of, with all behind that."""


_Move = intents.Undo | intents.Redo | intents.Rewind | intents.Resend | intents.Retry
_MOVES = (intents.Undo, intents.Redo, intents.Rewind, intents.Resend, intents.Retry)
"""What changes which words the conversation holds: never under a running turn."""

_Inbox = queue.SimpleQueue[intents.Intent | _Start | None]
"""Intents, turns to begin, and None: a command of the person's own has ended."""


class _Worker:
    """The thread that runs a session's turns, and what only it works with.

    One that is given up keeps all of this for itself: what it still does cannot touch what its successor works on.
    """

    def __init__(self, inbox: _Inbox, meter: Meter) -> None:
        self.inbox = inbox
        self.thread: threading.Thread
        self.scope: CancelScope | None = None
        """Of the turn that runs."""
        self.cut = Cut()
        """Of the request that is under way in it."""
        self.conversation: Conversation | None = None
        """None: it has to be read."""
        self.connection: Connection | None = None
        self.meter = meter
        self.stood_in_for = False
        """In this turn another model has answered in the place of the connection's."""
        self.lease: TurnLease | None = None
        self.elsewhere: Holder | None = None
        """The other program that runs a turn in the session."""
        self.read_at = 0.0
        self.pause = limits.LEASE_LOOK
        """When the history was read last (monotonic), and how long to wait before it is looked at again."""
        self._lock = threading.Lock()
        self._given_up = False

    def take_up(self, conversation: Conversation) -> bool:
        """Work on `conversation` from now on; False when the worker was given up while that was read."""
        with self._lock:
            if not self._given_up:
                self.conversation = conversation
            return not self._given_up

    def check(self) -> None:
        """Raises StoreError when it was given up."""
        if self._given_up:
            raise StoreError("abandoned", "This step was given up; what it still does is not kept.")

    def give_up(self) -> None:
        """Nothing it still does is stored."""
        with self._lock:
            self._given_up = True
            if self.conversation is not None:
                self.conversation.close()
            if self.lease is not None:
                self.lease.let_go()


@dataclass(frozen=True, slots=True)
class _Shell:
    """A command of the person's own that runs."""

    subject: str
    private: bool
    scope: CancelScope
    thread: threading.Thread
    started: bool = False


class _Line:
    """Whoever a session talks to now: a model that was chosen in a running turn has its next request."""

    def __init__(self, client: Callable[[], LlmClient]) -> None:
        self._client = client

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        return self._client().complete(request, sink, cancel)

    def close(self) -> None:
        self._client().close()


class _Unconnected:
    """Stands for a model that could not be set up; every request fails with the reason."""

    def __init__(self, error: AgentError) -> None:
        self._error = error

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        raise self._error

    def close(self) -> None:
        pass
