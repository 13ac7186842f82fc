"""What a person does with sessions: begin elsewhere, name, fork, delete, bring back, export, leave and return."""

import errno
import sqlite3
import threading
import time
from contextlib import closing
from functools import partial

import pytest

from agent_core.config.paths import find_places
from agent_core.errors import StoreError
from agent_core.messages import Message, user
from agent_core.store.sessions import Store
from nanoherm_tui.overlays.folders import FolderScreen
from nanoherm_tui.overlays.name import NameScreen
from tests.fakes.model_server import Reply
from tests.tui.test_app import LONG, Stage, in_turn


async def answered(stage, text="hello"):
    await stage.type(text)
    await stage.until(lambda: stage.state == "idle" and stage.app.view.usage.total_tokens)
    await stage.until(lambda: stage.app.view.id in {row.id for row in stage.app.conversations.rows})


def stored(tmp_path, title="hello"):
    """A session of an earlier start; gives its id."""
    store = Store.open(find_places(tmp_path / "work", {"HOME": str(tmp_path / "home")}).state_db)
    (tmp_path / "work").mkdir()
    session = store.create(str(tmp_path / "work"), title=title).id
    store.append(session, user(title))
    store.append(session, Message("assistant", "One."))
    store.close()
    return session


def shows(stage, words):
    return words in stage.transcript()


def listed(stage):
    return {item.title: item for item in stage.app.sessions_pane._items}


async def test_a_deleted_session_comes_back_whole(tmp_path):
    async with Stage(tmp_path, [Reply(text="Worth keeping.")]) as stage:
        await answered(stage)
        app, gone = stage.app, stage.app.view.id
        app.sessions_pane.focus()
        await stage.pilot.press("d")
        await stage.until(lambda: app.view.id != gone and "hello" not in listed(stage))
        assert "/restore" in app._hint
        await stage.until(lambda: app.sessions_pane.has_focus)
        await stage.pilot.press("u")
        await stage.until(lambda: app.view.id == gone and "Worth keeping." in stage.transcript())
        await stage.until(lambda: "hello" in listed(stage))
        assert "/restore" not in app._hint
        await stage.type("/restore")
        await stage.until(lambda: "Nothing was deleted" in app._hint)


async def test_a_session_that_cannot_be_deleted_leaves_one_that_answers_and_says_why(tmp_path, monkeypatch):
    async with Stage(tmp_path, [Reply(text="First."), Reply(text="Second.")]) as stage:
        await answered(stage)
        gone = stage.app.view.id

        def delete(session_id):
            raise StoreError("store_full", "The disk is full.")

        monkeypatch.setattr(stage.host.store, "delete", delete)
        await stage.type("/delete")
        await stage.until(lambda: stage.app.view.id != gone and "disk is full" in stage.transcript())
        await stage.type("go on")
        await stage.until(lambda: "Second." in stage.transcript())
        assert "hello" in listed(stage)


async def test_a_fork_goes_its_own_way_and_nothing_is_forked_deleted_or_exported_without_a_message(tmp_path):
    replies = [Reply(text="Common ground."), Reply(text="Another way.")]
    async with Stage(tmp_path, replies) as stage:
        here = stage.app.view.id
        for command in ("/fork", "/delete", "/clear", "/export"):
            await stage.type(command)
        await stage.pilot.pause(0.2)
        assert stage.app.view.id == here
        await answered(stage)
        original = stage.app.view.id
        await stage.type("/fork")
        await stage.until(lambda: stage.app.view.id != original and "Common ground." in stage.transcript())
        await answered(stage, "try it")
        assert "Another way." in stage.transcript()
        stage.app.conversations.show(stage.host.open(original))
        await stage.until(lambda: stage.app.view.id == original)
        assert "Another way." not in stage.transcript()
        assert len(listed(stage)) == 2


async def test_a_session_is_renamed_in_a_field_that_has_its_title(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await answered(stage)
        stage.app.sessions_pane.focus()
        await stage.pilot.press("r")
        await stage.until(lambda: isinstance(stage.app.screen, NameScreen))
        assert stage.app.screen._field.text == "hello"
        stage.app.screen._field.type_in("，世界")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.app.view.title == "hello，世界")
        await stage.until(lambda: "hello，世界" in listed(stage))
        stage.app.composer.focus()
        await stage.type("/rename")
        await stage.until(lambda: isinstance(stage.app.screen, NameScreen))
        await stage.pilot.press("escape")
        await stage.pilot.pause(0.1)
        assert stage.app.view.title == "hello，世界"


