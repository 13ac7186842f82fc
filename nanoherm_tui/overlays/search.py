"""The search through all sessions: what is typed above, and below the hits under the sessions they are in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, LineField, Overlay
from nanoherm_tui.overlays.grouped import GroupedList, Heading
from nanoherm_tui.overlays.palette import PaletteCount
from nanoherm_tui.panes.draft import DraftPrompt
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, marked, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import age, fit, one_line, width

_PAGE: Final = 10
_SPEAKER: Final = 12  # cells, as on a tool card
_WITH_SPEAKER: Final = 50  # columns below which a row has no room to say who spoke, nor the first one for all figures
_CUT: Final = "\u22ef"  # how the core marks a passage's cut ends
_SPOKEN: Final = frozenset({"user", "assistant", "thought", "summary", "title"})


@dataclass(frozen=True, slots=True)
class Hit:
    """A message, or a session's title, in which everything stands."""

    session: str
    """Its id."""
    title: str
    folder: str
    message: str
    """Its id; empty: the title is what was found."""
    call: str
    """Id of the call whose card shows it; empty: none."""
    speaker: str
    """user, assistant, thought, summary, title, or the name of a tool."""
    created: float
    """Seconds since the epoch."""
    text: str
    """The passage around the hit on one row."""
    marks: tuple[tuple[int, int], ...]
    """The hits in it: (first character, end)."""
    found: str
    """The first of them as it is written there."""
    by_agent: bool = False
    """The session is a sub-agent's."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query has found so far."""

    query: str
    here: bool
    """In the workspace alone."""
    hits: tuple[Hit, ...] = ()
    left: int = 0
    """Messages that are not in the index yet."""
    seconds: float = 0.0
    behind: bool = False
    """The index lacks what was written lately, and cannot be brought up to date."""
    problem: str = ""
    """Why there is no answer."""


