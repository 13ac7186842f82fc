"""patch_parse: what a patch says. A row has the patch, and the operations on files or that it is refused."""

from __future__ import annotations

from typing import Any

from agent_core.errors import ToolFailure
from agent_core.text import patch
from agent_core.text.hunks import FilePatch


def binds(row: dict[str, Any]) -> bool:
    return bool(row.get("stable", True)) or row.get("judge") == "strict"


def operation(file: FilePatch) -> dict[str, Any]:
    """A file's part as rows write it down: a hint is the innermost line above a hunk."""
    return {
        "operation": file.does,
        "file_path": file.path,
        "new_path": file.new_path or None,
        "hunks": [
            {
                "context_hint": hunk.hints[-1] if hunk.hints else None,
                "lines": [{"prefix": line.kind, "content": line.text} for line in hunk.lines],
            }
            for hunk in file.hunks
        ],
        "content": None,
    }


def check(row: dict[str, Any]) -> str:
    expect = row["expect"]
    try:
        made = [operation(file) for file in patch.parse(row["patch"]).files]
    except ToolFailure as failure:
        return "" if expect["err"] else f"refused: {failure.text[:200]}"
    if expect["err"]:
        return "not refused"
    return "" if made == expect["ops"] else f"{made!r:.300}"
