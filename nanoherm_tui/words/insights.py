"""What was used over days, in lines of text: for the dock and for the shell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from agent_core.llm.prices import output_tokens
from nanoherm_tui.i18n import t
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import Cost, count, duration, fit, money, one_line, visible, width

if TYPE_CHECKING:
    from agent_core.messages import Usage
    from agent_core.store.insights import Insights

DAYS_SHOWN: Final = 30  # the newest; more would be no picture
TOOLS_SHOWN: Final = 12  # the most used
HOURS_SHOWN: Final = 5  # the busiest
_BAR: Final = 16  # cells of the longest bar: with its figures it fits the dock beside a conversation
_GAP: Final = "  "


def insight_lines(found: Insights, *, bars: bool = True) -> list[str]:
    """All there is to say, part by part with blank lines between; without `bars` in words and figures alone."""
    span = t("insights.of_all") if not found.days else t("insights.of_days", n=found.days)
    if not (found.sessions or found.agents):
        return [span, "", t("insights.nothing")]
    parts = [_sums(found, span), _models(found), _days(found, bars), _tools(found), _hours(found, bars)]
    lines: list[str] = []
    for part in parts:
        lines += [*([""] if lines and part else []), *part]
    return lines


def _sums(found: Insights, span: str) -> list[str]:
    spent = found.spent
    rows = [
        (t("insights.sessions"), str(found.sessions)),
        (t("insights.agents"), str(found.agents)),
        (t("insights.turns"), str(found.turns)),
        (t("insights.time"), duration(spent.seconds)),
        (t("insights.requests"), str(spent.requests)),
    ]
    if spent.requests:
        rows += [(t(f"usage.{name}"), figure) for name, figure in _tokens(spent.usage).items()]
        rows.append((t("usage.cost"), money(Cost(spent.cost, spent.is_partial))))
    more = [t("insights.at_least", n=unpriced)] if (unpriced := sum(m.unpriced for m in spent.models)) else []
    return [span, t("insights.what_counts"), "", *_table(rows), *more]


def _tokens(usage: Usage) -> dict[str, str]:
    out = None if usage.completion_tokens is None else output_tokens(usage)
    figures = {"in": usage.prompt_tokens, "cached": usage.cached_tokens, "out": out}
    return {name: "?" if figure is None else count(figure) for name, figure in figures.items()}


def _models(found: Insights) -> list[str]:
    if not found.spent.models:
        return []
    head = (t("usage.model"), *(t(f"usage.{name}") for name in ("requests", "in", "cached", "out", "cost")))
    rows = [
        (
            visible(one_line(model.model)) or "?",
            str(model.requests),
            *_tokens(model.usage).values(),
            money(Cost(None if model.unpriced == model.requests else model.cost, bool(model.unpriced))),
        )
        for model in found.spent.models
    ]
    return [t("insights.by_model"), *_table([head, *rows])]


def _days(found: Insights, drawn: bool) -> list[str]:
    shown = found.by_day[-DAYS_SHOWN:]
    if not shown:
        return []
    head = (t("insights.day"), t("insights.turns"), t("insights.tokens"))
    rows = [(one.day, str(one.turns), count(one.tokens)) for one in shown]
    bars = ["", *_bars([one.tokens or one.turns for one in shown] if any(one.tokens for one in shown) else
                       [one.turns for one in shown])]  # fmt: skip
    title = t("insights.by_day") if len(shown) == len(found.by_day) else t("insights.by_day_newest", n=len(shown))
    return [title, *_table([head, *rows], bars if drawn else ())]


def _tools(found: Insights) -> list[str]:
    shown = found.tools[:TOOLS_SHOWN]
    if not shown:
        return []
    head = (t("insights.tool"), t("insights.calls"), t("insights.failed"), "")
    rows = [
        (visible(one_line(one.name)), str(one.calls), str(one.failed), f"{100 * one.failed / one.calls:.0f}%")
        for one in shown
    ]
    more = len(found.tools) - len(shown)
    return [t("insights.by_tool"), *_table([head, *rows]), *([t("insights.more", n=more)] if more else [])]


def _hours(found: Insights, drawn: bool) -> list[str]:
    used = sorted((hour for hour in range(24) if found.by_hour[hour]), key=lambda hour: -found.by_hour[hour])
    shown = sorted(used[:HOURS_SHOWN])
    if not shown:
        return []
    rows = [(f"{hour:02}:00", str(found.by_hour[hour])) for hour in shown]
    return [t("insights.by_hour"), *_table(rows, _bars([found.by_hour[hour] for hour in shown]) if drawn else ())]


def _bars(figures: Sequence[int]) -> list[str]:
    most = max(figures, default=0)
    return [sym("bar") * max(1, round(_BAR * figure / most)) if figure else "" for figure in figures]


def _table(rows: Sequence[Sequence[str]], behind: Iterable[str] = ()) -> list[str]:
    """Columns by cells: the first to the left, figures to the right; `behind` what stands behind each row."""
    wide = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    ends = [*behind] or [""] * len(rows)
    return [
        _GAP.join(
            [*(fit(cell, wide[at], "right" if at else "left") for at, cell in enumerate(row)), *([end] if end else [])]
        ).rstrip()
        for row, end in zip(rows, ends, strict=True)
    ]
