"""What a person has sent and no turn has taken up yet, and what of it went back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent_core.events import PendingChanged, TextReturned
from agent_core.messages import Message
from agent_core.mind.conversation import Conversation
from agent_core.session.outbox import Outbox
from agent_core.session.record import SessionRecord
from agent_core.session.services import SessionServices
from agent_core.store.notes import Waiting


class PendingTexts:
    """The waiting texts of one session: what becomes of them is told, and noted down before a crash can lose them.

    Safe to use from any thread; what belongs together is done under the session's lock.
    """

    def __init__(self, services: SessionServices, record: SessionRecord, outbox: Outbox) -> None:
        self._services = services
        self._record = record
        self._outbox = outbox
        self._lock = outbox.lock
        self._texts = WaitingTexts()
        self._noted: tuple[tuple[str, str], ...] = ()
        """What of these was written down last."""
        self._held_up = False
        """Another program runs a turn in the session: what was handed to ours waits like what is queued."""

    @property
    def are_none(self) -> bool:
        """Nothing waits, and nothing that came back is still to be taken."""
        return not self._texts.all()

    def hand(self, message: Message) -> Message:
        """Note that `message` is given to the turn, now; returns it as it will be stored."""
        with self._lock:
            handed = self._texts.hand(message)
            if self._held_up:
                self._tell()
            else:
                self._note()
            return handed

    def hold_up(self, held_up: bool) -> None:
        """Another program's turn stands before ours, or no longer does."""
        with self._lock:
            self._held_up = held_up
            if self._texts.handed:
                self._tell()

    def hand_steers(self) -> list[Message]:
        """The steers that came, given to the turn."""
        with self._lock:
            steers = self._texts.hand_steers()
            if steers:
                self._tell()
            else:
                self._note()
            return steers

    def hand_next(self) -> Message | None:
        """What begins the next turn, given to it; None when nothing waits."""
        with self._lock:
            message = self._texts.hand_next()
            if message is not None:
                self._tell()
            else:
                self._note()
            return message

    def steer(self, message: Message) -> None:
        """Have it wait for the turn's next step."""
        with self._lock:
            self._texts.steer(message)
            self._tell()

    def queue(self, message: Message) -> None:
        """Have it wait for the turn's end."""
        with self._lock:
            self._texts.queue(message)
            self._tell()

    def take_back(self) -> bool:
        """The newest goes back to the composer; False: it waits for another program, with the turn that it begins."""
        with self._lock:
            newest = self._texts.return_newest()
            self._return(newest)
            return newest is not None or not (self._held_up and self._texts.handed)

    def return_all(self, conversation: Conversation | None) -> None:
        """After a stop, what was pending goes back to the composer: nothing runs unasked, nothing is lost."""
        with self._lock:
            self.forget_stored(conversation)
            self._return(self._texts.return_all())

    def give_back(self, message: Message) -> None:
        """What could not be taken goes back to the composer."""
        with self._lock:
            self._return(self._texts.bring_back([(message.id, message.text)]))

    def give_up(self) -> None:
        """The turn that has what was handed is given up; what waited goes back to the composer."""
        with self._lock:
            self._texts.give_up()
            self._return(self._texts.return_all())

    def return_adrift(self, conversation: Conversation | None) -> None:
        """Of what a worker that was given up held, return what it has not stored: now that is certain."""
        with self._lock:
            # Without a history nobody knows what is stored; rather twice than never.
            self._return(self._texts.return_adrift(conversation.has if conversation is not None else lambda _: False))
            self._note()

    def bring_back(self) -> None:
        """What waited when the program was killed goes to the composer too. Raises StoreError."""
        texts = self._services.store.notes.waiting(self._record.id) if self._record.stored else ()
        if texts:
            with self._lock:
                self._noted = texts
                self._return(self._texts.bring_back(texts))

    def taken(self, text: str) -> None:
        """The kept draft has a returned text."""
        with self._lock:
            self._texts.taken(text)
            self._note()

    def forget_stored(self, conversation: Conversation | None) -> None:
        """Let go of what was handed to the turn and is stored."""
        with self._lock:
            if conversation is not None:
                self._texts.forget(conversation.has)

    def _return(self, text: str | None) -> None:
        if text is not None:
            self._tell()
            self._outbox.emit(TextReturned(text))

    def _tell(self) -> None:
        held_up = self._texts.handed if self._held_up else ()
        self._outbox.emit(PendingChanged(self._texts.steers, (*held_up, *self._texts.queued)))
        self._note()

    def _note(self) -> None:
        texts = self._texts.all()
        if texts != self._noted:
            self._noted = texts
            self._services.keep(Waiting(self._record.id, str(self._record.workspace), texts))