async def test_a_session_that_is_not_open_is_renamed_too(tmp_path):
    stored(tmp_path)
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.until(lambda: "hello" in listed(stage))
        stage.app.sessions_pane.focus()
        await stage.pilot.press("j", "r")
        await stage.until(lambda: isinstance(stage.app.screen, NameScreen))
        await stage.pilot.press(*"!", "enter")
        await stage.until(lambda: "hello!" in listed(stage))


async def test_a_session_begins_in_a_folder_that_is_chosen_and_one_that_is_none_is_refused_in_words(tmp_path):
    work = tmp_path / "work"
    (work / "项目 one" / "inner").mkdir(parents=True)
    (work / "other").mkdir()
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        stage.app.sessions_pane.focus()
        await stage.pilot.press("o")
        await stage.until(lambda: isinstance(stage.app.screen, FolderScreen) and stage.app.screen._found)
        await stage.pilot.press(*"one")
        await stage.pilot.press("tab")
        await stage.until(lambda: stage.app.screen._folder.name == "项目 one")
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: stage.app.view.session.workspace == work / "项目 one" / "inner")
        await stage.type("/new no/such/folder")
        await stage.until(lambda: "no/such/folder" in "".join(stage.transcript().split()))  # wherever it is wrapped


async def test_a_session_is_exported_beside_the_project(tmp_path):
    async with Stage(tmp_path, [Reply(text="Said once.")]) as stage:
        await answered(stage)
        await stage.type("/export talk.json")
        await stage.until((tmp_path / "work" / "talk.json").exists)
        stage.app.sessions_pane.focus()
        await stage.pilot.press("e")
        await stage.until((tmp_path / "work" / "hello.md").exists)
        for name in ("talk.json", "hello.md"):
            assert "Said once." in (tmp_path / "work" / name).read_text()


async def test_what_was_not_seen_is_marked_after_a_restart(tmp_path):
    texts = "Seen.\n\n" + LONG[:3000], "Not seen.", "Elsewhere."
    reply, go_on = in_turn(*(Reply(text=text) for text in texts), slow=1)
    async with Stage(tmp_path, reply) as stage:
        await answered(stage, "first")
        first = stage.app.view
        await stage.type("again")
        await stage.until(lambda: first.state == "running")
        await stage.pilot.press("ctrl+n")
        await stage.until(lambda: stage.app.view is not first)
        await answered(stage, "second")
        go_on.set()
        await stage.until(lambda: first.state == "idle")
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.until(lambda: "first" in listed(stage))
        assert listed(stage)["first"].state == "unread"
        assert listed(stage)["second"].state == "idle"
        await stage.type("/resume first")
        await stage.until(lambda: "Not seen." in stage.transcript())
        await stage.until(lambda: listed(stage)["first"].state == "idle")


@pytest.mark.parametrize("sent", [False, True])
async def test_what_is_typed_while_a_session_opens_is_for_that_one(tmp_path, monkeypatch, sent):
    first = stored(tmp_path, "first")
    async with Stage(tmp_path, [Reply(text="Three."), Reply(text="Four.")]) as stage:
        await answered(stage, "second")
        app, second, find, go = stage.app, stage.app.view.id, stage.host.find, threading.Event()
        monkeypatch.setattr(stage.host, "find", lambda title: go.wait(10) and find(title))
        await stage.type("/resume first")
        await stage.pilot.press(*"next", *(["enter"] if sent else []))
        assert app.view.id == second
        go.set()
        await stage.until(lambda: app.view.id == first)
        if sent:
            await stage.until(lambda: "next" in stage.transcript())
        else:
            await stage.until(lambda: app.composer.text == "next")
        app.conversations.show(stage.host.live(second))
        assert app.composer.text == ""
        assert "next" not in stage.transcript()


