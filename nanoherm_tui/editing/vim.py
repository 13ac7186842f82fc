"""Vim's keys over a draft: a text, a caret and a key make changes, another caret, and another mode.

Pure: whoever owns the text makes the changes. Left out are registers, marks, macros, searches and `:` commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from agent_core.records import dataclass
from nanoherm_tui.editing import vim_edits
from nanoherm_tui.editing import vim_motions as motions
from nanoherm_tui.editing.page import Change, Page
from nanoherm_tui.editing.units import after, before, snap
from nanoherm_tui.editing.vim_keys import Command, read
from nanoherm_tui.editing.vim_motions import Goal, How, line_end, line_start, on_unit
from nanoherm_tui.editing.vim_objects import Span, text_object

if TYPE_CHECKING:
    from nanoherm_tui.editing.vim_edits import Register

Mode = Literal["insert", "normal", "visual", "visual line"]
Ask = Literal["", "undo", "redo", "history_previous", "history_next"]

_BACKWARDS: Final = {"f": "F", "F": "f", "t": "T", "T": "t"}
_STAYS: Final = frozenset({"w", "W", "e", "E", "0", "^", "$", "g_", "l", "h"})
_REPEATED: Final = frozenset("pPJ~riaIAoO")


@dataclass(frozen=True, slots=True)
class Done:
    """What a key made: changes in their order, then the caret, with what is selected from `anchor` on."""

    changes: tuple[Change, ...]
    caret: int
    anchor: int
    """The caret's own place when nothing is selected."""
    ask: Ask = ""
    """What the owner of the text is to do instead, `times` times."""
    times: int = 1


@dataclass(frozen=True, slots=True)
class _Inserting:
    """Text is being typed: what stands before and behind it, and how often it is to be there in the end."""

    before: str
    behind: str
    times: int = 1
    between: str = ""


