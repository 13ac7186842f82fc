"""The record of decisions: nothing acts before it is written down, and it lives as long as its session."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.errors import StoreError
from agent_core.intents import SetMode
from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.ports.asking import Decided
from agent_core.store.audit import for_the_record, is_worth_a_row
from agent_core.store.check import Where, examine, repair
from agent_core.store.exchange import export
from agent_core.store.imports import read_file
from agent_core.store.salvage import salvage
from agent_core.store.sessions import Store
from tests.rows import each_row

ROOT = Path(__file__).parents[2]
RUN = Decided("command", "make test", "allow", "mode ask", "person", "/w", "workspace-write", "c1", 1_000.0)


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "state.db")
    yield opened
    opened.close()


def asked(call_id="c1"):
    return Message("assistant", "", tool_calls=(ToolCall(call_id, "run_command", {"command": "make test"}),))


def rows(store, session=None):
    return [entry.decided for entry in store.audit.list(session)]


def test_what_was_decided_comes_back_as_it_was_the_newest_first(store):
    session = store.create("/w").id
    refused = replace(RUN, what="git push", verdict="refuse", by="timeout", when=900.0)  # a clock was set back
    trust = Decided("trust", "/w: hooks.json", "allow", "trust", "person")
    store.audit.add(session, "/w", RUN)
    store.audit.add(session, "/w", refused)
    store.audit.add("", "/w", trust)
    found = store.audit.list()
    assert [entry.decided for entry in found] == [trust, refused, RUN]
    assert [(entry.session_id, entry.workspace) for entry in found] == [("", "/w"), (session, "/w"), (session, "/w")]
    assert sorted(entry.id for entry in found) == [entry.id for entry in reversed(found)]


@pytest.mark.parametrize(
    ("asked_for", "found"),
    [
        ({}, [5, 4, 3, 2, 1]),
        ({"limit": 2}, [5, 4]),
        ({"limit": 2, "before": 4}, [3, 2]),
        ({"limit": None}, [5, 4, 3, 2, 1]),
        ({"session_id": "b"}, [5, 4]),
        ({"kind": "edit"}, [4, 2]),
        ({"verdict": "refuse"}, [5, 2]),
        ({"kind": "edit", "verdict": "refuse", "session_id": "a"}, [2]),
        ({"since": 3.5}, [5, 4]),
        ({"session_id": "nobody"}, []),
        ({"session_id": "a' OR 1=1 --"}, []),
    ],
)
def test_it_is_looked_through_by_session_kind_verdict_and_time(store, asked_for, found):
    for number, (session, kind, verdict) in enumerate(
        [("a", "command", "allow"), ("a", "edit", "refuse"), ("a", "grant", "allow"), ("b", "edit", "allow"),
         ("b", "command", "refuse")], 1,
    ):  # fmt: skip
        store.audit.add(session, "/w", Decided(kind, f"{number}", verdict, "rule", "rules", when=float(number)))
    assert [int(entry.decided.what) for entry in store.audit.list(**asked_for)] == found


CHILD = """
import os, signal, sys
from agent_core.messages import Message, ToolCall
from agent_core.ports.asking import Decided
from agent_core.store.sessions import Store
store = Store.open(__import__("pathlib").Path(sys.argv[1]))
session = store.create("/w").id
store.append(session, Message("assistant", "", tool_calls=(ToolCall("c1", "run_command", {"command": "make"}),)))
store.audit.stage(session, "/w", Decided("command", "make", "allow", "mode ask", "person", call_id="c1"))
if sys.argv[2] == "before":
    store.database.at_write = lambda moment: moment == "before" and os.kill(os.getpid(), signal.SIGKILL)
store.effect_started(session, "c1", "run_command", "command")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("killed", "kept"), [("before", 0), ("after", 1)])
def test_a_call_has_begun_exactly_when_its_decision_is_on_disk(tmp_path, killed, kept):
    path = tmp_path / "state.db"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", CHILD, path, killed], env=env, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    store = Store.open(path)
    assert len(rows(store)) == kept
    with store.database.read() as c:
        assert c.execute("SELECT count(*) FROM open_effects").fetchone() == (kept,)
    store.close()


