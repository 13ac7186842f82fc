"""What a search has found: the hits under their sessions' titles, and the lines around the one the cursor is on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from pathlib import PurePath
from typing import Final

from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.grouped import GroupedList, Heading
from nanoherm_tui.strips import Painted, led, look_of, marked, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import age, fit, one_line, visible, width

WITH_SPEAKER: Final = 50
"""Columns below which a row has no room to say who spoke, nor the first one for all figures."""
_SPEAKER: Final = 12  # cells, as on a tool card
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
    model: str = ""
    """The session's."""
    around: str = ""
    """The lines around the first hit."""
    around_marks: tuple[tuple[int, int], ...] = ()
    """The hits in those."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query has found so far."""

    query: str
    """As it was typed."""
    words: str = ""
    """What of it was looked for."""
    hits: tuple[Hit, ...] = ()
    left: int = 0
    """Messages that are not in the index yet."""
    seconds: float = 0.0
    behind: bool = False
    """The index lacks what was written lately, and cannot be brought up to date."""
    problem: str = ""
    """Why there is no answer."""
    total: int = 0
    """How many messages fit; more than `hits` where not all are shown."""
    is_more: bool = False
    """Or even more than `total`."""


class Around(Painted):
    """Who said it, when and to which model, and the lines around the hit; its height stays the same."""

    _hit: Hit | None = None

    def show(self, hit: Hit | None) -> None:
        if hit != self._hit:
            self._hit = hit
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(3, min(7, self.app.size.height // 7))

    def paint(self, width: int) -> list[Strip]:
        look, hit = look_of(self), self._hit
        words, muted = look.style("text", "surface"), look.style("muted", "surface")
        room = self.get_content_height(self.size, self.size, width)
        rows: list[Strip] = []
        if hit is not None:
            when = datetime.fromtimestamp(hit.created).strftime("%Y-%m-%d %H:%M") if hit.created else ""
            about = "   ".join(filter(None, (spoken_by(hit), when, one_line(visible(hit.model)))))
            rows.append(row(width, [("  ", words), (about, muted)], words))
            found = look.style("accent", "surface", bold=True)
            for text, marks in lines_around(hit, room - 1, width - 2):
                typed = frozenset(n for first, last in marks for n in range(first, last))
                rows.append(row(width, [("  ", words), *marked(text, typed, words, found)], words))
        return rows + [row(width, [], words)] * (room - len(rows))


def lines_around(hit: Hit, rows: int, cells: int) -> list[tuple[str, list[tuple[int, int]]]]:
    """At most `rows` of the lines around a hit, its own among them, each with the marks in it."""
    lines: list[tuple[str, list[tuple[int, int]]]] = []
    start = 0
    for line in hit.around.split("\n"):
        end = start + len(line)
        marks = [(max(first, start) - start, min(last, end) - start)
                 for first, last in hit.around_marks if first < end and last > start]  # fmt: skip
        lines.append(in_view(line, marks, cells))
        start = end + 1
    while len(lines) > 1 and not lines[-1][0].strip():
        lines.pop()
    while len(lines) > 1 and not lines[0][0].strip():
        lines.pop(0)
    own = next((n for n, (_, marks) in enumerate(lines) if marks), 0)
    first = max(0, min(own - (rows - 1) // 2, len(lines) - rows))
    return lines[first : first + rows]


class SearchList(GroupedList[list[Hit], Hit]):
    """The hits under their sessions' titles, the best session first; `around` shows the lines around one."""

    DEFAULT_CSS = "SearchList { height: 1fr; }"

    class Picked(Message):
        """A hit was clicked."""

        def __init__(self, hit: Hit) -> None:
            super().__init__()
            self.hit = hit

    def __init__(self, around: Around) -> None:
        super().__init__("search-list")
        self._around = around

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
        self._around.show(self.row)

    def move(self, step: int) -> None:
        super().move(step)
        self._around.show(self.row)

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
        return row(cells, left, words, [(age(time.time() - newest), muted)])

    def draw_row(self, line: Hit, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        start = led(look, here, words)
        room = cells - 2
        if cells >= WITH_SPEAKER:
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
