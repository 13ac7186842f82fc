"""Searching sessions, comparing two, and what all have used."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Final

from agent_core import intents
from agent_core.messages import Message, ToolCall, ToolResult, Usage, tool, user
from agent_core.store.usage import Booking, Costs
from nanoherm_tui import commands
from nanoherm_tui.commands.compare import side_by_side
from nanoherm_tui.overlays.compare import CompareScreen
from nanoherm_tui.overlays.insights import InsightBody, InsightScreen
from nanoherm_tui.overlays.search import SearchScreen
from screenshots import content
from screenshots.stage import Stage
from screenshots.views.view import View, overlay


async def _usage(stage: Stage) -> None:
    """What two models have used: of one the price is known, of the other it is not."""
    for n, model in enumerate(("", "coder-480b"), 1):
        if model:
            stage.app.conversations.send(intents.SetModel(model))
            await stage.until(lambda: stage.app.view.answering[0] == "coder-480b", "the other model")
        stage.send("short")
        used = n * content.TOKENS
        await stage.until(
            lambda used=used: stage.app.view.usage.total_tokens == used and stage.app.view.state == "idle", "an answer"
        )
    await overlay("usage")(stage)


_SOUGHT: Final = "parse_date"


async def _search(stage: Stage, query: str = _SOUGHT) -> None:
    """Where a name of the repair was spoken of."""
    commands.run(stage.app, "search")
    await stage.until(lambda: isinstance(stage.app.screen, SearchScreen), "the search")
    screen = stage.app.screen
    assert isinstance(screen, SearchScreen)
    await stage.settle()
    await stage.press(*query)
    await stage.until(lambda: screen.answer is not None and screen.answer.query == query, "the hits")
    await stage.until(lambda: screen.answer is not None and not screen.answer.left, "all hits")
    assert screen.answer is not None
    screen.show(replace(screen.answer, seconds=0.012))  # how long it took differs from run to run
    await stage.settle()


async def _narrowed(stage: Stage) -> None:
    """The same, of the model alone and lately; a field has the keyboard, and a date is half typed."""
    await _search(stage, f"{_SOUGHT} in:here since:30d by:model before:2026-")
    await stage.press("tab", "tab")
    await stage.settle()


async def _nothing(stage: Stage) -> None:
    """Nothing fits."""
    await _search(stage, f"{_SOUGHT} in:elsewhere")


async def _compare(stage: Stage) -> None:
    """The repair, and a fork of it that went another way."""
    store, app = stage.host.store, stage.app
    assert app.view is not None
    first = app.view.id
    fork = store.fork(first).id
    words = stage.words
    call = ToolCall("other-1", "run_command", {"command": "pytest -q tests/test_dates.py"})
    for message in (
        user(words.title),
        Message("assistant", "", reasoning=words.where_answer, tool_calls=(call,)),
        tool(ToolResult("other-1", "run_command", "2 failed\nE   AssertionError", ok=False, effect="done")),
        Message("assistant", words.where_answer),
    ):
        store.append(fork, replace(message, created=stage.clock.now))
    for message in (user(words.title), Message("assistant", f"{words.where_answer}\n\n- `dates.py`\n- `report.py`")):
        store.append(first, replace(message, created=stage.clock.now))
    for session, cost in ((first, 0.42), (fork, None)):
        store.costs.book(session, Booking("coder-30b", Usage(41_200, 3_100, 44_300), cost), 192.0)
    side_by_side(app, (first, fork))
    await stage.until(lambda: isinstance(app.screen, CompareScreen), "both sessions")
    await stage.settle()
    await stage.press("j", "right")
    await stage.settle()


async def _used(stage: Stage) -> None:
    """Forty days of work."""
    dice = random.Random(11)
    row = stage.app.conversations.rows[0]
    for back in range(40):
        costs = Costs(stage.host.store.database, lambda back=back: stage.clock.now - back * content.DAY)
        for model in ("coder-30b", "coder-480b", "潮汐-32b"):
            if (stage.clock.now // content.DAY - back + 4) % 7 < 5 and dice.random() < 0.8:
                sent = dice.randrange(20_000, 400_000)
                usage = Usage(sent, sent // 20, None, dice.randrange(sent))
                costs.book(row.id, Booking(model, usage, None if model == "coder-480b" else sent / 1e6), 340.0)
    await _insights(stage)


async def _insights(stage: Stage) -> None:
    """What all sessions have used."""
    commands.run(stage.app, "insights")
    await stage.until(lambda: isinstance(stage.app.screen, InsightScreen), "the view")
    await stage.settle()
    await stage.until(lambda: stage.app.screen.query_one(InsightBody).found is not None, "the sums")
    await stage.settle()


async def _to_the_end(stage: Stage) -> None:
    await stage.press("end")
    await stage.settle()


VIEWS: Final[tuple[View, ...]] = (
    View("search", _search),
    View("search-narrowed", _narrowed),
    View("search-nothing", _nothing),
    View("compare", _compare),
    View("usage", _usage, stage={"providers": content.PRICES, "budget.tokens": 2_000_000}),
    View("insights", _used),
    View("insights-below", _used, _to_the_end),
    View("insights-nothing", _insights, stage={"stored": False}),
)
