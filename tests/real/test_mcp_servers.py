"""The client with servers that others have written, as their packages come.

They are not among the dependencies. In a folder of its own (`--mcp-servers`, else ~/.cache/mcp-bench), the first line
of which CI runs too:

    cp -r tests/real/servers FOLDER/js && npm ci --prefix FOLDER/js --ignore-scripts
    python3 -m venv FOLDER/py && FOLDER/py/bin/pip install mcp-server-git mcp-server-time mcp-server-fetch
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_core.cancel import CancelScope
from agent_core.llm.plain_schema import plain
from agent_core.mcp.client import Around, Client
from agent_core.mcp.schemas import for_model
from agent_core.mcp.words import Answered, ServerConfig, ServerFailure, ToolInfo
from tests.core.mcp_support import is_running, until
from tests.core.test_mcp_words import refused


@pytest.fixture
def server(request, tmp_path):
    """Makes a client of one of the servers; it is closed at the end, which it survives."""
    folder = Path(request.config.getoption("--mcp-servers")).expanduser()
    made = []

    def make(name: str, *args: str, elicit=None, **config) -> Client:
        program = next(
            (path for path in (folder / "js/node_modules/.bin" / name, folder / "py/bin" / name) if path.exists()), None
        )
        if program is None:
            pytest.skip(f"{name} is not installed in {folder}")
        around = Around(tmp_path, elicit=elicit, keep=lambda data, media_type: f"/kept/{len(data)}")
        made.append(Client(ServerConfig(name, command=str(program), args=args, **config), around))
        return made[-1]

    yield make
    for client in made:
        begun = time.monotonic()
        client.close()
        assert time.monotonic() - begun < 10


@pytest.fixture
def repository(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def call(client: Client, tool: str, **arguments):
    return client.call(ToolInfo(tool), arguments, CancelScope())


@pytest.mark.parametrize(
    ("name", "protocols"),
    [
        ("mcp-server-everything", ("auto",)),
        ("mcp-server-filesystem", ("auto",)),
        ("mcp-server-memory", ("auto",)),
        ("mcp-server-sequential-thinking", ("auto",)),
        ("mcp-server-git", ("auto", "modern")),
        pytest.param("mcp-server-time", ("auto", "modern"), marks=pytest.mark.long),  # made with what git's is
        pytest.param("mcp-server-fetch", ("auto", "modern"), marks=pytest.mark.long),
    ],
)
def test_a_server_is_connected_listed_and_called(server, repository, name, protocols):
    listed = []
    for protocol in protocols:
        client = server(name, *([str(repository)] if name.endswith("filesystem") else []), protocol=protocol)
        scope = CancelScope()
        info = client.connect(scope)
        assert info.protocol == ("2026-07-28" if protocol == "modern" else "2025-11-25")
        assert info.name
        tools = client.list_tools(scope)
        assert tools
        assert not client.warnings or name.endswith("everything"), "which has a tool that works only as a task"
        for tool in tools:
            schema = for_model(tool.schema)[0]
            assert refused(schema, strict=False) == [], tool.name
            assert refused(plain(schema), strict=True) == [], tool.name
        unknown = call(client, "no such tool")
        assert not unknown.ok
        assert "no such tool" in unknown.text
        client.list_resources(scope)
        client.list_templates(scope)
        client.list_prompts(scope)
        listed.append({tool.name for tool in tools})
    assert all(names == listed[0] for names in listed)


def test_files_are_written_and_read_by_a_server(server, repository):
    client = server("mcp-server-filesystem", str(repository))
    path = repository / "note.txt"
    assert call(client, "write_file", path=str(path), content="日本 é\n").ok
    assert path.read_text() == "日本 é\n"
    assert "日本 é" in call(client, "read_text_file", path=str(path)).text
    outside = call(client, "read_text_file", path="/etc/hostname")
    assert not outside.ok
    assert "denied" in outside.text.lower()


def test_what_a_server_knows_is_kept_by_it(server, repository):
    client = server("mcp-server-memory", env={"MEMORY_FILE_PATH": str(repository / "memory.json")})
    entity = {"name": "tea", "entityType": "drink", "observations": ["is green"]}
    assert call(client, "create_entities", entities=[entity]).ok
    assert call(client, "read_graph").text.count("is green") == 1


def test_a_server_of_the_newest_revision_works_in_a_repository(server, repository):
    (repository / "a.txt").write_text("a\n")
    client = server("mcp-server-git", "--repository", str(repository), protocol="modern")
    assert "a.txt" in call(client, "git_status", repo_path=str(repository)).text
    assert client.era == "modern"


def test_a_server_that_has_everything_gives_everything(server):
    asked = []

    def accept(question, cancel):
        asked.append(question)
        return Answered("accept", {"name": "Jo", "check": True})

    client = server("mcp-server-everything", elicit=accept)
    scope = CancelScope()
    assert call(client, "echo", message="日本\u2028é").text == "Echo: 日本\u2028é"
    resources, prompts = client.list_resources(scope), client.list_prompts(scope)
    assert client.list_templates(scope)
    assert client.read_resource(resources[0].uri, scope).text
    assert client.get_prompt(prompts[0].name, {}, scope).text.startswith("user:")
    picture = call(client, "get-tiny-image")
    assert [image.media_type for image in picture.images] == ["image/png"]
    assert "iVBOR" not in picture.text
    told: list[str] = []
    long = client.call(ToolInfo("trigger-long-running-operation"), {"duration": 1, "steps": 4}, scope, told.append)
    assert long.ok
    assert told
    answer = call(client, "trigger-elicitation-request")
    assert [question.kind for question in asked] == ["form"]
    assert "Jo" in answer.text
    assert "tools" in client.info.instructions.lower()


def test_a_server_that_was_killed_is_there_again_at_the_next_call(server):
    client = server("mcp-server-everything")
    assert call(client, "echo", message="a").ok
    pid = client._connection._transport._held.process.pid  # nothing of the client tells it
    os.kill(pid, 9)
    deadline = time.monotonic() + 30
    while client.state == "ready" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert call(client, "echo", message="b").text == "Echo: b"


def test_a_server_that_wants_arguments_says_so_when_it_does_not_start(server):
    client = server("mcp-server-git", "--no-such-option", startup_timeout=20)
    with pytest.raises(ServerFailure) as failure:
        client.connect(CancelScope())
    assert "no-such-option" in failure.value.text


@pytest.mark.parametrize("end", ["exit", signal.SIGTERM, signal.SIGKILL])
def test_servers_and_what_they_started_end_with_the_program_however_it_ends(end, tmp_path):
    root = Path(__file__).parents[2]
    argv = [sys.executable, "-m", "tests.real.mcp_program", str(end)]
    with subprocess.Popen(argv, cwd=root, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        pids = [int(word) for word in program.stdout.readline().split()]
        assert len(pids) == 2
        if isinstance(end, signal.Signals):
            program.send_signal(end)
    assert until(lambda: not any(is_running(pid) for pid in pids), 5)
