"""What the end of the program would end too, in words, for both faces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from nanoherm_tui.session_view import SessionView


def leaving_words(views: Iterable[SessionView], in_view: SessionView | None) -> str:
    """Empty: nothing but what somebody can see, the turn of the session `in_view`."""
    tasks = turns = 0
    for view in views:
        tasks += sum(task.state == "running" and not task.kept for task in view.tasks)
        tasks += sum(row.background and row.ended is None for row in view.agents)
        turns += view is not in_view and view.session.busy
    if tasks and turns:
        return t("tasks.leaving_all", turns=turns, n=tasks)
    if turns:
        return t("tasks.leaving_turn") if turns == 1 else t("tasks.leaving_turns", n=turns)
    return "" if not tasks else t("tasks.leaving_one") if tasks == 1 else t("tasks.leaving", n=tasks)
