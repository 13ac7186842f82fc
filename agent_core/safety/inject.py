"""Texts that talk to the model: what in a file or a memory entry reads like an attempt to take it over.

A finding changes nothing about what is allowed; it makes the text be shown to a person and be fenced as suspicious. So
the rules (`inject_rules`) aim at what ordinary project guidance does not say, and a hit is named with its line and
words. Looking takes time in proportion to the text.
Source: P1, SKILL-07, MEM-14.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from agent_core import limits
from agent_core.records import dataclass
from agent_core.safety.inject_rules import BEFORE, COMMANDS, HIDDEN, NOT, RULES, UNSEEN_STYLE, Kind, Rule, compiled
from agent_core.safety.redact import redact


@dataclass(frozen=True, slots=True)
class Finding:
    """One place of a text."""

    rule: str
    line: int
    """From 1."""
    words: str
    """What stands there, cut; empty where it cannot be seen."""


def scan(text: str, kind: Kind) -> tuple[Finding, ...]:
    """What in `text` reads like an attempt, in the order of its lines; at most limits.FINDINGS of them."""
    folded = _folded(text)
    found = [*_unseen(text), *_phrases(folded, kind), *_comments(text, folded)]
    if kind == "memory" and (hidden := redact(text)) != text:
        found.append(Finding("a key", _first_difference(text, hidden), ""))
    once: dict[tuple[str, int], Finding] = {}
    for finding in found:
        once.setdefault((finding.rule, finding.line), finding)
    return tuple(sorted(once.values(), key=lambda finding: finding.line)[: limits.FINDINGS])


# -- what cannot be seen ------------------------------------------------------------------------------------------

_FLAG: Final = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,16}\U000e007f")
"""The flags of regions are written in tag characters."""
_UNSEEN: Final = re.compile(
    "[\u200b\u202a-\u202e\u2060-\u2064\u2066-\u206f\u180e\u115f\u1160\u3164\uffa0\ufff9-\ufffb\U000e0000-\U000e00ff]"
    "|(?<=.)\ufeff|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}|(?<=[A-Za-z])[\u200c\u200d](?=[A-Za-z])",
    re.DOTALL,
)


def _unseen(text: str) -> Iterator[Finding]:
    """Characters that hide text from a reader: tags, zero-width ones, those that turn the direction."""
    if text.isascii():
        return
    text = _FLAG.sub("", text)
    line, told, at = 1, 0, 0
    for found in _UNSEEN.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        if line > told:
            told = line
            yield Finding("hidden characters", line, f"U+{ord(found[0][0]):04X}")


# -- phrases ------------------------------------------------------------------------------------------------------

_DROPPED: Final = re.compile(
    "[*`\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufe00-\ufe0f\U000e0000-\U000e0fff]"
)
_BLANKS: Final = re.compile(r"[^\S\n]+")


def _folded(text: str) -> str:
    """`text` as phrases are looked for in it: plain lower case, single blanks, the same number of lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return _BLANKS.sub(" ", _DROPPED.sub("", text)).replace(" \n", "\n").replace("\n ", "\n").lower()


def _phrases(text: str, kind: Kind) -> Iterator[Finding]:
    flat = text.replace("\n", " ")
    for rule in RULES:
        if kind in rule.kinds and (found := _place(text if rule.one_line else flat, rule)):
            line = text.count("\n", 0, found.start()) + 1
            words = text[found.start() : found.end()] or text[found.start() :].split(None, 1)[0]
            yield Finding(rule.name, line, " ".join(words.split())[: limits.FINDING_CHARS])


def _place(text: str, rule: Rule) -> re.Match[str] | None:
    """The first place where a rule holds."""
    first: re.Match[str] | None = None
    for trigger in rule.triggers:
        at = text.find(trigger)
        while at >= 0 and (first is None or at < first.start()):
            if (found := compiled(rule.pattern).match(text, at)) and _stands_right(text, at, rule):
                first = found
                break
            at = text.find(trigger, at + len(trigger))
    return first


def _stands_right(text: str, at: int, rule: Rule) -> bool:
    """Whether what stands before is as the rule wants it."""
    start = max(0, at - BEFORE)
    if rule.one_line:
        start = max(start, text.rfind("\n", start, at) + 1)
    window = text[start:at]
    if not rule.before:
        if not _begins(text, at):
            return False
    else:
        found = compiled(rule.before).search(window)
        if found is None:
            return False
        window = window[: found.start()] if rule.unless is NOT else window
    return rule.unless is None or not rule.unless.search(window)


def _begins(text: str, at: int) -> bool:
    """Whether a word begins there; where words are not parted by blanks, it always may."""
    here, before = text[at], text[at - 1 : at]
    return not (
        here.isascii() and here.isalnum() and before.isascii() and (before.isalnum() or before in ("_", "-")) and before
    )


# -- comments that a reader does not see --------------------------------------------------------------------------


def _comments(text: str, folded: str) -> Iterator[Finding]:
    """Text that is not shown where a file is rendered, and gives orders."""
    for opening, closing in HIDDEN:
        at = text.find(opening)
        while at >= 0:
            start = at + len(opening)
            end = text.find(closing, start, start + limits.HIDDEN_COMMENT)
            body = text[start : end if end >= 0 else start + limits.HIDDEN_COMMENT]
            if found := COMMANDS.search(_folded(body)):
                line = text.count("\n", 0, at) + 1
                yield Finding("hidden comment", line, " ".join(found[0].split())[: limits.FINDING_CHARS])
                break
            at = text.find(opening, start + len(body))
    if "style" in folded and (found := UNSEEN_STYLE.search(folded)):
        line = folded.count("\n", 0, found.start()) + 1
        yield Finding("hidden comment", line, " ".join(found[0].split())[: limits.FINDING_CHARS])


def _first_difference(text: str, other: str) -> int:
    for number, (ours, theirs) in enumerate(zip(text.split("\n"), other.split("\n"), strict=False), 1):
        if ours != theirs:
            return number
    return 1
