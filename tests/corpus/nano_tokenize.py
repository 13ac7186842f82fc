"""nano_tokenize: a text and the terms it is remembered by."""

from __future__ import annotations

from typing import Any

from agent_core.text.tokenize import bigrams


def binds(row: dict[str, Any]) -> bool:
    return row.get("judge", "strict") == "strict"


def check(row: dict[str, Any]) -> str:
    got = bigrams(row["text"])
    return "" if got == row["tokens"] else f"{got!r}, expected {row['tokens']!r}"
