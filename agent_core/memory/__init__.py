"""What is remembered over sessions: one store, kept by one of two engines (`memory.engine`).

`entries` keeps memory.json and finds by words (bm25); `markdown` keeps MEMORY.md and USER.md, which a model sees whole.
Whatever the route, a text passes `gate` before it is written.
"""

from __future__ import annotations

from typing import Protocol

from agent_core.knowledge import Memory


class Memories(Protocol):
    """The store, as a view and a tool use it. Safe to use from several threads; reads and writes files.

    Every method raises MemoryFailure: a store that cannot be understood is never taken for an empty one.
    """

    @property
    def withheld(self) -> int:
        """How many the files hold, as last looked at, that a person has forgotten: an old copy was put back (MEM-21).
        They are told to nobody, and leave the file with its next change."""
        ...

    def list(self) -> tuple[Memory, ...]:
        """All of it, of every scope, in the order in which it was written."""
        ...

    def search(self, query: str, limit: int, workspace: str | None = None) -> tuple[Memory, ...]:
        """What has words of `query`, the best first; with `workspace` only what holds there or everywhere."""
        ...

    def add(self, memory: Memory) -> Memory | None:
        """Keep it, as the gate has left its text; an empty `id` gets one, and an empty `created` becomes now then.

        None: the same text is there already. One with the id of a memory that was forgotten brings it back.
        """
        ...

    def edit(self, id: str, text: str) -> Memory:
        """Give a memory another text. It has been seen by a person then (`verified`)."""
        ...

    def forget(self, id: str) -> tuple[Memory, ...]:
        """Take a memory out, for good: also out of an old copy. Gives those that build on it and are still there."""
        ...
