"""Events → the blocks of a transcript. No Textual here: the same reducer serves live sessions and stored ones.

A transcript is a list of entries, one for each user message, answer, thought, tool call and note. An entry's blocks are
made when they are first asked for, so a session of 20,000 messages opens without being parsed.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from agent_core import events
from agent_core.limits import SUBJECT_CHARS
from agent_core.messages import Rollback
from nanoherm_tui.text import clean, one_line
from nanoherm_tui.transcript.arriving import ArrivingReply
from nanoherm_tui.transcript.blocks import Block, Card, Note
from nanoherm_tui.transcript.call_cards import CallCards
from nanoherm_tui.transcript.cards import default_subject, returned_card, shell_card, stored_card
from nanoherm_tui.transcript.entries import Entries, cut_short
from nanoherm_tui.transcript.entry import Entry, can_open
from nanoherm_tui.transcript.notes import remembered, rolled_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agent_core.delegation import AgentRow
    from agent_core.events import Event
    from agent_core.messages import Message, ToolCall


class TranscriptModel(Entries):
    """The entries of one session, kept by `apply` (live) or `load` (stored); both come to the same.

    `subject` gives a stored call's subject, `clock` the time in seconds since the epoch. Not thread-safe: it belongs
    to the thread that draws.
    """

    def __init__(
        self,
        *,
        subject: Callable[[ToolCall], str] = default_subject,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(clock)
        self.earlier = 0
        """How many messages come before its entries that have not been read yet (`prepend`)."""
        self.first = ""
        """The id of the first message it was made from."""
        self.prepended = 0
        """How many entries have been put in front."""
        self.place: object = None
        """Where a view keeps the reader's place in this session; the model does not look inside."""
        self._subject = subject
        self._reply = ArrivingReply(self)
        self._calls = CallCards(self)
        self._below: list[Note] = []

    # -- events ---------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> set[Entry]:
        """Take one event in; returns the entries that look different now (taken-out ones show in `structure`)."""
        match event:
            case events.TextDelta(text):
                return self._reply.text(text)
            case events.ReasoningDelta(text):
                return self._reply.reasoning(text)
            case events.ToolProgress(call_id, text):
                return self._calls.update(call_id, progress=one_line(text)[:SUBJECT_CHARS])
            case events.UserMessage():
                return {self._add_user(event.message_id, event.text, self.clock(), event.images)}
            case events.AgentsReturned(message_id, text, agents):
                return {self._add_returned(message_id, text, agents)}
            case events.AssistantMessage():
                cut = cut_short(event.stopped) if event.interrupted else None
                return self._reply.stored(event.message_id, event.text, event.reasoning, cut)
            case events.ToolArriving(name, characters):
                return self._reply.call(name, characters)
            case events.ToolQueued(call_id, name, subject):
                return self._reply.end_thought() | {self._calls.add(call_id, name, subject)}
            case events.ToolStarted(call_id):
                return self._calls.starts(call_id)
            case events.ToolEnded(call_id):
                return self._calls.end(call_id, event)
            case events.ToolFinished():
                return self._calls.finish(event)
            case events.QuestionAsked(question):
                return self._calls.asks(question.id, question.call_id)
            case events.QuestionClosed(question_id):
                return self._calls.answered(question_id)
            case events.StepStarted():
                return self._reply.leave()
            case events.PartialDropped():
                return self._reply.drop()
            case events.CompactionStarted(count):
                return self._reply.compacts(count)
            case events.CompactionFinished(message_id, text, count):
                return self._reply.compacted(message_id, text, count)
            case events.Notice():
                note = Note(0, event.text, event.level, event.code, event.params)
                return {self.add_note(note)}
            case events.ErrorRaised():
                return {self.add_note(Note(0, event.text, "error", event.code, event.params))}
            case events.FilesRolledBack():
                done = Rollback(event.paths, event.left, event.redo)
                return {self.add_note(note) for note in rolled_back(done)}
            case events.Remembered():
                return {self.add_note(note) for note in remembered(event)}
            case events.TurnFinished():
                return self._end_turn()
            case events.HistoryChanged(messages, earlier):
                self.load(messages, earlier=earlier)
                return set()
            case _:
                return set()

    def _end_turn(self) -> set[Entry]:
        return self._calls.end_turn() | self._reply.leave()

    # -- stored conversations -------------------------------------------------------------------------------------

    def load(self, messages: Iterable[Message], *, running: bool = False, earlier: int = 0) -> None:
        """Replace everything by a stored conversation. With `running` its turn goes on: open calls still wait.

        `earlier` messages come before these and may follow with `prepend`.
        """
        messages = tuple(messages)
        self.earlier, self.first = earlier, messages[0].id if messages else ""
        self.entries = []
        self.running.clear()
        self._calls.forget()
        self._reply.forget()
        self.structure += 1
        self._calls.wait(self._read(messages))
        if not running:
            self._end_turn()
        below, self._below = self._below, []
        for note in below:
            self.add_note(note)

    def put_away(self) -> None:
        """Let go of the conversation. What the program said below its end stands there again after the next `load`."""
        notes = [entry.note for entry in takewhile(lambda entry: entry.kind == "note", reversed(self.entries))]
        self.load(())
        self._below = [note for note in reversed(notes) if note is not None and note.code]

    def prepend(self, messages: Iterable[Message]) -> None:
        """Put in front what was said before. It has ended: calls without a result will not get one."""
        later, cards = self.entries, self._calls.by_id
        self.entries, self._calls.by_id = [], {}
        for entry in self._read(messages):
            assert entry.card is not None
            entry.card = replace(entry.card, state="lost")
        self._calls.by_id |= cards
        self.prepended += len(self.entries)
        self.earlier = 0
        self.entries += later
        self.renumber()

    def _read(self, messages: Iterable[Message]) -> list[Entry]:
        """Add the entries of stored messages; gives those of calls that have no result."""
        waiting: dict[str, ToolCall] = {}
        for message in messages:
            if message.role == "user":
                if message.shell is not None:
                    own = message.shell.result
                    entry = self._calls.put(own.call_id)
                    entry.store(partial(shell_card, message.shell), own.text)
                    entry.open = True
                elif message.origin == "summary":
                    self.add("thought", message.id, message.text).summary = (
                        message.covers.messages if message.covers else 0
                    )
                elif message.origin == "agents":
                    self._add_returned(message.id, message.text, message.agents)
                elif message.rollback is not None:
                    for note in rolled_back(message.rollback):
                        self.add_note(note)
                elif message.origin == "note":
                    self.add_note(Note(0, one_line(message.text.partition("\n")[0]).strip("[]")))
                else:
                    self._add_user(message.id, message.text, message.created, len(message.parts))
            elif message.role == "assistant":
                if message.reasoning.strip():
                    self.add("thought", f"{message.id}-thought", message.reasoning).seconds = message.reasoning_seconds
                if message.text.strip():
                    self.add("answer", message.id, message.text)
                if message.interrupted:
                    self.add_note(cut_short(message.is_stopped))
                for call in message.tool_calls:
                    if call.id not in waiting:
                        waiting[call.id] = call
                        self._calls.put(call.id)
            elif message.role == "tool" and message.result is not None:
                result = message.result
                entry = self._calls.by_id.get(result.call_id) or self._calls.put(result.call_id)
                asked = waiting.pop(result.call_id, None)
                entry.store(partial(stored_card, asked, result, self._subject), result.text)
        for call in waiting.values():
            self._calls.by_id[call.id].card = Card(0, one_line(call.name), self._subject(call))
        return [self._calls.by_id[call_id] for call_id in waiting]

    def _add_user(self, id: str, text: str, created: float, images: int) -> Entry:
        entry = self.add("user", id, text)
        entry.created, entry.images = created, images
        return entry

    def _add_returned(self, id: str, text: str, agents: Sequence[AgentRow]) -> Entry:
        entry = self._calls.put(id)
        entry.store(partial(returned_card, tuple(agents)), text)
        return entry

    # -- what a person does ---------------------------------------------------------------------------------------

    def toggle(self, entry: Entry) -> bool:
        """Fold or unfold an entry; False when it has nothing to unfold."""
        if not can_open(entry):
            return False
        entry.open = not entry.open
        entry.touch()
        return True

    def last_answer(self) -> str:
        """The source of the newest answer; empty when there is none."""
        return next((self.copy_text(e) for e in reversed(self.entries) if e.kind == "answer"), "")

    def show_details(self, unfolded: bool) -> None:
        """Unfold all thoughts and results, those to come too, or fold them all."""
        self.details = unfolded
        for entry in self.entries:
            if entry.kind in ("thought", "card") and entry.open != unfolded:
                entry.open = unfolded
                entry.touch()
        self.structure += 1

    def copy_text(self, entry: Entry, block: Block | None = None) -> str:
        """The source of one block (with the chunks it was cut into), or of the whole entry."""
        if block is None or entry.kind != "answer":
            return clean(entry.text, tab_size=0)
        blocks = list(entry.blocks)
        first = next((i for i, b in enumerate(blocks) if b.key == block.key), 0)
        while first > 0 and blocks[first].join in ("", "\n"):
            first -= 1
        parts: list[str] = []
        for number, part in enumerate(blocks[first:]):
            if number and part.join not in ("", "\n"):
                break
            parts.append((part.join if number else "") + _source(part))
        return "".join(parts)


def _source(block: Block) -> str:
    return getattr(block, "text", "")
