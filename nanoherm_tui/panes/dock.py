"""The dock, a tab for each: a result, changes of files, the plan, background tasks, what fills the window, a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, Protocol

from textual.actions import SkipAction
from textual.message import Message
from textual.widget import Widget

from nanoherm_tui import limits
from nanoherm_tui.context_words import plain_context, tokens
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.agents import count_at_work
from nanoherm_tui.panes.context import ITEM, context_rows, item_id
from nanoherm_tui.panes.diff import FOLD, Fold, diff_rows, plain_diff
from nanoherm_tui.panes.hunks import hunk_keys
from nanoherm_tui.panes.image import Picture, picture_heading, picture_rows
from nanoherm_tui.panes.output import Result, result_book, result_rows
from nanoherm_tui.panes.pages import Book, BookRows
from nanoherm_tui.panes.plan import plan_rows
from nanoherm_tui.panes.preview import Preview, preview_heading, preview_rows
from nanoherm_tui.panes.rows import BLANK, Body, Place, Row, RowList, Span
from nanoherm_tui.panes.tasks import TasksTab
from nanoherm_tui.session_view import count_running
from nanoherm_tui.strips import look_of
from nanoherm_tui.text import clean, width, wrap

if TYPE_CHECKING:
    from agent_core.context import Item, Report
    from agent_core.messages import FileDiff, View
    from agent_core.ports import TodoItem
    from agent_core.preview import FileLines
    from agent_core.spill import SpillPage

Tab = Literal["result", "diff", "plan", "tasks", "context", "file"]
TABS: Final[tuple[Tab, ...]] = ("result", "diff", "plan", "tasks", "context", "file")


class ToggleHunk(Protocol):
    def __call__(self, diffs: tuple[FileDiff, ...], key: str, /, *, by_mouse: bool) -> None:
        """Refuse the hunk `key` of `diffs`, or take it again."""


class Dock(TasksTab):
    """Each tab keeps its place. Nothing is painted when what is shown has not changed.

    What has to be read from a file is asked for by messages and comes by `show_page` and `show_lines`.
    """

    ALLOW_SELECT = True
    CONTEXT = "dock"

    class CopyRequested(Message):
        """What is selected, or all that the tab shows, unwrapped, is wanted on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class SpillCopyRequested(Message):
        """All of a kept output is wanted on the clipboard."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class LookChanged(Message):
        """The user has chosen another tab or shape: `state` has changed."""

    class PageRequested(Message):
        """A page of a kept output is wanted: `show_page`, or `page_failed`."""

        def __init__(self, name: str, page: int) -> None:
            super().__init__()
            self.name = name
            self.page = page

    class DrawingRequested(Message):
        """An image is wanted in at most so many cells: `show_drawing`."""

        def __init__(self, picture: Picture, columns: int, rows: int) -> None:
            super().__init__()
            self.picture = picture
            self.columns = columns
            self.rows = rows

    class LinesRequested(Message):
        """The lines that a change left as they were are wanted: `show_lines`."""

        def __init__(self, change: FileDiff) -> None:
            super().__init__()
            self.change = change

    class ContextRequested(Message):
        """What fills the window is wanted: `show_context`."""

    class ItemOpened(Message):
        """A message is wanted whole."""

        def __init__(self, item: Item) -> None:
            super().__init__()
            self.item = item

    class ViewChosen(Message):
        """The person wants requests to drop, pin or give back a message."""

        def __init__(self, message_id: str, view: View) -> None:
            super().__init__()
            self.message_id = message_id
            self.view = view

    def __init__(self, id: str | None = "dock") -> None:
        super().__init__(id=id)
        self.tab: Tab = "result"
        self._result: Result | None = None
        self._book = Book()
        self._asked: set[int] = set()  # pages of it that are on their way
        self._problem = ""  # why the book is not the whole output
        self._diffs: tuple[FileDiff, ...] = ()
        self._asking = False
        self._divides = False
        self._split: bool | None = None  # None: by the width
        self._folds: dict[str, Fold] = {}
        self._fold = ""  # the key of the fold the cursor is at
        self._plan: tuple[TodoItem, ...] = ()
        self.report: Report | None = None
        self._report_asked = self._report_stale = False
        self._item = ""  # the message the cursor is at
        self._preview: Preview | Picture | None = None
        self._drawing_asked = (0, 0)  # the cells that the image of the preview was asked for
        self._aim = False  # the lines of the preview that were asked for are still to be brought into view
        self._places: dict[Tab, int | Place] = {}
        self._back_to: Place | None = None
        self._answers: tuple[tuple[str, str], ...] = ()
        self._armed = False
        self._hunk = 0  # the hunk the user has moved to, while a change waits for an answer
        self._refused: frozenset[str] = frozenset()
        self.toggle_hunk: ToggleHunk | None = None
        """Takes a hunk of the change that waits, named "file.hunk", out of what would be applied, or back into it."""

    # -- what is shown ------------------------------------------------------------------------------------------

    def show_result(self, result: Result, *, bring: bool = True) -> None:
        """Show a tool's result; with `bring` its tab comes to the front."""
        if result != self._result:
            self._result = result
            self._read(result_book(result))
        if bring:
            self.show_tab("result")

    def _read(self, book: Book, problem: str = "") -> None:
        self._book, self._problem = book, problem
        self._asked.clear()
        self._changed("result")

    def show_page(self, page: SpillPage) -> None:
        """A page of a kept output has been read."""
        if page.name != self._book.file:
            return
        self._asked.discard(page.page)
        lines = self._book.put(page.page, page.text, page.size, page.continues)
        body = self._body
        if self.tab == "result" and isinstance(body, BookRows) and body.book is self._book:
            self.top = body.came(page.page, self.top)
            self.repaint_all()
            self.find_came(page.page, lines)

    def page_failed(self, name: str, problem: str) -> None:
        """A kept output cannot be read: what the model was given of it is shown instead, and why."""
        if name == self._book.file and self._result is not None:
            self._read(Book(self._result.text), problem)

    def show_diffs(
        self, diffs: Sequence[FileDiff], asking: bool = False, *, bring: bool = True, divides: bool = True
    ) -> None:
        """Show changes. `asking`: they wait for an answer, so lines are wrapped and hunks have numbered headings.

        `divides`: single hunks of what waits can be refused.
        """
        self._divides = asking and divides
        if (tuple(diffs), asking) != (self._diffs, self._asking):
            self._diffs, self._asking, self._hunk = tuple(diffs), asking, 0
            self._folds.clear()
            self._fold = ""
            self._changed("diff")
        if bring:
            self.show_tab("diff")

    def show_lines(self, change: FileDiff, lines: FileLines | None, problem: str = "") -> None:
        """The lines of a file that was asked for, or why there are none."""
        for key, fold in self._folds.items():
            if not fold.shown and not fold.problem and self._diff_of(key) == change:
                found = replace(fold, problem=problem)
                if lines is not None:
                    found = Fold(limits.UNFOLD_LINES, lines.lines, lines.old)
                self._folds[key] = found
        if self.tab == "diff":
            self.stale()

    def show_answers(self, keys: tuple[tuple[str, str], ...], armed: bool) -> None:
        """The keys that answer the question that waits, and what they do; none when nothing waits for letters.

        Then they stand in the last row, and no letter of theirs does anything else here.
        """
        if (keys, armed) != (self._answers, self._armed):
            self._answers, self._armed = keys, armed
            self.stale_foot()

    def show_refused(self, refused: frozenset[str]) -> None:
        """The hunks of the change that waits which are left out, by their names."""
        if refused != self._refused:
            self._refused = refused
            if self.tab == "diff" and self._asking:
                self.stale()

    def show_plan(self, items: Sequence[TodoItem], *, bring: bool = False) -> None:
        """Show the todo list; unlike the others it does not come to the front by itself."""
        if tuple(items) != self._plan:
            self._plan = tuple(items)
            if self.tab == "plan":
                self.stale()  # its place is kept: a plan changes a step at a time
        if bring:
            self.show_tab("plan")

    def show_context(self, report: Report | None) -> None:
        """Show what fills the window, as it was asked for; None: nothing is known."""
        self._report_asked = False
        if report != self.report:
            self.report = report
            if self.tab == "context":
                self.stale()  # its place is kept: most of it is as before
        if self._report_stale:
            self.context_changed()

    def context_changed(self) -> None:
        """What fills the window is not what was shown any more: ask for it anew where somebody sees it."""
        self._report_stale = self.tab != "context" or self._report_asked
        if not self._report_stale:
            self._report_asked = True
            self.call_next(self.post_message, self.ContextRequested())

    def show_preview(self, preview: Preview | Picture, *, bring: bool = True) -> None:
        """Show a part of a file, the lines that were asked for at a third of the height, or an image."""
        self._preview = preview
        self._drawing_asked = (0, 0)
        self._changed("file")
        self._aim = True
        if bring:
            self.show_tab("file")

    def show_drawing(self, picture: Picture) -> None:
        """An image that was asked for has been drawn, or cannot be."""
        if picture.is_same(self._preview):
            self._preview = picture
            if self.tab == "file":
                self.stale()

    def clear(self) -> None:
        """Forget everything: another session comes."""
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

    def show_tab(self, tab: Tab) -> None:
        """Bring a tab to the front, at the place it was left."""
        if tab == self.tab:
            return
        self._places[self.tab] = self._here()
        self.tab = tab
        self._anew(self._places.get(tab, 0))
        if tab == "tasks":
            self.call_next(self.post_message, self.Brought())
        if tab == "context" and (self.report is None or self._report_stale):
            self.context_changed()

    def _here(self) -> int | Place:
        """The top, as something that still is right when the rows of a long text are made anew."""
        if self._back_to is not None:
            return self._back_to
        made = self._made_for is not None
        return self._body.place(self.top) if made and isinstance(self._body, BookRows) else self.top

    def _changed(self, tab: Tab) -> None:
        self._places.pop(tab, None)
        if tab == self.tab:
            self._anew(0)

    def _anew(self, top: int | Place) -> None:
        """Other rows are shown, from `top` on."""
        self.end_find()
        self._back_to = top if isinstance(top, Place) else None
        self.top = 0 if isinstance(top, Place) else top
        self._to_end = False
        self.stale()

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

    def _titles(self, cells: int) -> dict[Tab, str]:
        titles = {tab: t(f"dock.{tab}") for tab in TABS}
        if running := count_running(self._tasks) + count_at_work(self._agents):
            counted = titles | {"tasks": f"{titles['tasks']} {running}"}
            if _row_of(counted, 1) <= cells:
                return counted
        return titles

    def _gap(self, cells: int) -> int:
        titles = self._titles(cells)
        return next((gap for gap in (3, 2) if _row_of(titles, gap) <= cells), 1)

    @property
    def tasks_in_front(self) -> bool:
        return self.tab == "tasks"

    def head(self, cells: int) -> Sequence[Row]:
        spans: list[Span] = []
        for tab, title in self._titles(cells).items():
            spans += [Span(" " * self._gap(cells))] if spans else []
            here = tab == self.tab
            spans.append(Span(title, "accent" if here else "muted", bold=here, underline=here))
        rows = [Row(tuple(spans)), BLANK]
        if self.tab == "file" and self._preview is not None:
            shown = self._preview
            rows.append(
                picture_heading(shown, cells) if isinstance(shown, Picture) else preview_heading(shown, cells)
            )  # in view wherever its lines are scrolled to
        return rows + self.tasks_head() if self.tab == "tasks" else rows

    def body(self, cells: int) -> Sequence[Row] | Body:
        if self.tab == "result":
            if self._result is None:
                return self._empty(t("dock.no_result"), cells)
            return result_rows(self._result, self._book, cells, self._problem)
        if self.tab == "file":
            preview = self._preview
            if isinstance(preview, Picture):
                return picture_rows(preview, look_of(self), cells)
            return preview_rows(preview, cells) if preview else self._empty(t("dock.no_file"), cells)
        if self.tab == "context":
            return context_rows(self.report, cells) if self.report else self._empty(t("dock.no_context"), cells)
        if self.tab == "diff":
            split = self._is_split(cells)
            refused = self._refused if self._asking else ()
            rows = diff_rows(self._diffs, cells, wrap=self._asking, split=split, folds=self._folds, refused=refused)
            return rows or self._empty(t("dock.no_changes"), cells)
        if self.tab == "tasks":
            return self.tasks_body(cells)
        return plan_rows(self._plan, cells) if self._plan else self._empty(t("dock.no_plan"), cells)

    def _empty(self, words: str, cells: int) -> list[Row]:
        return [Row((Span(line, "muted"),)) for line in wrap(words, max(cells, 1))]

    def foot(self, cells: int) -> Sequence[Row]:
        found = self.find_row(cells)
        if found is not None and self._field is not None:
            return BLANK, found
        hints = [
            (Span(key, "accent" if self._armed else "muted", bold=self._armed), Span(f" {words}", "muted"))
            for key, words in (*self._answers, *self._hunk_hint())
        ]
        hints += [(Span(key, bold=True), Span(f" {words}", "muted")) for key, words in self._hints(cells) if key]
        rows = [*([found] if found is not None else []), *_flowed(hints, cells)]
        return (BLANK, *rows) if rows else ()

    def _hunk_hint(self) -> list[tuple[str, str]]:
        """The key that refuses the hunk at hand, or takes it again: like an answer it waits until nobody is typing."""
        hunk = self._current_hunk() if self.tab == "diff" and self._divides and self._answers else ""
        if not hunk:
            return []
        words = t("dock.hint_take_hunk" if hunk in self._refused else "dock.hint_refuse_hunk")
        return [(self.keymap.label("dock_unfold_or_page"), words)]

    def _hints(self, cells: int) -> list[tuple[str, str]]:
        """Keys and what they do here."""
        key = self.keymap.label
        hints: list[tuple[str, str]] = []
        if self.tab == "diff":
            if len(self.hunks) > 1:
                words = t("dock.hint_hunk_short") if self._answers else t("dock.hint_hunk")
                hints.append((f"{key('dock_previous_hunk')} {key('dock_next_hunk')}".strip(), words))
            if any(row.key.startswith(FOLD) for row in self._body):
                hints.append((key("dock_unfold"), t("dock.hint_unfold")))
            if self._diffs and not self._asking and cells >= limits.SPLIT_LEAST:
                hints.append(
                    (key("dock_split"), t("dock.hint_unified" if self._is_split(cells) else "dock.hint_split"))
                )
        if self._answers:
            return hints
        if self.tab == "tasks" and self._find is None:
            hints += self.task_hints()
        if self.tab == "context" and (item := self._chosen_item()) is not None:
            hints.append((key("dock_unfold"), t("dock.hint_open")))
            if item.view != "dropped":
                saves = t("dock.hint_drop", tokens=tokens(item.gain)) if item.gain else t("dock.hint_drop_only")
                hints.append((key("dock_drop"), saves))
            if item.view != "pinned" and item.kind != "summary":
                hints.append((key("dock_pin"), t("dock.hint_pin")))
            if item.view:
                hints.append((key("dock_give_back"), t("dock.hint_give_back")))
        if self._find is not None:
            hints.append((f"{key('dock_find_next')} {key('dock_find_previous')}".strip(), t("dock.hint_hits")))
            hints.append((key("dock_close_find"), t("dock.hint_end_find")))
        elif self.tab in ("result", "file") and isinstance(self._body, BookRows):
            hints.append((key("dock_find"), t("dock.hint_find")))
        shown = {
            "result": self._result,
            "diff": self._diffs,
            "plan": self._plan,
            "tasks": self._tasks or self._agents,
            "context": self.report,
        }
        preview = None if isinstance(self._preview, Picture) else self._preview
        if preview if self.tab == "file" else shown[self.tab]:
            hints.append((key("dock_copy"), t("dock.hint_copy")))
        return hints

    def rebuilt(self) -> None:
        body = self._body
        if self._back_to is not None:
            self.top, self._back_to = body.row_at(self._back_to), None
        self.cursor = None
        if self.tab == "diff":
            hunks = self._hunks() if self._asking else []
            if hunks:
                self.cursor = hunks[min(self._hunk, len(hunks) - 1)]
            if self._fold:
                self.cursor = next((i for i, row in enumerate(body) if row.key == self._fold), self.cursor)
        if self.tab == "tasks":
            self.tasks_rebuilt()
        if self.tab == "context":
            items = [index for index, row in enumerate(body) if row.key.startswith(ITEM)]
            chosen = next((index for index in items if item_id(body[index].key) == self._item), None)
            self.cursor = chosen if chosen is not None else next(iter(items), None)
        if self.tab == "file" and self._aim and isinstance(self._preview, Preview) and self._preview.file is not None:
            self._aim = False
            line = max(0, self._preview.first - self._preview.file.first)
            self.top = max(0, body.row_at(Place(0, line, 0)) - self.view_height // 3) if self._preview.first else 0
        if isinstance(body, RowList):
            self.find_again()
        self._foot = list(self.foot(self.cells))  # its hints depend on the rows

    # -- pages of a kept output ---------------------------------------------------------------------------------

    def settled(self) -> None:
        if self.tab == "tasks":
            self.settle_output()
        if self.tab == "file" and isinstance(self._preview, Picture):
            self._want_drawing(self._preview)
        body = self._body
        if isinstance(body, BookRows) and body.book.file:
            for page in body.missing(self.top, self.view_height):
                self.want_page(page)

    def _want_drawing(self, picture: Picture) -> None:
        size = self.cells, self.view_height
        if size != self._drawing_asked and min(size) > 0:
            self._drawing_asked = size
            self.call_next(self._ask_drawing, picture, *size)  # not at once: see want_page

    def _ask_drawing(self, picture: Picture, columns: int, rows: int) -> None:
        self.post_message(self.DrawingRequested(picture, columns, rows))

    def want_page(self, page: int) -> None:
        if self._book.file and page not in self._asked:
            self._asked.add(page)
            # Not at once: Textual stops a message at the screen when it was made while the screen painted.
            self.call_next(self._ask, self._book.file, page)

    def _ask(self, name: str, page: int) -> None:
        self.post_message(self.PageRequested(name, page))

    # -- hunks and folds ----------------------------------------------------------------------------------------

    def _is_split(self, cells: int) -> bool:
        wanted = cells >= limits.SPLIT_FROM if self._split is None else self._split
        return wanted and not self._asking and cells >= limits.SPLIT_LEAST

    def _hunks(self) -> list[int]:
        return [index for index, row in enumerate(self.rows) if row.key and not row.key.startswith(FOLD)]

    def action_hunk(self, by: int) -> None:
        """Go to the next or previous hunk: its first row comes to the top as far as the end allows."""
        hunks = self._hunks() if self.tab == "diff" else []
        if not hunks:
            raise SkipAction
        if self._asking:
            self._hunk = max(0, min(self._hunk + by, len(hunks) - 1))
            self._go_to_hunk(hunks)
            return
        beyond = [i for i in hunks if i > self.top] if by > 0 else [i for i in reversed(hunks) if i < self.top]
        if beyond:
            self.scroll_to_row(beyond[0])

    def _go_to_hunk(self, hunks: Sequence[int]) -> None:
        self._fold = ""
        self.set_cursor(hunks[self._hunk])
        self.scroll_to_row(hunks[self._hunk])
        self.stale_foot()

    @property
    def shows_waiting_change(self) -> bool:
        """The change that waits for an answer is on the screen."""
        seen = all(node.display for node in self.ancestors_with_self if isinstance(node, Widget))
        return seen and self.tab == "diff" and self._asking and bool(self._diffs)

    @property
    def hunks(self) -> tuple[str, ...]:
        """The names of the hunks of the changes that are shown."""
        return hunk_keys(self._diffs)

    def _current_hunk(self) -> str:
        """The name of the hunk the user has moved to, while a change waits."""
        keys = self.hunks
        return keys[min(self._hunk, len(keys) - 1)] if keys else ""

    def action_toggle_hunk(self) -> None:
        """Refuse the hunk the cursor is at, or take it again; one that is out of sight is only brought into view."""
        hunks = self._hunks() if self.tab == "diff" and self._divides else []
        if not hunks or self.toggle_hunk is None:
            raise SkipAction
        at = hunks[min(self._hunk, len(hunks) - 1)]
        if self.cursor != at or not self.top <= at < self.top + self.view_height:
            self._go_to_hunk(hunks)
        else:
            self.toggle_hunk(self._diffs, self.rows[at].key, by_mouse=False)

    def action_split(self) -> None:
        """Old and new side by side, or one below the other; the hunk at the top stays there."""
        if self.tab != "diff" or self._asking or not self._diffs or self.cells < limits.SPLIT_LEAST:
            raise SkipAction
        key = next((self.rows[i].key for i in reversed(self._hunks()) if i <= self.top), "")
        self._split = not self._is_split(self.cells)
        self.post_message(self.LookChanged())
        self.stale()
        at = next((i for i, row in enumerate(self.rows) if row.key == key), 0)
        self.scroll_to_row(at if key else 0)

    def _folds_in_view(self) -> list[int]:
        last = min(self.top + self.view_height, len(self.rows))
        return [i for i in range(self.top, last) if self.rows[i].key.startswith(FOLD)]

    def action_next_fold(self) -> None:
        """Move the cursor to the next run of unchanged lines, around the end."""
        folds = [i for i, row in enumerate(self.rows) if row.key.startswith(FOLD)] if self.tab == "diff" else []
        if not folds:
            raise SkipAction
        seen = self._fold and self.cursor is not None and self.top <= self.cursor < self.top + self.view_height
        after = self.cursor if seen and self.cursor is not None else self.top - 1
        self._go_to_fold(next((i for i in folds if i > after), folds[0]))

    def _go_to_fold(self, index: int) -> None:
        self._fold = self.rows[index].key
        self.set_cursor(index)
        self.show_row(index)

    def action_unfold(self) -> None:
        """Unfold or fold the unchanged lines the cursor is at; else put it on the first such row in view."""
        if self.tab == "context":
            self._open_item()
            return
        if self.tab == "tasks":
            self.open_task()
            return
        folds = self._folds_in_view() if self.tab == "diff" else []
        if not folds:
            raise SkipAction
        if self.cursor in folds:
            self._toggle(self.rows[self.cursor].key)
        else:
            self._go_to_fold(folds[0])

    def action_unfold_or_page(self) -> None:
        """Space: while a change waits, the hunk at the cursor; at unchanged lines as Enter, else the next page."""
        if self.tab == "diff" and self._divides and self._hunks():
            self.action_toggle_hunk()
        elif self.tab == "diff" and self.cursor in self._folds_in_view():
            self.action_unfold()
        else:
            self.action_page(1)

    def chosen(self, key: str) -> None:
        if self.tab == "tasks":
            self.open_task()
        if key.startswith(ITEM):
            self._open_item()
        if key.startswith(FOLD):
            self._fold = key
            self._toggle(key)
        if self.tab == "diff" and self._asking and key in hunk_keys(self._diffs):
            self._hunk = hunk_keys(self._diffs).index(key)
            self._fold = ""
            self.set_cursor(self._hunks()[self._hunk])
            if self.toggle_hunk is not None and self._divides:
                self.toggle_hunk(self._diffs, key, by_mouse=True)

    def _diff_of(self, key: str) -> FileDiff:
        return self._diffs[int(key.removeprefix(FOLD).partition(".")[0])]

    def _toggle(self, row_key: str) -> None:
        key = row_key.removesuffix("+")
        fold = self._folds.get(key)
        if row_key != key and fold is not None:
            self._folds[key] = replace(fold, shown=fold.shown + limits.UNFOLD_LINES)
        elif fold is not None and fold.shown:
            del self._folds[key]
        elif any(self._diff_of(key).versions):
            self._folds[key] = Fold()
            self.post_message(self.LinesRequested(self._diff_of(key)))
            return
        else:
            self._folds[key] = Fold(problem=t("dock.no_version"))
        self.stale()

    # -- what fills the window ----------------------------------------------------------------------------------

    @property
    def has_cursor(self) -> bool:
        return self.tab == "context" or (self.tab == "tasks" and self.lists)

    def set_cursor(self, index: int | None) -> None:
        super().set_cursor(index)
        if self.tab == "tasks" and index is not None:
            self.cursor_moved(index)
        if self.tab == "context" and index is not None:
            self._item = item_id(self._body[index].key)
            self.stale_foot()

    def action_move(self, by: int) -> None:
        super().action_move(by)
        if self.tab == "context" and by < 0 and self.cursor == self._step(0, 1):
            self.scroll_to_row(0)  # above the first message stands what all of them come to

    def _chosen_item(self) -> Item | None:
        if self.tab != "context" or self.report is None or self.cursor is None or self.cursor >= len(self._body):
            return None
        chosen = item_id(self._body[self.cursor].key)
        return next((item for item in self.report.items if item.message_id == chosen), None)

    def _brings_cursor(self) -> bool:
        """Bring the cursor into view if it is not: nothing is done to a message that is out of sight."""
        if self.cursor is None or self.top <= self.cursor < self.top + self.view_height:
            return False
        self.show_row(self.cursor)
        return True

    def _open_item(self) -> None:
        item = self._chosen_item()
        if item is not None and not self._brings_cursor():
            self.post_message(self.ItemOpened(item))

    def action_view(self, view: View) -> None:
        """Have requests drop ("dropped"), pin ("pinned") or give back ("") the message the cursor is at."""
        item = self._chosen_item()
        if item is None or (view == "pinned" and item.kind == "summary"):
            raise SkipAction
        if item.view != view and not self._brings_cursor():
            self._item = item.message_id
            self.post_message(self.ViewChosen(item.message_id, view))

    # -- tabs ---------------------------------------------------------------------------------------------------

    def action_tab(self, tab: Tab) -> None:
        self.show_tab(tab)
        self.post_message(self.LookChanged())

    def action_turn(self, by: int) -> None:
        self.action_tab(TABS[(TABS.index(self.tab) + by) % len(TABS)])

    def clicked_head(self, x: int, y: int) -> None:
        at = 0
        for tab, title in self._titles(self.cells).items():
            if y == 0 and at <= x < at + width(title):
                self.action_tab(tab)
            at += width(title) + self._gap(self.cells)

    # -- copying ------------------------------------------------------------------------------------------------

    def _text(self) -> str:
        """What the tab shows as text, unwrapped."""
        if self.tab == "result":
            return clean(self._result.text) if self._result else ""
        if self.tab == "diff":
            return plain_diff(self._diffs)
        if self.tab == "tasks":
            return self.tasks_text()
        if self.tab == "context":
            return plain_context(self.report) if self.report else ""
        if self.tab == "file":
            preview = self._preview
            return "\n".join(preview.file.lines) + "\n" if isinstance(preview, Preview) and preview.file else ""
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


def _row_of(titles: Mapping[Tab, str], gap: int) -> int:
    """The cells of tabs `gap` blanks apart."""
    return sum(map(width, titles.values())) + gap * (len(titles) - 1)


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
