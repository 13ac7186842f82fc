"""A tool card's outcome in the interface's language: the core says them in English, "2 failed, 14 passed"."""

from __future__ import annotations

import re

from nanoherm_tui import i18n
from nanoherm_tui.symbols import sym

_REMOVED = re.compile(r"(?<=\s)-(?=\d)")


def in_words(outcome: str) -> str:
    """`outcome` as it is shown; a part without a translation stays as it is."""
    between = "，" if i18n.language() == "zh" else ", "
    shown = between.join(i18n.phrase("outcomes", part) for part in outcome.split(", "))
    return _REMOVED.sub(sym("removed"), shown)
