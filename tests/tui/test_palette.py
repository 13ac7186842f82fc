"""The palette: what a few letters find, in which order it is shown, and what choosing and leaving do."""

import pytest
from rich.cells import cell_len
from textual import events

from nanoherm_tui import symbols
from nanoherm_tui.actions import BY_ID
from nanoherm_tui.keymap import Keymap
from nanoherm_tui.overlays.palette import (
    PaletteItem,
    PaletteScreen,
    action_items,
    fuzzy,
    grouped,
    search,
)
from tests.rows import each_row
from tests.tui.overlay_app import OverlayApp, rows, shown

ITEMS = [
    PaletteItem("new", "action", "New session", "in this folder", "Ctrl+N", "new"),
    PaletteItem("undo", "action", "Undo turns", "files stay", "/undo"),
    PaletteItem("mode:ask", "mode", "Mode: ask", "asks by policy", "Shift+Tab"),
    PaletteItem("mode:plan", "mode", "Mode: plan", "reads only", "Shift+Tab"),
    PaletteItem("theme:nanoherm-dark", "theme", "Theme: nanoherm-dark", "in use"),
    PaletteItem("theme:nanoherm-light", "theme", "Theme: nanoherm-light"),
    PaletteItem("session:1", "session", "修复 parse_date 时区", "~/code/ledger"),
    PaletteItem("session:2", "session", "[b]odd[/b] [/ title", "~/work"),
]


def open_palette(app, **options):
    app.push_screen(PaletteScreen(ITEMS, **options), app.results.append)


@each_row(
    ("query", "text", "marked"),
    [
        ("mo", "Mode: ask", "Mo"),
        ("mo", "Compact older messages", "mo"),
        ("ns", "New session", "Ns"),
        ("nl", "Theme: nanoherm-light", "nl"),
        ("时区", "修复 parse_date 时区", "时区"),
        ("修时", "修复 parse_date 时区", "修时"),
        ("ask mo", "Mode: ask", "Moask"),
        ("İ", "İstanbul", "İ"),
    ],
)
def test_letters_are_found_in_order_and_marked(query, text, marked):
    found = fuzzy(query, text)
    assert found is not None
    assert "".join(text[at] for at in sorted(found[1])) == marked


@pytest.mark.parametrize(
    ("query", "text"), [("xyz", "New session"), ("on", "no"), ("mode x", "Mode: ask"), ("区时", "时区")]
)
def test_what_is_not_there_is_not_found(query, text):
    assert fuzzy(query, text) is None


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("mo", "Mode: ask", "Remove"),
        ("mo", "Remove", "Compact older messages"),
        ("pl", "Plan", "Apply"),
        ("session", "Session list", "New session"),
        ("ns", "New session", "Unseen"),
    ],
)
def test_starts_runs_and_beginnings_come_first(query, better, worse):
    assert fuzzy(query, better)[0] > fuzzy(query, worse)[0]


def test_help_and_other_names_find_only_by_whole_words():
    assert [h.item.id for h in search(ITEMS, "ledger")] == ["session:1"]
    assert [h.item.id for h in search(ITEMS, "lgr")] == []


def test_a_blank_query_shows_all_the_recent_first_each_once():
    groups = grouped(search(ITEMS, " "), ["theme:nanoherm-light", "gone", "undo"])
    assert [name for name, _ in groups] == ["recent", "action", "mode", "theme", "session"]
    ids = [hit.item.id for _, hits in groups for hit in hits]
    assert ids[:2] == ["theme:nanoherm-light", "undo"]
    assert sorted(ids) == sorted(item.id for item in ITEMS)


def test_the_actions_table_gives_the_palette_its_actions_with_key_or_command():
    items = {item.id: item for item in action_items(Keymap())}
    assert items["new"].key == "Ctrl+N"
    assert items["undo"].key == "/undo"
    assert set(items) == set(BY_ID)
    assert all(item.title and item.help for item in items.values())


async def test_typing_filters_arrows_move_and_enter_gives_the_id():
    app = OverlayApp()
    async with app.run_test(size=(100, 30)) as pilot:
        open_palette(app)
        await pilot.pause()
        assert "8 of 8" in shown(app)
        await pilot.press(*"mode")
        assert "2 of 8" in shown(app)
        assert "Mode: ask" in shown(app)
        assert "Undo" not in shown(app)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.results == ["mode:plan"]


