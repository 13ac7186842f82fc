"""Which widgets are asked for their rows: those that a change touches, and those that are newly shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual._compositor import ChopsUpdate, Compositor, CompositorMap, ReflowResult
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget


class SureCompositor(Compositor):
    """Tells every widget that is newly shown, and draws it.

    Whoever asks where a widget is between a change and its layout has Textual arrange all anew, and keep that: the
    layout that follows takes what has just been shown for known, sends it no size and does not draw it.
    """

    _laid_out: CompositorMap | None = None

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        if self._laid_out is not None:
            self._full_map = self._laid_out  # what was told is what is compared with
        told = super().reflow(parent, size)
        self._laid_out = self._full_map
        return told

    def clear(self) -> None:
        self._laid_out = None
        super().clear()


def draw_surely(screen: Screen[Any]) -> None:
    """Give a screen that is not mounted yet a SureCompositor."""
    screen._compositor = SureCompositor()


class TightCompositor(SureCompositor):
    """Asks only the widgets that a changed region touches for their rows.

    Textual asks every widget whose container lies in the box around all changed regions: each frame of a streaming
    answer would draw all panes anew.
    """

    _changed: frozenset[Region] = frozenset()

    def render_partial_update(self) -> ChopsUpdate | None:
        self._changed = frozenset(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._changed = frozenset()

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        changed = self._changed or (crop,)
        for widget, (region, clip) in self.visible_widgets.items():
            shown = region.intersection(clip)
            if shown and any(part is None or part.overlaps(shown) for part in changed):
                yield region, clip, widget.render_lines(shown.translate(-region.offset))


class TightScreen(Screen[None]):
    """A screen with a TightCompositor."""

    def __init__(self) -> None:
        super().__init__(id="_default")
        self._compositor = TightCompositor()
