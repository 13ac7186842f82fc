"""Commands with two verdicts: never allowed (the floor) and asked about by name (the detector).

The floor comes first: after a refusal nothing is asked, so `needs_approval` is compared only where the floor lets pass.
"""

from __future__ import annotations

from typing import Any

from agent_core.safety.danger import classify


def binds(row: dict[str, Any]) -> bool:
    return bool(row.get("stable"))


def check(row: dict[str, Any]) -> str:
    expected = "refuse" if row["never_allowed"] else "ask" if row["needs_approval"] else "pass"
    verdict = classify(row["shell"])
    return "" if verdict == expected else f"{verdict}, not {expected}: {row['shell']}"
