"""The cards of the calls that have been made, from the queue to their results, and which of them wait."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core.limits import SUBJECT_CHARS
from agent_core.names import SHELL
from nanoherm_tui.text import one_line
from nanoherm_tui.transcript.blocks import Card, CardState
from nanoherm_tui.transcript.cards import finished

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_core import events
    from nanoherm_tui.transcript.entries import Entries
    from nanoherm_tui.transcript.entry import Entry


class CallCards:
    """The entries of calls, by their ids. What changes one gives the entries that look different now."""

    def __init__(self, entries: Entries) -> None:
        self._list = entries
        self.by_id: dict[str, Entry] = {}
        self._unfinished: dict[Entry, None] = {}
        self._questions: dict[str, str] = {}  # question id → call id

    def forget(self) -> None:
        """Another conversation is shown."""
        self.by_id.clear()
        self._unfinished.clear()
        self._questions.clear()

    def put(self, call_id: str) -> Entry:
        """An entry for a call at the end, which has no card yet."""
        entry = self.by_id[call_id] = self._list.add("card", call_id)
        return entry

    def wait(self, entries: Iterable[Entry]) -> None:
        """These calls of a stored conversation have no result yet."""
        self._unfinished.update(dict.fromkeys(entries))

    def add(self, call_id: str, name: str, subject: str) -> Entry:
        """A call is to be made."""
        known = self.by_id.get(call_id)
        if known is not None and known in self._unfinished:
            return known
        entry = self.put(call_id)
        entry.card = Card(0, one_line(name), one_line(subject)[:SUBJECT_CHARS])
        self._unfinished[entry] = None
        return entry

    def update(
        self,
        call_id: str,
        *,
        state: CardState | None = None,
        started: float | None = None,
        progress: str | None = None,
        only: CardState | None = None,
    ) -> set[Entry]:
        """Change the card of a call that has no result, if its state is `only`."""
        entry = self.by_id.get(call_id)
        if entry is None or entry.card is None or (only and entry.card.state != only):
            return set()
        card = entry.card
        if card.state in ("done", "failed"):
            return set()
        entry.card = replace(
            card,
            state=card.state if state is None else state,
            started=card.started if started is None else started,
            progress=card.progress if progress is None else progress,
        )
        if entry.card.state == "running":
            self._list.running[entry] = None
        else:
            self._list.running.pop(entry, None)
        self._unfinished[entry] = None
        entry.touch()
        return {entry}

    def asks(self, question_id: str, call_id: str) -> set[Entry]:
        """A call waits for an answer."""
        self._questions[question_id] = call_id
        return self.update(call_id, state="asks") | self._follow_questions()

    def answered(self, question_id: str) -> set[Entry]:
        """It waits for it no more."""
        call_id = self._questions.pop(question_id, "")
        return self.update(call_id, only="asks", state="waiting") | self._follow_questions()

    def starts(self, call_id: str) -> set[Entry]:
        """A call runs."""
        changed = self.update(call_id, state="running", started=self._list.clock(), progress="")
        return changed | self._follow_questions()

    def end(self, call_id: str, event: events.ToolEnded) -> set[Entry]:
        """It has ended; its result is still to come."""
        entry = self.by_id.get(call_id)
        if entry is None or entry.card is None:
            return set()
        state: CardState = "done" if event.ok else "failed"
        entry.card = replace(
            entry.card, state=state, outcome=one_line(event.outcome), seconds=event.seconds, progress="", started=0.0
        )
        self._list.running.pop(entry, None)
        entry.touch()
        return {entry}

    def finish(self, event: events.ToolFinished) -> set[Entry]:
        """Its result is there."""
        entry = self.by_id.get(event.call_id)
        if entry is None or entry.card is None:
            entry = self.add(event.call_id, event.name, "")
            assert entry.card is not None
        entry.card = finished(entry.card, event)
        entry.open = entry.open or entry.card.name == SHELL  # it was run to be read
        entry.finish(event.text)
        self._list.running.pop(entry, None)
        self._unfinished.pop(entry, None)
        return {entry}

    def end_turn(self) -> set[Entry]:
        """Calls that still have no result will never get one; a late result would still be shown.

        The person's own commands go on: they belong to no turn.
        """
        changed: set[Entry] = set()
        for entry in list(self._unfinished):
            if entry.card is not None and entry.card.name == SHELL:
                continue
            del self._unfinished[entry]
            self._list.running.pop(entry, None)
            if entry.card is not None:
                entry.card = replace(entry.card, state="lost", progress="")
                entry.touch()
                changed.add(entry)
        return changed

    def _follow_questions(self) -> set[Entry]:
        """Results come in the order of the calls: a call behind one that asks waits, even if it has ended long ago."""
        changed: set[Entry] = set()
        asks = False
        for entry in list(self._unfinished):
            card = entry.card
            if card is None or card.name == SHELL:
                continue
            asks = asks or card.state == "asks"
            state: CardState = "waiting" if asks else "running"
            if card.started and card.state in ("running", "waiting") and card.state != state:
                changed |= self.update(entry.id, state=state)
        return changed
