"""Where text is typed: the area itself, the bar at its edge and the prompt before it."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from nanoherm_tui.editing import units
from nanoherm_tui.panes.keys import FocusAtOnce
from nanoherm_tui.strips import Painted, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import harmless, width

# Keys of Textual's TextArea that mean something else here: the app's, or the keymap's.
_NOT_OURS: Final = frozenset(
    {"ctrl+c", "super+c", "ctrl+z", "super+z", "ctrl+y", "super+y", "ctrl+v", "ctrl+d", "f6", "f7"}
)
_WORDS: Final = {"alt+b": "cursor_word_left", "alt+f": "cursor_word_right"}  # as in every shell


def editing_keys(without: frozenset[str] = frozenset()) -> dict[str, str]:
    """Textual's keys for editing and their actions, less those that belong to the app and those in `without`."""
    return {
        key: binding.action
        for binding in TextArea.BINDINGS
        if isinstance(binding, Binding)
        for key in binding.key.split(",")
        if key not in _NOT_OURS | without
    } | _WORDS


class DraftArea(TextArea, FocusAtOnce, inherit_bindings=False):
    """A text area without Textual's keys that the app needs, and with a caret that does not blink."""

    EDITING: ClassVar[dict[str, str]] = editing_keys()
    """Run as the keys come: bindings would run after the keys behind them, when several come in one read."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, tab_behavior="focus", show_line_numbers=False, compact=True)
        self.cursor_blink = False
        self.highlight_cursor_line = False
        self.match_cursor_bracket = False
        self.drawn_caret: Offset | None = None
        """Where on the screen the caret was drawn last."""

    @property
    def rows(self) -> int:
        """The rows the draft takes at the present width."""
        return self.wrapped_document.height

    @property
    def on_first_row(self) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    @property
    def on_last_row(self) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y >= self.rows - 1

    def put(self, value: str) -> None:
        """Replace the whole text, undoably, with the caret at its end."""
        self.replace(value, (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    def type_in(self, value: str) -> None:
        """Insert at the caret, over a selection."""
        result = self.replace(value, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    # -- what the caret steps over: characters as they are seen, however many make one -------------------------------

    def get_cursor_left_location(self) -> tuple[int, int]:
        row, column = self.cursor_location
        return (row, units.before(self.document[row], column)) if column else super().get_cursor_left_location()

    def get_cursor_right_location(self) -> tuple[int, int]:
        row, column = self.cursor_location
        line = self.document[row]
        return (row, units.after(line, column)) if column < len(line) else super().get_cursor_right_location()

    def validate_selection(self, selection: Selection) -> Selection:
        """No end of the selection stands within a character."""
        return Selection(*(self._snapped(end) for end in selection))

    def _snapped(self, location: tuple[int, int]) -> tuple[int, int]:
        row, column = location
        if not 0 <= row < self.document.line_count:
            return location
        line = self.document[row]
        return location if line.isascii() else (row, units.snap(line, min(column, len(line))))

    def watch_selection(self, selection: Selection) -> None:
        self.set_class(not selection.is_empty, "-selecting")

    def refresh_look(self) -> None:
        """Theme or language have changed, or an overlay came or went: behind one no caret is drawn."""
        self.set_class(look_of(self).behind, "-behind")
        self.refresh()

    def place_terminal_caret(self) -> None:
        """Keep the terminal's own caret on ours, where an input method opens its window."""
        if self.has_focus:
            self.scroll_cursor_visible()  # looks for the caret anew: the text may have been wrapped to another width
            self.app.cursor_position = self.cursor_screen_offset

    def on_resize(self) -> None:
        if self.has_focus:
            self.call_after_refresh(self.scroll_cursor_visible)  # once the text is wrapped to the new width

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are drawn. Until they are drawn again the terminal's caret stays where they have it."""
        strips, region = super().render_lines(crop), self.region
        if region.contains_point(caret := self.cursor_screen_offset):
            self.drawn_caret = caret
        elif strips and caret.y >= region.bottom and crop.bottom == region.height:
            # It has wrapped into a row that comes with the next layout: until then it is behind what is shown.
            shown = width(strips[-1].text.rstrip())
            self.drawn_caret = Offset(min(region.x + shown, region.right - 1), region.bottom - 1)
        return strips

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        # An empty line inside a selection is drawn as a half block, which is two cells wide in some terminals.
        if strip.text.startswith("▌") and not strip.text.strip("▌ ") and "▌" not in self.text:
            style = self.get_component_rich_style("text-area--selection")
            first, rest = strip.divide([1, strip.cell_length])
            return Strip([Segment(" ", style), *rest], first.cell_length + rest.cell_length)
        if strip.text.isprintable():
            return strip
        return Strip([Segment(self.drawn(words), style, control) for words, style, control in strip], strip.cell_length)

    def drawn(self, words: str) -> str:
        """A part of the text as it is drawn, in as many cells. It may come from a file, or be a model's command."""
        return harmless(words)

    async def _on_key(self, event: events.Key) -> None:
        if action := self.EDITING.get(event.key):
            event.stop()
            event.prevent_default()
            await self.run_action(action)
        elif event.key.startswith("alt+"):  # some terminals send the letter with it; it is no text
            event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.type_in(event.text.replace("\r\n", "\n").replace("\r", "\n"))


class DraftBar(Painted):
    """Two blank columns and the bar: in its role's colour while lit, else muted."""

    lit = False
    role = "accent"

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        mark = look.mark(self.role if self.lit else "muted", "ground")
        return [row(width, [("  ", look.style()), (sym("bar"), mark)], look.style())] * self.size.height

    def get_content_height(self, *_: object) -> int:
        return 1


class DraftPrompt(Painted):
    """The sign before a draft: that of messages, or `sign` while Enter does something else.

    Where the draft goes on beyond its room the first or the last row says so; `sign` then makes way by one row.
    """

    lit = False
    sign = ""
    role = "accent"
    above = below = False
    """The draft goes on there."""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        style, cut = look.mark(self.role if self.lit else "muted", "surface"), look.style("muted", "surface")
        marks = [(self.sign or sym("prompt"), style), *[(" ", cut)] * (self.size.height - 1)]
        if self.above:
            marks[:2] = [(sym("cut"), cut), (self.sign or " ", style)][: len(marks)]
        if self.below and len(marks) > 2:
            marks[-1] = (sym("cut"), cut)
        return [row(width, [mark], look.style("text", "surface")) for mark in marks]

    def get_content_height(self, *_: object) -> int:
        return 1