def test_a_call_that_never_began_is_in_the_record_with_its_result_and_no_decision_is_there_twice(store):
    session = store.create("/w").id
    store.append(session, asked("c1"))
    store.audit.stage(session, "/w", replace(RUN, verdict="refuse", by="unattended"))
    assert rows(store) == []
    store.append(session, tool(ToolResult("c1", "run_command", "refused", ok=False)))
    store.append(session, asked("c2"))
    store.audit.stage(session, "/w", replace(RUN, call_id="c2"))
    store.effect_started(session, "c2", "run_command", "command")
    store.append(session, tool(ToolResult("c2", "run_command", "done")))
    assert [(decided.call_id, decided.verdict) for decided in rows(store, session)] == [
        ("c2", "allow"),
        ("c1", "refuse"),
    ]


def test_a_start_that_could_not_be_stored_leaves_the_decision_for_its_result(store):
    session = store.create("/w").id
    store.append(session, asked())
    store.audit.stage(session, "/w", RUN)

    def given_up():
        raise StoreError("abandoned", "given up")

    with pytest.raises(StoreError, match="given up"):
        store.effect_started(session, "c1", "run_command", "command", given_up)
    assert rows(store) == []
    store.append(session, tool(ToolResult("c1", "run_command", "[interrupted]", ok=False)))
    assert rows(store) == [RUN]


@each_row(
    ("decided", "worth"),
    [
        (Decided("read", "a.py", "allow", "read", "rules"), False),
        (Decided("tool", "todo_write", "allow", "", "rules"), False),
        (Decided("read", ".env", "allow", "path: secret", "person"), True),
        (Decided("read", ".env", "refuse", "path: secret", "rules"), True),
        (Decided("command", "ls", "allow", "trusted", "rules"), True),
        (Decided("edit", "a.py", "allow", "mode auto", "rules"), True),
        (Decided("tool", "web_fetch", "refuse", "url: private", "rules"), True),
        (Decided("tool", "mcp_x", "allow", "granted", "grant"), True),
    ],
)
def test_what_only_reads_and_nobody_stopped_is_no_decision(decided, worth):
    assert is_worth_a_row(decided) is worth


SECRET = "sk-ant-api03-" + "Ab3" * 20


@each_row(
    ("what", "kept"),
    [
        ("make test", "make test"),
        ("printf 'a\\n'\nls", "printf 'a\\n'\nls"),
        ("echo \x1b[2K\rls", "echo \\x1b[2K\\rls"),
        ("echo \u202egnp.exe", "echo \\u202egnp.exe"),
        ("cat 文件.txt", "cat 文件.txt"),
        ("echo \ud800", "echo \\ud800"),
        (f"curl -H 'x: {SECRET}' https://example.org", "curl -H 'x: [REDACTED]' https://example.org"),
        (f"echo {SECRET[:20]}\x1b[0m{SECRET[20:]}", "echo [REDACTED]"),
    ],
)
def test_the_record_holds_no_keys_and_nothing_that_acts_on_a_terminal(what, kept):
    redact = lambda text: text.replace(SECRET, "[REDACTED]")  # noqa: E731
    assert for_the_record(replace(RUN, what=what), redact).what == kept


def test_a_very_long_command_is_cut_and_says_so(store):
    decided = for_the_record(replace(RUN, what="x" * 1_000_000), lambda text: text)
    assert decided.what.startswith("x" * limits.DECISION_CHARS)
    assert decided.what.endswith(f"… ({1_000_000 - limits.DECISION_CHARS:,} more characters)")
    store.audit.add("", "", decided)
    assert rows(store) == [decided]


# -- how long it lives ------------------------------------------------------------------------------------------------


