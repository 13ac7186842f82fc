"""Whether a new skill may have a name."""

from __future__ import annotations

from typing import Any

from agent_core.skills.names import is_valid


def binds(row: dict[str, Any]) -> bool:
    return row.get("stable", True) is True or row.get("judge") == "strict"


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    valid = is_valid(row["args"]["name"])
    return "" if valid is row["expect"]["valid"] else f"valid: {valid}"
