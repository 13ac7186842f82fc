"""The session list: grouped, stable under the cursor, the same width everywhere, painted only on change."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from nanoherm_tui import i18n, symbols
from nanoherm_tui.panes.sessions import SessionItem, SessionsPane, group_by_workspace, session_row
from nanoherm_tui.text import one_line
from tests.tui.panes_app import PaneApp, lines, styles

NOW = 1_700_000_000.0


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The list's clock stands still."""
    clock = SimpleNamespace(now=NOW)
    monkeypatch.setattr("nanoherm_tui.panes.sessions.time", SimpleNamespace(time=lambda: clock.now))
    return clock


def item(id, title="A title", workspace="/w/ledger", state="idle", ago=0.0):
    return SessionItem(id, title, workspace, state, NOW - ago)


ITEMS = (
    item("a", "修复 parse_date 时区", state="running"),
    item("b", "Split the import job", state="asking", ago=125),
    item("c", "README 中文版", state="unread", ago=18 * 60),
    item("d", "Refactor db pool", "/w/atlas", "failed", 3600),
    item("e", "[b]bold[/b] [/] \x1b[2J\x07 \u202eevil", "/w/atlas", ago=2 * 86400),
)


async def shown(items, current="a", size=(28, 20), **app):
    pane = SessionsPane()
    app = PaneApp(pane, **app)
    async with app.run_test(size=size) as pilot:
        pane.update(items, current)
        await pilot.pause()
        return lines(pane)


def test_sessions_are_grouped_by_workspace_the_current_one_first_then_the_newest():
    items = [
        item("x", workspace="/w/old", ago=900),
        item("y", workspace="/w/new"),
        item("z", workspace="/w/mid", ago=9),
    ]
    groups = group_by_workspace(items, "x")
    assert [(name, [i.id for i in group]) for name, group in groups] == [("old", ["x"]), ("new", ["y"]), ("mid", ["z"])]


def test_two_folders_of_the_same_name_are_told_apart_by_their_parents():
    items = [item("x", workspace="/w/one/app"), item("y", workspace="/w/two/app"), item("z", workspace="/")]
    assert [name for name, _ in group_by_workspace(items, "x")] == ["one/app", "two/app", "/"]


async def test_a_long_heading_keeps_the_folders_own_name():
    twins = [item(n, workspace=f"/w/{n}-parent-of-a-very-long-name/shop") for n in "ab"]
    rows = await shown(twins)
    assert [row.rstrip() for row in rows if "shop" in row] == [
        "  a-parent-of-a-very⋯/shop",
        "  b-parent-of-a-very⋯/shop",
    ]


async def test_ages_are_drawn_anew_only_when_one_of_them_reads_otherwise(clock):
    pane = SessionsPane()
    async with PaneApp(pane).run_test(size=(28, 20)) as pilot:
        pane.update(ITEMS, "a")
        await pilot.pause()
        paints = pane.paints
        clock.now += 30
        pane._look_at_ages()
        await pilot.pause()
        assert pane.paints == paints
        clock.now += 30
        pane._look_at_ages()
        await pilot.pause()
        assert pane.paints == paints + 1
        assert lines(pane)[3].endswith(" 1m  ")


async def test_of_very_many_sessions_only_rows_that_have_changed_are_made_and_only_those_seen_are_worked_out(
    monkeypatch,
):
    made, worked_out = [], []

    def counted(item, *args, **options):
        made.append(item.id)
        return session_row(item, *args, **options)

    def cleaned(text):
        worked_out.append(text)
        return one_line(text)

    monkeypatch.setattr("nanoherm_tui.panes.sessions.session_row", counted)
    monkeypatch.setattr("nanoherm_tui.panes.sessions.one_line", cleaned)
    many = [item(f"{n}", f"title {n}", ago=n) for n in range(2_000)]
    pane = SessionsPane()
    async with PaneApp(pane).run_test(size=(28, 20)) as pilot:
        pane.update(many, "0")
        await pilot.pause()
        assert len(made) == 2_000
        assert len(worked_out) <= 20
        made.clear()
        pane.update([many[0], replace(many[1], state="failed", title="renamed"), *many[2:]], "0")
        await pilot.pause()
        assert made == ["1"]
        assert "✗ renamed" in lines(pane)[4]
        pane.update([*many[:1], *many[2:]], "5")
        await pilot.pause()
        assert sorted(made) == ["0", "1", "5"]
        assert "title 2 " in lines(pane)[4]
        i18n.set_language("zh")
        pane.refresh_look()
        await pilot.pause()
        assert "刚刚" in lines(pane)[4]


