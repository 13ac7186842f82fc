"""A notebook (.ipynb) as a person reads it: its cells, and of their outputs what is text and short."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_core import limits
from agent_core.text.ansi import clean


def cells(text: str) -> list[str] | None:
    """The lines of a notebook: each cell's number and kind, its source, its outputs; None when `text` is no notebook.

    Images in outputs are named, not shown; a long output is cut and says so.
    """
    try:
        book = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(found, list) or not isinstance(book.get("nbformat", 0), int):
        return None
    lines: list[str] = []
    for number, cell in enumerate(found, 1):
        if isinstance(cell, dict):
            lines += _cell(number, cell)
    return lines or ["(the notebook has no cells)"]


def _cell(number: int, cell: Mapping[str, Any]) -> list[str]:
    count = cell.get("execution_count")
    run = f", run {count}" if isinstance(count, int) else ""
    lines = [f"## cell {number}: {_word(cell.get('cell_type'))}{run}", *_joined(cell.get("source")).splitlines()]
    outputs = cell.get("outputs")
    outputs = outputs if isinstance(outputs, list) else []
    for output in outputs[: limits.NOTEBOOK_OUTPUTS]:
        if isinstance(output, dict):
            lines += _output(output)
    if len(outputs) > limits.NOTEBOOK_OUTPUTS:
        lines.append(f"[{len(outputs) - limits.NOTEBOOK_OUTPUTS:,} more outputs]")
    return [*lines, ""]


def _output(output: Mapping[str, Any]) -> list[str]:
    kind = output.get("output_type")
    if kind == "stream":
        return [f"# output ({_word(output.get('name'))}):", *_cut(_joined(output.get("text")))]
    if kind == "error":
        trace = output.get("traceback")
        trace = "\n".join(str(line) for line in trace) if isinstance(trace, list) else ""
        return ["# error:", *_cut(trace or f"{_word(output.get('ename'))}: {_word(output.get('evalue'))}")]
    data = output.get("data")
    data = data if isinstance(data, dict) else {}
    plain = _joined(data.get("text/plain"))
    others = [f"[{_word(name)}, not shown]" for name in data if name != "text/plain"]
    return ["# output:", *(_cut(plain) if plain else []), *others]


def _cut(text: str) -> list[str]:
    """The lines of an output: its beginning and its end, when it is long."""
    text, most = clean(text), limits.NOTEBOOK_OUTPUT
    if len(text) > most:
        left_out = len(text) - most
        text = f"{text[: most // 2]}\n[... {left_out:,} characters of output left out ...]\n{text[-(most // 2) :]}"
    return text.splitlines()


def _joined(value: Any) -> str:
    """Text as notebooks have it: one string, or a list of lines."""
    return "".join(str(part) for part in value) if isinstance(value, list) else value if isinstance(value, str) else ""


def _word(value: Any) -> str:
    return clean(value)[:80].replace("\n", " ") if isinstance(value, str) else "unknown"
