"""Sessions and their messages are stored: what is put in comes out."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing

import pytest

from agent_core import messages
from agent_core.errors import StoreError
from agent_core.messages import (
    DiffLine,
    FileDiff,
    Hunk,
    ImagePart,
    Message,
    ToolCall,
    ToolResult,
    Usage,
    tool,
    user,
)
from agent_core.ports.means import TodoItem
from agent_core.store.sessions import Store
from agent_core.store.usage import Booking
from tests.core.store_support import answer, asks


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "state.db"


@pytest.fixture
def store(path):
    opened = Store.open(path)
    yield opened
    opened.close()


# -- what is put in comes out -------------------------------------------------------------------------------------

AWKWARD = {
    "plain": "hello",
    "empty lines": "\n\n a \r\n b \r",
    "line separators": "a\u2028b\u2029c\x85d",
    "control characters": "".join(map(chr, range(32))) + "\x7f\x9b31m",
    "chinese and emoji": "你好，世界 👩‍👩‍👧‍👦 🇨🇳 e\u0301",
    "quotes and backslashes": "\"'\\\\ \\u0041 '); DROP TABLE messages;--",
    "bidi": "abc\u202edef\u202c\ufeff",
    "long": "长" * 300_000,
}


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD)
def test_any_text_comes_back_equal(store, text):
    session = store.create("/w").id
    put = [user(text), Message("assistant", text, reasoning=text), *[asks("c"), answer("c", text)]]
    for message in put:
        store.append(session, message)
    assert store.messages(session) == put


def test_every_field_of_a_message_comes_back(store):
    session = store.create("/w").id
    diff = FileDiff("a.py", (Hunk(1, 1, (DiffLine("add", "x", None, 1),), "def f"),), 1, 0, "create", 3)
    put = [
        user("look", (ImagePart("image/png", "AAAA"),), origin="steer"),
        Message(
            "assistant",
            "text",
            reasoning="why",
            interrupted=True,
            finish="tool_calls",
            model="m",
            usage=Usage(1, None, 3),
            extra={"reasoning_details": [{"type": "x", "data": None}]},
            tool_calls=(
                ToolCall("1", "edit_file", {"path": "a"}, None, {"sig": "s"}),
                ToolCall("2", "x", {}, "bad JSON"),
            ),
        ),
        tool(ToolResult("1", "edit_file", "ok", True, "done", "1 added", ("p",), (diff,), 0.5)),
        tool(ToolResult("2", "x", "bad JSON", False)),
    ]
    for message in put:
        store.append(session, message)
    assert store.messages(session) == put


def test_lone_surrogates_are_replaced_and_pairs_joined(store):
    session = store.create("/w\ud800", title="t\ud800\0").id
    store.append(session, user("a\ud800b\ud83d\ude00"))
    store.append(session, asks("c\udcff"))
    store.effect_started(session, "c\udcff", "grep", "command")
    store.append(session, answer("c\udcff", "\udcff"))
    first, call, result = store.messages(session)
    assert first.text == "a\ufffdb😀"
    assert result.result is not None
    assert call.tool_calls[0].id == result.result.call_id == "c\ufffd"
    assert store.recover(session) == [first, call, result]
    assert store.get(session).title == "t\ufffd\ufffd"
    assert store.latest("/w\ud800") == store.get(session)


def test_messages_outlive_the_program(path):
    first = Store.open(path)
    session = first.create("/w", model="m", provider="p", mode="plan", title="Dates").id
    put = [user("one"), Message("assistant", "two")]
    for message in put:
        first.append(session, message)
    first.close()
    second = Store.open(path)
    assert second.messages(session) == put
    row = second.get(session)
    assert (row.title, row.model, row.provider, row.mode, row.workspace) == ("Dates", "m", "p", "plan", "/w")
    assert (row.messages, row.turns) == (2, 1)
    second.close()


def test_an_empty_message_and_a_message_stored_already_are_not_stored(store):
    session = store.create("/w").id
    message = user("once")
    for each in (message, message, Message("assistant", ""), Message("assistant", "", reasoning="only thoughts")):
        store.append(session, each)
    assert store.messages(session) == [message]
    assert store.get(session).messages == 1


def test_a_row_that_cannot_be_read_costs_only_itself(path, store, caplog):
    session = store.create("/w").id
    put = [user("one"), asks("c"), user("two"), Message("assistant", "three")]
    for message in put:
        store.append(session, message)
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE messages SET body = ? WHERE uid = ?", ("\0" * 500, put[0].id))
        c.execute("UPDATE messages SET body = substr(body, 1, 40) WHERE uid = ?", (put[3].id,))
    assert store.messages(session) == put[1:3]
    assert caplog.text.count("cannot be read") == 2
    recovered = store.recover(session)
    assert [m.role for m in recovered] == ["user"], "a read without a result is dropped"
    assert store.messages(session) == recovered
    with closing(sqlite3.connect(path)) as c, c:
        assert c.execute("SELECT count(*) FROM messages WHERE position IS NULL").fetchone() == (2,)
    store.append(session, Message("assistant", "goes on"))
    assert store.messages(session)[-1].text == "goes on"


# -- sessions -----------------------------------------------------------------------------------------------------


def test_sessions_are_listed_by_last_use(store):
    a, b, c = (store.create(w).id for w in ("/one", "/two", "/one"))
    assert [row.id for row in store.list()] == [c, b, a]
    store.append(a, user("x"))
    assert [row.id for row in store.list()] == [a, c, b]
    assert [row.id for row in store.list(workspace="/one")] == [a, c]
    assert [row.id for row in store.list(limit=1)] == [a]


def test_the_latest_session_of_a_workspace_has_messages(store):
    assert store.latest("/w") is None
    spoken = store.create("/w").id
    store.append(spoken, user("x"))
    store.create("/w")
    store.append(store.create("/other").id, user("y"))
    assert store.latest("/w").id == spoken


def test_a_session_is_found_by_id_prefix_or_title(store):
    dates = store.create("/w", title="Fix the dates")
    other = store.create("/w", title="修复 日期")
    same = [store.create(w, title="Fix") for w in ("/w", "/v")]
    for text, found in {
        dates.id: dates,
        dates.id[:12]: dates,
        dates.id.upper(): dates,
        "FIX THE DATES": dates,
        "dates": dates,
        "日期": other,
    }.items():
        assert store.find(text) == found, text
    assert store.find("fix", workspace="/v") == same[1]
    with pytest.raises(StoreError, match="2 sessions fit 'fix'") as ambiguous:
        store.find("fix")
    assert ambiguous.value.code == "ambiguous_session"
    assert set(ambiguous.value.params["candidates"]) == {row.id for row in same}
    assert all(row.id[:8] in str(ambiguous.value) for row in same)
    for nothing in ("nowhere", "", "  ", "%", "_"):
        with pytest.raises(StoreError) as missing:
            store.find(nothing)
        assert missing.value.code == "no_session"


def test_undo_takes_whole_turns(store):
    def fresh() -> str:
        session = store.create("/w").id
        for message in (
            user("hello"),
            asks("1", "2", "3", name="run_command"),
            *(answer(i) for i in "123"),
            user("steered", origin="steer"),
            Message("assistant", "one"),
            user("queued", origin="queue"),
            Message("assistant", "two"),
            user("third"),
        ):
            store.append(session, message)
        return session

    for turns, taken, left in ((1, 1, 9), (2, 2, 7), (3, 3, 0), (99, 3, 0)):
        session = fresh()
        assert store.undo(session, turns) == taken
        assert len(store.messages(session)) == left
        assert store.get(session).messages == left
        assert store.get(session).turns == 3 - taken
    assert store.undo(session) == 0
    for turns in (0, -1):
        with pytest.raises(StoreError) as refused:
            store.undo(session, turns)
        assert refused.value.code == "bad_undo"


def test_undo_of_a_cut_off_turn_forgets_its_effects(store):
    session = store.create("/w").id
    store.append(session, user("go"))
    store.append(session, asks("1"))
    store.effect_started(session, "1", "run_command", "command")
    assert store.undo(session) == 1
    store.append(session, user("again"))
    store.append(session, asks("1", name="run_command"))
    assert "was not run" in store.recover(session)[-1].text


def test_reset_empties_and_purge_removes(path, store):
    session = store.create("/w", title="T").id
    store.append(session, user("x"))
    store.set_todos(session, (TodoItem("a"),))
    store.costs.book(session, Booking("m", Usage(1, 2), None))
    store.reset(session)
    assert store.messages(session) == []
    assert store.todos(session) == ()
    row = store.get(session)
    assert (row.title, row.messages, row.turns, row.prompt_tokens) == ("T", 0, 0, 1)
    store.append(session, user("y"))
    store.effect_started(session, "1", "n", "write")
    store.delete(session)
    store.purge(time.time() + 1, 0.0)
    with closing(sqlite3.connect(path)) as c, c:
        for table in ("sessions", "messages", "open_effects", "session_model_usage", "session_day_usage"):
            assert c.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def test_settings_of_a_session_are_kept(store):
    session = store.create("/w").id
    store.rename(session, "新名字")
    store.set_mode(session, "plan")
    store.set_model(session, "gpt", "openai")
    row = store.get(session)
    assert (row.title, row.mode, row.model, row.provider) == ("新名字", "plan", "gpt", "openai")
    todos = (TodoItem("写测试\u2028", "in_progress"), TodoItem("b", "completed"))
    store.set_todos(session, todos)
    assert store.todos(session) == todos


def test_usage_adds_up_by_model_and_unknown_is_not_zero(store):
    session = store.create("/w").id
    for model, usage in (
        ("a", Usage(10, 1, 11)),
        ("a", Usage(5, None, None, 3)),
        ("b", Usage()),
    ):
        store.costs.book(session, Booking(model, usage, None))
    a, b = store.costs.spent(session).models
    assert (a.model, a.requests, a.usage) == ("a", 2, Usage(15, 1, 11, 3, None))
    assert (b.requests, b.usage) == (1, Usage())
    assert (store.get(session).prompt_tokens, store.get(session).completion_tokens) == (15, 1)


MISSING = {
    "get": lambda s: s.get("nope"),
    "append": lambda s: s.append("nope", user("x")),
    "messages": lambda s: s.messages("nope"),
    "recover": lambda s: s.recover("nope"),
    "undo": lambda s: s.undo("nope"),
    "reset": lambda s: s.reset("nope"),
    "delete": lambda s: s.delete("nope"),
    "rename": lambda s: s.rename("nope", "t"),
    "set_mode": lambda s: s.set_mode("nope", "ask"),
    "set_model": lambda s: s.set_model("nope", "m", "p"),
    "costs": lambda s: s.costs.book("nope", Booking("m", Usage(1), None)),
    "set_todos": lambda s: s.set_todos("nope", ()),
    "todos": lambda s: s.todos("nope"),
    "effect_started": lambda s: s.effect_started("nope", "1", "n", "write"),
}


@pytest.mark.parametrize("call", MISSING.values(), ids=MISSING)
def test_an_unknown_session_is_named(store, call):
    with pytest.raises(StoreError, match="no session 'nope'") as missing:
        call(store)
    assert missing.value.code == "no_session"


def test_bodies_are_plain_json(path, store):
    session = store.create("/w").id
    message = user("你好\0")
    store.append(session, message)
    with closing(sqlite3.connect(path)) as c, c:
        (body,) = c.execute("SELECT body FROM messages").fetchone()
    assert "你好" in body
    assert messages.from_json(json.loads(body)) == message
