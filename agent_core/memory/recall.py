"""Which memories have to do with what a person says: BM25 over all of them, kept between turns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from agent_core import limits
from agent_core.knowledge import Memory, MemoryKind
from agent_core.text.bm25 import Bm25
from agent_core.text.tokenize import bigrams

Cut = Callable[[Sequence[str]], list[list[str]]]
"""The terms of each of several texts."""

LABELS: Final[dict[MemoryKind, str]] = {
    "lesson": "经验 lesson",
    "preference": "偏好 preference",
    "correction": "纠正 correction",
    "fact": "事实 fact",
}
"""What a memory's words have of its kind, so that asking for corrections finds them (MEM-04)."""


def _pairs(texts: Sequence[str]) -> list[list[str]]:
    return list(map(bigrams, texts))


def words_of(memory: tuple[MemoryKind, str]) -> str:
    """The text that a memory is found by."""
    kind, text = memory
    return f"{text}\n{LABELS[kind]}"


def scores(query: str, memories: Sequence[tuple[MemoryKind, str]], cut: Cut = _pairs) -> list[float]:
    """How well each memory, a kind and a text, fits the query; 0: not at all."""
    return Bm25(cut(list(map(words_of, memories)))).scores(cut([query])[0])


class Recall:
    """Finds memories. What was worked out for them is kept until they change. Safe to use from several threads."""

    def __init__(self, cut: Cut = _pairs) -> None:
        self._cut = cut
        self._lock = threading.Lock()
        self._of: tuple[Memory, ...] | None = None
        self._terms: dict[str, list[str]] = {}
        self._bm25 = Bm25(())

    def find(self, query: str, memories: tuple[Memory, ...], limit: int, workspace: str | None) -> tuple[Memory, ...]:
        """The best `limit` memories, the best first, the newer of equal ones; as `Memories.search` has it."""
        if not memories:
            return ()
        with self._lock:
            self._learn(memories)
            terms = self._bm25.telling(self._cut([query[: limits.MEMORY_QUERY]])[0], limits.MEMORY_QUERY_TERMS)
            found = self._bm25.scores(terms) if terms else []
        ranked = sorted(
            (-score, -memory.created, at)
            for at, (score, memory) in enumerate(zip(found, memories, strict=False))
            if score > 0 and (workspace is None or memory.scope in ("", workspace))
        )
        return tuple(memories[at] for _, _, at in ranked[:limit])

    def _learn(self, memories: tuple[Memory, ...]) -> None:
        if memories is self._of:
            return
        texts = [words_of((memory.kind, memory.text)) for memory in memories]
        if new := [text for text in dict.fromkeys(texts) if text not in self._terms]:
            self._terms.update(zip(new, self._cut(new), strict=True))
        self._terms = {text: self._terms[text] for text in texts}
        self._bm25 = Bm25([self._terms[text] for text in texts])
        self._of = memories
