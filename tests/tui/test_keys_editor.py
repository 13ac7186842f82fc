"""The editor of the keymap: what is listed, what speaks against a key, what is written, and that it counts at once."""

import pytest
import yaml
from rich.cells import cell_len

from nanoherm_tui.actions import ACTIONS, BY_ID
from nanoherm_tui.i18n import set_language, t
from nanoherm_tui.keymap import Keymap, load_keymap
from nanoherm_tui.overlays.key_capture import KeyCapture
from nanoherm_tui.overlays.keys import KeysScreen
from nanoherm_tui.overlays.settings import SettingsScreen
from nanoherm_tui.words.key_changes import as_yaml, can_change, caution, fitting, refusals, told
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.overlay_app import OverlayApp, rows, shown
from tests.tui.test_app import Stage, launch

REFUSED = [
    ("new", ("f9",), {}, ""),
    ("new", ("f2",), {}, "F2 belongs to: Sessions: show or hide (Everywhere)"),
    ("new", ("f2",), {"toggle_sessions": "f9"}, ""),
    ("new", ("f9",), {"details": "f9"}, "belongs to: Details"),
    ("new", ("x",), {}, "missing from what you write"),
    ("new", ("ctrl+m",), {}, "sends Ctrl+M as Enter"),
    ("allow_once", ("enter",), {}, "Enter never approves"),
    ("fold", ("z",), {}, ""),
    ("new", None, {"new": "f9", "details": "ctrl+n"}, "Ctrl+N belongs to: Details"),
    ("new", None, {"new": "f9"}, ""),
    ("quit", (), {"interrupt": []}, "Quit keeps its key"),
    ("interrupt", (), {"quit": []}, "Stop, copy, or clear keeps its key"),
    ("quit", (), {}, ""),
    ("quit", (), {"interrupt": "f9"}, ""),
    ("new", ("f9",), {"quit": [], "interrupt": []}, ""),
]


@each_row(("action", "keys", "config", "words"), REFUSED)
def test_what_speaks_against_a_key_is_known_before_it_is_written(action, keys, config, words):
    found = " ".join(refusals(action, keys, config))
    assert words in found if words else not found


def test_an_older_mistake_of_the_file_is_not_held_against_a_new_key():
    assert refusals("new", ("f9",), {"nwe": "f8", "details": "ctrl+p"}) == ()


CAUTIONS = [
    ("ctrl+b", "tmux"),
    ("ctrl+a", "GNU screen"),
    ("ctrl+s", "stops and starts"),
    ("ctrl+q", "stops and starts"),
    ("ctrl+h", "Backspace"),
    ("f11", "full screen"),
    ("f13", "keyboard"),
    ("super+x", "desktop"),
    ("ctrl+shift+n", "Shift"),
    ("ctrl+1", "Only some terminals"),
    ("ctrl+comma", "Only some terminals"),
    ("shift+enter", "Only some terminals"),
    ("ctrl+underscore", ""),
    ("ctrl+shift+f5", ""),
    ("alt+x", ""),
    ("ctrl+e", ""),
    ("f5", ""),
    ("G", ""),
    ("question_mark", ""),
]


@each_row(("key", "words"), CAUTIONS)
def test_keys_that_may_not_arrive_are_warned_of(key, words):
    assert words in caution(key) if words else not caution(key)


def test_a_bad_entry_is_told_with_its_line():
    problems = load_keymap({"nwe": "f9", "new": "f2", "details": 5.5})[1]
    lines = {"keymap": 3, "keymap.nwe": 4, "keymap.new": 5, "keymap.details": 6}
    assert [words.partition(" ")[0] for words in told(problems, "~/c.yaml", lines)] == [
        "~/c.yaml:4:",
        "~/c.yaml:6:",
        "~/c.yaml:5:",
    ]


def test_what_is_exported_gives_the_same_keys_again_without_a_complaint():
    keymap, _ = load_keymap({"new": ["f9", "alt+n"], "redraw": [], "fold": "z"})
    again, problems = load_keymap(yaml.safe_load(as_yaml(keymap))["keymap"])
    assert problems == []
    assert {a.id: again.keys(a.id) for a in ACTIONS} == {a.id: keymap.keys(a.id) for a in ACTIONS}


FOUND = [("ctrl+t", "show_plan"), ("/rename", "rename"), ("next mode", "next_mode"), ("dock_split", "dock_split")]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_action_is_found_by_key_command_and_either_language_and_each_is_listed_once(language):
    set_language(language)
    for query, action in FOUND:
        assert action in [one.id for one in fitting(Keymap(), query)]
    assert [a.id for a in fitting(Keymap(), t("actions.show_plan"))][:1] == ["show_plan"]
    listed = fitting(Keymap(), "")
    assert {a.id for a in listed} == {a.id for a in ACTIONS if can_change(a)}
    assert len(listed) == len(set(listed))


