"""Status line and title: fixed fields, nothing moves when figures grow, whole fields go when the row is narrow."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from nanoherm_tui import i18n
from nanoherm_tui.panes.bodies import Row, Span, paint_row, plain
from nanoherm_tui.panes.status import StatusInfo, StatusLine, status_row
from nanoherm_tui.panes.title import TitleRow, title_row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import Cost, money, shorten_home, width
from tests.rows import each_row
from tests.tui.panes_app import PaneApp, lines, styles
from tests.tui.transcript_helpers import LOOK

FULL = StatusInfo("ask", "workspace-write", "coder-30b", True, False, 5, 48.3, 1, 12_345, 1_100, 31, Cost(0.04))


async def shown(info, cells=120, **app):
    line = StatusLine()
    async with PaneApp(line, **app).run_test(size=(cells, 1)) as pilot:
        line.update(info)
        await pilot.pause()
        return lines(line)[0]


async def test_everything_is_on_one_row_in_words():
    assert await shown(FULL) == (
        "  ask   workspace-write   coder-30b    ? 1 waiting   ⠋ step 5  48 s"
        "            12.3k in   1.1k out   ctx  31%    $0.04  "
    )


async def test_on_wide_screens_what_runs_stands_in_the_middle():
    row = await shown(replace(FULL, waiting=0), 200)
    assert row.index("⠋") == 92
    assert row.endswith("12.3k in   1.1k out   ctx  31%    $0.04  ")


@pytest.mark.parametrize(
    ("cells", "name"), [(80, "a-model-whose-name-is-rathe⋯"), (200, "a-model-whose-name-is-rather-long-2026-preview")]
)
async def test_a_long_name_of_a_model_is_cut_where_there_is_no_room_for_it(cells, name):
    row = await shown(StatusInfo("ask", "workspace-write", "a-model-whose-name-is-rather-long-2026-preview"), cells)
    assert row.strip() == f"ask   workspace-write   {name}"


async def test_at_rest_only_what_is_known_is_shown():
    assert (await shown(StatusInfo("plan", "read-only", "demo (scripted)"))).strip() == (
        "plan   read-only   demo (scripted)"
    )


async def test_no_sandbox_is_said_in_words_and_warns():
    line = StatusLine()
    app = PaneApp(line)
    async with app.run_test(size=(100, 1)) as pilot:
        line.update(StatusInfo("ask", "", "m"))
        await pilot.pause()
        assert lines(line)[0].startswith("  ask   no sandbox   m")
        assert styles(line, 0, 2, 5) == [app.look.style("accent", "ground", bold=True)]
        assert styles(line, 0, 8, 18) == [app.look.style("warn", "ground")]
        line.update(StatusInfo("auto", "danger-full-access", "m"))
        await pilot.pause()
        assert styles(line, 0, 9, 27) == [app.look.style("fail", "ground")]


GROWING = [
    {"tokens_in": 0, "tokens_out": 0, "context_percent": 0},
    {"tokens_in": 999, "tokens_out": 45, "context_percent": 9},
    {"tokens_in": 99_949, "tokens_out": 1_000, "context_percent": 99},
    {"tokens_in": 1_234_567, "tokens_out": 999_999, "context_percent": 100},
    {"cost": Cost(None)},
    {"cost": Cost(0.0001)},
    {"cost": Cost(12.345, at_least=True)},
    {"cost": Cost(1_234.5)},
    {"cost": Cost(98_765.4, at_least=True)},
    {"seconds": 0.0},
    {"seconds": 59.9},
    {"seconds": 75.0},
    {"seconds": 3_599.0},
    {"seconds": 86_399.0},
]


@pytest.mark.parametrize("cells", [80, 120, 200])
def test_figures_never_push_each_other(cells):
    def places(info):
        row = status_row(info, 0, cells)
        left = plain(row.left)
        return left.index("step"), width(left), plain(row.right).index("ctx"), width(plain(row.right))

    assert len({places(replace(FULL, **change)) for change in GROWING}) == 1


@each_row(
    ("cost", "shown"),
    [
        (Cost(0.04), "$0.04"),
        (Cost(0.04, at_least=True), "$0.04+"),
        (Cost(0.001), "<$0.01"),
        (Cost(0.001, at_least=True), "$0.01+"),
        (Cost(0.0, at_least=True), "$0.00+"),
        (Cost(12.345), "$12.35"),
        (Cost(12.345, at_least=True), "$12.3+"),
        (Cost(1_234.5), "$1234"),
        (Cost(98_765.4), "$98765"),
        (Cost(98_765.4, at_least=True), "$99k+"),
        (Cost(None), "$?"),
    ],
)
def test_a_cost_says_when_it_is_not_all_and_when_it_is_not_known(cost, shown):
    assert money(cost) == shown
    assert width(shown) <= 6


def test_what_costs_nothing_and_what_was_not_asked_yet_have_no_figure():
    for cost in (None, Cost(0.0)):
        assert "$" not in plain(status_row(replace(FULL, cost=cost), 0, 200).right)
    assert "$?" in plain(status_row(replace(FULL, cost=Cost(None)), 0, 200).right)


def test_when_narrow_whole_fields_go_those_first_that_can_be_done_without():
    order = {"cost": "$0.04", "tokens": "12.3k", "model": "coder", "context": "ctx", "waiting": "1 waiting"}
    gone = []
    for cells in range(130, 12, -1):
        row = status_row(FULL, 0, cells)
        text = plain(row.left) + " " + plain(row.right)
        gone += [name for name, words in order.items() if words not in text and name not in gone]
        assert width(plain(row.left)) + width(plain(row.right)) <= cells
        assert text.startswith("ask")
    assert gone == list(order)
    assert "step 5" in plain(status_row(FULL, 0, 40).left)
    info = StatusInfo("ask", "workspace-write", "a-model", running=True, step=1, seconds=4.0)
    row = plain(status_row(info, 0, 36).left)
    assert row.split() == ["ask", "workspace-write", sym("running", 0), "4", "s"], "that something runs, not with what"


def test_whether_there_is_a_sandbox_is_said_on_the_smallest_screen_and_beside_any_hint():
    assert "no sandbox" in plain(status_row(replace(FULL, sandbox=""), 0, 36).left)
    assert "step 5" in plain(status_row(replace(FULL, sandbox=""), 0, 36).left)
    row = status_row(replace(FULL, sandbox="", hint="Copied 1,234 characters to the clipboard. " * 3), 0, 75)
    assert "no sandbox" in plain(row.left)
    assert "Copied 1,234" in plain(row.left)


@pytest.mark.parametrize("language", i18n.LANGUAGES)
async def test_the_row_is_exactly_as_wide_as_the_screen_at_any_width(language):
    i18n.set_language(language)
    line, hostile = StatusLine(), replace(FULL, model="模型\x1b[2J[b]\n" * 9, hint="再按 Ctrl+C 退出")
    async with PaneApp(line, theme="ansi").run_test(size=(200, 1)) as pilot:
        for info in (FULL, hostile):
            line.update(info)
            for cells in (200, 140, 120, 97, 80, 60, 41, 23, 12, 5, 4, 3, 1):
                await pilot.resize_terminal(cells, 1)
                await pilot.pause()
                assert len(lines(line)) == 1


async def test_a_hint_takes_the_place_of_what_runs():
    row = await shown(replace(FULL, hint="Ctrl+C again quits."))
    assert "Ctrl+C again quits." in row
    assert "step 5" not in row


@pytest.mark.parametrize(
    ("cells", "sandbox", "shown"),
    [
        (76, "workspace-write", "ask   workspace-write    Deleted; /restore brings it back."),
        (48, "workspace-write", "ask    Deleted; /restore brings it back."),
        (36, "workspace-write", "ask   Deleted; /restore brings it b⋯"),
        (36, "", "ask   no sandbox   Deleted; /restor⋯"),
    ],
)
def test_a_hint_without_room_takes_the_place_of_a_sandbox_that_is_as_usual(cells, sandbox, shown):
    info = StatusInfo("ask", sandbox, hint="Deleted; /restore brings it back.")
    assert paint_row(status_row(info, 0, cells), cells, LOOK).text.rstrip() == shown


async def test_stopping_is_said():
    assert "⠋ stopping" in await shown(replace(FULL, stopping=True))


async def test_it_is_painted_only_when_what_it_shows_has_changed():
    line = StatusLine()
    async with PaneApp(line).run_test(size=(120, 1)) as pilot:
        line.update(FULL)
        await pilot.pause()
        paints = line.paints
        for seconds in (48.4, 48.7, 48.95):
            line.update(replace(FULL, seconds=seconds, tokens_in=12_340))
        await pilot.pause()
        assert line.paints == paints
        line.update(replace(FULL, seconds=49.0))
        await pilot.pause()
        line.tick(1)
        await pilot.pause()
        assert line.paints == paints + 2
        assert "⠙ step 5  49 s" in lines(line)[0]
        line.update(replace(FULL, running=False))
        await pilot.pause()
        line.tick(2)
        await pilot.pause()
        assert line.paints == paints + 3


# -- title --------------------------------------------------------------------------------------------------------


async def test_the_title_stands_on_the_transcripts_text_column_with_folder_and_branch_at_the_right():
    title = TitleRow()
    app = PaneApp(title)
    async with app.run_test(size=(70, 1)) as pilot:
        title.update("修复 parse_date\n时区", str(Path.home() / "code/ledger"), "fix/dst")
        await pilot.pause()
        row = lines(title)[0]
        assert row.startswith("    修复 parse_date 时区  ")
        assert row.endswith("  ~/code/ledger  fix/dst   ")
        paints = title.paints
        title.update("修复 parse_date 时区", str(Path.home() / "code/ledger"), "fix/dst")
        await pilot.pause()
        assert title.paints == paints


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (60, "A rather long title  ~/code/some/where/ledger  fix/dst"),
        (48, "A rather long title  ~/code/some/where/ledger"),
        (40, "A rather long title  ~/code/some⋯/ledger"),
        (20, "A rather long title"),
        (12, "A rather lo⋯"),
    ],
)
def test_the_branch_gives_way_first_then_the_folder_then_the_title(cells, expected):
    row = title_row("A rather long title", "~/code/some/where/ledger", "fix/dst", cells)
    text = paint_row(row, cells, LOOK).text.rstrip()
    assert re.sub(" {2,}", "  ", text) == expected


def test_a_title_longer_than_its_row_leaves_the_folder_a_third():
    row = title_row("word " * 20, "~/code/some/where/ledger", "", 60)
    assert paint_row(row, 60, LOOK).text == "word word word word word word word wo⋯  ~/code/some/⋯/ledger"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/home/u/code/x", "~/code/x"), ("/home/u", "~"), ("/home/user2/x", "/home/user2/x"), ("/srv", "/srv")],
)
def test_the_home_is_written_as_a_tilde(path, expected):
    assert shorten_home(path, "/home/u") == expected


async def test_the_title_row_is_exactly_as_wide_as_its_pane_at_any_width():
    title = TitleRow()
    async with PaneApp(title).run_test(size=(70, 1)) as pilot:
        title.update("标题[b]\x1b[2J" * 9, "/工作/目录/很长的名字/ledger", "分支/很长")
        for cells in (70, 41, 30, 22, 13, 8, 7, 6, 3, 1):
            await pilot.resize_terminal(cells, 1)
            await pilot.pause()
            assert len(lines(title)) == 1


# -- cutting spans ------------------------------------------------------------------------------------------------


@each_row(
    ("texts", "cells", "expected"),
    [
        (("ab", "cd"), 4, "abcd"),
        (("ab", "cd"), 3, "ab⋯"),
        (("ab", "cd"), 2, "a⋯"),
        (("ab", "中文"), 4, "ab⋯ "),
        (("中文", "ab"), 4, "中⋯ "),
        (("ab", "cd"), 1, "⋯"),
        (("ab", "cd"), 0, ""),
        ((), 5, ""),
    ],
)
def test_spans_are_cut_as_one_text(texts, cells, expected):
    assert paint_row(Row(tuple(Span(t) for t in texts)), cells, LOOK).text.rstrip() == expected.rstrip()


BOX = StatusInfo("auto", "workspace-write", "m", network=True, missing=True)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (200, "auto   workspace-write, network, no mount view: .git and metadata not protected   m"),
        (60, "auto   workspace-write, network, no mount view   m"),
        (40, "auto   workspace-write, network   m"),
        (30, "auto   workspace-write   m"),
        (22, "auto   workspace-⋯"),
        (8, "auto"),
    ],
)
async def test_what_confines_commands_is_said_as_far_as_there_is_room(cells, words):
    assert (await shown(BOX, cells)).strip() == words


async def test_a_goal_stands_beside_the_mode_and_is_cut():
    row = await shown(replace(FULL, mode="goal", goal="所有测试通过，一个也不许跳过，文档也要更新"), 140)
    assert row.startswith("  goal   workspace-write   goal 所有测试通过，一个也不许")
    assert "⋯   coder-30b" in row


@pytest.mark.parametrize(
    ("info", "role"),
    [
        (StatusInfo("ask", "workspace-write"), "accent"),
        (StatusInfo("plan", "read-only"), "ok"),
        (StatusInfo("debug", "read-only"), "ok"),
        (StatusInfo("auto", "workspace-write"), "warn"),
        (StatusInfo("goal", "workspace-write"), "warn"),
        (StatusInfo("auto", "danger-full-access", yolo=True), "fail"),
    ],
)
async def test_the_colour_of_the_mode_tells_how_free_it_is(info, role):
    line = StatusLine()
    app = PaneApp(line)
    async with app.run_test(size=(100, 1)) as pilot:
        line.update(info)
        await pilot.pause()
        assert styles(line, 0, 2, 2 + len(info.mode)) == [app.look.style(role, "ground", bold=True)]
        assert ("yolo: danger-full-access" in lines(line)[0]) == info.yolo


@pytest.mark.parametrize(
    ("waiting", "elsewhere", "cells", "words"),
    [
        (2, 0, 120, "? 2 waiting"),
        (1, 1, 120, "? 1 waiting elsewhere (F7)"),
        (3, 1, 120, "? 3 waiting, 1 elsewhere (F7)"),
        (3, 1, 76, "? 1 elsewhere"),
        (3, 3, 26, "? 3"),
    ],
)
def test_questions_of_sessions_out_of_view_are_counted_apart_with_the_key_that_leads_there(
    waiting, elsewhere, cells, words
):
    info = StatusInfo(sandbox="read-only", waiting=waiting, elsewhere=elsewhere, inbox="F7")
    assert plain(status_row(info, 0, cells).left).endswith(f"   {words}")
