"""The one-cell glyphs of the interface, each with its ASCII stand-in.

Every glyph is one cell wide in every terminal (East Asian Width N or Na), and none is an emoji. ASCII is used when the
terminal does not speak UTF-8, on the Linux console, whose font lacks them, and when the user asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

# name: (glyph, ASCII)
_TABLE: dict[str, tuple[str, str]] = {
    "running": ("⠋", "*"),
    "done": ("✓", "v"),
    "failed": ("✗", "x"),
    "waiting": ("◦", "o"),
    "asks": ("?", "?"),
    "folded": ("▸", "+"),
    "open": ("▾", "-"),
    "prompt": ("›", ">"),
    "cut": ("⋯", "~"),
    "bar": ("▐", "|"),
    "rule": ("▐", "|"),
    "thumb": ("▐", "#"),  # beside a rule a second | would be one thick line
    "bullet": ("∙", "-"),
    "removed": ("−", "-"),
    "newlines": ("▾", "v"),
}
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧"
STILL = "⠶"  # the running mark of reduced motion

NAMES: tuple[str, ...] = tuple(_TABLE)

_ascii: bool | None = None
_forced = False
_still = False


def set_ascii(on: bool | None) -> None:
    """Force ASCII on or off; None goes back to what the terminal says."""
    global _ascii, _forced
    _ascii = terminal_is_ascii() if on is None else on
    _forced = on is True


def set_reduced_motion(on: bool) -> None:
    """With reduced motion the running mark stands still."""
    global _still
    _still = on


def ascii_is_forced() -> bool:
    """Whether somebody asked for ASCII, whatever the terminal can show."""
    return _forced


def motion_is_reduced() -> bool:
    """Whether the running mark stands still."""
    return _still


def is_ascii() -> bool:
    """Whether the ASCII stand-ins are in use."""
    if _ascii is None:
        set_ascii(None)
    return bool(_ascii)


def terminal_is_ascii() -> bool:
    """True when the glyphs cannot be relied on: no UTF-8, or the Linux console.

    What the terminal speaks is what the locale's variables say: Python's own encodings are UTF-8 in a C locale too.
    """
    if os.environ.get("TERM") == "linux":
        return True
    return not locale_is_utf8(os.environ)


def locale_variable(env: Mapping[str, str]) -> str:
    """The variable that decides what the terminal speaks; empty when none is set."""
    return next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "")


def locale_is_utf8(env: Mapping[str, str]) -> bool:
    """Whether the variables of `env` say that the terminal speaks UTF-8."""
    encoding = env.get(locale_variable(env), "").partition("@")[0].partition(".")[2]
    return encoding.lower().replace("-", "") == "utf8"


def sym(name: str, frame: int = 0) -> str:
    """The glyph called `name`, always one cell. `frame` counts the steps of the running mark.

    Raises KeyError for a name that is not in the table.
    """
    glyph, plain = _TABLE[name]
    if is_ascii():
        return plain
    if name == "running":
        return STILL if _still else SPINNER[frame % len(SPINNER)]
    return glyph