async def test_a_row_shows_state_title_and_age():
    rows = await shown(ITEMS)
    assert rows[0] == "  Sessions               5  "
    assert rows[1].strip() == ""
    assert rows[2].rstrip() == "  ledger"
    assert rows[3] == "▐ ⠋ 修复 parse_date ⋯  now  "  # half of 时 would fit
    assert rows[4] == "  ? Split the import j⋯ 2m  "
    assert rows[5] == "  ✓ README 中文版      18m  "
    assert rows[7].rstrip() == "  atlas"
    assert rows[8] == "  ✗ Refactor db pool    1h  "
    assert rows[9] == "    [b]bold[/b] [/] ␛[⋯ 2d  "
    assert rows[-1] == "  / search   r rename       "


@pytest.mark.parametrize(("language", "theme"), [("en", "nanoherm-dark"), ("zh", "high-contrast")])
async def test_every_row_is_exactly_as_wide_as_the_pane_at_any_size(language, theme):
    i18n.set_language(language)
    pane = SessionsPane()
    app = PaneApp(pane, theme=theme)
    many = [
        item(f"{n}", f"会话 {n} " + "长标题 long title " * (n % 4), f"/w/项目{n % 3}", ago=n * 999) for n in range(60)
    ]
    async with app.run_test(size=(28, 12)) as pilot:
        pane.update(many, "7")
        for width, height in [(28, 12), (24, 3), (12, 6), (7, 5), (5, 4), (4, 4), (3, 3), (2, 2), (1, 1), (80, 90)]:
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            assert len(lines(pane)) == height


async def test_with_no_sessions_the_pane_says_how_to_start_one():
    rows = await shown(())
    assert " ".join(" ".join(rows).split()) == "Sessions No sessions yet. Ctrl+N starts one."


async def test_a_session_without_a_title_is_a_new_session():
    assert "New session" in (await shown([item("a", "")]))[3]


async def test_without_utf8_the_list_is_ascii():
    symbols.set_ascii(True)
    rows = await shown([item("a", "Fix it", state="failed"), item("b", "A very long title that is cut", ago=99)])
    assert all(row.isascii() for row in rows)
    assert rows[3].startswith("| x Fix it")


async def test_keys_move_over_sessions_only_and_enter_opens_the_one_under_the_cursor():
    pane = SessionsPane()
    app = PaneApp(pane)
    async with app.run_test(size=(28, 20)) as pilot:
        pane.update(ITEMS, "a")
        pane.focus()
        await pilot.press("j", "down", "j")
        assert pane.cursor_key == "d"
        await pilot.press("enter", "r", "d", "n")
        await pilot.pause()
        seen = [(type(m).__name__, getattr(m, "session_id", "")) for m in app.posted]
        assert seen == [("Opened", "d"), ("RenameRequested", "d"), ("DeleteRequested", "d"), ("NewRequested", "")]
        await pilot.press("G")
        assert pane.cursor_key == "e"
        await pilot.press("j")
        assert pane.cursor_key == "e"
        await pilot.press("g", "k")
        assert pane.cursor_key == "a"


async def test_the_cursor_stays_on_its_session_when_the_order_changes():
    pane = SessionsPane()
    app = PaneApp(pane)
    async with app.run_test(size=(28, 20)) as pilot:
        pane.update(ITEMS, "a")
        pane.focus()
        await pilot.press("j", "j")
        assert pane.cursor_key == "c"
        pane.update((item("new", "Just begun"), *ITEMS), "a")
        await pilot.pause()
        assert pane.cursor_key == "c"
        pane.update([i for i in ITEMS if i.id != "c"], "a")
        await pilot.pause()
        assert pane.cursor_key == "a"


