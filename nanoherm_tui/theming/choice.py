"""Which theme the screen is drawn with: the one that was chosen, or with `auto` the one that suits the terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nanoherm_tui.terminal.colours import AUTO, depth, guess_light, is_light, theme_for
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Theme, no_colours


class ThemeChoice:
    """The themes there are, and what display.theme says."""

    def __init__(self, folder: Path, chosen: str) -> None:
        self.depth = depth()
        self.all: dict[str, Theme]
        """By name, in colours that the terminal shows."""
        self.all, self.broken = load_themes(folder, colours=self.depth)
        self.chosen = chosen
        """A theme's name, or auto. It may name a theme that is not there (yet)."""
        self._light = guess_light(os.environ)
        self._gone = ""
        """The name of the theme that is in use though its file was deleted."""

    def theme(self, choice: str = "") -> Theme | None:
        """The theme that `choice`, by default the chosen one, stands for; None when there is none of that name."""
        choice = choice or self.chosen
        return self.all.get(theme_for(self.depth, self._light) if choice == AUTO else choice)

    def theme_or_auto(self) -> Theme:
        """The chosen theme; when there is none of its name, as with auto."""
        return self.theme() or self.all[theme_for(self.depth, self._light)]

    @property
    def asks_terminal(self) -> bool:
        """Whether the terminal's ground makes a difference."""
        return self.chosen == AUTO and self.depth != "16" and not no_colours()

    def ground_is(self, colour: str) -> None:
        """The terminal has told its ground, #rrggbb."""
        self._light = is_light(colour)

    def choose(self, name: str) -> None:
        self.chosen = name
        if self._gone != name:
            self.all.pop(self._gone, None)
            self._gone = ""

    def now_there_are(self, themes: Mapping[str, Theme], in_use: Theme) -> Theme:
        """Files have changed: returns what to draw with now. A deleted theme in use stays until another is chosen."""
        was_missing = self.theme() is None
        self.all = dict(themes)
        self._gone = "" if in_use.name in themes else in_use.name
        if self._gone:
            self.all[in_use.name] = in_use
        chosen = self.theme()
        return chosen if was_missing and chosen is not None else self.all[in_use.name]
