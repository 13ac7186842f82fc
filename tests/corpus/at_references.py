"""at_references: what a message refers to by the typed forms, where, and which lines. Names without a type are ours.

A row may count the sentence's own sign behind a reference to what is written of it ("@file:a.py,"): what is referred to
is the same, so both are compared without it.
"""

from __future__ import annotations

from typing import Any

from agent_core.text.refs import references

_SIGNS = ",.;!?)]}"


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
    return "" if [*map(_alone, got)] == [*map(_alone, row["expect"])] else f"{got!r}"


def _alone(one: dict[str, Any]) -> dict[str, Any]:
    raw = one["raw"].rstrip(_SIGNS)
    return {**one, "raw": raw, "end": one["end"] - len(one["raw"]) + len(raw)}
