"""Help, the setup view and the confirmation."""

import pytest
from rich.cells import cell_len
from textual import events

from agent_core.llm.discover import Health
from nanoherm_tui.actions import ACTIONS, SLASH_ACTIONS
from nanoherm_tui.i18n import set_language
from nanoherm_tui.keymap import load_keymap
from nanoherm_tui.overlays.confirm import ConfirmScreen
from nanoherm_tui.overlays.help import HelpScreen, sections, two_columns
from nanoherm_tui.overlays.name import NameScreen
from nanoherm_tui.overlays.palette import PaletteItem, PaletteScreen
from nanoherm_tui.overlays.setup import Provider, SetupScreen, SetupValues
from nanoherm_tui.words.setup import told
from tests.tui.asking import come
from tests.tui.overlay_app import OverlayApp, rows, shown

KEYMAP, _ = load_keymap(None)
PROVIDERS = [
    Provider("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", True, "some-model"),
    Provider("ollama", "Ollama", "http://127.0.0.1:11434/v1", "", False),
    Provider("custom", "Compatible server", "", "", False),
]


# -- help ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("focused", ["composer", "transcript", "dock", "approval"])
def test_the_focused_panes_keys_come_first(focused):
    first, *_ = sections(KEYMAP, focused)
    assert first[0].heading
    assert first[0].words.endswith("(focused)")
    assert first[0].words.lower().startswith(focused)


def test_every_action_with_a_key_and_every_command_is_listed():
    lines = [line for section in sections(KEYMAP, "composer") for line in section if not line.heading]
    assert len(lines) == len([a for a in ACTIONS if KEYMAP.keys(a.id)]) + len(SLASH_ACTIONS)
    assert any(line.keys == "Ctrl+P" and line.words == "palette" for line in lines)


def test_two_columns_end_together_and_hold_every_line_once():
    found = sections(KEYMAP, "composer")
    left, right = two_columns(found)
    assert abs(len(left) - len(right)) <= 1
    shown = [line for line in (*left, *right) if line.keys]
    assert sorted(shown, key=str) == sorted((line for part in found for line in part if line.keys), key=str)
    assert left[0].heading
    assert right[0].heading


def test_help_shows_the_keys_of_the_config():
    keymap, _ = load_keymap({"palette": "f9", "redraw": []})
    lines = {line.words: line.keys for section in sections(keymap, "composer") for line in section}
    assert lines["palette"] == "F9"
    assert "redraw the screen" not in lines


def test_a_filter_keeps_what_has_it_and_drops_empty_sections():
    found = sections(KEYMAP, "composer", "queue")
    assert [[line.words for line in section[1:]] for section in found] == [
        ["queue for after the turn"],
        ["queue for after the turn"],
    ]
    (by_remark,) = sections(KEYMAP, "composer", "fg in the shell")
    assert [line.words for line in by_remark[1:]] == ["suspend"]
    assert sections(KEYMAP, "composer", "no such thing") == []


async def test_help_opens_filters_and_closes():
    app = OverlayApp()
    async with app.run_test(size=(120, 48)) as pilot:
        app.push_screen(HelpScreen(KEYMAP, "composer"))
        await pilot.pause()
        for words in ("Help", "Composer (focused)", "Everywhere", "Ctrl+P"):
            assert words in shown(app)
        await pilot.press(*"queue")
        assert "queue for after the turn" in shown(app)
        assert "Ctrl+P" not in shown(app)
        await pilot.press("[")
        assert "No key and no command has that." in shown(app)
        await pilot.press("escape")
        assert "Ctrl+P" in shown(app)
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.screen_stack) == 1


async def test_help_scrolls_to_its_end_on_a_small_screen():
    app = OverlayApp()
    async with app.run_test(size=(60, 16)) as pilot:
        app.push_screen(HelpScreen(KEYMAP, "composer"))
        await pilot.pause()
        assert "/undo" not in shown(app)
        await pilot.press("end")
        assert "/undo" in shown(app)
        await pilot.press("home")
        assert "(focused)" in shown(app)
        await pilot.press("f1")
        await pilot.pause()
        assert len(app.screen_stack) == 1


# -- setup --------------------------------------------------------------------------------------------------------


def open_setup(app, **options):
    screen = SetupScreen(PROVIDERS, **options)
    screen.on_test = lambda values: app.results.append(("test", values))
    screen.on_save = lambda values: app.results.append(("save", values))
    app.push_screen(screen)
    return screen


async def test_the_fields_are_filled_walked_tested_and_saved():
    app = OverlayApp()
    async with app.run_test(size=(80, 30)) as pilot:
        screen = open_setup(app, problem="No provider is set up.")
        await pilot.pause()
        assert "No provider is set up." in shown(app)
        assert "https://api.openai.com/v1" in shown(app)
        assert "empty uses OPENAI_API_KEY" in shown(app)
        await pilot.press("enter", "tab", *"sk-1", "enter", "enter", "enter")
        expected = SetupValues("openai", "https://api.openai.com/v1", "sk-1", "some-model")
        assert app.results == [("test", expected)]
        assert "Testing." in shown(app)
        screen.show_result(False, "The server said 401: the key is not accepted. Check it. [/")
        await pilot.pause()
        assert "✗ The server said 401" in shown(app)
        screen.show_result(True, "Model answered in 0.8 s.")
        await pilot.pause()
        assert "✓ Model answered" in shown(app)
        await pilot.press("tab", "space")
        assert app.results[-1] == ("save", expected)


