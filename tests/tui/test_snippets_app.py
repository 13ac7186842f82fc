"""Snippets in the draft: by name and Tab, from the list, their places one after the other."""

from agent_core.snippets import Snippet
from nanoherm_tui import i18n
from nanoherm_tui.overlays.palette import PaletteScreen
from nanoherm_tui.overlays.snippets import word_before
from nanoherm_tui.panes.snippet_stops import Stops
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.composer_app import ComposerApp, rows, type_keys
from tests.tui.test_app import Stage
from tests.tui.test_chips import draft_of

REVIEW = Snippet("review", "Review ${2:path} for\n${1:bugs}. $0!", "yours")
KNOWN = (Snippet("fix", "Fix it", "yours"), REVIEW, Snippet("修复", "请修复 ${1:文件}", "yours"))


@each_row(
    ("line", "word"),
    [
        (";", ""), (";re", "re"), ("a ;re", "re"), ("你好，;修", "修"), ("a;re", None), ("for (;;", None),
        (";re ", None), ("a; re", None), ("好;re", None), ("", None),
    ],
)  # fmt: skip
def test_a_name_is_written_behind_a_semicolon_that_begins_a_word(line, word):
    assert word_before(line, len(line)) == word


@each_row(
    ("change", "next_places"),
    [
        ((0, 4, 6), [(12, 16), (20, 20)]),  # the first place is written over, longer
        ((2, 0, 3), [(13, 17), (21, 21)]),
        ((6, 1, 3), [(12, 16), (20, 20)]),  # between two places
        ((19, 0, 2), [(10, 14), (18, 18)]),  # behind them all
        ((18, 0, 2), [(10, 14), (20, 20)]),
        ((3, 9, 0), []),  # into another place: there is nothing sensible left
    ],
)
def test_places_stay_at_their_words_while_the_draft_changes(change, next_places):
    stops = Stops([(0, 4), (10, 14), (18, 18)])
    stops.moved(*change)
    places = []
    while (place := stops.next()) is not None:
        places.append(place)
    assert places == next_places


def test_what_was_filled_in_can_be_gone_back_to_until_the_last_place_is_reached():
    stops = Stops([(10, 14), (0, 4), (5, 7), (20, 20)])  # by number, as they are gone to, not by where they stand
    assert stops.previous() == (10, 14), "before the first there is none"
    stops.moved(10, 4, 6)
    assert stops.next() == (0, 4)
    stops.moved(0, 4, 1)
    assert [stops.next(), stops.previous(), stops.previous()] == [(2, 4), (0, 1), (7, 13)]
    stops.moved(8, 2, 3)  # within the place gone back to
    assert [stops.next(), stops.next(), stops.next()] == [(0, 1), (2, 4), (20, 20)]
    assert (stops.are_left, stops.previous()) == (False, None)


async def test_tab_writes_a_snippet_and_goes_to_its_places_and_enter_sends_as_ever():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        composer, draft = app.composer, draft_of(app)
        composer.snippets = KNOWN
        await type_keys(pilot, *"Hi ;r")
        await pilot.pause()
        assert any(";review" in row for row in rows(app))
        await type_keys(pilot, "tab")
        assert composer.text == "Hi Review path for\nbugs. !"
        assert composer.selected_text == "bugs"
        assert "Tab to the next place" in rows(app)[-1]
        await type_keys(pilot, *"竞争", "tab")
        assert composer.selected_text == "path"
        await type_keys(pilot, "shift+tab")
        assert composer.selected_text == "竞争"
        await type_keys(pilot, "tab")
        await type_keys(pilot, *"a.py", "tab", *"Now")
        assert composer.text == "Hi Review a.py for\n竞争. Now!"
        assert draft.cursor_location == (1, 7)
        await type_keys(pilot, "enter")
        assert app.posted == [("send", "Hi Review a.py for\n竞争. Now!")]


async def test_names_are_chosen_with_the_arrows_put_away_with_esc_and_tab_queues_when_there_is_none():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        composer = app.composer
        composer.snippets = KNOWN
        await type_keys(pilot, ";", "down", "down", "tab")
        assert (composer.text, composer.selected_text) == ("请修复 文件", "文件")
        await type_keys(pilot, "ctrl+underscore", "ctrl+underscore", "x")
        assert not draft_of(app).has_stops, "undone"
        composer.text = ""
        await type_keys(pilot, *";fi", "escape", "tab")
        assert composer.text == ";fi"
        assert not composer._snippets.popup.is_open
        composer.set_state("running")
        await type_keys(pilot, "tab")
        assert app.posted[-1] == ("queue", ";fi"), "put away, it is only text"


async def test_a_snippet_comes_from_the_file_by_name_command_and_key_and_a_wrong_line_is_told(tmp_path):
    i18n.set_language("en")
    async with Stage(tmp_path, [Reply("ok")]) as stage:
        app = stage.app
        (stage.host.places.data_home / "snippets.yaml").write_text("fix: Fix ${1:it}\nbad: [1]\n")
        await stage.pilot.press("semicolon", "f")
        await stage.until(lambda: app.composer._snippets.popup.is_open)
        await stage.pilot.press("tab")
        assert (app.composer.text, app.composer.selected_text) == ("Fix it", "it")
        await stage.until(lambda: "snippets.yaml:2: bad has no text" in stage.transcript())
        app.composer.text = ""
        await stage.type("/snippet fix")
        await stage.until(lambda: app.composer.text == "Fix it")
        await stage.pilot.press("end", "space", "alt+s")
        await stage.until(lambda: isinstance(app.screen, PaletteScreen))
        await stage.pilot.press("enter")
        await stage.until(lambda: app.composer.text == "Fix it Fix it")
