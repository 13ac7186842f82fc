"""What the terminal on a page has for words and ground, and the page around it, which goes on in the same colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from nanoherm_tui.terminal.colours import guess_light

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Theme

SCHEMES: Final = {"light": ("#000000", "#ffffff"), "dark": ("#ffffff", "#000000")}
"""Words and ground by what the browser prefers, before any theme."""
TOLD: Final = {"light": "0;15", "dark": "15;0"}
"""The same as COLORFGBG says it."""


def begin(scheme: str) -> str:
    """The sequences that give the page's terminal its own colours: when asked, it then tells them (OSC 11)."""
    words, ground = SCHEMES[scheme]
    return f"\x1b]10;{words}\x07{_paint(ground)}"


def of_theme(theme: Theme, env: Mapping[str, str]) -> str:
    """The sequence that has the page go on in the ground of `theme`; in its own where that is left to the terminal."""
    ground = theme.colour("ground")
    own = SCHEMES["light" if guess_light(env) else "dark"][1]
    return _paint(ground if ground.startswith("#") else own)


def _paint(ground: str) -> str:
    return f"\x1b]11;{ground}\x07"
