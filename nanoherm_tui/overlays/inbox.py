"""The questions of all sessions and their sub-agents in one list. It leads to them; none is approved here.

A refusal counts after a while without keys, as every answer does; all of a session's take the key twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.css.scalar import Scalar
from textual.geometry import Size
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.grouped import MOVES, PAGE, Detail, FollowedList, Heading
from nanoherm_tui.overlays.listed import ListScreen
from nanoherm_tui.overlays.question import time_left, title
from nanoherm_tui.strips import Painted, Part, flow, hints, led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, cut, one_line, shorten_home, visible, wrap
from nanoherm_tui.words.rules import rule_words

if TYPE_CHECKING:
    from agent_core.ports.asking import Question
    from nanoherm_tui.overlays.frame import CssPath

_TICK: Final = 0.1  # seconds between two looks at the questions and the clocks
_AROUND: Final = 8  # rows of blanks around the list and its panel, and two of the foot


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, and whose it is."""

    session: str
    title: str
    """The session's."""
    question: Question
    deadline: float
    """Seconds since the epoch."""

    @property
    def may_refuse(self) -> bool:
        return "refuse" in self.question.decisions


@dataclass(frozen=True, slots=True)
class _Line:
    asked: Asked
    left: str


def _subject(question: Question) -> str:
    return question.command or question.url or question.query or question.path or question.tool


def about(question: Question) -> tuple[str, ...]:
    """What is asked, in as many lines as it has: more than the list's row, less than its panel shows."""
    what = _subject(question)
    paths = tuple(visible(diff.path).replace("\n", "\\n") for diff in question.diffs)
    text = clean(question.text).split("\n") if not (what or paths) else []
    where = shorten_home(visible(question.cwd), str(Path.home())) if question.cwd else ""
    rule = clean(rule_words(question.rule)) if question.rule else ""
    words = visible(what).split("\n") if question.command else [visible(what).replace("\n", "\\n")]
    return tuple(filter(None, (*words, *paths, *text, "   ".join(filter(None, (where, rule))))))


