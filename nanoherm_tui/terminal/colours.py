"""What the terminal's own colours are: how many it shows, and whether its ground is light.

`display.theme: auto` follows them. The ground is asked for with OSC 11; most terminals answer within milliseconds,
some not at all, so the answer is never waited for. `compat/` sends the question and reads the answer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final, Literal

from rich.console import Console
from textual import constants

from nanoherm_tui.terminal.eight_bit import contrast

Depth = Literal["16", "256", "true"]

AUTO: Final = "auto"
"""The value of display.theme that follows the terminal."""
ASK_GROUND: Final = "\x1b]11;?\x1b\\"
GROUND: Final = "11"
"""The colour behind everything, among those that can be asked for."""

_PARTS = re.compile(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?\Z", re.IGNORECASE)
_HASH = re.compile(r"#((?:[0-9a-f]{3}){1,4})\Z", re.IGNORECASE)


def depth() -> Depth:
    """How many colours the terminal shows, found out as Textual does, whatever NO_COLOR says."""
    environ = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    console = Console(force_terminal=True, legacy_windows=False, _environ=environ)
    asked = constants.COLOR_SYSTEM
    system = console.color_system if asked in (None, "auto") else asked
    return "true" if system == "truecolor" else "256" if system == "256" else "16"


def theme_for(colours: Depth, light: bool | None) -> str:
    """The shipped theme that "auto" stands for; `light` None means that the ground is not known."""
    if colours == "16":
        return "ansi"
    return "nanoherm-light" if light else "nanoherm-dark"


def guess_light(env: Mapping[str, str]) -> bool | None:
    """Whether COLORFGBG says that the ground is light; None when it says nothing.

    Its last field is the number of the ground among the terminal's sixteen colours: 7 and the bright ones but black
    are light.
    """
    number = env.get("COLORFGBG", "").rpartition(";")[2]
    if not number.isdecimal() or int(number) > 15:
        return None
    return int(number) == 7 or int(number) > 8


def read_colour(told: str) -> str | None:
    """The #rrggbb of a colour as terminals write it, or None.

    They write rgb:ffff/ffff/ffff with one to four digits each, rgba: with an alpha, which is left out, or #ffffff with
    one to four digits each.
    """
    if found := _PARTS.match(told):
        parts: tuple[str, ...] = found.groups()
    elif found := _HASH.match(told):
        size = len(found[1]) // 3
        parts = (found[1][:size], found[1][size : 2 * size], found[1][2 * size :])
    else:
        return None
    return "#" + "".join(f"{round(int(part, 16) * 255 / (16 ** len(part) - 1)):02x}" for part in parts)


def is_light(colour: str) -> bool:
    """Whether black words are easier to read on #rrggbb than white ones."""
    return contrast(colour, "#000000") > contrast(colour, "#ffffff")