async def test_another_provider_brings_its_own_address():
    app = OverlayApp()
    async with app.run_test(size=(80, 30)) as pilot:
        screen = open_setup(app)
        await pilot.pause()
        await pilot.press("right")
        assert screen.values.base_url == "http://127.0.0.1:11434/v1"
        assert "may stay empty for a local server" in shown(app)
        await pilot.press("c")
        assert screen.values.provider == "custom"
        await pilot.press("left", "left", "left")
        assert screen.values.provider == "custom"


async def test_without_an_address_nothing_is_tested():
    app = OverlayApp()
    async with app.run_test(size=(80, 30)) as pilot:
        open_setup(app, start=SetupValues("custom", "", ""))
        await pilot.pause()
        await pilot.press("up", "up", "enter")
        await pilot.pause()
        assert app.results == []
        assert "No address." in shown(app)


async def test_the_key_is_never_drawn_however_it_comes():
    app = OverlayApp()
    async with app.run_test(size=(80, 30)) as pilot:
        screen = open_setup(app)
        await pilot.pause()
        await pilot.press("down", "down")
        app.post_message(events.Paste(" made-up-key-0123\n"))
        await pilot.press("4")
        assert screen.values.key == "made-up-key-01234"
        assert "made-up" not in shown(app)
        assert "made-up" not in repr(screen.values)
        assert "*" * 17 in shown(app)
        await pilot.press("backspace")
        assert screen.values.key == "made-up-key-0123"
        await pilot.press("ctrl+u")
        assert screen.values.key == ""


async def test_esc_leaves_without_saving():
    app = OverlayApp()
    async with app.run_test(size=(80, 30)) as pilot:
        open_setup(app)
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert app.results == []
        assert len(app.screen_stack) == 1


# -- confirm ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("keys", "result"), [(("y",), [True]), (("n",), [False]), (("escape",), [False])])
async def test_only_y_is_yes(keys, result):
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(ConfirmScreen("Delete [b]修复[/b]?", "It is gone then."), app.results.append)
        await pilot.pause()
        assert "Delete [b]修复[/b]?" in shown(app)
        await pilot.press("enter", "space", "x")
        assert app.results == []
        await pilot.press(*keys)
        await pilot.pause()
        assert app.results == result


# -- all ----------------------------------------------------------------------------------------------------------


CLOSED_BY = {
    "help": (lambda: HelpScreen(KEYMAP), ("f1", "f1"), [None]),
    "confirm": (lambda: ConfirmScreen("T"), ("y", "y"), [True]),
    "palette": (lambda: PaletteScreen([PaletteItem("new", "action", "New")]), ("enter", "enter"), ["new"]),
    "name": (lambda: NameScreen("Name", "given"), ("enter", "enter"), ["given"]),
}


@pytest.mark.parametrize(("make", "keys", "result"), CLOSED_BY.values(), ids=CLOSED_BY)
async def test_an_overlay_closes_once_and_what_is_typed_behind_it_in_one_read_is_not_lost(make, keys, result):
    typed = []

    class Behind(OverlayApp):
        def on_key(self, event):
            typed.append(event.key)

    app = Behind()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(make(), app.results.append)
        await pilot.pause()
        for key in keys:
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        app.post_message(events.Key("x", "x"))
        await come(pilot, lambda: typed and typed[-1] == "x")
        assert app.results == result
        assert len(app.screen_stack) == 1


async def test_an_answer_that_comes_after_an_overlay_was_left_closes_nothing_else():
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        left, other = SetupScreen(PROVIDERS), HelpScreen(KEYMAP)
        app.push_screen(left, app.results.append)
        await pilot.press("escape")
        app.push_screen(other)
        await pilot.pause()
        left.show_result(True, "It answers.")
        left.dismiss()
        await pilot.pause()
        assert app.screen is other
        assert app.results == [None]


@pytest.mark.parametrize(
    "make", [lambda: HelpScreen(KEYMAP), lambda: SetupScreen(PROVIDERS), lambda: ConfirmScreen("T")]
)
async def test_overlays_fit_every_size_and_survive_a_change_of_theme(make):
    app = OverlayApp()
    async with app.run_test(size=(120, 36)) as pilot:
        app.push_screen(make())
        for size in ((120, 36), (80, 24), (40, 10), (10, 4), (1, 1), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            for row in rows(app):
                assert cell_len(row) == size[0]
                assert not set(row) & set("…·│─▌■●◐→×—•")
        from nanoherm_tui.theming.files import load_themes
        from nanoherm_tui.theming.themes import Look, to_textual

        theme = load_themes()[0]["nanoherm-light"]
        app.register_theme(to_textual(theme))
        app.look = Look(theme)
        app.theme = "nanoherm-light"
        await pilot.pause()
        drawn = [s.style.bgcolor for strip in app.screen._compositor.render_strips() for s in strip if s.style]
        assert app.look.style("text", "surface").bgcolor in drawn


@pytest.mark.parametrize("problem", ["", "No key for OpenAI. Paste one, or choose another provider."])
async def test_on_the_smallest_screen_the_buttons_of_the_setup_view_are_whole(problem):
    app = OverlayApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.push_screen(SetupScreen(PROVIDERS, problem=problem))
        await pilot.pause()
        (line,) = [row for row in rows(app) if "Save and start" in row]
        assert "Test" in line


def test_what_a_test_found_names_the_server_as_the_list_does():
    health = Health(True, "ok", "Custom server answers and has m.", params={"label": "Custom server", "model": "m"})
    assert told(health) == "Custom server answers and has m."
    set_language("zh")
    assert told(health) == "自定义服务器：有回应，有 m。"
    other = Health(True, "model_not_listed", "", params={"label": "Ollama", "model": "m", "models": ("a", "b")})
    assert told(other) == "Ollama：有回应，但没有列出 m。它有 a、b。"
