"""The URL door: the URL and each redirect are judged with the row's resolver, which may answer otherwise each time.

A row that wants the connection pinned holds when the addresses to connect to are those of the first look-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_core.safety.urls import check as judge
from agent_core.safety.urls import check_redirect


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    answers = _Answers(row)
    verdict = judge(row["input"], answers)
    hops = list(row.get("redirects", []))
    while hops and verdict.verdict == "allow" and verdict.target is not None:
        verdict = check_redirect(verdict.target, hops.pop(0), answers)
    if row.get("floor") and judge(row["input"], _Answers(row), allow_private=True).verdict != "deny":
        return "not denied where private URLs are allowed"
    alt = row.get("alt")
    pinned = alt == "allow-if-pinned" and verdict.verdict == "allow" and list(verdict.addresses) == answers.first
    if verdict.verdict in (row["expected"], alt) or pinned:
        return ""
    return f"{verdict.verdict} ({verdict.rule or 'no rule'})"


class _Answers:
    """A resolver that knows what the row says."""

    def __init__(self, row: dict[str, Any]) -> None:
        self._names: dict[str, list[str]] = row.get("dns", {})
        self._queue: Iterator[list[str]] = iter(row.get("dns_seq", []))
        self.first: list[str] = []

    def __call__(self, host: str) -> list[str]:
        found = next(self._queue, None)
        if found is None:
            found = self._names.get(host, self._names.get("*", []))
        self.first = self.first or found
        return found
