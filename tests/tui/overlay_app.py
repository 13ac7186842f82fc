"""A tiny app for the overlays: a screen behind them, and what they gave back."""

from pathlib import Path

from textual.app import App
from textual.widgets import Static

import nanoherm_tui
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Look, to_textual

CSS = Path(nanoherm_tui.__file__).parent / "css"


class OverlayApp(App):
    CSS_PATH = CSS / "composer.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, theme="nanoherm-dark"):
        super().__init__()
        self.look = Look(load_themes()[0][theme])
        self.register_theme(to_textual(self.look.theme))
        self.theme = theme
        self.results = []
        self.previewed = []

    def compose(self):
        yield Static("behind " * 200)

    def on_palette_screen_previewed(self, message):
        self.previewed.append(message.item.id if message.item else None)


def rows(app):
    """The screen's rows as text; fewer than the terminal has while it is being laid out."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips[: app.size.height]]


def shown(app):
    return "\n".join(rows(app))
