"""The list of sessions, the folders they work in, and the inbox of those that ask."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agent_core.events import Envelope, QuestionAsked
from agent_core.git.worktrees import Worktree
from agent_core.ports.asking import Question
from agent_core.text import diff
from nanoherm_tui import commands
from nanoherm_tui.commands import worktree
from nanoherm_tui.overlays.inbox import InboxScreen
from screenshots import content
from screenshots.stage import Stage
from screenshots.views.view import FRESH, View, nothing, others_at_work, overlay, sessions


async def _list(stage: Stage) -> None:
    await others_at_work(stage)
    await sessions(stage)
    await stage.press("j")
    await stage.settle()


async def _deleted(stage: Stage) -> None:
    await sessions(stage)
    await stage.press("j", "d")
    await stage.shown("/restore")


async def _folders(stage: Stage) -> None:
    await overlay("new_in")(stage)
    await stage.press("shift+tab")
    await stage.shown("notes")


def _worktrees() -> tuple[Worktree, ...]:
    place = Path.home()
    return (
        Worktree(place / "shop-fix-dates", "fix/dates", "1", changed=3, unmerged=1),
        Worktree(place / "shop-日期", "日期", "2"),
        Worktree(place / "shop-side-1", "side-1", "3", is_missing=True),
    )


async def _worktree_list(stage: Stage) -> None:
    worktree.offer(stage.app, _worktrees())
    await stage.settle()


async def _worktree_remove(stage: Stage) -> None:
    worktree.ask_first(stage.app, _worktrees()[0], lambda: None)
    await stage.settle()


_ALL: Final = ("once", "session", "always", "refuse")


async def _elsewhere(stage: Stage) -> None:
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


async def _inbox(stage: Stage) -> None:
    """The list, when a refusal would count."""
    await _elsewhere(stage)
    commands.run(stage.app, "inbox")
    await stage.until(lambda: isinstance(stage.app.screen, InboxScreen), "the inbox")
    screen = stage.app.screen
    assert isinstance(screen, InboxScreen)
    await stage.until(lambda: screen.arming.armed(draft_empty=True), "the time for a refusal")
    screen.refresh_look()
    await stage.settle()


async def _refusing_all(stage: Stage) -> None:
    """One press before all of a session are refused."""
    await _inbox(stage)
    await stage.press("N")
    await stage.settle()


VIEWS: Final[tuple[View, ...]] = (
    View("sessions", _list, sessions),
    View("sessions-empty", nothing, sessions, FRESH),
    View("sessions-deleted", _deleted),
    View("folders", _folders),
    View("worktrees", _worktree_list),
    View("worktree-remove", _worktree_remove),
    View("rename", overlay("rename")),
    View("inbox", _inbox),
    View("inbox-all", _refusing_all),
    View("inbox-elsewhere", _elsewhere),
)
