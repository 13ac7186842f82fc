"""An image in the dock: drawn in cells where the terminal has the colours for it, told of in words elsewhere.

Each cell is two by two pixels in two colours, by the glyphs of quadrants that are one cell wide everywhere.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import Row, RowList, Span, Spans
from nanoherm_tui.symbols import is_ascii
from nanoherm_tui.text import clean, cut_path, visible, width, wrap

if TYPE_CHECKING:
    from agent_core.images.reader import Drawing
    from nanoherm_tui.theming.themes import Look

GLYPHS: Final = " ▐▘▝▖▗▚"
"""In the order of image_child.PARTS: the pixels that have a cell's first colour."""
_CELL: Final = 7  # bytes


@dataclass(frozen=True, slots=True)
class Picture:
    """An image to be looked at: a file, or the copy of one in a draft; drawn once the pane has asked for its size."""

    path: str
    """The file, as a person writes it, or what its copy is called."""
    kept: str = ""
    """The name of a kept copy; empty: it is a file."""
    drawing: Drawing | None = None
    problem: str = ""
    """Why it cannot be shown."""

    def is_same(self, other: object) -> bool:
        return isinstance(other, Picture) and (self.path, self.kept) == (other.path, other.kept)


def can_draw(look: Look) -> bool:
    """Whether this terminal, with this theme, has the colours and the glyphs for an image."""
    return not (look.theme.ansi or look.no_color or is_ascii())


def picture_heading(picture: Picture, cells: int) -> Row:
    """The name of the image, and how large it is."""
    drawing = picture.drawing
    words = f"{drawing.width}x{drawing.height} {drawing.kind}" if drawing is not None else ""
    room = max(cells - 1 - width(words), 2)
    return Row((Span(cut_path(visible(picture.path), room), bold=True),), (Span(words, "muted"),))


def picture_rows(picture: Picture, look: Look, cells: int) -> RowList:
    """The image, or words about it."""
    drawing = picture.drawing
    if picture.problem:
        return _words(clean(picture.problem), cells)
    if drawing is None or (can_draw(look) and drawing.across > cells):  # in a narrower pane a smaller one is on its way
        return _words(t("dock.picture_waits"), cells)
    if not can_draw(look):
        size = f"{drawing.width}x{drawing.height} {drawing.kind}"
        return _words(t("dock.picture_in_words", image=size), cells)
    line = drawing.across * _CELL
    return RowList(
        [Row(partial(_drawn, drawing.cells[at : at + line]), words="") for at in range(0, len(drawing.cells), line)]
    )


def _words(words: str, cells: int) -> RowList:
    return RowList([Row((Span(line, "muted"),)) for line in wrap(words, max(cells, 1))])


def _drawn(cells: bytes) -> Spans:
    """A row of cells; neighbours in the same colours are one run."""
    spans: list[Span] = []
    run, colours = "", b""
    for at in range(0, len(cells), _CELL):
        part, of_it = cells[at], cells[at + 1 : at + _CELL]
        if of_it != colours and run:
            spans.append(_span(run, colours))
            run = ""
        run, colours = run + GLYPHS[part], of_it
    return (*spans, _span(run, colours)) if run else tuple(spans)


def _span(run: str, colours: bytes) -> Span:
    return Span(run, f"#{colours[:3].hex()}", f"#{colours[3:].hex()}")
