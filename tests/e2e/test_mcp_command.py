"""`nanoherm-tui mcp ...` as a shell and a script use it, with real servers."""

from __future__ import annotations

import json
import sys

from agent_core import names
from tests.core.mcp_support import BAD
from tests.e2e.test_sessions_command import run

KEY = "hunter2-correct-horse-battery"


def test_servers_are_added_listed_tried_and_taken_out(home, workspace):
    config = home / ".nanohermes" / "config.yaml"
    before = config.read_text() if config.exists() else ""
    added = run(home, workspace, "mcp", "add", "文件", "--env", f"A_TOKEN={KEY}", "--", sys.executable, BAD, "banner")
    assert (added.returncode, added.stdout) == (names.EXIT_OK, "")
    assert "Try it: nanoherm-tui mcp test 文件" in added.stderr
    wrong = run(home, workspace, "mcp", "add", "typo", "--url", "example.org/mcp")
    assert wrong.returncode == names.EXIT_OK
    assert "cannot be used yet" in wrong.stderr
    assert "the MCP server typo has a url that is none of http or https." in wrong.stderr
    again = run(home, workspace, "mcp", "add", "文件", "--", "other")
    assert (again.returncode, "there already" in again.stderr) == (names.EXIT_FAILED, True)

    listed = run(home, workspace, "mcp", "list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["文件", "typo"]
    assert "none of http or https" in listed.stderr
    rows = json.loads(run(home, workspace, "mcp", "list", "--json").stdout)
    assert [(row["name"], row["state"]) for row in rows] == [("文件", "idle"), ("typo", "invalid")]
    assert KEY not in listed.stdout + listed.stderr + json.dumps(rows)

    tried = run(home, workspace, "mcp", "test", "文件", "typo", "--json")
    found = json.loads(tried.stdout)
    assert (tried.returncode, [one["ok"] for one in found]) == (names.EXIT_FAILED, [True, False])
    assert "echo" in found[0]["tools"]
    assert found[0]["noise"]
    run(home, workspace, "mcp", "add", "loop", "--", sys.executable, BAD, "loop")
    endless = run(home, workspace, "mcp", "test", "loop")
    assert (endless.returncode, endless.stdout.count("  ! ")) == (names.EXIT_OK, 1)

    for name in ("文件", "typo", "loop"):
        assert run(home, workspace, "mcp", "remove", name).returncode == names.EXIT_OK
    assert run(home, workspace, "mcp", "remove", "typo").returncode == names.EXIT_FAILED
    assert [line for line in config.read_text().splitlines() if "mcp" not in line] == before.splitlines()


def test_what_is_not_said_rightly_is_told_and_nothing_is_written(home, workspace):
    for arguments in (
        ["add", "a"], ["add", "a", "--url", "http://h", "--", "b"], ["add", "a", "--env", "X", "--", "b"], ["bogus"],
    ):  # fmt: skip
        assert run(home, workspace, "mcp", *arguments).returncode == names.EXIT_USAGE
    assert run(home, workspace, "mcp", "add", "a.b", "--", "x").returncode == names.EXIT_FAILED
    assert run(home, workspace, "mcp", "test", "nobody").returncode == names.EXIT_FAILED
    alone = run(home, workspace, "mcp", "login", "nobody")
    assert (alone.returncode, "person at a terminal" in alone.stderr) == (names.EXIT_FAILED, True)
    assert run(home, workspace, "mcp", "list").stderr.startswith("nanoherm-tui: no MCP servers.")
