"""The user's own patterns of commands that are never run, whatever else allows them (APPR-12). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from agent_core.safety.shell_walk import walk


def denied(command: str, patterns: Iterable[str]) -> str:
    """The first of `patterns` that fits `command` or any command it would run; empty when none does.

    Patterns are shell globs over the text, letters' case aside: "git push*", "*prod*".
    """
    wanted = [pattern.strip() for pattern in patterns if pattern.strip()]
    if not wanted:
        return ""
    texts = [" ".join(command.split()).lower(), *(" ".join((r.name, *r.args)).lower() for r in walk(command).runs)]
    return next((p for p in wanted if any(fnmatchcase(text, p.lower()) for text in texts)), "")
