"""A tiny app for pane tests: a look, one or more panes, and what they posted."""

from pathlib import Path

from rich.cells import cell_len
from textual.app import App
from textual.geometry import Region

import nanoherm_tui
from nanoherm_tui.panes.rows import RowsView
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Look, to_textual

THEMES, _ = load_themes()
CSS = Path(nanoherm_tui.__file__).parent / "css"


class PaneApp(App):
    """Fills the screen with the panes given, side by side."""

    CSS_PATH = sorted(CSS / name for name in ("sessions.tcss", "dock.tcss", "status.tcss", "title.tcss"))
    CSS = "Screen { layout: horizontal; } SessionsPane, Dock { width: 1fr; } StatusLine, TitleRow { margin: 0; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *panes, theme="nanoherm-dark", no_color=False):
        super().__init__()
        self.panes = panes
        self.posted = []
        self.look = Look(THEMES[theme], no_color=no_color)
        self.register_theme(to_textual(self.look.theme))
        self.theme = theme

    def compose(self):
        yield from self.panes

    def _keep(self, message):
        self.posted.append(message)

    on_sessions_pane_opened = _keep
    on_sessions_pane_rename_requested = _keep
    on_sessions_pane_delete_requested = _keep
    on_sessions_pane_new_requested = _keep
    on_dock_copy_requested = _keep
    on_dock_tab_changed = _keep


def painted(widget):
    """The strips the widget paints, not counted as a painting."""
    if not isinstance(widget, RowsView):
        return [widget.render_line(y) for y in range(widget.size.height)]
    paints = widget.paints
    strips = widget.render_lines(Region(0, 0, *widget.size))
    widget.paints = paints
    return strips


def lines(widget):
    """What the widget shows, a string a row, checked to be exactly as wide as the widget."""
    out = []
    for y, strip in enumerate(painted(widget)):
        text = strip.text
        assert cell_len(text) == strip.cell_length == widget.size.width, (y, text)
        assert text.isprintable(), (y, text)
        out.append(text)
    return out


def styles(widget, y, start, end):
    """The styles of columns start to end (cells) of row y."""
    return [segment.style for segment in painted(widget)[y].crop(start, end)]
