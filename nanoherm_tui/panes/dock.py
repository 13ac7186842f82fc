"""The dock: the full result of a tool, the changes of files, the plan, each under its tab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from textual.message import Message

from agent_core.messages import FileDiff
from agent_core.ports import TodoItem
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.diff import diff_rows, plain_diff
from nanoherm_tui.panes.output import Result, result_rows
from nanoherm_tui.panes.plan import plan_rows
from nanoherm_tui.panes.rows import BLANK, Row, RowsView, Span
from nanoherm_tui.text import clean, width, wrap

Tab = Literal["result", "diff", "plan"]
TABS: Final[tuple[Tab, ...]] = ("result", "diff", "plan")


class Dock(RowsView):
    """Each tab keeps its place. Nothing is painted when what is shown has not changed."""

    ALLOW_SELECT = True
    CONTEXT = "dock"

    class CopyRequested(Message):
        """What the tab shows, unwrapped, is wanted on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, id: str | None = "dock") -> None:
        super().__init__(id=id)
        self.tab: Tab = "result"
        self._result: Result | None = None
        self._diffs: tuple[FileDiff, ...] = ()
        self._asking = False
        self._plan: tuple[TodoItem, ...] = ()
        self._tops: dict[Tab, int] = {}
        self._answers: tuple[tuple[str, str], ...] = ()
        self._armed = False
        self._hunk = 0  # the hunk the user has moved to, while a change waits for an answer

    # -- what is shown ------------------------------------------------------------------------------------------

    def show_result(self, result: Result, *, bring: bool = True) -> None:
        """Show a tool's result; with `bring` its tab comes to the front."""
        if result != self._result:
            self._result = result
            self._changed("result")
        if bring:
            self.show_tab("result")

    def show_diffs(self, diffs: Sequence[FileDiff], asking: bool = False, *, bring: bool = True) -> None:
        """Show changes. `asking`: they wait for an answer, so lines are wrapped and hunks have numbered headings."""
        if (tuple(diffs), asking) != (self._diffs, self._asking):
            self._diffs, self._asking, self._hunk = tuple(diffs), asking, 0
            self._changed("diff")
        if bring:
            self.show_tab("diff")

    def show_answers(self, keys: tuple[tuple[str, str], ...], armed: bool) -> None:
        """The keys that answer the question that waits, and what they do; none when nothing waits for letters.

        Then they stand in the last row, and no letter of theirs does anything else here.
        """
        if (keys, armed) != (self._answers, self._armed):
            self._answers, self._armed = keys, armed
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
        if self._result is None and not self._diffs and not self._plan:
            return
        self._result, self._diffs, self._plan, self._asking, self._hunk = None, (), (), False, 0
        self._tops.clear()
        self.top = 0
        self.stale()

    def show_tab(self, tab: Tab) -> None:
        """Bring a tab to the front, at the place it was left."""
        if tab == self.tab:
            return
        self._tops[self.tab] = self.top
        self.tab, self.top = tab, self._tops.get(tab, 0)
        self.stale()

    def _changed(self, tab: Tab) -> None:
        self._tops.pop(tab, None)
        if tab == self.tab:
            self.top = 0
            self.stale()

    # -- rows ---------------------------------------------------------------------------------------------------

    def _titles(self) -> dict[Tab, str]:
        return {"result": t("dock.result"), "diff": t("dock.diff"), "plan": t("dock.plan")}

    def _gap(self, cells: int) -> int:
        titles = self._titles().values()
        return 3 if sum(map(width, titles)) + 3 * (len(titles) - 1) <= cells else 1

    def head(self, cells: int) -> Sequence[Row]:
        spans: list[Span] = []
        for tab, title in self._titles().items():
            spans += [Span(" " * self._gap(cells))] if spans else []
            here = tab == self.tab
            spans.append(Span(title, "accent" if here else "muted", bold=here, underline=here))
        return Row(tuple(spans)), BLANK

    def body(self, cells: int) -> Sequence[Row]:
        if self.tab == "result":
            return result_rows(self._result, cells) if self._result else self._empty(t("dock.no_result"), cells)
        if self.tab == "diff":
            return diff_rows(self._diffs, cells, wrap=self._asking) or self._empty(t("dock.no_changes"), cells)
        return plan_rows(self._plan, cells) if self._plan else self._empty(t("dock.no_plan"), cells)

    def _empty(self, words: str, cells: int) -> list[Row]:
        return [Row((Span(line, "muted"),)) for line in wrap(words, max(cells, 1))]

    def foot(self, cells: int) -> Sequence[Row]:
        hints: list[tuple[Span, Span]] = []
        for key, words in self._answers:
            hints.append(
                (Span(key, "accent" if self._armed else "muted", bold=self._armed), Span(f" {words}", "muted"))
            )
        if self.tab == "diff" and sum(len(diff.hunks) for diff in self._diffs) > 1:
            words = t("dock.hint_hunk_short") if hints else t("dock.hint_hunk")
            hints.append((Span("[ ]", bold=True), Span(f" {words}", "muted")))
        if not self._answers and (
            self._result if self.tab == "result" else self._diffs if self.tab == "diff" else self._plan
        ):
            hints.append((Span("y", bold=True), Span(f" {t('dock.hint_copy')}", "muted")))
        return (BLANK, *_flowed(hints, cells)) if hints else ()

    def rebuilt(self) -> None:
        self.cursor = None
        if self.tab == "diff" and self._asking and (hunks := self._hunks()):
            self.cursor = hunks[min(self._hunk, len(hunks) - 1)]

    # -- keys and mouse -----------------------------------------------------------------------------------------

    def _hunks(self) -> list[int]:
        return [index for index, row in enumerate(self.rows) if row.key]

    def action_hunk(self, by: int) -> None:
        """Go to the next or previous hunk: its first row comes to the top as far as the end allows."""
        hunks = self._hunks() if self.tab == "diff" else []
        if not hunks:
            return
        if self._asking:
            self._hunk = max(0, min(self._hunk + by, len(hunks) - 1))
            self.set_cursor(hunks[self._hunk])
            self.scroll_to_row(hunks[self._hunk])
            return
        beyond = [i for i in hunks if i > self.top] if by > 0 else [i for i in reversed(hunks) if i < self.top]
        if beyond:
            self.scroll_to_row(beyond[0])

    def action_tab(self, tab: Tab) -> None:
        self.show_tab(tab)

    def action_turn(self, by: int) -> None:
        self.show_tab(TABS[(TABS.index(self.tab) + by) % len(TABS)])

    def _text(self) -> str:
        """What the tab shows as text, unwrapped."""
        if self.tab == "result":
            return clean(self._result.text) if self._result else ""
        if self.tab == "diff":
            return plain_diff(self._diffs)
        return "".join(f"[{'x' if item.status == 'completed' else ' '}] {item.text}\n" for item in self._plan)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (action == "copy" and self._answers)

    def action_copy(self) -> None:
        if text := self._text():
            self.post_message(self.CopyRequested(text))

    def clicked_head(self, x: int, y: int) -> None:
        at = 0
        for tab, title in self._titles().items():
            if y == 0 and at <= x < at + width(title):
                self.show_tab(tab)
            at += width(title) + self._gap(self.cells)


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
