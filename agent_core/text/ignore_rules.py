"""The patterns of ignore files, as git reads them: which paths below a folder they name."""

from __future__ import annotations

import re

from agent_core.records import dataclass
from agent_core.text import globs


@dataclass(frozen=True, slots=True)
class Rule:
    """Neighbouring patterns of a kind, as one expression for a path below the ignore file's folder."""

    expression: re.Pattern[str]
    ignores: bool
    folders_only: bool


Rules = tuple[Rule, ...]


def parse(text: str, *, any_case: bool = False) -> Rules:
    """The rules of an ignore file's text, in its order; lines that are no pattern are left out."""
    flags = re.DOTALL | (re.IGNORECASE if any_case else re.NOFLAG)
    grouped: list[tuple[bool, bool, list[str]]] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        rule = _pattern(line.removesuffix("\r"))
        if rule is None:
            continue
        ignores, folders_only, expression = rule
        if grouped and grouped[-1][:2] == (ignores, folders_only):
            grouped[-1][2].append(expression)
        else:
            grouped.append((ignores, folders_only, [expression]))
    return tuple(
        Rule(re.compile("|".join(f"(?:{e})" for e in expressions), flags), ignores, folders_only)
        for ignores, folders_only, expressions in grouped
    )


def verdict(rules: Rules, relative: str, is_folder: bool) -> bool | None:
    """Whether `rules` ignore this path, the folders above it taken as not; None: they do not name it."""
    for rule in reversed(rules):
        if (is_folder or not rule.folders_only) and rule.expression.fullmatch(relative):
            return rule.ignores
    return None


def names_below(rules: Rules, relative: str, is_folder: bool) -> bool:
    """Whether `rules` ignore this path, or a folder above it and so everything below that."""
    ends = [index for index, char in enumerate(relative) if char == "/"]
    return any(verdict(rules, relative[:end], True) for end in ends) or bool(verdict(rules, relative, is_folder))


def in_one(rules: Rules) -> re.Pattern[str] | None:
    """One expression that says the same as `names_below`, for walks; None when a rule takes something back.

    It matches the path of a file, and that of a folder with a slash behind it. No name ends in that slash: `a/*` is
    about what lies in `a`.
    """
    if not all(rule.ignores for rule in rules):
        return None
    parts = [f"(?:{rule.expression.pattern})(?<!/){'/.*' if rule.folders_only else '(?:/.*)?'}" for rule in rules]
    return re.compile("|".join(parts), rules[0].expression.flags if rules else 0)


def _pattern(line: str) -> tuple[bool, bool, str] | None:
    """One line of an ignore file: does it ignore, only folders, and the expression; None for no pattern."""
    if line.startswith("#"):
        return None
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    ignores = not line.startswith("!")
    line = line if ignores else line[1:]
    folders_only = line.endswith("/")
    line = line.rstrip("/") if folders_only else line
    anchored = "/" in line
    line = line.removeprefix("/")
    if not line:
        return None
    try:
        return ignores, folders_only, globs.translate(line if anchored else f"**/{line}")
    except ValueError:  # too involved to be meant
        return None
