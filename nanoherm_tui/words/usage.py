"""What a session has used, in words: a table of its models, and how far its budget goes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_core.llm.prices import output_tokens
from nanoherm_tui.i18n import series, t
from nanoherm_tui.text import Cost, count, money, one_line

if TYPE_CHECKING:
    from agent_core.messages import Usage
    from agent_core.mind.meter import SessionUsage

Cells = dict[str, str]


def table(usage: SessionUsage) -> list[Cells]:
    """A row for each model, by the name of the column, and one with the sums where there are several."""
    spent = usage.spent
    rows = [
        {
            "model": one_line(model.model) or "?",
            "requests": str(model.requests),
            **_tokens(model.usage),
            "cost": money(Cost(None if model.unpriced == model.requests else model.cost, bool(model.unpriced))),
            "prices": _undated().get(model.pricing, model.pricing),
        }
        for model in spent.models
    ]
    if len(rows) > 1:
        rows.append(
            {
                "model": t("usage.sum"),
                "requests": str(spent.requests),
                **_tokens(spent.usage),
                "cost": money(Cost(spent.cost, spent.is_partial)),
                "prices": "",
            }
        )
    return rows


def _tokens(usage: Usage) -> Cells:
    out = None if usage.completion_tokens is None else output_tokens(usage)
    figures = {
        "in": usage.prompt_tokens,
        "cached": usage.cached_tokens,
        "out": out,
        "reasoning": usage.reasoning_tokens,
    }
    return {name: "?" if figure is None else count(figure) for name, figure in figures.items()}


def budget_lines(usage: SessionUsage) -> list[str]:
    """How far the budget goes, bound by bound."""
    spent, bound = usage.spent, usage.budget
    lines = []
    if bound.tokens:
        lines.append(t("usage.of_tokens", used=f"{spent.tokens:,}", bound=f"{bound.tokens:,}"))
    if bound.cost:
        lines.append(t("usage.of_cost", used=money(Cost(spent.cost, spent.is_partial)), bound=f"${bound.cost:g}"))
    if bound.minutes:
        lines.append(t("usage.of_minutes", used=f"{spent.seconds / 60:.1f}", bound=f"{bound.minutes:g}"))
    return lines


def remarks(rows: Sequence[Cells]) -> list[str]:
    """What is to be known of the costs: whose prices they are from, and that some are unknown."""
    dates = sorted({line["prices"] for line in rows} - {*_undated().values(), ""})
    unknown = any("?" in line["cost"] or "+" in line["cost"] for line in rows)
    estimated = [t("usage.estimated", dates=series(dates))] if dates else []
    return estimated + ([t("usage.unknown")] if unknown else [])


def _undated() -> dict[str, str]:
    """What stands in the place of a price list's date, by what the meter says of the price."""
    return {"config": t("usage.config"), "local": t("usage.local"), "": "?"}
