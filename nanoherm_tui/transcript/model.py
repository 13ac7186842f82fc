"""Events → the blocks of a transcript. No Textual here: the same reducer serves live sessions and stored ones.

A transcript is a list of entries, one for each user message, answer, thought, tool call and note. An entry's blocks are
made when they are first asked for, so a session of 20,000 messages opens without being parsed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING

from agent_core import events
from agent_core.limits import PREVIEW_LINES, SUBJECT_CHARS
from agent_core.messages import Rollback
from agent_core.names import DELEGATE_TASK, SHELL, SUBAGENT
from agent_core.rollback import REASONS
from agent_core.safety.redact import redact
from nanoherm_tui.text import clean, one_line
from nanoherm_tui.transcript.blocks import Block, Card, CardState, Note
from nanoherm_tui.transcript.entry import LIVE, Entry, Kind, can_open

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow
    from agent_core.events import Event
    from agent_core.messages import Message, ShellRun, ToolCall, ToolResult
    from agent_core.ports.tools import Args

_STOPPED = Note(0, "", word="transcript.stopped")


@lru_cache(maxsize=1)
def _subjects() -> dict[str, Callable[[Args], str]]:
    from agent_core.tools import (
        delegate,
        delegate_task,
        skill,
    )  # here, so that a first frame does not wait for the tools
    from agent_core.tools.builtin import builtin_tools

    ours = {SUBAGENT: delegate.subject, DELEGATE_TASK: delegate_task.subject, **skill.SUBJECTS}
    return ours | {tool.name: tool.subject for tool in builtin_tools()}


def default_subject(call: ToolCall) -> str:
    """The subject of a stored call's card, as its tool gave it when it ran: on one line, keys taken out."""
    of_tool = _subjects().get(call.name)
    if of_tool is not None:
        subject = of_tool(call.arguments)
    else:
        subject = next((v for v in call.arguments.values() if isinstance(v, str)), "")
    return redact(one_line(subject))[:SUBJECT_CHARS]


