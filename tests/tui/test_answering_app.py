"""Who answers, how, and what it costs, as the screen has it: lists to choose from, the status line, the usage table."""

import threading

import pytest

from agent_core.llm import providers
from agent_core.messages import Usage
from agent_core.mind import prompt
from agent_core.mind.budget import Budget
from agent_core.mind.meter import SessionUsage
from agent_core.names import PERSONAS
from agent_core.store.usage import ModelCost, Spent
from nanoherm_tui import i18n
from nanoherm_tui.overlays.palette import PaletteScreen
from nanoherm_tui.overlays.usage import UsageScreen, columns
from nanoherm_tui.text import width
from nanoherm_tui.words.usage import remarks, table
from tests.fakes.model_server import ModelServer, Reply
from tests.rows import each_row
from tests.tui.overlay_app import OverlayApp, rows, shown
from tests.tui.test_app import Stage

COUNT = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}


def offered(app):
    screen = app.screen
    return [(item.id, item.title, item.help) for item in screen._items] if isinstance(screen, PaletteScreen) else []


async def choose(stage, command, item):
    """Open the list of a command and choose the item that this finds."""
    await stage.type(command)
    await stage.until(lambda: offered(stage.app))
    await stage.pilot.press(*item, "enter")
    await stage.until(lambda: not offered(stage.app))


def status(stage):
    return stage.app.status.render_line(0).text


async def test_models_of_every_provider_are_offered_at_once_and_what_servers_list_joins_them(tmp_path):
    with ModelServer([Reply("I am two", usage=COUNT)]) as two:
        entries = {"two": {"base_url": two.base_url, "model": "m2"}}
        async with Stage(tmp_path, [Reply("I am one")], providers=entries) as stage:
            await stage.type("/model")
            await stage.until(lambda: len(offered(stage.app)) == 4)
            titles = [title for _, title, _ in offered(stage.app)]
            assert titles == ["as configured", "custom/test-model", "m2", "two/test-model"], "two alike say whose"
            assert "two" in stage.app.models_seen[-1]
            await stage.pilot.press("m", "2", "enter")
            await stage.type("hi")
            await stage.until(lambda: "I am two" in stage.transcript() and stage.state == "idle")
            assert "m2" in status(stage)
            await stage.type("/model default")
            await stage.type("again")
            await stage.until(lambda: "I am one" in stage.transcript())
            assert [body["model"] for body in two.requests] == ["m2"]


async def test_a_provider_that_does_not_answer_is_told_and_hides_no_other(tmp_path):
    entries = {
        "dead": {"base_url": "http://127.0.0.1:9/v1"},
        "mute": {"base_url": "http://127.0.0.1:9/v2", "model": "x"},
    }
    async with Stage(tmp_path, [Reply("I am one")], providers=entries) as stage:
        await stage.type("/model")
        await stage.until(lambda: "dead lists no models" in stage.transcript())
        assert ("model:mute x", "x", "mute, whose list could not be had") in offered(stage.app)
        await stage.pilot.press("escape")


async def test_who_answers_in_a_turn_stands_in_the_status_line_until_its_end(tmp_path):
    gone = {"status": 402, "body": '{"error": {"message": "no credit"}}'}
    go_on = threading.Event()
    with ModelServer([Reply("I am two", held=go_on)]) as two:
        entries = {"two": {"base_url": two.base_url}}
        spare = [{"provider": "two", "model": "spare-model"}]
        async with Stage(tmp_path, [Reply(**gone)], providers=entries, fallback_providers=spare) as stage:
            await stage.type("hi")
            await stage.until(lambda: "spare-model" in status(stage))
            told = " ".join(stage.transcript().split())
            assert "spare-model (two) answers instead of test-model for this turn" in told
            go_on.set()
            await stage.until(lambda: stage.state == "idle")
            assert "test-model" in status(stage)
            assert "spare-model" not in status(stage)


async def test_persona_temperature_and_effort_are_chosen_from_lists_or_typed(tmp_path):
    personas = {"pirate": "Speak like a pirate.", "calm": "Be calm."}
    async with Stage(tmp_path, [Reply("ok")], personalities=personas) as stage:
        await choose(stage, "/persona", "pir")
        await choose(stage, "/temperature", "0.5")
        await choose(stage, "/effort", "xhi")
        await stage.until(lambda: "Effort: xhigh" in status(stage))
        await stage.type("hi")
        await stage.until(lambda: stage.state == "idle" and "ok" in stage.transcript())
        body = stage._server.requests[0]
        assert (body["temperature"], body["reasoning_effort"]) == (0.5, "xhigh")
        assert "pirate" in body["messages"][0]["content"]
        for command in ("/persona none", "/temperature off", "/effort default"):
            await stage.type(command)
        await stage.type("hi")
        await stage.until(lambda: len(stage._server.requests) == 2)
        body = stage._server.requests[1]
        assert "temperature" not in body
        assert "pirate" not in body["messages"][0]["content"]
        await choose(stage, "/persona", "concise")
        await stage.type("hi")
        await stage.until(lambda: len(stage._server.requests) == 3)
        assert prompt.text("persona_concise") in stage._server.requests[2]["messages"][0]["content"]
        await stage.type("/temperature warm")
        await stage.until(lambda: "from 0 to 2" in stage.transcript() and stage.app.view.options.temperature is None)
        for wrong, refusal in (("/effort lots", "The effort is one of"), ("/persona nobody", "There is no persona")):
            await stage.type(wrong)
            await stage.until(lambda refusal=refusal: refusal in stage.transcript())
            assert wrong.split()[1] not in status(stage), "what is refused is not said to be set"


