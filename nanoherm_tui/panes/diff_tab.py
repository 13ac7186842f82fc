"""The dock's tab of changes: hunks to go through, to refuse while they wait, and unchanged lines to unfold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from textual.actions import SkipAction
from textual.message import Message
from textual.widget import Widget

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.comments import Comments
from nanoherm_tui.panes.diff import FOLD, Fold, diff_rows
from nanoherm_tui.panes.hunks import hunk_keys
from nanoherm_tui.panes.tabbed import Tabbed

if TYPE_CHECKING:
    from agent_core.messages import FileDiff
    from agent_core.workspace.preview import FileLines
    from nanoherm_tui.panes.bodies import Row


class ToggleHunk(Protocol):
    def __call__(self, diffs: tuple[FileDiff, ...], key: str, /, *, by_mouse: bool) -> None:
        """Refuse the hunk `key` of `diffs`, or take it again."""


class DiffTab(Tabbed):
    """Lines that a change left as they were are asked for by a message and come by `show_lines`."""

    class LinesRequested(Message):
        """The lines that a change left as they were are wanted: `show_lines`."""

        def __init__(self, change: FileDiff) -> None:
            super().__init__()
            self.change = change

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._diffs: tuple[FileDiff, ...] = ()
        self._asking = False
        self._divides = False
        self._split: bool | None = None  # None: by the width
        self._folds: dict[str, Fold] = {}
        self._fold = ""  # the key of the fold the cursor is at
        self._hunk = 0  # the hunk the user has moved to, while a change waits for an answer
        self._refused: frozenset[str] = frozenset()
        self._browsed = ""  # the key of the hunk the user has moved to, while none waits
        self.comments = Comments()
        self.toggle_hunk: ToggleHunk | None = None
        """Takes a hunk of the change that waits, named "file.hunk", out of what would be applied, or back into it."""

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
            self._fold = self._browsed = ""
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

    def show_refused(self, refused: frozenset[str]) -> None:
        """The hunks of the change that waits which are left out, by their names."""
        if refused != self._refused:
            self._refused = refused
            if self.tab == "diff" and self._asking:
                self.stale()

    def diff_body(self, cells: int) -> list[Row]:
        refused = self._refused if self._asking else ()
        return diff_rows(
            self._diffs,
            cells,
            wrap=self._asking,
            split=self._is_split(cells),
            folds=self._folds,
            refused=refused,
            comments=self.comments,
        )

    def diff_hints(self, cells: int) -> list[tuple[str, str]]:
        key = self.keymap.label
        hints = []
        if len(self.hunks) > 1:
            words = t("dock.hint_hunk_short") if self._answers else t("dock.hint_hunk")
            hints.append((f"{key('dock_previous_hunk')} {key('dock_next_hunk')}".strip(), words))
        if any(row.key.startswith(FOLD) for row in self._body):
            here = self._folds.get(self._fold)
            hints.append((key("dock_unfold"), t("dock.hint_fold" if here and here.shown else "dock.hint_unfold")))
        if self._diffs and not self._asking and cells >= limits.SPLIT_LEAST:
            hints.append((key("dock_split"), t("dock.hint_unified" if self._is_split(cells) else "dock.hint_split")))
        return hints

    def diff_rebuilt(self) -> None:
        hunks = self._hunks() if self._asking else []
        if hunks:
            self.cursor = hunks[min(self._hunk, len(hunks) - 1)]
        if wanted := self._fold or (not self._asking and self._browsed):
            self.cursor = next((i for i, row in enumerate(self._body) if row.key == wanted), self.cursor)

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
        at = self.cursor if self.cursor in hunks and self._sees(self.cursor) else self.top
        beyond = [i for i in hunks if i > at] if by > 0 else [i for i in reversed(hunks) if i < at]
        if beyond:
            self.go_to_hunk(beyond[0])

    def _sees(self, index: int | None) -> bool:
        return index is not None and self.top <= index < self.top + self.view_height

    def hunk_at_hand(self) -> int | None:
        """The row of the hunk that was gone to, else of the one at the top of the view."""
        hunks = self._hunks()
        if self._asking and hunks:
            return hunks[min(self._hunk, len(hunks) - 1)]
        if self.cursor in hunks and self._sees(self.cursor):
            return self.cursor
        return next((i for i in reversed(hunks) if i <= self.top), next(iter(hunks), None))

    def go_to_hunk(self, index: int) -> None:
        """Put the cursor on the hunk that begins in this row of the body, and bring it to the top."""
        if self._asking:
            self._hunk = self._hunks().index(index)
        self._fold, self._browsed = "", self.rows[index].key
        self.set_cursor(index)
        self.scroll_to_row(index)
        self.stale_foot()

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

    def _hunk_hint(self) -> list[tuple[str, str]]:
        """The key that refuses the hunk at hand, or takes it again: like an answer it waits until nobody is typing."""
        hunk = self._current_hunk() if self.tab == "diff" and self._divides and self._answers else ""
        if not hunk:
            return []
        words = t("dock.hint_take_hunk" if hunk in self._refused else "dock.hint_refuse_hunk")
        return [(self.keymap.label("dock_unfold_or_page"), words)]

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
        self.stale_foot()
        self.set_cursor(index)
        self.show_row(index)

    def unfold(self) -> None:
        """Unfold or fold the unchanged lines the cursor is at; else put it on the first such row in view."""
        folds = self._folds_in_view()
        if not folds:
            raise SkipAction
        if self.cursor in folds:
            self._toggle(self.rows[self.cursor].key)
        else:
            self._go_to_fold(folds[0])

    def diff_chosen(self, key: str) -> None:
        """A click on the row with this key."""
        if not self._asking and key in hunk_keys(self._diffs):
            self._fold, self._browsed = "", key
            self.set_cursor(next((i for i in self._hunks() if self.rows[i].key == key), None))
            self.stale_foot()
        if key.startswith(FOLD):
            self._fold = key
            self._toggle(key)
        if self._asking and key in hunk_keys(self._diffs):
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
