"""What a person does with memories: look, search, add, mend, forget, take back, decide about what waits.

Each change stands in the record of decisions, by its id: the record keeps no text of a memory (MEM-21).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final, Literal

from agent_core import limits
from agent_core.errors import MemoryFailure
from agent_core.knowledge import MEMORY_KINDS, Memory, MemoryKind, Pending
from agent_core.memory import Memories, staging
from agent_core.memory.pending import PendingWrites
from agent_core.messages import new_id
from agent_core.ports.asking import Decided
from agent_core.records import dataclass

_KIND: Final = re.compile(rf"({'|'.join(MEMORY_KINDS)})\s*[:：]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Look:
    """What there is, or what of it a query has found."""

    memories: tuple[Memory, ...]
    pending: tuple[Pending, ...]
    """What waits for the person, while nothing is looked for."""
    total: int
    withheld: int = 0
    """Those in the file that were forgotten before: an old copy of it was put back."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory that was taken out, and what was made from it, over any number of steps, and is still there (MEM-21)."""

    memory: Memory
    built_on_it: tuple[Memory, ...] = ()
    waiting: tuple[Pending, ...] = ()

    @property
    def left(self) -> bool:
        """Something was made from it."""
        return bool(self.built_on_it or self.waiting)


class MemoryDesk:
    """Methods read and write files; they raise MemoryFailure, and StoreError where they change something.

    `record` writes a decision down.
    """

    def __init__(self, memories: Memories, writes: PendingWrites, record: Callable[[Decided], None]) -> None:
        self.memories = memories
        self.writes = writes
        self._record = record

    def look(self, query: str = "") -> Look:
        """Without a query all, the newest first."""
        pending = () if query.strip() else self.writes.list("memory")
        return Look(self._found(query), pending, len(self.memories.list()), self.memories.withheld)

    def _found(self, query: str) -> tuple[Memory, ...]:
        """Those that hold every word as it is typed so far, the newest first; behind them what fits as a turn would
        find it."""
        words = query.casefold().split()
        every = self.memories.list()[::-1]
        if not words:
            return every
        found = {memory.id: memory for memory in every if all(word in memory.text.casefold() for word in words)}
        for memory in self.memories.search(query, limits.MEMORY_MOST):
            found.setdefault(memory.id, memory)
        return tuple(found.values())

    def remember(self, text: str) -> Memory | None:
        """Keep what a person wrote; "preference: ..." says its kind. It holds everywhere. None: it is known already."""
        named = _KIND.match(text)
        kind: MemoryKind = next((kind for kind in MEMORY_KINDS if named and named[1].lower() == kind), "fact")
        said = text[named.end() :] if named is not None else text
        return self._add(Memory(new_id(), kind, said, round(time.time(), 3), verified=True), f"Remember a {kind}")

    def take_back(self, memory: Memory) -> Memory | None:
        """Remember again what was forgotten. None: it is known already."""
        return self._add(memory, "Remember again")

    def _add(self, memory: Memory, what: str) -> Memory | None:
        kept = self.memories.add(memory)
        if kept is not None:
            self._note(what, kept.id)
        return kept

    def edit(self, id: str, text: str) -> Memory:
        """Give a memory another text."""
        kept = self.memories.edit(id, text)
        self._note("Mend a memory", id)
        return kept

    def forget(self, id: str) -> Forgotten:
        """Take out the memory of this id, or the one whose id begins so."""
        every = self.memories.list()
        begun = [memory for memory in every if id and memory.id.startswith(id)]
        exact = [memory for memory in begun if memory.id == id]
        if len(exact) != 1 and len(begun) != 1:
            raise MemoryFailure("memory_unknown", f"There is no memory {id!r}; it may have been forgotten.", id=id)
        memory = (exact or begun)[0]
        self.memories.forget(memory.id)
        self._note("Forget a memory", memory.id)
        built = _built_on(memory.id, every)
        ids = {memory.id, *(one.id for one in built)}
        waiting = tuple(one for one in self.writes.list("memory") if not ids.isdisjoint(self._bases(one)))
        return Forgotten(memory, built, waiting)

    def forget_made_from(self, done: Forgotten) -> tuple[Memory, ...]:
        """Take out what was made from a forgotten memory too. Gives the memories that were taken out; what waited is
        dropped for good. What is gone meanwhile is passed over."""
        gone = []
        for memory in done.built_on_it:
            if memory in self.memories.list():
                self.memories.forget(memory.id)
                self._note("Forget a memory", memory.id)
                gone.append(memory)
        for pending in done.waiting:
            if pending in self.writes.list("memory"):
                self.answer(pending.id, False)
        return tuple(gone)

    def answer(self, id: str, approved: bool) -> Pending:
        """Do what waits, or drop it. Raises MemoryFailure when nothing waits under the id."""
        pending = self.writes.get(id, "memory").pending
        verdict: Literal["allow", "refuse"] = "allow" if approved else "refuse"
        self._record(Decided("keep", pending.title, verdict, "waited for a person", "person"))
        if not approved:
            return self.writes.reject(id, "memory")
        self.writes.approve(id, lambda now: staging.carry_out(self.memories, now.data), "memory")
        return pending

    def _note(self, what: str, id: str) -> None:
        self._record(Decided("keep", f"{what}: {id}", "allow", "memory", "person"))

    def _bases(self, pending: Pending) -> tuple[str, ...]:
        """Ids of the memories that a write which waits was made from."""
        try:
            derived = self.writes.get(pending.id).data.get("derived")
        except MemoryFailure:  # answered meanwhile
            return ()
        return tuple(one for one in derived if isinstance(one, str)) if isinstance(derived, list) else ()


def _built_on(id: str, memories: tuple[Memory, ...]) -> tuple[Memory, ...]:
    """What builds on a memory, or on what builds on it, in the order of the store."""
    ids = {id}
    while more := {one.id for one in memories if one.id not in ids and not ids.isdisjoint(one.derived)}:
        ids |= more
    return tuple(one for one in memories if one.id in ids and one.id != id)
