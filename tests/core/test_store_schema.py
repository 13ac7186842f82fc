"""The schema: names that others know, and the way from every earlier version to it, also through a kill."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agent_core import messages
from agent_core.messages import Message, ToolCall, ToolResult, Usage, tool, user
from agent_core.store import db
from agent_core.store.db import APPLICATION_ID, latest_version
from agent_core.store.sessions import Store
from agent_core.store.usage import Booking
from tests import prepared_store

FOLDER = Path(db.__file__).parent / "migrations"
SCRIPTS = {int(file.name[:4]): file.read_text("utf-8") for file in sorted(FOLDER.glob("*.sql"))}

SESSION_COLUMNS = """model model_config system_prompt parent_session_id started_at ended_at end_reason message_count
tool_call_count input_tokens output_tokens estimated_cost_usd actual_cost_usd cost_status pricing_version session_key
chat_id chat_type thread_id origin_json cwd git_branch git_repo_root title source user_id archived"""
MESSAGE_COLUMNS = """role content tool_call_id tool_calls tool_name finish_reason reasoning effect_disposition
platform_message_id compacted api_content message_uid timestamp token_count"""
TABLES = """sessions messages session_model_usage state_meta gateway_routing compression_locks async_delegations
delivery_obligations runtime_epoch session_admissions session_turn_leases worker_executions worker_receipts
schema_version"""
LEASE_COLUMNS = "conversation_id holder acquired_at expires_at"


@pytest.fixture(autouse=True)
def databases_are_made_anew():
    with prepared_store.made_anew():
        yield


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.db"


def columns(c, table) -> set[str]:
    return {row[1] for row in c.execute(f"PRAGMA table_xinfo({table})")}


def test_every_name_of_the_specification_is_there(path):
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as c, c:
        tables = {name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
        assert set(TABLES.split()) <= tables
        assert set(SESSION_COLUMNS.split()) <= columns(c, "sessions")
        assert set(MESSAGE_COLUMNS.split()) <= columns(c, "messages")
        assert set(LEASE_COLUMNS.split()) == columns(c, "session_turn_leases")
        assert c.execute("SELECT version FROM schema_version").fetchall() == [(latest_version(),)]
    c.close()


def test_the_names_of_others_hold_what_ours_hold(path):
    store = Store.open(path)
    session = store.create("/w").id
    put = [
        user("修复"),
        Message("assistant", "I look.", tool_calls=(ToolCall("c1", "grep", {"pattern": "x"}),), reasoning="hm",
                finish="tool_calls", usage=Usage(9, 3, 12)),
        tool(ToolResult("c1", "grep", "found", effect="none")),
    ]  # fmt: skip
    for message in put:
        store.append(session, message)
    store.costs.book(session, Booking("m", Usage(9, 3, 12, 4, 1, 2), None))
    store.costs.book(session, Booking("n", Usage(1, None, None), None))
    store.views.set(session, [put[0].id], "compacted")
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE messages SET body = substr(body, 1, 30) WHERE uid = ?", (put[2].id,))
        rows = c.execute(f"SELECT {', '.join(MESSAGE_COLUMNS.split())} FROM messages ORDER BY position").fetchall()
        sums = c.execute(
            "SELECT input_tokens, output_tokens, cache_read_tokens, reasoning_tokens, cache_write_tokens, "
            "tool_call_count, cwd, archived FROM sessions"
        ).fetchone()
    c.close()
    found = [dict(zip(MESSAGE_COLUMNS.split(), row, strict=True)) for row in rows]
    assert found[0]["content"] == "修复"
    assert [row["message_uid"] for row in found] == [message.id for message in put]
    assert [row["timestamp"] for row in found] == [message.created for message in put]
    assert [row["compacted"] for row in found] == [1, 0, 0]
    assert (found[1]["reasoning"], found[1]["finish_reason"], found[1]["token_count"]) == ("hm", "tool_calls", 3)
    assert json.loads(found[1]["tool_calls"])[0]["name"] == "grep"
    assert found[2]["content"] is None, "a spoiled body has no columns, and stops nobody"
    assert sums == (10, 3, 4, 1, 2, 1, "/w", 0)
    store.close()


# -- earlier versions ---------------------------------------------------------------------------------------------


def made_by(version: int, path: Path, count: int = 50) -> list[Message]:
    """A database as a program of `version` left it, with what it could hold; returns its conversation."""
    put = []
    for n in range(count // 5):
        call = ToolCall(f"c{n}", "run_command", {"command": "make"})
        put += [
            Message("user", f"ask {n} 修复", id=f"u{n}", created=1.0),
            Message("assistant", "", id=f"a{n}", created=1.0, tool_calls=(call,)),
            Message("tool", "made", id=f"t{n}", created=1.0, result=ToolResult(f"c{n}", "run_command", "made")),
            Message("assistant", "done", id=f"d{n}", created=1.0),
            Message("user", "", id=f"s{n}", created=1.0, origin="shell", shell=messages.ShellRun(
                "ls", ToolResult(f"s{n}", "shell", "a"))),
        ]  # fmt: skip
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("PRAGMA journal_mode = WAL")
        for number in range(1, version + 1):
            c.executescript(SCRIPTS[number])
        c.execute(f"PRAGMA user_version = {version}")
        c.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        c.execute(
            "INSERT INTO sessions (id, title, workspace, model, mode, created, updated, message_count, turn_count, "
            "todos) VALUES ('s', 'old 旧', '/w', 'm', 'plan', 1, 2, ?, ?, ?)",
            (len(put), count // 5, '[{"text": "a", "status": "pending"}]'),
        )
        for position, message in enumerate(put, 1):
            c.execute(
                "INSERT INTO messages (session_id, uid, position, role, origin, created, body) "
                "VALUES ('s', ?, ?, ?, ?, 1, ?)",
                (message.id, position, message.role, message.origin, json.dumps(messages.to_json(message))),
            )
        usage = "model_usage" if version < 3 else "session_model_usage"
        c.execute(f"INSERT INTO {usage} (session_id, model, requests, prompt_tokens) VALUES ('s', 'm', 2, 7)")
        c.execute(
            "INSERT INTO open_effects (session_id, call_id, name, kind, started) VALUES ('s', 'x', 'grep', 'read', 1)"
        )
        if version >= 2:
            c.execute("INSERT INTO drafts VALUES ('s', '/w', '1:x', 1, 'half a sentence')")
            c.execute("UPDATE sessions SET seen = 'u0'")
    c.close()
    return put


def check_all_there(path: Path, version: int, put: list[Message]) -> None:
    store = Store.open(path)
    assert store.warnings == ()
    row = store.get("s")
    assert (row.title, row.mode, row.messages, row.turns) == ("old 旧", "plan", len(put), len(put) // 5)
    assert (row.prompt_tokens, [u.model for u in store.costs.spent("s").models], row.parent) == (7, ["m"], "")
    assert store.messages("s") == put
    assert store.recover("s") == put
    assert [item.text for item in store.todos("s")] == ["a"]
    assert store.notes.draft("s", "/w") == ("half a sentence" if version >= 2 else "")
    store.append("s", user("it goes on"))
    assert store.undo("s") == 1
    assert store.redo("s") == 1
    assert store.messages("s")[-1].text == "it goes on"
    store.close()
    with closing(sqlite3.connect(path)) as c, c:
        assert c.execute("PRAGMA user_version").fetchone() == (latest_version(),)
        assert c.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert c.execute("SELECT tool_call_count FROM sessions").fetchone() == (len(put) // 5,)
    c.close()


@pytest.mark.parametrize("version", range(1, latest_version() + 1))
def test_a_database_of_each_version_is_brought_up_to_date_with_all_it_holds(path, version):
    put = made_by(version, path)
    check_all_there(path, version, put)


def test_what_was_used_before_days_were_kept_is_shared_out_over_the_days_of_the_answers(path):
    made_by(5, path, 5)
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE sessions SET run_seconds = 90, created = 0")
        c.execute("INSERT INTO sessions (id, workspace, created, updated) VALUES ('silent', '/w', 1, 5e8)")
        c.execute("UPDATE messages SET created = 3e8 WHERE uid = 'a0'")
        c.execute("UPDATE messages SET created = 4e8 WHERE uid = 'd0'")
        c.execute(
            "INSERT INTO messages (session_id, uid, position, role, created, body) "
            "VALUES ('s', 'late', 99, 'assistant', 4e8, '{nonsense'), ('s', 'odd', 100, 'assistant', 1e30, '{}')"
        )
        c.execute(
            "UPDATE session_model_usage SET requests = 5, completion_tokens = 3, estimated_cost_usd = 0.5, "
            "unpriced_requests = 1"
        )
        c.execute("INSERT INTO session_model_usage (session_id, model, requests) VALUES ('silent', 'm', 4)")
        days = {
            at: c.execute("SELECT date(?, 'unixepoch', 'localtime')", (at,)).fetchone()[0] for at in (3e8, 4e8, 5e8)
        }
        today = c.execute("SELECT date('now', 'localtime')").fetchone()[0]
    c.close()
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as c, c:
        rows = c.execute(
            "SELECT session_id, day, requests, prompt_tokens, completion_tokens, cached_tokens, estimated_cost_usd, "
            "unpriced_requests FROM session_day_usage ORDER BY session_id, day"
        ).fetchall()
        times = c.execute("SELECT day, run_seconds FROM session_day_time ORDER BY day").fetchall()
    c.close()
    assert rows == [
        ("s", days[3e8], 1, 1, 0, None, 0.125, 0),
        ("s", days[4e8], 2, 4, 2, None, 0.25, 0),
        ("s", today, 2, 2, 1, None, 0.125, 1),
        ("silent", days[5e8], 4, None, None, None, 0.0, 0),
    ]
    assert times == [(days[3e8], 22.5), (days[4e8], 45.0), (today, 22.5)]


def test_all_ways_lead_to_the_same_schema(tmp_path):
    def schema(path: Path) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(path)) as c, c:
            rows = c.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
        c.close()
        return [(name, re.sub(r"\s+", " ", sql)) for name, sql in rows]

    Store.open(tmp_path / "new.db").close()
    for version in range(1, latest_version()):
        made_by(version, tmp_path / f"{version}.db", 5)
        Store.open(tmp_path / f"{version}.db").close()
        assert schema(tmp_path / f"{version}.db") == schema(tmp_path / "new.db")


MIGRATE_AND_STOP = """
import os, signal, sys
from pathlib import Path
from agent_core.store import db

