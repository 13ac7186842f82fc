"""A session's conversation as its worker sees it: read from the store, read along while another program runs a turn,
held by a lease for a turn of its own, and taken back (undo, redo, rewind)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from agent_core import events, intents, limits
from agent_core.cancel import CancelScope
from agent_core.errors import StoreError
from agent_core.messages import Message
from agent_core.mind import turn_lease
from agent_core.mind.conversation import Conversation
from agent_core.mind.turn_lease import TurnLease
from agent_core.session.outbox import Outbox
from agent_core.session.own_commands import OwnCommands
from agent_core.session.record import SessionRecord
from agent_core.session.services import SessionServices
from agent_core.session.waiting import PendingTexts
from agent_core.session.worker import Worker
from agent_core.store.bodies import end_of
from agent_core.store.db import Budget
from agent_core.store.lease import Holder


class SessionHistory:
    """On the worker's thread. `read` is called when a stored conversation was read anew and told."""

    def __init__(
        self,
        services: SessionServices,
        record: SessionRecord,
        outbox: Outbox,
        commands: OwnCommands,
        texts: PendingTexts,
        read: Callable[[Worker], None],
    ) -> None:
        self._store = services.store
        self._redact = services.redact
        self._patience = 0.0 if services.unattended else limits.LEASE_WAIT
        self._tells_end = not services.unattended
        """Whether the person is still to be told that the last turn came to no answer."""
        self._record = record
        self._outbox = outbox
        self._commands = commands
        self._texts = texts
        self._read = read

    # -- reading ------------------------------------------------------------------------------------------------

    def load(self, worker: Worker, budget: Budget = "activity") -> None:
        """Read the conversation, mend it where a crash cut it off, and tell it. Raises StoreError."""
        record = self._record
        began = time.monotonic()
        told = self._tell_end(worker) if worker.conversation is None and record.stored else None
        with record.lock:
            whole, rest, holder = self._stored(self._commands.left_to_run(), budget, told)
        if not worker.take_up(Conversation(self._store, record.id, rest, self._redact)):
            return
        self._held_by(worker, holder)
        worker.read_at = time.monotonic()
        worker.pause = max(limits.LEASE_LOOK, limits.READ_ALONG_SHARE * (worker.read_at - began))
        with self._outbox.lock:
            if whole != told:
                worker.emit(whole)
            self._commands.tell_again(whole)
        if record.stored:
            self._read(worker)
        if holder is None:
            self._tell_how_it_ended(worker, whole.messages)
        if rest is None and holder is None and whole is not told:
            from agent_core.heap import give_back  # with ctypes, which short sessions do without

            give_back()

    def _tell_how_it_ended(self, worker: Worker, messages: Sequence[Message]) -> None:
        """Once, of a conversation that was cut off before the model had said a word: by a kill, a stop or a failure."""
        told = [message for message in messages[-limits.HISTORY_TOLD :] if message.shell is None]
        last, tells = told[-1] if told else None, self._tells_end
        self._tells_end = False
        if tells and last is not None and last.role in ("user", "tool") and last.origin in ("", "steer", "agents"):
            text = "The last turn came to no answer. /retry begins it anew; a message goes on from here."
            worker.emit(events.Notice("no_answer", text))

    def _tell_end(self, worker: Worker) -> events.HistoryChanged | None:
        """Of a long session tell the end at once: whether there is something to mend is seen while it is drawn."""
        messages, earlier = self._store.end(self._record.id, limits.HISTORY_TOLD)
        if not earlier:
            return None
        told = events.HistoryChanged(tuple(messages), earlier)
        worker.emit(told)
        return told

    def _stored(
        self, running: tuple[str, ...], budget: Budget, told: events.HistoryChanged | None
    ) -> tuple[events.HistoryChanged, list[Message] | None, Holder | None]:
        """What is to be told of the conversation, all of it, and the other program that runs a turn in it.

        None in place of a long one: it is read when it is needed. Of one whose end was `told` that is all, if it needs
        no mending; beside another program's turn no more than the end is looked at.
        """
        store, session_id = self._store, self._record.id
        if not self._record.stored:
            return events.HistoryChanged((), 0), [], None
        while (holder := store.leases.holder(session_id)) is None:
            try:
                if told is not None and store.is_whole(session_id, running):
                    return told, None, None
                history = store.recover(session_id, running, budget)
            except StoreError as error:
                if error.code != "session_in_use":  # its turn has just begun
                    raise
            else:
                cut = end_of(history, limits.HISTORY_TOLD)
                return events.HistoryChanged(tuple(history[cut:]), cut), None if cut else history, None
        end, earlier = store.read_along(session_id, limits.HISTORY_TOLD)
        return events.HistoryChanged(tuple(end), earlier), None if earlier else end, holder

    # -- beside another program ---------------------------------------------------------------------------------

    def read_along(self, worker: Worker) -> None:
        """Read what another program that runs a turn here has stored meanwhile."""
        with suppress(StoreError):  # the next look may have more luck
            if self._store.leases.holder(self._record.id) is None or self._store.has_moved(self._record.id):
                self.load(worker)

    def _held_by(self, worker: Worker, holder: Holder | None) -> None:
        if holder != worker.elsewhere and worker.is_current:
            worker.elsewhere = holder
            worker.emit(events.HeldElsewhere(holder.pid, holder.since) if holder else events.HeldElsewhere(0))
            self._texts.hold_up(holder is not None)

    @contextmanager
    def lease(self, worker: Worker, scope: CancelScope) -> Iterator[TurnLease]:
        """The right to change the conversation; it is then as the store has it. Raises what `turn_lease.held` does."""
        store, session_id = self._store, self._record.id

        def waiting(holder: Holder) -> None:
            self._held_by(worker, holder)
            if time.monotonic() - worker.read_at >= worker.pause:
                self.read_along(worker)

        with turn_lease.held(store.leases, session_id, scope, waiting, self._patience, allowed=worker.check) as lease:
            worker.lease = lease
            if worker.conversation is None or worker.elsewhere is not None or store.has_moved(session_id):
                self.load(worker, "transcript")
            yield lease

    # -- taking out and putting back ----------------------------------------------------------------------------

    def take_out_or_back(self, intent: intents.Undo | intents.Redo | intents.Rewind, worker: Worker) -> None:
        """What the person asks for between two turns. Raises StoreError."""
        store, session_id, turns = self._store, self._record.id, 0
        if self._record.stored and isinstance(intent, intents.Undo):
            turns = store.undo(session_id, intent.turns)
        elif self._record.stored and isinstance(intent, intents.Rewind):
            turns = store.rewind(session_id, intent.message_id)
        elif self._record.stored:
            turns = store.redo(session_id)
        if turns:
            self.load(worker)
        elif isinstance(intent, intents.Redo):
            worker.emit(events.Notice("nothing_to_redo", "Nothing was taken out that could be put back."))
        else:
            worker.emit(events.Notice("nothing_to_undo", "There is no turn that could be taken out."))

    def rewind(self, message: Message, to: str, worker: Worker) -> Message:
        """Take the message `to` and all behind it out; returns `message` with its images. Raises StoreError."""
        old = next((m for m in worker.conversation or () if m.id == to), None)
        self._store.rewind(self._record.id, to)
        self.load(worker, "transcript")
        if old is None:
            return message
        more = tuple(part for part in message.parts if part not in old.parts)
        return replace(message, parts=(*old.parts, *more)[: limits.IMAGES_A_TURN])

    def last_said(self, worker: Worker) -> tuple[Message | None, list[Message]]:
        """What began the last turn, and what the person added to that. Raises StoreError."""
        if worker.conversation is None:
            self.load(worker)
        said = [m for m in worker.conversation or () if m.role == "user" and (m.starts_turn or m.origin == "steer")]
        first = next((at for at in reversed(range(len(said))) if said[at].starts_turn), None)
        return (None, []) if first is None else (said[first], said[first + 1 :])
