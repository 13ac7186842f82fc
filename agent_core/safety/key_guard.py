"""Keeps keys out of an answer while it streams, without holding ordinary text back.

A key is one run of visible ASCII. So only the unfinished run at the end waits for its end; text in Chinese, and every
finished word, passes at once. What only context gives away (a short password behind its name) is left to the whole
text's redaction when the reply is complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_core import limits

_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_LONG_RUN = re.compile(rf"[\x21-\x7e]{{{limits.KEY_CHARS},}}")


class KeyGuard:
    """`feed` gives what may be shown of a text that arrives in pieces, `flush` the rest."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._held = ""
        self._line = ""  # what was given out of the present line, as context for a key behind its name

    def feed(self, text: str) -> str:
        data = self._held + text
        start = len(data.rstrip(_VISIBLE))
        if len(data) - start > limits.KEY_HELD:
            start = len(data)
        self._held = data[start:]
        return self._give(data[:start])

    def flush(self) -> str:
        rest, self._held = self._held, ""
        return self._give(rest)

    def _give(self, text: str) -> str:
        shown = text
        if _LONG_RUN.search(text):
            whole = self._redact(self._line + text)
            shown = whole[len(self._line) :] if whole.startswith(self._line) else self._redact(text)
        self._line = (self._line + shown).rpartition("\n")[2][-limits.KEY_CONTEXT :]
        return shown
