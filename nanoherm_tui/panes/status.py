"""The last row: mode, sandbox, goal, model, what runs and for how long, what waits, tokens, context, cost.

Figures stand in fields of fixed width, right-aligned, so nothing moves when they grow. When the row is too narrow,
whole fields go: those a user can do without first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui import text
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import Row, Span, Spans, paint_row
from nanoherm_tui.strips import Painted, look_of
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import Cost, count, cut, duration, money, one_line

EDGE = 2  # blank columns on both sides
GAP = 3  # blanks between fields
FIGURE = 5  # cells of a token figure
TIME = 7  # cells of a time: "12m 05s"
TIMED_FROM = 70  # columns from which it has them, however short it is
COST = 6  # cells of a cost
NOTHING = Cost(0.0)
GOAL = 24  # a goal is cut at this, or at a fifth of a wide screen
MODEL = 28  # a model's label is cut at this, or at a quarter of a wide screen
MODE_ROLES = {"ask": "accent", "plan": "ok", "debug": "ok", "auto": "warn", "goal": "warn"}
"""Green: commands only read. Yellow: it acts unasked."""
CENTRED_FROM = 140  # on screens this wide what runs stands in the middle
INBOX_FROM = 100  # columns from which the way to questions elsewhere is named
ACTIVITY = 16  # its usual width


@dataclass(frozen=True, slots=True)
class StatusInfo:
    """All the status line knows. None means not known, and its field is left out."""

    mode: str = "ask"
    sandbox: str | None = None
    """The sandbox's own name; empty = there is none."""
    model: str = ""
    """What a person reads; it says so when the model is a scripted demo."""
    running: bool = False
    stopping: bool = False
    step: int = 0
    seconds: float = 0.0
    """Since the turn began."""
    waiting: int = 0
    """Questions that wait for an answer, of any session."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    context_percent: int | None = None
    cost: Cost | None = None
    """None, and one that is known to be nothing, is left out."""
    hint: str = ""
    """A passing word in the place of what runs ("Ctrl+C again quits.")."""
    network: bool = False
    """Commands in the sandbox reach the network unasked."""
    missing: bool = False
    """The mount view is missing: metadata and .git are not protected."""
    yolo: bool = False
    """In this run nothing is asked and nothing confined."""
    goal: str = ""
    """What mode goal works towards."""
    tasks: int = 0
    """Commands of the session that run in the background."""
    elsewhere: int = 0
    """How many of those that wait are not of the session in view."""
    inbox: str = ""
    """The key that leads to them."""


def status_row(info: StatusInfo, frame: int, cells: int) -> Row:
    """The row's content in `cells` columns; `frame` is the step of the running mark."""
    role = "fail" if info.yolo else MODE_ROLES.get(info.mode, "accent")
    mode = (Span(one_line(info.mode), role, bold=True),)
    fields = {
        "mode": mode,
        "sandbox": _sandbox(info, cells - text.width(info.mode) - GAP),
        "activity": _activity(info, frame, cells),
        "waiting": _waiting(info, cells),
        "goal": _goal(info, cells),
        "context": _context(info),
        "model": (Span(cut(one_line(info.model), max(MODEL, cells // 4))),) if info.model else (),
        "tasks": _tasks(info),
        "tokens": _tokens(info),
        "cost": (Span(money(info.cost).rjust(COST)),) if info.cost not in (None, NOTHING) else (),
    }
    if info.hint and _is_quiet(fields["sandbox"]):
        beside = cells - sum(_size(fields[name]) + GAP for name in ("mode", "sandbox"))
        if _size(fields["activity"]) > beside:
            fields["sandbox"] = ()  # a word in passing is read whole or not at all
    left = ("mode", "sandbox", "goal", "model", "tasks", "waiting", "activity")
    right = ("tokens", "context", "cost")
    kept: set[str] = set()
    used = 0
    for name, spans in fields.items():  # in the order of their worth
        if name == "activity" and info.hint:
            spans = (replace(spans[0], text=cut(spans[0].text, max(0, cells - used - GAP))),)
        elif name == "activity" and spans and used + GAP + _size(spans) > cells:
            spans = fields[name] = (spans[0], Span(" "), spans[-1])  # that something runs, and for how long
        if name == "waiting" and spans and used + GAP + _size(spans) > cells:
            spans = fields[name] = (spans[0], Span(f" {info.waiting}"))  # that somebody is asked is told anywhere
        size = _size(spans)
        if size and used + size + (GAP if kept else 0) <= cells:
            used += size + (GAP if kept else 0)
            kept.add(name)
    middle = _joined([fields[n] for n in left[5:] if n in kept])
    start = _joined([fields[n] for n in left[:5] if n in kept]) or (Span(cut(info.mode, cells), role, bold=True),)
    end = _joined([fields[n] for n in right if n in kept])
    if middle:
        room = cells - _size(start) - _size(middle) - (_size(end) + GAP if end else 0)
        centre = (cells + 2 * EDGE - ACTIVITY) // 2 - EDGE - _size(start)
        wide = cells + 2 * EDGE >= CENTRED_FROM
        start += (Span(" " * min(max(centre if wide else GAP + 1, GAP), max(room, GAP))), *middle)
    return Row(start, end, bg="ground")


def _is_quiet(spans: Spans) -> bool:
    """Nothing in it warns."""
    return all(span.fg == "text" for span in spans)


def _size(spans: Spans) -> int:
    return sum(text.width(span.text) for span in spans)


def _joined(fields: Sequence[Spans]) -> Spans:
    out: list[Span] = []
    for spans in fields:
        out += [Span(" " * GAP)] if out else []
        out += spans
    return tuple(out)


def _activity(info: StatusInfo, frame: int, cells: int) -> Spans:
    if info.hint:
        return (Span(one_line(info.hint), "warn"),)
    if not (info.running or info.stopping):
        return ()
    mark = Span(sym("running", frame), "accent", bold=True, mark=True)
    words = t("status.stopping") if info.stopping else t("status.step", n=info.step) if info.step else ""
    time = duration(info.seconds, running=True)
    took = Span(time if cells < TIMED_FROM else time.ljust(TIME), "muted")
    return (mark, Span(f" {words}  "), took) if words else (mark, Span("  "), took)


def _waiting(info: StatusInfo, cells: int) -> Spans:
    if not info.waiting:
        return ()
    if not info.elsewhere:
        words = t("status.waiting", n=info.waiting)
    elif cells < INBOX_FROM:
        words = t("status.waiting_elsewhere_short", n=info.elsewhere)
    elif info.elsewhere == info.waiting:
        words = t("status.waiting_elsewhere", n=info.waiting, key=info.inbox)
    else:
        words = t("status.waiting_here", n=info.waiting, elsewhere=info.elsewhere, key=info.inbox)
    return Span(sym("asks"), "warn", bold=True, mark=True), Span(" " + words)


def _tasks(info: StatusInfo) -> Spans:
    if not info.tasks:
        return ()
    return (Span(t("status.task") if info.tasks == 1 else t("status.tasks", n=info.tasks), "muted"),)


def _sandbox(info: StatusInfo, room: int) -> Spans:
    """What commands run in; in a narrow `room` what is missing of it is said shorter."""
    if info.sandbox is None:
        return ()
    if not info.sandbox:
        return (Span(t("status.no_sandbox"), "warn"),)
    if info.sandbox == "danger-full-access":
        return (Span(f"yolo: {info.sandbox}" if info.yolo else info.sandbox, "fail"),)
    network = [t("status.network")] if info.network else []
    missing = [[t("status.no_mounts")], [t("status.no_mounts_short")], []] if info.missing else [[]]
    ways = [(*network, *marks) for marks in missing]
    for marks in (*ways, ()):
        comma = t("status.comma")
        between = Span(f"{comma} " if comma.isascii() else comma)
        told = (part for mark in marks for part in (between, Span(mark, "warn")))
        spans = (Span(one_line(info.sandbox)), *told)
        if _size(spans) <= room:
            return spans
    return (Span(cut(one_line(info.sandbox), room)),) if room > 0 else ()


def _goal(info: StatusInfo, cells: int) -> Spans:
    if not info.goal:
        return ()
    words = cut(one_line(info.goal), max(GOAL, cells // 5))
    return Span(f"{t('status.goal')} ", "muted"), Span(words)


def _tokens(info: StatusInfo) -> Spans:
    if info.tokens_in is None and info.tokens_out is None:
        return ()
    return (
        Span(_figure(info.tokens_in)),
        Span(f" {t('status.in')}", "muted"),
        Span("  " + _figure(info.tokens_out)),
        Span(f" {t('status.out')}", "muted"),
    )


def _figure(n: int | None) -> str:
    return ("?" if n is None else count(n)).rjust(FIGURE)


def _context(info: StatusInfo) -> Spans:
    if info.context_percent is None:
        return ()
    return Span(t("status.context"), "muted"), Span(f"{info.context_percent:>4}%")


class StatusLine(Painted):
    """One row; painted again only when what it shows has changed."""

    ALLOW_SELECT = False

    class InboxRequested(Message):
        """Somebody clicked on the questions that wait."""

    def __init__(self, id: str | None = "status") -> None:
        super().__init__(id=id)
        self._info = StatusInfo()
        self._frame = 0
        self.paints = 0
        """How often it was painted: for tests."""

    def update(self, info: StatusInfo) -> None:
        """Show `info`. Seconds count whole, so an update within the same second paints nothing."""
        before, self._info = self._info, info
        cells = self.size.width
        if status_row(before, self._frame, cells) != status_row(info, self._frame, cells):
            self.refresh()

    def tick(self, frame: int) -> None:
        """Step the running mark; `frame` counts quarters of a second."""
        self._frame = frame
        if self._info.running or self._info.stopping:
            self.refresh()

    def refresh_look(self) -> None:
        """The theme or the language has changed."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """What waits leads to the questions."""
        spans = status_row(self._info, self._frame, self.size.width - 2 * EDGE).left
        at = EDGE
        for span, following in pairwise(() if callable(spans) else spans):
            if span.text == sym("asks") and at <= event.x < at + _size((span, following)):
                self.post_message(self.InboxRequested())
                return
            at += _size((span,))

    def paint(self, width: int) -> list[Strip]:
        self.paints += 1
        look = look_of(self)
        blank = look.style("text", "ground")
        cells = width - 2 * EDGE
        if cells <= 0:
            return [Strip.blank(width, blank)]
        edge = Segment(" " * EDGE, blank)
        return [Strip([edge, *paint_row(status_row(self._info, self._frame, cells), cells, look), edge], width)]
