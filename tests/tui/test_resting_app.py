"""Sessions that nobody sees rest, and are as they were when they are opened again."""

import pytest

from agent_core import intents
from agent_core.messages import Message, new_id, user
from nanoherm_tui import limits
from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage

WORDS = "\n\n".join(f"Paragraph {number} of an answer." for number in range(60))


@pytest.fixture
def at_once(monkeypatch):
    """No session stays awake out of view."""
    monkeypatch.setattr(limits, "SESSIONS_AWAKE", 0)
    monkeypatch.setattr(limits, "SESSION_RESTS", 0.2)
    monkeypatch.setattr(limits, "SESSION_ASKED", 0.2)


async def elsewhere(stage):
    """To a new session; gives the view of the one that was left, once it rests."""
    left = stage.app.view
    stage.app.action_command("new")
    await stage.until(lambda: stage.app.view is not left and stage.app.view.loaded)
    await stage.until(lambda: left.session.rests and not left.loaded)
    return left


async def back(stage, view):
    stage.app.conversations.show(view.session)
    await stage.until(lambda: view.loaded and stage.app.view is view)
    await stage.pilot.pause()


def top(stage):
    return next((line.row.text.strip() for line in stage.app.transcript.lines if line.row.text.strip()), "")


async def test_it_comes_back_at_the_place_where_it_was_read_folds_draft_and_figures_included(tmp_path, at_once):
    replies = [Reply(text=WORDS, reasoning="a thought"), Reply(text="the end")]
    async with Stage(tmp_path, replies, size=(100, 30)) as stage:
        app, view = stage.app, stage.app.view
        for text in ("first", "second"):
            await stage.type(text)
            await stage.until(lambda: stage.state == "idle" and app.view.usage.total_tokens and not view.turn_started)
        await stage.until(lambda: "the end" in stage.transcript())
        app.composer.text = "half a draft"
        thought = next(entry for entry in view.model.entries if entry.kind == "thought")
        assert view.model.toggle(thought)
        app.transcript.apply(())
        app.transcript.action_row(-30)
        before, usage, entries = top(stage), view.usage, len(view.model.entries)
        assert before.startswith("Paragraph")
        assert await elsewhere(stage) is view
        assert view.model.entries == []
        assert not view.calls
        assert app.composer.text == ""
        await back(stage, view)
        await stage.until(lambda: len(view.model.entries) == entries)
        await stage.until(lambda: top(stage) == before)
        assert next(entry for entry in view.model.entries if entry.kind == "thought").open
        assert (app.composer.text, view.usage, app.transcript.at_end) == ("half a draft", usage, False)
        await elsewhere(stage)
        await back(stage, view)
        await stage.until(lambda: top(stage) == before)


def shown_marks(stage):
    """What is looked for and where that stands, what is selected, and what the cursor is on."""
    transcript = stage.app.transcript
    page = transcript._page
    at = next((line.row.text.strip() for line in transcript.lines if page.find.is_at(line)), "")
    on = [line.row.text.strip() for line in transcript.lines if line.row.indent and page.cursor.is_on(line)]
    return page.find.query, at, page.selected.text(), on


@pytest.mark.parametrize("rests", [False, True], ids=["awake", "at rest"])
async def test_what_was_found_and_selected_there_is_there_again_and_goes_on(tmp_path, monkeypatch, rests):
    if rests:
        monkeypatch.setattr(limits, "SESSIONS_AWAKE", 0)
        monkeypatch.setattr(limits, "SESSION_ASKED", 0.2)
    async with Stage(tmp_path, [Reply(text=WORDS), Reply(text="x")], size=(100, 30)) as stage:
        app, view = stage.app, stage.app.view
        await stage.type("first 一")
        await stage.until(lambda: stage.state == "idle" and view.usage.total_tokens and not view.turn_started)
        transcript = app.transcript
        transcript.focus()
        await stage.until(lambda: transcript.find("graph 17 of"))
        transcript.action_extend("word")
        transcript.action_extend_rows(2)
        before, place = shown_marks(stage), top(stage)
        assert before[0] == "graph 17 of"
        assert before[1] == "Paragraph 17 of an answer."
        assert before[2] == "Paragraph 17 of an answer.\n\nParagraph 18 of an answer.\n\nParagraph "
        app.action_command("new")
        await stage.until(lambda: app.view is not view and app.view.loaded)
        assert app.transcript.text_selection is None
        if rests:
            await stage.until(lambda: view.session.rests and not view.loaded)
        await stage.pilot.resize_terminal(90, 30)
        await back(stage, view)
        await stage.until(lambda: top(stage) == place)
        assert shown_marks(stage) == before
        assert not transcript.uses_letters
        # A selection like any other: Ctrl+C copies it; n goes on from the hit; Esc takes away one, then the other.
        assert app.screen.get_selected_text() == before[2]
        transcript.focus()
        await stage.until(lambda: app.focused is transcript)
        await stage.pilot.press("n")
        assert shown_marks(stage)[1] == before[1]
        await stage.pilot.press("escape")
        await stage.until(lambda: not shown_marks(stage)[0])
        assert shown_marks(stage)[2] == before[2]
        await stage.pilot.press("escape")
        await stage.until(lambda: not shown_marks(stage)[2])


