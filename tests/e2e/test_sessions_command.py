"""`nanoherm-tui sessions ...` as a shell and a script use it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from agent_core import limits, names
from agent_core.messages import Message, ShellRun, ToolResult, shell, user
from agent_core.store.sessions import Store
from nanoherm_tui import subcommands
from nanoherm_tui.subcommands import sessions
from nanoherm_tui.text import width
from tests.e2e import warm
from tests.e2e.screen import ROOT, home_env

KEY = "hunter2-correct-horse-battery"


@pytest.fixture
def stored(home, workspace):
    """Two sessions, one of this folder; gives their ids."""
    store = Store.open(home / ".nanohermes" / "state.db")
    first = store.create(str(workspace), title="修复 parse_date 时区").id
    store.append(first, user("parse_date 丢掉了时区\x1b[31m 红"))
    store.append(first, Message("assistant", f"It keeps the offset now; the pass is {KEY}."))
    store.append(first, shell(ShellRun("cat diary", ToolResult("s", "shell", "dear diary"), private=True)))
    second = store.create("/elsewhere", title="Draft release text").id
    store.append(second, user("write about the offset"))
    store.close()
    return first, second


def run(home, workspace, *arguments, **more):
    env = {**os.environ, "PYTHONPATH": str(ROOT), **home_env(home), **more}
    return warm.run([sys.executable, "-m", "nanoherm_tui", *arguments], cwd=workspace, env=env)


def test_sessions_are_listed_in_columns_and_for_scripts(home, workspace, stored):
    done = run(home, workspace, "sessions", "list")
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["ID", "USED", "MESSAGES", "TITLE", "FOLDER"]
    assert [row[:8] for row in rows] == [stored[1][:8], stored[0][:8]]
    at = head.index("FOLDER")
    assert [width(row[: row.rindex("/elsewhere")]) for row in rows[:1]] == [at]
    assert width(rows[1].split("~")[0].split("/")[0]) == at
    listed = json.loads(run(home, workspace, "sessions", "list", "--here", "--json").stdout)
    assert [(one["id"], one["title"], one["messages"]) for one in listed] == [(stored[0], "修复 parse_date 时区", 3)]


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_list_fits_the_terminal_whatever_titles_and_folders_are(home, workspace, stored, columns):
    store = Store.open(home / ".nanohermes" / "state.db")
    for title in (
        "很长的标题" * 20,
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 一家人",
        "a" * 300,
        "",
        "x\x1b[31m\u202ey",
    ):
        store.append(store.create("/很深的目录/" + "d" * 60 + "/项目", title=title).id, user("hi"))
    store.close()
    rows = run(home, workspace, "sessions", "list", COLUMNS=str(columns)).stdout.splitlines()
    assert len(rows) == 8
    at = rows[0].index("FOLDER")
    assert max(map(width, rows)) <= columns
    for row in rows[1:]:
        cells = [width(row[:end]) for end in range(len(row) + 1)]
        assert row[cells.index(at) - 2 : cells.index(at)] == "  ", "each folder begins in its column"
    assert sum(row.endswith("/项目") for row in rows) == 5, "of a folder its last part is kept"
    assert any("\U0001f468\u200d\U0001f469" in row for row in rows)


def test_a_search_tells_session_speaker_and_passage_and_keeps_keys(home, workspace, stored):
    done = run(home, workspace, "sessions", "search", "offset", APP_PASSWORD=KEY)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("offset") == 2
    assert KEY not in done.stdout
    assert f"{stored[0][:8]}  " in done.stdout
    assert "assistant     It keeps the offset now" in done.stdout
    found = json.loads(run(home, workspace, "sessions", "search", "--json", "时区", "parse").stdout)
    assert {hit["speaker"] for hit in found} == {"user", "title"}
    assert all(hit["session"]["id"] == stored[0] for hit in found)
    hit = next(hit for hit in found if hit["speaker"] == "user")
    assert [hit["snippet"][start:end] for start, end in hit["marks"]] == ["parse", "时区"]
    nothing = run(home, workspace, "sessions", "search", "diary")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "no message has all of these words" in nothing.stderr


def test_reading_works_while_another_program_holds_the_write_lock(home, workspace, stored):
    other = sqlite3.connect(home / ".nanohermes" / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        for command in (["list"], ["show", stored[1]], ["search", "offset"], ["check"], ["disk"]):
            done = run(home, workspace, "sessions", *command)
            assert (done.returncode, done.stderr) == (0, ""), command
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_changing_behind_a_program_that_keeps_the_lock_asks_to_try_again_later(home, stored, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(limits, "WRITE_BUDGET", 0.2)
    monkeypatch.setattr(limits, "SQLITE_BUSY", 0.1)
    other = sqlite3.connect(home / ".nanohermes" / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert sessions.main(["delete", stored[0]]) == names.EXIT_RETRY_LATER
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert "was held by another program" in capsys.readouterr().err
    assert sessions.main(["delete", stored[0]]) == names.EXIT_OK


def test_a_conversation_is_shown_exported_and_imported(home, workspace, stored):
    shown = run(home, workspace, "sessions", "show", "draft").stdout
    assert shown.startswith("# Draft release text\n")
    assert "\x1b" not in run(home, workspace, "sessions", "show", stored[0][:6]).stdout
    for name, begins in (("a.html", "<!DOCTYPE"), ("a.md", "# "), ("a.json", "{"), ("a.nano.json", "[")):
        assert run(home, workspace, "sessions", "export", stored[0], name).returncode == 0
        assert (workspace / name).read_text().startswith(begins)
    again = run(home, workspace, "sessions", "export", stored[0], "a.md")
    assert again.returncode == 1
    assert "a.md" in again.stderr
    piped = run(home, workspace, "sessions", "export", stored[0], "--format", "nanohermes").stdout
    assert [message["role"] for message in json.loads(piped)] == ["user", "assistant"]
    (workspace / "cut.jsonl").write_bytes(b'{"role": "user", "content": "hello"}\n{"role": "user", "con')
    done = run(home, workspace, "sessions", "import", "a.json", "cut.jsonl", "missing.json")
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first.endswith("imported: 修复 parse_date 时区, 3 messages")
    assert second.endswith("imported: cut, 1 message, lost as they could not be read: 1")
    assert "missing.json cannot be read" in done.stderr
    (told,) = json.loads(run(home, workspace, "sessions", "import", "--json", "a.json").stdout)
    assert (told["new"], told["id"][:8], told["workspace"]) == (False, first[:8], str(workspace))


def test_a_session_is_deleted_and_brought_back(home, workspace, stored):
    assert run(home, workspace, "sessions", "delete", "draft release").stdout.startswith(stored[1])
    assert stored[1][:8] not in run(home, workspace, "sessions", "list").stdout
    missing = run(home, workspace, "sessions", "delete", "draft release")
    assert missing.returncode == 1
    assert "no session" in missing.stderr
    assert run(home, workspace, "sessions", "restore", stored[1]).returncode == 0
    assert stored[1][:8] in run(home, workspace, "sessions", "list").stdout


def test_check_names_the_damage_and_repairs_it(home, workspace, stored):
    sound = run(home, workspace, "sessions", "check")
    assert (sound.returncode, sound.stdout.splitlines()[-1]) == (0, "Nothing is wrong.")
    database = home / ".nanohermes" / "state.db"
    with closing(sqlite3.connect(database)) as c, c:
        c.execute("UPDATE messages SET body = 'x' WHERE session_id = ?", (stored[1],))
    c.close()
    broken = run(home, workspace, "sessions", "check")
    assert broken.returncode == 1
    assert "unreadable" in broken.stdout
    assert stored[1][:8] in broken.stdout
    assert "check --repair" in broken.stdout
    mended = json.loads(run(home, workspace, "sessions", "check", "--repair", "--json").stdout)
    assert mended["sound"]
    assert len(mended["done"]) == 2
    assert list(database.parent.glob("state.db.before-repair-*"))
    assert run(home, workspace, "sessions", "check").returncode == 0
    database.write_bytes(b"\xff" * 4096 + database.read_bytes()[4096:])
    assert run(home, workspace, "sessions", "check").returncode == 1
    assert run(home, workspace, "sessions", "check", "--repair").returncode == 0
    assert stored[0][:8] in run(home, workspace, "sessions", "list").stdout


def test_the_command_is_in_the_help_and_a_message_of_that_word_stays_one(home, workspace):
    told = run(home, workspace, "--help").stdout
    assert all(name in told and words in told for name, words in subcommands.NAMES.items())
    words = run(home, workspace, "sessions", "--help").stdout
    assert all(name in words for name in ("list", "show", "search", "export", "import", "delete", "check", "disk"))
    assert run(home, workspace, "sessions").returncode == 2
    assert run(home, workspace, "sessions", "fly").returncode == 2
    message = run(home, workspace, "--demo", "-p", "--", "sessions")
    assert message.returncode == 0
    assert message.stdout


def test_it_loads_neither_the_screen_nor_the_network(home, workspace, stored):
    script = (
        "import sys; from nanoherm_tui.cli import main; main(['sessions', 'list']);"
        "main(['sessions', 'search', 'offset']);"
        "print(sorted({'textual', 'httpx', 'jieba', 'asyncio'} & set(sys.modules)))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), **home_env(home)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=workspace, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
