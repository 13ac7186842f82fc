"""What a person has sent and no turn has taken up yet, and what of it went back. Plain bookkeeping, no locks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent_core.messages import Message


class WaitingTexts:
    """Each text is in one place: with the steers, queued, handed to the turn until it is stored, adrift, or returned.

    Adrift is what a turn was given that nobody hears of any more: it may or may not have been stored.

    A returned one stays until the face says that the kept draft has it. Texts are messages from the start, so that a
    crash cannot make two of one: what the store has under its id waits no more.
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
