"""What takes long is told of now and then: rarely, and ever more rarely. Pure: moments in, lines out."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.text import clean, duration, one_line

MODEL: Final = "model"
"""The id of waiting for the model; the others are calls."""


@dataclass(frozen=True, slots=True)
class _Wait:
    words: str
    """What is waited for."""
    began: float
    """Monotonic seconds."""
    told: int = 0
    """How often it was told of."""
    newest: str = ""
    """Its newest line, if it was not told yet."""

    @property
    def next(self) -> float:
        """When it is to be told of again."""
        first = limits.PLAIN_STILL
        after = first[self.told] if self.told < len(first) else first[-1] * (self.told - len(first) + 2)
        return self.began + after


class Waits:
    """All that is waited for."""

    def __init__(self) -> None:
        self._waits: dict[str, _Wait] = {}

    def begin(self, id: str, words: str, now: float) -> None:
        self._waits[id] = _Wait(words, now)

    def heard(self, id: str, text: str) -> None:
        """Its newest line."""
        if (wait := self._waits.get(id)) is not None:
            self._waits[id] = replace(wait, newest=text)

    def end(self, id: str) -> None:
        self._waits.pop(id, None)

    def clear(self) -> None:
        self._waits.clear()

    @property
    def next(self) -> float:
        """When there is something to tell, in monotonic seconds; infinity: never."""
        return min((wait.next for wait in self._waits.values()), default=float("inf"))

    def due(self, now: float) -> list[str]:
        """A line for each that has taken so long by now; each is told of once, however late it is looked at."""
        lines = []
        for id, wait in self._waits.items():
            if wait.next > now:
                continue
            took = duration(now - wait.began)
            newest = one_line(clean(wait.newest))
            if id == MODEL and newest:
                lines.append(t("plain.still_writes", took=took, call=newest))
            elif id == MODEL:
                lines.append(t("plain.still_model", took=took))
            elif newest:
                lines.append(t("plain.still_says", call=wait.words, took=took, text=newest))
            else:
                lines.append(t("plain.still", call=wait.words, took=took))
            told = wait.told
            while replace(wait, told=told).next <= now:
                told += 1
            self._waits[id] = replace(wait, told=told, newest="")
        return lines
