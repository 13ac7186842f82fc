"""What is told of two sessions side by side: what each has used and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import series, t
from nanoherm_tui.text import Cost, count, duration, money, one_line, visible

if TYPE_CHECKING:
    from agent_core.store.compare import Comparison
    from agent_core.store.compare import Side as Session
    from nanoherm_tui.overlays.compare_head import Facts

_GAP: Final = "   "


def title(session: Session) -> str:
    return one_line(visible(session.row.title)) or t("sessions.untitled")


def models(session: Session) -> str:
    """Those that answered, else the one that was chosen."""
    named = [model.model for model in session.spent.models] or [session.row.model]
    return one_line(visible(series(filter(None, named)))) or "?"


def used(session: Session) -> tuple[str, ...]:
    """Turns, tokens, money, time."""
    spent, turns = session.spent, session.row.turns
    return (
        t("compare.turns_one" if turns == 1 else "compare.turns", n=turns),
        t("compare.tokens", n=count(spent.tokens)),
        money(Cost(spent.cost, spent.is_partial)),
        duration(spent.seconds),
    )


def changed(comparison: Comparison, side: int) -> tuple[str, ...]:
    """How many files the left (0) or the right (1) has changed, and which no other has."""
    files = len((comparison.left, comparison.right)[side].files)
    words = t("compare.files_one" if files == 1 else "compare.files", n=files)
    only = [one_line(visible(path)) for path in comparison.only[side]]
    return (words, t("compare.only", paths=series(only))) if only else (words,)


def facts(comparison: Comparison, side: int) -> Facts:
    """Of the left (0) or the right (1)."""
    from nanoherm_tui.overlays.compare_head import Facts

    session = (comparison.left, comparison.right)[side]
    words = _GAP.join(used(session)), _GAP.join(changed(comparison, side))
    return Facts(session.row.id, title(session), models(session), *words)
