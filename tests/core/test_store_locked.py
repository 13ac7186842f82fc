"""Another program holds the database: readers go on, and a write that cannot be made ends with its reason."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from agent_core import events, intents, limits
from agent_core.errors import StoreError
from agent_core.messages import Message, ToolCall, user
from agent_core.store.notes import Draft
from agent_core.store.sessions import Store
from tests.core.session_support import Table, call, say


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.db"


@pytest.fixture
def held(path):
    """A store with a session that a crash left unmended, while another program holds the write lock."""
    store = Store.open(path)
    session = store.create("/w", title="held").id
    store.append(session, user("go"))
    store.append(session, Message("assistant", "", tool_calls=(ToolCall("c", "run_command", {}),)))
    store.effect_started(session, "c", "run_command", "command")
    store.close()
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE')\n"
        "c.execute(\"UPDATE sessions SET title = 'not yet'\"); print('held', flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    yield session, holder
    holder.kill()
    holder.communicate()


def test_readers_are_not_blocked_by_a_writer(path, held):
    session, holder = held
    began = time.monotonic()
    store = Store.open(path)
    assert [row.title for row in store.list()] == ["held"]
    assert store.find("held").id == session
    assert len(store.messages(session)) == 2
    assert store.notes.draft("new", "/w") == ""
    assert store.leases.holder(session) is None
    recovered = store.recover(session)
    assert recovered[-1].result.effect == "unknown", "mended to be read, though it cannot be stored yet"
    assert time.monotonic() - began < 10, "none of it waited for a write budget"
    assert store.has_moved(session), "it is to be read again before a turn"
    holder.communicate("\n", timeout=30)
    again = store.recover(session, budget="transcript")
    assert [m.text for m in again] == [m.text for m in recovered]
    assert store.messages(session) == again
    assert not store.has_moved(session)
    store.close()


def test_a_stop_does_not_lose_what_only_waits_for_another_write_of_this_program(path):
    store = Store.open(path)
    session = store.create("/w").id
    writing, done = threading.Event(), threading.Event()

    def slow(connection):
        writing.set()
        done.wait(10)

    writer = threading.Thread(target=store.database.write, args=(slow,))
    writer.start()
    assert writing.wait(10)
    threading.Timer(5 * limits.WRITE_LOOK, done.set).start()
    with store.database.while_not(lambda: True):
        store.append(session, user("kept"))
    writer.join(10)
    assert [m.text for m in store.messages(session)] == ["kept"]
    store.close()


def test_what_is_noted_gives_up_soon_and_settings_wait_longer(path, held, monkeypatch):
    assert (limits.SQLITE_BUSY, limits.WRITE_BUDGET, limits.TRANSCRIPT_BUDGET, limits.ACTIVITY_BUDGET) == (
        1,
        20,
        60,
        0.5,
    )
    monkeypatch.setattr(limits, "SQLITE_BUSY", 0.7)
    monkeypatch.setattr(limits, "WRITE_BUDGET", 0.9)
    monkeypatch.setattr(limits, "TRANSCRIPT_BUDGET", 1.1)
    session, _ = held
    store = Store.open(path)
    took = {}
    for name, code, write in [
        ("note", "store_locked", lambda: store.notes.keep([Draft(session, "/w", "text")])),
        ("setting", "store_locked", lambda: store.rename(session, "x")),
        ("transcript", "session_persistence_failed:locked", lambda: store.append(session, user("x"))),
    ]:
        began = time.monotonic()
        with pytest.raises(StoreError, match="held by another program") as locked:
            write()
        assert locked.value.code == code
        took[name] = time.monotonic() - began
    assert took["note"] >= 0.5
    assert took["setting"] >= 0.9
    assert took["transcript"] >= 1.1
    assert took["note"] < took["setting"], "a note does not even wait as long as one try of the others"
    store.close()


# -- a turn that cannot be stored -----------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "SQLITE_BUSY", 0.05)
    monkeypatch.setattr(limits, "TRANSCRIPT_BUDGET", 0.3)
    monkeypatch.setattr(limits, "ACTIVITY_BUDGET", 0.05)
    made = Table(tmp_path, say("hello"))
    made.turn("first")
    yield made
    made.session.close()
    made.session.join(5)


def lock(table):
    holder = sqlite3.connect(table.store.database.path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    return holder


def test_a_message_that_cannot_be_stored_goes_back_to_the_composer(table):
    holder = lock(table)
    table.session.send(intents.Submit("second"))
    end = table.wait(events.TurnFinished, count=2)
    assert (end.outcome, end.error_code) == ("failed", "session_persistence_failed:locked")
    assert "held by another program" in table.wait(events.ErrorRaised).text
    assert table.wait(events.TextReturned).text == "second"
    assert len(table.model.requests) == 1, "nothing is asked for what is not stored"
    holder.close()
    table.session.send(intents.TextTaken("second"))
    assert table.turn("second", count=3).outcome == "completed"
    assert [m.text for m in table.store.messages(table.session.id)] == ["first", "hello", "second", "hello"]


def test_no_tool_runs_after_a_reply_that_cannot_be_stored(table):
    holders = []

    def reply(request, sink, cancel):
        holders.append(lock(table))
        return call(("write_file", {"path": "new.txt", "content": "x"}), ("list_dir", {}))

    table.model.replies = [reply, say("later")]
    table.session.send(intents.Submit("second"))
    end = table.wait(events.TurnFinished, count=2)
    assert (end.outcome, end.error_code) == ("failed", "session_persistence_failed:locked")
    assert table.of(events.ToolStarted) == []
    assert table.of(events.QuestionAsked) == []
    assert list(table.workspace.iterdir()) == []
    holders[0].close()
    assert table.turn("third", count=3).outcome == "completed"
    assert [m.text for m in table.store.messages(table.session.id)] == ["first", "hello", "second", "third", "later"]


def test_a_result_that_cannot_be_stored_leaves_its_call_unknown(table):
    holders = []

    def run(request, sink, cancel):
        return call(("run_command", {"command": "echo ran >> effect; until [ -e go ]; do sleep 0.02; done"}))

    table.model.replies = [run, say("later")]
    table.session.send(intents.Submit("second"))
    table.session.send(intents.Answer(table.wait(events.QuestionAsked).question.id, "once"))
    table.wait(events.ToolStarted)
    holders.append(lock(table))
    (table.workspace / "go").touch()
    assert table.wait(events.TurnFinished, count=2).error_code == "session_persistence_failed:locked"
    holders[0].close()
    assert table.turn("third", count=3).outcome == "completed"
    [result] = [m.result for m in table.store.messages(table.session.id) if m.result is not None]
    assert (result.effect, result.ok) == ("unknown", False)
    assert (table.workspace / "effect").read_text() == "ran\n"