async def test_keys_are_pressed_and_only_what_nothing_speaks_against_is_given_back():
    app, got = OverlayApp(), []
    refuse = {("f2",): ("F2 belongs to another.",)}
    async with app.run_test(size=(80, 24)) as pilot:

        async def capture(*keys):
            app.push_screen(KeyCapture("New keys", ("f1",), lambda pressed: refuse.get(tuple(pressed), ())), got.append)
            await pilot.pause()
            await pilot.press(*keys)
            await pilot.pause()
            return got.pop() if got else shown(app)

        assert await capture("f8", "alt+x", "enter") == ("f8", "alt+x")
        assert await capture("enter", "enter") == ("enter",)  # the first one is the key, the second writes it
        assert "F2 belongs to another." in await capture("f2", "enter")
        await pilot.press("f8", "enter")  # what was refused gives way
        assert got.pop() == ("f8",)
        assert await capture("f8", "backspace", "escape") is None
        assert "Ctrl+B is what tmux waits for" in await capture("ctrl+b")


async def test_the_editor_fits_every_size():
    set_language("zh")
    app = OverlayApp()
    screen = KeysScreen(Keymap(), {}, ["~/c.yaml:4: " + "很长的话 " * 60])
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(screen)
        for size in ((40, 10), (1, 1)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert {cell_len(row) for row in rows(app)} == {size[0]}
            if size[0] >= 40:
                assert t("actions.send") in shown(app), size
                assert "搜索按键：名称、⋯" in rows(app)[0]  # what has no room says so
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, KeyCapture)
        assert {cell_len(row) for row in rows(app)} == {1}
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert t("keys.press") in shown(app)
        assert t("keys.reset_all") not in shown(app)  # of the box below nothing is seen
        await pilot.press("escape")
        await pilot.pause()
        assert t("keys.reset_all") in shown(app)


async def test_the_last_key_to_quit_with_is_not_taken_away():
    app, saved = OverlayApp(), []
    keymap, config = load_keymap({"interrupt": []})[0], {"interrupt": []}
    screen = KeysScreen(keymap, config, (), "ctrl+d")
    screen.save = saved.append
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(screen)
        await pilot.press("ctrl+k")
        await pilot.pause()
        assert "Quit keeps its key: the other one that leads out of the program has none." in " ".join(
            shown(app).split()
        )
    assert saved == []


async def test_in_the_program_a_key_counts_at_once_and_is_written_with_the_rest_left_as_it_was(tmp_path):
    config = launch(tmp_path).env["HOME"] + "/.nanohermes/config.yaml"
    (tmp_path / "home/.nanohermes").mkdir(parents=True)
    with open(config, "w", encoding="utf-8") as file:
        file.write("# mine\nkeymap:\n  nwe: f8\n  redraw: f5  # often\n")
    async with Stage(tmp_path, [Reply(text="one")], size=(120, 36)) as stage:
        app, press = stage.app, stage.pilot.press
        await stage.until(
            lambda: "config.yaml:3: keymap: no action is called nwe" in stage.transcript().replace("\n", " ")
        )
        await stage.type("/settings keymap")
        await stage.until(lambda: isinstance(app.screen, SettingsScreen))
        await stage.until(lambda: app.screen._list.row and app.screen._list.row.key.name == "keymap")
        await press("enter")
        await stage.until(lambda: isinstance(app.screen, KeysScreen))
        assert "config.yaml:3: keymap: no action is called nwe" in shown(app)
        app.screen._field.text = "/fork"
        await press("enter")
        await stage.until(lambda: isinstance(app.screen, KeyCapture))
        await press("ctrl+l", "shift+f9", "enter")  # Ctrl+L is free: it redraws no more, and is no command here
        await stage.until(lambda: isinstance(app.screen, KeysScreen))
        await stage.until(lambda: "acts at once" in " ".join(app.screen._foot.words))
        with open(config, encoding="utf-8") as file:
            assert file.read() == "# mine\nkeymap:\n  nwe: f8\n  redraw: f5  # often\n  fork: [ctrl+l, shift+f9]\n"
        await press("escape")
        await stage.until(lambda: len(app.screen_stack) == 1)
        ran = []

        def run(action):
            ran.append(action)

        app.action_command = run
        await press("shift+f9", "f5")
        await stage.until(lambda: ran == ["fork", "redraw"])
        del app.action_command
        await stage.type("/keys")
        await stage.until(lambda: isinstance(app.screen, KeysScreen))
        await press("ctrl+x")
        await stage.pilot.pause()
        await press("y")
        await stage.until(lambda: isinstance(app.screen, KeysScreen))
        await stage.until(lambda: "All keys are the default ones again." in app.screen._foot.words)
        with open(config, encoding="utf-8") as file:
            assert "keymap" not in file.read()
        assert all(app.keymap.keys(a.id) == BY_ID[a.id].keys for a in ACTIONS)
        assert app.composer.keymap is app.dock.keymap is app.keymap
