"""edit_fuzzy: the edit ladder. A row has text, find, put, all, and what must come out."""

from __future__ import annotations

from typing import Any

from agent_core.text import match


def binds(row: dict[str, Any]) -> bool:
    return bool(row.get("stable", True)) or row.get("judge") == "strict"


def edited(row: dict[str, Any]) -> tuple[str, int]:
    """The text after the edit, and how many places were replaced (0: refused)."""
    found = match.find(row["text"], row["find"], row["put"], bool(row.get("all")))
    if isinstance(found, match.NoMatch):
        return row["text"], 0
    return match.apply(row["text"], found), len(found.spans)


def check(row: dict[str, Any]) -> str:
    text, count = edited(row)
    expect = row["expect"]
    if bool(expect["err"]) != (count == 0):
        return f"{count} replaced, expected {'an error' if expect['err'] else expect['n']}"
    if text != expect["text"] or count != expect["n"]:
        return f"{count} replaced, {text[:200]!r}"
    return ""
