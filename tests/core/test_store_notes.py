"""Beside the conversation: drafts, waiting texts, what was seen; deleted sessions, forks, and an older database."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from agent_core import messages
from agent_core.errors import StoreError
from agent_core.messages import Comment, DiffLine, Hunk, Message, ShellRun, ToolCall, ToolResult, shell, tool, user
from agent_core.ports.means import TodoItem
from agent_core.store import db
from agent_core.store.db import APPLICATION_ID, latest_version
from agent_core.store.fork import fork_title, forked
from agent_core.store.notes import Commented, Draft, Seen, Waiting
from agent_core.store.owner import _began
from agent_core.store.sessions import Store
from tests.rows import each_row


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.db"


@pytest.fixture
def store(path):
    opened = Store.open(path)
    yield opened
    opened.close()


def asks(*ids, name="grep"):
    return Message("assistant", "", tool_calls=tuple(ToolCall(i, name, {"pattern": "x"}) for i in ids))


def answer(call_id):
    return tool(ToolResult(call_id, "grep", "found"))


def ran(text="out", private=False, call_id="s1"):
    return shell(ShellRun("make", ToolResult(call_id, "shell", text, outcome="exit 0"), private))


def filled(store, *conversation, **session):
    made = store.create("/w", **session).id
    for message in conversation:
        store.append(made, message)
    return made


# -- an older database --------------------------------------------------------------------------------------------


def test_a_database_of_the_first_version_is_brought_up_to_date_with_all_it_holds(path):
    first = (Path(db.__file__).parent / "migrations" / "0001_sessions.sql").read_text("utf-8")
    body = '{"role":"user","id":"u1","created":1.0,"text":"修复"}'
    with closing(sqlite3.connect(path)) as c, c:
        c.executescript(first)
        c.execute("PRAGMA user_version = 1")
        c.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        c.execute(
            "INSERT INTO sessions (id, title, workspace, created, updated, message_count, turn_count) "
            "VALUES ('s', 'old', '/w', 1, 2, 1, 1)"
        )
        c.execute(
            "INSERT INTO messages (session_id, uid, position, role, created, body) VALUES ('s', 'u1', 1, 'user', 1, ?)",
            (body,),
        )
        c.execute("INSERT INTO open_effects VALUES ('s', 'c9', 'run_command', 'command', 1.0)")
        c.execute("INSERT INTO model_usage (session_id, model, prompt_tokens) VALUES ('s', 'm', 7)")
    c.close()
    store = Store.open(path)
    row = store.get("s")
    assert (row.title, row.messages, row.prompt_tokens, row.seen, row.unread) == ("old", 1, 7, "", False)
    assert [m.text for m in store.recover("s")] == ["修复"]
    store.notes.keep([Draft("s", "/w", "next"), Seen("s", "u1")])
    assert store.notes.draft("s", "/w") == "next"
    assert store.get("s").seen == "u1"
    store.delete("s")
    assert store.list() == []
    store.close()
    with closing(sqlite3.connect(path)) as c, c:
        assert c.execute("PRAGMA user_version").fetchone() == (latest_version(),)
    c.close()


# -- drafts -------------------------------------------------------------------------------------------------------


def test_a_draft_is_kept_replaced_and_forgotten(store, path):
    session = filled(store, user("x"))
    store.notes.keep([Draft(session, "/w", "one"), Draft(session, "/w", "two\n三\ud83d")])
    assert store.notes.draft(session, "/w") == "two\n三\ufffd"
    store.notes.keep([Draft(session, "/w", "")])
    assert store.notes.draft(session, "/w") == ""


def left_by_a_dead_program(path, *notes):
    """Have another program write notes and end."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom agent_core.store.sessions import Store\n"
        "from agent_core.store.notes import Draft, Waiting\n"
        f"Store.open(Path(sys.argv[1])).notes.keep({list(notes)!r})\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def test_what_was_left_in_a_folder_without_a_session_is_found_by_the_next_one_there(store, path):
    left_by_a_dead_program(
        path,
        Draft("never stored", "/w", "half a thought"),
        Waiting("never stored", "/w", (("m1", "sent, not begun"),)),
        Draft("other", "/elsewhere", "not this"),
    )
    assert store.notes.draft("new", "/w") == "half a thought\n\nsent, not begun"
    assert store.notes.draft("new", "/w") == "half a thought\n\nsent, not begun"
    assert store.notes.draft("third", "/w") == "", "it belongs to one session from then on"
    store.notes.keep([Draft("new", "/w", "")])
    assert store.notes.draft("fourth", "/w") == ""


