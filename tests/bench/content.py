"""What the benchmarks write and stream: texts of a given size, and a working session's stored messages."""

from __future__ import annotations

from collections.abc import Callable

from agent_core.messages import Message, ToolCall, ToolResult, tool

PARAGRAPH = "The parser drops the offset when **the text** is cut; see `dates.py`. 解析器丢掉了偏移，请看第 40 行。\n\n"
CODE = "```python\n" + "def parse(text: str) -> int:\n    return int(text) + 1  # add one\n" * 6 + "```\n\n"
LIST = "- first point with some words\n- second point, `code` in it\n  - nested\n\n"
TABLE = "| name | value |\n|---|---:|\n" + "| alpha | 1 |\n| beta | 22 |\n" * 4 + "\n"
MIXED = "## Heading\n\n" + PARAGRAPH * 6 + CODE + LIST * 2 + TABLE


def _repeated(head: str, part: str, size: int) -> str:
    return (head + part * (size // len(part) + 1))[:size]


KINDS: dict[str, Callable[[int], str]] = {
    "mixed": lambda size: _repeated("", MIXED, size),
    "fence": lambda size: _repeated("```python\n", "    value = compute(first, second)  # step\n", size),
    "list": lambda size: _repeated("", "- an item with a few words in it and `code`\n", size),
    "table": lambda size: _repeated("| a | b |\n|---|---|\n", "| some cell | another cell |\n", size),
    "line": lambda size: _repeated("", "words and more words ", size),
}
"""By kind: a text of `size` characters."""


FIRST = "ZQJXVW"
"""A word of the first message alone."""


def history(count: int) -> list[Message]:
    """`count` messages of a working session, four a turn. The last one ends with "end of history"."""
    out: list[Message] = []
    for n in range(count // 4):
        call = ToolCall(f"c{n}", "read_file", {"path": f"src/part{n % 7}/module{n % 13}.py"})
        opening = "" if n else f"{FIRST} "
        out.append(Message("user", f"{opening}Question {n}: why does the parser drop the offset? 第 {n} 个问题。"))
        out.append(Message("assistant", "", reasoning="the offset is read, then thrown away", tool_calls=(call,)))
        out.append(tool(ToolResult(call.id, call.name, "line\n" * 40, outcome="40 lines", seconds=0.1)))
        out.append(Message("assistant", f"{KINDS['mixed'](900)}\n```\n\nAnswer {n}, end of history"))
    return out


def begin_of(mark: str) -> str:
    """The word a stream begins with."""
    return mark[4:] + mark[:4]


def end_of(mark: str) -> str:
    """The word a stream ends with."""
    return mark[::-1]
