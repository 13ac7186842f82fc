"""Secrets must vanish, whole and in two pieces at every place; what is none must stay."""

from __future__ import annotations

from typing import Any

from agent_core.safety.redact import Redactor, redact


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    text = row["input"]
    wrong = _wrong(row, redact(text))
    step = max(1, len(text) // 40)
    for at in range(0, len(text), step):
        redactor = Redactor()
        pieces = redactor.feed(text[:at]) + redactor.feed(text[at:]) + redactor.flush()
        wrong = wrong or _wrong(row, pieces)
    return wrong


def _wrong(row: dict[str, Any], got: str) -> str:
    kept = [secret for secret in row.get("secrets", []) if secret in got]
    lost = [text for text in row.get("keep", []) if text not in got]
    changed = row["expected"] == "keep" and got != row["input"]
    return f"{got!r}" if kept or lost or changed else ""
