"""Modes on the screen: cycling, the word that auto and goal want, goals, and what confines commands."""

import asyncio
from dataclasses import replace

import pytest

from agent_core import events, intents
from agent_core.desk.walls import WallsDesk
from agent_core.names import MODES
from agent_core.session.services import Containment
from nanoherm_tui import limits
from nanoherm_tui.overlays.consent import Consent, ConsentScreen
from nanoherm_tui.session_view import SessionView
from nanoherm_tui.summary import status_info
from nanoherm_tui.words.sandbox import sandbox_words
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.composer_app import type_keys
from tests.tui.overlay_app import OverlayApp, shown
from tests.tui.test_app import Stage

HELD = Containment(kernel=True)
BARE = Containment(why="Landlock: landlock_create_ruleset: not implemented")


@pytest.fixture
def machine(monkeypatch):
    """`machine(containment)`: what the kernel of this machine is said to do."""
    now, real = [HELD], WallsDesk.containment
    monkeypatch.setattr(WallsDesk, "containment", lambda walls: replace(now[0], accepted=real(walls).accepted))
    return lambda held: now.__setitem__(0, held)


def status(app):
    return app.status.rows(app.size.width)[0].text


async def confirmed(stage, mode):
    """The overlay for this mode is there, and a y would count."""
    await stage.until(lambda: isinstance(stage.app.screen, ConsentScreen) and stage.app.screen.armed)
    await stage.until(lambda: f"Mode {mode} in this folder?" in shown(stage.app))


async def test_each_mode_is_reached_with_one_key_and_says_what_confines_commands(tmp_path, machine):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        app, press = stage.app, stage.pilot.press
        await stage.until(lambda: "ask   workspace-write" in status(app))
        for mode, box in (("plan", "read-only"), ("debug", "read-only")):
            await press("shift+tab")
            await stage.until(lambda mode=mode, box=box: f"{mode}   {box}" in status(app))
        for mode in ("auto", "goal"):
            await press("shift+tab")
            await confirmed(stage, mode)
            await press("y")
            await stage.until(lambda mode=mode: f"{mode}   workspace-write" in status(app))
        await press("shift+tab")
        await stage.until(lambda: app.view.mode == "ask")
        # Both were confirmed in this folder: from now on nothing is asked there.
        for mode in MODES[1:]:
            await press("shift+tab")
            await stage.until(lambda mode=mode: app.view.mode == mode)
        assert len(app.screen_stack) == 1


async def test_who_cycles_on_is_not_held_up_and_an_overlay_goes_on_with_the_same_key(tmp_path, machine):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        app = stage.app
        await stage.pilot.press(*["shift+tab"] * 5)
        await stage.until(lambda: app.view.asked_mode is None and app.view.mode == "ask")
        await asyncio.sleep(limits.CONSENT_RESTS * 1.5)
        assert len(app.screen_stack) == 1
        assert app.view.mode == "ask"
        await stage.pilot.press(*["shift+tab"] * 3)
        await confirmed(stage, "auto")
        await stage.pilot.press("shift+tab")
        await stage.until(lambda: app.view.to_confirm is not None and app.view.to_confirm.mode == "goal")
        await stage.pilot.press("shift+tab")
        await stage.until(lambda: app.view.mode == "ask" and len(app.screen_stack) == 1)


async def test_only_a_y_that_stands_alone_enters_the_mode_and_what_is_typed_is_not_lost(tmp_path, machine, monkeypatch):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        app = stage.app
        with monkeypatch.context() as patched:
            patched.setattr(limits, "APPROVAL_ARM", 60.0)  # the question has just come, however slow this machine is
            app.view.session.send(intents.SetMode("auto"))
            await stage.until(lambda: isinstance(app.screen, ConsentScreen))
            await type_keys(stage.pilot, "y")
            await stage.until(lambda: app.composer.text == "y")
        app.composer.text = ""
        app.view.session.send(intents.SetMode("auto"))
        await stage.until(lambda: isinstance(app.screen, ConsentScreen))
        await type_keys(stage.pilot, *"yes, y")
        await stage.until(lambda: app.composer.text == "yes, y")
        assert app.view.mode == "ask"
        assert len(app.screen_stack) == 1
        for keys in (["enter"], ["escape"], ["n"], ["y", "y"], ["y", "enter"]):
            app.composer.text = ""
            app.view.session.send(intents.SetMode("auto"))
            await confirmed(stage, "auto")
            await type_keys(stage.pilot, *keys)
            await asyncio.sleep(limits.APPROVAL_ALONE * 2)
            assert app.view.mode == "ask", keys
            if len(app.screen_stack) > 1:
                await stage.pilot.press("escape")
                await stage.until(lambda: len(app.screen_stack) == 1)
            await stage.until(lambda: stage.state == "idle")


