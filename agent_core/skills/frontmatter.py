"""A SKILL.md taken apart: what its frontmatter says, its body, and what is wrong with it by line. Pure.

Whatever a file holds, something usable comes of it: frontmatter that is no YAML is read key by key, so that one wrong
line costs its own key and no other, and one that never ends is part of the body. What `skills check` tells of that is
in `problems`. Source: SKILL-02, SKILL-05.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent_core import limits
from agent_core.records import dataclass

_OPENS: Final = re.compile(r"---[^\S\n]*\n")
_CLOSES: Final = re.compile(r"^---[^\S\n]*(?:\n\s*\n|\n|\Z)", re.MULTILINE)
_KEY: Final = re.compile(r"([^\s#:-][^:]*|):(?:\s+(.*))?\Z")
"""A line that begins a key; what is indented below belongs to it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a skill's file, and the way out."""

    line: int
    """From 1."""
    text: str
    case: str = ""
    """What it is, for faces that have words of their own; empty: the text alone tells."""


@dataclass(frozen=True, slots=True)
class Document:
    meta: Mapping[str, Any]
    """What the frontmatter says; empty without one."""
    body: str
    """Without the blank lines at its beginning, where frontmatter stands before it."""
    problems: tuple[Problem, ...] = ()
    whole: bool = True
    """False: frontmatter is begun and does not end in this text."""


def parse(text: str) -> Document:
    """Take the text of a SKILL.md apart. Never raises for what it holds."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    opened = _OPENS.match(text)
    if opened is None:
        return Document({}, text)
    closed = _CLOSES.search(text, opened.end())
    if closed is None:
        problem = Problem(1, "the frontmatter does not end. Put a line with --- behind it.", "skill_head_open")
        return Document({}, text, (problem,), whole=False)
    meta, problems = _meta(text[opened.end() : closed.start()].removesuffix("\n"))
    return Document(meta, text[closed.end() :], problems)


def first_line(body: str) -> str:
    """The first line of a body that says something, without the mark of a heading."""
    for line in body.split("\n"):
        if words := line.lstrip("# \t").strip():
            return words
    return ""


def _meta(text: str) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """What stands between the two lines of frontmatter, whose first line is the file's second."""
    import yaml

    if len(text) > limits.SKILL_HEAD:
        words = f"the frontmatter has more than {limits.SKILL_HEAD:,} characters. Put most of it below."
        return {}, (Problem(1, words, "skill_head_long"),)
    try:
        found = _load(text)
    except _Refused as refused:
        return _key_by_key(text), (refused.problem,)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = (mark.line if mark else 0) + 2
        fault = f"{error.problem or 'this is no YAML'}. Correct it; text with a colon in it needs quotes."
        return _key_by_key(text), (Problem(line, fault, "skill_head_yaml"),)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        fault = "it is nested too deep" if isinstance(error, RecursionError) else str(error).partition("\n")[0]
        return _key_by_key(text), (Problem(2, f"the frontmatter is no YAML: {fault}. Correct it.", "skill_head_yaml"),)
    if found is None:
        return {}, ()
    if not isinstance(found, dict):
        return {}, (Problem(2, "the frontmatter should be lines such as `name: value`.", "skill_head_lines"),)
    return {str(key): value for key, value in found.items()}, ()


class _Refused(Exception):
    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(line, text, "skill_head_alias")


def _load(text: str) -> Any:
    """`text` as YAML. What refers back to itself could grow without end, and no skill needs it."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for event in yaml.parse(text, Loader=loader) if "&" in text else ():
        if isinstance(event, yaml.AliasEvent):
            mark = event.start_mark
            line = mark.line + 2 if mark else 2
            raise _Refused(line, "aliases (*name) are not read here. Write the value out.")
    return yaml.load(text, Loader=loader)


def _key_by_key(text: str) -> dict[str, Any]:
    """Each key with what stands behind and below it."""
    found: dict[str, Any] = {}
    begun: list[tuple[str, str, list[str]]] = []
    for line in text.split("\n"):
        if (pair := _KEY.match(line)) is not None:
            begun.append((pair[1].strip(), (pair[2] or "").strip(), []))
        elif begun and line.strip():
            begun[-1][2].append(line)
    for key, said, below in begun:
        found[_unquoted(key)] = _value(said, below)
    return found


def _value(said: str, below: Sequence[str]) -> Any:
    """What a key holds: a list, a mapping or lines below it as YAML has them, anything else as it is written."""
    import yaml

    if below or said.startswith(("[", "{")):
        try:
            found = _load("\n".join((f"k: {said}", *below)))["k"]
        except (_Refused, yaml.YAMLError, ValueError, RecursionError, OverflowError):
            found = None
        if isinstance(found, (list, dict, str)):
            return found
        said = " ".join((said, *map(str.strip, below))) if said else ""
    return _unquoted(said)


def _unquoted(text: str) -> str:
    """`text` without quotes around it, also where the closing one was forgotten."""
    quote = text[:1]
    if quote and quote in "\"'" and (text.count(quote) == 1 or (text.count(quote) == 2 and text.endswith(quote))):
        return text.strip(quote)
    return text