class TranscriptModel:
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
        self.entries: list[Entry] = []
        self.earlier = 0
        """How many messages come before its entries that have not been read yet (`prepend`)."""
        self.first = ""
        """The id of the first message it was made from."""
        self.prepended = 0
        """How many entries have been put in front."""
        self.structure = 0
        """Grows when more than the entries that `apply` names have changed: some were taken out, put in, or folded."""
        self.clock = clock
        self.running: dict[Entry, None] = {}
        """Entries whose rows change as time passes, in order."""
        self.details = False
        """Thoughts and results are unfolded, those to come too."""
        self.place: object = None
        """Where a view keeps the reader's place in this session; the model does not look inside."""
        self._subject = subject
        self._cards: dict[str, Entry] = {}
        self._unfinished: dict[Entry, None] = {}
        self._answer: Entry | None = None
        self._thought: Entry | None = None
        self._compaction: Entry | None = None
        self._questions: dict[str, str] = {}  # question id → call id
        self._count = 0
        self._below: list[Note] = []

    # -- events ---------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> set[Entry]:
        """Take one event in; returns the entries that look different now (taken-out ones show in `structure`)."""
        match event:
            case events.TextDelta(text):
                return self._stream_text(text)
            case events.ReasoningDelta(text):
                return self._stream_reasoning(text)
            case events.ToolProgress(call_id, text):
                return self._update_card(call_id, progress=one_line(text)[:SUBJECT_CHARS])
            case events.UserMessage():
                return {self._add_user(event.message_id, event.text, self.clock(), event.images)}
            case events.AgentsReturned(message_id, text, agents):
                return {self._add_returned(message_id, text, agents)}
            case events.AssistantMessage():
                return self._assistant(event.message_id, event.text, event.reasoning, event.interrupted)
            case events.ToolQueued(call_id, name, subject):
                return self._end_thought() | {self._add_card(call_id, name, subject)}
            case events.ToolStarted(call_id):
                changed = self._update_card(call_id, state="running", started=self.clock(), progress="")
                return changed | self._follow_questions()
            case events.ToolEnded(call_id):
                return self._end_card(call_id, event)
            case events.ToolFinished():
                return self._finish_card(event)
            case events.QuestionAsked(question):
                self._questions[question.id] = question.call_id
                return self._update_card(question.call_id, state="asks") | self._follow_questions()
            case events.QuestionClosed(question_id):
                call_id = self._questions.pop(question_id, "")
                return self._update_card(call_id, only="asks", state="waiting") | self._follow_questions()
            case events.StepStarted():
                return self._leave_partial()
            case events.PartialDropped():
                return self._drop_partial()
            case events.CompactionStarted(count):
                self._compaction = entry = self._live("thought")
                entry.summary, entry.started = count, self.clock()
                self.running[entry] = None
                return {entry}
            case events.CompactionFinished(message_id, text, count):
                return self._compacted(message_id, text, count)
            case events.Notice():
                note = Note(0, event.text, event.level, event.code, event.params)
                return {self._add_note(note)}
            case events.ErrorRaised():
                return {self._add_note(Note(0, event.text, "error", event.code, event.params))}
            case events.FilesRolledBack():
                done = Rollback(event.paths, event.left, event.redo)
                return {self._add_note(note) for note in _rolled_back(done)}
            case events.Remembered(memories, pending, gone):
                told = ("told_waits", "told_gone_waits") if pending else ("told", "told_gone")
                rows = [
                    (word, one.text) for word, several in zip(told, (memories, gone), strict=True) for one in several
                ]
                notes = (Note(0, "", word=f"memory.{word}", params={"text": one_line(text)}) for word, text in rows)
                return {self._add_note(note) for note in notes}
            case events.TurnFinished():
                return self._end_turn()
            case events.HistoryChanged(messages, earlier):
                self.load(messages, earlier=earlier)
                return set()
            case _:
                return set()

    def load(self, messages: Iterable[Message], *, running: bool = False, earlier: int = 0) -> None:
        """Replace everything by a stored conversation. With `running` its turn goes on: open calls still wait.

        `earlier` messages come before these and may follow with `prepend`.
        """
        messages = tuple(messages)
        self.earlier, self.first = earlier, messages[0].id if messages else ""
        self.entries = []
        self.running.clear()
        self._cards.clear()
        self._unfinished.clear()
        self._questions.clear()
        self._answer = self._thought = self._compaction = None
        self.structure += 1
        for entry in self._read(messages):
            self._unfinished[entry] = None
        if not running:
            self._end_turn()
        below, self._below = self._below, []
        for note in below:
            self._add_note(note)

    def put_away(self) -> None:
        """Let go of the conversation. What the program said below its end stands there again after the next `load`."""
        notes = [entry.note for entry in takewhile(lambda entry: entry.kind == "note", reversed(self.entries))]
        self.load(())
        self._below = [note for note in reversed(notes) if note is not None and note.code]

    def prepend(self, messages: Iterable[Message]) -> None:
        """Put in front what was said before. It has ended: calls without a result will not get one."""
        later, cards = self.entries, self._cards
        self.entries, self._cards = [], {}
        for entry in self._read(messages):
            assert entry.card is not None
            entry.card = replace(entry.card, state="lost")
        self._cards |= cards
        self.prepended += len(self.entries)
        self.earlier = 0
        self.entries += later
        self._renumber()

    def _read(self, messages: Iterable[Message]) -> list[Entry]:
        """Add the entries of stored messages; gives those of calls that have no result."""
        waiting: dict[str, ToolCall] = {}
        for message in messages:
            if message.role == "user":
                if message.shell is not None:
                    own = message.shell.result
                    card = self._cards[own.call_id] = self._add("card", own.call_id)
                    card.store(partial(_shell_card, message.shell), own.text)
                elif message.origin == "summary":
                    self._add("thought", message.id, message.text).summary = (
                        message.covers.messages if message.covers else 0
                    )
                elif message.origin == "agents":
                    self._add_returned(message.id, message.text, message.agents)
                elif message.rollback is not None:
                    for note in _rolled_back(message.rollback):
                        self._add_note(note)
                elif message.origin == "note":
                    self._add_note(Note(0, one_line(message.text.partition("\n")[0]).strip("[]")))
                else:
                    self._add_user(message.id, message.text, message.created, len(message.parts))
            elif message.role == "assistant":
                if message.reasoning.strip():
                    self._add("thought", f"{message.id}-thought", message.reasoning).seconds = message.reasoning_seconds
                if message.text.strip():
                    self._add("answer", message.id, message.text)
                if message.interrupted:
                    self._add_note(_STOPPED)
                for call in message.tool_calls:
                    if call.id not in waiting:
                        waiting[call.id] = call
                        self._cards[call.id] = self._add("card", call.id)
            elif message.role == "tool" and message.result is not None:
                result = message.result
                entry = self._cards.get(result.call_id)
                if entry is None:
                    entry = self._cards[result.call_id] = self._add("card", result.call_id)
                entry.store(partial(self._stored_card, waiting.pop(result.call_id, None), result), result.text)
        for call in waiting.values():
            self._cards[call.id].card = Card(0, one_line(call.name), self._subject(call))
        return [self._cards[call_id] for call_id in waiting]

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

    def opens(self, kind: Kind) -> bool:
        """Whether entries of a kind are unfolded when they come."""
        return self.details and kind in ("thought", "card")

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

    # -- entries --------------------------------------------------------------------------------------------------

    def _add(self, kind: Kind, id: str, text: str = "") -> Entry:
        entry = Entry(id, kind, text, index=len(self.entries))
        entry.open = self.opens(kind)
        self.entries.append(entry)
        return entry

    def _remove(self, entry: Entry) -> None:
        del self.entries[entry.index]
        self._renumber()

    def _renumber(self) -> None:
        for index, entry in enumerate(self.entries):
            entry.index = index
        self.structure += 1

    def _add_user(self, id: str, text: str, created: float, images: int) -> Entry:
        entry = self._add("user", id, text)
        entry.created, entry.images = created, images
        return entry

    def _add_returned(self, id: str, text: str, agents: Sequence[AgentRow]) -> Entry:
        entry = self._cards[id] = self._add("card", id)
        entry.store(partial(_returned_card, tuple(agents)), text)
        return entry

    def _add_note(self, note: Note) -> Entry:
        self._count += 1
        entry = self._add("note", f"note-{self._count}", note.text)
        entry.note = note
        return entry

    # -- the reply that is arriving -------------------------------------------------------------------------------

    def _stream_text(self, text: str) -> set[Entry]:
        changed = self._end_thought()
        if self._answer is None:
            self._answer = self._live("answer")
        self._answer.grow(text)
        return changed | {self._answer}

    def _stream_reasoning(self, text: str) -> set[Entry]:
        if self._thought is None:
            self._thought = self._live("thought")
            self._thought.started = self.clock()
            self.running[self._thought] = None
            if self._answer is not None:
                # A message's reasoning stands above its text, in whatever order they came.
                self.entries.insert(self._answer.index, self.entries.pop())
                self._renumber()
        self._thought.grow(text)
        return {self._thought}

    def _live(self, kind: Kind) -> Entry:
        self._count += 1
        entry = self._add(kind, f"{LIVE}{self._count}")
        entry.begin()
        return entry

    def _end_thought(self) -> set[Entry]:
        """Text or a call has followed the reasoning: its time stops."""
        thought = self._thought
        if thought is None or not thought.started:
            return set()
        thought.seconds = max(0.0, self.clock() - thought.started)
        thought.started = 0.0
        thought.touch()
        self.running.pop(thought, None)
        return {thought}

    def _drop_partial(self) -> set[Entry]:
        for entry in (self._answer, self._thought):
            if entry is not None:
                self.running.pop(entry, None)
                self._remove(entry)
        self._answer = self._thought = None
        return set()

    def _leave_partial(self) -> set[Entry]:
        """A reply broke off and was not stored: what was read of it stays readable."""
        changed = self._end_thought()
        for live in (self._answer, self._thought):
            if live is not None:
                live.finish(live.text)
                changed.add(live)
        self._answer = self._thought = None
        return changed

    def _assistant(self, id: str, text: str, reasoning: str, interrupted: bool) -> set[Entry]:
        changed = self._end_thought()
        for kind, final, live in (("thought", reasoning, self._thought), ("answer", text, self._answer)):
            if not final.strip():
                if live is not None:
                    self._remove(live)
                continue
            entry_id = f"{id}-{kind}" if kind == "thought" else id
            if live is None:
                live = self._add("thought" if kind == "thought" else "answer", entry_id, final)
            else:
                live.id = entry_id
                live.finish(final)
            changed.add(live)
        self._answer = self._thought = None
        if interrupted:
            changed.add(self._add_note(_STOPPED))
        return {entry for entry in changed if entry.index < len(self.entries) and self.entries[entry.index] is entry}

    def _compacted(self, message_id: str, text: str, count: int) -> set[Entry]:
        """What was being summarised is, or all stays as it was."""
        entry, self._compaction = self._compaction, None
        if entry is not None:
            self.running.pop(entry, None)
            if not message_id:
                self._remove(entry)
                return set()
            entry.id, entry.started = message_id, 0.0
            entry.finish(text)
        elif message_id:
            entry = self._add("thought", message_id, text)
        else:
            return set()
        entry.summary = count
        return {entry}

    # -- cards ----------------------------------------------------------------------------------------------------

    def _add_card(self, call_id: str, name: str, subject: str) -> Entry:
        known = self._cards.get(call_id)
        if known is not None and known in self._unfinished:
            return known
        entry = self._add("card", call_id)
        entry.card = Card(0, one_line(name), one_line(subject)[:SUBJECT_CHARS])
        self._cards[call_id] = entry
        self._unfinished[entry] = None
        return entry

    def _update_card(
        self,
        call_id: str,
        *,
        state: CardState | None = None,
        started: float | None = None,
        progress: str | None = None,
        only: CardState | None = None,
    ) -> set[Entry]:
        entry = self._cards.get(call_id)
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
            self.running[entry] = None
        else:
            self.running.pop(entry, None)
        self._unfinished[entry] = None
        entry.touch()
        return {entry}

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
                changed |= self._update_card(entry.id, state=state)
        return changed

    def _end_card(self, call_id: str, event: events.ToolEnded) -> set[Entry]:
        """It has ended; its result is still to come."""
        entry = self._cards.get(call_id)
        if entry is None or entry.card is None:
            return set()
        state: CardState = "done" if event.ok else "failed"
        entry.card = replace(
            entry.card, state=state, outcome=one_line(event.outcome), seconds=event.seconds, progress="", started=0.0
        )
        self.running.pop(entry, None)
        entry.touch()
        return {entry}

    def _finish_card(self, event: events.ToolFinished) -> set[Entry]:
        entry = self._cards.get(event.call_id)
        if entry is None or entry.card is None:
            entry = self._add_card(event.call_id, event.name, "")
            assert entry.card is not None
        entry.card = _finished(entry.card, event)
        entry.finish(event.text)
        self.running.pop(entry, None)
        self._unfinished.pop(entry, None)
        return {entry}

    def _stored_card(self, call: ToolCall | None, result: ToolResult) -> Card:
        if call is None:
            return _finished(Card(0, one_line(result.name), ""), result)
        return _finished(Card(0, one_line(call.name), self._subject(call)), result)

    def _end_turn(self) -> set[Entry]:
        """Calls that still have no result will never get one; a late result would still be shown.

        The person's own commands go on: they belong to no turn.
        """
        changed: set[Entry] = set()
        for entry in list(self._unfinished):
            if entry.card is not None and entry.card.name == SHELL:
                continue
            del self._unfinished[entry]
            self.running.pop(entry, None)
            if entry.card is not None:
                entry.card = replace(entry.card, state="lost", progress="")
                entry.touch()
                changed.add(entry)
        return changed | self._leave_partial()


