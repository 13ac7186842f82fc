"""The line in which what is looked for is typed."""

from __future__ import annotations

from textual.widgets import Input

from nanoherm_tui.panes.keys import FocusAtOnce


class FindInput(Input, FocusAtOnce):
    """With the caret and the selection of a draft: Textual's own cannot be seen in the terminal's colours."""

    DEFAULT_CSS = """
    FindInput, FindInput:ansi {
        & > .input--cursor { color: $foreground; background: $surface; text-style: reverse; }
        & > .input--placeholder { color: $text-muted; text-style: none; }
    }
    FindInput:ansi > .input--selection { color: ansi_default; background: ansi_default; text-style: reverse; }
    """

    def __init__(self, query: str = "", *, placeholder: str = "") -> None:
        super().__init__(query, placeholder=placeholder, compact=True, select_on_focus=True)
        self.cursor_blink = False
