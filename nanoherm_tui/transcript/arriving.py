"""The reply that is arriving: its reasoning, its text and the call it writes grow as entries until it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.text import one_line
from nanoherm_tui.transcript.blocks import Card, Note

if TYPE_CHECKING:
    from nanoherm_tui.transcript.entries import Entries
    from nanoherm_tui.transcript.entry import Entry


class ArrivingReply:
    """An answer, a thought, the summary that is being written. Each method gives the entries that have changed."""

    def __init__(self, entries: Entries) -> None:
        self._list = entries
        self._answer: Entry | None = None
        self._thought: Entry | None = None
        self._call: Entry | None = None
        self._compaction: Entry | None = None

    def forget(self) -> None:
        """Another conversation is shown."""
        self._answer = self._thought = self._call = self._compaction = None

    def text(self, text: str) -> set[Entry]:
        changed = self.end_thought()
        if self._answer is None:
            self._answer = self._list.begin("answer")
        self._answer.grow(text)
        return changed | {self._answer}

    def reasoning(self, text: str) -> set[Entry]:
        if self._thought is None:
            self._thought = self._list.begin("thought")
            self._thought.started = self._list.clock()
            self._list.running[self._thought] = None
            if self._answer is not None:
                # A message's reasoning stands above its text, in whatever order they came.
                self._list.entries.insert(self._answer.index, self._list.entries.pop())
                self._list.renumber()
        self._thought.grow(text)
        return {self._thought}

    def end_thought(self) -> set[Entry]:
        """Text or a call has followed the reasoning: its time stops."""
        thought = self._thought
        if thought is None or not thought.started:
            return set()
        thought.seconds = max(0.0, self._list.clock() - thought.started)
        thought.started = 0.0
        thought.touch()
        self._list.running.pop(thought, None)
        return {thought}

    def call(self, name: str, characters: int) -> set[Entry]:
        """It writes a call; the card that stands for it until then makes room for that of the call."""
        changed = self.end_thought()
        if self._call is None:
            self._call = self._list.begin("card")
            self._list.running[self._call] = None
        self._call.card = Card(0, one_line(name), "", "arriving", characters=characters)
        self._call.touch()
        return changed | {self._call}

    def _end_call(self) -> None:
        if self._call is not None:
            self._list.running.pop(self._call, None)
            self._list.remove(self._call)
            self._call = None

    def drop(self) -> set[Entry]:
        """It broke off and is asked for again: what was read of it goes."""
        self._end_call()
        for entry in (self._answer, self._thought):
            if entry is not None:
                self._list.running.pop(entry, None)
                self._list.remove(entry)
        self._answer = self._thought = None
        return set()

    def leave(self) -> set[Entry]:
        """A reply broke off and was not stored: what was read of it stays readable."""
        self._end_call()
        changed = self.end_thought()
        for live in (self._answer, self._thought):
            if live is not None:
                live.finish(live.text)
                changed.add(live)
        self._answer = self._thought = None
        return changed

    def stored(self, id: str, text: str, reasoning: str, cut: Note | None = None) -> set[Entry]:
        """The whole message is stored under this id; `cut`: why it is not whole."""
        self._end_call()
        changed = self.end_thought()
        for kind, final, live in (("thought", reasoning, self._thought), ("answer", text, self._answer)):
            if not final.strip():
                if live is not None:
                    self._list.remove(live)
                continue
            entry_id = f"{id}-{kind}" if kind == "thought" else id
            if live is None:
                live = self._list.add("thought" if kind == "thought" else "answer", entry_id, final)
            else:
                live.id = entry_id
                live.finish(final)
            changed.add(live)
        self._answer = self._thought = None
        if cut is not None:
            changed.add(self._list.add_note(cut))
        return set(filter(self._list.is_here, changed))

    def compacts(self, count: int) -> set[Entry]:
        """A summary of `count` messages is being written."""
        self._compaction = entry = self._list.begin("thought")
        entry.summary, entry.started = count, self._list.clock()
        self._list.running[entry] = None
        return {entry}

    def compacted(self, message_id: str, text: str, count: int) -> set[Entry]:
        """What was being summarised is, or all stays as it was."""
        entry, self._compaction = self._compaction, None
        if entry is not None:
            self._list.running.pop(entry, None)
            if not message_id:
                self._list.remove(entry)
                return set()
            entry.id, entry.started = message_id, 0.0
            entry.finish(text)
        elif message_id:
            entry = self._list.add("thought", message_id, text)
        else:
            return set()
        entry.summary = count
        return {entry}
