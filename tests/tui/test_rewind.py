"""The rewind picker, and what is written in the place of an earlier message."""

import asyncio

import pytest
from textual import events

from agent_core import intents
from nanoherm_tui.i18n import set_language
from tests.fakes.model_server import Reply
from tests.tui.overlay_app import rows
from tests.tui.test_app import Stage

SAID = ["first words", "修复 parse_date 的时区问题\n还有测试", "third words"]


async def talked(stage, texts=SAID):
    for number, text in enumerate(texts, 1):
        await stage.type(text)
        await stage.until(lambda n=number: len(stage.app.view.session.said()) == n and stage.state == "idle")


def screen(stage):
    return "\n".join(rows(stage.app))


async def opened(stage, *keys):
    await stage.pilot.press(*keys)
    await stage.until(lambda: type(stage.app.screen).__name__ == "RewindScreen")


def model_texts(stage):
    return [m.text for m in stage.host.store.messages(stage.app.view.id)]


async def test_esc_twice_offers_what_was_said_and_sends_another_in_its_place(tmp_path):
    async with Stage(tmp_path, [Reply(text="ok")]) as stage:
        await talked(stage)
        await stage.pilot.press("escape")
        assert "Esc again" in screen(stage)
        await opened(stage, "escape")
        shown = [row for row in rows(stage.app) if " turn" in row]
        assert [word in row for word, row in zip(("third", "parse_date", "first"), shown, strict=True)] == [True] * 3
        assert "1 turn " in shown[0]
        assert "3 turns " in shown[2]
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: stage.app.composer.text == SAID[1])
        await stage.until(lambda: "Takes the place of an earlier message" in screen(stage))
        assert len(model_texts(stage)) == 6, "nothing is taken out until it is sent"
        stage.app.composer.text = "otherwise"
        await stage.pilot.press("enter")
        await stage.until(lambda: len(stage.app.view.session.said()) == 2 and stage.state == "idle")
        assert model_texts(stage) == ["first words", "ok", "otherwise", "ok"]
        assert "third words" not in stage.transcript()
        await stage.type("next")
        await stage.until(lambda: len(stage.app.view.session.said()) == 3)
        assert model_texts(stage)[:5] == ["first words", "ok", "otherwise", "ok", "next"], "only one took a place"


async def test_letters_narrow_the_list_the_newest_stays_first_and_esc_leaves_all_as_it_was(tmp_path):
    async with Stage(tmp_path, [Reply(text="ok")]) as stage:
        await talked(stage)
        before = model_texts(stage)
        await opened(stage, "escape", "escape")
        await stage.pilot.press("escape")
        await opened(stage, "escape", "escape")
        await stage.pilot.press(*"words")
        await stage.until(lambda: "2 of 3" in screen(stage) or "2/3" in screen(stage))
        shown = [row for row in rows(stage.app) if " turn" in row]
        assert "third" in shown[0]
        assert "first" in shown[1]
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.app.composer.text == SAID[2])
        await stage.pilot.press("escape")
        assert stage.app.composer.text == ""
        await stage.type("a new one")
        await stage.until(lambda: len(stage.app.view.session.said()) == 4 and stage.state == "idle")
        assert model_texts(stage)[:6] == before


async def test_only_taken_out_is_put_back_by_redo_and_keys_of_one_read_choose_the_message_they_went_to(tmp_path):
    async with Stage(tmp_path, [Reply(text="ok")]) as stage:
        await talked(stage)
        before = model_texts(stage)
        await stage.type("/rewind")
        await stage.until(lambda: type(stage.app.screen).__name__ == "RewindScreen")
        await stage.pilot.press("down", "tab")
        await stage.until(lambda: len(model_texts(stage)) == 2)
        assert stage.app.composer.is_empty
        assert "/redo" in screen(stage)
        await stage.type("/redo")
        await stage.until(lambda: model_texts(stage) == before)
        await stage.until(lambda: "third words" in stage.transcript())
        await opened(stage, "escape", "escape")
        for key in ("down", "down", "tab"):
            stage.app.post_message(events.Key(key, None))
        await stage.until(lambda: not stage.app.view.session.said())


async def test_retry_says_the_last_message_again(tmp_path):
    async with Stage(tmp_path, [Reply(text="one"), Reply(text="two")]) as stage:
        await talked(stage, ["hello"])
        await stage.type("/retry")
        await stage.until(lambda: model_texts(stage) == ["hello", "two"])


async def test_a_redirect_by_its_command_cuts_the_answer(tmp_path):
    async with Stage(tmp_path, [Reply(text="word " * 400, gap=0.02), Reply(text="the other way")]) as stage:
        await stage.type("go")
        await stage.until(lambda: "word word" in stage.transcript())
        stage.app.view.session.send(intents.Redirect("no, this way"))
        await stage.until(lambda: stage.state == "idle")
        texts = model_texts(stage)
        assert texts[0] == "go"
        assert texts[1].startswith("word word")
        assert texts[2:] == ["no, this way", "the other way"]


async def test_while_a_turn_runs_or_before_the_first_there_is_nothing_to_choose(tmp_path):
    async with Stage(tmp_path, [Reply(text="slow", hang=60)]) as stage:
        await stage.pilot.press("escape", "escape")
        await asyncio.sleep(0.1)
        assert type(stage.app.screen).__name__ != "RewindScreen"
        await stage.type("go")
        await stage.until(lambda: stage.state == "running")
        await stage.type("/rewind")
        await stage.until(lambda: "Stop it first" in screen(stage))
        stage.app.view.session.send(intents.Interrupt())
        await stage.until(lambda: stage.state == "idle")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_it_fits_every_screen_in_both_languages(tmp_path, language):
    async with Stage(tmp_path, [Reply(text="ok")], size=(80, 24), **{"display.language": language}) as stage:
        await talked(stage, [*SAID, "很长的一条消息，" * 40])
        for size in ((80, 24), (200, 60), (40, 10)):
            await stage.pilot.resize_terminal(*size)
            await opened(stage, "escape", "escape")
            await stage.until(lambda: "first words" in screen(stage))
            shown = screen(stage)
            assert "Esc again" not in shown
            assert ("only take out" if language == "en" else "只去掉") in shown
            await stage.pilot.press("end", "down", "enter")
            await stage.until(lambda: ("Esc leave it" if language == "en" else "Esc 放弃") in screen(stage))
            await stage.pilot.press("escape")
            await stage.until(lambda: stage.app.composer.is_empty)
        set_language("en")
