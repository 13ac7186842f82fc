"""What is told of two sessions side by side: what each has used and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.compare_head import Facts
from nanoherm_tui.text import Cost, count, duration, money, one_line, visible

if TYPE_CHECKING:
    from agent_core.store.compare import Comparison
    from agent_core.store.compare import Side as Session

_GAP: Final = "   "


def facts(comparison: Comparison, side: int) -> Facts:
    """Of the left (0) or the right (1)."""
    session: Session = (comparison.left, comparison.right)[side]
    spent, row_ = session.spent, session.row
    models = [model.model for model in spent.models] or [row_.model]
    used = (
        t("compare.turns_one" if row_.turns == 1 else "compare.turns", n=row_.turns),
        t("compare.tokens", n=count(spent.tokens)),
        money(Cost(spent.cost, spent.is_partial)),
        duration(spent.seconds),
    )
    files = len(session.files)
    changed = t("compare.files_one" if files == 1 else "compare.files", n=files)
    if only := [one_line(visible(path)) for path in comparison.only[side]]:
        changed += _GAP + t("compare.only", paths=", ".join(only))
    return Facts(
        row_.id,
        one_line(visible(row_.title)) or t("sessions.untitled"),
        one_line(visible(", ".join(filter(None, models)))) or "?",
        _GAP.join(used),
        changed,
    )
