"""`python -m tests.recall`: how well each tokeniser finds the one memory that a message has to do with.

tests/data/memory_recall.jsonl: a memory a row. `message` is what a person might say when it would help, in other words;
at least three more memories share words with it (some rows are there for that alone). `far` means the same in words
of its own, as a measure of what matching words cannot do. Every message is looked for among all rows. They were
written before anything was tuned by them.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent_core.knowledge import Memory, MemoryKind
from agent_core.memory.recall import Recall, Words
from agent_core.store.search import Search
from agent_core.store.sessions import Store
from agent_core.text.tokenize import words_and_runs

FILE = Path(__file__).with_name("data") / "memory_recall.jsonl"
HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Row:
    group: str
    kind: MemoryKind
    text: str
    message: str = ""
    """Empty: nobody asks for it."""
    far: str = ""


def rows() -> list[Row]:
    return [Row(**json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines()]


@contextmanager
def tokenisers() -> Iterator[dict[str, Recall]]:
    """What is compared; the first and the last are the choices of memory.tokenizer."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "state.db")
        search = Search(store, Path(folder) / "search.db", Path(folder) / "jieba")
        try:
            yield {
                "bigram": Recall(),
                "jieba, words alone": WordsAlone(Words(search.words, wait=30.0)),
                "jieba, words and pairs": Recall(Words(search.words, wait=30.0)),
            }
        finally:
            search.close()
            store.close()


class WordsAlone(Recall):
    """Chinese by the words of the dictionary and nothing else, as a comparison."""

    @staticmethod
    def pairs(text: str) -> list[str]:
        return [piece for piece, is_run in words_and_runs(text) if not is_run or len(piece) == 1]


def places(recall: Recall, all_rows: Sequence[Row], asked: Sequence[tuple[Row, str]]) -> list[int]:
    """For each message the place of its memory among what is found, from 1; 0: not among the first ten."""
    memories = tuple(Memory(row.text, row.kind, row.text) for row in all_rows)
    found = [[one.id for one in recall.find(message, memories, 10, None)] for _, message in asked]
    return [ids.index(row.text) + 1 if row.text in ids else 0 for ids, (row, _) in zip(found, asked, strict=True)]


def share(found: Sequence[int], first: int) -> float:
    """How many of the memories are among the first so many, in percent."""
    return 100 * sum(1 <= place <= first for place in found) / len(found)


def main() -> None:
    all_rows = rows()
    near = [(row, row.message) for row in all_rows if row.message]
    kinds = {
        "": near,
        ", Chinese": [one for one in near if HAN.search(one[1])],
        ", English": [one for one in near if not HAN.search(one[1])],
        ", in words of their own": [(row, row.far) for row in all_rows if row.far],
    }
    print(f"{len(all_rows)} memories\n\n| messages | tokeniser | recall@1 | recall@5 |\n|---|---|---|---|")
    with tokenisers() as recalls:
        for words, asked in kinds.items():
            for name, recall in recalls.items():
                found = places(recall, all_rows, asked)
                print(f"| {len(asked)}{words} | {name} | {share(found, 1):.1f} % | {share(found, 5):.1f} % |")


if __name__ == "__main__":
    main()
