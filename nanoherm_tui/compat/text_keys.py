"""Keys that are text: more characters than Textual takes, and as many at once as an input method commits."""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category

from textual import events

COMMIT: Final = re.compile(r"\x1b\[[\d:]*;[\d:]*;(?P<text>\d{1,7}(?::\d{1,7})*)u")
"""What an input method has committed, in the kitty protocol: the characters by their numbers."""
_NO_TEXT: Final = ("Cc", "Cs", "Zl", "Zp")
_LAST: Final = 0x10FFFF


def is_text(character: str | None) -> bool:
    """Whether what a key sends is written, and no command.

    Python calls the blank of Chinese typing (U+3000), the joiners in emoji and Persian, and characters younger than
    itself unprintable; Textual would leave them out of what is typed.
    """
    return bool(character) and all(category(one) not in _NO_TEXT for one in character or "")


def take_all_text() -> None:
    """Have every widget of Textual take as text what is_text calls so."""
    setattr(events.Key, "is_printable", property(lambda key: is_text(key.character)))  # noqa: B010


def committed(commit: re.Match[str]) -> str:
    """The text of a COMMIT; what is no character is left out."""
    return "".join(chr(int(one)) for one in commit["text"].split(":") if int(one) <= _LAST)
