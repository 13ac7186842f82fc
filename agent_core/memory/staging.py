"""A memory that waits for a person: how it is put aside, and how it is kept when they have said yes (MEM-17)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from agent_core.errors import MemoryFailure
from agent_core.knowledge import Memory, Pending
from agent_core.memory import Memories
from agent_core.memory.pending import PendingWrites
from agent_core.text import diff


def title(memory: Memory) -> str:
    """One line: what keeping it would do."""
    return f"Remember a {memory.kind}"


def stage(writes: PendingWrites, memory: Memory) -> Pending:
    """Put a memory aside, its text as the gate has left it. Raises MemoryFailure."""
    shown = diff.build("memory", None, f"{memory.kind}: {memory.text}\n")
    return writes.add("memory", title(memory), shown, asdict(memory), memory.source)


def carry_out(memories: Memories, data: Mapping[str, Any]) -> Memory | None:
    """Keep what was put aside: a person has confirmed it. None: it is known already. Raises MemoryFailure."""
    try:
        memory = Memory(**{**data, "derived": tuple(data.get("derived", ()))})
    except TypeError as error:
        raise MemoryFailure("pending_broken", "What waits is no memory. Reject it.") from error
    return memories.add(replace(memory, verified=True))
