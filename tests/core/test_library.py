"""agent_core without any face of ours: the page that shows how is run as it stands."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tests.fakes.model_server import ModelServer, Reply

PAGE = Path(__file__).parents[2] / "docs" / "library.md"


def test_the_example_of_the_page_runs_a_turn_and_answers_its_questions(tmp_path, monkeypatch, capsys):
    _, _, rest = PAGE.read_text("utf-8").partition("## A turn\n\n")
    example = textwrap.dedent(rest.partition("\n\nIt finds config")[0])
    assert "QuestionAsked" in example
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    replies = [
        Reply(calls=[("write_file", {"path": "hello.txt", "content": "hello\n"})]),
        Reply(calls=[("run_command", {"command": "touch never"})]),
        Reply(text="It is there."),
    ]
    with ModelServer(replies) as server:
        monkeypatch.delenv("NANOHERMES_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("NANOHERMES_BASE_URL", server.base_url)
        monkeypatch.setenv("NANOHERMES_MODEL", "test-model")
        exec(compile(example, str(PAGE), "exec"), {})
        asked = [request["messages"][-1]["content"] for request in server.requests]
    assert capsys.readouterr().out == "It is there.\n[completed, 3 steps]\n"
    assert (work / "hello.txt").read_text() == "hello\n"
    assert not (work / "never").exists()
    assert "refused" in asked[2].lower(), "what the example does not allow was not done"
