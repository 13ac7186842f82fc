"""Of a long session the end is shown at once; what was said before is read when somebody wants it."""

import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core import events, intents, limits
from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.store.bodies import end_of
from agent_core.store.mending import mend
from agent_core.store.sessions import Store
from nanoherm_tui.transcript.model import TranscriptModel
from tests.bench.content import history
from tests.core.session_support import Table, say
from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage

TURNS = 60


def long_talk():
    return [m for n in range(TURNS) for m in (user(f"question {n:03}"), Message("assistant", f"answer {n:03} of many"))]


@pytest.fixture
def short_ends(monkeypatch):
    monkeypatch.setattr(limits, "HISTORY_TOLD", 20)


@pytest.mark.parametrize("most", [1, 2, 5, 20, 79, 80, 200])
def test_the_end_and_what_comes_before_are_the_whole(tmp_path, most):
    store = Store.open(tmp_path / "state.db")
    session = store.create("/w").id
    talk = history(80)
    for message in talk:
        store.append(session, message)
    end, earlier = store.end(session, most)
    assert 0 < len(end) <= max(most, 4)
    assert earlier == len(talk) - len(end) == end_of(talk, most)
    assert end[0].role != "tool"
    before = store.before(session, end[0].id)
    assert before + end == store.messages(session) == talk
    store.close()


def test_a_session_tells_its_end_and_the_model_gets_all_of_it(tmp_path, short_ends):
    table = Table(tmp_path, say("done"))
    talk = long_talk()
    session = table.store.create(str(table.workspace)).id
    for message in talk:
        table.store.append(session, message)
    table.session = table.open(session, stored=True)
    table.session.start()
    told = table.wait(events.HistoryChanged)
    assert list(told.messages) == talk[-len(told.messages) :]
    assert len(told.messages) + told.earlier == len(talk)
    assert len(told.messages) <= limits.HISTORY_TOLD
    table.turn("and now?")
    asked = table.model.requests[-1].messages[1:]
    assert [m.text for m in asked] == [m.text for m in talk] + ["and now?"]
    assert [m.text for m in table.store.messages(session)] == [m.text for m in talk] + ["and now?", "done"]
    table.session.send(intents.Undo(1))
    again = table.wait(events.HistoryChanged, count=2)
    assert again.earlier + len(again.messages) == len(talk)


@pytest.mark.parametrize("cut", [4, 40, 76])
def test_what_is_put_in_front_comes_to_what_the_whole_would_be(cut):
    talk = history(80)
    talk[cut - 2] = Message("assistant", "", tool_calls=(ToolCall("open", "read_file", {"path": "x"}),))
    whole, parts = TranscriptModel(), TranscriptModel()
    whole.load(talk)
    parts.load(talk[cut:], earlier=cut)
    parts.prepend(talk[:cut])

    def looks(model):
        return [(e.index, e.id, e.kind, e.text, e.card) for e in model.entries]

    assert looks(parts) == looks(whole)
    assert parts.earlier == 0


async def opened(stage):
    talk = long_talk()
    session = stage.host.store.create(str(stage.app.view.session.workspace), title="long").id
    for message in talk:
        stage.host.store.append(session, message)
    app = stage.app
    app.conversations.bring(lambda: stage.host.open(session))
    await stage.until(lambda: app.view.id == session and app.view.loaded)
    await stage.until(lambda: f"answer {TURNS - 1:03}" in stage.transcript())
    return app


async def test_the_beginning_is_read_when_somebody_goes_there(tmp_path, short_ends):
    async with Stage(tmp_path, [Reply(text="ok")], size=(100, 24)) as stage:
        app = await opened(stage)
        assert app.view.model.earlier > 0
        app.transcript.focus()
        await stage.pilot.press("home")
        await stage.until(lambda: "question 000" in stage.transcript())
        assert app.view.model.earlier == 0
        await stage.pilot.press("end")
        await stage.until(lambda: f"answer {TURNS - 1:03}" in stage.transcript())


async def test_who_scrolls_up_stays_where_they_read(tmp_path, short_ends, monkeypatch):
    async with Stage(tmp_path, [Reply(text="ok")], size=(100, 24)) as stage:
        app = await opened(stage)
        app.transcript.focus()
        await stage.pilot.press("pageup")
        seen = stage.transcript()
        await stage.until(lambda: app.view.model.earlier == 0)
        await stage.pilot.pause()
        assert stage.transcript() == seen
        for _ in range(20):
            await stage.pilot.press("pageup")
        assert "question 000" in stage.transcript()


async def test_a_word_of_the_beginning_is_found(tmp_path, short_ends):
    async with Stage(tmp_path, [Reply(text="ok")], size=(100, 24)) as stage:
        app = await opened(stage)
        app.transcript.focus()
        app.transcript.action_find()
        app.transcript.find("answer 003")
        await stage.until(lambda: "answer 003 of many" in stage.transcript())


@given(
    st.lists(
        st.one_of(
            st.just("whole step"),
            st.just("say"),
            st.just("answer"),
            st.sampled_from(["drop", "swap", "orphan", "late"]),
        ),
        max_size=12,
    )
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_what_is_called_whole_needs_no_mending(tmp_path, moves):
    talk = []
    for number, move in enumerate(moves):
        calls = tuple(ToolCall(f"c{number}_{i % 2}", "run_command", {}) for i in range(2))
        results = [tool(ToolResult(call.id, call.name, "done")) for call in calls]
        if move == "say":
            talk.append(user("and?"))
        elif move == "answer":
            talk.append(Message("assistant", "so"))
        elif move == "orphan":
            talk.append(results[0])
        else:
            talk.append(Message("assistant", "look", tool_calls=calls))
            if move == "late":
                talk.append(user("quick"))
            talk += {"drop": results[:1], "swap": results[::-1]}.get(move, results)
    store = Store.open(tmp_path / f"{uuid.uuid4().hex}.db")
    session = store.create("/w").id
    for message in talk:
        store.append(session, message)
    whole = store.is_whole(session)
    assert whole == (mend(talk, {}) == talk)
    if whole:
        assert store.recover(session) == talk
    store.close()
