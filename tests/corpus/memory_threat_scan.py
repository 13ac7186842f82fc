"""Whether a text may become a memory entry."""

from __future__ import annotations

from typing import Any

from agent_core.safety.inject import scan


def binds(row: dict[str, Any]) -> bool:
    return row["stable"] is True


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    found = scan(row["args"]["content"], "memory")
    return "" if bool(found) is row["expect"] else repr(found)
