"""arg_coerce: one argument value and the JSON type its schema expects."""

from __future__ import annotations

from typing import Any

from agent_core.text.coerce import coerce_value


def binds(row: dict[str, Any]) -> bool:
    return bool(row.get("stable", True)) or row.get("judge") == "strict"


def check(row: dict[str, Any]) -> str:
    args = row["args"]
    got = coerce_value(args["value"], args["expected_type"], args.get("schema"))
    # JSON knows one kind of number; Python's true equals 1.
    same = got == row["expect"] and isinstance(got, bool) == isinstance(row["expect"], bool)
    return "" if same else f"{got!r}, expected {row['expect']!r}"
