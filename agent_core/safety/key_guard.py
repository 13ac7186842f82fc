"""Keeps keys out of an answer while it streams, without holding ordinary text back.

A key is one run of visible ASCII, or a private key's block. So only the unfinished run at the end waits for its end;
text in Chinese, and every finished word, passes at once; of a block nothing is shown from its first line on. What only
context gives away (a short password behind its name) is left to the whole text's redaction when the reply is complete.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from agent_core import limits
from agent_core.safety.redact import MARK, OPEN_SEQUENCE
from agent_core.text.ansi import strip_ansi

_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_LONG_RUN = re.compile(rf"[\x21-\x7e]{{{limits.KEY_CHARS},}}")
_BLOCK: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")
_BLOCK_END: Final = "-----END"


class KeyGuard:
    """`feed` gives what may be shown of a text that arrives in pieces, `flush` the rest."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._raw = ""  # the beginning of an escape sequence: one inside a key must not part it
        self._held = ""
        self._line = ""  # what was given out of the present line, as context for a key behind its name
        self._block = 0  # how much of a private key's block may still come; 0: there is none open

    def feed(self, text: str) -> str:
        data = self._held + self._plain(text)
        start = len(data.rstrip(_VISIBLE))
        if len(data) - start > limits.KEY_HELD:
            start = len(data)
        self._held = data[start:]
        return self._give(data[:start])

    def flush(self) -> str:
        rest, self._held, self._raw = self._held + strip_ansi(self._raw), "", ""
        return self._give(rest)

    def _plain(self, text: str) -> str:
        """`text` without finished escape sequences; an unfinished one waits."""
        raw = self._raw + text
        if "\x1b" not in raw and "\x9b" not in raw:
            self._raw = ""
            return raw
        unfinished = OPEN_SEQUENCE.search(raw, max(0, len(raw) - limits.KEY_HELD))
        cut = unfinished.start() if unfinished else len(raw)
        self._raw = raw[cut:]
        return strip_ansi(raw[:cut])

    def _give(self, text: str) -> str:
        if self._block:
            text = self._after_block(text)
        before, begun = text, _BLOCK.search(self._line + text)
        if begun is not None and _BLOCK_END not in (self._line + text)[begun.end() :]:
            before = text[: max(0, begun.start() - len(self._line))]
            self._block = limits.REDACT_HELD
        shown = self._shown(before)
        if before != text:
            shown += MARK
        self._line = (self._line + shown).rpartition("\n")[2][-limits.KEY_CONTEXT :]
        return shown

    def _after_block(self, text: str) -> str:
        """What comes behind the end of the open block; until then it swallows everything."""
        end = text.find(_BLOCK_END)
        if end < 0:
            self._block = max(0, self._block - len(text))
            return ""
        self._block = 0
        return text[end + len(_BLOCK_END) :]

    def _shown(self, text: str) -> str:
        if not _LONG_RUN.search(text):
            return text
        line = self._line
        whole = self._redact(line + text)
        if whole.startswith(line):
            return whole[len(line) :]
        # A secret began in what was given out already: what is left as it was behind it may be shown.
        rest = 0
        while rest < min(len(text), len(whole)) and whole[-1 - rest] == text[-1 - rest]:
            rest += 1
        return MARK + text[len(text) - rest :]
