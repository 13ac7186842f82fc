"""How the dock's lists and the comments on hunks come to be seen: what is pressed, and what the lists are given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from nanoherm_tui import commands
from nanoherm_tui.panes.comment_field import CommentField
from nanoherm_tui.panes.memory_tab import OfSession
from nanoherm_tui.server_words import lines
from screenshots import background, memory_files

if TYPE_CHECKING:
    from agent_core.extras.server_desk import ServerView
    from screenshots.stage import Stage

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


async def writing(stage: Stage) -> None:
    """A comment that is being written."""
    stage.app.dock.restore({"split": False})
    commands.run(stage.app, "diff")
    await _front(stage, "2")
    await _say(stage, 0)


async def go_on(stage: Stage) -> None:
    """The keyboard is in the field again."""
    commands.run(stage.app, "focus_dock")
    stage.app.dock.action_comment()
    await stage.settle()


async def commented(stage: Stage) -> None:
    """Two hunks that something was said about."""
    await writing(stage)
    await stage.press("enter", "right_square_bracket")
    await _say(stage, 1)
    await stage.press("enter")
    await stage.settle()


async def memory(stage: Stage) -> None:
    """What the turn was told and what the session remembered, one of them opened."""
    await _front(stage, "7")
    memory_files.make(stage.app.host, stage.workspace, stage.language, stage.clock.now)
    every = stage.app.host.memory_desk.look().memories
    stage.app.dock.memory.show(OfSession(every[:2], every[2:4], len(every), str(stage.app.host.places.home)))
    stage.app.dock.list_shown("memory")
    await stage.settle()
    await stage.press("j", "enter")
    await stage.settle()


def servers(views: Callable[[], Sequence[ServerView]]) -> Callable[[Stage], Awaitable[None]]:
    """One of each state, the first opened."""

    async def act(stage: Stage) -> None:
        made = lines(views(), "/home/you")
        stage.app.host.servers.views = lambda workspace: views()  # it is looked at now and then
        await _front(stage, "8")
        stage.app.dock.servers.show(made, ())
        stage.app.dock.list_shown("servers")
        await stage.settle()
        await stage.press("enter")
        await stage.settle()

    return act


async def turns(stage: Stage) -> None:
    """What turns changed, one file about to be taken back."""
    await _front(stage, "9")
    said = stage.app.view.session.said()
    stage.app.dock.turns.show(background.turns(stage.language, stage.clock.now, said[-1].id), True)
    stage.app.dock.list_shown("turns")
    await stage.settle()
    await stage.press("j", "u")
    await stage.settle()