async def test_on_a_small_screen_the_list_gives_way_to_what_was_opened_and_to_what_is_typed(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")], size=(60, 16)) as stage:
        await answered(stage)
        app, pilot, first = stage.app, stage.pilot, stage.app.view.id
        await pilot.press("f2", "n")
        await stage.until(lambda: app.view.id != first)
        assert app.panes.transcript
        assert app.composer.holds_focus
        await pilot.press("f2", "z")
        await stage.until(lambda: app.composer.text == "z")
        assert app.panes.transcript
        await pilot.press("backspace", "f2", "j", "enter")
        await stage.until(lambda: app.view.id == first)
        assert app.panes.transcript
        await pilot.press("f2", "d")
        await stage.until(lambda: app.view.id != first)
        await stage.until(lambda: app.sessions_pane.has_focus and app.panes.sessions == "over")


async def test_a_session_that_is_only_looked_at_keeps_its_age_and_place(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await answered(stage)
        session_id, ago = stage.app.view.id, time.time() - 7200
    with closing(sqlite3.connect(tmp_path / "home" / ".nanohermes" / "state.db")) as database, database:
        database.execute("UPDATE sessions SET updated = ?", (ago,))
    async with Stage(tmp_path, [Reply(text="y")]) as stage:
        await stage.until(lambda: "hello" in listed(stage))
        stage.app.conversations.show(stage.host.open(session_id))
        await stage.until(lambda: stage.app.view.id == session_id and "hello" in listed(stage))
        assert listed(stage)["hello"].updated == pytest.approx(ago)
        await stage.type("more")
        await stage.until(lambda: listed(stage)["hello"].updated > ago + 3600)


async def test_what_is_written_while_a_session_is_on_its_way_is_for_that_one(tmp_path):
    async with Stage(tmp_path, [Reply(text="Old."), Reply(text="New.")]) as stage:
        await answered(stage, "old")
        old, app = stage.app.view, stage.app
        hold = threading.Event()
        app.desk.do(lambda: hold.wait(5.0))
        await stage.pilot.press("ctrl+n")
        app.composer.focus()
        await stage.type("for the new one")
        await stage.pilot.pause(0.1)
        hold.set()
        await stage.until(lambda: app.view is not old and "New." in stage.transcript())
        assert "for the new one" in stage.transcript()
        assert all("for the new one" not in message.text for message in stage.host.store.messages(old.id))


async def test_what_is_written_for_a_session_that_cannot_be_had_comes_back(tmp_path, monkeypatch):
    def full(folder=None):
        raise OSError(errno.ENOSPC, "No space left on device")

    async with Stage(tmp_path, [Reply(text="Old."), Reply(text="Goes on.")]) as stage:
        await answered(stage, "old")
        app = stage.app
        for typed, said in (("/new no/such/folder", "is no folder"), ("/new", "OSError")):
            hold = threading.Event()
            app.desk.do(hold.wait)
            await stage.type(typed)
            await stage.type("for nobody")
            await stage.pilot.pause(0.1)
            hold.set()
            await stage.until(lambda: app.composer.text == "for nobody")
            await stage.until(partial(shows, stage, said))
            assert stage.state == "idle"
            app.composer.text = ""
            monkeypatch.setattr(stage.host, "new", full)
        await stage.type("and now")
        await stage.until(lambda: "Goes on." in stage.transcript())


async def test_a_session_that_cannot_be_emptied_goes_on(tmp_path, monkeypatch):
    async with Stage(tmp_path, [Reply(text="Still here."), Reply(text="And goes on.")]) as stage:
        await answered(stage)

        def fails(session_id):
            raise StoreError("store_failed", "The disk is full.")

        monkeypatch.setattr(stage.host, "reset", fails)
        await stage.type("/clear")
        await stage.until(lambda: len(stage.app.screen_stack) == 2)
        await stage.pilot.press("y")
        await stage.until(lambda: "The disk is full." in stage.transcript())
        await stage.type("on")
        await stage.until(lambda: "And goes on." in stage.transcript())


async def test_what_a_command_answers_is_said_below_too_while_the_end_is_not_in_view(tmp_path):
    async with Stage(tmp_path, [Reply(text="line\n\n" * 80)]) as stage:
        await answered(stage)
        stage.app.transcript.scroll_to(y=0, animate=False)
        await stage.until(lambda: not stage.app.transcript.at_end)
        await stage.type("/export notes.md")
        await stage.until(lambda: "notes.md" in stage.app._hint)
        assert not stage.app.transcript.at_end