def _rolled_back(done: Rollback) -> list[Note]:
    """Which files are others now, and which were left and why."""
    notes: list[Note] = []
    more_paths, more_left = done.more
    if done.paths or not done.left:
        word = "rollback.nothing_done" if not done.paths else "rollback.redone" if done.redo else "rollback.done"
        lines = tuple((one_line(path), "") for path in done.paths)
        notes.append(Note(0, "", word=word, params={"command": "/rollback redo"}, lines=lines, more=more_paths))
    if done.left:
        notes.append(Note(0, "", "warning", word="rollback.left", lines=tuple(map(_left, done.left)), more=more_left))
    return notes


def _left(words: str) -> tuple[str, str]:
    """A path and the reason behind it; either may have a colon in it."""
    line = one_line(words)
    why = next((why for why in REASONS.values() if line.endswith(f": {why}")), "")
    return (line.removesuffix(f": {why}"), why) if why else (line, "")


def _shell_card(run: ShellRun) -> Card:
    return _finished(Card(0, SHELL, one_line(run.command)[:SUBJECT_CHARS]), run.result)


def _returned_card(agents: Sequence[AgentRow]) -> Card:
    """What sub-agents in the background came to: who they were, how many did it, and what the others say."""
    good = sum(row.state == "done" for row in agents)
    others = [f"{row.id}: {row.preview}" for row in agents if row.state != "done" and row.preview]
    return Card(
        0,
        DELEGATE_TASK,
        one_line(", ".join(f"{row.id} {row.task}" for row in agents))[:SUBJECT_CHARS],
        "done" if good == len(agents) else "failed",
        f"{good} of {len(agents)} done",
        max((row.ended - row.started for row in agents if row.ended is not None), default=0.0),
        rows=tuple(one_line(line) for line in others[:PREVIEW_LINES]),
    )


def _finished(card: Card, result: events.ToolFinished | ToolResult) -> Card:
    """The card of a call that has come to its result."""
    preview = () if result.ok else tuple(clean(line).replace("\n", " ") for line in result.preview[:PREVIEW_LINES])
    return replace(
        card,
        state="done" if result.ok else "failed",
        outcome=one_line(result.outcome),
        seconds=result.seconds,
        progress="",
        started=0.0,
        rows=preview,
    )


def _source(block: Block) -> str:
    return getattr(block, "text", "")
