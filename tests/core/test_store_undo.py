"""Undo, redo and rewind: what is taken out comes back exactly, level by level, until something new is said."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core.errors import StoreError
from agent_core.messages import Message, ShellRun, ToolCall, ToolResult, shell, tool, user
from agent_core.store.sessions import Store


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "state.db")
    yield opened
    opened.close()


def turn(number: int) -> list[Message]:
    return [
        user(f"ask {number}"),
        Message("assistant", tool_calls=(ToolCall(f"c{number}", "grep", {}),)),
        tool(ToolResult(f"c{number}", "grep", "found")),
        user(f"also {number}", origin="steer"),
        Message("assistant", f"done {number}"),
    ]


@pytest.fixture
def talk(store):
    session = store.create("/w").id
    for number in range(4):
        for message in turn(number):
            store.append(session, message)
    return session


def asked(store, session) -> str:
    return " ".join(m.text.removeprefix("ask ") for m in store.messages(session) if m.starts_turn)


def test_redo_puts_back_exactly_what_undo_took_out_level_by_level(store, talk):
    whole, row = store.messages(talk), store.get(talk)
    assert (store.undo(talk), store.undo(talk, 2)) == (1, 2)
    assert asked(store, talk) == "0"
    assert store.get(talk).turns == 1
    assert store.redo(talk) == 2
    assert asked(store, talk) == "0 1 2"
    assert store.redo(talk) == 1
    assert store.messages(talk) == whole
    assert (store.get(talk).messages, store.get(talk).turns) == (row.messages, row.turns)
    assert store.redo(talk) == 0
    assert store.messages(talk) == whole


def test_what_was_undone_is_there_after_a_restart(store, talk, tmp_path):
    whole = store.messages(talk)
    store.undo(talk, 3)
    assert [m.text for m in store.recover(talk)] == ["ask 0", "", "found", "also 0", "done 0"]
    other = Store.open(tmp_path / "state.db")
    assert other.recover(talk) == whole[:5]
    assert other.redo(talk) == 3
    assert other.messages(talk) == whole
    other.close()


def test_what_is_said_next_ends_what_can_be_redone_and_the_undone_goes_for_good(store, talk, tmp_path):
    store.undo(talk)
    store.append(talk, user("something else"))
    assert store.redo(talk) == 0
    assert asked(store, talk) == "0 1 2 something else"
    with closing(sqlite3.connect(tmp_path / "state.db")) as c, c:
        assert c.execute("SELECT count(*) FROM messages").fetchone() == (16,)
    c.close()


def test_a_command_of_the_persons_own_that_takes_its_place_is_something_new(store, talk):
    store.undo(talk)
    store.shell_started(talk, "s", "ls", False)
    run = shell(ShellRun("ls", ToolResult("s", "shell", "a")))
    assert store.put_aside(talk, run)
    assert asked(store, talk) == "0 1 2"
    store.place(talk, run.id)
    assert store.redo(talk) == 0
    assert store.messages(talk)[-1].id == run.id


def test_rewind_takes_out_a_message_and_all_after_it(store, talk):
    whole = store.messages(talk)
    assert store.rewind(talk, whole[5].id) == 3
    assert store.messages(talk) == whole[:5]
    assert store.redo(talk) == 3
    assert store.rewind(talk, whole[3].id) == 3, "from the steer on: the turn it came in stays in part"
    assert store.messages(talk) == whole[:3]
    with pytest.raises(StoreError) as gone:
        store.rewind(talk, whole[5].id)
    assert gone.value.code == "no_message"
    store.redo(talk)
    assert store.messages(talk) == whole


def test_a_fork_does_not_take_what_was_undone_along(store, talk):
    store.undo(talk, 2)
    fork = store.fork(talk)
    assert asked(store, fork.id) == "0 1"
    assert store.redo(fork.id) == 0
    assert store.redo(talk) == 2


def test_a_mended_conversation_takes_what_was_undone_back_at_its_end(store, talk):
    store.rewind(talk, store.messages(talk)[7].id)  # in the middle of a step: its call has lost its result
    assert [m.role for m in store.recover(talk)] == ["user", "assistant", "tool", "user", "assistant", "user"]
    assert store.redo(talk) == 2
    assert asked(store, talk) == "0 1 2 3"
    positions = "SELECT count(*), count(DISTINCT position), max(undone) FROM messages WHERE position IS NOT NULL"
    with store.database.read() as c:
        assert c.execute(positions).fetchone() == (19, 19, None)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.just(0)),
        st.tuples(st.just("undo"), st.integers(1, 3)),
        st.tuples(st.just("rewind"), st.integers(0, 30)),
        st.tuples(st.just("redo"), st.just(0)),
        st.tuples(st.just("recover"), st.just(0)),
    ),
    max_size=25,
)


@given(STEPS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_series_of_steps_agrees_with_a_list_and_a_stack(store, steps):
    session = store.create("/w").id
    conversation: list[str] = []
    undone: list[list[str]] = []
    for number, (step, value) in enumerate(steps):
        starts = [at for at, uid in enumerate(conversation) if uid.startswith("u")]
        if step == "say":
            for uid in (f"u{number}", f"a{number}"):
                role = "user" if uid.startswith("u") else "assistant"
                store.append(session, Message(role, uid, id=uid))
                conversation.append(uid)
            undone = []
        elif step == "undo":
            taken = starts[-value:]
            assert store.undo(session, value) == len(taken)
            if taken:
                undone.append(conversation[taken[0] :])
                del conversation[taken[0] :]
        elif step == "rewind" and value < len(conversation):
            assert store.rewind(session, conversation[value]) == sum(at >= value for at in starts)
            undone.append(conversation[value:])
            del conversation[value:]
        elif step == "redo":
            back = undone.pop() if undone else []
            assert store.redo(session) == sum(uid.startswith("u") for uid in back)
            conversation += back
        elif step == "recover":
            store.recover(session)
        assert [m.id for m in store.messages(session)] == conversation
        assert store.get(session).messages == len(conversation)
