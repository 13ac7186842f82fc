"""The file picker over 200,000 files: how long an answer takes, whether keys wait for it, and what the index weighs."""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.workspace.index import Answer, FileIndex
from tests.bench.bars import Bar
from tests.bench.liveness import percentile

if TYPE_CHECKING:
    from tests.bench.lab import Lab
    from tests.bench.terminal import Terminal

FILES = 200_000
QUERIES = (
    "parse_date", "sessview", "src/core/mod", "testhelper.py", "e", "README", "TestHelper", "日志.py", "/",
    "srccachemodel", "paymentschematokenuser.java", "s/c/m", "packages/store/view12",
    "zzqx", "account_balance_history_import_export", "src/zz", "aaaaaaaa",
)  # fmt: skip
"""Typed letter by letter: names, pieces of words, folders, capitals, Chinese, a letter that is everywhere; what stands
only across folders and names; and what there is not, or hardly."""
WORDS = [
    "account", "assets", "balance", "batch", "buffer", "cache", "client", "config", "core", "currency", "date",
    "entry", "events", "export", "filter", "handler", "helper", "history", "import", "index", "ledger", "loader",
    "model", "module", "month", "notes", "parse", "parser", "payment", "plan", "policy", "report", "result", "rules",
    "schema", "screen", "server", "session", "source", "state", "store", "stream", "table", "test", "theme", "token",
    "tools", "tree", "types", "update", "user", "util", "view",
]  # fmt: skip
DEPTH = 8
KEY_EVERY = 0.12
SEED = 7


def wide_folder(lab: Lab) -> Path:
    """A project of FILES files in a tenth as many folders, made once."""
    root = lab.folder / "wide"
    if root.exists():
        return root
    dice = random.Random(SEED)
    folders = [root / name for name in ("src", "src/core", "tests", "packages", "docs")]
    known = set(folders)
    while len(folders) < FILES // 10:
        folder = dice.choice(folders) / "_".join(dice.sample(WORDS, dice.randint(1, 2)))
        if folder not in known and len(folder.parts) - len(root.parts) <= DEPTH:
            known.add(folder)
            folders.append(folder)
    made = 0
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        opened = os.open(folder, os.O_RDONLY)
        for _ in range(min(FILES - made, -(-FILES // len(folders)))):
            first, second = dice.sample(WORDS, 2)
            form = dice.choice(("{0}_{1}{2}.py", "{0}{3}{2}.ts", "{4}{3}{2}.java", "{0}-{1}{2}.md"))
            name = form.format(first, second, made % 97, second.title(), first.title())
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=opened))
            made += 1
        os.close(opened)
    return root


class _Asked:
    """Asks the index, and notes when the first answer and the whole one came."""

    def __init__(self, index: FileIndex) -> None:
        self.index = index
        self.first = 0.0
        self._whole = threading.Event()

    def ask(self, query: str) -> float:
        """Seconds to the first answer; returns after the whole one. Raises TimeoutError."""
        self.first = 0.0
        self._whole.clear()
        asked = time.perf_counter()

        def take(answer: Answer) -> None:
            self.first = self.first or time.perf_counter()
            if answer.count is not None and not answer.growing:
                self._whole.set()

        self.index.ask(query, take)
        if not self._whole.wait(120.0):
            raise TimeoutError(f"no answer to {query!r}")
        return self.first - asked


@dataclass(frozen=True, slots=True)
class Answered:
    median: float
    """Milliseconds from a question to its first answer."""
    slow: float
    """The same, p95."""
    memory: float
    """MB."""


def answered(lab: Lab) -> Answered:
    root = wide_folder(lab)
    before = _pss()
    index = FileIndex(root, lab.folder / "home")
    try:
        asked = _Asked(index)
        asked.ask("")
        memory = _pss() - before
        waits = [asked.ask(query[:size]) for query in QUERIES for size in range(1, len(query) + 1)]
    finally:
        index.close()
    return Answered(1000 * percentile(waits, 0.5), 1000 * percentile(waits, 0.95), memory)


def _pss() -> float:
    found = re.search(r"^Pss:\s+(\d+)", Path("/proc/self/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


@contextmanager
def _picking(lab: Lab) -> Iterator[Terminal]:
    """The program in the wide folder, its index built."""
    root = wide_folder(lab)
    with lab.program("-C", str(root)) as terminal:
        since = len(terminal.raw)
        terminal.send("@")
        terminal.wait_for("indexing", since)
        terminal.quiet(2.0, seconds=120.0)
        yield terminal


def key_to_frame(lab: Lab) -> float:
    """Milliseconds from a letter of a query to the next frame, which shows it in the draft, p99.

    Raises TimeoutError when a letter has no frame before the next one is sent.
    """
    sent: list[float] = []
    with _picking(lab) as terminal:
        begun = time.monotonic()
        for query in QUERIES:
            for letter in query:
                sent.append(terminal.send(letter))
                time.sleep(KEY_EVERY)
            terminal.send("\x15@")  # the line is emptied
            time.sleep(KEY_EVERY)
        terminal.quiet(0.5)
        frames = [when for when, _ in terminal.frames(begun, time.monotonic())]
    waits = [min((when - at for when in frames if when > at), default=KEY_EVERY) for at in sent]
    if (late := sum(wait >= KEY_EVERY for wait in waits)) > 1:
        raise TimeoutError(f"{late} of {len(sent)} keys had no frame in {1000 * KEY_EVERY:.0f} ms")
    return 1000 * percentile(waits, 0.99)


BARS = (
    # On a machine at rest both are at most 30 ms; a busy one has three times that.
    Bar("files: 200,000, a letter to the first answer, aim 30", 90.0, "ms", lambda lab: lab.once(answered).median),
    Bar("files: 200,000, the same, p95, aim 30", 90.0, "ms", lambda lab: lab.once(answered).slow),
    Bar("files: 200,000, key to frame while they are searched, p99", 50.0, "ms", key_to_frame),
    Bar("files: 200,000, memory of the index", 40.0, "MB", lambda lab: lab.once(answered).memory),
)
