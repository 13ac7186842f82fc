"""Which memories have to do with what a person says: BM25 over all of them, kept between turns."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

from agent_core import limits
from agent_core.knowledge import Memory, MemoryKind
from agent_core.text.bm25 import Bm25
from agent_core.text.tokenize import bigrams, han

LABELS: Final[dict[MemoryKind, str]] = {
    "lesson": "经验 lesson",
    "preference": "偏好 preference",
    "correction": "纠正 correction",
    "fact": "事实 fact",
}
"""What a memory's words have of its kind, so that asking for corrections finds them (MEM-04)."""

CutWords = Callable[[Sequence[str], float], Sequence[Sequence[str]] | None]
"""The words of each of several runs of Chinese characters, long ones with the shorter ones inside; None when they have
not come within so many seconds. May be asked from any thread."""


def words_of(memory: tuple[MemoryKind, str]) -> str:
    """The text that a memory is found by."""
    kind, text = memory
    return f"{text}\n{LABELS[kind]}"


def scores(query: str, memories: Sequence[tuple[MemoryKind, str]]) -> list[float]:
    """How well each memory, a kind and a text, fits the query by the tokeniser `bigram`; 0: not at all."""
    return Bm25([bigrams(words_of(memory)) for memory in memories]).scores(bigrams(query))


class Words:
    """A dictionary's words, as far as they are known by now; what is not is learnt behind everybody's back.

    `wait`: seconds that a caller has for them. Safe to use from several threads.
    """

    def __init__(self, cut: CutWords, wait: float = limits.MEMORY_WORDS) -> None:
        self._cut = cut
        self._wait = wait
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, ...]] = {}
        self._learning: threading.Thread | None = None
        self.revision = 0
        """Grows when more words have become known."""

    def of(self, texts: Iterable[str]) -> tuple[list[list[str]], bool]:
        """The words of each text, of two characters and more; and whether all are known that are looked for."""
        wanted = [_runs(text) for text in texts]
        unknown = [run for run in dict.fromkeys(chain.from_iterable(wanted)) if run not in self._known]
        if unknown:
            self._learn(unknown).join(self._wait)
        known = self._known
        found = [[word for run in runs for word in known.get(run, ())] for runs in wanted]
        return found, not any(run not in known for run in unknown)

    def settle(self, seconds: float) -> None:
        """Wait until what has been asked for is known."""
        if self._learning is not None:
            self._learning.join(seconds)

    def _learn(self, unknown: Sequence[str]) -> threading.Thread:
        """A thread that learns; where one is at it already, that one: what it leaves is asked for the next time."""
        with self._lock:
            if self._learning is None or not self._learning.is_alive():
                self._learning = threading.Thread(target=self._ask, args=(unknown,), name="memory-words", daemon=True)
                self._learning.start()
            return self._learning

    def _ask(self, unknown: Sequence[str]) -> None:
        made: dict[str, tuple[str, ...]] = {}
        for at in range(0, len(unknown), limits.MEMORY_WORDS_PART):
            part = unknown[at : at + limits.MEMORY_WORDS_PART]
            cut = self._cut(part, limits.MEMORY_WORDS_MOST)
            if cut is None:
                break
            made |= {run: tuple(w for w in words if len(w) > 1) for run, words in zip(part, cut, strict=True)}
        old = self._known if len(self._known) < limits.MEMORY_WORDS_KNOWN else {}  # messages come and go
        self._known = {**old, **made}
        self.revision += bool(made)


def _runs(text: str) -> list[str]:
    return [] if text.isascii() else [run for run in han(text) if len(run) > 1]


class Recall:
    """Finds memories. What was worked out for them is kept until they change. Safe to use from several threads.

    `words`: of a dictionary, beside what every text is cut into (tokeniser `jieba`); None: `bigram`.
    """

    def __init__(self, words: Words | None = None) -> None:
        self.words = words
        self._lock = threading.Lock()
        self._of: tuple[Memory, ...] | None = None
        self._revision = 0
        self._is_whole = True
        """All of their words were known."""
        self._terms: dict[str, list[str]] = {}
        self._bm25 = Bm25(())

    pairs = staticmethod(bigrams)
    """What every text is cut into."""

    def find(self, query: str, memories: tuple[Memory, ...], limit: int, workspace: str | None) -> tuple[Memory, ...]:
        """The best `limit` memories, the best first, the newer of equal ones; as `Memories.search` has it."""
        if not memories:
            return ()
        with self._lock:
            self._learn(memories)
            asked = query[: limits.MEMORY_QUERY]
            terms = self.pairs(asked)
            if self.words is not None:
                terms += _more(terms, self.words.of([asked])[0][0])
            terms = self._bm25.telling(terms, limits.MEMORY_QUERY_TERMS)
            found = self._bm25.scores(terms) if terms else []
        ranked = heapq.nsmallest(
            limit,
            (
                (-score, -memory.created, at)
                for at, (score, memory) in enumerate(zip(found, memories, strict=False))
                if score > 0 and (workspace is None or memory.scope in ("", workspace))
            ),
        )
        return tuple(memories[at] for _, _, at in ranked)

    def _learn(self, memories: tuple[Memory, ...]) -> None:
        """Cut what is new, and count anew when anything has changed."""
        words = self.words
        revision = words.revision if words is not None else 0
        if memories is self._of and (self._is_whole or revision == self._revision):
            return
        texts = [words_of((memory.kind, memory.text)) for memory in memories]
        self._terms = {text: self._terms.get(text) or self.pairs(text) for text in texts}
        made = [self._terms[text] for text in texts]
        if words is not None:
            found, self._is_whole = words.of(texts)
            made = [pairs + _more(pairs, more) for pairs, more in zip(made, found, strict=True)]
        self._bm25 = Bm25(made)
        self._of, self._revision = memories, revision


def _more(pairs: Sequence[str], words: Sequence[str]) -> list[str]:
    """The words that are no pairs already: a word of two characters is one."""
    known = set(pairs)
    return [word for word in words if word not in known]
