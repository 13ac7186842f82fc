"""Colours of added and removed lines that who sees red and green alike can tell apart: blue and orange.

Their signs, + and −, are there whatever the colours are. The colours stay apart under each of the three kinds of
colour blindness, by the matrices of Machado, Oliveira and Fernandes (2009), which tests/tui/test_themes.py has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from nanoherm_tui.theming.themes import Theme, unreadable_pairs

THEME: Final = "theme"
SAFE: Final = "safe"

_DARK: Final = {"added_bg": "#14263f", "added_word": "#18385f", "removed_bg": "#382508", "removed_word": "#4e3108"}
_LIGHT: Final = {"added_bg": "#e1edfc", "added_word": "#c3ddfb", "removed_bg": "#fdeeda", "removed_word": "#fad6a6"}
_STARK: Final = {"added_bg": "#00214d", "added_word": "#003e8f", "removed_bg": "#3d2400", "removed_word": "#6e4300"}

_in_use = False


def use(choice: str) -> None:
    """Have themes that are loaded from now on hold the colours of display.diff_colours."""
    global _in_use
    _in_use = choice == SAFE


def coloured(theme: Theme) -> Theme:
    """`theme` with these colours for what was added and removed, if they are in use and all can be read on them.

    One that draws in the terminal's own colours has no grounds for them and stays as it is.
    """
    if not _in_use or theme.ansi:
        return theme
    colours: Mapping[str, str] = _STARK if theme.dark and theme.draws_rules else _DARK if theme.dark else _LIGHT
    kept = {role: " ".join([colour, *sorted(theme.attributes(role))]) for role, colour in colours.items()}
    safe = replace(theme, roles={**theme.roles, **kept})
    return theme if unreadable_pairs(safe) else safe
