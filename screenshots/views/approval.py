"""Questions to the person, above the composer."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from agent_core.mcp import login
from agent_core.ports.asking import Question
from agent_core.servers import FormField
from agent_core.text import diff
from screenshots import content
from screenshots.stage import Stage
from screenshots.views.view import Act, View, dock, time_passes


async def _command_asks(stage: Stage) -> None:
    stage.send("run")
    await stage.asked()
    await time_passes(stage, 9)


async def _edit_asks(stage: Stage) -> None:
    stage.send("report")
    await stage.asked()
    await time_passes(stage, 9)


async def _edit_asks_in_dock(stage: Stage) -> None:
    await _edit_asks(stage)
    await dock(stage)
    await stage.asked()


async def _hunks_refused(stage: Stage) -> None:
    """Of a change of several files two hunks are refused; one file moves."""
    old, new = "src/ledger/util.py", "src/ledger/工具.py"
    made = replace(diff.build(new, None, "ZERO = 0\n"), old_path=old)
    dates = diff.build("src/ledger/dates.py", content.DATES_BEFORE, content.DATES_AFTER)
    diffs = (dates, made, diff.build(old, "ZERO = 0\n", None))
    grant = "every change of a file in the workspace"
    stage.app.approval.ask(Question("edit", "", "mode ask", diffs=diffs, grant=grant), stage.clock.now + 291)
    await stage.asked()
    for key in ("0.1", "1.0"):
        stage.app.approval.toggle_hunk(diffs, key, by_mouse=True)
    await stage.settle()


async def _hunks_in_dock(stage: Stage) -> None:
    """The dock in front, the cursor at a refused hunk."""
    await dock(stage)
    await stage.asked()
    await stage.press("left_square_bracket", "left_square_bracket", "right_square_bracket")
    await stage.settle()


async def _refusing(stage: Stage) -> None:
    await _edit_asks(stage)
    await stage.press("n")
    await stage.focused("approval-field")
    await stage.press(*{"en": "Not now", "zh": "先不改"}[stage.language])
    await stage.settle()


async def _editing_command(stage: Stage) -> None:
    await _command_asks(stage)
    await stage.press("e")
    await stage.focused("approval-field")


def _question(command: str, sandbox: str, rule: str, pattern: str = "") -> Act:
    """A command asks that runs in this sandbox."""

    async def act(stage: Stage) -> None:
        question = Question(
            "command", "Run a command", rule, command, str(stage.workspace), sandbox=sandbox,
            pattern=pattern or command, decisions=("once", "session", "always", "refuse"),
            grant="this exact command, in this folder",
        )  # fmt: skip
        stage.app.approval.ask(question, stage.clock.now + 291)
        await stage.asked()

    return act


def _web_asks(*keys: str, url: str = "", query: str = "", host: str = "") -> Act:
    """A page or a search asks; then these keys are pressed."""

    async def act(stage: Stage) -> None:
        grant = "every search there" if query else "every page of this host"
        question = Question(
            "web", "", "the web", url=url, query=query, host=host, grant=grant, pattern=host.split(" ")[0],
            decisions=("once", "session", "always", "refuse"),
        )  # fmt: skip
        stage.app.approval.ask(question, stage.clock.now + 291)
        await stage.asked()
        await stage.press(*keys)
        if keys:
            await stage.until(lambda: stage.app.approval._keys.armed, "the second w")
        await stage.settle()

    return act


def _log_in(*, waits: bool) -> Act:
    """A server wants a log-in: before the browser opens, or while it is awaited."""

    async def act(stage: Stage) -> None:
        form = (FormField("address", "Address"),) if waits else ()
        asked = login.OPENED if waits else login.TO_LOG_IN
        question = Question(
            "visit", "Log in", url=_LOGIN_PAGE, host="login.example.org", server="issues", text=asked, form=form,
            decisions=("once", "refuse"),
        )  # fmt: skip
        stage.app.approval.ask(question, stage.clock.now + 291)
        if waits:
            await stage.focused("approval-field")
        else:
            await stage.asked()
        await stage.settle()

    return act


_LOGIN_PAGE = (
    "https://login.example.org/authorize?response_type=code&client_id=nanoherm-4f1c&redirect_uri=http%3A%2F%2F127.0.0.1"
    "%3A41805%2Fcallback&state=BuYx1nsb66JrPafYgRN82A0HNstv9wG-_6CvMLRTXh8&code_challenge=_IxQweazxSx3B_U82M-Lcr7FS5z"
    "Yh5QEPPYcPP2UPnM&code_challenge_method=S256&resource=https%3A%2F%2Fissues.example.org%2Fmcp&scope=read%20write"
)


_PAGE = "https://docs.example.org/3.2/guide/streams.html#defaults"


def _always(*keys: str) -> Act:
    """What "always" would write is shown; then these keys are pressed."""

    async def act(stage: Stage) -> None:
        await _question("git push origin main", "workspace-write, network", "leaves the sandbox", "git push *")(stage)
        await stage.press("w")
        await stage.until(lambda: stage.app.approval.has_focus, "what is written")
        await stage.press(*keys)
        await stage.until(lambda: stage.app.approval._keys.armed, "the second w")
        await stage.settle()

    return act


async def _draft_open(stage: Stage) -> None:
    """A question that waits behind a draft."""
    await _command_asks(stage)
    await stage.write(stage.words.queued)


async def _person_asked(stage: Stage) -> None:
    stage.send("ask")
    await stage.asked()
    await stage.focused("approval-field")


async def _plan_asked(stage: Stage) -> None:
    await stage.command("/mode plan")
    await stage.until(lambda: stage.app.view.mode == "plan", "mode plan")
    stage.send("plan")
    await stage.asked()


VIEWS: Final[tuple[View, ...]] = (
    View("approval-command", _command_asks),
    View("approval-edit", _edit_asks),
    View("approval-edit-dock", _edit_asks_in_dock, dock),
    View("approval-hunks", _hunks_refused),
    View("approval-hunks-dock", _hunks_refused, _hunks_in_dock),
    View("approval-refusing", _refusing),
    View("approval-editing", _editing_command),
    View("approval-draft", _draft_open),
    View("approval-network", _question("git push origin main", "workspace-write, network", "leaves the sandbox")),
    View("approval-free", _question("systemctl --user restart shop", "no sandbox", "leaves the sandbox")),
    View("approval-page", _web_asks(url=_PAGE, host="docs.example.org")),
    View("approval-page-always", _web_asks("w", url=_PAGE, host="docs.example.org")),
    View("approval-login", _log_in(waits=False)),
    View("approval-login-waits", _log_in(waits=True)),
    View("approval-search", _web_asks(query="tidal streams 潮汐 timeout", host="search.example.org")),
    View("approval-always", _always()),
    View("approval-exactly", _always("tab")),
    View("approval-question", _person_asked),
    View("approval-plan", _plan_asked),
    View("ascii", _edit_asks, stage={"display.ascii": True}),
)
