"""The tour of the first start and the remarks under the draft: what they say, and that they are in nobody's way."""

from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual import events

from nanoherm_tui import limits
from nanoherm_tui.i18n import set_language, t
from nanoherm_tui.keymap import Keymap, load_keymap
from nanoherm_tui.panes.tour import CARDS, words_of
from nanoherm_tui.remarks import TABLE, Remarks, words
from nanoherm_tui.remembered import recall
from tests.fakes.model_server import Reply
from tests.tui.overlay_app import rows, shown
from tests.tui.test_app import Stage


class FirstStage(Stage):
    """There was no home before."""

    def start(self):
        return replace(super().start(), first=True)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_cards_and_remarks_name_the_users_own_keys_in_few_words(language):
    set_language(language)
    keymap, _ = load_keymap({"palette": "f9", "expand_paste": "f8", "toggle_dock": []})
    cards = {card.name: words_of(card, keymap, demo=False) for card in CARDS}
    assert "F9" in cards["find"]
    assert t("tour.no_key") in cards["dock"]
    for text in (*cards.values(), words_of(CARDS[0], keymap, demo=True)):
        assert cell_len(text) <= 130  # four rows of a card on 40 columns
    assert "F8" in words("paste", keymap)
    assert words("changes", keymap) == ""  # the key it names is not there
    for remark in TABLE:
        assert 0 < cell_len(words(remark.name, Keymap())) <= 74  # a row of 80 columns


def test_a_remark_is_made_twice_ever_once_in_a_run_and_not_when_switched_off():
    remarks = Remarks({"paste": "often", "unknown": 3, "stopped": 1}, on=True)
    assert remarks.meet("paste")
    assert not remarks.meet("paste")  # in this run it was
    remarks.missed("paste")
    assert remarks.meet("paste")
    remarks.told("paste")
    remarks.told("paste")
    assert not Remarks(remarks.shown, on=True).meet("paste")
    assert Remarks(remarks.shown, on=True).meet("stopped")
    assert not Remarks(remarks.shown, on=False).meet("stopped")
    assert remarks.shown == {"paste": 2, "stopped": 1}


async def test_the_first_start_shows_around_and_takes_no_key_from_the_draft(tmp_path):
    async with FirstStage(tmp_path, [Reply(text="one")], size=(80, 24)) as stage:
        app, press = stage.app, stage.pilot.press
        await stage.until(lambda: t("tour.write") in shown(app))
        assert app.composer.holds_focus
        top = next(n for n, row in enumerate(rows(app)) if t("tour.write") in row)
        for number, card in enumerate(CARDS[1:], 2):
            place = f"{number} of {len(CARDS)}"
            await press("tab")
            await stage.until(lambda words=place: words in rows(app)[top])
            assert t(f"tour.{card.name}") in rows(app)[top]
        await press("f2")  # what leads somewhere is tried, and leads there
        await stage.until(lambda: app.panes.sessions != "hidden")
        assert app.tour is not None
        await press("f2", "x", "y")
        await stage.until(lambda: app.tour is None and app.composer.text == "xy")
        for key, draft in (("escape", "xy"), ("backspace", "x")):
            app.composer.text = "xy"
            app.action_command("tour")
            await stage.until(lambda: t("tour.write") in shown(app))
            await press(key)
            await stage.until(lambda: t("tour.write") not in shown(app))
            assert (app.tour, app.composer.text) == (None, draft)
        app.action_command("tour")
        await stage.until(lambda: t("tour.write") in shown(app))
        for size in ((40, 10), (1, 1), (80, 24)):
            await stage.pilot.resize_terminal(*size)
            await stage.pilot.pause()
            assert {cell_len(row) for row in rows(app)} <= {size[0]}
        app.composer.text = ""
        await press(*["tab"] * len(CARDS))
        await stage.until(lambda: app.tour is None)


async def test_a_remark_comes_when_the_keys_rest_moves_nothing_and_goes_with_the_next_key(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "REMARK_RESTS", 0.05)
    paste = events.Paste("a line\n" * 40)
    async with Stage(tmp_path, [Reply(text="one")], size=(80, 24)) as stage:
        app = stage.app
        assert app.tour is None  # there was a home
        app.composer._draft.post_message(paste)
        await stage.until(lambda: app.composer.has_paste)
        app.composer.tell_draft()
        before = rows(app)
        said = words("paste", app.keymap)
        await stage.until(lambda: said in shown(app))
        changed = [n for n, (old, new) in enumerate(zip(before, rows(app), strict=True)) if old != new]
        assert [said in rows(app)[n] for n in changed] == [True]
        await stage.pilot.press("x")
        await stage.until(lambda: said not in shown(app))
        file = app.host.places.screen_file
        await stage.until(lambda: recall(file).get("remarks") == {"paste": 1})
        # Over other words it is not made, nor where the row is not there.
        app.composer.text = "!ls"
        await stage.pilot.pause()
        assert not app.composer.remark(said)
        app.composer.text = ""
        await stage.pilot.pause()
        assert app.composer.remark(said)
        await stage.pilot.resize_terminal(60, 12)
        await stage.until(lambda: said not in shown(app))
        assert not app.composer.remark(said)
