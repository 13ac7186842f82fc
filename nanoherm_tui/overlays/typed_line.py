"""The line in which is typed what the list under it shows, and the keys that move in that list meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from nanoherm_tui.overlays.grouped import PAGE
from nanoherm_tui.panes.draft import DraftPrompt

if TYPE_CHECKING:
    from textual.widget import Widget

    from nanoherm_tui.overlays.frame import LineField

TYPED_MOVES: Final[tuple[BindingType, ...]] = (
    Binding("up,ctrl+p", "move(-1)", show=False),
    Binding("down,ctrl+n", "move(1)", show=False),
    Binding("pageup", f"move(-{PAGE})", show=False),
    Binding("pagedown", f"move({PAGE})", show=False),
)
"""Letters, Home and End are the field's. The overlay's action `move` takes a number of rows."""


class TypedLine(Horizontal):
    """A lit prompt, the field, and at the right how much was found."""

    def __init__(self, field: LineField, *behind: Widget, id: str = "palette-line") -> None:
        prompt = DraftPrompt()
        prompt.lit = True
        super().__init__(prompt, field, *behind, id=id)
