"""The dock's lists, and the comments on hunks: what is pressed, and what the lists are given."""

from __future__ import annotations

from typing import Final
from unittest.mock import patch

from agent_core import events
from agent_core.events import Envelope
from nanoherm_tui import commands
from nanoherm_tui.panes.comment_field import CommentField
from nanoherm_tui.panes.memory_tab import OfSession
from nanoherm_tui.words.servers import lines
from screenshots import background, memory_files
from screenshots.stage import Stage
from screenshots.views.servers import one_of_each
from screenshots.views.view import View, dock, transcript


async def _context(stage: Stage) -> None:
    """What fills the window: one message dropped, one pinned."""
    commands.run(stage.app, "context")
    await stage.until(lambda: stage.app.dock.cursor is not None, "the messages")
    await stage.press("d", "j", "p", "j")
    await stage.until(lambda: "pinned" in {item.view for item in stage.app.dock.report.items}, "a pinned one")
    await stage.settle()


async def _agents(stage: Stage) -> None:
    """Sub-agents, one of each state, above a command in the background."""
    app, view = stage.app, stage.app.view
    agents = background.agents(stage.language, stage.clock.now)
    tasks = background.tasks(view.id, stage.clock.now, str(view.session.workspace))[-1:]
    told = (events.AgentsChanged(agents), events.TasksChanged(tasks))
    app.conversations.deliver([Envelope(view.id, 0, stage.clock.now, event) for event in told])
    commands.run(app, "agents")
    await stage.shown("explorer")


async def _agent(stage: Stage) -> None:
    """The transcript of one of them, in the place of the session's."""
    said = background.account(stage.language), 0
    patch.object(stage.host, "agent_said", lambda session_id: said).start()  # for good: the stage goes with it
    await _agents(stage)
    await stage.press("j", "enter")
    await stage.shown("src/report.py")


async def _tasks(stage: Stage) -> None:
    """Commands in the background, one of each state."""
    app, view = stage.app, stage.app.view
    tasks = background.tasks(view.id, stage.clock.now, str(view.session.workspace))
    app.conversations.deliver([Envelope(view.id, 0, stage.clock.now, events.TasksChanged(tasks))])
    commands.run(app, "tasks")
    await stage.shown("make docs")


async def _task_output(stage: Stage) -> None:
    """What one of them writes, at its end."""
    await _tasks(stage)
    served = stage.app.view.tasks[0]
    patch.object(
        stage.host.tasks, "output", lambda _, task_id, start, limit: background.output(served, start, limit)
    ).start()  # for good: the stage goes with it
    await stage.press("G", "enter")
    await stage.shown("12:01:29")


async def _task_ending(stage: Stage) -> None:
    await _tasks(stage)
    await stage.press("x")
    await stage.settle()


_SAID = {
    "en": ("Why not datetime.fromisoformat? It reads offsets too.", "A test for the empty string is missing."),
    "zh": ("为什么不用 datetime.fromisoformat？它也认时区。", "还缺一个空字符串的测试。"),
}


async def _front(stage: Stage, key: str) -> None:
    commands.run(stage.app, "focus_dock")
    await stage.press(key)
    await stage.settle()


async def _say(stage: Stage, which: int) -> None:
    """Comment on the hunk at hand. What presses keys for us knows no Chinese full stop."""
    await stage.press("c")
    stage.app.dock.query_one(CommentField).type_in(_SAID[stage.language][which])
    await stage.settle()


async def _writing(stage: Stage) -> None:
    """A comment that is being written."""
    stage.app.dock.restore({"split": False})
    commands.run(stage.app, "diff")
    await _front(stage, "2")
    await _say(stage, 0)


async def _go_on(stage: Stage) -> None:
    """The keyboard is in the field again."""
    commands.run(stage.app, "focus_dock")
    stage.app.dock.action_comment()
    await stage.settle()


async def _commented(stage: Stage) -> None:
    """Two hunks that something was said about."""
    await _writing(stage)
    await stage.press("enter", "right_square_bracket")
    await _say(stage, 1)
    await stage.press("enter")
    await stage.settle()


async def _memory(stage: Stage) -> None:
    """What the turn was told and what the session remembered, one of them opened."""
    await _front(stage, "7")
    memory_files.make(stage.app.host, stage.workspace, stage.language, stage.clock.now)
    every = stage.app.host.memory_desk.look().memories
    stage.app.dock.memory.show(OfSession(every[:2], every[2:4], len(every), str(stage.app.host.places.home)))
    stage.app.dock.list_shown("memory")
    await stage.settle()
    await stage.press("j", "enter")
    await stage.settle()


async def _servers(stage: Stage) -> None:
    """One of each state, the first opened."""
    stage.app.host.servers.views = lambda workspace: one_of_each()  # it is looked at now and then
    await _front(stage, "8")
    stage.app.dock.servers.show(lines(one_of_each(), "/home/you"), ())
    stage.app.dock.list_shown("servers")
    await stage.settle()
    await stage.press("enter")
    await stage.settle()


async def _turns(stage: Stage) -> None:
    """What turns changed, one file about to be taken back."""
    await _front(stage, "9")
    said = stage.app.view.session.said()
    stage.app.dock.turns.show(background.turns(stage.language, stage.clock.now, said[-1].id), True)
    stage.app.dock.list_shown("turns")
    await stage.settle()
    await stage.press("j", "u")
    await stage.settle()


VIEWS: Final[tuple[View, ...]] = (
    View("agent", _agent, transcript),
    View("dock-tasks", _tasks, dock),
    View("dock-agents", _agents, dock),
    View("dock-task-output", _task_output, dock),
    View("dock-task-ending", _task_ending, dock),
    View("dock-context", _context, dock),
    View("dock-comment", _writing, _go_on),
    View("dock-comments", _commented, dock),
    View("dock-memory", _memory, dock),
    View("dock-servers", _servers, dock),
    View("dock-turns", _turns, dock),
)
