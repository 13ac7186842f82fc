"""The todo list as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import BLANK, Row, Span
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import one_line, wrap

if TYPE_CHECKING:
    from agent_core.ports.means import TodoItem

# status: glyph, its role, the words' role
_LOOK = {
    "pending": ("waiting", "muted", "text"),
    "in_progress": ("folded", "accent", "text"),
    "completed": ("done", "ok", "muted"),
    "cancelled": ("failed", "muted", "muted"),
}


def plan_rows(items: Sequence[TodoItem], cells: int) -> list[Row]:
    """How far it is, then each step, wrapped beside its mark; the one being worked on is bold."""
    done = sum(item.status == "completed" for item in items)
    rows = [Row((Span(t("dock.plan_done", n=done, total=len(items)), "muted"),)), BLANK]
    for item in items:
        glyph, mark, words = _LOOK[item.status]
        now = item.status == "in_progress"
        for index, line in enumerate(wrap(one_line(item.text), cells - 2)):
            sign = Span(sym(glyph), mark, bold=True, mark=True) if index == 0 else Span(" ")
            rows.append(Row((sign, Span(" "), Span(line, words, bold=now))))
    return rows
