"""What vim's commands aim at: where a motion leads from the caret, and what an operator takes on the way.

Nothing is changed here. Remembered are the column that j and k keep, and what f and t have looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nanoherm_tui.editing import vim_motions as motions
from nanoherm_tui.editing.page import Span
from nanoherm_tui.editing.units import after, before
from nanoherm_tui.editing.vim_motions import Goal, How, line_end, line_start, lines
from nanoherm_tui.editing.vim_objects import text_object

if TYPE_CHECKING:
    from nanoherm_tui.editing.page import Page
    from nanoherm_tui.editing.vim_keys import Command

_BACKWARDS: Final = {"f": "F", "F": "f", "t": "T", "T": "t"}
_STAYS: Final = frozenset({"w", "W", "e", "E", "0", "^", "$", "g_", "l", "h"})
"""Motions with which c begins to type even where they lead nowhere, as in an empty line."""
_ALL_OR_NOTHING: Final = frozenset("(){}")
"""Motions that are not made at all where the text has fewer than the count says."""
_WHOLE: Final = 100  # percent


class Aim:
    """Goals of motions and spans of operators; a count that cannot be had makes none, as in vim."""

    def __init__(self) -> None:
        self.column: int | None = None
        """In cells, where j and k want to be."""
        self.reached = 0
        """Where the motion of the operator before has led."""
        self._found: tuple[str, str] | None = None

    # -- what an operator takes --------------------------------------------------------------------------------------

    def span(self, page: Page, command: Command) -> Span | None:
        """What the operator of a command takes; None: the command cannot be done."""
        span = self._span(page, command)
        if span is None or span.lines:
            return span
        if command.operator in "<>":
            return lines(page.text, span.start, max(span.start, span.end - 1))
        if command.operator == "d" and _is_alone(page.text, span) and not command.is_object:
            return lines(page.text, span.start, span.end)
        return span

    def _span(self, page: Page, command: Command) -> Span | None:
        name, text, at, times = command.name, page.text, page.caret, command.times
        self.reached = at
        if name == command.operator:
            goal = motions.by_lines(text, at, times - 1, 0) if times > 1 else Goal(at)
            return lines(text, at, goal.at) if goal is not None else None
        if command.is_object:
            return self._object(text, at, command)
        if command.operator == "c" and name in ("w", "W") and at < len(text) and not text[at].isspace():
            return _change_word(text, at, name == "W", times)
        goal = self.goal(page, command)
        stays = command.operator == "c" and name in _STAYS and (times == 1 or name not in ("$", "g_"))
        if goal is None:
            return Span(at, at) if stays else None
        self.reached = at if name == "_" else goal.at
        if goal.how == "lines":
            return lines(text, at, goal.at)
        start, end = sorted((at, goal.at))
        if goal.how == "inclusive":
            end = after(text, end) if end < line_end(text, end) else end
        elif name in ("w", "W"):
            end = _not_over_the_line(text, start, end)
        elif name in _ALL_OR_NOTHING:
            return _up_to_line(text, start, end)
        return Span(start, end) if end > start or stays else None

    def _object(self, text: str, at: int, command: Command) -> Span | None:
        span = text_object(text, at, command.name, command.times)
        if span is None:
            return None
        self.reached = span.start
        if span.end == span.start and command.operator != "c":
            return None
        return span if span.lines or span.end == span.start else _up_to_line(text, span.start, span.end)

    # -- where motions lead ------------------------------------------------------------------------------------------

    def goal(self, page: Page, command: Command) -> Goal | None:
        """Where a motion leads from the caret; None where it cannot be made."""
        text, at, name, times = page.text, page.caret, command.name, command.times
        if name in ("j", "k", "+", "-", "_"):
            return self._vertical(text, at, name, times)
        if name in ("G", "gg"):
            last = text.count("\n") + 1
            return motions.to_line(text, command.count or (last if name == "G" else 1))
        if name in ("f", "F", "t", "T", ";", ","):
            return self._find(text, at, command)
        if name == "%":
            return _percent(text, at, command.count)
        if name == "$":
            self.column = motions.END
            down = (
                motions.by_lines(text, at, times - 1, motions.END) if times > 1 else Goal(motions.last_unit(text, at))
            )
            return Goal(down.at, "inclusive") if down is not None else None
        if name == "0":
            return Goal(line_start(text, at))
        if name == "^":
            return Goal(motions.first_word(text, at))
        if name == "g_":
            down = motions.by_lines(text, at, times - 1, 0) if times > 1 else Goal(at)
            return Goal(motions.last_word(text, down.at), "inclusive") if down is not None else None
        return _repeated(text, at, name, times)

    def _vertical(self, text: str, at: int, name: str, times: int) -> Goal | None:
        if name in ("j", "k"):
            if self.column is None:
                self.column = motions.cells(text, at)
            return motions.by_lines(text, at, times if name == "j" else -times, self.column)
        steps = -times if name == "-" else times - (name == "_")
        goal = motions.by_lines(text, at, steps, 0) if steps else Goal(at)
        return Goal(motions.first_word(text, goal.at), "lines") if goal is not None else None

    def _find(self, text: str, at: int, command: Command) -> Goal | None:
        again = command.name in (";", ",")
        if not again:
            self._found = (command.name, command.argument)
        if self._found is None:
            return None
        name, wanted = self._found
        if command.name == ",":
            name = _BACKWARDS[name]
        on, over = name in "ft", again and command.times == 1
        place = motions.find(text, at, wanted, command.times, on=on, till=name in "tT", over=over)
        return Goal(place, "inclusive" if on else "exclusive") if place is not None else None


def _percent(text: str, at: int, count: int) -> Goal | None:
    """%: the partner of a bracket; with a count the line at so many percent of the text."""
    if count:
        rows = text.count("\n") + 1
        return motions.to_line(text, (rows * count + _WHOLE - 1) // _WHOLE) if count <= _WHOLE else None
    place = motions.match_bracket(text, at)
    return Goal(place, "inclusive") if place is not None else None


def _repeated(text: str, at: int, name: str, times: int) -> Goal | None:
    how: How = "inclusive" if name in ("e", "E", "ge", "gE") else "exclusive"
    place = at
    for _ in range(times):
        to = _once(text, place, name)
        if to == place:
            if name in _ALL_OR_NOTHING:
                return None
            break
        place = to
    return Goal(place, how) if place != at else None


def _once(text: str, at: int, name: str) -> int:
    big = name in ("W", "B", "E", "gE")
    match name:
        case "h":
            return before(text, at) if at > line_start(text, at) else at
        case "l":
            return after(text, at) if at < line_end(text, at) else at
        case "w" | "W":
            return motions.next_word(text, at, big)
        case "b" | "B":
            return motions.word_back(text, at, big)
        case "e" | "E":
            return motions.word_end(text, at, big)
        case "ge" | "gE":
            return motions.word_end_back(text, at, big)
        case ")":
            return motions.next_sentence(text, at)
        case "(":
            return motions.sentence_back(text, at)
        case "}":
            return motions.next_paragraph(text, at)
        case _:
            return motions.paragraph_back(text, at)


def _change_word(text: str, at: int, big: bool, times: int) -> Span:
    """cw changes to the end of the word, not to the next one."""
    end = at
    for step in range(times):
        behind = after(text, end)
        alone = step == 0 and (
            behind >= len(text) or motions.class_of(text, behind, big) != motions.class_of(text, end, big)
        )
        end = end if alone else motions.word_end(text, end, big)
    return Span(at, after(text, end))


def _not_over_the_line(text: str, start: int, end: int) -> int:
    """dw takes no line end behind the last word that it takes."""
    if text.find("\n", start, end) < 0:
        return end
    back = end
    while back > start and text[back - 1].isspace():
        back -= 1
    return min(line_end(text, max(back, start)), end)


def _up_to_line(text: str, start: int, end: int) -> Span | None:
    """What ends where a line begins ends with the line before; from a line's first word on it is whole lines."""
    if end > start and end == line_start(text, end) and line_start(text, start) != end:
        end -= 1
        if start <= motions.first_word(text, start):
            return lines(text, start, end)
    return Span(start, end) if end > start else None


def _is_alone(text: str, span: Span) -> bool:
    """Of several lines, with nothing but blanks beside it in its first and its last: d takes the lines then."""
    return (
        text.find("\n", span.start, span.end) >= 0
        and span.start <= motions.first_word(text, span.start)
        and not text[span.end : line_end(text, span.end)].strip()
    )