class SearchList(GroupedList[list[Hit], Hit]):
    """The hits under their sessions' titles, the best session first."""

    DEFAULT_CSS = "SearchList { height: 1fr; }"

    class Picked(Message):
        """A hit was clicked."""

        def __init__(self, hit: Hit) -> None:
            super().__init__()
            self.hit = hit

    def __init__(self) -> None:
        super().__init__("search-list")

    def show(self, hits: Sequence[Hit], words: str) -> None:
        """Show `hits`; `words` stand there when there are none. The cursor stays on the hit it is on."""
        stays = _name(self.row) if self.row is not None and self.at else None
        lines: list[Heading[list[Hit]] | Hit] = []
        for group in in_sessions(hits):
            lines += [Heading()] if lines else []
            lines += [Heading(group), *group]
        self.put(lines, words)
        names = [_name(hit) for _, hit in self._rows]
        self.at = names.index(stays) if stays in names else 0

    def clicked(self, line: Hit) -> None:
        self.post_message(self.Picked(line))

    def draw_heading(self, of: list[Hit] | None, cells: int) -> Strip:
        look = look_of(self)
        words, muted = look.style("text", "surface"), look.style("muted", "surface")
        if of is None:
            return row(cells, [], words)
        title = one_line(of[0].title) or t("sessions.untitled")
        folder = one_line(PurePath(of[0].folder).name)
        whose = f"  {t('search.by_agent')}" if of[0].by_agent else ""
        left = [("  ", words), (title, look.style("text", "surface", bold=True)), (f"{whose}  {folder}", muted)]
        newest = max(hit.created for hit in of)
        return row(cells, left, words, [(age(time.time() - newest), muted), (" ", words)])

    def draw_row(self, line: Hit, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        start: list[Part] = [(sym("bar"), look.mark("accent", ground)) if here else (" ", words), (" ", words)]
        room = cells - 2
        if cells >= _WITH_SPEAKER:
            start.append((f"{fit(spoken_by(line), _SPEAKER)} ", muted))
            room -= _SPEAKER + 1
        text, marks = in_view(line.text, line.marks, room)
        typed = frozenset(n for first, last in marks for n in range(first, last))
        return row(cells, [*start, *marked(text, typed, words, look.style("accent", ground, bold=True))], words)


def in_sessions(hits: Sequence[Hit]) -> list[list[Hit]]:
    """Hits by session, the session with the best first, in each the best first."""
    order = {id_: n for n, id_ in enumerate(dict.fromkeys(hit.session for hit in hits))}
    by_session = sorted(hits, key=lambda hit: order[hit.session])
    return [list(group) for _, group in groupby(by_session, key=lambda hit: hit.session)]


def spoken_by(hit: Hit) -> str:
    """Who said it, as the transcript calls them."""
    return t(f"search.{hit.speaker}") if hit.speaker in _SPOKEN else one_line(hit.speaker)


def in_view(snippet: str, marks: Sequence[tuple[int, int]], room: int) -> tuple[str, list[tuple[int, int]]]:
    """A passage, its beginning cut so that its first hit can be seen in `room` cells, and where the marks are then."""
    text, ranges = snippet.replace(_CUT, sym("cut")), list(marks)
    if not ranges or width(text[: ranges[0][1]]) <= room * 2 // 3:
        return text, ranges
    start = ranges[0][0]
    while start and width(text[start - 1 : ranges[0][0]]) <= room // 3:
        start -= 1
    shift = len(sym("cut")) - start
    return sym("cut") + text[start:], [(first + shift, last + shift) for first, last in ranges]


def _name(hit: Hit) -> tuple[str, str, str]:
    return hit.session, hit.message, hit.call


class _Foot(Painted):
    here = False

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        scope = t("search.everywhere" if self.here else "search.here")
        keys = hints(look, [("Enter", t("search.jump")), ("Tab", scope), ("Esc", t("search.close"))])
        return flow(width, keys, look.style("text", "surface"), indent=2)


class SearchScreen(Overlay[Hit | None]):
    """Gives the hit to go to. `on_ask` is called with a query and whether it is for the workspace alone.

    `show` brings the answer.
    """

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/palette.tcss", "../css/search.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,ctrl+p", "move(-1)", show=False),
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("pageup", f"move(-{_PAGE})", show=False),
        Binding("pagedown", f"move({_PAGE})", show=False),
        Binding("enter", "choose", show=False),
        Binding("tab", "scope", show=False, priority=True),
    ]

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self.on_ask: Callable[[str, bool], None] = lambda query, here: None
        self._start = query
        self._here = False
        self._asked: tuple[str, bool] | None = None
        self.answer: Answer | None = None
        """What is shown."""
        self._goes = False  # Enter was pressed before the answer came
        self._field = LineField(id="palette-field")
        self._list = SearchList()
        self._count = PaletteCount(id="search-count")
        self._foot = _Foot(id="palette-foot")

    def compose(self) -> ComposeResult:
        with Vertical(id="overlay-halo"), Vertical(id="overlay-box"):
            with Horizontal(id="palette-line"):
                prompt = DraftPrompt()
                prompt.lit = True
                yield prompt
                yield self._field
                yield self._count
            yield self._list
            yield self._foot

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.set_class(event.size.width < _WITH_SPEAKER, "-narrow")
        if self.answer is not None:
            self._count.words = self._counted(self.answer)
            self._count.refresh()

    def on_mount(self) -> None:
        super().on_mount()
        self._field.placeholder = Content(t("search.ask"))
        self._field.focus()
        if self._start:
            self._field.type_in(self._start)
        self._ask()

    def show(self, answer: Answer) -> None:
        """What was found; an answer to something else than what stands there now is late and passed over."""
        if self._asked != (answer.query, answer.here):
            return
        self.answer = answer
        self._list.show(answer.hits, self._words(answer))
        self._count.words = self._counted(answer)
        self._count.refresh()
        if self._goes and (answer.hits or not answer.left):
            self._goes = False
            self.action_choose()

    def _words(self, answer: Answer) -> str:
        if answer.problem or not answer.query.strip():
            return answer.problem
        if answer.left:
            return t("search.indexing")
        if answer.behind:
            return t("search.none_behind", query=one_line(answer.query))
        key = "search.none_here" if answer.here else "search.none"
        return t(key, query=one_line(answer.query))

    def _counted(self, answer: Answer) -> str:
        hits, sessions = len(answer.hits), len({hit.session for hit in answer.hits})
        if self.size.width < _WITH_SPEAKER:
            return str(hits or "")
        if answer.left:
            return t("search.left", n=answer.left)
        if not hits:
            return ""
        if answer.behind:
            return t("search.count_behind", n=hits)
        key = "search.count_one" if hits == 1 else "search.count_here" if sessions == 1 else "search.count"
        return t(key, n=hits, sessions=sessions, ms=max(1, round(1000 * answer.seconds)))

    def _ask(self) -> None:
        wanted = (self._field.text, self._here)
        if wanted != self._asked:
            self._asked, self._goes = wanted, False
            self.on_ask(*wanted)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._ask()

    def action_move(self, step: int) -> None:
        self._list.move(step)

    def action_scope(self) -> None:
        """This workspace alone, or all."""
        self._here = self._foot.here = not self._here
        self._foot.refresh(layout=True)
        self._ask()

    def action_choose(self) -> None:
        self._ask()  # keys of one read come before the change they made is told
        answer = self.answer
        if answer is None or self._asked != (answer.query, answer.here):
            self._goes = True
        elif self._list.row is not None:
            self.dismiss(self._list.row)

    def on_search_list_picked(self, message: SearchList.Picked) -> None:
        message.stop()
        self.dismiss(message.hit)

    def on_mouse_scroll_down(self) -> None:
        self._list.move(1)

    def on_mouse_scroll_up(self) -> None:
        self._list.move(-1)
