"""The list of sessions, grouped by workspace: state, title, age."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from pathlib import PurePath
from typing import Literal

from textual.message import Message

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import BLANK, Row, Span, Spans, plain
from nanoherm_tui.panes.rows import RowsView
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import age, cut_path, one_line, width, wrap

ItemState = Literal["idle", "running", "asking", "failed", "unread"]

_MARKS: dict[str, tuple[str, str]] = {
    "running": ("running", "accent"),
    "asking": ("asks", "warn"),
    "failed": ("failed", "fail"),
    "unread": ("done", "accent"),
}


@dataclass(frozen=True, slots=True)
class SessionItem:
    """A session as the list shows it."""

    id: str
    title: str
    """Empty until the session has one."""
    workspace: str
    """Absolute path of the folder it works in."""
    state: ItemState
    updated: float
    """Seconds since the epoch."""


def group_by_workspace(items: Sequence[SessionItem], current_id: str) -> list[tuple[str, list[SessionItem]]]:
    """(heading, sessions) for each workspace: the current session's first, then by the newest session in each.

    The heading is the folder's name, with its parent's where two workspaces have the same.
    """
    groups: dict[str, list[SessionItem]] = {}
    current = next((item.workspace for item in items if item.id == current_id), None)
    for item in sorted(items, key=lambda item: (item.workspace != current, -item.updated, item.id)):
        groups.setdefault(item.workspace, []).append(item)
    names = [PurePath(workspace).name for workspace in groups]
    return [
        (name if name and names.count(name) == 1 else "/".join(PurePath(workspace).parts[-2:]) or "/", group)
        for name, (workspace, group) in zip(names, groups.items(), strict=True)
    ]


def session_row(item: SessionItem, ago: str, frame: int, *, current: bool, marked: bool = False) -> Row:
    """One session's row; `frame` is the step of the running mark. `marked`: another is to be compared with it."""

    @cache
    def left() -> Spans:
        bold = current or item.state == "unread"
        state = ("bullet", "accent") if marked else _MARKS.get(item.state)
        mark = Span(sym(state[0], frame), state[1], bold=True, mark=True) if state else Span(" ")
        return mark, Span(" "), Span(one_line(item.title) or t("sessions.untitled"), bold=bold)

    return Row(left, (Span(ago, "muted"),), key=item.id)


