"""What the running app does with the draft: values of commands, the editor, own commands, drafts on disk."""

import asyncio

import pytest
from textual import events

from agent_core import intents
from agent_core.desk.host import Host
from agent_core.names import MODES
from nanoherm_tui.actions import BY_ID
from nanoherm_tui.app import NanohermApp
from nanoherm_tui.commands import writing
from nanoherm_tui.commands.writing import values_of
from nanoherm_tui.i18n import LANGUAGES
from nanoherm_tui.panes.kill_draft import KillDraft
from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage, launch, start


async def test_values_are_what_is_known_without_asking_anybody(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        app = stage.app
        await stage.type("a title of its own")
        await stage.until(lambda: stage.state == "idle")
        await stage.until(lambda: any("a title" in row.title for row in app.conversations.rows))
        app.models_seen = ("one", "two")
        known = {name: [value for value, _ in values_of(app, BY_ID[name]).known] for name in BY_ID}
        assert set(known["mode"]) <= set(MODES)
        assert "ask" in known["mode"]
        assert {"auto", "ansi", "nanoherm-dark"} <= set(known["theme"])
        assert known["language"] == [*LANGUAGES, "auto"]
        assert known["model"] == ["one", "two"]
        assert known["sessions"] == ["a title of its own"]
        assert known["undo"] == []
        closed = {name for name in BY_ID if values_of(app, BY_ID[name]).closed}
        assert closed == {"mode", "theme", "language", "persona", "effort", "snippet"}


async def test_a_value_chosen_in_the_list_is_used(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.pilot.press(*"/theme", "space", *"ansi", "enter")
        await stage.until(lambda: stage.app.theme == "ansi")
        await stage.pilot.press(*"/mode", "space", *"pl", "enter")
        await stage.until(lambda: stage.app.view.mode == "plan")


async def test_without_a_terminal_the_editor_is_refused_in_words_and_the_draft_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("VISUAL", "sh")
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        stage.app.composer.text = "keep me"
        await stage.pilot.press("ctrl+g")
        await stage.until(lambda: "no terminal here" in stage.transcript())
        assert stage.app.composer.text == "keep me"


async def test_the_editor_opens_with_all_that_was_typed_before_it_however_fast(tmp_path, monkeypatch):
    opened = []

    async def on_event(draft, event):  # a loaded machine
        await asyncio.sleep(0.01)
        await super(KillDraft, draft).on_event(event)

    monkeypatch.setattr(KillDraft, "on_event", on_event, raising=False)
    monkeypatch.setattr(writing, "_in_the_terminal", lambda app, text, words: opened.append(text) or text)
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        for character in "draft":
            stage.app.post_message(events.Key(character, character))
        stage.app.post_message(events.Key("ctrl+g", None))
        await stage.until(lambda: opened)
        assert opened == ["draft"]


async def test_a_draft_is_there_again_after_a_restart_and_gone_once_it_is_sent(tmp_path):
    async with Stage(tmp_path, [Reply(text="First.")]) as stage:
        await stage.type("hello")
        await stage.until(lambda: "First." in stage.transcript() and stage.state == "idle")
        session = stage.app.view.id
        stage.app.composer.text = "写了一半"
        stage.app.composer.tell_draft()
        await stage.pilot.pause()
    host = Host(launch(tmp_path))
    try:
        host_session = host.open(session)
        app = NanohermApp(start(host))
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            app.conversations.show(host_session)
            for _ in range(200):
                if app.composer.text == "写了一半":
                    break
                await pilot.pause(0.05)
            assert app.composer.text == "写了一半"
            app.composer.text = ""
            app.composer.tell_draft()
            await pilot.pause()
            assert host.flush_notes(5.0)
            assert host.draft(session) == ""
    finally:
        host.close()


@pytest.mark.parametrize(("typed", "private"), [("!printf own", False), ("!!printf own", True)])
async def test_an_own_command_reaches_the_session_beside_a_running_turn(tmp_path, typed, private):
    async with Stage(tmp_path, [Reply(text="word", hang=60.0), Reply(text="after")]) as stage:
        seen = []
        session = stage.app.view.session
        await stage.type("go")
        await stage.until(lambda: stage.state == "running")
        send = session.send
        session.send = lambda intent: (seen.append(intent), send(intent))
        await stage.type(typed)
        await stage.until(lambda: "printf own" in stage.transcript())
        assert seen == [intents.Shell("printf own", private)]
        assert stage.state == "running"
        send(intents.Interrupt())
        await stage.until(lambda: stage.state == "idle")


async def test_what_is_cut_from_the_draft_goes_the_way_of_all_that_is_copied(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        stage.app.composer.text = "cut me"
        await stage.pilot.press("ctrl+x")
        assert stage.app.composer.text == ""
        await stage.until(lambda: stage.app._hint.startswith("7 characters"))  # the line, with its end
        assert stage.app.clipboard == "cut me\n"
