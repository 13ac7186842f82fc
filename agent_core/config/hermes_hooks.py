"""Which hooks of Hermes' own config run here: those that the user has approved there (HOOK-08)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agent_core import limits
from agent_core.plain_files import read_regular

ALLOWLIST: Final = "shell-hooks-allowlist.json"
"""In Hermes' home: what was approved at its first use, by event and command."""


def approved(events: Mapping[str, Any], home: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The hooks that are approved in the Hermes home `home`, and where others are declared: "pre_tool_call"."""
    known = _allowed(home)
    kept: dict[str, Any] = {}
    others: list[str] = []
    for event, entries in events.items():
        if not isinstance(entries, list):
            kept[event] = entries
            continue
        kept[event] = [entry for entry in entries if (event, _command(entry)) in known]
        if len(kept[event]) < len(entries):
            others.append(event)
    return kept, tuple(others)


def _command(entry: object) -> str:
    command = entry.get("command") if isinstance(entry, Mapping) else None
    return command.strip() if isinstance(command, str) else ""


def _allowed(home: Path) -> frozenset[tuple[str, str]]:
    """Nothing where the file is missing or cannot be understood."""
    try:
        data = read_regular(home / ALLOWLIST, limits.CONFIG_FILE)
        found = json.loads((data or b"").decode("utf-8-sig") or "{}")
    except (OSError, ValueError, RecursionError):
        return frozenset()
    entries = found.get("approvals") if isinstance(found, dict) else None
    return frozenset(
        (str(entry.get("event")), _command(entry))
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
    )
