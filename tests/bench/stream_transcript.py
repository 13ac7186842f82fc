"""What an answer costs as it streams in: CPU for 100 and 200 KB, and their ratio.

`python -m tests.bench.stream_transcript [--all]`

Absolute times are this machine's; the ratios are what to look at. 2.0 is linear; well above it, the cost of a batch
grows with the answer.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace

from textual.app import App, ComposeResult

from agent_core import events
from agent_core.messages import Message, ToolCall, ToolResult, tool
from nanoherm_tui.themes import Look, load_themes
from nanoherm_tui.transcript.model import TranscriptModel
from nanoherm_tui.transcript.view import TranscriptView

BATCH = 800  # characters: 20 KB/s in 40 ms batches
PARAGRAPH = "The parser drops the offset when **the text** is cut; see `dates.py`. 解析器丢掉了偏移，请看第 40 行。\n\n"
CODE = "```python\n" + "def parse(text: str) -> int:\n    return int(text) + 1  # add one\n" * 6 + "```\n\n"
LIST = "- first point with some words\n- second point, `code` in it\n  - nested\n\n"
TABLE = "| name | value |\n|---|---:|\n" + "| alpha | 1 |\n| beta | 22 |\n" * 4 + "\n"


def mixed(size: int) -> str:
    part = "## Heading\n\n" + PARAGRAPH * 6 + CODE + LIST * 2 + TABLE
    return (part * (size // len(part) + 1))[:size]


def one_fence(size: int) -> str:
    return "```python\n" + ("    value = compute(first, second)  # step\n" * (size // 43 + 1))[:size]


def one_list(size: int) -> str:
    return ("- an item with a few words in it and `code`\n" * (size // 44 + 1))[:size]


def one_table(size: int) -> str:
    return "| a | b |\n|---|---|\n" + ("| some cell | another cell |\n" * (size // 29 + 1))[:size]


def one_line(size: int) -> str:
    return ("words and more words " * (size // 21 + 1))[:size]


class Stage(App[None]):
    """The transcript alone on the screen."""

    def __init__(self) -> None:
        super().__init__()
        self.look = Look(load_themes()[0]["nanoherm-dark"])
        self.view = TranscriptView()

    def compose(self) -> ComposeResult:
        yield self.view


def history(count: int) -> list[Message]:
    """`count` stored messages of a working session."""
    out: list[Message] = []
    for n in range(count // 4):
        call = ToolCall(f"c{n}", "read_file", {"path": f"src/part{n % 7}/module{n % 13}.py"})
        out.append(Message("user", f"Question {n}: why does the parser drop the offset? 第 {n} 个问题。"))
        out.append(Message("assistant", "", reasoning="the offset is read, then thrown away", tool_calls=(call,)))
        out.append(tool(ToolResult(call.id, call.name, "line\n" * 40, outcome="40 lines", seconds=0.1)))
        out.append(Message("assistant", mixed(900)))
    return out


async def stream(source: str, messages: int) -> SimpleNamespace:
    """Stream `source` after a session of `messages`: CPU seconds, and milliseconds a batch."""
    app = Stage()
    async with app.run_test(size=(150, 40)) as pilot:
        model = TranscriptModel()
        model.load(history(messages))
        app.view.show(model)
        await pilot.pause()
        gc.collect()
        gc.freeze()
        batches: list[float] = []
        began = time.process_time()
        for at in range(0, len(source), BATCH):
            start = time.perf_counter()
            app.view.apply([events.TextDelta(source[at : at + BATCH])])
            batches.append(1000 * (time.perf_counter() - start))
            await pilot._wait_for_screen()
            await asyncio.sleep(0)
        app.view.apply([events.AssistantMessage("m", source)])
        used = time.process_time() - began
        quarter = max(1, len(batches) // 4)
        return SimpleNamespace(
            cpu=used,
            first=statistics.median(batches[:quarter]),
            last=statistics.median(batches[-quarter:]),
            worst=max(batches),
        )


def compare(name: str, make: Callable[[int], str], messages: int = 200, small: int = 100, large: int = 200) -> float:
    """Three interleaved pairs; prints and returns the median ratio of their CPU times."""
    ratios, runs = [], []
    for _ in range(3):
        a = asyncio.run(stream(make(small * 1000), messages))
        b = asyncio.run(stream(make(large * 1000), messages))
        ratios.append(b.cpu / a.cpu)
        runs.append((a, b))
    ratio = statistics.median(ratios)
    a, b = runs[-1]
    print(
        f"{name:10} {small} KB {a.cpu:5.2f} s   {large} KB {b.cpu:5.2f} s   ratio {ratio:4.2f}   "
        f"batch first quarter {b.first:4.1f} ms, last {b.last:4.1f} ms, worst {b.worst:5.1f} ms"
    )
    return ratio


def open_session(messages: int) -> float:
    """Seconds from stored messages to the first window."""

    async def run() -> float:
        app = Stage()
        async with app.run_test(size=(150, 40)) as pilot:
            stored = history(messages)
            began = time.perf_counter()
            model = TranscriptModel()
            model.load(stored)
            app.view.show(model)
            opened = time.perf_counter() - began
            await pilot.pause()
            return opened

    return asyncio.run(run())


def main() -> None:
    compare("mixed", mixed)
    if "--all" in sys.argv:
        compare("20,000 msg", mixed, messages=20_000)
        for name, make in (("fence", one_fence), ("list", one_list), ("table", one_table), ("one line", one_line)):
            compare(name, make)
    for messages in (200, 2_000, 20_000):
        print(f"open {messages:6} messages: {1000 * open_session(messages):6.1f} ms")


if __name__ == "__main__":
    main()
