"""What narrows a search down, as a row of fields: they show what the words of the query say, and change those words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import chain
from math import inf
from pathlib import PurePath
from typing import ClassVar, Final, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from agent_core.search_filters import HERE, WHO, Asked, put
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.keys import FocusAtOnce
from nanoherm_tui.strips import Painted, Part, look_of, row
from nanoherm_tui.text import cut, one_line, visible, width

Name = Literal["in", "when", "model", "by"]
FIELDS: Final[tuple[Name, ...]] = ("in", "when", "model", "by")
_DAYS: Final = ("", "today", "7d", "30d", "span")
_SPAN: Final = 30  # days, when one is to be typed over
_GAP: Final = "   "
_VALUE: Final = 20  # cells of one field's value


def values(asked: Asked) -> dict[Name, str]:
    """What each field says."""
    typed = dict(asked.typed)
    since, before = typed.get("since", ""), typed.get("before", "")
    if since and before:
        when = t("search.between", since=since, before=before)
    elif before:
        when = t("search.before", before=before)
    elif since in _DAYS:
        when = t(f"search.when_{since or 'any'}")
    else:
        when = t("search.since", since=since)
    folder = typed.get("in", "")
    where = t("search.in_any") if not folder else t("search.in_here") if folder.lower() == HERE else folder
    by = typed.get("by", "any").lower()
    return {"in": where, "when": when, "model": typed.get("model") or t("search.model_any"), "by": t(f"search.by_{by}")}


def shifted(text: str, asked: Asked, name: Name, step: int, folders: Sequence[str], models: Sequence[str]) -> str:
    """The query with the field's next choice, or with the one before."""
    typed = dict(asked.typed)
    if name == "when":
        is_span = "before" in typed or typed.get("since", "") not in _DAYS
        chosen = _next(_DAYS, "span" if is_span else typed.get("since", ""), step)
        text = put(put(text, "before", ""), "since", "" if chosen == "span" else chosen)
        if chosen == "span":
            today = date.today()
            text = put(text, "since", (today - timedelta(days=_SPAN - 1)).isoformat())
            text = put(text, "before", (today + timedelta(days=1)).isoformat())
        return text
    choices = {"in": ("", HERE, *folders), "model": ("", *models), "by": ("", *WHO)}[name]
    return put(text, name, _next(choices, typed.get(name, ""), step))


def _next(choices: Sequence[str], chosen: str, step: int) -> str:
    if chosen not in choices:
        return choices[0] if step > 0 else choices[-1]
    return choices[(choices.index(chosen) + step) % len(choices)]


def folder_words(folders: Sequence[str]) -> tuple[str, ...]:
    """How folders are typed behind `in:`: by their names where those say which, else by their paths."""
    names = [PurePath(folder).name.lower() for folder in folders]
    return tuple(
        PurePath(folder).name if name and sum(name in other for other in names) == 1 and name != HERE else folder
        for name, folder in zip(names, folders, strict=True)
    )


class FilterRow(Painted, FocusAtOnce, can_focus=True):
    """The fields. With the keyboard: Left and Right choose, Tab goes on; what is typed goes to the query."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "shift(-1)", show=False),
        Binding("right,space", "shift(1)", show=False),
        Binding("backspace,delete", "clear", show=False),
    ]

    class Shifted(Message):
        """The field's next choice is wanted, or the one before; step 0: none."""

        def __init__(self, name: Name, step: int) -> None:
            super().__init__()
            self.name = name
            self.step = step

    class Typed(Message):
        """Something was typed while a field had the keyboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(id="search-fields")
        self._asked = Asked("")
        self.at = 0
        """The field that has the keyboard, when the row has it."""
        self._ends: list[tuple[int, int]] = []
        """Where each field ends: its row, and the cell behind it."""

    def show(self, asked: Asked) -> None:
        if (asked.typed, asked.unread) != (self._asked.typed, self._asked.unread):
            self._asked = asked
            self.refresh(layout=True)

    def step(self, by: int) -> bool:
        """Go on to the next field; False when there is none."""
        if not 0 <= self.at + by < len(FIELDS):
            return False
        self.at += by
        self.refresh()
        return True

    def paint(self, width: int) -> list[Strip]:
        """The fields with their names, in as many rows as they need; a short screen has one row, and short fields."""
        look = look_of(self)
        words, warn = look.style("text", "surface"), look.style("warn", "surface")
        indent: Part = ("  ", words)
        wrong: list[Part] = []
        if self._asked.unread:
            wrong = [(cut(one_line(visible(self._asked.unread[-1])), _VALUE) + " ?", warn)]
        fields, gap = [self._field(number, True) for number in range(len(FIELDS))], _GAP
        whole = _cells([*chain(*fields), *wrong]) + len(gap) * len(fields)
        room: float = width
        if self.app.size.height < limits.SHORT and whole > width:
            fields, gap, room = [self._field(number, False) for number in range(len(FIELDS))], "  ", inf
            if wrong and width < _cells([indent, *chain(*fields), *wrong]) + len(gap) * len(fields):
                if self.has_focus:  # a field is being chosen: that something is wrong is told, not what
                    wrong = [("?", warn)]
                else:  # names of fields that say nothing give way to what is just being typed
                    fields = [field if self._is_set(name) else [] for name, field in zip(FIELDS, fields, strict=True)]
        rows: list[list[Part]] = [[indent]]
        self._ends = []
        for field in fields:
            between: list[Part] = [(gap, words)] if field and len(rows[-1]) > 1 else []
            if between and room < _cells([*rows[-1], *between, *field]):
                rows.append([indent])
                between = []
            rows[-1] += [*between, *field]
            self._ends.append((len(rows) - 1, _cells(rows[-1])))
        if wrong and room < _cells([*rows[-1], (gap, words), *wrong]):
            rows.append([indent, *wrong])
            wrong = []
        last = len(rows) - 1
        return [row(width, parts, words, wrong if y == last else ()) for y, parts in enumerate(rows)]

    def _is_set(self, name: Name) -> bool:
        return name in {"when" if key in ("since", "before") else key for key, _ in self._asked.typed}

    def _field(self, number: int, named: bool) -> list[Part]:
        """A field: its name and what it says, or the one of both that says more."""
        look, name = look_of(self), FIELDS[number]
        muted = look.style("muted", "surface")
        is_set = self._is_set(name)
        value = values(self._asked)[name] if named or is_set else t(f"search.{name}")
        bold = look.style("text", "surface", bold=True)
        here = self.has_focus and number == self.at
        style = look.style("seltext", "selection") if here else bold if is_set else muted
        said: Part = (cut(one_line(visible(value)), _VALUE), style)
        return [(f"{t(f'search.{name}')} ", muted), said] if named else [said]

    def action_shift(self, step: int) -> None:
        self.post_message(self.Shifted(FIELDS[self.at], step))

    def action_clear(self) -> None:
        self.post_message(self.Shifted(FIELDS[self.at], 0))

    def on_key(self, event: events.Key) -> None:
        if event.is_printable and event.character and event.key != "space":
            event.stop()
            event.prevent_default()
            self.post_message(self.Typed(event.character))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.post_message(self.Typed(" ".join(event.text.split())))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        for number, (y, end) in enumerate(self._ends):
            if event.y == y and event.x < end:
                self.at = number
                self.focus()
                self.action_shift(1)
                return


def _cells(parts: Sequence[Part]) -> int:
    return sum(width(words) for words, _ in parts)
