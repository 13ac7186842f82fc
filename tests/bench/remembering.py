"""Memory with 10,000 entries: how long a turn waits for what has to do with its message."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent_core.knowledge import MEMORY_KINDS
from agent_core.memory.entries import Entries
from agent_core.memory.recall import Recall, Words
from agent_core.store.search import Search
from agent_core.store.sessions import Store
from tests.bench.bars import Bar
from tests.bench.lab import Lab
from tests.bench.liveness import percentile
from tests.bench.search import CHINESE, ENGLISH, IDENTIFIERS
from tests.recall import rows

MEMORIES = 10_000
SEED = 7
LONG_ONES = 10
"""Messages of all the characters that are looked at."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """Milliseconds until the memories of a message are there."""

    first: float
    """The first one of a program: numpy comes, the file is read, everything is cut."""
    slow: float
    """The 95th percentile of those after it."""
    long: float
    """Of messages as long as messages are looked at."""
    new: float
    """The same, of messages whose words nobody has seen before: a dictionary is waited for."""


def memory_file(folder: Path) -> Path:
    """A memory.json with MEMORIES entries of 40 to 160 characters, Chinese and English, made once."""
    file = folder / "memory.json"
    if file.exists():
        return file
    dice = random.Random(SEED)
    entries = []
    for number in range(MEMORIES):
        english = " ".join(dice.choices(ENGLISH, k=dice.randint(5, 12)))
        chinese = "".join(dice.choices(CHINESE, k=dice.randint(5, 14)))
        text = f"{english} {dice.choice(IDENTIFIERS)}{number % 700} {chinese}"
        entries.append({"id": f"m{number}", "kind": dice.choice(MEMORY_KINDS), "text": text, "created_at": number})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(entries, ensure_ascii=False))
    file.chmod(0o600)
    return file


def _recalled(file: Path, recall: Recall) -> Recalled:
    entries = Entries(file, str, recall)
    begun = time.perf_counter()
    entries.search("时区 parse the date", 5, "/projects/ledger")
    first = time.perf_counter() - begun
    if recall.words is not None:
        recall.words.settle(60.0)
        entries.search("时区", 5)
    asked = [message for row in rows() for message in (row.message, row.far) if message]
    everything, dice = "\n".join(asked), random.Random(SEED)
    unseen = ["".join(dice.sample(everything, len(everything))) for _ in range(LONG_ONES)]

    def waits(messages: Iterable[str]) -> float:
        times = []
        for message in messages:
            begun = time.perf_counter()
            entries.search(message, 5, "/projects/ledger")
            times.append(1000 * (time.perf_counter() - begun))
        return percentile(times, 0.95)

    return Recalled(1000 * first, waits(asked[:200]), waits([everything] * LONG_ONES), waits(unseen))


def by_pairs(lab: Lab) -> Recalled:
    return _recalled(memory_file(lab.folder / "remembering"), Recall())


def by_words(lab: Lab) -> Recalled:
    folder = lab.folder / "remembering"
    file = memory_file(folder)
    store = Store.open(folder / "state.db")
    search = Search(store, folder / "search.db", folder / "jieba")
    try:
        return _recalled(file, Recall(Words(search.words)))
    finally:
        search.close()
        store.close()


BARS = (
    Bar("memory: 10,000 entries, what fits a message, p95", 60.0, "ms", lambda lab: lab.once(by_pairs).slow),
    Bar("memory: the same, a message of 8,000 characters", 60.0, "ms", lambda lab: lab.once(by_pairs).long),
    Bar("memory: the first time in a program", 2_000.0, "ms", lambda lab: lab.once(by_pairs).first),
    Bar("memory: 10,000 entries, by a dictionary's words, p95", 60.0, "ms", lambda lab: lab.once(by_words).slow),
    Bar("memory: the same, 8,000 characters it has not seen", 60.0, "ms", lambda lab: lab.once(by_words).new),
)
