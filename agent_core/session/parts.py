"""What a live session is made of, and what may be looked at from any thread without waiting."""

from __future__ import annotations

import queue
from pathlib import Path

from agent_core import events, intents
from agent_core.events import Event, SessionState
from agent_core.grants import Grants
from agent_core.messages import Message
from agent_core.mind import context
from agent_core.mind.conversation import Said, said
from agent_core.names import ApprovalPolicy, Mode
from agent_core.ports.asking import Asker
from agent_core.ports.extras import Extra
from agent_core.ports.means import Goal
from agent_core.session.modes import SessionModes
from agent_core.session.outbox import Outbox
from agent_core.session.own_commands import OwnCommands
from agent_core.session.questions import Questions
from agent_core.session.record import SessionRecord
from agent_core.session.services import SessionServices
from agent_core.session.settings import SessionSettings
from agent_core.session.turns import SessionTurns
from agent_core.session.waiting import PendingTexts
from agent_core.session.worker import Inbox, Worker
from agent_core.store.rows import SessionRow


class SessionParts:
    """The base of a session: its parts, its state, and what a face may ask of it."""

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

    # -- what the rooms above do --------------------------------------------------------------------------------

    def _command_begun(self) -> None:
        """A command of the person's own runs."""

    def _command_ended(self, stopped: bool) -> None:
        """None of them runs any more."""

    def _come(self) -> None:
        """Something has come back from beside the turns."""

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

    @property
    def is_learning(self) -> bool:
        """Its last turn is still looked at for what later ones should know. Closing it cuts that short."""
        return self._turns.kit.is_learning

    @property
    def farewell(self) -> bool:
        """Closing it runs hooks, which may take limits.SESSION_END_HOOKS."""
        return self._turns.hooks.farewell

    def tell(self, event: Event) -> None:
        """Tell the session's listener something that did not come about in it."""
        self._emit(event)

    # -- its state ------------------------------------------------------------------------------------------------

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
