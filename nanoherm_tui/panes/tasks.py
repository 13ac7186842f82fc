"""The dock's tab of what runs beside: commands in the background and sub-agents, and of one what comes of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.actions import SkipAction
from textual.geometry import Region
from textual.message import Message
from textual.timer import Timer

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.agents import agent_rows, at_work, can_look, plain_agents
from nanoherm_tui.panes.bodies import BLANK, Row, RowList, Span
from nanoherm_tui.panes.tabbed import Tabbed
from nanoherm_tui.panes.task_output import OutputWindow, Piece
from nanoherm_tui.panes.task_rows import TASK, outcome, output_rows, task_row, task_rows
from nanoherm_tui.text import clean, wrap

if TYPE_CHECKING:
    from agent_core.background import Task
    from agent_core.delegation import AgentRow


class TasksTab(Tabbed):
    """What a dock has of this tab: it says when the tab is in front, and gives its rows a place.

    Output is asked for by a message and comes by `show_output`; a sub-agent that is looked at is shown elsewhere.
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

    class LookRequested(Message):
        """What a sub-agent says and does is wanted."""

        def __init__(self, agent: AgentRow) -> None:
            super().__init__()
            self.agent = agent

    class StopRequested(Message):
        """The person wants a sub-agent stopped, and has said so twice."""

        def __init__(self, agent_id: str) -> None:
            super().__init__()
            self.agent_id = agent_id

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tasks: tuple[Task, ...] = ()
        self._agents: tuple[AgentRow, ...] = ()
        self._chosen_id = ""  # the task or sub-agent the cursor is at, or the task that is looked into
        self._dying = ""  # the one that another x ends
        self._window: OutputWindow | None = None
        self._added = 0  # lines put in front of those that are shown, not laid out yet
        self._settling = False
        self._frame = 0
        self._dying_ends: Timer | None = None

    @property
    def tasks_in_front(self) -> bool:
        """The tab is the dock's front one."""
        return self.tab == "tasks"

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

    def show_agents(self, agents: Sequence[AgentRow]) -> None:
        """The sub-agents as they are now, the newest last."""
        if tuple(agents) != self._agents:
            before = self._keys()
            self._agents = tuple(agents)
            self._renew_all(before)

    @property
    def lists(self) -> bool:
        """The list is shown, not one of it."""
        return self._window is None

    def _renew_all(self, hints_before: Sequence[str]) -> None:
        self._renew_head()
        if self.tasks_in_front:
            self._renew(hints_before)

    def _renew(self, hints_before: Sequence[str]) -> None:
        """Paint again what has become something else."""
        if self._window is not None:
            if self.made:
                self.settle_output()
        elif not self._repaint_list():
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
        runs = any(task is not None and task.state == "running" for task in tasks)
        return self.tasks_in_front and (runs or (self.lists and any(map(at_work, self._agents))))

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
        self._tasks, self._agents, self._chosen_id, self._window, self._dying = (), (), "", None, ""

    # -- rows ---------------------------------------------------------------------------------------------------

    @property
    def made(self) -> bool:
        """The rows are there, and as they should be."""
        return self._made_for is not None

    def tasks_head(self) -> list[Row]:
        """The one that is looked into, in view wherever that is scrolled to."""
        task = self._chosen_task() if self._window is not None else None
        return [task_row(task, self._frame, time.time())] if task is not None else []

    def tasks_body(self, cells: int) -> list[Row]:
        task = self._chosen_task()
        if self._window is not None and task is not None:
            return output_rows(task, self._window, cells)
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
        now = time.time()
        return plain_agents(self._agents, now) + "".join(
            f"{task_row(task, 0, now).text}\t{outcome(task)}\n" for task in reversed(self._tasks)
        )

    # -- what can be done ---------------------------------------------------------------------------------------

    def task_hints(self) -> list[tuple[str, str]]:
        task, key = self._chosen_task(), self.keymap.label
        if (agent := self._chosen_agent()) is not None:
            return self._agent_hints(agent)
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

    def _agent_hints(self, agent: AgentRow) -> list[tuple[str, str]]:
        key = self.keymap.label
        hints = [(key("dock_unfold"), t("agents.hint_look"))] if can_look(agent) else []
        if at_work(agent):
            hints.append((key("dock_kill"), t("agents.stop_again" if self._dying == agent.id else "agents.hint_stop")))
        return hints

    def _keys(self) -> list[str]:
        return [words for _, words in self.task_hints()]

    def _chosen_agent(self) -> AgentRow | None:
        return next((agent for agent in self._agents if agent.id == self._chosen_id), None)

    def _chosen_task(self) -> Task | None:
        return next((task for task in self._tasks if task.id == self._chosen_id), None)

    def cursor_moved(self, index: int) -> None:
        """The cursor is at another task."""
        key = self._body[index].key
        if key.startswith(TASK):
            self._chosen_id, self._dying = key.removeprefix(TASK), ""
            self.stale_foot()

    def open_task(self) -> None:
        """Show the output of the task the cursor is at, from its end on; have the sub-agent there be looked at."""
        agent = self._chosen_agent()
        if agent is not None and self.lists:
            self._dying = ""
            self.post_message(self.LookRequested(agent))
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
        self._window, self._to_end, self._dying = None, False, ""
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
