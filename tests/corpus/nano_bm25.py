"""nano_bm25: a query, memories, and the score of each."""

from __future__ import annotations

from typing import Any

from agent_core.memory.recall import scores

WITHIN = 1e-9


def binds(row: dict[str, Any]) -> bool:
    return row.get("judge", "strict") == "strict"


def check(row: dict[str, Any]) -> str:
    got = scores(row["query"], [(doc["kind"], doc["text"]) for doc in row["docs"]])
    near = len(got) == len(row["scores"]) and all(abs(a - b) <= WITHIN for a, b in zip(got, row["scores"], strict=True))
    return "" if near else f"{got!r}, expected {row['scores']!r}"