def test_a_draft_of_a_program_that_still_runs_is_left_alone(store, path):
    other = Store.open(path)
    other.notes._owner = f"{os.getppid()}:other"
    other.notes.keep([Draft("theirs", "/w", "typing this")])
    assert store.notes.draft("mine", "/w") == ""
    other.notes._owner = f"{os.getppid()}:of an earlier program with that number:1"
    other.notes.keep([Draft("theirs", "/w", "typing this")])
    assert store.notes.draft("mine", "/w") == "typing this"
    other.notes._owner = f"{os.getpid()}:of an earlier program with our number"
    other.notes.keep([Draft("theirs", "/w", "typing this")])
    other.close()
    assert store.notes.draft("mine too", "/w") == "typing this"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc tells what has ended")
def test_a_killed_program_that_nobody_has_cleared_away_does_not_hold_its_notes(store, path):
    killed = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    other = Store.open(path)
    other.notes._owner = f"{killed.pid}:other:{_began(killed.pid)}"
    other.notes.keep([Waiting("s", "/w", (("m1", "sent, not begun"),))])
    other.close()
    assert store.notes.waiting("s") == ()
    killed.kill()
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    assert store.notes.waiting("s") == (("m1", "sent, not begun"),)
    killed.wait()
    killed.stdin.close()


def test_another_new_session_of_the_same_run_does_not_take_the_draft(store):
    store.notes.keep([Draft("first", "/w", "mine")])
    assert store.notes.draft("second", "/w") == ""
    assert store.notes.draft("first", "/w") == "mine"


def test_a_stored_session_takes_over_nothing(store, path):
    session = filled(store, user("x"))
    left_by_a_dead_program(path, Draft("never stored", "/w", "left"))
    assert store.notes.draft(session, "/w") == ""


# -- waiting texts ------------------------------------------------------------------------------------------------


def test_a_text_that_has_begun_its_turn_waits_no_more(store):
    session = filled(store, user("x"))
    begun, waits = user("begun"), user("waits")
    store.notes.keep([Waiting(session, "/w", ((begun.id, begun.text), (waits.id, waits.text)))])
    store.append(session, begun)
    assert store.notes.waiting(session) == ((waits.id, "waits"),)
    store.notes.keep([Waiting(session, "/w", ())])
    assert store.notes.waiting(session) == ()


def test_notes_come_in_one_transaction(store):
    session = filled(store, user("x"))
    store.notes.keep([Draft(session, "/w", "a")])
    with pytest.raises(StoreError):
        store.notes.keep([Draft(session, "/w", "b"), Seen(session, None)])  # NOT NULL
    assert store.notes.draft(session, "/w") == "a"


# -- what was seen ------------------------------------------------------------------------------------------------


def test_a_session_is_unread_when_a_turn_has_ended_behind_what_was_seen(store):
    done, first = Message("assistant", "one"), user("a")
    session = filled(store, first, done)
    assert not store.get(session).unread, "never noted"
    store.notes.keep([Seen(session, done.id)])
    assert (store.get(session).seen, store.get(session).unread) == (done.id, False)
    for message, unread in [(user("b"), False), (asks("c1"), False), (answer("c1"), False),
                            (Message("assistant", "two"), True)]:  # fmt: skip
        store.append(session, message)
        assert store.get(session).unread is unread, message
    assert [row.unread for row in store.list()] == [True]
    last = store.messages(session)[-1].id
    store.notes.keep([Seen(session, last)])
    assert not store.get(session).unread
    store.undo(session)
    assert not store.get(session).unread, "what was seen is not there any more"


def test_what_is_unread_is_looked_for_only_when_it_is_shown(store):
    first = user("a")
    session = filled(store, first, Message("assistant", "one"))
    store.notes.keep([Seen(session, first.id)])
    statements = []
    store._db._writer.set_trace_callback(statements.append)
    store.append(session, asks("c1"))
    store.effect_started(session, "c1", "grep", "read")
    store.append(session, answer("c1"))
    store._db._writer.set_trace_callback(None)
    assert statements
    assert not [s for s in statements if "json_valid" in s], "a long unread session must not slow each step down"


