"""A memory that waits for a person: how it is put aside, and how it is kept when they have said yes (MEM-17)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from agent_core.errors import MemoryFailure
from agent_core.knowledge import Memory, Pending
from agent_core.memory import Memories
from agent_core.memory.markdown import FILES, Change, Operation, Pages, Target, formed
from agent_core.memory.markdown import title as change_title
from agent_core.memory.pending import PendingWrites
from agent_core.messages import FileDiff
from agent_core.text import diff


def title(memory: Memory) -> str:
    """One line: what keeping it would do."""
    return f"Remember a {memory.kind}"


def change_of(memory: Memory) -> FileDiff:
    """What a person sees of it before it is kept: kind, text, and where it holds."""
    return diff.build("memory", None, f"{memory.kind}: {memory.text}\nscope: {memory.scope or 'everywhere'}\n")


def stage(writes: PendingWrites, memory: Memory) -> Pending:
    """Put a memory aside, its text as the gate has left it. Raises MemoryFailure."""
    return writes.add("memory", title(memory), change_of(memory), asdict(memory), memory.source)


def stage_change(writes: PendingWrites, change: Change, steps: Sequence[Operation], source: str) -> Pending:
    """Put a change of MEMORY.md or USER.md aside, as the gate has left it. Raises MemoryFailure."""
    name, before, after = FILES[change.target], formed(change.before), formed(change.after)
    shown = diff.build(name, before or None, after or None)
    data = {"target": change.target, "operations": [asdict(step) for step in steps]}
    return writes.add("memory", change_title(change.target, steps), shown, data, source)


def carry_out(memories: Memories, data: Mapping[str, Any]) -> None:
    """Do what was put aside: a person has confirmed it. What is known already stays. Raises MemoryFailure."""
    if "operations" in data:
        _change(memories, data)
        return
    try:
        memory = Memory(**{**data, "derived": tuple(data.get("derived", ()))})
    except TypeError as error:
        raise MemoryFailure("pending_broken", "What waits is no memory. Reject it.") from error
    memories.add(replace(memory, verified=True))


def _change(memories: Memories, data: Mapping[str, Any]) -> None:
    if not isinstance(memories, Pages):
        raise MemoryFailure(
            "pending_other_engine", "This changes MEMORY.md or USER.md, and memory.engine is not markdown. Reject it."
        )
    try:
        steps = tuple(Operation(**step) for step in data["operations"])
        target: Target = {name: name for name in FILES}[data["target"]]
    except (TypeError, KeyError) as error:
        raise MemoryFailure("pending_broken", "What waits is no memory. Reject it.") from error
    memories.change(target, steps)
