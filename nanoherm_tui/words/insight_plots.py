"""What was used over days, as plots: tokens, money, turns by day; models, folders, tools; how long sessions are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from agent_core.llm.prices import output_tokens
from agent_core.records import dataclass
from agent_core.store.insights import LENGTHS
from nanoherm_tui.i18n import t
from nanoherm_tui.strips import Part
from nanoherm_tui.text import Cost, count, cut, duration, fit, money, one_line, visible, width
from nanoherm_tui.words.plots import bar, columns, joined

if TYPE_CHECKING:
    from agent_core.store.insights import DayUse, Insights
    from nanoherm_tui.theming.themes import Look

_AXIS: Final = 7  # cells for the figure at a plot's upper end, and a blank
_WIDEST: Final = 6  # cells of one bar
_NAME: Final = 22  # cells of a name before a bar, at most
_BAR_ROWS: Final = 8  # bars of a kind; the rest is counted

Lines = list[list[Part]]


@dataclass(frozen=True, slots=True)
class Plot:
    """One section: a title and its rows for a width."""

    title: str
    draw: Callable[[int], Lines]


@dataclass(frozen=True, slots=True)
class Inks:
    """The styles that sections are drawn with."""

    look: Look

    def words(self, text: str) -> Part:
        return text, self.look.style("text", "surface")

    def muted(self, text: str) -> Part:
        return text, self.look.style("muted", "surface")

    def bars(self, text: str) -> Part:
        return text, self.look.mark("accent", "surface")


def sums(found: Insights) -> list[tuple[str, str]]:
    """Figures of the whole span with their names."""
    spent = found.spent
    usage = spent.usage
    out = None if usage.completion_tokens is None else output_tokens(usage)
    cached = (
        None if not usage.prompt_tokens or usage.cached_tokens is None else usage.cached_tokens / usage.prompt_tokens
    )
    return [
        (t("insights.sessions"), str(found.sessions)),
        (t("insights.turns"), str(found.turns)),
        (t("insights.requests"), str(spent.requests)),
        (t("usage.in"), "?" if usage.prompt_tokens is None else count(usage.prompt_tokens)),
        (t("usage.out"), "?" if out is None else count(out)),
        (t("usage.cached"), "?" if cached is None else f"{100 * cached:.0f}%"),
        (t("usage.cost"), money(Cost(spent.cost, spent.is_partial))),
        (t("insights.time"), duration(spent.seconds)),
    ]


@dataclass(frozen=True, slots=True)
class Pictured:
    """What is shown of a span."""

    days: int
    """How many days back; 0: all there is."""
    is_empty: bool
    figures: tuple[tuple[str, str], ...] = ()
    """Names and figures of the whole span."""
    notes: tuple[str, ...] = ()
    plots: Callable[[Look, int], list[Plot]] = lambda look, rows: []
    """The sections in a look, with upright bars of so many rows."""


def pictured(found: Insights) -> Pictured:
    unpriced = sum(model.unpriced for model in found.spent.models)
    notes = (t("insights.at_least", n=unpriced),) if unpriced else ()
    return Pictured(
        found.days,
        not (found.sessions or found.agents),
        tuple(sums(found)),
        (*notes, t("insights.what_counts")),
        partial(plots, found),
    )


def plots(found: Insights, look: Look, rows: int) -> list[Plot]:
    """The sections, in pairs that may stand side by side; those without anything to show are left out."""
    inks = Inks(look)
    made = [
        _by_day(found, inks, rows, "tokens", lambda day: day.tokens, lambda n: count(round(n))),
        _by_day(found, inks, rows, "cost", lambda day: day.cost, lambda n: money(Cost(n))),
        _by_day(found, inks, rows, "turns", lambda day: day.turns, lambda n: count(round(n))),
        _by_day(found, inks, rows, "cached", _cached, lambda n: f"{n:.0%}"),
        _models(found, inks),
        _folders(found, inks),
        _tools(found, inks),
        _lengths(found, inks),
        _by_hour(found, inks, rows),
    ]
    return [plot for plot in made if plot is not None]


def _by_day(
    found: Insights, inks: Inks, rows: int, name: str, of: Callable[[DayUse], float], say: Callable[[float], str]
) -> Plot | None:
    days = found.by_day
    if not any(of(day) for day in days):
        return None

    def draw(cells: int) -> Lines:
        room = max(1, cells - _AXIS)
        bars, each = joined(days, room, _together)
        figures = [of(day) for day in bars]
        wide = min(_WIDEST, room // len(figures))
        gap = 1 if wide > 1 else 0
        lines = _upright(figures, rows, wide - gap, gap, say, inks)
        cut_year = 5 if days[0].day[:4] == days[-1].day[:4] else 0
        ends = (days[0].day[cut_year:], days[-1].day[cut_year:])
        under = len(figures) * wide - gap
        note = f"   {t('insights.each', n=each)}" if each > 1 else ""
        room = under - width(ends[1]) - 1
        dates = f"{fit(cut(ends[0] + note, room), room)} {ends[1]}" if room > width(ends[1]) else ends[1]
        return [*lines, [inks.muted(" " * _AXIS + dates)]]

    return Plot(t(f"insights.plot_{name}"), draw)


def _together(days: Sequence[DayUse]) -> DayUse:
    """Several days as one, under the last one's name."""
    return replace(
        days[-1],
        turns=sum(day.turns for day in days),
        tokens=sum(day.tokens for day in days),
        cost=sum(day.cost for day in days),
        prompt=sum(day.prompt for day in days),
        cached=sum(day.cached for day in days),
    )