def test_a_spoiled_row_does_not_spoil_the_list(store, path):
    first = user("a")
    session = filled(store, first, Message("assistant", "one"))
    store.notes.keep([Seen(session, first.id)])
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE messages SET body = '{' WHERE role = 'assistant'")
    c.close()
    assert [row.id for row in store.list()] == [session]


# -- delete and undo ----------------------------------------------------------------------------------------------


def test_a_deleted_session_is_nowhere_until_it_is_restored(store):
    session = filled(store, user("x"), title="T")
    store.notes.keep([Draft(session, "/w", "unsent")])
    store.delete(session)
    assert store.list() == []
    assert store.latest("/w") is None
    for use in (store.get, store.find, store.messages, store.delete, store.recover, store.fork):
        with pytest.raises(StoreError) as caught:
            use(session)
        assert caught.value.code == "no_session"
    with pytest.raises(StoreError):
        store.find("T")
    assert store.restore(session).title == "T"
    assert [m.text for m in store.messages(session)] == ["x"]
    assert store.notes.draft(session, "/w") == "unsent"
    assert store.restore(session).id == session, "restoring what is there changes nothing"


def test_only_what_was_deleted_long_ago_is_removed_for_good(store, path):
    shared, own = "20260101-120000-aaaaaaaa.txt", "20260101-120000-bbbbbbbb.txt"
    said = [user("x"), Message("assistant", f"[the whole output is in /h/spill/{shared}; read_file]")]
    old = filled(store, *said, Message("assistant", f"/h/spill/{own}"))
    fork, young, there = filled(store, *said), filled(store, user("y")), filled(store, user("z"))
    store.notes.keep([Draft(old, "/w", "gone"), Draft(there, "/w", "stays"), Draft("left", "/w", "left")])
    store.delete(old)
    time.sleep(0.01)
    between = time.time()
    store.delete(young)
    assert store.purge(between, 0.0) == [own], "a fork still speaks of the other file"
    assert sorted(row.id for row in store.list()) == sorted([fork, there])
    assert store.restore(young).id == young
    with pytest.raises(StoreError):
        store.restore(old)
    assert store.notes.draft(there, "/w") == "stays"
    assert store.purge(time.time() + 1, time.time() + 1) == []
    with closing(sqlite3.connect(path)) as c, c:
        assert c.execute("SELECT session_id FROM drafts").fetchall() == [(there,)]
    c.close()


# -- forks --------------------------------------------------------------------------------------------------------

FIRST, SECOND = user("one"), user("two")
TALK = [FIRST, asks("c1", "c2"), answer("c1"), answer("c2"), user("also", origin="steer"), Message("assistant", "done"),
        ran(), SECOND, asks("c3"), answer("c3"), Message("assistant", "end")]  # fmt: skip


def texts(conversation):
    return [(m.role, m.text, m.tool_calls, m.result, m.shell) for m in conversation]


@each_row(
    ("talk", "through", "taken"),
    [
        (TALK, "", 11),
        (TALK[:-1], "", 10),
        (TALK[:9], "", 8),  # c3 still runs
        (TALK[:3], "", 1),  # c2 still runs
        (TALK[:1], "", 1),
        ([], "", 0),
        (TALK, FIRST.id, 7),
        (TALK, TALK[5].id, 7),
        (TALK, SECOND.id, 11),
        (TALK[:9], SECOND.id, 8),
    ],
    ids=map(str, range(10)),  # the ids of messages are others in each process
)
def test_a_fork_takes_whole_steps_and_whole_turns(talk, through, taken):
    assert forked(talk, through) == talk[:taken]


def test_a_fork_is_a_session_of_its_own(store):
    session = filled(store, *TALK[:-1], title="T", mode="plan", model="m", provider="p")
    store.set_todos(session, (TodoItem("a"),))
    fork = store.fork(session)
    assert (fork.title, fork.workspace, fork.mode, fork.model, fork.provider) == ("T (fork)", "/w", "plan", "m", "p")
    assert (fork.messages, fork.turns, fork.unread) == (10, 2, False)
    copies = store.messages(fork.id)
    assert texts(copies) == texts(TALK[:-1])
    assert [m.id for m in copies] == [m.id for m in TALK[:-1]]  # what a summary stands for is named by id
    assert fork.seen == copies[-1].id
    assert store.todos(fork.id) == (TodoItem("a"),)
    store.append(fork.id, user("only here"))
    store.undo(session, 2)
    assert len(store.messages(session)) == 0
    assert store.messages(fork.id)[-1].text == "only here"
    assert store.fork(fork.id).title == "T (fork 2)"
    with pytest.raises(StoreError, match="not in the session"):
        store.fork(fork.id, "nope")