async def test_a_place_before_what_is_loaded_is_read_too(tmp_path, at_once, monkeypatch):
    monkeypatch.setattr("agent_core.limits.HISTORY_TOLD", 20)
    async with Stage(tmp_path, [Reply(text="x")], size=(100, 30)) as stage:
        store = stage.host.store
        row = store.create(str(stage.host.places.workspace), title="long")
        for number in range(60):
            store.append(row.id, user(f"question {number}"))
            store.append(row.id, Message("assistant", f"answer {number}", id=new_id()))
        stage.app.conversations.bring(lambda: stage.host.open(row.id))
        await stage.until(lambda: stage.app.view.id == row.id and stage.app.view.loaded)
        view = stage.app.view
        await stage.until(lambda: stage.app.transcript.lines)
        stage.app.transcript.action_home()
        await stage.until(lambda: top(stage) == "question 0")
        await elsewhere(stage)
        await back(stage, view)
        await stage.until(lambda: top(stage) == "question 0")


async def test_at_the_end_it_comes_back_at_the_end_with_what_was_said_below_it(tmp_path, at_once):
    async with Stage(tmp_path, [Reply(text=WORDS)], size=(100, 30)) as stage:
        await stage.type("first")
        await stage.until(lambda: stage.state == "idle" and stage.app.view.usage.total_tokens)
        view = stage.app.view
        stage.app.conversations.tell("exported", "Written to notes.md.", warning=False)
        await stage.until(lambda: "notes.md" in stage.transcript())
        await elsewhere(stage)
        await back(stage, view)
        await stage.until(lambda: "notes.md" in stage.transcript())
        assert "Paragraph 59" in stage.transcript()
        assert stage.app.transcript.at_end
        assert "unread" not in stage.transcript()


async def test_a_few_stay_awake_and_one_at_work_rests_when_it_has_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "SESSIONS_AWAKE", 1)
    monkeypatch.setattr(limits, "SESSION_ASKED", 0.2)
    slow = Reply(text=WORDS, piece=20, gap=0.03)
    async with Stage(tmp_path, [slow, Reply(text="x")], size=(100, 30)) as stage:
        busy = stage.app.view
        busy.session.send(intents.Submit("work"))
        await stage.until(lambda: "Paragraph 1" in stage.transcript())
        seen = [busy]
        for _ in range(2):
            stage.app.action_command("new")  # the pilot's keys wait until a stream is over
            await stage.until(lambda: stage.app.view not in seen and stage.app.view.loaded)
            seen.append(stage.app.view)
        assert busy.session.busy
        assert not busy.session.rests
        await stage.until(lambda: busy.session.rests)
        assert not seen[1].session.rests
        assert busy.unread
        stored = [message.text for message in stage.host.store.messages(busy.id)]
        assert stored == ["work", WORDS]


async def test_a_session_at_rest_is_renamed_without_being_opened(tmp_path, at_once):
    async with Stage(tmp_path, [Reply(text="x")], size=(100, 30)) as stage:
        await stage.type("first")
        await stage.until(lambda: stage.state == "idle" and stage.app.view.usage.total_tokens)
        view = await elsewhere(stage)
        view.session.send(intents.Rename("another name"))
        await stage.until(lambda: view.title == "another name")
        await stage.until(lambda: view.session.rests and not view.loaded)
        assert stage.host.store.get(view.id).title == "another name"


async def test_an_empty_draft_of_a_session_at_rest_is_empty_and_takes_what_is_typed(tmp_path, at_once):
    async with Stage(tmp_path, [Reply(text="x")], size=(100, 30)) as stage:
        composer = stage.app.composer
        await stage.type("first")
        await stage.until(lambda: stage.state == "idle" and stage.app.view.usage.total_tokens)
        view = await elsewhere(stage)
        composer.text = "for the other one"
        await back(stage, view)
        assert composer.text == ""
        await stage.pilot.press("o", "k")
        assert composer.text == "ok"
        await elsewhere(stage)
        await back(stage, view)
        assert composer.text == "ok"
        composer.focus()
        composer._draft.action_undo()
        assert composer.text == ""
