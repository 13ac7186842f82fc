"""What a person does with memories: look, search, add, forget, and be told what was made from a forgotten one."""

from __future__ import annotations

import re
import time
from typing import Final

from agent_core import limits
from agent_core.errors import MemoryFailure
from agent_core.knowledge import MEMORY_KINDS, Memory, MemoryKind, Pending
from agent_core.memory import Memories
from agent_core.memory.pending import PendingWrites
from agent_core.records import dataclass

_KIND: Final = re.compile(rf"({'|'.join(MEMORY_KINDS)})\s*[:：]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Look:
    """What there is, or what of it a query has found."""

    memories: tuple[Memory, ...]
    pending: tuple[Pending, ...]
    """What waits for the person, while nothing is looked for."""
    total: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory that was taken out, and what was made from it and is still there (MEM-21)."""

    memory: Memory
    built_on_it: tuple[Memory, ...] = ()
    waiting: tuple[Pending, ...] = ()


def look(memories: Memories, writes: PendingWrites, query: str) -> Look:
    """Without a query all, the newest first. Reads files. Raises MemoryFailure."""
    pending = () if query.strip() else writes.list("memory")
    return Look(_found(memories, query), pending, len(memories.list()))


def _found(memories: Memories, query: str) -> tuple[Memory, ...]:
    """Those that hold every word as it is typed so far, the newest first; behind them what fits as a turn would find
    it."""
    words = query.casefold().split()
    every = memories.list()[::-1]
    if not words:
        return every
    found = {memory.id: memory for memory in every if all(word in memory.text.casefold() for word in words)}
    for memory in memories.search(query, limits.MEMORY_MOST):
        found.setdefault(memory.id, memory)
    return tuple(found.values())


def remember(memories: Memories, text: str) -> Memory | None:
    """Keep what a person wrote; "preference: ..." says its kind. It holds everywhere.

    None: it is known already. Raises MemoryFailure.
    """
    named = _KIND.match(text)
    kind: MemoryKind = next((kind for kind in MEMORY_KINDS if named and named[1].lower() == kind), "fact")
    said = text[named.end() :] if named is not None else text
    return memories.add(Memory("", kind, said, round(time.time(), 3), verified=True))


def forget(memories: Memories, writes: PendingWrites, id: str) -> Forgotten:
    """Take out the memory of this id, or the one whose id begins so. Raises MemoryFailure."""
    every = memories.list()
    begun = [memory for memory in every if id and memory.id.startswith(id)]
    exact = [memory for memory in begun if memory.id == id]
    if len(exact) != 1 and len(begun) != 1:
        raise MemoryFailure("memory_unknown", f"There is no memory {id!r}; it may have been forgotten.", id=id)
    memory = (exact or begun)[0]
    built_on_it = memories.forget(memory.id)
    return Forgotten(memory, built_on_it, tuple(one for one in writes.list("memory") if _rests(writes, one, memory.id)))


def _rests(writes: PendingWrites, pending: Pending, id: str) -> bool:
    """Whether a write that waits was made from this memory."""
    try:
        derived = writes.get(pending.id).data.get("derived")
    except MemoryFailure:  # answered meanwhile
        return False
    return isinstance(derived, list) and id in derived