async def test_keys_at_twenty_a_second_with_enter_among_them_confirm_nothing(tmp_path, machine, monkeypatch):
    monkeypatch.setattr(limits, "APPROVAL_ARM", 5.0)  # a busy machine makes pauses where nobody has made one
    async with Stage(tmp_path, [Reply(text="ok") for _ in range(30)]) as stage:
        app = stage.app
        app.view.session.send(intents.SetMode("auto"))
        await stage.until(lambda: isinstance(app.screen, ConsentScreen))
        for key in ["y", "enter", "n", "y", "space", "y", "enter", "y", "a"] * 3:
            await stage.pilot.press(key)
            await asyncio.sleep(0.05)
        assert app.view.mode == "ask"


async def test_a_draft_that_is_being_written_is_not_covered(tmp_path, machine):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        app = stage.app
        await stage.pilot.press(*["shift+tab"] * 3)
        await stage.until(lambda: app.view.to_confirm is not None)
        for letter in "still writing this":
            app.composer.insert(letter)
            assert len(app.screen_stack) == 1
            await asyncio.sleep(0.05)
        await confirmed(stage, "auto")


# -- goals --------------------------------------------------------------------------------------------------------


async def test_a_goal_waits_for_the_mode_to_be_confirmed_and_is_in_the_status_line(tmp_path, machine):
    async with Stage(tmp_path, [Reply(text="On it.", hang=60) for _ in range(9)]) as stage:
        app = stage.app
        await stage.type("/goal 让所有测试通过")
        await confirmed(stage, "goal")
        assert app.view.goal == ""
        await stage.pilot.press("y")
        await stage.until(lambda: app.view.mode == "goal" and "goal 让所有测试通过" in status(app))
        app.view.session.send(intents.Interrupt())
        await stage.until(lambda: stage.state == "idle" and not app.composer.is_empty)  # what was sent is given back
        await stage.type("/goal")
        await stage.until(lambda: "让所有测试通过" in app._hint)
        await stage.type("/goal off")
        await stage.until(lambda: app.view.goal == "")


async def test_a_goal_that_is_not_confirmed_is_not_begun(tmp_path, machine):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        app = stage.app
        await stage.type("/goal make it green")
        await confirmed(stage, "goal")
        await stage.pilot.press("escape")
        await stage.until(lambda: len(app.screen_stack) == 1)
        assert (app.view.mode, app.view.goal, app.view.state) == ("ask", "", "idle")
        await stage.type("/mode goal")  # later, for another reason
        await confirmed(stage, "goal")
        await stage.pilot.press("y")
        await stage.until(lambda: app.view.mode == "goal")
        assert (app.view.goal, app.view.state) == ("", "idle")


# -- no sandbox ---------------------------------------------------------------------------------------------------


