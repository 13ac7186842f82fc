"""The row under the transcript in which what is looked for is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.draft import DraftBar
from nanoherm_tui.panes.find_input import FindInput

if TYPE_CHECKING:
    from collections.abc import Callable


class FindBar(Horizontal):
    """One row: what to find, and whether it is there. Enter leaves the hits on the screen, Esc takes them away."""

    DEFAULT_CSS = """
    /* No margin: Textual would take it from the transcript's width too. */
    FindBar { height: 1; width: 1fr; padding: 0 3 0 0; background: $background; }
    FindBar > DraftBar { width: 3; height: 1; }
    FindBar > Static { width: auto; background: $surface; color: $text-muted; }
    FindBar > Input { width: 1fr; background: $surface; color: $foreground; }
    FindBar > Input:focus { background-tint: $foreground 0%; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave(False)", show=False),
        Binding("down", "go(1)", show=False),
        Binding("up", "go(-1)", show=False),
    ]

    def __init__(
        self,
        find: Callable[[str], bool | None],
        go: Callable[[int], bool | None],
        left: Callable[[bool], None],
    ) -> None:
        """`find` looks for a query and `go` for the next hit, each telling whether there is one; `left` is the end.

        None means that it is not known yet: `tell` is called when it is.
        """
        super().__init__()
        self._find, self._go, self._left = find, go, left
        self._bar = DraftBar()  # where grounds are equal nothing else tells the row from the text above it
        self._field = FindInput(placeholder=t("transcript.find"))

    def ask(self) -> None:
        """Take the keyboard, at once: keys that came in the same read are what is looked for."""
        if not self._field.is_attached:
            self.mount(self._bar, Static(" / ", markup=False), self._field, Static("", id="found", markup=False))
        self._field.focus()

    def on_descendant_focus(self) -> None:
        self._bar.lit = True
        self._bar.refresh()

    def on_descendant_blur(self) -> None:
        self._bar.lit = False
        self._bar.refresh()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.tell(self._find(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._left(bool(event.value))

    def action_go(self, step: int) -> None:
        self.tell(self._go(step))

    def action_leave(self, keep: bool) -> None:
        self._left(keep)

    def tell(self, found: bool | None) -> None:
        """Show whether there is a hit; None while it is being looked for."""
        empty = not self._field.value
        words = t("transcript.finding") if found is None else "" if found or empty else t("transcript.no_hits")
        self.query_one("#found", Static).update(words)
