"""Alt keys that Textual reads as other keys."""

from __future__ import annotations

from enum import Enum
from typing import cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS


class _AltKey(Enum):
    """Alt keys that Textual's table of escape sequences reads as something else. The value is the key's name."""

    ENTER = "alt+enter"
    DIGIT_0 = "alt+0"
    DIGIT_1 = "alt+1"
    DIGIT_2 = "alt+2"
    DIGIT_3 = "alt+3"
    DIGIT_4 = "alt+4"
    DIGIT_5 = "alt+5"
    DIGIT_6 = "alt+6"
    DIGIT_7 = "alt+7"
    DIGIT_8 = "alt+8"
    DIGIT_9 = "alt+9"


def teach_alt_keys() -> None:
    """Read ESC Return as Alt+Enter and ESC 1 as Alt+1, what most terminals send for them.

    Textual takes the first for Enter and the second for the ¡ that a Mac types with Option.
    """
    table = cast(dict[str, object], ANSI_SEQUENCES_KEYS)
    for key in _AltKey:
        last = key.value.removeprefix("alt+")
        table["\x1b" + ("\r" if last == "enter" else last)] = (key,)
