"""`nanoherm-tui audit` as a shell and a script use it."""

from __future__ import annotations

import json
import time

import pytest

from agent_core import names
from agent_core.ports.asking import Decided
from agent_core.store.sessions import Store
from nanoherm_tui.text import width
from tests.e2e.test_sessions_command import KEY, run


@pytest.fixture
def session(home, workspace):
    """The id of a session with four decisions; a fifth belongs to none."""
    store = Store.open(home / ".nanohermes" / "state.db")
    found = store.create(str(workspace), title="修复").id
    now = time.time()
    ws = str(workspace)
    for session, decided in [
        ("", Decided("trust", f"{ws}: hooks.json", "allow", "trust", "person", when=now - 40 * 86_400)),
        (found, Decided("edit", "src/日期.py", "allow", "mode auto", "rules", when=now - 3 * 86_400)),
        (found, Decided("command", "git push\norigin \x1b[31mmain", "refuse", "leaves the sandbox", "timeout", ws,
                        "workspace-write, network", "c1", now - 60)),
        (found, Decided("command", f"echo {KEY} " + "很长" * 200, "allow", "dangerous: " + "x" * 90, "person", ws,
                        "no sandbox", "c2", now)),
    ]:  # fmt: skip
        store.audit.add(session, ws, decided)
    store.close()
    return found


def test_decisions_are_listed_the_newest_first_in_columns(home, workspace, session):
    done = run(home, workspace, "audit", COLUMNS="0")
    assert (done.returncode, done.stderr) == (names.EXIT_OK, "")
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["WHEN", "SESSION", "DECISION", "BY", "RULE", "SANDBOX", "WHAT"]
    assert [row.split("  ")[0] != "" for row in rows] == [True] * 4
    at = head.index("DECISION")
    assert [row[at:].split("  ")[0] for row in rows] == ["allow command", "refuse command", "allow edit", "allow trust"]
    assert "workspace-write, network" in rows[1]
    assert session[:8] in rows[1]
    assert session[:8] not in rows[3]
    assert "很长" * 200 in rows[0]


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_rows_fit_the_terminal_and_hold_neither_keys_nor_controls(home, workspace, session, columns):
    done = run(home, workspace, "audit", COLUMNS=str(columns), SOME_TOKEN=KEY)
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert max(map(width, lines)) <= max(columns, 69)
    assert KEY not in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--refused"], 1),
        (["--kind", "command"], 2),
        (["--since", "2d"], 2),
        (["--since", "1w"], 3),
        (["--since", "2000-01-31"], 4),
        (["--since", "2000-01-31T10:00"], 4),
        (["-n", "1"], 1),
        (["--session", "修复"], 3),
        (["--session", "修复", "--kind", "edit", "--refused"], 0),
    ],
)
def test_scripts_get_one_object_a_line_of_what_they_ask_for(home, workspace, session, arguments, found):
    done = run(home, workspace, "audit", "--json", *arguments)
    assert (done.returncode, done.stderr) == (names.EXIT_OK, "")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == found
    assert all({"what", "rule", "by", "time", "verdict", "kind", "session", "sandbox"} <= one.keys() for one in told)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--since", "yesterday"], names.EXIT_USAGE, "write a date such as"),
        (["--since", "999999w"], names.EXIT_OK, ""),
        (["-n", "0"], names.EXIT_USAGE, "must be 1 or more"),
        (["--session", "no such"], names.EXIT_FAILED, "There is no session"),
        (["--kind", "read"], names.EXIT_OK, "no decisions that fit"),
    ],
)
def test_what_cannot_be_answered_is_said(home, workspace, session, arguments, code, words):
    done = run(home, workspace, "audit", *arguments)
    assert done.returncode == code
    assert words in done.stderr
