"""What would be written into a skill or memory, in the interface's language: the core says it in one English line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

from nanoherm_tui.i18n import t
from nanoherm_tui.text import one_line, visible

_PATTERNS: Final = {
    "memory": re.compile(r"Remember a (?P<kind>preference|correction|fact|lesson)"),
    "page": re.compile(r"Change (?P<file>MEMORY\.md|USER\.md): (?P<steps>.+)"),
    "create": re.compile(r"Create the skill (?P<name>\S+)"),
    "rewrite": re.compile(r"Rewrite the skill (?P<name>\S+)"),
    "change": re.compile(r"Change the skill (?P<name>\S+)"),
    "write": re.compile(r"Write (?P<file>\S+) of the skill (?P<name>\S+)"),
    "remove": re.compile(r"Remove (?P<file>\S+) of the skill (?P<name>\S+)"),
    "delete": re.compile(r"Delete the skill (?P<name>\S+)"),
    "delete_all": re.compile(r"Delete the skill (?P<name>\S+) with (?P<n>\d+) more files?"),
}


def in_row(words: Sequence[str]) -> str:
    """Short phrases one behind the other."""
    return reduce(lambda a, b: t("memory.both", a=a, b=b), words)


_STEP: Final = re.compile(r"(\d+) (added|replaced|removed)")
_WORDS: Final[dict[str, Callable[[str], str]]] = {
    "kind": lambda kind: t(f"memory.{kind}"),
    "steps": lambda steps: in_row([t(f"kept.{how}", n=n) for n, how in _STEP.findall(steps)]),
}
"""Words of the core inside a title."""


def kept_title(title: str) -> str:
    """The title of a write that is asked about or waits; one that is of another kind as it is."""
    text = one_line(visible(title))
    for kind, pattern in _PATTERNS.items():
        if (found := pattern.fullmatch(text)) is not None:
            return t(
                f"kept.{kind}",
                **{name: _WORDS[name](words) if name in _WORDS else words for name, words in found.groupdict().items()},
            )
    return text
