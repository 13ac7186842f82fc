"""The conversation: what was said and done, found, selected, streamed."""

from __future__ import annotations

from typing import Final

from agent_core import intents
from agent_core.events import Envelope, ToolArriving
from nanoherm_tui import commands
from screenshots.stage import Stage
from screenshots.views.view import View, others_at_work, stream, time_passes


async def _work(stage: Stage) -> None:
    """The repair done, other sessions at work, the changes in the dock."""
    await others_at_work(stage)
    stage.app.dock.show_diffs(stage.app.view.diffs)
    stage.clock.now += 1
    stage.send("run")
    await stage.asked()
    stage.app.conversations.send(intents.Answer(stage.app.approval.current.id, "once"))
    await stage.until(lambda: stage.app.view.model.running, "the running command")
    stage.app.conversations.reload()
    await time_passes(stage, 12)


async def _thought(stage: Stage) -> None:
    stage.send("think")
    await stage.until(lambda: stage.app.view.model.running, "a thought")
    await stage.settle()


async def _arriving(stage: Stage) -> None:
    """A long call that is being written: its size so far is that of any moment, so it is told by hand."""
    stage.send("write")
    model = stage.app.view.model
    begun = stage.words.report_answer[:-12]  # the newest word is held back until it is whole
    await stage.until(lambda: model.entries[-1].text.startswith(begun), "what is said before the call")
    told = ToolArriving("write_file", 12_345)
    stage.app.conversations.deliver([Envelope(stage.app.view.id, 0, stage.clock.now, told)])
    await time_passes(stage, 7)


async def _find(stage: Stage) -> None:
    commands.run(stage.app, "focus_transcript")
    await stage.press("slash", *"parse")
    await stage.settle()


async def _selection(stage: Stage) -> None:
    commands.run(stage.app, "focus_transcript")
    await stage.press("G", "k", "k", "v", "down", "down", "e")
    await stage.settle()


async def _new_lines(stage: Stage) -> None:
    """An answer that came while an earlier part of the session was read."""
    stage.send("long")
    await stage.until(lambda: stage.app.view.usage.total_tokens and stage.app.view.state == "idle", "an answer")
    stage.send("long")
    await stage.until(lambda: stage.app.view.state == "running", "a turn")
    commands.run(stage.app, "focus_transcript")
    await stage.press("g")
    await stage.until(lambda: stage.app.view.state == "idle", "a long answer")
    await stage.settle()


async def _errors(stage: Stage) -> None:
    stage.send("break")
    await stage.until(lambda: stage.app.view.state == "failed", "a failure")
    await stage.command("/undo many")
    await stage.command("/theme solarized")
    await stage.settle()


async def _details(stage: Stage) -> None:
    commands.run(stage.app, "details")
    await stage.settle()


async def _own_command(stage: Stage) -> None:
    """A command of the person's own, done; another one being written."""
    await stage.command("!ls src/ledger")
    await stage.until(lambda: any(call.name == "shell" and call.text for call in stage.app.view.calls.values()), "ls")
    await stage.write("!git log --oneline")


VIEWS: Final[tuple[View, ...]] = (
    View("main", _work),
    View("streaming", stream),
    View("thinking", _thought),
    View("arriving", _arriving),
    View("details", _details),
    View("find", _find),
    View("selection", _selection),
    View("new-lines", _new_lines),
    View("errors", _errors),
    View("own-command", _own_command),
)
