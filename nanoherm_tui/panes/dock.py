"""The dock: a tab each for a result, changes of files, the plan, tasks, the window, a file, memory, servers, turns.

What a tab shows and what is done in it is in a room of its own; here stands which of them a row or a key belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.actions import SkipAction
from textual.message import Message

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.agents import count_at_work
from nanoherm_tui.panes.bodies import BLANK, Body, Row, RowList, Span
from nanoherm_tui.panes.comments_tab import CommentsTab
from nanoherm_tui.panes.context import ITEM, context_rows
from nanoherm_tui.panes.context_tab import ContextTab
from nanoherm_tui.panes.diff import plain_diff
from nanoherm_tui.panes.file_tab import FileTab
from nanoherm_tui.panes.image import Picture
from nanoherm_tui.panes.list_tabs import ListTabs
from nanoherm_tui.panes.pages import Book, BookRows
from nanoherm_tui.panes.plan import plan_rows
from nanoherm_tui.panes.result_tab import ResultTab
from nanoherm_tui.panes.tabbed import TABS, Tab
from nanoherm_tui.panes.tasks import TasksTab
from nanoherm_tui.session_view import count_running
from nanoherm_tui.text import clean, width, wrap
from nanoherm_tui.words.context import plain_context

if TYPE_CHECKING:
    from agent_core.messages import View
    from agent_core.ports.means import TodoItem


class Dock(ResultTab, CommentsTab, TasksTab, ContextTab, FileTab, ListTabs):
    """Nothing is painted when what is shown has not changed."""

    ALLOW_SELECT = True
    CONTEXT = "dock"

    class CopyRequested(Message):
        """What is selected, or all that the tab shows, unwrapped, is wanted on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, id: str | None = "dock") -> None:
        super().__init__(id=id)
        self._plan: tuple[TodoItem, ...] = ()
        self._armed = False

    # -- what is shown ------------------------------------------------------------------------------------------

    def show_answers(self, keys: tuple[tuple[str, str], ...], armed: bool) -> None:
        """The keys that answer the question that waits, and what they do; none when nothing waits for letters.

        Then they stand in the last row, and no letter of theirs does anything else here.
        """
        if (keys, armed) != (self._answers, self._armed):
            self._answers, self._armed = keys, armed
            self.stale_foot()

    def on_resize(self) -> None:
        """Another height has room for more hints or fewer, and for blank rows or none."""
        if self._made_for is not None:
            self._head = list(self.head(self.cells))
        self.stale_foot()

    def show_plan(self, items: Sequence[TodoItem], *, bring: bool = False) -> None:
        """Show the todo list; unlike the others it does not come to the front by itself."""
        if tuple(items) != self._plan:
            self._plan = tuple(items)
            if self.tab == "plan":
                self.stale()  # its place is kept: a plan changes a step at a time
        if bring:
            self.show_tab("plan")

    def clear(self) -> None:
        """Forget everything: another session comes."""
        self.forget_lists()
        nothing = (self._result, self._preview, self.report) == (None, None, None)
        if nothing and not (self._diffs or self._plan or self._tasks or self._agents):
            return
        self.forget_tasks()
        self._result, self._preview, self.report, self._diffs, self._plan = None, None, None, (), ()
        self._item, self._report_stale = "", True
        self._asking, self._hunk = False, 0
        self._folds.clear()
        self._read(Book())
        self._places.clear()
        self._anew(0)

    def brought(self, tab: Tab) -> None:
        if tab == "tasks":
            self.call_next(self.post_message, self.Brought())
        if tab == "context" and (self.report is None or self._report_stale):
            self.context_changed()
        self.list_brought()

    def state(self) -> dict[str, object]:
        """What is worth remembering for the next start."""
        return {"tab": self.tab, "split": self._split}

    def restore(self, state: Mapping[str, object]) -> None:
        """Take up what `state` gave; what does not fit is left out."""
        tab = next((tab for tab in TABS if tab == state.get("tab")), self.tab)
        split = state.get("split")
        self._split = split if isinstance(split, bool) else None
        self.show_tab(tab)

    # -- rows ---------------------------------------------------------------------------------------------------

    def counts(self) -> Mapping[Tab, int]:
        return {"tasks": count_running(self._tasks) + count_at_work(self._agents)}

    def head(self, cells: int) -> Sequence[Row]:
        rows = [self.titles(cells), *self._apart()]
        if self.tab == "file":
            rows += self.file_head(cells)
        return rows + self.tasks_head() if self.tab == "tasks" else rows

    def body(self, cells: int) -> Sequence[Row] | Body:
        if self.front_list is not None:
            return self.front_list.rows(cells)
        if self.tab == "result":
            return self.result_body(cells) if self._result else self._empty(t("dock.no_result"), cells)
        if self.tab == "file":
            return self.file_body(cells) if self._preview else self._empty(t("dock.no_file"), cells)
        if self.tab == "context":
            return context_rows(self.report, cells) if self.report else self._empty(t("dock.no_context"), cells)
        if self.tab == "diff":
            return self.diff_body(cells) or self._empty(t("dock.no_changes"), cells)
        if self.tab == "tasks":
            return self.tasks_body(cells)
        return plan_rows(self._plan, cells) if self._plan else self._empty(t("dock.no_plan"), cells)

    def _apart(self) -> tuple[Row, ...]:
        """The blank row between what is shown and what stands above and below it; a low dock has none."""
        return () if self.size.height < limits.DOCK_LOW else (BLANK,)

    def _empty(self, words: str, cells: int) -> list[Row]:
        return [Row((Span(line, "muted"),)) for line in wrap(words, max(cells, 1))]

    def foot(self, cells: int) -> Sequence[Row]:
        if (written := self.comment_foot(cells)) is not None:
            return written
        found = self.find_row(cells)
        if found is not None and self._field is not None:
            return (*self._apart(), found)
        hints = [
            (Span(key, "accent" if self._armed else "muted", bold=self._armed), Span(f" {words}", "muted"))
            for key, words in (*self._answers, *self._hunk_hint())
        ]
        hints += [(Span(key, bold=True), Span(f" {words}", "muted")) for key, words in self._hints(cells) if key]
        flowed = _flowed(hints, cells)
        if not self._answers:  # on a low screen what is read goes before all that can be done with it
            flowed = flowed[: max(1, self.size.height // limits.DOCK_HINTS)]
        rows = [*([found] if found is not None else []), *flowed]
        return (*self._apart(), *rows) if rows else ()

    def _hints(self, cells: int) -> list[tuple[str, str]]:
        """Keys and what they do here."""
        key = self.keymap.label
        hints = [*self.diff_hints(cells), *self.comment_hints()] if self.tab == "diff" else []
        if self._answers:
            return hints
        if self._find is None:
            hints += self._tab_hints()
        else:
            hints.append((f"{key('dock_find_next')} {key('dock_find_previous')}".strip(), t("dock.hint_hits")))
            hints.append((key("dock_close_find"), t("dock.hint_end_find")))
        if self._find is None and self.tab in ("result", "file") and isinstance(self._body, BookRows):
            hints.append((key("dock_find"), t("dock.hint_find")))
        return [*hints, (key("dock_copy"), t("dock.hint_copy"))] if self._has_text else hints

    def _tab_hints(self) -> list[tuple[str, str]]:
        if self.front_list is not None:
            return self.list_hints(self.front_list)
        return self.task_hints() if self.tab == "tasks" else self.context_hints() if self.tab == "context" else []

    @property
    def _has_text(self) -> bool:
        """There is something to copy."""
        shown = {
            "result": self._result,
            "diff": self._diffs,
            "plan": self._plan,
            "tasks": self._tasks or self._agents,
            "context": self.report,
            "file": None if isinstance(self._preview, Picture) else self._preview,
        }
        return not self.front_list.is_empty if self.front_list is not None else bool(shown[self.tab])

    def rebuilt(self) -> None:
        body = self._body
        if self._back_to is not None:
            self.top, self._back_to = body.row_at(self._back_to), None
        self.cursor = None
        if self.tab == "diff":
            self.diff_rebuilt()
        if self.tab == "tasks":
            self.tasks_rebuilt()
        if self.tab == "context":
            self.context_rebuilt()
        if self.tab == "file":
            self.file_rebuilt()
        if self.front_list is not None:
            self.list_rebuilt(self.front_list)
        if isinstance(body, RowList):
            self.find_again()
        self._foot = list(self.foot(self.cells))  # its hints depend on the rows

    def settled(self) -> None:
        if self.tab == "tasks":
            self.settle_output()
        if self.tab == "file":
            self.settle_drawing()
        self.settle_pages()

    # -- keys that mean something else in each tab --------------------------------------------------------------

    @property
    def has_cursor(self) -> bool:
        return self.tab == "context" or (self.tab == "tasks" and self.lists) or self.front_list is not None

    def set_cursor(self, index: int | None) -> None:
        super().set_cursor(index)
        if index is None:
            return
        if self.tab == "tasks":
            self.cursor_moved(index)
        if self.tab == "context":
            self.context_moved(index)
        if self.front_list is not None:
            self.list_moved(self.front_list, index)

    def action_move(self, by: int) -> None:
        super().action_move(by)
        if self.has_cursor and self.tab != "tasks" and by < 0 and self.cursor == self._step(0, 1):
            self.scroll_to_row(0)  # above the first entry stands what all of them come to

    def action_unfold(self) -> None:
        """Enter: open what the cursor is at, or unfold unchanged lines."""
        if self.tab == "context":
            self._open_item()
        elif self.tab == "tasks":
            self.open_task()
        elif self.tab == "diff":
            self.unfold()
        else:
            self.press("open")

    def action_unfold_or_page(self) -> None:
        """Space: while a change waits, the hunk at the cursor; at unchanged lines as Enter, else the next page."""
        if self.tab == "diff" and self._divides and self._hunks():
            self.action_toggle_hunk()
        elif self.tab == "diff" and self.cursor in self._folds_in_view():
            self.unfold()
        else:
            self.action_page(1)

    def chosen(self, key: str) -> None:
        if self.tab == "tasks":
            self.open_task()
        if key.startswith(ITEM):
            self._open_item()
        if self.tab == "diff":
            self.diff_chosen(key)
        if self.front_list is not None:
            self.press("open")

    def action_view(self, view: View) -> None:
        """Drop, pin or give back what the cursor is at."""
        if self.tab == "context":
            self.set_view(view)
        elif view == "pinned":
            raise SkipAction
        else:
            self.press("drop" if view == "dropped" else "give_back")

    # -- copying ------------------------------------------------------------------------------------------------

    def _text(self) -> str:
        """What the tab shows as text, unwrapped."""
        if self.front_list is not None:
            return self.front_list.text()
        if self.tab == "result":
            return clean(self._result.text) if self._result else ""
        if self.tab == "diff":
            return plain_diff(self._diffs)
        if self.tab == "tasks":
            return self.tasks_text()
        if self.tab == "context":
            return plain_context(self.report) if self.report else ""
        if self.tab == "file":
            return self.file_text()
        return "".join(f"[{'x' if item.status == 'completed' else ' '}] {item.text}\n" for item in self._plan)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (action in ("copy", "find", "find_next") and self._answers)

    def action_close_find(self) -> None:
        """Take the marks away; without any, go back from a task's output to the list."""
        if self._find is not None or not self.close_output():
            super().action_close_find()

    def action_copy(self) -> None:
        """Copy what is selected, else all that the tab shows."""
        selection = self.text_selection
        if selection is not None and (selected := self.get_selection(selection)) and selected[0]:
            self.post_message(self.CopyRequested(selected[0]))
        elif self.tab == "result" and self._book.file:
            self.post_message(self.SpillCopyRequested(self._book.file))
        elif text := self._text():
            self.post_message(self.CopyRequested(text))


def _flowed(hints: Sequence[tuple[Span, Span]], cells: int) -> list[Row]:
    """Hints three blanks apart, in as many rows as they need."""
    rows: list[list[Span]] = []
    used = 0
    for hint in hints:
        size = sum(width(span.text) for span in hint)
        if not rows or used + 3 + size > cells:
            rows.append([*hint])
            used = size
        else:
            rows[-1] += [Span("   "), *hint]
            used += 3 + size
    return [Row(tuple(spans)) for spans in rows]
