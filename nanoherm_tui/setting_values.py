"""What a setting may be where its type does not tell: themes are files, search engines have a table of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from nanoherm_tui.terminal.colours import AUTO

if TYPE_CHECKING:
    from agent_core.config.paths import Places
    from agent_core.config.schema import Key

THEME: Final = "display.theme"
ENGINE: Final = "web.search_backend"


def choices(key: Key, themes: Iterable[str]) -> tuple[str, ...]:
    """What it can be set to; empty: anything of its kind. `themes`: the names of those there are."""
    if key.name == THEME:
        return (AUTO, *themes)
    if key.name == ENGINE:
        from agent_core.web.engines import ENGINES

        return ("", *(engine.name for engine in ENGINES))
    return key.choices


def allowed(key: Key, places: Places) -> str:
    """What it accepts, in English. Reads the themes' files."""
    from nanoherm_tui.theming.files import load_themes

    return replace(key, choices=choices(key, load_themes(places.themes_dir)[0] if key.name == THEME else ())).allowed


def problem(key: Key, value: object, places: Places) -> str:
    """What it must be, in English, where `value` stands for nothing; else "". Reads the themes' files."""
    there: tuple[str, ...] = ()
    broken: list[str] = []
    if key.name == THEME and value not in (None, AUTO):
        from nanoherm_tui.theming.files import load_themes

        themes, errors = load_themes(places.themes_dir)
        if value not in themes:
            there, broken = choices(key, themes), [error.text for error in errors]
    elif key.name == ENGINE and value:
        from agent_core.web.engines import named

        there = () if named(str(value)) else choices(key, ())
    return " ".join([f"{key.name} must be {replace(key, choices=there).allowed}.", *broken]) if there else ""
