"""A live session: one worker thread, an inbox of intents, an outbox of events."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from agent_core import events, intents, messages, prompt, shell, spill
from agent_core.agent import run_turn
from agent_core.cancel import CancelScope
from agent_core.conversation import Conversation
from agent_core.errors import AgentError, StoreError, crash
from agent_core.events import Envelope, Event, SessionState
from agent_core.kit import Kit
from agent_core.mailbox import Mailbox
from agent_core.messages import Message, new_id, user
from agent_core.names import MODES, MODES_WITHOUT_SANDBOX, SHELL, ApprovalPolicy, Mode
from agent_core.ports import (
    DeltaSink,
    LlmReply,
    LlmRequest,
)
from agent_core.questions import Questions
from agent_core.services import Connection, SessionServices
from agent_core.store.notes import Waiting
from agent_core.store.sessions import SessionRow
from agent_core.text.title import cut_title, title_of
from agent_core.turn import TurnTools
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
        self._prompts: dict[Mode, str] = {}
        self._environment: prompt.Environment | None = None
        self._context_text: str | None = None
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
        elif isinstance(intent, intents.TakeBack):
            self._take_back()
        elif isinstance(intent, intents.TextTaken):
            self._text_taken(intent.text)
        elif isinstance(intent, intents.Shell):
            self._start_shell(intent)
        elif isinstance(intent, intents.Steer | intents.Queue | intents.Submit):
            self._text(intent)
        else:
            if isinstance(intent, intents.Close):
                self._interrupt(abandon=False)
            self._inbox.put(intent)

    # -- texts that wait ----------------------------------------------------------------------------------------

    def _text(self, intent: intents.Steer | intents.Queue | intents.Submit) -> None:
        message = user(intent.text, intent.images if isinstance(intent, intents.Submit) else ())
        with self._lock:
            if not self.busy:
                # Busy from here on, so that a second text sent before the worker wakes is not taken for a new turn.
                self._begin(self._texts.hand(message))
                return
            if isinstance(intent, intents.Steer):
                self._texts.steer(message)
            else:
                self._texts.queue(message)
            self._tell_pending()

    def _begin(self, message: Message) -> None:
        self._has_turn, self._failed = True, False
        self._note_waiting()
        self._set_state("running")
        self._inbox.put(_Start(message))

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
                self._tell_returned(self._texts.return_adrift(conversation.has if conversation else lambda _: False))

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
        worker = self._worker = _Worker(self._inbox)
        worker.thread = threading.Thread(
            target=self._work, args=(worker, first), name=f"session-{self.id[:8]}", daemon=True
        )
        worker.thread.start()

    def _replace_worker(self) -> None:
        """Leave the old worker, which may be stuck or asleep, an inbox in which nothing comes but what wakes it to end."""
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
            self._load(worker)
            if first:
                self._bring_back()
        except Exception as error:  # without its history the session can still be looked at and closed
            self._tell_failure(error)
        self._return_adrift(worker)
        while True:
            item = worker.inbox.get()
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

    def _tell_failure(self, error: Exception) -> str:
        """Tell the listener of a failure; returns its code."""
        failure = error if isinstance(error, AgentError) else crash(error)
        if failure is not error:
            log.exception("session worker")
        self._emit(events.ErrorRaised(failure.code, failure.text, failure.params))
        return failure.code

    def _load(self, worker: _Worker) -> None:
        with self._row_lock:
            with self._lock:
                running = tuple(self._shells)
                self._shells_done.clear()  # the store has them
            history = self._services.store.recover(self.id, running) if self._stored else []
        conversation = Conversation(self._services.store, self.id, history, self._services.redact)
        if not worker.take_up(conversation):
            return
        ended = {message.shell.result.call_id for message in history if message.shell is not None}
        with self._lock:
            self._emit(events.HistoryChanged(tuple(history)))
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

    def _do(self, intent: intents.Intent | _Start | None, worker: _Worker) -> None:
        if intent is None:
            if worker.conversation is not None:
                self._place_shells(worker.conversation)
        elif isinstance(intent, _Start):
            self._turn(intent.message, worker)
        elif isinstance(intent, intents.SetModel):
            connection = worker.connection = self._services.connect(intent.model)
            self._tell_model(connection)
            if self._stored:
                self._services.store.set_model(self.id, connection.model, connection.provider)
        elif isinstance(intent, intents.SetMode) and self._stored:
            self._services.store.set_mode(self.id, intent.mode)
        elif isinstance(intent, intents.Undo):
            if self._stored:
                self._services.store.undo(self.id, intent.turns)
                self._load(worker)
        elif isinstance(intent, intents.Rename):
            self._rename(intent.title)

    def _turn(self, message: Message, worker: _Worker) -> None:
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
            self._make_row(message.text)
            if worker.conversation is None:  # it could not be read, or not all of a turn could be stored
                self._load(worker)
            conversation = worker.conversation
            assert conversation is not None
            self._place_shells(conversation)
            connection = self._connected(worker)
            turn = TurnTools(
                connection.client,
                conversation,
                self._kit.toolbox(self.workspace, scope, self._questions, emit, self._ways, self._tool_set_mode),
                emit,
                scope,
                self._system_prompt,
                self._services.request,
                connection.context_window,
            )
            end = run_turn(turn, message, lambda: self._at_boundary(worker), self._services.max_steps)
        except Exception as error:  # whatever went wrong before the turn began; the turn itself never raises
            code = self._tell_failure(error)
            emit(events.TurnFinished(turn_id, "failed", 0, 0.0, error_code=code))
            outcome: events.Outcome = "failed"
        else:
            code = end.error.code if end.error is not None else ""
            emit(events.TurnFinished(turn_id, end.outcome, end.steps, end.seconds, end.text, code))
            outcome = end.outcome
        self._finish(worker, outcome)
        if outcome == "failed" and code.startswith("store_"):
            worker.conversation = None  # a call's result may be missing in it; to be read anew, which mends it

    def _at_boundary(self, worker: _Worker) -> list[Message]:
        """Between two steps: the commands the person ran join the history; gives the steers that came."""
        if worker is self._worker and worker.conversation is not None:
            self._place_shells(worker.conversation)
        with self._lock:
            if worker is not self._worker:
                return []
            self._forget_stored()
            steers = self._texts.hand_steers()
            if steers:
                self._tell_pending()
            else:
                self._note_waiting()
            return steers

    def _finish(self, worker: _Worker, outcome: events.Outcome) -> None:
        """The turn is over. One that was stopped, or failed, is not followed by what waited."""
        with self._lock:
            if worker is self._worker:
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
                connection = worker.connection = self._services.connect(self._row.model)
            except AgentError as error:
                # Not kept: the next turn tries again. The message is stored all the same, and the turn says why.
                return Connection(_Unconnected(error), "", "", "")
            self._tell_model(connection)
            self._services.store.set_model(self.id, connection.model, connection.provider)
        return connection

    def _tell_model(self, connection: Connection) -> None:
        self._emit(events.ModelChanged(connection.model, connection.provider, connection.label))

    def _system_prompt(self) -> str:
        mode = self._mode
        if mode not in self._prompts:
            if self._environment is None:
                self._environment = prompt.look_around(self.workspace)
            if self._context_text is None:
                self._context_text, notices = self._services.context(self.workspace)
                for notice in notices:
                    self._emit(events.Notice("context_file", notice, "warning"))
            identity = self._services.identity()
            self._prompts[mode] = prompt.build(self._environment, mode, self._context_text, identity)
        return self._prompts[mode]

    def _ways(self) -> tuple[Mode, ApprovalPolicy]:
        return self._mode, self._policy

    def _tool_set_mode(self, mode: str) -> None:
        for known in self.modes:
            if known == mode:
                self._set_mode(known)


@dataclass(frozen=True, slots=True)
class _Start:
    """Begin a turn with this message."""

    message: Message


_Inbox = queue.SimpleQueue[intents.Intent | _Start | None]
"""Intents, turns to begin, and None: a command of the person's own has ended."""