class Vim:
    """The mode, and what is remembered from one key to the next."""

    def __init__(self, register: Register) -> None:
        self.mode: Mode = "insert"
        self._register = register
        self._keys: list[str] = []
        self._anchor = 0
        self._caret = 0
        self._shown = (-1, -1)  # caret and anchor as they were last told; others mean that a mouse was there
        self._column: int | None = None  # in cells, where j and k want to be
        self._found: tuple[str, str] | None = None
        self._inserting: _Inserting | None = None
        self._last: Command | None = None
        self._last_text = ""
        self._reached = 0  # where the motion of an operator has led
        self._last_span: tuple[int, bool] | None = None  # how much a command of a selection took

    @property
    def pending(self) -> str:
        """The keys of a command that is not whole yet."""
        return "".join(self._keys)

    @property
    def is_selecting(self) -> bool:
        return self.mode in ("visual", "visual line")

    def begin_anew(self) -> None:
        """Another draft: text is typed."""
        self.mode, self._keys, self._inserting, self._column = "insert", [], None, None

    def leave_selection(self) -> None:
        """What was selected has been changed by something else."""
        if self.is_selecting:
            self.mode = "normal"
        self._keys = []

    def press(self, key: str, text: str, caret: int, anchor: int) -> Done | None:
        """Take a key: a character, or a key's name. None: it is none of vim's, and nothing has happened.

        `anchor`: the selection's other end, `caret` itself when there is none.
        """
        if self.mode == "insert":
            return self._leave_insert(text, caret) if key == "escape" else None
        page = Page(text, self._true_caret(text, caret, anchor))
        if key == "escape":
            return self._escape(page)
        found = read([*self._keys, key], visual=self.is_selecting)
        if found == "more":
            self._keys.append(key)
            return self._told(page)
        begun, self._keys = bool(self._keys), []
        if found == "none":
            return self._told(page) if begun or (len(key) == 1 and key.isprintable()) else None
        vertical = found.name in ("j", "k") and not found.operator
        done = self._do(page, found)
        if not vertical and found.name != "$":
            self._column = None
        return done

    def _true_caret(self, text: str, caret: int, anchor: int) -> int:
        """Where the caret is for vim; what a mouse or another key has selected becomes a selection of vim's."""
        if (caret, anchor) == self._shown and self.is_selecting:
            return self._caret
        if caret != anchor:
            self.mode = "visual"
            self._anchor = anchor if anchor < caret else before(text, anchor)
            return on_unit(text, before(text, caret) if anchor < caret else caret)
        if self.is_selecting:
            self.mode = "normal"
        return on_unit(text, caret)

    def _escape(self, page: Page) -> Done | None:
        if not self._keys and not self.is_selecting:
            return None
        self._keys, self.mode = [], "normal"
        page.caret = on_unit(page.text, page.caret)
        return self._told(page)

    # -- what is shown -----------------------------------------------------------------------------------------------

    def _told(self, page: Page, ask: Ask = "", times: int = 1) -> Done:
        """The caret, and the selection around it: what is under both its ends belongs to it."""
        self._caret = caret = anchor = page.caret
        if self.mode == "visual":
            anchor = self._anchor if self._anchor <= caret else after(page.text, self._anchor)
        elif self.mode == "visual line":
            first, last = sorted((caret, self._anchor))
            ends = line_start(page.text, first), line_end(page.text, last)
            anchor, caret = ends if self._anchor <= caret else ends[::-1]
        self._shown = (caret, anchor)
        return Done(tuple(page.changes), caret, anchor, ask, times)

    # -- commands ----------------------------------------------------------------------------------------------------

    def _do(self, page: Page, command: Command) -> Done:
        name = command.name
        if self.is_selecting:
            return self._do_selected(page, command)
        if name == ".":
            return self._repeat(page, command.count)
        if name == "u" or name == "ctrl+r":
            return self._told(page, "undo" if name == "u" else "redo", command.times)
        if name in ("v", "V"):
            self._anchor, self.mode = page.caret, "visual" if name == "v" else "visual line"
            return self._told(page)
        if not command.operator and name not in _REPEATED:
            return self._go(page, command)
        if self._change(page, command) and command.operator != "y":
            self._last, self._last_text, self._last_span = command, "", None
        return self._told(page)

    def _go(self, page: Page, command: Command) -> Done:
        goal = self._goal(page, command)
        if goal is None:
            if command.name in ("j", "k") and command.times == 1:
                return self._told(page, "history_next" if command.name == "j" else "history_previous")
            return self._told(page)
        page.caret = on_unit(page.text, goal.at)
        return self._told(page)

    def _change(self, page: Page, command: Command) -> bool:
        """Do what changes the text or keeps a part of it; False: there is nothing to do it to."""
        if command.operator:
            span = self._span(page, command)
            if span is None:
                return False
            self._operate(page, command, span)
            return True
        name, times = command.name, command.times
        if name in ("p", "P"):
            vim_edits.put(page, self._register, times, behind=name == "p")
        elif name == "J":
            vim_edits.join(page, times)
        elif name in ("~", "r"):
            return self._change_units(page, command)
        else:
            self._open(page, name, times)
        return True

    def _change_units(self, page: Page, command: Command) -> bool:
        """~ and r: as many units of the line as the count says; r wants that many."""
        end, limit = page.caret, line_end(page.text, page.caret)
        for _ in range(command.times):
            if end >= limit:
                if command.name == "r":
                    return False
                break
            end = after(page.text, end)
        start = page.caret
        if start == end:
            return False
        behind = len(page.text) - end
        if command.name == "~":
            vim_edits.recase(page, Span(start, end), "swap")
            page.caret = on_unit(page.text, len(page.text) - behind)
        else:
            vim_edits.replace(page, Span(start, end), command.argument)
            page.caret = before(page.text, len(page.text) - behind)
        return True

    def _open(self, page: Page, name: str, times: int) -> None:
        """i a I A o O: where text is typed from now on."""
        text, at = page.text, page.caret
        between = ""
        if name == "a":
            at = after(text, at) if at < line_end(text, at) else at
        elif name == "A":
            at = line_end(text, at)
        elif name == "I":
            at = motions.first_word(text, at)
        elif name == "o":
            at, between = line_end(text, at), "\n"
            page.put(at, at, "\n")
            at += 1
        elif name == "O":
            at, between = line_start(text, at), "\n"
            page.put(at, at, "\n")
        page.caret = at
        self._begin_insert(page, times, between)

    def _operate(self, page: Page, command: Command, span: Span, steps: int = 1) -> None:
        at = page.caret
        vim_edits.operate(page, command.operator, span, self._register, steps)
        if command.operator == "c":
            self._begin_insert(page)
        elif command.operator == "y":
            page.caret = on_unit(page.text, min(at, self._reached) if span.lines else span.start)

    # -- where motions lead ------------------------------------------------------------------------------------------

    def _span(self, page: Page, command: Command) -> Span | None:
        """What the operator of a command takes."""
        name, text, at = command.name, page.text, page.caret
        if name == command.operator:
            goal = motions.by_lines(text, at, command.times - 1, 0) if command.times > 1 else None
            self._reached = at
            return self._lines(text, at, goal.at if goal is not None else at)
        if len(name) == 2 and name[0] in "ia":
            span = text_object(text, at, name[0] == "a", name[1], command.times)
            self._reached = span.start if span is not None else at
            return span
        if command.operator == "c" and name in ("w", "W") and at < len(text) and not text[at].isspace():
            return self._change_word(text, at, name == "W", command.times)
        goal = self._goal(page, command)
        if goal is None:  # an empty line can be changed by what does not move on it
            return Span(at, at) if command.operator == "c" and name in _STAYS else None
        self._reached = at if name == "_" else goal.at
        if goal.how == "lines":
            return self._lines(text, at, goal.at)
        start, end = sorted((at, goal.at))
        if goal.how == "inclusive":
            end = after(text, end) if end < line_end(text, end) else end
        elif name in ("w", "W"):
            end = self._not_over_the_line(text, start, end)
        elif name in "(){}" and end > start and end == line_start(text, end) and line_start(text, start) != end:
            end -= 1  # it ends with the line before; from a line's first word on it is whole lines
            if start <= motions.first_word(text, start):
                return self._lines(text, start, end)
        return Span(start, end) if end > start or (command.operator == "c" and name in _STAYS) else None

    @staticmethod
    def _change_word(text: str, at: int, big: bool, times: int) -> Span:
        """cw changes to the end of the word, not to the next one."""
        end = at
        for step in range(times):
            first = step == 0
            behind = after(text, end)
            alone = first and (
                behind >= len(text) or motions.class_of(text, behind, big) != motions.class_of(text, end, big)
            )
            end = end if alone else motions.word_end(text, end, big)
        return Span(at, after(text, end))

    @staticmethod
    def _not_over_the_line(text: str, start: int, end: int) -> int:
        """dw takes no line end behind the last word that it takes."""
        if text.find("\n", start, end) < 0:
            return end
        back = end
        while back > start and text[back - 1].isspace():
            back -= 1
        stop = line_end(text, max(back, start))
        return min(stop, end)

    @staticmethod
    def _lines(text: str, one: int, other: int) -> Span:
        first, last = sorted((one, other))
        end = line_end(text, last)
        return Span(line_start(text, first), min(end + 1, len(text)), True, end == len(text))

    def _goal(self, page: Page, command: Command) -> Goal | None:
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
            place = motions.match_bracket(text, at)
            return Goal(place, "inclusive") if place is not None else None
        if name == "$":
            self._column = motions.END
            down = (
                motions.by_lines(text, at, times - 1, motions.END) if times > 1 else Goal(motions.last_unit(text, at))
            )
            return Goal(down.at, "inclusive") if down is not None else None
        if name == "0":
            return Goal(line_start(text, at))
        if name == "^":
            return Goal(motions.first_word(text, at))
        if name == "g_":
            down = motions.by_lines(text, at, times - 1, 0) if times > 1 else None
            at = down.at if down is not None else at
            end = line_end(text, at)
            while end > line_start(text, at) and text[end - 1].isspace():
                end -= 1
            return Goal(before(text, end) if end > line_start(text, at) else end, "inclusive")
        return self._repeated(text, at, name, times)

    def _repeated(self, text: str, at: int, name: str, times: int) -> Goal | None:
        how: How = "inclusive" if name in ("e", "E", "ge", "gE") else "exclusive"
        big = name in ("W", "B", "E", "gE")
        place = at
        for _ in range(times):
            match name:
                case "h":
                    to = before(text, place) if place > line_start(text, place) else place
                case "l":
                    to = after(text, place) if place < line_end(text, place) else place
                case "w" | "W":
                    to = motions.next_word(text, place, big)
                case "b" | "B":
                    to = motions.word_back(text, place, big)
                case "e" | "E":
                    to = motions.word_end(text, place, big)
                case "ge" | "gE":
                    to = motions.word_end_back(text, place, big)
                case ")":
                    to = motions.next_sentence(text, place)
                case "(":
                    to = motions.sentence_back(text, place)
                case "}":
                    to = motions.next_paragraph(text, place)
                case _:
                    to = motions.paragraph_back(text, place)
            if to == place:
                break
            place = to
        return Goal(place, how) if place != at else None

    def _vertical(self, text: str, at: int, name: str, times: int) -> Goal | None:
        if name in ("j", "k"):
            if self._column is None:
                self._column = motions.cells(text, at)
            return motions.by_lines(text, at, times if name == "j" else -times, self._column)
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
        on = name in "ft"
        place = motions.find(text, at, wanted, command.times, on=on, till=name in "tT", again=again)
        return Goal(place, "inclusive" if on else "exclusive") if place is not None else None

    # -- selections --------------------------------------------------------------------------------------------------

    def _do_selected(self, page: Page, command: Command) -> Done:
        name, text = command.name, page.text
        if name in ("v", "V"):
            mode: Mode = "visual" if name == "v" else "visual line"
            self.mode = "normal" if self.mode == mode else mode
            return self._told(page)
        if name == "o":
            self._anchor, page.caret = page.caret, self._anchor
            return self._told(page)
        if len(name) == 2 and name[0] in "ia":
            span = text_object(text, page.caret, name[0] == "a", name[1], command.times)
            if span is not None and span.end > span.start:
                self._anchor, page.caret = span.start, before(text, span.end)
                if span.lines:
                    self.mode = "visual line"
            return self._told(page)
        operator = command.operator or {
            "x": "d",
            "X": "d",
            "s": "c",
            "S": "c",
            "C": "c",
            "D": "d",
            "R": "c",
            "Y": "y",
        }.get(name, "")
        if not operator and name not in ("p", "P", "J", "~", "u", "U", "r"):
            goal = self._goal(page, command)
            if goal is not None:
                page.caret = on_unit(text, goal.at)
            return self._told(page)
        first, last = sorted((page.caret, self._anchor))
        whole = self.mode == "visual line" or name in ("X", "S", "C", "D", "R", "Y") or operator in ("<", ">")
        span = self._lines(text, first, last) if whole else Span(first, self._behind(text, last))
        self.mode = "normal"
        self._last, self._last_text = Command(name, operator, command.argument, command.count), ""
        self._last_span = (text.count("\n", first, last) if whole else self._units(text, span), whole)
        self._on_span(page, self._last, span)
        return self._told(page)

    @staticmethod
    def _behind(text: str, at: int) -> int:
        return min(at + 1, len(text)) if at == line_end(text, at) else after(text, at)

    @staticmethod
    def _units(text: str, span: Span) -> int:
        count, at = 0, span.start
        while at < span.end:
            count, at = count + 1, after(text, at)
        return count

    def _on_span(self, page: Page, command: Command, span: Span) -> None:
        """Do to a selection what a command says."""
        name = command.name
        page.caret = span.start if not span.lines else page.caret
        if command.operator:
            self._reached = span.start
            self._operate(page, command, span, command.times)
        elif name in ("p", "P"):
            self._put_over(page, span, command.times)
        elif name == "J":
            page.caret = span.start
            vim_edits.join(page, max(2, page.text.count("\n", span.start, max(span.start, span.end - 1)) + 1))
        elif name == "r":
            vim_edits.replace(page, span, command.argument)
            page.caret = span.start
        else:
            vim_edits.recase(page, span, "swap" if name == "~" else "lower" if name == "u" else "upper")
            page.caret = span.start

    def _put_over(self, page: Page, span: Span, times: int) -> None:
        """p on a selection: what was put comes in its place, and it is kept instead."""
        kill = self._register.current
        if kill is None:
            return
        text = kill.text * times
        if span.lines:
            text = text.removesuffix("\n") + "\n" * (not span.last)
        elif kill.lines:
            text = "\n" + text
        vim_edits.keep(page, span, self._register)
        page.put(span.start, span.end, text)
        page.caret = on_unit(page.text, span.start + (0 if span.lines else max(0, len(text) - 1)))

    # -- typing, and doing it again ----------------------------------------------------------------------------------

    def _begin_insert(self, page: Page, times: int = 1, between: str = "") -> None:
        self.mode = "insert"
        self._inserting = _Inserting(page.text[: page.caret], page.text[page.caret :], times, between)

    def _leave_insert(self, text: str, caret: int) -> Done:
        """Esc: what was typed is known now, and is written as often as the count said."""
        page, typed = Page(text, caret), ""
        begun, self._inserting = self._inserting, None
        if begun is not None and text.startswith(begun.before) and text.endswith(begun.behind):
            typed = text[len(begun.before) : max(len(begun.before), len(text) - len(begun.behind))]
        if typed and begun is not None and begun.times > 1:
            more = (begun.between + typed) * (begun.times - 1)
            end = len(text) - len(begun.behind)
            page.put(end, end, more)
            page.caret = end + len(more)
        self._last_text = typed
        self._end_insert(page)
        return self._told(page)

    def _end_insert(self, page: Page) -> None:
        self.mode = "normal"
        if page.caret > line_start(page.text, page.caret):
            page.caret = before(page.text, page.caret)
        page.caret = snap(page.text, page.caret)

    def _repeat(self, page: Page, count: int) -> Done:
        """`.`: the last change again, with what was typed in it; a count takes the place of its own."""
        if self._last is None:
            return self._told(page)
        last = self._last
        command = Command(last.name, last.operator, last.argument, count or last.count)
        typed, span = self._last_text, self._last_span
        if span is not None:
            self._on_span(page, command, self._span_again(page, *span))
        elif not self._change(page, command):
            return self._told(page)
        if self.mode == "insert":
            begun, self._inserting = self._inserting, None
            times = begun.times if begun is not None else 1
            more = ((begun.between if begun is not None else "") + typed) * (times - 1)
            page.put(page.caret, page.caret, typed + more)
            page.caret += len(typed + more)
            self._end_insert(page)
        self._last = command
        return self._told(page)

    def _span_again(self, page: Page, size: int, lines: bool) -> Span:
        """As much from the caret on as a selection had."""
        end = page.caret
        for _ in range(size):
            end = min(line_end(page.text, end) + 1, len(page.text)) if lines else self._behind(page.text, end)
        return self._lines(page.text, page.caret, end) if lines else Span(page.caret, end)
