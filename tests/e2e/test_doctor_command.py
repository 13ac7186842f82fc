"""`nanoherm-tui doctor` as a shell and a script use it."""

from __future__ import annotations

import json

import pytest

from agent_core import names
from nanoherm_tui.text import width
from tests.e2e.test_sessions_command import run
from tests.fakes.model_server import ModelServer, Reply

KEY = "sk-test-0123456789abcdefghij"


def test_all_is_told_in_rows_and_a_problem_is_the_exit_code(home, workspace):
    done = run(home, workspace, "doctor", "--offline", COLUMNS="80")
    assert (done.returncode, done.stderr) == (names.EXIT_FAILED, "")
    assert max(map(width, done.stdout.splitlines())) <= 80
    assert "fail  Model" in done.stdout
    assert "> Connect one with /setup" in done.stdout
    assert "1 problem" in done.stdout.splitlines()[-1]


def test_scripts_get_one_object_and_no_key(home, workspace):
    with ModelServer([Reply("hi")]) as server:
        done = run(
            home, workspace, "doctor", "--json",
            NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model", NANOHERMES_API_KEY=KEY,
        )  # fmt: skip
        assert server.requests == []
    told = json.loads(done.stdout)
    states = {check["id"]: check["state"] for check in told["checks"]}
    assert states["endpoint"] == states["key"] == "ok"
    assert told["ok"] is (done.returncode == names.EXIT_OK)
    assert all({"id", "title", "state", "text", "fix"} == check.keys() for check in told["checks"])
    assert KEY not in done.stdout + done.stderr
    assert not (home / ".nanohermes" / "state.db").exists()


@pytest.mark.parametrize("connected", [True, False])
def test_a_project_that_is_not_trusted_is_named_and_nothing_of_it_runs(home, workspace, tmp_path, connected):
    touched = tmp_path / "touched"
    (workspace / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"p": {"command": "touch", "args": [str(touched)]}}})
    )
    (workspace / ".nanohermes").mkdir()
    (workspace / ".nanohermes" / "hooks.json").write_text(
        json.dumps({"hooks": {"SessionStart": [{"command": f"touch {touched}"}]}})
    )
    more = {"OPENAI_API_KEY": KEY} if connected else {}
    done = run(home, workspace, "doctor", "--offline", COLUMNS="400", **more)
    assert "warn  This folder" in done.stdout
    assert "nanoherm-tui trust" in done.stdout
    assert not touched.exists()
    assert "\x1b" not in done.stdout
