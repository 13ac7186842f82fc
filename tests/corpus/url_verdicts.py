"""Another product's verdicts about URLs: whether it may be fetched, with the answers its resolver gave."""

from __future__ import annotations

from typing import Any

from agent_core.safety.urls import check as judge


def binds(row: dict[str, Any]) -> bool:
    return row["stable"] is True


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    names = dict(row["resolves_to"])

    def resolve(host: str) -> list[str]:
        found = names.get(host, [])
        if isinstance(found, str):  # "ERROR:..."
            raise OSError(found)
        return list(found)

    verdict = judge(row["url"], resolve, allow_private=row["private_allowed_by_user"])
    return "" if (verdict.verdict == "allow") is row["fetch_ok"] else f"{verdict.verdict} ({verdict.rule})"
