"""at_references: what a message refers to by the typed forms, where, and which lines. Names without a type are ours."""

from __future__ import annotations

from typing import Any

from agent_core.text.refs import references


def binds(row: dict[str, Any]) -> bool:
    return bool(row.get("stable", True)) or row.get("judge") == "strict"


def check(row: dict[str, Any]) -> str:
    got = [
        {
            "raw": one.raw,
            "kind": one.kind,
            "target": one.target,
            "start": one.start,
            "end": one.end,
            "line_start": one.first,
            "line_end": one.last,
        }
        for one in references(row["args"]["message"])
        if one.kind != "path"
    ]
    return "" if got == row["expect"] else f"{got!r}"
