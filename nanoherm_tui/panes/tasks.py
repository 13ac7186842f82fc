"""The dock's tab of what runs beside: commands in the background and sub-agents, and of one what comes of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from textual.actions import SkipAction
from textual.geometry import Region
from textual.message import Message
from textual.timer import Timer

from nanoherm_tui import limits
from nanoherm_tui.i18n import phrase, t
from nanoherm_tui.panes.agents import (
    Account,
    account_rows,
    agent_row,
    agent_rows,
    at_work,
    plain_account,
    plain_agents,
)
from nanoherm_tui.panes.agents_part import AgentsPart
from nanoherm_tui.panes.rows import BLANK, Row, RowList, Span
from nanoherm_tui.panes.task_output import OutputWindow, Piece
from nanoherm_tui.panes.wrapped import NARROWEST, code_rows
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, duration, one_line, wrap

if TYPE_CHECKING:
    from agent_core.background import Task

TASK: Final = "task:"  # the key of a task's row begins with it, and that of a sub-agent's
_TIME: Final = 8  # cells of how long it has run, as on a tool card
_MARK: Final = 2  # cells of the state's symbol and the blank behind it


def outcome(task: Task) -> str:
    """How it ended, in words; empty while it runs and after success, which the mark says."""
    if task.state == "running":
        return ""
    if task.state != "ended":
        return t(f"tasks.{task.state}")
    if task.signal:
        return t("tasks.signal", n=task.signal)
    return t("tasks.exit", n=task.exit_code) if task.exit_code else ""


def task_row(task: Task, frame: int, now: float, key: str = "") -> Row:
    """State, command, how it ended and how long it has run."""
    took = duration((task.ended or now) - task.started, running=True)
    right = [Span(took.rjust(_TIME), "muted")]
    if words := outcome(task):
        right.insert(0, Span(words, "fail" if task.state == "ended" else "muted"))
    return Row((_mark(task, frame), Span(" "), Span(one_line(task.command))), tuple(right), key=key)


def task_rows(tasks: Sequence[Task], frame: int, now: float) -> list[Row]:
    """The newest first; below a running one its newest line, below one that outlives the program that it does."""
    rows: list[Row] = []
    for task in reversed(tasks):
        rows.append(task_row(task, frame, now, f"{TASK}{task.id}"))
        if task.state == "running" and task.kept:
            rows.append(_below(t("tasks.kept")))
        if task.state == "running" and (newest := one_line(task.newest)):
            rows.append(_below(newest))
    return rows


def output_rows(task: Task, window: OutputWindow, cells: int) -> list[Row]:
    """The command whole and where it runs, then what is kept of its output, every line wrapped."""
    rows = [Row((Span(line, bold=True),)) for line in wrap(clean(task.command), max(cells, 1))]
    facts = t("tasks.facts", folder=one_line(task.cwd), box=phrase("questions", one_line(task.box)))
    rows += [Row((Span(line, "muted"),)) for line in wrap(facts, max(cells, 1))]
    # A row in any case: what comes before what is here must not move it by one.
    rows.append(Row((Span(f"{sym('cut')} {t('tasks.older')}", "muted"),)) if window.has_older else BLANK)
    text = clean(window.text)
    lines = text.removesuffix("\n").split("\n") if text else []
    room = max(cells, NARROWEST)
    laid: dict[str, Sequence[Row]] = {}
    before = window.laid if window.laid_in == room else {}
    for line in lines:
        if line not in laid:
            laid[line] = before[line] if line in before else _line_rows(line, room)
        rows += laid[line]
    window.laid, window.laid_in = laid, room
    if window.problem:
        rows += [Row((Span(line, "fail"),)) for line in wrap(window.problem, max(cells, 1))]
    elif not lines:
        rows.append(Row((Span(t("tasks.no_output"), "muted"),)))
    return rows


def _line_rows(line: str, room: int) -> list[Row]:
    """A line of output, wrapped."""
    rows = []
    for piece in code_rows(line, room):
        words = line[piece.start : piece.end]
        rows.append(Row((Span(" " * piece.hang + words),), margin=piece.hang, join=piece.join, words=words))
    return rows


def _below(words: str) -> Row:
    return Row((Span(" " * _MARK), Span(words, "muted")), margin=_MARK)


def _mark(task: Task, frame: int) -> Span:
    if task.state == "running":
        return Span(sym("running", frame), "accent", bold=True, mark=True)
    if task.state == "ended":
        good = task.exit_code == 0 and not task.signal
        return Span(sym("done" if good else "failed"), "ok" if good else "fail", bold=True, mark=True)
    return Span(sym("failed"), "muted", bold=True, mark=True)


class TasksTab(AgentsPart):
    """What a dock has of this tab: it says when the tab is in front, and gives its rows a place.

    Output is asked for by a message and comes by `show_output`, what a sub-agent has said by `show_account`.
    """

    class Brought(Message):
        """The tab has come to the front."""

    class OutputRequested(Message):
        """Output from byte `start` up to byte `end` is wanted: `show_output`, or `output_failed`."""

        def __init__(self, task_id: str, start: int, end: int) -> None:
            super().__init__()
            self.task_id = task_id
            self.start = start
            self.end = end

    class KillRequested(Message):
        """The person wants it ended, and has said so twice."""

        def __init__(self, task_id: str) -> None:
            super().__init__()
            self.task_id = task_id

    class KeepRequested(Message):
        """The person wants it to outlive the program, or no longer."""

        def __init__(self, task_id: str, keep: bool) -> None:
            super().__init__()
            self.task_id = task_id
            self.keep = keep

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tasks: tuple[Task, ...] = ()
        self._window: OutputWindow | None = None
        self._added = 0  # lines put in front of those that are shown, not laid out yet
        self._settling = False
        self._frame = 0
        self._dying_ends: Timer | None = None

    # -- what is shown ------------------------------------------------------------------------------------------

    def show_tasks(self, tasks: Sequence[Task]) -> None:
        """The commands in the background as they are now, the newest last."""
        if tuple(tasks) == self._tasks:
            return
        before = self._keys()
        self._tasks = tuple(tasks)
        if self._window is not None:
            task = self._chosen_task()
            if task is None:
                self._close()
            else:
                self._window.grown(task.output_bytes)
        self._renew_all(before)

    @property
    def lists(self) -> bool:
        """The list is shown, not one of it."""
        return self._window is None and self._account is None

    def _renew_all(self, hints_before: Sequence[str]) -> None:
        self._renew_head()
        if self.tasks_in_front:
            self._renew(hints_before)

    def _renew(self, hints_before: Sequence[str]) -> None:
        """Paint again what has become something else."""
        if self._window is not None:
            if self.made:
                self.settle_output()
        elif self._account is None and not self._repaint_list():
            self.stale()
        if self.made and self._keys() != hints_before:
            self.stale_foot()

    def show_output(self, task_id: str, piece: Piece) -> None:
        """Output that was asked for has come."""
        if self._window is None or self._window.task_id != task_id:
            return
        before = self._window.text
        self._added += self._window.take(piece)
        if self._window.text != before or not before:
            self.stale()
        elif self.made and self.tasks_in_front:
            self.settle_output()

    def output_failed(self, task_id: str, problem: str) -> None:
        if self._window is not None and self._window.task_id == task_id:
            self._window.failed(problem)
            self.stale()

    @property
    def ticks(self) -> bool:
        """Something here changes as time passes."""
        tasks = self._tasks if self.lists else (self._chosen_task(),)
        agents = self._agents if self.lists else (self._chosen_agent(),)
        runs = any(task is not None and task.state == "running" for task in tasks)
        return self.tasks_in_front and (runs or any(agent is not None and at_work(agent) for agent in agents))

    def tick(self, frame: int) -> None:
        """Step the running marks; `frame` counts quarters of a second."""
        self._frame = frame
        if self.ticks and self.made:
            if self.lists:
                self._repaint_list()
            else:
                self._renew_head()

    def forget_tasks(self) -> None:
        """Another session comes."""
        self._tasks, self._chosen_id, self._window, self._dying = (), "", None, ""
        self._agents, self._account, self._account_asked = (), None, False

    # -- rows ---------------------------------------------------------------------------------------------------

    @property
    def made(self) -> bool:
        """The rows are there, and as they should be."""
        return self._made_for is not None

    def tasks_head(self) -> list[Row]:
        """The one that is looked into, in view wherever that is scrolled to."""
        agent = self._chosen_agent() if self._account is not None else None
        if agent is not None:
            return [agent_row(agent, self._frame, time.time(), self.cells), BLANK]
        task = self._chosen_task() if self._window is not None else None
        return [task_row(task, self._frame, time.time())] if task is not None else []

    def tasks_body(self, cells: int) -> list[Row]:
        task = self._chosen_task()
        if self._window is not None and task is not None:
            return output_rows(task, self._window, cells)
        if self._account is not None:
            return account_rows(self._account, cells, self._frame)
        if not self._tasks and not self._agents:
            return [Row((Span(line, "muted"),)) for line in wrap(t("tasks.none"), max(cells, 1))]
        now = time.time()
        agents = agent_rows(self._agents, TASK, self._frame, now, cells)
        between = [BLANK] if agents and self._tasks else []
        return [*agents, *between, *task_rows(self._tasks, self._frame, now)]

    def tasks_rebuilt(self) -> None:
        body = self._body
        if self._window is not None:
            if self._added:
                place = body.place(self.top)
                self.top = body.row_at(place._replace(line=place.line + self._added))
                self._added = 0
            return
        if self._account is not None:
            return
        rows = [index for index, row in enumerate(body) if row.key.startswith(TASK)]
        chosen = next((index for index in rows if body[index].key == f"{TASK}{self._chosen_id}"), None)
        self.cursor = chosen if chosen is not None else next(iter(rows), None)
        if self.cursor is not None:
            self._chosen_id = body[self.cursor].key.removeprefix(TASK)

    def _repaint_list(self) -> bool:
        """Put the rows of the list in their places; False when they are not those of the list any more."""
        rows = self.tasks_body(self.cells)
        body = self._body
        if not self.made or not isinstance(body, RowList) or [row.key for row in body] != [row.key for row in rows]:
            return False
        for index, row in enumerate(rows):
            self.repaint_row(index, row)
        return True

    def _renew_head(self) -> None:
        if not self.made:
            return
        head = list(self.head(self.cells))
        if head == self._head:
            return
        if len(head) != len(self._head):
            self.stale()
            return
        self._head = head
        self.refresh(Region(0, 0, self.size.width, len(head)))

    def settle_output(self) -> None:
        """Other rows of the output may be in view: what is missing of it is asked for.

        Not at once: a key may scroll twice, and a message that is made while the screen paints goes no further.
        """
        if self._window is not None and self.made and not self._settling:
            self._settling = True
            self.call_next(self._ask_for_output)

    def _ask_for_output(self) -> None:
        """Follow the end of the output if that is in view, and ask for the next piece."""
        self._settling = False
        window = self._window
        if window is None or not self.made or not self.tasks_in_front:
            return
        at_end = self.top >= len(self._body) - self.view_height
        if at_end and not window.has_newer:
            self._to_end = True
        # What somebody selects stays where it is.
        wanted = window.wanted(at_top=self.top == 0, at_end=at_end and self.text_selection is None)
        if wanted is not None:
            self.post_message(self.OutputRequested(window.task_id, wanted.start, wanted.end))

    def tasks_text(self) -> str:
        """What is shown as text, for copying."""
        if self._window is not None:
            return clean(self._window.text)
        if self._account is not None:
            return plain_account(self._account)
        now = time.time()
        return plain_agents(self._agents, now) + "".join(
            f"{task_row(task, 0, now).text}\t{outcome(task)}\n" for task in reversed(self._tasks)
        )

    # -- what can be done ---------------------------------------------------------------------------------------

    def task_hints(self) -> list[tuple[str, str]]:
        if (agent := self._chosen_agent()) is not None:
            return self.agent_hints(agent)
        task, key = self._chosen_task(), self.keymap.label
        if task is None:
            return []
        hints = [(key("dock_unfold"), t("tasks.hint_output"))] if self._window is None else []
        if task.state == "running":
            kill = key("dock_kill")
            hints.append((kill, t("tasks.hint_kill") if self._dying != task.id else t("tasks.kill_again")))
            hints.append((key("dock_keep"), t("tasks.hint_let_end" if task.kept else "tasks.hint_keep")))
        if self._window is not None:
            if self._window.has_newer and not self._to_end:
                hints.append((key("last"), t("tasks.hint_end")))
            hints.append((key("dock_close_find"), t("tasks.hint_back")))
        return hints

    def _keys(self) -> list[str]:
        return [words for _, words in self.task_hints()]

    def _chosen_task(self) -> Task | None:
        return next((task for task in self._tasks if task.id == self._chosen_id), None)

    def cursor_moved(self, index: int) -> None:
        """The cursor is at another task."""
        key = self._body[index].key
        if key.startswith(TASK):
            self._chosen_id, self._dying = key.removeprefix(TASK), ""
            self.stale_foot()

    def open_task(self) -> None:
        """Show the output of the task the cursor is at, from its end on, or what the sub-agent there has said."""
        agent = self._chosen_agent()
        if agent is not None and agent.session_id and self.lists:
            self._account, self._account_asked, self._dying = Account(agent.id), False, ""
            self._look_at_other_rows()
            self._to_end = True
            self._ask_for_account(agent)
            return
        task = self._chosen_task()
        if task is None or self._window is not None:
            raise SkipAction
        self._window, self._added, self._dying = OutputWindow(task.id, task.output_bytes), 0, ""
        self._look_at_other_rows()
        self._to_end = True

    def close_output(self) -> bool:
        """Back to the list; False when that is what is shown."""
        if self.lists or not self.tasks_in_front:
            return False
        self._close()
        self._look_at_other_rows()
        return True

    def _close(self) -> None:
        self._window, self._account, self._to_end, self._dying = None, None, False, ""
        if self.tasks_in_front:
            self.stale()

    def _look_at_other_rows(self) -> None:
        self.end_find()
        self.top, self._to_end = 0, False
        self.cursor = None
        self.stale()

    def _running_task(self) -> Task:
        task = self._chosen_task() if self.tasks_in_front else None
        if task is None or task.state != "running":
            raise SkipAction
        return task

    def action_kill(self) -> None:
        """End the task, or stop the sub-agent; the first press only asks."""
        agent = self._chosen_agent() if self.tasks_in_front else None
        if agent is not None and not at_work(agent):
            raise SkipAction
        wanted = agent if agent is not None else self._running_task()
        if self._dying_ends is not None:
            self._dying_ends.stop()
        if self._dying == wanted.id:
            self._dying = ""
            is_agent = agent is not None
            self.post_message(self.StopRequested(wanted.id) if is_agent else self.KillRequested(wanted.id))
        else:
            self._dying = wanted.id
            self._dying_ends = self.set_timer(limits.TOLD_HINT, self._spare)
        self.stale_foot()

    def _spare(self) -> None:
        if self._dying:
            self._dying = ""
            self.stale_foot()

    def action_keep(self) -> None:
        """Let the task outlive the program, or no longer."""
        task = self._running_task()
        self.post_message(self.KeepRequested(task.id, not task.kept))
