"""What was used, as plots: bars that say what the figures say, spans by keys, and every size of window."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from datetime import date, timedelta

import pytest

from agent_core.messages import Usage
from agent_core.store.insights import LENGTHS, DayUse, FolderUse, Insights, ToolUse
from agent_core.store.usage import Booking, Costs, ModelCost, Spent
from nanoherm_tui import symbols
from nanoherm_tui.overlays.insights import InsightBody, InsightScreen
from nanoherm_tui.text import width
from nanoherm_tui.words.insight_plots import pictured
from nanoherm_tui.words.plots import GLYPHS, bar, columns, joined
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.overlay_app import OverlayApp, rows, shown
from tests.tui.test_app import Stage


@pytest.fixture(autouse=True)
def glyphs():
    yield
    symbols.set_ascii(None)


@each_row("ascii", [False, True])
@each_row(
    ("figures", "rows", "drawn", "plain"),
    [
        ([4, 2, 1, 0], 1, ["⣿⣤⣀ "], ["#:. "]),
        ([8, 4, 0.001, 0], 2, ["⣿   ", "⣿⣿⣀ "], ["#   ", "##. "]),
        ([3, 4], 1, ["⣶⣿"], ["|#"]),
        ([0, 0], 2, ["  ", "  "], ["  ", "  "]),
        ([], 1, [""], [""]),
    ],
)
def test_upright_bars_are_as_high_as_their_figures_and_nothing_is_as_good_as_none(figures, rows, drawn, plain, ascii):
    symbols.set_ascii(ascii)
    assert columns(figures, rows) == (plain if ascii else drawn)
    wide = columns(figures, rows, 2, 1)
    assert all(len(line) == 3 * len(figures) for line in wide)


@each_row(
    ("figure", "most", "drawn", "plain"),
    [
        (4, 4, "⣿⣿⣿⣿", "####"),
        (1, 8, "⡇", "|"),
        (0.0001, 8, "⡇", "|"),
        (3, 8, "⣿⡇", "#|"),
        (0, 8, "", ""),
        (0, 0, "", ""),
    ],
)
def test_a_bar_is_as_long_as_its_figure(figure, most, drawn, plain):
    symbols.set_ascii(False)
    assert bar(figure, most, 4) == drawn
    symbols.set_ascii(True)
    assert bar(figure, most, 4) == plain


def test_the_signs_of_bars_are_one_cell_in_every_terminal():
    assert {unicodedata.east_asian_width(sign) for sign in GLYPHS} == {"N"}


@each_row(
    ("count", "most", "parts", "each"),
    [(7, 10, [1] * 7, 1), (7, 7, [1] * 7, 1), (7, 4, [1, 2, 2, 2], 2), (8, 4, [2, 2, 2, 2], 2), (9, 1, [9], 9),
     (3, 0, [3], 3)],
)  # fmt: skip
def test_days_without_room_are_joined_and_none_is_left_out(count, most, parts, each):
    assert joined([1] * count, most, sum) == (parts, each)


def used(days):
    """Figures of `days` days; all in another folder each, with names that are data."""
    first = date(2026, 1, 1)
    return Insights(
        days, 40, 3, 90,
        Spent((ModelCost("qwen\x1b[2J3", 9, Usage(90_000, 10_000, 100_000, 30_000), 1.5, 2, ""),
               ModelCost("[red]深度", 3, Usage(10, 2, 12), 0.0, 3, "")), 4_000.0),
        tuple(DayUse((first + timedelta(n)).isoformat(), n % 5, 1_000 * (n % 7), n / 100, 900, 300)
              for n in range(days or 400)),
        tuple(range(24)),
        tuple(ToolUse(f"tool_{n}", 30 - n, n) for n in range(20)),
        tuple(FolderUse(f"/x/{n}/项目", 1, 100 - n, 0.0, 1) for n in range(12)),
        tuple(range(len(LENGTHS))),
    )  # fmt: skip


@pytest.mark.parametrize(("size", "ascii"), [((200, 60), False), ((80, 24), True), ((40, 10), False), ((12, 4), True)])
async def test_the_view_is_whole_in_every_size_and_span(size, ascii):
    symbols.set_ascii(ascii)
    app = OverlayApp()
    async with app.run_test(size=size) as pilot:
        screen = InsightScreen()
        asked = []
        screen.on_ask = asked.append
        app.push_screen(screen)
        await pilot.pause()
        assert asked == [30]
        screen.show(pictured(used(30)))
        for key, days in (("4", 0), ("right", 7), ("tab", 30), ("left", 7), ("4", 0)):
            await pilot.press(key)
            assert asked[-1] == days
            screen.show(pictured(used(days)))
            body = screen.query_one(InsightBody)
            assert all(strip.cell_length == body.size.width for strip in body._all(body.size.width))
        if size[0] >= 40:
            assert any("7 days" in line and " all " in line for line in rows(app))
            assert "Esc close" in shown(app)
        await pilot.press("end", "pageup", "down", "home", "pagedown")
        assert all(width(line) == size[0] for line in rows(app))
        every = "\n".join(strip.text for strip in body._all(body.size.width))
        if ascii:
            assert every.replace("深度", "").replace("项目", "").isascii()
        assert "deleted sessions do until they are gone." in " ".join(every.split()) or size[0] < 40
        if size[0] >= 80:
            assert "12 more were used." in every
            assert "a bar is" in every
            assert "$1.50+" in every
            assert "33%" in every
            assert "2-3 turns" in every
            titles = ("Tokens by day", "Dollars by day", "Turns by hour of the day")
            assert all(title in every for title in titles)
            for body.top in range(len(every.splitlines())):  # no page ends with a title: it comes with its plot
                assert body.paint(body.size.width)[-1].text.strip() not in titles
        assert "\x1b" not in every


async def test_a_late_answer_is_passed_over_and_nothing_says_so():
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = InsightScreen(5)
        app.push_screen(screen)
        await pilot.pause()
        assert "5 days" in shown(app)
        assert "Summing up" in shown(app)
        screen.show(pictured(used(30)))
        assert screen.query_one(InsightBody).found is None
        screen.show(pictured(Insights(5, 0, 0, 0, Spent(), (), (0,) * 24, ())))
        await pilot.pause()
        assert "Nothing was used then." in shown(app)
        assert "Esc close" in shown(app)
        assert "PgUp" not in shown(app)  # nothing scrolls
        screen.show(pictured(replace(used(30), days=5)))
        await pilot.pause()
        assert "PgUp PgDn scroll" in shown(app)
        await pilot.press("q")
        assert not isinstance(app.screen, InsightScreen)


async def test_the_command_sums_up_what_is_stored(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")], size=(120, 40)) as stage:
        store = stage.host.store
        session = store.create("/somewhere/far", title="old").id
        Costs(store.database).book(session, Booking("qwen3", Usage(1_234, 66, 1_300, 617), 0.25), 61.0)
        await stage.type("/insights 3")
        await stage.until(lambda: isinstance(stage.app.screen, InsightScreen))
        body = stage.app.screen.query_one(InsightBody)
        await stage.until(lambda: body.found is not None)
        await stage.pilot.pause()
        words = " ".join(shown(stage.app).split())
        assert "sessions 1 turns 0 requests 1 in 1.2k out 66 of it cached 50% cost $0.25 turns ran 1m 01s" in words
        assert body.found.days == 3
        await stage.pilot.press("5")
        await stage.until(lambda: body.found.days == 0)
