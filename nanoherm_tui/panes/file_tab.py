"""The dock's tab of a file: the lines around a place in it, or an image."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from nanoherm_tui.panes.bodies import Body, Place, Row
from nanoherm_tui.panes.image import Picture, picture_heading, picture_rows
from nanoherm_tui.panes.preview import Preview, preview_heading, preview_rows
from nanoherm_tui.panes.tabbed import Tabbed
from nanoherm_tui.strips import look_of


class FileTab(Tabbed):
    """An image is asked for by a message, in the cells there are, and comes by `show_drawing`."""

    class DrawingRequested(Message):
        """An image is wanted in at most so many cells: `show_drawing`."""

        def __init__(self, picture: Picture, columns: int, rows: int) -> None:
            super().__init__()
            self.picture = picture
            self.columns = columns
            self.rows = rows

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._preview: Preview | Picture | None = None
        self._drawing_asked = (0, 0)  # the cells that the image of the preview was asked for
        self._aim = False  # the lines of the preview that were asked for are still to be brought into view

    def show_preview(self, preview: Preview | Picture, *, bring: bool = True) -> None:
        """Show a part of a file, the lines that were asked for at a third of the height, or an image."""
        self._preview = preview
        self._drawing_asked = (0, 0)
        self._changed("file")
        self._aim = True
        if bring:
            self.show_tab("file")

    def show_drawing(self, picture: Picture) -> None:
        """An image that was asked for has been drawn, or cannot be."""
        if picture.is_same(self._preview):
            self._preview = picture
            if self.tab == "file":
                self.stale()

    def file_head(self, cells: int) -> list[Row]:
        """Its name, in view wherever its lines are scrolled to."""
        shown = self._preview
        if shown is None:
            return []
        return [picture_heading(shown, cells) if isinstance(shown, Picture) else preview_heading(shown, cells)]

    def file_body(self, cells: int) -> Sequence[Row] | Body:
        shown = self._preview
        assert shown is not None
        return picture_rows(shown, look_of(self), cells) if isinstance(shown, Picture) else preview_rows(shown, cells)

    def file_rebuilt(self) -> None:
        if self._aim and isinstance(self._preview, Preview) and self._preview.file is not None:
            self._aim = False
            line = max(0, self._preview.first - self._preview.file.first)
            row = self._body.row_at(Place(0, line, 0))
            self.top = max(0, row - self.view_height // 3) if self._preview.first else 0

    def file_text(self) -> str:
        preview = self._preview
        return "\n".join(preview.file.lines) + "\n" if isinstance(preview, Preview) and preview.file else ""

    def settle_drawing(self) -> None:
        if isinstance(self._preview, Picture):
            self._want_drawing(self._preview)

    def _want_drawing(self, picture: Picture) -> None:
        size = self.cells, self.view_height
        if size != self._drawing_asked and min(size) > 0:
            self._drawing_asked = size
            self.call_next(self._ask_drawing, picture, *size)  # not at once: see want_page

    def _ask_drawing(self, picture: Picture, columns: int, rows: int) -> None:
        self.post_message(self.DrawingRequested(picture, columns, rows))
