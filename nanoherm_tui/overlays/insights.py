"""What was used over days, as plots: the view, and the spans that can be looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, boxed
from nanoherm_tui.overlays.reading import ReadFoot, ReadScreen, Scrolled
from nanoherm_tui.strips import Painted, Part, flow, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import width, wrap

if TYPE_CHECKING:
    from nanoherm_tui.words.insight_plots import Pictured

RANGES: Final = (7, 30, 90, 0)
"""Days back, today included; 0: all there is."""
_TWO: Final = 104  # cells from which two plots stand side by side
_BETWEEN: Final = 4  # cells between those
_HIGH, _LOW = 5, 3  # rows of a plot, on a usual and on a short screen
_TITLED: Final = 50  # cells from which the spans have a title before them


class InsightBody(Scrolled):
    """The sums and the plots, two beside each other where there is room; it scrolls."""

    DEFAULT_CSS = "InsightBody { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__("insights-body")
        self.found: Pictured | None = None

    def show(self, found: Pictured) -> None:
        self.found = found
        self.forget()

    def draw(self, width: int) -> Sequence[Strip]:
        look, rows = look_of(self), _LOW if self.is_short else _HIGH
        words, muted = look.style("text", "surface"), look.style("muted", "surface")
        found = self.found
        if found is None:
            return [row(width, [(t("insights.summing"), muted)], words)]
        if found.is_empty:
            return [row(width, [(t("insights.nothing"), muted)], words)]
        bold = look.style("text", "surface", bold=True)
        figures: list[list[Part]] = [[(f"{name} ", muted), (figure, bold)] for name, figure in found.figures]
        out = flow(width, figures, words)
        out += [row(width, [(line, muted)], words) for note in found.notes for line in wrap(note, width)]
        beside = width >= _TWO
        cells = (width - _BETWEEN) // 2 if beside else width
        drawn = [
            [row(cells, [(plot.title, bold)], words), *(row(cells, line, words) for line in plot.draw(cells))]
            for plot in found.plots(look, rows)
        ]
        blank, between = row(width, [], words), row(_BETWEEN, [], words)
        rest = row(max(0, width - 2 * cells - _BETWEEN), [], words)
        headings: set[int] = set()
        for left, right in (
            zip_longest(drawn[::2], drawn[1::2], fillvalue=()) if beside else ((one, ()) for one in drawn)
        ):
            out.append(blank)
            headings.add(len(out))
            if not beside:
                out += left
                continue
            empty = row(cells, [], words)
            out += [
                Strip.join([a or empty, between, b or empty, rest]) for a, b in zip_longest(left, right, fillvalue=None)
            ]
        self.headings = frozenset(headings)
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
        names = [t("insights.all") if not span else t("insights.span", n=span) for span in self.spans]
        roomy = sum(width(text) for text, _ in parts) + sum(width(name) + 4 for name in names) - 2 <= width_
        for span, name in zip(self.spans, names, strict=True):
            here = span == self.chosen
            parts += [
                ((sym("bar") if here else " ") + " ", look.mark("accent", "surface")),
                (name, bold if here else muted),
            ]
            self._ends.append(sum(width(text) for text, _ in parts))
            parts.append(("  " if roomy else " ", words))
        return [row(width_, parts, words)]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        for span, end in zip(self.spans, self._ends, strict=True):
            if event.x < end:
                screen = self.screen
                assert isinstance(screen, InsightScreen)
                screen.look_at(span)
                return


class _Foot(ReadFoot):
    def keys(self) -> list[tuple[str, str]]:
        return [(f"1-{len(self.screen.query_one(InsightHead).spans)}", t("insights.choose")), *super().keys()]


class InsightScreen(ReadScreen):
    """`on_ask` is called with how many days are wanted; `show` brings what was used in them."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/insights.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l,tab", "step(1)", show=False, priority=True),
        Binding("left,h,shift+tab", "step(-1)", show=False, priority=True),
        *(Binding(str(n), f"span({n - 1})", show=False) for n in range(1, len(RANGES) + 2)),
    ]

    def __init__(self, days: int = RANGES[1]) -> None:
        self._body = InsightBody()
        super().__init__(self._body)
        self.on_ask: Callable[[int], None] = lambda days: None
        spans = RANGES if days in RANGES else (days, *RANGES)
        self._head = InsightHead(spans, days)

    def compose(self) -> ComposeResult:
        yield boxed(self._head, self._body, _Foot(id="insights-foot"))

    def on_mount(self) -> None:
        self.on_ask(self._head.chosen)

    def show(self, found: Pictured) -> None:
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