class _Worker:
    """The thread that runs a session's turns, and what only it works with.

    One that is given up keeps all of this for itself: what it still does cannot touch what its successor works on.
    """

    def __init__(self, inbox: _Inbox) -> None:
        self.inbox = inbox
        self.thread: threading.Thread
        self.scope: CancelScope | None = None
        """Of the turn that runs."""
        self.conversation: Conversation | None = None
        """None: it has to be read."""
        self.connection: Connection | None = None
        self._lock = threading.Lock()
        self._given_up = False

    def take_up(self, conversation: Conversation) -> bool:
        """Work on `conversation` from now on; False when the worker was given up while that was read."""
        with self._lock:
            if not self._given_up:
                self.conversation = conversation
            return not self._given_up

    def give_up(self) -> None:
        """Nothing it still does is stored."""
        with self._lock:
            self._given_up = True
            if self.conversation is not None:
                self.conversation.close()


@dataclass(frozen=True, slots=True)
class _Shell:
    """A command of the person's own that runs."""

    subject: str
    private: bool
    scope: CancelScope
    thread: threading.Thread
    started: bool = False


class _Unconnected:
    """Stands for a model that could not be set up; every request fails with the reason."""

    def __init__(self, error: AgentError) -> None:
        self._error = error

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        raise self._error

    def close(self) -> None:
        pass
