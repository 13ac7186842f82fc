"""Going back: a session rewound, files rolled back."""

from __future__ import annotations

from typing import Final

from agent_core import events
from agent_core.events import Envelope
from nanoherm_tui.overlays.rewind import RewindScreen
from nanoherm_tui.overlays.rollback import RollbackScreen
from screenshots import background
from screenshots.stage import Stage
from screenshots.views.view import Act, View, overlay


def _rollback(*keys: str) -> Act:
    """Files that are rolled back, after these keys."""

    async def act(stage: Stage) -> None:
        said = stage.app.view.session.said()
        turns = background.turns(stage.language, stage.clock.now, said[-1].id)
        screen = RollbackScreen(turns)
        screen.ask_plan = lambda turn_id: screen.show_plan(background.plan(turn_id))
        screen.ask_diff = lambda _, path: screen.show_diff(path, background.diff())
        stage.app.open_overlay(screen)
        await stage.settle()
        await stage.press(*keys)
        await stage.pilot.pause(0.7)  # an Enter that acts counts by then, and is drawn so
        await stage.settle()

    return act


async def _rolled_back(stage: Stage) -> None:
    plan = background.plan("")
    left = tuple(f"{file.path}: {file.why}" for file in plan.files if file.does == "leave")
    told = events.FilesRolledBack("", tuple(file.path for file in plan.acts), left)
    stage.app.conversations.deliver([Envelope(stage.app.view.id, 0, stage.clock.now, told)])
    await stage.settle()


async def _rewind_what(stage: Stage) -> None:
    """Conversation, files, or both."""
    await overlay("rewind")(stage)
    screen = stage.app.screen
    assert isinstance(screen, RewindScreen)
    turn = stage.app.view.session.said()[-1].id
    screen.ask_plan = lambda turn_id: screen.show_plan(background.plan(turn_id))
    screen.show_turns(background.turns(stage.language, stage.clock.now, turn))
    await stage.press("enter", "down", "down")
    await stage.settle()


VIEWS: Final[tuple[View, ...]] = (
    View("rewind", overlay("rewind")),
    View("rewind-what", _rewind_what),
    View("rollback", _rollback()),
    View("rollback-files", _rollback("enter", "down", "space", "down", "down")),
    View("rollback-asking", _rollback("enter", "enter")),
    View("rollback-diff", _rollback("enter", "d")),
    View("rolled-back", _rolled_back),
    View("rewind-chosen", overlay("rewind", "enter")),
)
