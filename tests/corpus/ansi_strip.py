"""Taking escape sequences out of text."""

from __future__ import annotations

from typing import Any

from agent_core.text.ansi import strip_ansi


def binds(row: dict[str, Any]) -> bool:
    return row["stable"] is True


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    got = strip_ansi(row["args"]["text"])
    return "" if got == row["expect"] else repr(got)
