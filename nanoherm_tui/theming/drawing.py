"""Drawing with another theme: one that was chosen or edited, or that suits a ground the terminal has told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from nanoherm_tui.compat.whole_app import write_terminal
from nanoherm_tui.terminal import signals as terminal
from nanoherm_tui.terminal.colours import AUTO
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Look, Theme, to_textual
from nanoherm_tui.theming.watch import ThemeChange, Watching, watch_themes

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp


class Theming:
    """Of one app. All on its loop; `app.themes` says what there is and what was chosen."""

    def __init__(self, app: NanohermApp, folder: Path) -> None:
        """`folder`: where the user's own themes are."""
        self._app = app
        self._folder = folder
        self._watching: Watching | None = None

    def use(self, name: str) -> None:
        """Draw with the theme called `name`, or that `auto` stands for; an unknown one leaves all as it is."""
        theme = self._app.themes.theme(name)
        if theme is not None and theme != self._app.look.theme:
            self._draw_with(theme)

    def _draw_with(self, theme: Theme) -> None:
        self._app.look = Look(theme, behind=len(self._app.screen_stack) > 1)
        self._app.theme = theme.name
        self.paint_page()
        self._app.refresh_look()

    def paint_page(self) -> None:
        """Around the terminal on a page of a browser there is some ground too."""
        if terminal.in_browser(os.environ):
            from nanoherm_tui.browser import ground

            write_terminal(self._app, ground.of_theme(self._app.look.theme, os.environ))

    def ground_is(self, colour: str) -> None:
        self._app.themes.ground_is(colour)
        if self._app.themes.chosen == AUTO:
            self.use(AUTO)

    def reload(self) -> None:
        """Have all themes read again: what they are coloured by has changed."""
        folder, colours = self._folder, self._app.themes.depth
        self._app.desk.do(lambda: ThemeChange(load_themes(folder, colours=colours)[0]), self.changed)

    def changed(self, change: ThemeChange) -> None:
        """A user's theme was saved, renamed or deleted."""
        draw_with = self._app.themes.now_there_are(change.themes, self._app.look.theme)
        for theme in self._app.themes.all.values():
            self._app.register_theme(to_textual(theme))
        if draw_with != self._app.look.theme:
            self._draw_with(draw_with)
            self._app.mutate_reactive(App.theme)  # for Textual the name alone is the theme
        for fault in change.broken:
            self._app.conversations.tell(fault.code, fault.text)

    def watch(self) -> None:
        """From now on see files of themes being changed."""
        themes = self._app.themes
        self._watching = watch_themes(
            self._folder,
            lambda change: self._app.call_later(self.changed, change),
            known=themes.all,
            told=themes.broken,
        )

    def stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.stop()

    def wait(self) -> None:
        """Wait for the watching's end, which must not outlive the screen."""
        if self._watching is not None:
            self._watching.wait()