statements, stop_after, real = 0, int(sys.argv[2]), db._statements

def counted(script):
    global statements
    for statement in real(script):
        if statements == stop_after:
            print("in the middle", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        statements += 1
        yield statement

db._statements = counted
db.Database.open(Path(sys.argv[1])).close()
print("done", flush=True)
"""


@pytest.mark.parametrize(("version", "stop_after"), [(1, 1), (1, 30), (2, 3), (2, 20), (3, 0), (3, 25), (5, 5)])
def test_a_kill_in_the_middle_of_a_migration_leaves_the_old_version_whole(path, version, stop_after):
    put = made_by(version, path)
    child = subprocess.run(
        [sys.executable, "-c", MIGRATE_AND_STOP, str(path), str(stop_after)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (child.returncode, child.stdout) == (-signal.SIGKILL, "in the middle\n"), child.stderr
    with closing(sqlite3.connect(path)) as c, c:
        assert c.execute("PRAGMA user_version").fetchone() == (version,)
        assert c.execute("SELECT count(*) FROM messages").fetchone() == (len(put),)
        assert "parent_session_id" not in columns(c, "sessions") or version >= 3
    c.close()
    check_all_there(path, version, put)


def test_two_programs_that_migrate_at_once_do_it_once(path):
    put = made_by(1, path)
    script = (
        "import sys; from pathlib import Path; from agent_core.store.db import Database\n"
        "Database.open(Path(sys.argv[1]))"
    )
    children = [subprocess.Popen([sys.executable, "-c", script, str(path)]) for _ in range(4)]
    assert [child.wait(60) for child in children] == [0] * 4
    check_all_there(path, 1, put)
