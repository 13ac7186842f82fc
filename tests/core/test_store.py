"""The session store: what is put in comes out, and damage of any kind ends in words rather than in a loss."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial

import pytest

from agent_core import limits, messages
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
from agent_core.store.db import Database, latest_version
from agent_core.store.mending import mend
from agent_core.store.sessions import Store
from agent_core.store.usage import Booking


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "state.db"


@pytest.fixture
def store(path):
    opened = Store.open(path)
    yield opened
    opened.close()


def asks(*ids: str, name: str = "grep") -> Message:
    return Message("assistant", "", tool_calls=tuple(ToolCall(i, name, {"pattern": "x"}) for i in ids))


def answer(call_id: str, text: str = "found", name: str = "grep") -> Message:
    return tool(ToolResult(call_id, name, text))


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
    with sqlite3.connect(path) as c:
        c.execute("UPDATE messages SET body = ? WHERE uid = ?", ("\0" * 500, put[0].id))
        c.execute("UPDATE messages SET body = substr(body, 1, 40) WHERE uid = ?", (put[3].id,))
    assert store.messages(session) == put[1:3]
    assert caplog.text.count("cannot be read") == 2
    recovered = store.recover(session)
    assert [m.role for m in recovered] == ["user"], "a read without a result is dropped"
    assert store.messages(session) == recovered
    with sqlite3.connect(path) as c:
        assert c.execute("SELECT count(*) FROM messages WHERE position IS NULL").fetchone() == (2,)
    store.append(session, Message("assistant", "goes on"))
    assert store.messages(session)[-1].text == "goes on"


# -- recovery -----------------------------------------------------------------------------------------------------

ONE, TWO, THREE = answer("1"), answer("2"), answer("3")
CALLS, READS = asks("1", "2", "3", name="run_command"), asks("1", "2", "3")
SAID = replace(READS, id="said", text="I look around.", extra={"signature": "for calls"})
HELLO, STEER, DONE = user("hello"), user("also", origin="steer"), Message("assistant", "done")

# stored conversation, calls begun (id → kind), roles and call ids expected, "id: state" of results that were made
MEND = {
    "whole": ([HELLO, CALLS, ONE, TWO, THREE, DONE], {}, "user a 1 2 3 a", ""),
    "nothing ran": ([HELLO, CALLS], {}, "user a 1 2 3", "1:not run 2:not run 3:not run"),
    "a command was under way": ([CALLS, ONE], {"2": "command"}, "a 1 2 3", "2:unknown 3:not run"),
    "a write and a read were under way": ([CALLS], {"1": "write", "2": "read"}, "a 1 3", "1:unknown 3:not run"),
    "a person was being asked": ([CALLS, ONE, TWO], {"3": "person"}, "a 1 2", ""),
    "reads were under way": ([HELLO, READS], {"1": "read", "2": "read"}, "user", ""),
    "reads that had not begun": ([HELLO, READS], {}, "user", ""),
    "one of the reads has ended": ([HELLO, READS, TWO], {"1": "read"}, "user a 2", ""),
    "words before reads": ([HELLO, SAID], {"1": "read"}, "user a", ""),
    "reads, and the conversation went on": ([HELLO, READS, STEER, DONE], {}, "user user a", ""),
    "a kind of a newer program": ([CALLS, ONE, TWO], {"3": "spaceship"}, "a 1 2 3", "3:unknown"),
    "the middle one is missing": ([CALLS, ONE, THREE], {"2": "write"}, "a 1 2 3", "2:unknown"),
    "out of order": ([CALLS, THREE, ONE, TWO], {}, "a 1 2 3", ""),
    "a steer between the results": ([CALLS, ONE, STEER, TWO], {}, "a 1 2 3 user", "3:not run"),
    "the conversation went on": (
        [HELLO, CALLS, ONE, user("next"), DONE],
        {},
        "user a 1 2 3 user a",
        "2:not run 3:not run",
    ),
    "a stray result": ([HELLO, answer("9"), CALLS, ONE, TWO, THREE, answer("9")], {}, "user a 1 2 3", ""),
    "a stray result at the start": ([answer("9"), HELLO], {}, "user", ""),
    "a result given twice": ([CALLS, ONE, TWO, THREE, answer("2", "again")], {}, "a 1 2 3", ""),
    "one id for two calls": ([asks("1", "1", name="run_command"), ONE], {}, "a 1 1", "1:not run"),
    "the same id in two steps": (
        [asks("1"), ONE, asks("1", name="run_command")],
        {"1": "command"},
        "a 1 a 1",
        "1:unknown",
    ),
    "empty": ([], {}, "", ""),
}


def shape(conversation) -> str:
    return " ".join("a" if m.role == "assistant" else m.result.call_id if m.result else m.role for m in conversation)


def made(conversation, stored) -> str:
    ids = {m.id for m in stored}
    words = {
        "not run": "was not run",
        "unknown": "Check what is there before you repeat",
    }
    out = []
    for m in conversation:
        if m.id not in ids:
            state = next(word for word, text in words.items() if text in m.text)
            assert not m.result.ok
            assert (m.result.effect == "unknown") == (state == "unknown")
            out.append(f"{m.result.call_id}:{state}")
    return " ".join(out)


@pytest.mark.parametrize(("stored", "effects", "expected", "new"), MEND.values(), ids=MEND)
def test_each_call_gets_one_result_in_order(store, stored, effects, expected, new):
    session = store.create("/w").id
    for message in stored:
        store.append(session, message)
    for call_id, kind in effects.items():
        store.effect_started(session, call_id, "run_command", kind)
    recovered = store.recover(session)
    assert shape(recovered) == expected
    assert made(recovered, stored) == new
    assert store.messages(session) == recovered, "the repair is stored"
    assert store.recover(session) == recovered, "a second repair changes nothing"
    for message in recovered:
        if message.id == SAID.id:
            assert (message.text, message.tool_calls, message.extra) == (SAID.text, (), {})
            assert message.interrupted
    assert store.get(session).messages == len(recovered)
    assert store.get(session).turns == sum(m.role == "user" and m.origin != "steer" for m in recovered)


def test_of_a_sub_agent_that_was_cut_off_it_is_said_where_its_last_words_are():
    (_, answer) = mend([asks("1", name="subagent")], {"1": "command"})
    assert "agent_list shows its steps and its last words" in answer.text
    assert (answer.result.effect, answer.result.outcome) == ("unknown", "interrupted")


def test_mending_keeps_what_is_whole_untouched():
    whole = [HELLO, CALLS, ONE, TWO, THREE, STEER, DONE]
    assert mend(whole, {}) == whole


def test_a_stored_result_closes_its_effect(store):
    session = store.create("/w").id
    store.append(session, asks("1", "2", name="run_command"))
    store.effect_started(session, "1", "run_command", "command")
    store.effect_started(session, "2", "run_command", "command")
    store.append(session, answer("1"))
    # The next step of a server that numbers its calls anew must not inherit an effect of this one.
    store.append(session, answer("2"))
    store.append(session, asks("1", name="run_command"))
    assert "was not run" in store.recover(session)[-1].text


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
            replace(HELLO, id=messages.new_id()),
            replace(CALLS, id=messages.new_id()),
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
    with sqlite3.connect(path) as c:
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


# -- the file -----------------------------------------------------------------------------------------------------


def test_the_files_are_private(path, store):
    store.create("/w")
    files = sorted(path.parent.iterdir())
    assert {f.name for f in files} == {"state.db", "state.db-shm", "state.db-wal"}
    for file in (*files, path.parent):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


def test_a_file_open_to_others_is_closed_to_them(path):
    path.parent.mkdir()
    path.touch()
    path.chmod(0o644)
    Store.open(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_commits_are_durable_and_the_journal_is_wal(path, store):
    store.create("/w")
    with store._db.read() as c:
        assert c.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._db._writer.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_reader_cannot_write(store):
    with pytest.raises(StoreError), store._db.read() as c:
        c.execute("DELETE FROM sessions")


def test_of_the_connections_that_many_readers_at_once_need_a_few_stay_open(path, store):
    def opened() -> int:
        """Each has the journal open. Of the file itself SQLite keeps descriptors for the next ones."""
        links = [
            os.readlink(fd) for fd in map("/proc/self/fd/{}".format, os.listdir("/proc/self/fd")) if os.path.lexists(fd)
        ]
        return links.count(f"{path}-wal")

    store.create("/ws", title="one")
    for _ in range(2):
        with ExitStack() as readers:
            for _ in range(12):
                connection = readers.enter_context(store.database.read())
                assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
            assert opened() == 1 + 12
        assert opened() == 1 + limits.READERS_KEPT


def test_the_journal_does_not_grow_for_ever(path, store):
    session = store.create("/w").id
    for number in range(3 * limits.CHECKPOINT_EVERY):
        store.append(session, user(f"{number} " + "x" * 20_000))
    assert path.with_name("state.db-wal").stat().st_size < 6_000_000
    assert len(store.messages(session)) == 3 * limits.CHECKPOINT_EVERY


def test_a_database_of_a_newer_version_is_refused_and_left_alone(path):
    Store.open(path).close()
    with sqlite3.connect(path) as c:
        c.execute("PRAGMA user_version = 999")
    c.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="schema 999, this program knows") as refused:
        Store.open(path)
    assert refused.value.code == "store_newer"
    assert str(path) in str(refused.value)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as c:
        c.execute("CREATE TABLE theirs (a)")
    c.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as refused:
        Store.open(path)
    assert refused.value.code == "store_foreign"
    assert path.read_bytes() == before


def test_a_new_database_has_the_latest_schema(path, store):
    with store._db.read() as c:
        assert c.execute("PRAGMA user_version").fetchone() == (latest_version(),)
        assert c.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def spoil_header(data: bytearray) -> None:
    data[:500] = b"\0" * 500


def spoil_pages(data: bytearray) -> None:
    data[4096:] = os.urandom(len(data) - 4096)


def spoil_middle(data: bytearray) -> None:
    data[len(data) // 2 : len(data) // 2 + 5000] = b"\0" * 5000


def spoil_end(data: bytearray) -> None:
    del data[len(data) // 2 :]


@pytest.mark.parametrize("spoil", [spoil_header, spoil_pages, spoil_middle, spoil_end])
def test_a_damaged_database_is_kept_and_a_fresh_one_started(path, spoil):
    first = Store.open(path)
    session = first.create("/w").id
    for _ in range(40):
        first.append(session, user("x" * 3000))
    first.close()
    data = bytearray(path.read_bytes())
    spoil(data)
    path.write_bytes(data)
    store = Store.open(path)
    assert store.list() == []
    store.append(store.create("/w").id, user("works"))
    [aside] = (p for p in path.parent.glob("state.db.corrupt-*") if not p.name.endswith(("-wal", "-shm")))
    assert aside.read_bytes() == bytes(data)
    [warning] = store.warnings
    assert str(path) in warning
    assert aside.name in warning
    store.close()
    again = Store.open(path)
    assert again.warnings == ()
    again.close()


def test_damage_found_while_reading_names_the_file(path, monkeypatch):
    monkeypatch.setattr(limits, "STORE_CHECK", 0)
    first = Store.open(path)
    session = first.create("/w").id
    for _ in range(40):
        first.append(session, user("x" * 30_000))
    first.close()
    data = bytearray(path.read_bytes())
    half = len(data) // 8192 * 4096  # behind the tables' first pages
    data[half:] = b"\xff" * (len(data) - half)
    path.write_bytes(data)
    store = Store.open(path)
    with pytest.raises(StoreError, match="damaged") as found:
        store.messages(session)
    assert found.value.code == "store_damaged"
    assert str(path) in str(found.value)
    store.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_named(path):
    path.parent.mkdir(mode=0o500)
    with pytest.raises(StoreError, match="NANOHERMES_HOME"):
        Store.open(path)


def test_a_home_that_is_a_file_is_named(tmp_path):
    (tmp_path / "home").write_text("not a folder")
    with pytest.raises(StoreError) as refused:
        Store.open(tmp_path / "home" / "state.db")
    assert refused.value.code == "store_unwritable"


# -- many at once -------------------------------------------------------------------------------------------------


def test_two_programs_and_many_threads_write_one_file(path):
    stores = [Store.open(path), Store.open(path)]
    sessions = [stores[0].create("/w").id for _ in range(3)]
    failures: list[BaseException] = []

    def run(worker: int) -> None:
        try:
            for number in range(15):
                stores[worker % 2].append(sessions[number % 3], user(f"{worker}:{number}"))
                stores[worker % 2].messages(sessions[number % 3])
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    texts = sorted(m.text for s in sessions for m in stores[1].messages(s))
    assert texts == sorted(f"{w}:{n}" for w in range(6) for n in range(15))
    for opened in stores:
        opened.close()


def test_a_writer_waits_for_another_program(path, store):
    session = store.create("/w").id
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    done = threading.Event()

    def write() -> None:
        store.append(session, user("patient"))
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    assert not done.wait(limits.SQLITE_BUSY + 0.5), "the file is held, longer than one try takes"
    assert store.get(session).messages == 0, "a reader does not wait"
    other.execute("COMMIT")
    thread.join(10)
    assert [m.text for m in store.messages(session)] == ["patient"]
    other.close()


def test_a_write_that_cannot_be_made_says_so_and_leaves_nothing(path, store, monkeypatch):
    monkeypatch.setattr(limits, "TRANSCRIPT_BUDGET", 0.2)
    session = store.create("/w").id
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="held by another program") as locked:
        store.append(session, user("lost"))
    assert locked.value.code == "session_persistence_failed:locked"
    other.execute("ROLLBACK")
    other.close()
    assert store.messages(session) == []
    store.append(session, user("kept"))
    assert len(store.messages(session)) == 1


def test_a_transaction_that_fails_leaves_nothing(path):
    database = Database.open(path)

    def work(c: sqlite3.Connection) -> None:
        c.execute("INSERT INTO sessions (id, workspace, created, updated) VALUES ('a', '/w', 0, 0)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.write(work)
    with database.read() as c:
        assert c.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
    database.close()
    database.close()
    writes = [partial(database.write, work, budget) for budget in ("normal", "transcript", "activity")]
    for use in (*writes, lambda: database.read().__enter__()):
        with pytest.raises(StoreError) as closed:
            use()
        assert closed.value.code == "store_closed"


def test_a_full_disk_is_told_and_costs_only_the_new_message(store):
    session = store.create("/w").id
    store.append(session, user("before"))
    store._db._writer.execute("PRAGMA max_page_count = 20")
    with pytest.raises(StoreError) as full:
        store.append(session, user("x" * 1_000_000))
    assert full.value.code == "store_full"
    assert [m.text for m in store.messages(session)] == ["before"]


@pytest.mark.parametrize("vacuum", [2, 0])
def test_the_room_of_what_was_purged_goes_back_to_the_disk(path, vacuum):
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as c:
        c.execute(f"PRAGMA auto_vacuum = {vacuum}")
        c.execute("CREATE TABLE t (a)")
        c.execute("DROP TABLE t")
    store = Store.open(path)
    kept, gone = store.create("/w").id, store.create("/w").id
    for number in range(60):
        store.append(gone, user(f"{number} " + "x" * 100_000))
        store.append(kept, user(f"{number} " + "y" * 10_000))
    store.delete(gone)
    store.purge(time.time() + 1, 0.0)
    store.shrink()
    assert [len(m.text) > 10_000 for m in store.messages(kept)] == [True] * 60
    store.close()
    assert (path.stat().st_size < 2_000_000) == bool(vacuum), "a file of another kind stays as it is"


@pytest.mark.parametrize("what", ["deleted", "replaced"])
def test_nothing_is_written_into_a_file_that_is_not_there_any_more(path, store, what):
    session = store.create("/w").id
    if what == "replaced":
        path.with_name("other.db").write_bytes(path.read_bytes())
        path.with_name("other.db").replace(path)
    else:
        path.unlink()
    for use in (lambda: store.append(session, user("lost without a word")), store.list):
        with pytest.raises(StoreError, match="start the program again") as gone:
            use()
        assert gone.value.code == "store_gone"
    store.close()


def test_bodies_are_plain_json(path, store):
    session = store.create("/w").id
    message = user("你好\0")
    store.append(session, message)
    with sqlite3.connect(path) as c:
        (body,) = c.execute("SELECT body FROM messages").fetchone()
    assert "你好" in body
    assert messages.from_json(json.loads(body)) == message