@each_row(
    ("title", "taken", "made"),
    [
        ("T", (), "T (fork)"),
        ("T", ("T", "T (fork)"), "T (fork 2)"),
        ("T (fork)", ("T (fork)", "T (fork 2)"), "T (fork 3)"),
        ("T (fork 7)", (), "T (fork)"),
        ("", (), ""),
        ("修复 (fork) 再来", (), "修复 (fork) 再来 (fork)"),
    ],
)
def test_forks_are_numbered(title, taken, made):
    assert fork_title(title, taken) == made


# -- comments on changes ------------------------------------------------------------------------------------------


LINES = (DiffLine("same", "x", 3, 3), DiffLine("remove", "旧", 4), DiffLine("add", "新", None, 4, ""))
ON = (Comment("文档.md", Hunk(3, 3, LINES, "def f"), "不要这样"), Comment("b.py", Hunk(9, 9, LINES[:2]), "why?\nsay"))


def test_comments_come_back_equal_in_their_order_and_are_forgotten_by_none(store):
    session, other = filled(store, user("x")), filled(store, user("y"))
    store.notes.keep([Commented(session, ON[:1]), Commented(session, ON), Commented(other, ON[1:])])
    assert (store.notes.comments(session), store.notes.comments(other)) == (ON, ON[1:])
    store.notes.keep([Commented(session, ())])
    assert (store.notes.comments(session), store.notes.comments(other)) == ((), ON[1:])


def test_comments_hold_their_session_go_with_its_conversation_and_belong_to_none_that_is_not_stored(store, path):
    kept, cleared, purged = (filled(store, user("x")) for _ in range(3))
    store.notes.keep([Commented(session, ON) for session in (kept, cleared, purged, "never stored")])
    store.reset(cleared)
    store.delete(purged)
    store.purge(time.time() + 1, 0)
    assert store.expire(time.time() + 1) == 1, "the one in which nothing is unsent"
    assert store.get(kept).id == kept
    with closing(sqlite3.connect(path)) as c, c:
        assert c.execute("SELECT session_id FROM hunk_comments").fetchall() == [(kept,)]
    c.close()


# -- the person's own commands ------------------------------------------------------------------------------------


def test_a_command_that_was_put_aside_has_no_place_until_a_step_boundary(store):
    session = filled(store, user("go"), asks("c1", name="run_command"))
    store.shell_started(session, "s1", "make", False)
    store.put_aside(session, ran())
    aside = ran(call_id="s2")
    assert not store.put_aside(session, aside), "it has not begun"
    store.shell_started(session, "s2", "make", False)
    assert store.put_aside(session, aside)
    store.append(session, answer("c1"))
    assert [m.role for m in store.messages(session)] == ["user", "assistant", "tool"]
    store.place(session, aside.id)
    store.place(session, aside.id)
    assert store.messages(session)[-1] == aside
    assert (store.get(session).messages, store.get(session).turns) == (4, 1)
    recovered = store.recover(session)
    assert [m.origin for m in recovered] == ["", "", "", "shell", "shell"]
    assert store.messages(session) == recovered


def test_a_command_that_a_crash_cut_off_is_told_of_with_its_words(store):
    session = filled(store, user("go"), asks("c1", name="run_command"))
    store.shell_started(session, "s1", "make 安装", False)
    store.shell_started(session, "s2", "secret thing", True)
    store.shell_started(session, "s3", "still runs", False)
    recovered = store.recover(session, running=["s3"])
    assert [m.role for m in recovered] == ["user", "assistant", "tool", "user", "user"]
    cut, private = recovered[3].shell, recovered[4].shell
    assert (cut.command, cut.private, cut.result.effect, cut.result.ok) == ("make 安装", False, "unknown", False)
    assert (private.command, private.private) == ("secret thing", True)
    assert store.recover(session, running=["s3"]) == recovered, "told once"
    assert store.recover(session)[-1].shell.command == "still runs"


def test_a_command_does_not_begin_a_turn(store):
    session = filled(store, user("go"), Message("assistant", "done"), ran())
    assert store.get(session).turns == 1
    store.undo(session)
    assert store.messages(session) == []


def test_a_shell_message_comes_back_from_json_equal():
    message = ran("out\n", private=True)
    assert messages.from_json(messages.to_json(message)) == message
    assert not message.is_empty
