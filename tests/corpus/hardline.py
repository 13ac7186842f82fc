"""Commands and the verdict of floor and detector: refuse, ask or pass. `alt` is another right answer."""

from __future__ import annotations

from typing import Any

from agent_core.safety.danger import classify


def check(row: dict[str, Any]) -> str:
    verdict = classify(row["input"])
    return "" if verdict in (row["expected"], row.get("alt")) else f"{verdict}, not {row['expected']}: {row['input']}"