def test_it_goes_with_its_session_for_good_and_what_belongs_to_none_after_its_time(store):
    now = time.time()
    kept, gone = store.create("/w").id, store.create("/w").id
    for session, when, what in [(kept, 0.0, "kept"), (gone, now, "gone"), ("", 0.0, "old"), ("", now, "young"),
                                ("never-stored", 0.0, "old too")]:  # fmt: skip
        store.audit.add(session, "/w", replace(RUN, what=what, when=when))
    store.delete(gone)
    store.purge(0.0, now - 90 * 86_400.0)
    assert {decided.what for decided in rows(store)} == {"kept", "gone", "young"}  # it can still be restored
    store.purge(time.time() + 1, now - 90 * 86_400.0)
    assert {decided.what for decided in rows(store)} == {"kept", "young"}


def test_emptying_a_session_leaves_its_record_and_a_fork_begins_its_own(store):
    session = store.create("/w").id
    store.append(session, user("hi"))
    store.audit.add(session, "/w", RUN)
    fork = store.fork(session).id
    store.reset(session)
    assert rows(store, session) == [RUN]
    assert rows(store, fork) == []


def test_of_a_damaged_database_the_record_comes_back_too(tmp_path):
    home = Where(tmp_path / "state.db", tmp_path / "search.db")
    store = Store.open(home.state)
    session = store.create("/w").id
    store.append(session, user("hi"))
    store.audit.add(session, "/w", RUN)
    store.audit.add("", "/w", replace(RUN, what="of nobody"))
    with store.database.read() as c:
        (page,) = c.execute("SELECT rootpage FROM sqlite_master WHERE name = 'decisions_by_time'").fetchone()
        (size,) = c.execute("PRAGMA page_size").fetchone()
    store.close()
    with closing(sqlite3.connect(home.state)) as c, c:
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    c.close()
    with home.state.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    assert not examine(home).is_sound
    assert repair(home).report.is_sound
    store = Store.open(home.state)
    assert {decided.what for decided in rows(store)} == {"make test", "of nobody"}
    store.close()


def test_a_record_that_is_brought_back_replaces_none_that_was_made_since(store, tmp_path):
    old = Store.open(tmp_path / "old.db")
    session = old.create("/w").id
    old.append(session, user("hi"))
    old.audit.add(session, "/w", RUN)
    old.close()
    store.audit.add("", "/w", replace(RUN, what="made since"))
    assert salvage(tmp_path / "old.db", store.database).sessions == 1
    assert {decided.what for decided in rows(store)} == {"make test", "made since"}


def test_an_export_as_json_tells_what_was_decided_and_an_import_does_not_believe_it(store, tmp_path):
    session = store.create("/w", title="t").id
    store.append(session, user("hi"))
    store.audit.add(session, "/w", RUN)
    store.audit.add(session, "/w", replace(RUN, what="second"))
    row, conversation = store.get(session), store.messages(session)
    text = export("json", row, conversation, store.audit.list(session, None))
    told = json.loads(text)["decisions"]
    assert [one["what"] for one in told] == ["make test", "second"]
    assert told[0]["rule"] == "mode ask"
    file = tmp_path / "s.json"
    file.write_text(text)
    (incoming,) = read_file(file, lambda text: text)
    stored, _ = store.adopt(incoming.source, replace(row, id="f" * 32), incoming.messages)
    assert rows(store, stored.id) == []


def test_what_a_person_accepts_for_good_is_on_record(tmp_path):
    workspace = tmp_path / "w"
    workspace.mkdir()
    host = Host(Launch(workspace, {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, {}, demo=True))
    try:
        host.walls.accept_none()
        host.walls.accept_none(False)
        session = host.new()
        session.send(SetMode("auto", confirmed=True))
        end = time.monotonic() + 10
        while len(host.decisions()) < (3 if "auto" in session.modes else 2) and time.monotonic() < end:
            time.sleep(0.01)
        found = [(entry.decided.what, entry.decided.verdict, entry.decided.by) for entry in host.decisions()]
        assert found[-2:] == [("no sandbox", "refuse", "person"), ("no sandbox", "allow", "person")]
        assert found[:-2] == ([("auto", "allow", "person")] if "auto" in session.modes else [])
    finally:
        host.close()
