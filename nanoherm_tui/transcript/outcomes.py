"""A tool card's outcome in the interface's language.

The core says outcomes in English, "2 failed, 14 passed", "lines 1-40 of 200". Each part, its numbers taken out, names
its translation in zh.yaml's section `outcomes`: "lines {}-{} of {}" → `lines_n_n_of_n`, its numbers {a}, {b}, {c}.
A part without a translation stays as it is.
"""

from __future__ import annotations

import re

from nanoherm_tui import i18n
from nanoherm_tui.symbols import sym

_NUMBER = re.compile(r"\d[\d,]*\+?")
_NOT_A_WORD = re.compile(r"[^a-z]+")
_REMOVED = re.compile(r"(?<=\s)-(?=\d)")
_PARAMETERS = "abcdef"


def in_words(outcome: str) -> str:
    """`outcome` as it is shown."""
    if not outcome:
        return ""
    table = i18n.texts(i18n.language())
    parts = [_translated(part, table.get(f"outcomes.{key_of(part)}")) for part in outcome.split(", ")]
    between = "，" if i18n.language() == "zh" else ", "
    return _REMOVED.sub(sym("removed"), between.join(parts))


def key_of(part: str) -> str:
    """The name of a part's translation: words and an n for each number, joined by underscores."""
    return _NOT_A_WORD.sub("_", _NUMBER.sub(" n ", part).lower()).strip("_")


def _translated(part: str, template: str | None) -> str:
    if template is None:
        return part
    numbers = dict(zip(_PARAMETERS, _NUMBER.findall(part), strict=False))
    return re.sub(r"\{([a-f])\}", lambda found: numbers.get(found[1], found[0]), template)
