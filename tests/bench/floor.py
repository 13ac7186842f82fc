"""The least a chat in Textual can be: a header, a place to scroll, a line to type in, and Markdown for the answers."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Header, Input, Markdown  # noqa: F401 - imported to be ready, as such a program does


class Floor(App[None]):
    def compose(self) -> ComposeResult:
        yield Header()
        yield VerticalScroll()
        yield Input(placeholder="ready")

    def on_mount(self) -> None:
        self.query_one(Input).focus()


if __name__ == "__main__":
    Floor().run()
