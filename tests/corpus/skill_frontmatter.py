"""A SKILL.md taken apart: what its frontmatter says, and its body."""

from __future__ import annotations

from typing import Any

from agent_core.skills.frontmatter import parse


def binds(row: dict[str, Any]) -> bool:
    return row.get("stable", True) is True or row.get("judge") == "strict"


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    found, expect = parse(row["doc"]), row["expect"]
    meta = dict(found.meta)
    return "" if meta == expect["meta"] and found.body == expect["body"] else f"{meta!r} {found.body!r}"