async def test_without_a_sandbox_it_is_said_can_be_accepted_and_taken_back(tmp_path, machine):
    machine(BARE)
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        app = stage.app
        await stage.until(lambda: "no sandbox" in status(app))
        await stage.until(lambda: "landlock_create_ruleset" in shown(app))
        assert app.view.session.modes == ("ask", "plan", "debug")
        await stage.type("/no-sandbox")
        await stage.until(lambda: isinstance(app.screen, ConsentScreen) and app.screen.armed)
        assert "not implemented" in shown(app)
        await stage.pilot.press("enter")
        assert not stage.host.grants.read().no_sandbox
        await stage.until(lambda: app.screen.armed)
        await stage.pilot.press("y")
        await stage.until(lambda: app.held.accepted)
        assert app.view.session.modes == MODES
        assert "no sandbox" in status(app)
        app.view.session.send(intents.SetMode("auto"))
        await confirmed(stage, "auto")
        assert "every command but trusted ones" in shown(app)
        await stage.pilot.press("escape")
        await stage.until(lambda: len(app.screen_stack) == 1)
        await stage.type("/no-sandbox")
        await stage.until(lambda: isinstance(app.screen, ConsentScreen) and app.screen.armed)
        await stage.pilot.press("y")
        await stage.until(lambda: not app.held.accepted)
        assert app.view.session.modes == ("ask", "plan", "debug")


async def test_where_there_is_a_sandbox_nothing_is_to_be_accepted(tmp_path, machine):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.until(lambda: stage.app.held is not None)
        await stage.type("/no-sandbox")
        await stage.until(lambda: "Nothing is to be accepted" in stage.app._hint)


# -- what is said of it -------------------------------------------------------------------------------------------

FREE = Containment("danger-full-access", kernel=True)

BOXES = [
    ("ask", HELD, "workspace-write"),
    ("plan", HELD, "read-only"),
    ("debug", HELD, "read-only"),
    ("auto", HELD, "workspace-write"),
    ("goal", HELD, "workspace-write"),
    ("auto", Containment("read-only", kernel=True), "read-only"),
    ("ask", BARE, ""),
    ("plan", BARE, ""),
    ("auto", FREE, "danger-full-access"),
    ("plan", FREE, "read-only"),
    ("ask", Containment("danger-full-access"), "danger-full-access"),
    ("ask", None, None),
]


@each_row(("mode", "held", "words"), BOXES)
def test_what_commands_run_in_follows_from_the_mode_and_the_machine(mode, held, words):
    assert sandbox_words(mode, held) == words


@each_row(("mode", "held", "words"), [row for row in BOXES if row[1] is not None])
def test_it_is_what_the_rules_would_run_a_command_in(mode, held, words):
    from agent_core.ports.actions import CommandAction
    from agent_core.safety.policy import Situation, box_of

    situation = Situation(mode, "untrusted", False, held.sandbox, held.kernel, held.network, held.accepted)
    box = box_of(CommandAction("", ""), situation, trusted=False)
    assert box.words == (words if words not in ("", "danger-full-access") else "no sandbox")


def test_network_and_missing_layers_are_marked_only_where_something_confines():
    def info(held, mode="ask"):
        view = SessionView(None, mode=mode)
        return status_info(view, "m", "", 0, held)

    weak = Containment(kernel=True, network=True, missing=("mount view",))
    assert (info(weak).network, info(weak).missing) == (True, True)
    assert (info(HELD).network, info(HELD).missing) == (False, False)
    bare = Containment(network=True, missing=("mount view",))
    assert (info(bare).network, info(bare).missing) == (False, False)


def test_a_late_answer_to_an_earlier_wish_is_not_asked_about():
    view = SessionView(None)
    view.asked_mode = "ask"  # the person has gone on meanwhile
    assert view.take([events.ModeToConfirm("auto", "workspace-write")]) == set()
    assert view.to_confirm is None
    view.take([events.ModeChanged("ask")])
    assert view.take([events.ModeToConfirm("goal", "workspace-write")]) == {"consent"}
    assert view.mode_in_turn == "goal"


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 36)])
async def test_all_of_the_overlay_is_on_the_screen(size):
    facts = (("Name", "what holds of it", True), ("Other", "words", False))
    consent = Consent("Title?", "Text of it.", facts, "do it", "leave it", ("shift+tab",), "next")
    app = OverlayApp()
    async with app.run_test(size=size) as pilot:
        app.push_screen(ConsentScreen(consent), app.results.append)
        await pilot.pause()
        text = shown(app)
        for words in ("Title?", "Text of it.", "what holds of it", "y do it", "Esc leave it", "Shift+Tab next"):
            assert words in text
        await pilot.press("escape")
        assert app.results == ["no"]
