"""What is told of two sessions side by side: what each has used and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_core.records import dataclass
from nanoherm_tui.i18n import series, t
from nanoherm_tui.text import Cost, count, cut, duration, money, one_line, visible, width

if TYPE_CHECKING:
    from agent_core.store.compare import Comparison
    from agent_core.store.compare import Side as Session

GAP: Final = "   "
"""Between two facts of a row."""
_LEAST_MODEL: Final = 6  # cells of the models' names


@dataclass(frozen=True, slots=True)
class Facts:
    """What is told of a side."""

    session: str
    """Its id."""
    title: str
    models: str
    used: str
    """Turns, tokens, cost, time."""
    changed: str

    def use(self, cells: int) -> str:
        """Models and figures in one row; the models give way."""
        return f"{cut(self.models, max(_LEAST_MODEL, cells - width(self.used) - len(GAP)))}{GAP}{self.used}"


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
    session = (comparison.left, comparison.right)[side]
    words = GAP.join(used(session)), GAP.join(changed(comparison, side))
    return Facts(session.row.id, title(session), models(session), *words)