async def test_left_alone_the_list_shows_the_session_that_is_open_and_its_bar_turns_muted():
    pane, other = SessionsPane(), SessionsPane(id="other")
    app = PaneApp(pane, other)
    async with app.run_test(size=(60, 20)) as pilot:
        pane.update(ITEMS, "a")
        pane.focus()
        await pilot.press("j", "j")
        assert styles(pane, 5, 0, 1)[0] == app.look.mark("accent", "panel")
        other.focus()
        await pilot.pause()
        assert pane.cursor_key == "a"
        assert styles(pane, 3, 0, 1)[0] == app.look.mark("muted", "panel")


async def test_a_click_opens_and_the_wheel_scrolls():
    pane = SessionsPane()
    app = PaneApp(pane)
    async with app.run_test(size=(28, 10)) as pilot:
        pane.update([item(f"{n}", f"Session {n}", ago=n) for n in range(40)], "0")
        await pilot.pause()
        await pilot.click(pane, offset=(6, 5))
        await pilot.pause()
        assert [m.session_id for m in app.posted] == ["2"]
        await pilot.click(pane, offset=(6, 2))  # the workspace's heading
        await pilot.click(pane, offset=(6, 0))
        await pilot.pause()
        assert len(app.posted) == 1


async def test_the_cursor_is_always_in_view_in_a_long_list():
    pane = SessionsPane()
    app = PaneApp(pane)
    async with app.run_test(size=(28, 10)) as pilot:
        pane.update([item(f"{n}", f"Session {n}", ago=n) for n in range(200)], "0")
        pane.focus()
        for key in ("pagedown", "pagedown", "G", "pageup", "k", "g", "G"):
            await pilot.press(key)
            assert any(row.startswith("▐") and f"Session {pane.cursor_key} " in row for row in lines(pane)), key
        assert pane.cursor_key == "199"


async def test_nothing_is_painted_when_nothing_changed_and_a_tick_touches_running_rows_only():
    pane = SessionsPane()
    app = PaneApp(pane)
    async with app.run_test(size=(28, 20)) as pilot:
        pane.update(ITEMS, "a")
        await pilot.pause()
        builds, paints = pane.builds, pane.paints
        pane.update(list(ITEMS), "a")
        await pilot.pause()
        assert (pane.builds, pane.paints) == (builds, paints)
        pane.tick(1)
        await pilot.pause()
        assert pane.builds == builds
        assert pane.paints == paints + 1
        assert lines(pane)[3].startswith("▐ ⠙ ")
        idle = [i for i in ITEMS if i.state != "running"]
        pane.update(idle, "b")
        await pilot.pause()
        paints = pane.paints
        pane.tick(2)
        await pilot.pause()
        assert pane.paints == paints


async def test_themes_whose_grounds_are_equal_get_a_rule_in_a_column_that_is_always_kept():
    dark = await shown(ITEMS)
    ruled = await shown(ITEMS, theme="high-contrast")
    assert all(row.endswith("▐") for row in ruled)
    assert [row[:-1] for row in ruled] == [row[:-1] for row in dark]


async def test_a_new_look_and_another_language_are_taken_up():
    pane = SessionsPane()
    app = PaneApp(pane)
    async with app.run_test(size=(28, 20)) as pilot:
        pane.update(ITEMS, "a")
        await pilot.pause()
        i18n.set_language("zh")
        pane.refresh_look()
        await pilot.pause()
        assert lines(pane)[0].startswith("  会话")
        assert lines(pane)[-1].startswith("  / 搜索   r 改名   d 删除")


async def test_ten_thousand_sessions_make_no_widgets_and_few_painted_rows():
    pane = SessionsPane()
    app = PaneApp(pane)
    async with app.run_test(size=(28, 20)) as pilot:
        pane.update([item(f"{n}", f"Session {n}", ago=n) for n in range(10_000)], "0")
        pane.focus()
        await pilot.press("G", "pageup", "g")
        assert not list(pane.children)
        assert len(pane._painted) <= 100
