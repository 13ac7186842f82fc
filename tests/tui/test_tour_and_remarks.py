"""The tour of the first start and the remarks under the draft: what they say, and that they are in nobody's way."""

import math
from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual import events

from agent_core import intents
from nanoherm_tui import limits
from nanoherm_tui.commands import remarks
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
    made = Remarks({"paste": "often", "unknown": 3, "stopped": 1}, on=True)
    assert made.meet("paste")
    assert not made.meet("paste")  # in this run it was
    made.missed("paste")
    assert made.meet("paste")
    made.told("paste")
    made.told("paste")
    assert not Remarks(made.shown, on=True).meet("paste")
    assert Remarks(made.shown, on=True).meet("stopped")
    assert not Remarks(made.shown, on=False).meet("stopped")
    assert made.shown == {"paste": 2, "stopped": 1}


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


@pytest.mark.parametrize("size", [(20, 8), (39, 24), (80, 9)])
async def test_where_a_card_would_hide_the_draft_the_first_start_shows_none(tmp_path, size):
    async with FirstStage(tmp_path, [Reply(text="one")], size=size) as stage:
        await stage.until(lambda: stage.app.furnished and stage.app.view.loaded)
        await stage.pilot.pause()
        assert stage.app.tour is None


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


async def test_a_remark_about_a_question_goes_with_it_and_is_not_made_over_another_session(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "REMARK_RESTS", 0.05)
    ask = Reply(calls=[("run_command", {"command": "touch one"})])
    async with Stage(tmp_path, [ask, Reply(text="Over."), ask, Reply(text="Over.")], size=(80, 24)) as stage:
        app = stage.app
        said = words("question", app.keymap)
        monkeypatch.setattr(limits, "REMARK_STAYS", 1_000.0)
        await stage.type("first")
        await stage.until(lambda: said in shown(app))
        app.conversations.send(intents.Answer(app.view.waiting[0].question.id, "refuse"))
        await stage.until(lambda: said not in shown(app))
        # Here it is still to be made when another session comes in view.
        await stage.until(lambda: stage.state == "idle")
        app.remarks._met.clear()
        monkeypatch.setattr(limits, "REMARK_RESTS", 1_000.0)  # its time is when this test says so
        first = app.view
        await stage.type("second")
        await stage.until(lambda: first.waiting)
        app.conversations.bring(app.host.new)
        await stage.until(lambda: app.view is not first)
        assert "question" in app.remarks._met
        remarks._make(app, "question", first.id, math.inf)
        assert "question" not in app.remarks._met
        assert said not in shown(app)
