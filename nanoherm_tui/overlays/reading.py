"""What overlays share that are only read: rows that scroll where they have no room, and the keys for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.strips import Painted, flow, hints, look_of

_AROUND: Final = 6
"""Rows above and below: the halo's, the box's own, the foot and the blank row before it."""


class Scrolled(Painted):
    """Rows of which those that fit are in view, from `top` on; a subclass draws them all."""

    def __init__(self, widget_id: str) -> None:
        super().__init__(id=widget_id)
        self.top = 0
        self.headings: frozenset[int] = frozenset()
        """Which of the rows that `draw` has made last are headings."""
        self._whole: tuple[object, Sequence[Strip]] | None = None

    @property
    def is_short(self) -> bool:
        return self.app.size.height < limits.SHORT

    def draw(self, width: int) -> Sequence[Strip]:
        """All rows there are. Kept until the width, the look or `forget` asks for others."""
        return ()

    def forget(self) -> None:
        """Other rows are to be shown, from the first on."""
        self.top, self._whole = 0, None
        self.refresh(layout=True)
        self._tell()

    def scroll_rows(self, rows: int) -> None:
        self.top += rows
        self.refresh()

    @property
    def is_cut(self) -> bool:
        """There are more rows than are in view."""
        return len(self._all(self.size.width)) > self.size.height

    def on_resize(self) -> None:
        self._tell()

    def _tell(self) -> None:
        """Whether all is in view is known now: the foot says so."""
        for foot in self.screen.query(ReadFoot):
            foot.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        room = self.app.size.height - (1 if self.is_short else _AROUND)
        return max(1, min(len(self._all(width)), room))

    def paint(self, width: int) -> list[Strip]:
        rows = self._all(width)
        self.top = max(0, min(self.top, len(rows) - self.size.height))
        shown = list(rows[self.top : self.top + self.size.height])
        if len(shown) > 1 and self.top + len(shown) - 1 in self.headings:  # it comes with what stands under it
            shown[-1] = Strip.blank(width, look_of(self).style("text", "surface"))
        return shown

    def _all(self, width: int) -> Sequence[Strip]:
        key = (width, look_of(self), self.is_short)
        if self._whole is None or self._whole[0] != key:
            self._whole = (key, self.draw(width))
        return self._whole[1]


class ReadScreen(Overlay[None]):
    """An overlay whose `body` scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "rows(1)", show=False),
        Binding("up,k", "rows(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("space", "go_on", show=False),
        Binding("home,g", "rows(-100000)", show=False),
        Binding("end,G", "rows(100000)", show=False),
        Binding("enter,q", "close", show=False),
    ]

    def __init__(self, body: Scrolled) -> None:
        super().__init__()
        self.body = body

    def action_rows(self, rows: int) -> None:
        self.body.scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        self.body.scroll_rows(pages * max(1, self.body.size.height - 1))

    def action_go_on(self) -> None:
        """A page further; where all is in view there is nothing left but to close."""
        if self.body.is_cut:
            self.action_page(1)
        else:
            self.action_close()

    def on_mouse_scroll_down(self) -> None:
        self.body.scroll_rows(limits.WHEEL_ROWS)

    def on_mouse_scroll_up(self) -> None:
        self.body.scroll_rows(-limits.WHEEL_ROWS)


class ReadFoot(Painted):
    """How it closes, and how it scrolls where it does: one row where that has room for both."""

    def keys(self) -> list[tuple[str, str]]:
        screen = self.screen
        scrolls = isinstance(screen, ReadScreen) and screen.body.is_cut
        return [("Esc", t("usage.close")), *([("PgUp PgDn", t("insights.scroll"))] if scrolls else [])]

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        rows = flow(width, hints(look, self.keys()), look.style("text", "surface"))
        return rows[:1] if self.app.size.height < limits.SHORT else rows


class ReadTable(ReadScreen):
    """One that is as high as its body, which never changes, with a foot that says how to close it."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/reading.tcss"]

    def compose(self) -> ComposeResult:
        yield boxed(self.body, ReadFoot(id="read-foot"))
