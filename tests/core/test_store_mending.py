"""A conversation that was cut off is whole again when it is loaded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_core.errors import StoreError, abandoned
from agent_core.messages import Message, ShellRun, ToolResult, shell, user
from agent_core.store.mending import mend
from agent_core.store.sessions import Store
from tests.core.store_support import answer, asks


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "state.db"


@pytest.fixture
def store(path):
    opened = Store.open(path)
    yield opened
    opened.close()


CALLS, READS = asks("1", "2", "3", name="run_command"), asks("1", "2", "3")
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


HALF = Message("assistant", "half an ans", interrupted=True)


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ([], ["hello", "half an ans"]),
        ([Message("assistant", "whole")], ["hello", "whole"]),
        ([None], ["hello"]),
        ([Message("assistant", "half an answer", interrupted=True)], ["hello", "half an answer"]),
        ([user("next")], ["hello", "next"]),  # what is no end of the conversation any more is not put into it
    ],
    ids=["killed", "whole", "void", "kept as it was stopped", "something came behind it"],
)
def test_what_a_reply_had_said_when_the_program_was_killed_is_its_message(store, path, then, expected):
    session = store.create("/w").id
    store.append(session, HELLO)
    store.reply_begun(session, replace(HALF, text="ha"))
    store.reply_begun(session, HALF)
    assert [m.text for m in store.messages(session)] == ["hello"], "not before the program is gone"
    for message in then:
        if message is None:
            store.reply_begun(session, None)
        else:
            store.append(session, message)
    assert store.is_whole(session) == bool(then)
    store.close()
    again = Store.open(path)
    try:
        found = again.recover(session)
        assert [m.text for m in found] == expected
        assert again.is_whole(session)
        assert again.recover(session) == again.messages(session) == found
        assert then or found[-1].interrupted
    finally:
        again.close()


def test_a_reply_that_was_cut_and_was_then_taken_out_does_not_come_back(store):
    session = store.create("/w").id
    store.append(session, HELLO)
    store.reply_begun(session, HALF)
    half = store.recover(session)[-1]
    store.rewind(session, half.id)
    assert [m.text for m in store.recover(session)] == ["hello"]


WRITES = {
    "a message": lambda store, session, allowed: store.append(session, user("late"), allowed),
    "a result": lambda store, session, allowed: store.append(session, ONE, allowed),
    "a call that begins": lambda store, session, allowed: store.effect_started(session, "1", "grep", "read", allowed),
    "a reply that streams": lambda store, session, allowed: store.reply_begun(session, HALF, allowed),
    "a command's place": lambda store, session, allowed: store.place(session, RAN.id, allowed),
}
RAN = shell(ShellRun("ls", ToolResult("s1", "shell", "a.txt")))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_whoever_is_given_up_while_the_database_was_waited_for_writes_nothing(store, write):
    session = store.create("/w").id
    store.append(session, HELLO)
    store.shell_started(session, "s1", "ls", False)
    assert store.put_aside(session, RAN)

    def given_up():
        raise abandoned()

    def stored():
        with store.database.read() as c:
            tables = ("messages", "open_effects", "begun_replies")
            return [c.execute(f"SELECT * FROM {table}").fetchall() for table in tables]

    before = stored()
    with pytest.raises(StoreError) as refused:
        write(store, session, given_up)
    assert refused.value.code == abandoned().code
    assert stored() == before
    write(store, session, lambda: None)
    assert stored() != before


def test_of_a_reply_that_was_cut_a_command_of_the_persons_own_comes_behind(store):
    session = store.create("/w").id
    store.append(session, HELLO)
    store.shell_started(session, "s1", "ls", False)
    store.reply_begun(session, HALF)
    assert [m.text for m in store.recover(session)][:2] == ["hello", HALF.text]
    assert [m.shell is not None for m in store.messages(session)] == [False, False, True]
