"""Vim's keys over a draft: a text, a caret and a key make changes, another caret, and another mode.

Pure: whoever owns the text makes the changes. Left out are registers, marks, macros, searches and `:` commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from agent_core.records import dataclass
from nanoherm_tui.editing import vim_edits
from nanoherm_tui.editing import vim_motions as motions
from nanoherm_tui.editing.page import Change, Page, Span
from nanoherm_tui.editing.units import after, before, snap
from nanoherm_tui.editing.vim_aim import Aim
from nanoherm_tui.editing.vim_keys import Command, read
from nanoherm_tui.editing.vim_motions import beyond, line_end, line_start, lines, on_unit
from nanoherm_tui.editing.vim_objects import text_object

if TYPE_CHECKING:
    from nanoherm_tui.editing.vim_edits import Register

Mode = Literal["insert", "normal", "visual", "visual line"]
Ask = Literal["", "undo", "redo", "history_previous", "history_next"]

_REPEATED: Final = frozenset("pPJ~riaIAoO")
_ON_SELECTION: Final = {"x": "d", "X": "d", "s": "c", "S": "c", "C": "c", "D": "d", "R": "c", "Y": "y"}
_EDITS_SELECTION: Final = frozenset("pPJ~uUr")


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
        self._aim = Aim()
        self._inserting: _Inserting | None = None
        self._last: Command | None = None
        self._last_text = ""
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
        self.mode, self._keys, self._inserting, self._aim.column = "insert", [], None, None

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
            self._aim.column = None
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
        goal = self._aim.goal(page, command)
        if goal is None:
            if command.name in ("j", "k") and command.times == 1:
                return self._told(page, "history_next" if command.name == "j" else "history_previous")
            return self._told(page)
        page.caret = on_unit(page.text, goal.at)
        return self._told(page)

    def _change(self, page: Page, command: Command) -> bool:
        """Do what changes the text or keeps a part of it; False: there is nothing to do it to."""
        if command.operator:
            span = self._aim.span(page, command)
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
            page.caret = on_unit(page.text, min(at, self._aim.reached) if span.lines else span.start)

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
        if command.is_object:
            self._select_object(page, command)
            return self._told(page)
        operator = command.operator or _ON_SELECTION.get(name, "")
        if not operator and name not in _EDITS_SELECTION:
            goal = self._aim.goal(page, command)
            if goal is not None:
                page.caret = on_unit(text, goal.at)
                if name == "$" and self.mode == "visual":
                    page.caret = line_end(text, goal.at)  # with the line's end
            return self._told(page)
        first, last = sorted((page.caret, self._anchor))
        whole = self.mode == "visual line" or name in ("X", "S", "C", "D", "R", "Y") or operator in ("<", ">")
        span = lines(text, first, last) if whole else Span(first, beyond(text, last))
        self.mode = "normal"
        self._last, self._last_text = Command(name, operator, command.argument, command.count), ""
        self._last_span = (text.count("\n", first, last) if whole else _units(text, span), whole)
        self._on_span(page, self._last, span)
        return self._told(page)

    def _select_object(self, page: Page, command: Command) -> None:
        """Select a text object; where more is selected already, one more of them, or the next pair outwards."""
        text, one = page.text, command.name[1:]
        first, last = sorted((page.caret, self._anchor))
        grows = first != last and self.mode == "visual"
        if grows and one in "wWp" and page.caret == last:
            at, start = min(beyond(text, last), len(text)), first
            span = text_object(text, at, command.name, command.times)
        else:
            span = text_object(text, page.caret, command.name, command.times)
            if grows and span is not None and first <= span.start and span.end <= beyond(text, last):
                span = text_object(text, page.caret, command.name, command.times + 1) or span
            start = span.start if span is not None else 0
        if span is not None and span.end > span.start:
            self._anchor, page.caret = start, before(text, span.end)
            self.mode = "visual line" if span.lines else "visual"

    def _on_span(self, page: Page, command: Command, span: Span) -> None:
        """Do to a selection what a command says."""
        name = command.name
        page.caret = span.start if not span.lines else page.caret
        if command.operator:
            self._aim.reached = span.start
            self._operate(page, command, span, command.times)
        elif name in ("p", "P"):
            vim_edits.put_over(page, span, self._register, command.times, keeps=name == "p")
        elif name == "J":
            page.caret = span.start
            vim_edits.join(page, max(2, page.text.count("\n", span.start, max(span.start, span.end - 1)) + 1))
        elif name == "r":
            vim_edits.replace(page, span, command.argument)
            page.caret = span.start
        else:
            vim_edits.recase(page, span, "swap" if name == "~" else "lower" if name == "u" else "upper")
            page.caret = span.start

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
            self._on_span(page, command, _span_again(page, *span))
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


def _units(text: str, span: Span) -> int:
    """How many units the caret steps over in a span."""
    count, at = 0, span.start
    while at < span.end:
        count, at = count + 1, after(text, at)
    return count


def _span_again(page: Page, size: int, whole: bool) -> Span:
    """As much from the caret on as a selection had."""
    end = page.caret
    for _ in range(size):
        end = min(line_end(page.text, end) + 1, len(page.text)) if whole else beyond(page.text, end)
    return lines(page.text, page.caret, end) if whole else Span(page.caret, end)
