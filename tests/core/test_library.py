"""agent_core without any face of ours: the page that shows how is run as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.fakes.model_server import ModelServer, Reply

ROOT = Path(__file__).parents[2]


def test_the_example_of_the_page_runs_a_turn_and_answers_its_question(tmp_path):
    page = (ROOT / "docs/library.md").read_text("utf-8")
    _, _, rest = page.partition("## A turn\n\n")
    example = textwrap.dedent(rest.partition("\n\nIt finds config")[0])
    assert "QuestionAsked" in example
    work = tmp_path / "work"
    work.mkdir()
    replies = [
        Reply(calls=[("write_file", {"path": "hello.txt", "content": "hello\n"})]),
        Reply(calls=[("run_command", {"command": "touch never"})]),
        Reply(text="It is there."),
    ]
    with ModelServer(replies) as server:
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path / "home"),
            "NANOHERMES_BASE_URL": server.base_url,
            "NANOHERMES_MODEL": "test-model",
        }
        ran = subprocess.run(
            [sys.executable, "-c", example], cwd=work, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        asked = [request["messages"][-1]["content"] for request in server.requests]
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "It is there.\n[completed, 3 steps]\n"
    assert (work / "hello.txt").read_text() == "hello\n"
    assert not (work / "never").exists()
    assert "refused" in asked[2].lower(), "what the example does not allow was not done"