class SessionsPane(RowsView):
    """`update` it with all sessions; it posts what the user wants done with one."""

    CURSOR = True
    RULE = "right"
    CONTEXT = "sessions"

    class Opened(Message):
        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    class RenameRequested(Opened):
        pass

    class DeleteRequested(Opened):
        pass

    class ForkRequested(Opened):
        pass

    class ExportRequested(Opened):
        pass

    class CompareMarked(Opened):
        """The first of two sessions to compare was chosen; "": not any more."""

    class CompareRequested(Message):
        def __init__(self, first: str, second: str) -> None:
            super().__init__()
            self.first = first
            self.second = second

    class RestoreRequested(Message):
        pass

    class SearchRequested(Message):
        pass

    class NewRequested(Message):
        """A new session is wanted: in this folder, or in one that is still to be chosen."""

        def __init__(self, folder: str, *, choose: bool = False) -> None:
            super().__init__()
            self.folder = folder
            self.choose = choose

    def __init__(self, id: str | None = "sessions") -> None:
        super().__init__(id=id)
        self._items: tuple[SessionItem, ...] = ()
        self._current = ""
        self._at = ""  # the session the cursor is on
        self._to_compare = ""  # the first of two to compare
        self._frame = 0
        self._ages: dict[str, str] = {}
        """How long ago each session was used, in words, as it is shown."""
        self._made: dict[str, tuple[tuple[object, ...], Row]] = {}
        """By session: what its row was made of, and the row. Of thousands a turn changes one."""

    def on_mount(self) -> None:
        self.set_interval(limits.AGE_EVERY, self._look_at_ages)

    def update(self, rows: Sequence[SessionItem], current_id: str) -> None:
        """Show these sessions. Nothing is painted when nothing has changed."""
        items = tuple(rows)
        if (items, current_id) == (self._items, self._current):
            return
        if current_id != self._current or self._at not in {item.id for item in items}:
            self._at = current_id
        self._items, self._current = items, current_id
        self.stale()

    def refresh_look(self) -> None:
        self._made.clear()
        super().refresh_look()

    def tick(self, frame: int) -> None:
        """Step the running marks; `frame` counts quarters of a second."""
        self._frame = frame
        running = {item.id: item for item in self._items if item.state == "running"}
        if not running:
            return
        for index, row in enumerate(self.rows):
            if row.key in running:
                self.repaint_row(index, self._row(running[row.key]))

    # -- rows ---------------------------------------------------------------------------------------------------

    def head(self, cells: int) -> Sequence[Row]:
        count = (Span(str(len(self._items)), "muted"),) if self._items else ()
        return Row((Span(t("sessions.title"), bold=True),), count), BLANK

    def body(self, cells: int) -> Sequence[Row]:
        self._ages = self._ages_now()
        if not self._items:
            return [Row((Span(line, "muted"),)) for line in wrap(t("sessions.empty", key="Ctrl+N"), max(cells, 1))]
        rows: list[Row] = []
        for heading, items in group_by_workspace(self._items, self._current):
            if rows:
                rows.append(BLANK)
            rows.append(Row((Span(cut_path(one_line(heading), cells), "muted"),)))
            rows += map(self._row, items)
        self._made = {row.key: self._made[row.key] for row in rows if row.key}
        return rows

    def _row(self, item: SessionItem) -> Row:
        """The row of one session: the one there is, unless something in it has changed."""
        current, marked = item.id == self._current, item.id == self._to_compare
        mark = sym("running", self._frame) if item.state == "running" else ""  # with reduced motion it stays the same
        facts = item, self._ages[item.id], current, marked, mark
        made = self._made.get(item.id)
        if made is None or made[0] != facts:
            row = session_row(item, self._ages[item.id], self._frame, current=current, marked=marked)
            made = self._made[item.id] = facts, row
        return made[1]

    def foot(self, cells: int) -> Sequence[Row]:
        if not self._items:
            return ()
        words: list[Span] = []
        for key, word in (("/", t("sessions.search")), ("r", t("sessions.rename")), ("d", t("sessions.delete"))):
            more = [*([Span("   ")] if words else []), Span(key, bold=True), Span(" " + word, "muted")]
            if width(plain((*words, *more))) > cells:
                break
            words += more
        return BLANK, Row(tuple(words))

    def rebuilt(self) -> None:
        self.cursor = next((i for i, row in enumerate(self._body) if row.key and row.key == self._at), None)
        if self.cursor is not None:
            self._reveal(self.cursor)

    def set_cursor(self, index: int | None) -> None:
        super().set_cursor(index)
        self._at = self.cursor_key

    def on_blur(self) -> None:
        # Left alone, the list shows which session the other panes show.
        self._at = self._current
        self.set_cursor(next((i for i, row in enumerate(self.rows) if row.key and row.key == self._current), None))

    def _ages_now(self) -> dict[str, str]:
        now = time.time()
        return {item.id: age(now - item.updated) for item in self._items}

    def _look_at_ages(self) -> None:
        if self._ages_now() != self._ages:
            self.stale()

    # -- keys ---------------------------------------------------------------------------------------------------

    def chosen(self, key: str) -> None:
        self.post_message(self.Opened(key))

    def action_open(self) -> None:
        if key := self.cursor_key:
            self.chosen(key)

    def action_new(self) -> None:
        self.post_message(self.NewRequested(self._folder()))

    def action_new_in(self) -> None:
        self.post_message(self.NewRequested(self._folder(), choose=True))

    def _folder(self) -> str:
        """The folder of the session under the cursor."""
        return next((item.workspace for item in self._items if item.id == self.cursor_key), "")

    def action_fork(self) -> None:
        if key := self.cursor_key:
            self.post_message(self.ForkRequested(key))

    def action_compare(self) -> None:
        """The first of two, which is marked; then the second. The same one again takes the mark away."""
        key, first = self.cursor_key, self._to_compare
        if not key:
            return
        known = first in {item.id for item in self._items}
        self._to_compare = "" if known else key
        if known and first != key:
            self.post_message(self.CompareRequested(first, key))
        else:
            self.post_message(self.CompareMarked(self._to_compare))
        self.stale()

    def action_export(self) -> None:
        if key := self.cursor_key:
            self.post_message(self.ExportRequested(key))

    def action_search(self) -> None:
        self.post_message(self.SearchRequested())

    def action_restore(self) -> None:
        self.post_message(self.RestoreRequested())

    def action_rename(self) -> None:
        if key := self.cursor_key:
            self.post_message(self.RenameRequested(key))

    def action_delete(self) -> None:
        if key := self.cursor_key:
            self.post_message(self.DeleteRequested(key))
