"""One screen as data: runs of text in colours, and where the panes stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.color import Color, ColorType
from rich.segment import Segment
from textual.widget import Widget

FOREGROUND: Final = "#e5e5e5"
BACKGROUND: Final = "#000000"
# The reference palette for a terminal's own colours; the theme ansi uses them.
SIXTEEN: Final = (
    "#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5",
    "#8c8c8c", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff",
)  # fmt: skip

_PANES: Final = (
    "#sessions",
    "#title",
    "#welcome",
    "#transcript",
    "#approval",
    "#composer",
    "Popup",
    "#dock",
    "#status",
    "#overlay-box",
)


@dataclass(frozen=True, slots=True)
class Run:
    """Text in one style; colours as #rrggbb, reverse already undone."""

    text: str
    fg: str = FOREGROUND
    bg: str = BACKGROUND
    bold: bool = False
    italic: bool = False
    underline: bool = False


@dataclass(frozen=True, slots=True)
class Pane:
    """What stands in a rectangle of the screen, in cells."""

    name: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Frame:
    columns: int
    rows: tuple[tuple[Run, ...], ...]
    panes: tuple[Pane, ...] = ()
    """Those that can be seen, the ones in front last. An overlay's box alone when one is open."""

    def text(self, row: int) -> str:
        return "".join(run.text for run in self.rows[row])

    def __str__(self) -> str:
        return "\n".join(self.text(row) for row in range(len(self.rows)))


def take(app: Any) -> Frame:
    """The screen of a running app, as it goes to the terminal."""
    # Textual has no public way to the cells of a screen.
    strips = app.screen._compositor.render_strips()
    rows = tuple(tuple(_run(segment) for segment in strip if segment.text) for strip in strips)
    return Frame(app.size.width, rows, tuple(_panes(app)))


def _run(segment: Segment) -> Run:
    style = segment.style
    if style is None:
        return Run(segment.text)
    fg, bg = _hex(style.color, FOREGROUND), _hex(style.bgcolor, BACKGROUND)
    if style.reverse:
        fg, bg = bg, fg
    return Run(segment.text, fg, bg, bool(style.bold), bool(style.italic), bool(style.underline))


def _hex(colour: Color | None, default: str) -> str:
    if colour is None or colour.type == ColorType.DEFAULT:
        return default
    if colour.type == ColorType.STANDARD and colour.number is not None:
        return SIXTEEN[colour.number]
    return colour.get_truecolor().hex


def _panes(app: Any) -> Sequence[Pane]:
    found: list[Widget] = []
    for selector in _PANES:
        found += app.screen.query(selector)
    panes = []
    for widget in found:
        region = app.screen.find_widget(widget).visible_region if widget.is_attached and _seen(widget) else None
        if region:
            panes.append(Pane(widget.id or type(widget).__name__, *region))
    return panes


def _seen(widget: Widget) -> bool:
    return all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))