class InboxList(FollowedList[str, _Line]):
    DEFAULT_CSS = "InboxList { height: 1fr; }"

    def __init__(self, moved: Callable[[], None], opened: Callable[[Asked], None]) -> None:
        super().__init__("inbox-list", moved)
        self._opened = opened

    def show(self, asked: Sequence[Asked], now: float) -> None:
        """Show these, session by session; the cursor stays on its question, or else on the place where that was."""
        here = self.row
        lines: list[Heading[str] | _Line] = []
        rows: list[Asked] = []
        for _, of_session in groupby(asked, key=lambda one: one.session):
            group = list(of_session)
            lines += [Heading()] if lines and self.app.size.height >= limits.SHORT else []
            lines.append(Heading(group[0].title))
            lines += [_Line(one, time_left(one.deadline, now)) for one in group]
            rows += group
        if lines == self._lines and lines:
            return
        at = self.at
        if here is not None:
            at = next((n for n, one in enumerate(rows) if one.question.id == here.asked.question.id), at)
        self.put_at(lines, at, t("app.nothing_asked"))

    def clicked(self, line: _Line) -> None:
        super().clicked(line)
        self._opened(line.asked)

    def draw_row(self, line: _Line, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        question = line.asked.question
        left: list[Part] = [
            *led(look, here, words),
            (f"{sym('asks')} ", look.mark("warn", ground, bold=True)),
        ]
        if question.agent:
            left.append((f"{one_line(question.agent)}  ", muted))
        left += [(title(question), words), (f"  {one_line(visible(_subject(question)))}", muted)]
        return row(cells, left, words, [(line.left, muted)])


class _Detail(Detail):
    """On a short screen one row, and the list has the others: Enter leads to all there is to know."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1 if self.app.size.height < limits.SHORT else super().get_content_height(container, viewport, width)


class _Foot(Painted):
    asked: Asked | None = None
    of_session = 0
    """How many questions of the same session can be refused."""
    armed = False
    sure = False
    """The next press refuses all of them."""
    more = False

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        if self.sure and self.asked is not None:
            words = t("inbox.sure", key="N", n=self.of_session, title=cut(self.asked.title, max(8, width // 3)))
            warn, fill = look.style("warn", "surface"), look.style("text", "surface")
            return [row(width, [("  ", fill), (line, warn)], fill) for line in wrap(words, max(1, width - 2))]
        keys: list[tuple[str, str]] = []
        refusing: list[str] = []
        if self.asked is not None:
            keys = [(key("enter"), t("inbox.go"))]
            refusing = ["n"] if self.asked.may_refuse else []
            refusing += ["N"] if self.of_session > 1 else []
            every = "inbox.refuse_every" if self.app.size.height < limits.SHORT else "inbox.refuse_all"
            keys += [(one, t("inbox.refuse" if one == "n" else every)) for one in refusing]
        keys.append((key("escape"), t("inbox.close")))
        keys += [(key("pagedown"), t("permissions.more"))] if self.more else []
        items = hints(look, keys)
        for item in items:
            if item[0][0] in refusing and not self.armed:
                item[0] = (item[0][0], look.style("muted", "surface"))
        return flow(width, items, look.style("text", "surface"), indent=2)


class InboxScreen(ListScreen[Asked | None]):
    """Gives the question to go to. `look` tells what waits now; `refuse` is called with what is refused."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/inbox.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("space", f"move({PAGE})", show=False),
        Binding("enter", "open", show=False),
        Binding("n", "refuse", show=False),
        Binding("N,shift+n", "refuse_all", show=False),
        Binding("q", "close", show=False),
    ]
    _list: InboxList
    _foot: _Foot

    def __init__(self, look: Callable[[], Sequence[Asked]], clock: Callable[[], float]) -> None:
        """`clock`: seconds since the epoch."""
        super().__init__()
        self.refuse: Callable[[Sequence[Asked]], None] = lambda asked: None
        self.arming = Arming()
        self._look, self._clock = look, clock
        self._list = InboxList(self._follow, self._open)
        self._detail = _Detail(id="inbox-detail")
        self._foot = _Foot(id="inbox-foot")
        self._under = ""
        """The question that the cursor is on."""
        self._rows = 0
        """The most lines it has had in this size: an answer makes it no lower, so nothing moves under a hand."""
        self._shown: tuple[Asked | None, int, bool, bool, bool] | None = None

    def on_mount(self) -> None:
        self.arming.asked()
        self.set_interval(_TICK, self._show)

    def on_resize(self, event: events.Resize) -> None:
        self._rows = 0

    def on_key(self, event: events.Key) -> None:
        """Whatever does not refuse: somebody is typing, or looking. It comes here before what it is bound to."""
        if event.character not in ("n", "N"):
            self._foot.sure = False
            self.arming.key()
            self._follow()

    def _show(self) -> None:
        self._list.show(self._look(), self._clock())
        self._fit()
        self._follow()

    def _fit(self) -> None:
        """As tall as what has waited at most, up to what the style sheet allows; a short screen is taken whole."""
        if self.app.size.height < limits.SHORT:
            height = None
        else:
            self._rows = max(self._rows, self._list.count)
            height = Scalar.from_number(self._rows + self._detail.get_content_height(self.size, self.size, 0) + _AROUND)
        halo = self.query_one("#overlay-halo")
        if halo.styles.inline.height != height:
            halo.styles.height = height

    def _follow(self) -> None:
        """The row under the cursor may be another one, and the time for a refusal may have come."""
        line, foot = self._list.row, self._foot
        asked = line.asked if line is not None else None
        under = asked.question.id if asked is not None else ""
        if under != self._under:
            self._under, foot.sure = under, False
            self.arming.asked()  # what was meant for another question must not reach this one
        self._detail.say(about(asked.question) if asked is not None else ())
        of_session = len(self._refusable(asked)) if asked is not None else 0
        now = (asked, of_session, self.arming.armed(draft_empty=True), foot.sure, self._list.has_more)
        if now != self._shown:
            self._shown = now
            foot.asked, foot.of_session, foot.armed, _, foot.more = now
            foot.refresh(layout=True)

    def _refusable(self, asked: Asked) -> list[Asked]:
        return [one for one in self._look() if one.session == asked.session and one.may_refuse]

    def _open(self, asked: Asked) -> None:
        self.dismiss(asked)

    def action_open(self) -> None:
        if self._list.row is not None:
            self._open(self._list.row.asked)

    def action_refuse(self) -> None:
        line = self._list.row
        if self._counts() and line is not None and line.asked.may_refuse:
            self._refuse([line.asked])

    def action_refuse_all(self) -> None:
        line = self._list.row
        if not self._counts() or line is None or not (all_of_it := self._refusable(line.asked)):
            return
        if self._foot.sure:
            self._refuse(all_of_it)
        else:
            self._foot.sure = True
            self.arming.asked()
            self._follow()

    def _counts(self) -> bool:
        """Whether a letter typed now is an answer; one that is not puts it off."""
        if self.arming.armed(draft_empty=True):
            return True
        self.arming.key()
        return False

    def _refuse(self, asked: Sequence[Asked]) -> None:
        self._foot.sure = False
        self.arming.asked()
        self.refuse(asked)
        self._show()