def _cached(day: DayUse) -> float:
    return day.cached / day.prompt if day.prompt else 0.0


def _by_hour(found: Insights, inks: Inks, rows: int) -> Plot | None:
    if not any(found.by_hour):
        return None

    def draw(cells: int) -> Lines:
        wide = 2 if cells >= _AXIS + 48 else 1
        lines = _upright(found.by_hour, rows, 1, wide - 1, lambda n: count(round(n)), inks)
        hours = "".join(fit(f"{hour:02}" if hour % 6 == 0 else "", wide) if wide > 1 else "" for hour in range(24))
        return [*lines, [inks.muted(" " * _AXIS + (hours or fit("00", 12) + fit("12", 10) + "23"))]]

    return Plot(t("insights.plot_hours"), draw)


def _upright(
    figures: Sequence[float], rows: int, cells: int, gap: int, say: Callable[[float], str], inks: Inks
) -> Lines:
    top = fit(say(max(figures)), _AXIS - 1, "right") + " "
    return [
        [inks.muted(top if n == 0 else " " * _AXIS), inks.bars(line)]
        for n, line in enumerate(columns(figures, rows, cells, gap))
    ]


def _models(found: Insights, inks: Inks) -> Plot | None:
    rows = [
        (one_line(visible(model.model)) or "?",
         (model.usage.prompt_tokens or 0) + (model.usage.completion_tokens or 0),
         money(Cost(None if model.unpriced == model.requests else model.cost, bool(model.unpriced))))
        for model in found.spent.models
    ]  # fmt: skip
    return _bars(t("insights.by_model"), [(name, n, (count(n), cost)) for name, n, cost in rows], inks)


def _folders(found: Insights, inks: Inks) -> Plot | None:
    names = [PurePath(folder.folder).name for folder in found.folders]
    rows = []
    for folder, name in zip(found.folders, names, strict=True):
        shown = name if name and names.count(name) == 1 else "/".join(PurePath(folder.folder).parts[-2:])
        cost = money(Cost(folder.cost or (None if folder.unpriced else 0.0), bool(folder.unpriced)))
        rows.append((one_line(visible(shown)) or "/", folder.tokens, (count(folder.tokens), cost)))
    return _bars(t("insights.by_folder"), rows, inks)


def _tools(found: Insights, inks: Inks) -> Plot | None:
    rows = []
    for tool in found.tools:
        failed = t("insights.share_failed", n=f"{100 * tool.failed / tool.calls:.0f}%") if tool.failed else ""
        rows.append((one_line(visible(tool.name)), tool.calls, (count(tool.calls), failed)))
    return _bars(t("insights.by_tool"), rows, inks)


def _lengths(found: Insights, inks: Inks) -> Plot | None:
    rows = []
    for least, above, sessions in zip_longest(LENGTHS, LENGTHS[1:], found.lengths, fillvalue=0):
        name = f"{least}+" if not above else str(least) if above == least + 1 else f"{least}-{above - 1}"
        rows.append(
            (t("insights.length_one" if name == "1" else "insights.length", n=name), sessions, (count(sessions), ""))
        )
    while rows and not rows[-1][1]:
        rows.pop()
    return _bars(t("insights.by_length"), rows, inks)


def _bars(title: str, rows: Sequence[tuple[str, float, tuple[str, ...]]], inks: Inks) -> Plot | None:
    """Bars to the right, one a row: the name before it, figures at the end."""
    if not any(figure for _, figure, _ in rows):
        return None
    shown = rows[:_BAR_ROWS]
    most = max(figure for _, figure, _ in shown)
    ends = [max(width(row[2][n]) for row in shown) for n in range(len(shown[0][2]))]

    def draw(cells: int) -> Lines:
        name = min(_NAME, cells // 3, max(width(row[0]) for row in shown))
        room = max(1, cells - name - 2 - sum(end + 2 for end in ends if end))
        lines: Lines = []
        for words, figure, figures in shown:
            long = bar(figure, most, room)
            told = "".join(f"  {fit(one, end, 'right')}" for one, end in zip(figures, ends, strict=True) if end)
            lines.append([inks.words(fit(cut(words, name), name) + "  "), inks.bars(fit(long, room)), inks.words(told)])
        left = len(rows) - len(shown)
        return [*lines, *([[inks.muted(t("insights.more", n=left))]] if left else [])]

    return Plot(title, draw)