async def test_enter_in_the_same_read_chooses_what_was_typed():
    app = OverlayApp()
    async with app.run_test(size=(120, 40)) as pilot:
        open_palette(app)
        await pilot.pause()
        for key in ("l", "i", "g", "h", "t", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause(0.1)
        assert app.results == ["theme:nanoherm-light"]


async def test_chinese_finds_and_nothing_found_is_said():
    app = OverlayApp()
    async with app.run_test(size=(100, 30)) as pilot:
        open_palette(app)
        await pilot.pause()
        await pilot.press("时", "区")
        assert "1 of 8" in shown(app)
        assert "Enter run" in shown(app)
        await pilot.press("x", "[")
        assert "Nothing is called 时区x[." in shown(app)
        assert "Enter" not in shown(app)
        await pilot.press("enter")
        assert app.results == []
        await pilot.press("escape")
        await pilot.pause()
        assert app.results == [None]


async def test_a_theme_is_previewed_under_the_cursor_and_taken_back_on_leaving():
    app = OverlayApp()
    async with app.run_test(size=(100, 30)) as pilot:
        open_palette(app, kind="theme", current="theme:nanoherm-light")
        await pilot.pause()
        assert "New session" not in shown(app)
        assert app.previewed == []
        await pilot.press("up")
        await pilot.press("down")
        assert app.previewed == ["theme:nanoherm-dark", "theme:nanoherm-light"]
        await pilot.press("escape")
        await pilot.pause()
        assert app.previewed[-1] is None
        assert app.results == [None]


async def test_a_preview_ends_when_the_cursor_leaves_the_themes():
    app = OverlayApp()
    async with app.run_test(size=(100, 40)) as pilot:
        open_palette(app)
        await pilot.pause()
        await pilot.press("down", "down", "down", "down")
        assert app.previewed == ["theme:nanoherm-dark"]
        await pilot.press("down", "down")
        assert app.previewed == ["theme:nanoherm-dark", "theme:nanoherm-light", None]


async def test_a_click_chooses_its_row():
    app = OverlayApp()
    async with app.run_test(size=(100, 30)) as pilot:
        open_palette(app)
        await pilot.pause()
        y = next(n for n, row in enumerate(rows(app)) if "Mode: plan" in row)
        x = rows(app)[y].index("Mode: plan")
        await pilot.click(offset=(x, y))
        await pilot.pause()
        assert app.results == ["mode:plan"]


async def test_the_cursor_stays_in_view_through_a_long_list():
    app = OverlayApp()
    items = [PaletteItem(f"session:{n}", "session", f"Session number {n}") for n in range(500)]
    async with app.run_test(size=(80, 20)) as pilot:
        app.push_screen(PaletteScreen(items), app.results.append)
        await pilot.pause()
        await pilot.press("up")
        assert "Session number 499" in shown(app)
        await pilot.press("pageup", "pageup")
        assert "Session number 479" in shown(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.results == ["session:479"]


@pytest.mark.parametrize("theme", ["nanoherm-dark", "ansi"])
async def test_it_fits_every_size_with_titles_taken_literally(theme):
    app = OverlayApp(theme)
    async with app.run_test(size=(120, 36)) as pilot:
        open_palette(app, recent=["undo"])
        await pilot.pause()
        assert "[b]odd[/b] [/ title" in shown(app)
        for size in ((120, 36), (80, 24), (40, 10), (10, 4), (1, 1)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            for row in rows(app):
                assert cell_len(row) == size[0]
                assert not set(row) & set("…·│─▌■●◐→×—")


@pytest.mark.parametrize("theme", ["nanoherm-dark", "high-contrast", "ansi"])
async def test_the_bar_of_the_row_under_the_cursor_is_on_the_lists_ground_and_the_row_on_the_selections(theme):
    app = OverlayApp(theme)
    async with app.run_test(size=(80, 24)) as pilot:
        open_palette(app)
        await pilot.pause()
        strips = app.screen._compositor.render_strips()
        segments = next([*strip] for strip in strips if symbols.sym("bar") in strip.text)
        at = next(n for n, segment in enumerate(segments) if segment.text == symbols.sym("bar"))
        bar, words = segments[at], segments[at + 1]
        assert bar.style.bgcolor == app.look.style("text", "surface").bgcolor
        assert not bar.style.reverse
        selected = app.look.style("seltext", "selection")
        assert (words.style.bgcolor, bool(words.style.reverse)) == (selected.bgcolor, bool(selected.reverse))


async def test_an_overlay_is_never_muted_like_what_is_behind_it():
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        from nanoherm_tui.theming.themes import Look

        app.look = Look(app.look.theme, behind=True)
        open_palette(app)
        await pilot.pause()
        line = next(strip for strip in app.screen._compositor.render_strips() if "New session" in strip.text)
        style = next(segment.style for segment in line if "New session" in segment.text)
        front = Look(app.look.theme).style("seltext", "selection")
        assert (style.color, style.bgcolor) == (front.color, front.bgcolor)


@pytest.mark.parametrize("query", ["thm lgt", "light theme", "th light"])
def test_shortened_words_are_found_in_titles_and_keywords(query):
    items = [PaletteItem(f"theme:{n}", "theme", n, keywords="theme") for n in ("nanoherm-dark", "nanoherm-light")]
    assert [hit.item.title for hit in search([*items, *action_items(Keymap())], query)][:1] == ["nanoherm-light"]


def test_letters_scattered_over_words_find_nothing():
    assert not search([PaletteItem("a", "action", "Next pane", keywords="focus")], "xf pne nx")


async def test_what_is_in_use_says_so():
    items = [PaletteItem("theme:a", "theme", "a"), PaletteItem("mode:b", "mode", "b", "asks first")]
    for current, words in (("theme:a", "in use"), ("mode:b", "in use, asks first")):
        app = OverlayApp()
        async with app.run_test(size=(100, 30)) as pilot:
            app.push_screen(PaletteScreen(items, current=frozenset({current})))
            await pilot.pause()
            (line,) = [row for row in rows(app) if "in use" in row]
            assert words in line


async def test_in_a_list_of_one_kind_the_cursor_starts_at_what_is_in_use():
    items = [PaletteItem(f"mode:{name}", "mode", name) for name in ("ask", "plan", "debug")]
    app = OverlayApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.push_screen(PaletteScreen(items, kind="mode", current=frozenset({"mode:debug"})))
        await pilot.pause()
        (line,) = [row for row in rows(app) if "in use" in row]
        assert "debug" in line
        assert "▐" in line
