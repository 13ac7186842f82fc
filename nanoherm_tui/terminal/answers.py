"""What comes among the keys in parts: what a terminal answers (a colour, or what it calls itself), and keys told with
their text. Pure; compat/reading.py reads with it."""

from __future__ import annotations

import re
from typing import Final

_COLOUR: Final = r"(?:rgba?:|#)?[0-9a-fA-F/]{0,24}"
_NAME: Final = r"[^\x00-\x1f\x7f-\x9f]{0,80}"

ANSWER: Final = re.compile(
    rf"\x1b\](?P<which>1[0-9]);(?P<colour>{_COLOUR})(?P<end>\x07|\x1b\\)?|\x1bP>\|(?P<name>{_NAME})\x1b\\"
)
"""An answer: one of the terminal's colours, with an end if none is lost, or its name and version."""
BEGUN: Final = re.compile(
    rf"\x1b(?:\](?:1(?:[0-9](?:;(?:r|rg|rgb|rgba|{_COLOUR}\x1b?))?)?)?|P(?:>(?:\|{_NAME}\x1b?)?)?|\[[0-9:]*;[0-9:;]*)?\Z"
)
"""What may become an answer, or a key with its text, when more has been read: the start of one at the end of what has.
"""
ALSO_KEYS: Final = ("\x1b", "\x1bP")
"""Starts that are a key by themselves, often pressed: Esc, and Alt+Shift+P. They do not wait long for the rest."""


def is_whole(answer: re.Match[str]) -> bool:
    """Its end was not lost."""
    return answer["name"] is not None or answer["end"] is not None


def is_only_answer(begun: str) -> bool:
    """Whether this start of one is too long to be keys."""
    return ";" in begun or "|" in begun
