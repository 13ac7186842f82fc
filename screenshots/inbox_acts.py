"""Sessions out of view that ask, for the pictures of the inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_core.events import Envelope, QuestionAsked
from agent_core.ports import Question
from agent_core.text import diff
from nanoherm_tui import commands
from nanoherm_tui.overlays.inbox import InboxScreen
from screenshots import content

if TYPE_CHECKING:
    from screenshots.stage import Stage

_ALL: Final = ("once", "session", "always", "refuse")


async def elsewhere(stage: Stage) -> None:
    """Two other sessions ask, one of them for a sub-agent too; the one in view rests."""
    app, here = stage.app, stage.app.conversations.view
    assert here is not None
    place = str(stage.workspace)
    command = Question("command", "Run a command", "leaves the sandbox", "git push origin main", place, decisions=_ALL)
    dates = diff.build("src/ledger/dates.py", content.DATES_BEFORE, content.DATES_AFTER)
    edit = Question("edit", "", "mode ask", diffs=(dates,), decisions=_ALL)
    child = Question(
        "command", "Run a command", "mode ask", "pytest -q tests/test_dates.py", place, agent="agent-2 reviewer",
        decisions=_ALL,
    )  # fmt: skip
    others = [row.id for row in app.conversations.rows if row.id != here.id][:2]
    for other, asked in zip(others, ((edit, child), (command,)), strict=True):
        app.conversations.show(stage.host.open(other))
        await stage.until(lambda: app.view is not None and app.view.loaded, "another session")
        for n, question in enumerate(asked, 1):
            event = QuestionAsked(question, stage.clock.now + 60 * n + 37)
            app.conversations.deliver([Envelope(other, n, stage.clock.now, event)])
    app.conversations.show(here.session)
    await stage.settle()


async def inbox(stage: Stage) -> None:
    """The list, when a refusal would count."""
    await elsewhere(stage)
    commands.run(stage.app, "inbox")
    await stage.until(lambda: isinstance(stage.app.screen, InboxScreen), "the inbox")
    screen = stage.app.screen
    assert isinstance(screen, InboxScreen)
    await stage.until(lambda: screen.arming.armed(draft_empty=True), "the time for a refusal")
    screen.refresh_look()
    await stage.settle()


async def refusing_all(stage: Stage) -> None:
    """One press before all of a session are refused."""
    await inbox(stage)
    await stage.press("N")
    await stage.settle()
