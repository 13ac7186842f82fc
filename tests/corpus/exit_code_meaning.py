"""exit_code_meaning: whether an exit code gets a hint. The wording is our own."""

from __future__ import annotations

from typing import Any

from agent_core.text.command_outcome import meaning


def binds(row: dict[str, Any]) -> bool:
    return bool(row.get("stable", True)) or row.get("judge") == "strict"


def check(row: dict[str, Any]) -> str:
    got = meaning(row["args"]["command"], row["args"]["exit_code"])
    return "" if (got is None) == (row["expect"] is None) else f"{got!r}, expected {row['expect']!r}"
