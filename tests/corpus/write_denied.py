"""The protected-write list: whether a path is on it. The workspace bound, which also denies, is not asked about."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from agent_core.safety.paths import PathRules, classify


def binds(row: dict[str, Any]) -> bool:
    return row["stable"] is True


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    with tempfile.TemporaryDirectory() as top:
        home, own, workspace = (Path(top).resolve() / name for name in ("home", "own", "ws"))
        for folder in (home, own, workspace):
            folder.mkdir()
        text = row["args"]["path"].replace("$HERMES_HOME", str(own)).replace("$HOME", str(home))
        verdict = classify("write", text, PathRules(workspace, home, own))
    protected = verdict.verdict == "deny" and verdict.rule.startswith("protected")
    return "" if protected is row["expect"] else f"{verdict.verdict} ({verdict.rule})"
