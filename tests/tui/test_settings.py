"""The settings page: searching, each kind of editor, what is confirmed, and what acts at once."""

import re

import pytest
from rich.cells import cell_len

from agent_core.config import schema
from agent_core.config.settings import Setting, loosens
from agent_core.safety.redact import MARK
from nanoherm_tui import symbols
from nanoherm_tui.i18n import set_language, t, texts
from nanoherm_tui.overlays.confirm import ConfirmScreen
from nanoherm_tui.overlays.name import NameScreen
from nanoherm_tui.overlays.settings import ChoiceScreen, SettingsScreen, about, allowed, fitting, section_of, sections
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.overlay_app import OverlayApp, rows, shown
from tests.tui.test_app import Stage

FILE = "/home/me/.nanohermes/config.yaml"


def settings(**changed):
    """All at their defaults, but for these (with _ for the dot), which stand in the file."""
    values = {name.replace("__", "."): value for name, value in changed.items()}
    return [
        Setting(
            key, values.get(key.name, key.default), FILE if key.name in values else "default", 7 * (key.name in values)
        )
        for key in schema.KEYS
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_heading_and_every_kind_of_value_has_its_words(language):
    set_language(language)
    there = texts(language)
    assert {f"settings.section_{name}" for name in sections()} <= set(there)
    assert {section_of(key) for key in schema.KEYS} == set(sections())
    for key in schema.KEYS:
        assert "settings." not in allowed(key), key.name


SEARCHES = [
    ("sandbox.mode", "sandbox.mode"),
    ("SANDBOX network", "sandbox.network"),
    ("seconds question waits", "approvals.timeout"),
    ("tokens of one reply", "model.max_tokens"),
]


@pytest.mark.parametrize(("query", "name"), SEARCHES)
def test_a_setting_is_found_by_its_name_and_by_what_it_does(query, name):
    assert name in [one.key.name for one in fitting(settings(), query)][:3]


def test_a_value_is_found_too_and_each_setting_stands_once_under_one_heading():
    assert [one.key.name for one in fitting(settings(model__default="odd-name"), "odd-name")] == ["model.default"]
    found = fitting(settings(), "")
    assert len(found) == len(schema.KEYS)
    headings = [section_of(one.key) for one in found]
    assert [name for at, name in enumerate(headings) if at == 0 or headings[at - 1] != name] == list(sections())


LOOSENS = [
    ("sandbox.mode", "workspace-write", "danger-full-access", True),
    ("sandbox.mode", "workspace-write", "read-only", False),
    ("approvals.policy", "untrusted", "never", True),
    ("approvals.deny", ["rm *"], [], True),
    ("approvals.deny", ["rm *"], ["rm *", "dd *"], False),
    ("web.allow_hosts", [], ["example.org"], True),
    ("display.theme", "auto", "ansi", False),
    ("model.base_url", "", "http://h/v1", False),
]


@each_row(("name", "now", "then", "expected"), LOOSENS)
def test_what_lowers_a_guard_is_known(name, now, then, expected):
    assert loosens(schema.BY_PATH[tuple(name.split("."))], then, now) is expected


async def test_each_kind_has_its_editor_and_only_what_is_taken_is_saved():
    app, saved = OverlayApp(), []
    screen = SettingsScreen(
        settings(agent__max_turns=9, skills__disabled=["a"], web__proxy=f"http://me:{MARK}@proxy:1"), "/home/me"
    )
    screen.save = lambda name, value: saved.append((name, value))

    async def at(query):
        screen._field.text = query
        await pilot.pause()
        assert screen._list.row.key.name == query

    async with app.run_test(size=(120, 36)) as pilot:
        app.push_screen(screen)
        await pilot.pause()
        await at("display.ascii")
        await pilot.press("enter")
        assert saved.pop() == ("display.ascii", True)
        await at("display.language")
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ChoiceScreen)
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert saved.pop() == ("display.language", "zh")
        await at("agent.max_turns")
        assert "~/.nanohermes/config.yaml:7" in shown(app)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, NameScreen)
        app.screen._field.text = "many"
        await pilot.press("enter")
        await pilot.pause()
        assert not saved
        wrong = "agent.max_turns does not take that. A whole number of at least 0, 0 for no bound."
        assert wrong in " ".join(shown(app).split())
        assert app.screen._field.text == "many"  # what was written is there to be corrected
        app.screen._field.text = "9 or so"
        await pilot.pause()
        assert "does not take that" in shown(app)
        app.screen._field.text = "30"
        await pilot.pause()
        assert "does not take that" not in shown(app)
        await pilot.press("enter")
        await pilot.pause()
        assert saved.pop() == ("agent.max_turns", 30)
        await at("skills.disabled")
        await pilot.press("enter")
        await pilot.pause()
        app.screen._field.text = "a, b c"
        await pilot.press("enter")
        await pilot.pause()
        assert saved.pop() == ("skills.disabled", ["a", "b c"])
        await pilot.press("ctrl+r")
        assert saved.pop() == ("skills.disabled", None)
        await at("web.proxy")
        assert MARK in shown(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen._field.text == ""  # what is covered is never written back
        await pilot.press("escape")
        await pilot.pause()
        await at("mcp_servers")
        await pilot.press("enter", "ctrl+r")
        await pilot.pause()
        assert not saved
        assert "Change it in config.yaml" in shown(app)


async def test_a_guard_is_lowered_only_after_a_yes_and_raised_without_a_question():
    app, saved = OverlayApp(), []
    screen = SettingsScreen(settings(), "/home/me", "sandbox.network")
    screen.save = lambda name, value: saved.append((name, value))
    async with app.run_test(size=(100, 30)) as pilot:
        app.push_screen(screen)
        await pilot.pause()
        for answer, expected in (("n", []), ("escape", []), ("enter", []), ("y", [("sandbox.network", True)])):
            if not isinstance(app.screen, ConfirmScreen):
                await pilot.press("enter")
                await pilot.pause()
            assert isinstance(app.screen, ConfirmScreen)
            await pilot.press(answer)
            await pilot.pause()
            assert saved == expected, answer
        screen.show(settings(sandbox__network=True), "")
        await pilot.press("enter")
        await pilot.pause()
        assert saved[1:] == [("sandbox.network", False)]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_page_fits_every_size_and_its_end_can_be_reached(language):
    set_language(language)
    app = OverlayApp()
    screen = SettingsScreen(settings(model__default="名字" * 60), "/home/me")
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(screen)
        for size in ((80, 24), (40, 10), (200, 60), (3, 2)):
            await pilot.resize_terminal(*size)
            screen.show(settings(model__default="名字" * 60), t("settings.none"))
            screen._list.at = 0
            await pilot.press("up")
            await pilot.pause()
            assert {cell_len(row) for row in rows(app)} == {size[0]}
            if size[0] > 40:
                assert "mcp_servers" in shown(app) or "keymap" in shown(app), size


async def test_in_the_program_a_change_is_written_acts_at_once_and_says_where_it_stands(tmp_path):
    async with Stage(tmp_path, [Reply(text="one")], size=(120, 36)) as stage:
        app = stage.app
        await stage.type("/config display.ascii")
        await stage.until(lambda: isinstance(app.screen, SettingsScreen))
        await stage.until(lambda: app.screen._list.row and app.screen._list.row.key.name == "display.ascii")
        await stage.pilot.press("enter")
        await stage.until(lambda: "display.ascii = true; acts at once" in " ".join(app.screen._foot.words))
        assert symbols.ascii_is_forced()
        assert "ascii: true" in stage.host.places.config_file.read_text()
        await stage.pilot.press("ctrl+r")
        await stage.until(lambda: "is at its default" in " ".join(app.screen._foot.words))
        assert not symbols.ascii_is_forced()
        assert "ascii" not in stage.host.places.config_file.read_text()
        app.screen._field.text = "display.theme"
        await stage.until(lambda: app.screen._list.row.key.name == "display.theme")
        await stage.pilot.press("enter")
        await stage.until(lambda: isinstance(app.screen, ChoiceScreen))
        assert app.screen._list.row == "auto"
        assert "One of auto, ansi, high-contrast" in " ".join(app.screen_stack[-2]._detail._lines)
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: "display.theme = ansi; acts at once" in " ".join(app.screen._foot.words))
        assert (app.theme, app.themes.chosen) == ("ansi", "ansi")
        await stage.pilot.press("escape")
        await stage.until(lambda: len(app.screen_stack) == 1)
        await stage.type("/insights many")
        await stage.until(lambda: "/insights 7 the last seven days" in " ".join(stage.transcript().split()))


def test_every_setting_is_explained_in_both_languages_with_the_same_figures_and_names():
    english = {key.name: key.doc for key in schema.KEYS}
    set_language("zh")
    chinese = {key.name: about(key) for key in schema.KEYS}
    there = {name.partition(".")[2] for name in texts("zh") if name.startswith("setting_docs.")}
    assert there == english.keys()
    exact = re.compile(r"\d[\d,.]*(?<![,.])|docs/\w+\.md|(?<![\w/])/[a-z]+|\.?\w+\.md")
    for name, text in chinese.items():
        assert re.search("[\u4e00-\u9fff]", text), name
        assert sorted(set(exact.findall(english[name]))) == sorted(set(exact.findall(text))), name
    assert [one.key.name for one in fitting(settings(), "思考")] == ["agent.reasoning_effort"]
    assert [one.key.name for one in fitting(settings(), "thinks first")] == ["agent.reasoning_effort"]
    # Headings too are found by either language's words.
    assert fitting(settings(), "界面 ascii") == fitting(settings(), "screen ascii") != []
