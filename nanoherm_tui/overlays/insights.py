"""What was used over days, as plots: tokens, money, turns by day; models, folders, tools; how long sessions are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.strip import Strip

from agent_core.llm.prices import output_tokens
from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, Overlay
from nanoherm_tui.plots import bar, columns, joined
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import Cost, count, cut, duration, fit, money, one_line, visible, width

if TYPE_CHECKING:
    from agent_core.store.insights import DayUse, Insights
    from nanoherm_tui.themes import Look

RANGES: Final = (7, 30, 90, 0)
"""Days back, today included; 0: all there is."""
_TWO: Final = 104  # cells from which two plots stand side by side
_BETWEEN: Final = 4  # cells between those
_HIGH, _LOW = 5, 3  # rows of a plot, on a usual and on a short screen
_AXIS: Final = 7  # cells for the figure at a plot's upper end, and a blank
_WIDEST: Final = 6  # cells of one bar
_NAME: Final = 22  # cells of a name before a bar, at most
_TITLED: Final = 50  # cells from which the spans have a title before them
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
    from agent_core.store.insights import LENGTHS

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


class InsightBody(Painted):
    """The sums and the plots, two beside each other where there is room; it scrolls."""

    DEFAULT_CSS = "InsightBody { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__(id="insights-body")
        self.found: Insights | None = None
        self.top = 0
        self._whole: tuple[object, list[Strip]] | None = None

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return container.height

    def show(self, found: Insights) -> None:
        self.found, self.top, self._whole = found, 0, None
        self.refresh()

    def scroll_rows(self, rows: int) -> None:
        self.top = max(0, min(self.top + rows, len(self._all(self.size.width)) - self.size.height))
        self.refresh()

    def paint(self, width: int) -> list[Strip]:
        rows = self._all(width)
        self.top = max(0, min(self.top, len(rows) - self.size.height))
        return rows[self.top : self.top + self.size.height]

    def _all(self, width: int) -> list[Strip]:
        look, short = look_of(self), self.app.size.height < limits.SHORT
        key = (width, look, short)
        if self._whole is None or self._whole[0] != key:
            self._whole = (key, self._draw(width, look, _LOW if short else _HIGH))
        return self._whole[1]

    def _draw(self, width: int, look: Look, rows: int) -> list[Strip]:
        words, muted = look.style("text", "surface"), look.style("muted", "surface")
        found = self.found
        if found is None:
            return [row(width, [(t("insights.summing"), muted)], words)]
        if not (found.sessions or found.agents):
            return [row(width, [(t("insights.nothing"), muted)], words)]
        bold = look.style("text", "surface", bold=True)
        figures: list[list[Part]] = [[(f"{name} ", muted), (figure, bold)] for name, figure in sums(found)]
        out = flow(width, figures, words)
        unpriced = sum(model.unpriced for model in found.spent.models)
        notes = [t("insights.at_least", n=unpriced)] if unpriced else []
        for note in [*notes, t("insights.what_counts")]:
            out.append(row(width, [(note, muted)], words))
        beside = width >= _TWO
        cells = (width - _BETWEEN) // 2 if beside else width
        drawn = [
            [row(cells, [(plot.title, bold)], words), *(row(cells, line, words) for line in plot.draw(cells))]
            for plot in plots(found, look, rows)
        ]
        blank, between = row(width, [], words), row(_BETWEEN, [], words)
        rest = row(max(0, width - 2 * cells - _BETWEEN), [], words)
        for left, right in (
            zip_longest(drawn[::2], drawn[1::2], fillvalue=()) if beside else ((one, ()) for one in drawn)
        ):
            out.append(blank)
            if not beside:
                out += left
                continue
            empty = row(cells, [], words)
            out += [
                Strip.join([a or empty, between, b or empty, rest]) for a, b in zip_longest(left, right, fillvalue=None)
            ]
        return out


class InsightHead(Painted):
    """The spans that can be looked at; the one that is."""

    def __init__(self, spans: Sequence[int], chosen: int) -> None:
        super().__init__(id="insights-head")
        self.spans, self.chosen = spans, chosen
        self._ends: list[int] = []

    def paint(self, width_: int) -> list[Strip]:
        look = look_of(self)
        words, muted = look.style("text", "surface"), look.style("muted", "surface")
        bold = look.style("text", "surface", bold=True)
        parts: list[Part] = [(f"{t('insights.title')}   ", bold)] if width_ >= _TITLED else []
        self._ends = []
        for span in self.spans:
            here = span == self.chosen
            name = t("insights.all") if not span else t("insights.span", n=span)
            parts += [
                ((sym("bar") if here else " ") + " ", look.mark("accent", "surface")),
                (name, bold if here else muted),
            ]
            self._ends.append(sum(width(text) for text, _ in parts))
            parts.append(("  ", words))
        return [row(width_, parts, words)]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        for span, end in zip(self.spans, self._ends, strict=True):
            if event.x < end:
                screen = self.screen
                assert isinstance(screen, InsightScreen)
                screen.look_at(span)
                return


class _Foot(Painted):
    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        spans = self.screen.query_one(InsightHead).spans
        keys = [
            (f"1-{len(spans)}", t("insights.choose")),
            ("PgUp PgDn", t("insights.scroll")),
            ("Esc", t("usage.close")),
        ]
        rows = flow(width, hints(look, keys), look.style("text", "surface"))
        return rows[:1] if self.app.size.height < limits.SHORT else rows


class InsightScreen(Overlay[None]):
    """`on_ask` is called with how many days are wanted; `show` brings what was used in them."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/insights.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "rows(1)", show=False),
        Binding("up,k", "rows(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("home,g", "rows(-100000)", show=False),
        Binding("end,G", "rows(100000)", show=False),
        Binding("right,l,tab", "step(1)", show=False, priority=True),
        Binding("left,h,shift+tab", "step(-1)", show=False, priority=True),
        *(Binding(str(n), f"span({n - 1})", show=False) for n in range(1, len(RANGES) + 2)),
        Binding("enter,q", "close", show=False),
    ]

    def __init__(self, days: int = RANGES[1]) -> None:
        super().__init__()
        self.on_ask: Callable[[int], None] = lambda days: None
        spans = RANGES if days in RANGES else (days, *RANGES)
        self._head = InsightHead(spans, days)
        self._body = InsightBody()

    def compose(self) -> ComposeResult:
        with Vertical(id="overlay-halo"), Vertical(id="overlay-box"):
            yield self._head
            yield self._body
            yield _Foot(id="insights-foot")

    def on_mount(self) -> None:
        super().on_mount()
        self.on_ask(self._head.chosen)

    def show(self, found: Insights) -> None:
        """What was used; of another span than the one that is looked at now it is late and passed over."""
        if found.days == self._head.chosen:
            self._body.show(found)

    def look_at(self, days: int) -> None:
        """Another span. What is shown stays until its figures are there."""
        if days != self._head.chosen:
            self._head.chosen = days
            self._head.refresh()
            self.on_ask(days)

    def action_span(self, number: int) -> None:
        if number < len(self._head.spans):
            self.look_at(self._head.spans[number])

    def action_step(self, step: int) -> None:
        spans = list(self._head.spans)
        self.look_at(spans[(spans.index(self._head.chosen) + step) % len(spans)])

    def action_rows(self, rows: int) -> None:
        self._body.scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        self._body.scroll_rows(pages * max(1, self._body.size.height - 1))

    def on_mouse_scroll_down(self) -> None:
        self._body.scroll_rows(limits.WHEEL_ROWS)

    def on_mouse_scroll_up(self) -> None:
        self._body.scroll_rows(-limits.WHEEL_ROWS)
