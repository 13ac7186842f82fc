"""What would be written into a skill, in the interface's language: the core says it in one English line."""

from __future__ import annotations

import re
from typing import Final

from nanoherm_tui.i18n import t
from nanoherm_tui.text import one_line, visible

_PATTERNS: Final = {
    "create": re.compile(r"Create the skill (?P<name>\S+)"),
    "rewrite": re.compile(r"Rewrite the skill (?P<name>\S+)"),
    "change": re.compile(r"Change the skill (?P<name>\S+)"),
    "write": re.compile(r"Write (?P<file>\S+) of the skill (?P<name>\S+)"),
    "remove": re.compile(r"Remove (?P<file>\S+) of the skill (?P<name>\S+)"),
    "delete": re.compile(r"Delete the skill (?P<name>\S+)"),
    "delete_all": re.compile(r"Delete the skill (?P<name>\S+) with (?P<n>\d+) more files?"),
}


def kept_title(title: str) -> str:
    """The title of a write that is asked about or waits; one that is of another kind as it is."""
    text = one_line(visible(title))
    for kind, pattern in _PATTERNS.items():
        if (found := pattern.fullmatch(text)) is not None:
            return t(f"kept.{kind}", **found.groupdict())
    return text
