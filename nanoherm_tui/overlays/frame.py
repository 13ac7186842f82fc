"""What every overlay is: a `surface` block with a halo of `ground`, over everything else, closed by Esc."""

from __future__ import annotations

from pathlib import PurePath
from typing import ClassVar, Final, TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from nanoherm_tui import limits
from nanoherm_tui.compat.compositor import draw_surely
from nanoherm_tui.panes.draft import DraftArea, editing_keys
from nanoherm_tui.strips import look_of
from nanoherm_tui.text import cut

CssPath = str | PurePath | list[str | PurePath] | None
Result = TypeVar("Result")


class Overlay(ModalScreen[Result]):
    """A modal screen whose children stand in `#overlay-halo` > `#overlay-box`.

    Textual calls the `on_mount` and `on_resize` of every class of an overlay, a subclass's first: none calls super().
    """

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._alone = range(0)
        """The rows in which the box stands alone."""
        draw_surely(self)

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self.refresh_look, init=False)

    def on_resize(self, event: events.Resize) -> None:
        """On a short screen the halo and the blank rows go."""
        self.set_class(event.size.height < limits.SHORT, "-short")

    def on_screen_suspend(self) -> None:
        """Under another overlay nothing of this one is seen: two boxes would cut each other's words."""
        self.add_class("-covered")

    def on_screen_resume(self) -> None:
        self.remove_class("-covered")

    def render_lines(self, crop: Region) -> list[Strip]:
        self._alone = range(0)
        for halo in () if self.has_class("-covered") else self.query(Halo):
            if halo.region.x < limits.OVERLAY_BESIDE:
                self._alone = range(halo.region.y, halo.region.bottom)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """A row of what is behind. Beside a box that leaves too little of it to be read nothing is seen."""
        return Strip.blank(self.size.width, look_of(self).style()) if y in self._alone else super().render_line(y)

    def refresh_look(self) -> None:
        """Theme or language have changed."""
        for widget in self.query("Painted"):  # and of every class below it
            widget.refresh()

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close with `result`, once: two keys that close it may come in one read, or an answer after it was left."""
        if self not in self.app.screen_stack:
            return AwaitComplete()
        return super().dismiss(result)

    async def on_event(self, event: events.Event) -> None:
        if not pass_on(self, event):
            await super().on_event(event)

    def action_close(self) -> None:
        self.dismiss(None)


class Halo(Vertical):
    """What stands around an overlay's box. Where it comes to stand decides what is seen beside it."""

    def __init__(self, *children: Widget) -> None:
        super().__init__(*children, id="overlay-halo")

    def on_resize(self) -> None:
        self.screen.refresh()


def boxed(*parts: Widget) -> Widget:
    """The block of an overlay with its halo; `parts` from top to bottom."""
    return Halo(Vertical(*parts, id="overlay-box"))


def pass_on(widget: Widget, event: events.Event) -> bool:
    """Whether `event` is a key for an overlay that is gone: it came in the read that closed it, and goes where keys do.

    `widget` is the overlay, or the one in it that had the keyboard.
    """
    if not isinstance(event, events.Key) or (widget.is_attached and widget.screen in widget.app.screen_stack):
        return False
    widget.app.post_message(events.Key(event.key, event.character))
    return True


# Keys of a text area that move between fields and rows where there is but one line: the overlay's.
_AROUND: Final = frozenset({"enter", "tab", "up", "down", "pageup", "pagedown"})


class LineField(DraftArea):
    """One line of text: Enter, Tab and the vertical keys are what is around it's, pasted line ends become blanks."""

    EDITING: ClassVar[dict[str, str]] = editing_keys(_AROUND)
    _asked = ""

    def ask(self, words: str) -> None:
        """Say in the empty field what belongs there; what has no room is cut with its sign."""
        self._asked = words
        self._fit_asked()

    def on_resize(self) -> None:
        self._fit_asked()

    def _fit_asked(self) -> None:
        room = self.content_size.width
        self.placeholder = Content(cut(self._asked, room) if room else self._asked)

    async def on_event(self, event: events.Event) -> None:
        if not pass_on(self, event):
            await super().on_event(event)

    async def _on_key(self, event: events.Key) -> None:
        if event.key not in _AROUND:
            return
        event.prevent_default()
        found = self.screen.active_bindings.get(event.key)
        # At once: a key that came in the same read is not to be written here first.
        if found is not None and found.enabled and await self.app.run_action(found.binding.action, found.node):
            event.stop()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.type_in(" ".join(event.text.split()))