async def test_without_personas_the_place_for_them_is_named(tmp_path):
    async with Stage(tmp_path, [Reply("ok")], personalities=dict.fromkeys(PERSONAS, "")) as stage:
        await stage.type("/persona")
        await stage.until(lambda: "personalities" in stage.transcript())


async def test_the_cost_of_a_session_grows_in_the_status_line_and_is_there_again_when_it_is_opened(tmp_path):
    prices = {"custom": {"prices": {"test-model": {"input": 100, "output": 1000}}}}
    async with Stage(tmp_path, [Reply("ok", usage=COUNT)], providers=prices) as stage:
        await stage.type("hi")
        await stage.until(lambda: "$0.20" in status(stage))
        await stage.type("hi")
        await stage.until(lambda: "$0.40" in status(stage))
        session = stage.app.view.id
        await stage.type("/usage")
        await stage.until(lambda: isinstance(stage.app.screen, UsageScreen))
        await stage.pilot.pause()
        assert "2.0k" in shown(stage.app)
        await stage.pilot.press("escape")
    async with Stage(tmp_path, [Reply("ok", usage=COUNT)], providers=prices) as stage:
        await stage.type(f"/resume {session[:8]}")
        await stage.until(lambda: "$0.40" in status(stage))
        assert "2.0k in" in status(stage)


async def test_a_cost_that_nobody_knows_is_no_nought(tmp_path, monkeypatch):
    monkeypatch.setattr(providers, "is_loopback", lambda url: False)
    async with Stage(tmp_path, [Reply("ok", usage=COUNT)]) as stage:
        await stage.type("hi")
        await stage.until(lambda: "$?" in status(stage))


# -- the table --------------------------------------------------------------------------------------------------------

KNOWN = ModelCost("claude-sonnet-5-5", 12, Usage(1_234_567, 45_678, None, 900_000, 1_000), 3.456, 0, "2026-10-24")
PARTLY = ModelCost("模型-很长的名字-很长的名字-很长的名字", 3, Usage(1_000, 20), 0.02, 1, "config")
UNKNOWN = ModelCost("bare[b]\x1b[2J", 1, Usage(), 0.0, 1, "")
ALL = SessionUsage(Spent((KNOWN, PARTLY, UNKNOWN), 90.0), Budget(2_000_000, 5.0, 10))


def test_each_model_has_its_row_and_what_is_not_known_says_so():
    lines = {line["model"]: line for line in table(ALL)}
    assert lines["claude-sonnet-5-5"] == {
        "model": "claude-sonnet-5-5", "requests": "12", "in": "1.2M", "cached": "900k", "out": "45.7k",
        "reasoning": "1.0k", "cost": "$3.46", "prices": "2026-10-24",
    }  # fmt: skip
    assert [line["cost"] for line in table(ALL)] == ["$3.46", "$0.02+", "$?", "$3.48+"]
    assert table(ALL)[2]["in"] == "?"
    assert lines["together"]["requests"] == "16"
    assert len(table(SessionUsage(Spent((KNOWN,)), Budget()))) == 1  # no sum of one


@pytest.mark.parametrize(
    ("pricing", "said"),
    [("2026-10-24", "list prices of 2026-10-24."), ("config", None), ("local", None), ("", None)],
)
def test_costs_are_said_to_be_from_a_price_list_only_where_they_are(pricing, said):
    model = ModelCost("m", 1, Usage(10, 5), 0.01, 0, pricing)
    told = " ".join(remarks(table(SessionUsage(Spent((model,)), Budget()))))
    assert (said in told) if said else told == ""


@each_row("cells", [120, 92, 76, 56, 36, 30, 20])
def test_narrow_the_columns_go_that_can_be_done_without_and_the_cost_last(cells):
    kept = columns(table(ALL), cells)
    assert sum(kept.values()) + 2 * len(kept) < cells
    worth = ["cost", "in", "out", "cached", "reasoning", "requests", "prices"]
    assert set(kept) == set(worth[: len(kept)])
    assert cells < 92 or len(kept) == 7


@pytest.mark.parametrize("language", i18n.LANGUAGES)
@pytest.mark.parametrize("size", [(200, 60), (80, 24), (60, 16), (40, 10), (12, 3)])
async def test_the_usage_is_shown_on_any_screen_and_closes(language, size):
    i18n.set_language(language)
    app = OverlayApp()
    async with app.run_test(size=size) as pilot:
        app.push_screen(UsageScreen(ALL))
        await pilot.pause()
        assert all(width(row) == size[0] for row in rows(app))
        assert size[0] < 40 or "$3.46" in shown(app)
        assert "\x1b" not in shown(app)
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, UsageScreen)


async def test_a_session_in_which_nothing_was_asked_says_so():
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(UsageScreen(SessionUsage(Spent(), Budget())))
        await pilot.pause()
        assert "Nothing was asked" in shown(app)
