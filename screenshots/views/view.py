"""What a view is, and the acts that several of them begin with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from nanoherm_tui import commands
from nanoherm_tui.overlays.frame import Overlay
from screenshots.stage import Stage

Act = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class View:
    name: str
    act: Act
    """Brings the stage to its state."""
    follow: Act | None = None
    """Done again in every size: shows the pane that does not fit beside the others."""
    stage: dict[str, Any] = field(default_factory=dict)
    """How the stage is set."""


async def nothing(stage: Stage) -> None:
    pass


async def dock(stage: Stage) -> None:
    commands.run(stage.app, "focus_dock")
    await stage.settle()


async def sessions(stage: Stage) -> None:
    commands.run(stage.app, "focus_sessions")
    await stage.settle()


async def time_passes(stage: Stage, seconds: float) -> None:
    stage.clock.now += seconds
    stage.app.ticking.step()
    await stage.settle()


async def others_at_work(stage: Stage) -> None:
    """Of the other sessions one asks, one has failed, one has ended unread."""
    rows = {row.title: row.id for row in stage.app.conversations.rows}
    titles = [title for title, _, _ in stage.words.others]
    app, front = stage.app, stage.app.view.session
    for title, part in ((titles[0], "report"), (titles[3], "break"), (titles[1], "short")):
        stage.clock.now += 1  # the list is in the order of what happened last
        app.conversations.show(stage.host.open(rows[title]))
        await stage.until(lambda: app.view.loaded, title)
        view = app.view
        stage.send(part)
        state = {"report": "asking", "break": "failed", "short": "idle"}[part]
        if part == "short":
            app.conversations.show(front)
        await stage.until(lambda view=view, state=state: view.stored and view.state == state, f"{title}: {state}")
        await stage.until(lambda view=view, part=part: part != "short" or view.unread, "an unread answer")
    app.conversations.show(front)
    await stage.settle()


async def stream(stage: Stage) -> None:
    stage.send("stream")
    began = stage.words.story[:-12]  # the newest word is held back until it is whole
    await stage.until(lambda: stage.app.view.model.entries[-1].text.startswith(began), "the streamed text")
    await time_passes(stage, 7)


async def transcript(stage: Stage) -> None:
    commands.run(stage.app, "focus_transcript")
    await stage.settle()


def overlay(command: str, *keys: str) -> Act:
    """The view of an overlay that a command opens, and keys pressed in it."""

    async def act(stage: Stage) -> None:
        commands.run(stage.app, command)
        await stage.until(lambda: isinstance(stage.app.screen, Overlay), command)
        await stage.settle()
        await stage.press(*keys)
        await stage.settle()

    return act


async def fresh(stage: Stage) -> None:
    await stage.until(lambda: stage.host.model.state.settled, "a model")
    await stage.settle()


FRESH: Final = {"stored": False}
