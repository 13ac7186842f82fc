"""A change of one file inside an overlay, to be read and scrolled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import Row, Span, Spans
from nanoherm_tui.panes.diff import FOLD, diff_rows
from nanoherm_tui.panes.rows import RowsView
from nanoherm_tui.text import wrap

if TYPE_CHECKING:
    from agent_core.messages import FileDiff


class DiffView(RowsView):
    """Draws on the overlay's ground; the keys of panes scroll it."""

    GROUND: ClassVar[str] = "surface"
    RULE: ClassVar[str] = ""
    DEFAULT_CSS = "DiffView { height: 1fr; }"

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._change: FileDiff | None = None
        self._problem = ""

    def show(self, diff: FileDiff | None, problem: str = "") -> None:
        """Show a change from its beginning on, or why there is none."""
        self._change, self._problem, self.top = diff, problem, 0
        self.stale()

    def body(self, cells: int) -> Sequence[Row]:
        if self._change is None or not (self._change.hunks or self._change.change != "edit"):
            words = self._problem or t("rollback.no_diff")
            return [self._on_ground(Row((Span(line, "muted"),))) for line in wrap(words, max(cells, 1))]
        rows = diff_rows([self._change], cells, wrap=True)
        # Headings of hunks, which alone have keys here, are for those that can be chosen.
        return [self._on_ground(row) for row in rows if not row.key or row.key.startswith(FOLD)]

    def _on_ground(self, row: Row) -> Row:
        """The row as it is, on the overlay's ground in place of a pane's."""

        def left() -> Spans:
            return tuple(map(self._span, row.left() if callable(row.left) else row.left))

        ground = self.GROUND if row.bg == "panel" else row.bg
        return replace(row, left=left, right=tuple(map(self._span, row.right)), bg=ground, key="")

    def _span(self, span: Span) -> Span:
        return replace(span, bg=self.GROUND) if span.bg == "panel" else span