class WaitingTexts:
    """Each text is in one place: with the steers, queued, handed to the turn until it is stored, adrift, or returned.

    Adrift is what a turn was given that nobody hears of any more: it may or may not have been stored.

    A returned one stays until the face says that the kept draft has it. Texts are messages from the start, so that a
    crash cannot make two of one: what the store has under its id waits no more. Plain bookkeeping, no locks.
    """

    def __init__(self) -> None:
        self._steers: list[Message] = []
        self._queued: list[Message] = []
        self._handed: list[Message] = []
        self._adrift: list[Message] = []
        self._returned: list[tuple[str, list[Message]]] = []

    @property
    def steers(self) -> tuple[str, ...]:
        return tuple(message.text for message in self._steers)

    @property
    def queued(self) -> tuple[str, ...]:
        return tuple(message.text for message in self._queued)

    @property
    def handed(self) -> tuple[str, ...]:
        return tuple(message.text for message in self._handed)

    def all(self) -> tuple[tuple[str, str], ...]:
        """(message id, text) of everything that a crash would lose, oldest first."""
        returned = [message for _, messages in self._returned for message in messages]
        waiting = [*returned, *self._adrift, *self._handed, *self._steers, *self._queued]
        return tuple((message.id, message.text) for message in waiting)

    def steer(self, message: Message) -> None:
        self._steers.append(replace(message, origin="steer"))

    def queue(self, message: Message) -> None:
        self._queued.append(message)

    def hand(self, message: Message) -> Message:
        """Note that `message` is given to the turn, now; returns it as it will be stored."""
        message = replace(message, created=time.time())
        self._handed.append(message)
        return message

    def hand_steers(self) -> list[Message]:
        """The steers that came, given to the turn."""
        steers, self._steers = self._steers, []
        return [self.hand(message) for message in steers]

    def hand_next(self) -> Message | None:
        """What begins the next turn: a steer that came too late for the last one was meant for it and goes first."""
        self._queued = [*(replace(message, origin="") for message in self._steers), *self._queued]
        self._steers = []
        return self.hand(self._queued.pop(0)) if self._queued else None

    def forget(self, is_stored: Callable[[str], bool]) -> None:
        """Let go of what was handed to the turn and is stored."""
        self._handed = [message for message in self._handed if not is_stored(message.id)]

    def return_newest(self) -> str | None:
        """Take the newest back; None when nothing waits."""
        waiting = self._queued or self._steers
        return self._give_back([waiting.pop()]) if waiting else None

    def return_all(self) -> str | None:
        """Take everything back; None when nothing waits."""
        waiting = [*self._handed, *self._steers, *self._queued]
        self._handed, self._steers, self._queued = [], [], []
        return self._give_back(waiting) if waiting else None

    def give_up(self) -> None:
        """The turn that has what was handed is not heard of any more."""
        self._adrift += self._handed
        self._handed = []

    def return_adrift(self, is_stored: Callable[[str], bool]) -> str | None:
        """Take back what is adrift and not stored; None when there is no such text."""
        lost = [message for message in self._adrift if not is_stored(message.id)]
        self._adrift = []
        return self._give_back(lost) if lost else None

    def bring_back(self, texts: Sequence[tuple[str, str]]) -> str:
        """Return what `all` had been before the program was killed."""
        return self._give_back([Message("user", text, id=uid) for uid, text in texts])

    def taken(self, text: str) -> None:
        """The kept draft has a returned text."""
        at = next((i for i, (returned, _) in enumerate(self._returned) if returned == text), None)
        if at is not None:
            del self._returned[at]

    def _give_back(self, messages: list[Message]) -> str:
        text = "\n".join(message.text for message in messages)
        self._returned.append((text, messages))
        return text
