"""The dock's list of memories: those that this turn was told, and those that come from this session."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import BLANK, Row, Span
from nanoherm_tui.panes.list_tab import INDENT, Ask, Key, ListTab, fold_mark, heading, plain, wrapped
from nanoherm_tui.text import age, fit, one_line, visible
from nanoherm_tui.words.memory import DETAIL, kind_cells, memory_facts

if TYPE_CHECKING:
    from agent_core.knowledge import Memory

_RECALLED, _MADE = "recalled", "made"
_PLAIN: Final = 200  # cells of a memory that is copied: its text is not cut
_KIND_FROM: Final = 40  # cells from which on a row has room for a memory's kind


@dataclass(frozen=True, slots=True)
class OfSession:
    """What there is of a session."""

    recalled: tuple[Memory, ...] = ()
    """What the newest turn was told."""
    made: tuple[Memory, ...] = ()
    """What was remembered in this session, the newest first."""
    total: int = 0
    """How many memories there are at all."""
    home: str = ""


class MemoryTab(ListTab):
    name = "memory"

    def __init__(self) -> None:
        super().__init__()
        self._of = OfSession()
        self._gone: list[Memory] = []  # what was forgotten here, the latest last

    def show(self, remembered: OfSession) -> None:
        self._of = remembered

    def forgotten(self, memory: Memory) -> None:
        """It was, and may be taken back."""
        self._gone.append(memory)

    def take_back(self, id: str) -> Memory | None:
        """What was forgotten under this id, which is about to be remembered again."""
        found = next((memory for memory in reversed(self._gone) if memory.id == id), None)
        if found is not None:
            self._gone.remove(found)
        return found

    def clear(self) -> None:
        self._of, self._gone = OfSession(), []
        self.at, self.sure = "", ""
        self.open.clear()

    @property
    def is_empty(self) -> bool:
        return not (self._of.recalled or self._of.made)

    @property
    def _here(self) -> Memory | None:
        part, _, id = self.at.partition(":")
        several = self._of.recalled if part == _RECALLED else self._of.made
        return next((memory for memory in several if memory.id == id), None)

    def rows(self, cells: int) -> list[Row]:
        rows = self._part(_RECALLED, self._of.recalled, cells)
        rows += [BLANK, *self._part(_MADE, self._of.made, cells)]
        return [*rows, BLANK, *wrapped(t("memory.all_there_are", n=self._of.total), cells, "muted")]

    def _part(self, part: str, memories: tuple[Memory, ...], cells: int) -> list[Row]:
        rows = [heading(t(f"memory.tab_{part}"))]
        if not memories:
            return rows + wrapped(t(f"memory.tab_no_{part}"), cells, indent=INDENT)
        for memory in memories:
            rows += self._rows_of(memory, f"{part}:{memory.id}", cells)
        return rows

    def _rows_of(self, memory: Memory, key: str, cells: int) -> list[Row]:
        is_open = key in self.open
        left = [fold_mark(is_open)]
        if cells >= _KIND_FROM:
            left.append(Span(fit(t(f"memory.{memory.kind}"), kind_cells()), "muted"))
        left.append(Span(one_line(visible(memory.text[:DETAIL]))))
        when = (Span(age(time.time() - memory.created), "muted"),) if memory.created else ()
        rows = [Row(tuple(left), when, key=key)]
        if is_open:
            text, *facts = memory_facts(memory, (*self._of.recalled, *self._of.made), self._of.home)
            rows += wrapped(text, cells, indent=INDENT)
            rows += [row for fact in facts for row in wrapped(fact, cells, "muted", INDENT)]
        return rows

    def hints(self) -> list[tuple[str, str]]:
        here = self._here
        hints = []
        if here is not None:
            again = self.sure == self.at
            hints.append(("dock_unfold", t("dock.hint_close" if self.at in self.open else "dock.hint_open")))
            hints.append(("dock_drop", t("memory.forget_sure" if again else "memory.forget")))
        return [*hints, *([("dock_give_back", t("memory.take_back"))] if self._gone else [])]

    def text(self) -> str:
        return plain(self.rows(_PLAIN))

    def press(self, key: Key) -> Ask | bool:
        here = self._here
        if key == "give_back" and self._gone:
            return Ask("take_back", self._gone[-1].id)
        if here is None or key not in ("open", "drop"):
            return False
        if key == "open":
            self.turn(self.at)
            return True
        if self.sure != self.at:
            self.sure = self.at
            return True
        self.sure = ""
        return Ask("forget", here.id)
