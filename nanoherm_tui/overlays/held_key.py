"""A letter that would answer is held until it is known to stand alone: one within a word was never an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from textual import events

from nanoherm_tui import limits

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

A = TypeVar("A")
"""What the letter would do."""


class HeldKey(Generic[A]):
    """One letter at most. `alone` is called with what it does, and its key, when no other key came at once."""

    def __init__(self, owner: Widget, alone: Callable[[A, str], None]) -> None:
        self._owner, self._alone = owner, alone
        self._held: tuple[A, events.Key] | None = None
        self._timer: Timer | None = None

    def __bool__(self) -> bool:
        return self._held is not None

    @property
    def does(self) -> A | None:
        return self._held[0] if self._held is not None else None

    @property
    def character(self) -> str:
        """The letter; empty when none is held."""
        return (self._held[1].character or "") if self._held is not None else ""

    def hold(self, does: A, event: events.Key) -> None:
        self._held = (does, event)
        self._timer = self._owner.set_timer(limits.APPROVAL_ALONE, self.release)

    def drop(self) -> None:
        """It is no answer."""
        self._held = None
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def release(self) -> None:
        """It stands alone."""
        if self._held is not None:
            does, event = self._held
            self.drop()
            self._alone(does, event.key)

    def confirmed_by(self, event: events.Key) -> bool:
        """Whether `event` is the Enter that a hand presses behind a letter by habit: no read brings both."""
        return self._held is not None and event.key == "enter" and event.time - self._held[1].time >= limits.SAME_READ
