"""The rooms behind sub-agents: definitions on disk, the gate, the board."""

import json
import os
import queue
import threading
import time
from pathlib import Path

import pytest

from agent_core import events, limits
from agent_core.cancel import CancelScope
from agent_core.delegation import AgentRow
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.desk.options import tools_off
from agent_core.errors import Interrupted
from agent_core.intents import Submit
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolOutput
from agent_core.sandbox.probe import layers
from agent_core.subagents import definitions
from agent_core.subagents.board import Board
from agent_core.subagents.definitions import Definition
from agent_core.subagents.gate import Gate
from agent_core.subagents.lent import tools_for
from agent_core.subagents.quiet import Quiet
from tests.fakes.model_server import ModelServer, Reply

LACKS = "" if layers().can_confine else f"the kernel here cannot confine commands: {layers().why}"

WHOLE = """---
name: reviewer
description: "Reads a change: looks for bugs."
tools: files, run_command
model: acme/small
max_iterations: 7
---

You review.
"""


def test_a_definition_in_markdown_says_all_that_one_can_say(tmp_path):
    (tmp_path / "reviewer.md").write_text(WHOLE)
    (one,) = definitions.in_folder(tmp_path).definitions
    assert (one.name, one.description, one.prompt) == ("reviewer", "Reads a change: looks for bugs.", "You review.")
    assert (one.model, one.max_steps) == ("acme/small", 7)
    assert one.allowed_tools is not None
    assert {"read_file", "grep", "run_command"} <= one.allowed_tools
    assert "web_fetch" not in one.allowed_tools


@pytest.mark.parametrize(
    ("text", "name", "description", "tools"),
    [
        ("You only look.\n", "plain", "You only look.", None),
        ("---\nname: 审阅者\ndescription: 审阅改动。\n---\n你负责审阅。\n", "审阅者", "审阅改动。", None),
        ("---\ndescription: d\nallowed_tools: [read_file]\n---\np", "plain", "d", {"read_file"}),
        ("---\ntools: '*'\nmodel: inherit\n---\np", "plain", "p", None),
        ("---\ntools: web\n---\np", "plain", "p", {"web_fetch", "web_search"}),
        ("---\ntools: mcp:docs, read_file\n---\np", "plain", "p", {"mcp:docs", "read_file"}),
        ("---\ndescription: a: b\n---\np", "plain", "a: b", None),
        ("---\ndescription: a: b\ntools: [read_file]\n---\np", "plain", "a: b", {"read_file"}),
        ("---\nallowed-tools: read_file\npermissionMode: plan\n---\np", "plain", "p", {"read_file"}),
    ],
)
def test_what_is_left_out_has_a_default(tmp_path, text, name, description, tools):
    (tmp_path / "plain.md").write_text(text)
    (one,) = definitions.in_folder(tmp_path).definitions
    assert (one.name, one.description, one.model) == (name, description, "")
    assert one.allowed_tools == tools


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.md", b"---\nname: two words\n---\np", "needs a name"),
        ("a.md", b"---\nname: x\n---\n   \n", "has no prompt"),
        ("a.md", b"---\nmax_iterations: many\n---\np", "max_iterations of a is no number"),
        ("a.md", b"---\nmax_iterations: 0\n---\np", "max_iterations of a is no number"),
        ("a.md", b"---\ntools: {a: b}\n---\np", "the tools of a are no list"),
        ("a.md", b"---\ntools: Read, Bash, grep\n---\np", "names tools that there are none of: Read, Bash"),
        ("a.md", b"---\nallowed_tool: read_file\n---\np", "a has allowed_tool, which nobody knows. Did you mean allow"),
        ("a.md", b"---\ndisallowed_tools: [Bash]\n---\np", "names tools that there are none of: Bash"),
        ("a.md", b"---\ntools: read_file\np", "line 1: the frontmatter does not end"),
        ("a.md", b"---\n- tools: read_file\n---\np", "line 2: the frontmatter should be lines"),
        ("z.md", b"---\nname: Good\n---\nYou may all.", "the name Good is there already"),
        ("a.md", b"\xff\xfe\x00", "is not UTF-8"),
        ("a.md", b"x" * 70_000, "larger than 64 KB"),
        ("a.json", b"{", "is not JSON"),
        ("a.json", b"[" * 100_000, "is not JSON"),
        ("a.json", b" " * 2_000_000, "larger than 1024 KB"),
        ("a.json", b'{"agents": [{"name": "x", "prompt": "' + b"x" * 70_000 + b'"}]}', "more than 65,536 characters"),
        (
            "a.json",
            b'[{"name": "x", "tool": [], "prompt": "p"}]',
            "x has tool, which nobody knows. Did you mean tools?",
        ),
        ("a.json", b'{"agents": 3}', 'no list "agents"'),
        ("a.json", b'{"agents": [3]}', "agent 1 is not an object"),
        ("a.json", b'{"agents": [{"name": "x"}]}', "x has no prompt"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_file_and_hinders_no_other(tmp_path, name, data, why):
    path = tmp_path / name
    path.write_bytes(data)
    (tmp_path / "good.md").write_text("You are good.")
    found = definitions.in_folder(tmp_path)
    if name.endswith(".json"):
        found += definitions.in_file(path)
    assert [one.name for one in found.definitions] == ["good"]
    (problem,) = found.problems
    assert why in problem.text
    assert name in problem.text


def test_a_pipe_and_a_folder_that_end_in_md_are_waited_for_by_nobody(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    found = definitions.in_folder(tmp_path)
    assert found.definitions == ()
    assert ["no regular file" in problem.text for problem in found.problems] == [True, True]


@pytest.mark.parametrize(
    ("there", "asked", "meant"),
    [
        (("a", "b"), "A", "a"),
        (("a", "b"), "c", None),
        (("a", "b"), "", None),
        (("a",), "", "a"),
        (("a", "worker"), "", "worker"),
    ],
)
def test_which_one_a_name_means(there, asked, meant):
    found = definitions.chosen([Definition(name, "", "p") for name in there], asked)
    assert (found.name if found else None) == meant


def _tool(name: str, toolset: str = "") -> Tool:
    def prepare(args: Args, ctx) -> Prepared:
        return Prepared(NoAction(), lambda box: ToolOutput(""))

    return Tool(name, "", {}, lambda args: Effect("none"), lambda args: "", prepare, toolset=toolset)


@pytest.mark.parametrize(
    ("allowed", "has"),
    [
        (None, {"read_file", "mcp_docs_find", "mcp_web_get"}),
        ({"mcp"}, {"mcp_docs_find", "mcp_web_get"}),
        ({"mcp:docs", "read_file"}, {"read_file", "mcp_docs_find"}),
        ({"mcp_web_get", "subagent"}, {"mcp_web_get"}),
        (set(), set()),
    ],
)
def test_tools_of_servers_are_allowed_by_their_name_or_their_servers(allowed, has):
    tools = [_tool("read_file"), _tool("mcp_docs_find", "mcp:docs"), _tool("mcp_web_get", "mcp:web"), _tool("subagent")]
    definition = Definition("a", "", "p", allowed_tools=None if allowed is None else frozenset(allowed))
    assert set(tools_for({tool.name: tool for tool in tools}, definition)) == has


@pytest.mark.parametrize(
    ("says", "has"),
    [
        ("tools: read_file, mcp\ndisallowedTools: mcp:docs", {"read_file", "mcp_web_get"}),
        ("disallowed-tools: [mcp_web_get, read_file]", {"grep", "mcp_docs_find"}),
        ("tools: '*'\ndisallowed_tools: mcp", {"read_file", "grep"}),
        ("disallowed_tools: '*'", set()),
    ],
)
def test_what_is_denied_is_denied_whatever_is_allowed(says, has):
    names = {"read_file": "", "grep": "", "mcp_docs_find": "mcp:docs", "mcp_web_get": "mcp:web"}
    definition = definitions.from_markdown(f"---\n{says}\n---\np".encode(), Path("a.md"))
    assert set(tools_for({name: _tool(name, toolset) for name, toolset in names.items()}, definition)) == has


# -- in a program ---------------------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path):
    hosts = []
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (
        home / ".nanohermes/agents",
        home / ".hermes/agents",
        project / ".nanohermes/agents",
        project / ".git",
    ):
        folder.mkdir(parents=True)

    def start(**launch):
        env = {"HOME": str(home), "PATH": os.environ["PATH"]}
        hosts.append(Host(Launch(project, env, launch.pop("overrides", {}), **{"demo": True, **launch})))
        return hosts[-1]

    yield home, project, start
    for host in hosts:
        host.close()


def offered(host, folder):
    session = host.new(folder)
    tools = {tool.name: tool for extra in session.extras for tool in extra.tools()}
    return tools["subagent"].description if "subagent" in tools else ""


def test_definitions_come_from_both_homes_the_trusted_project_and_the_named_file(program, tmp_path):
    home, project, start = program
    (home / ".hermes/agents/old.md").write_text("---\ndescription: of hermes\n---\np")
    (home / ".hermes/agents/both.md").write_text("---\ndescription: of hermes\n---\np")
    (home / ".nanohermes/agents/both.md").write_text("---\ndescription: of mine\n---\np")
    (project / ".nanohermes/agents/here.md").write_text("---\ndescription: of the project\n---\np")
    file = tmp_path / "more.json"
    file.write_text(json.dumps({"agents": [{"name": "named", "description": "of the file", "prompt": "p"}]}))
    host = start(subagents_file=file)
    text = offered(host, project)
    assert "- old: of hermes" in text
    assert "- both: of mine" in text
    assert "- named: of the file" in text
    assert "of the project" not in text, "nobody has trusted it"
    host.answer_trust(host.trusting.look(project), "trust")
    assert "- here: of the project" in offered(host, project)
    (project / ".nanohermes/agents/here.md").write_text("---\ndescription: another\n---\np")
    assert "here" not in offered(host, project), "it is not the one that was trusted"


def test_the_shipped_ones_are_there_when_they_are_wanted_and_all_can_be_switched_off(program):
    home, project, start = program
    assert offered(start(), project) == ""
    text = offered(start(overrides={"delegation.builtin_agents": True}), project)
    assert "- explorer: " in text
    assert "- worker: " in text
    (home / ".nanohermes/agents/mine.md").write_text("p")
    assert offered(start(overrides={"delegation.enabled": False}), project) == ""
    assert tools_off(start().config) == ("delegate_task",)
    assert tools_off(start(overrides={"delegation.background": True}).config) == ()


@pytest.mark.skipif(bool(LACKS), reason=LACKS)
def test_its_commands_run_behind_the_walls_of_its_parents_session(program, tmp_path):
    _, project, start = program
    outside = tmp_path / "outside"
    outside.mkdir()
    command = f"touch made; touch {outside}/made; echo over"

    def reply(body, number):
        messages = body["messages"]
        if "# You are a sub-agent" not in messages[0]["content"]:
            is_over = messages[-1]["role"] == "tool"
            return Reply("ok") if is_over else Reply(calls=[("subagent", {"name": "worker", "task": "x"})])
        return Reply("end") if len(messages) > 2 else Reply(calls=[("run_command", {"command": command})])

    with ModelServer(reply) as server:
        overrides = {"delegation.builtin_agents": True, "model.base_url": server.base_url, "model.default": "m"}
        host = start(overrides=overrides, unattended=True, mode="auto", demo=False)
        session = host.new(project)
        session.send(Submit("go"))
        end = time.monotonic() + 30
        while not any(isinstance(e.event, events.TurnFinished) for e in session.mailbox.drain()):
            assert time.monotonic() < end
            time.sleep(0.02)
        ran = [m["content"] for m in server.requests[2]["messages"] if m["role"] == "tool"]
    assert "over" in ran[0]
    assert (project / "made").exists(), ran
    assert list(outside.iterdir()) == [], ran
    (child,) = host.store.children.of(session.id)
    assert "run_command" in [call.name for m in host.store.messages(child.session_id) for call in m.tool_calls]


def test_the_explorer_can_only_read():
    (explorer,) = [one for one in definitions.shipped().definitions if one.name == "explorer"]
    assert explorer.allowed_tools == {"read_file", "list_dir", "grep", "glob", "git_status", "git_diff"}


# -- the gate ---------------------------------------------------------------------------------------------------------


def test_places_are_given_in_the_order_of_coming_and_given_back_whatever_happens():
    gate, order, scope = Gate(1), [], CancelScope()
    waiting = []

    def work(number):
        with gate.place(scope):
            order.append(number)

    def go_wrong():
        with gate.place(scope):
            for number in range(5):
                waiting.append(threading.Thread(target=work, args=(number,)))
                waiting[-1].start()
                time.sleep(0.02)
            raise ValueError("gone wrong")

    with pytest.raises(ValueError, match="gone wrong"):
        go_wrong()
    for thread in waiting:
        thread.join(5)
    assert order == [0, 1, 2, 3, 4]


def test_who_is_stopped_while_waiting_leaves_the_line():
    gate, scope, stopped = Gate(1), CancelScope(), CancelScope()
    outcome = []

    def wait(own):
        try:
            with gate.place(own):
                outcome.append("in")
        except Interrupted:
            outcome.append("stopped")

    with gate.place(scope):
        threads = [threading.Thread(target=wait, args=(own,)) for own in (stopped, scope)]
        for thread in threads:
            thread.start()
            time.sleep(0.02)
        stopped.cancel()
        threads[0].join(5)
        assert outcome == ["stopped"]
    threads[1].join(5)
    assert outcome == ["stopped", "in"]


def test_who_comes_after_the_stop_gets_no_place():
    scope = CancelScope()
    scope.cancel()
    with pytest.raises(Interrupted), Gate().place(scope):
        raise AssertionError("a place was given")


# -- the board --------------------------------------------------------------------------------------------------------


def test_states_are_told_at_once_and_what_is_done_now_and_then():
    told = []
    board = Board(told.append)
    row = board.add("worker", "x", CancelScope())
    board.change(row.id, state="running")
    assert [rows[0].state for rows in told] == ["waiting", "running"]
    for number in range(100):
        board.change(row.id, doing=f"step {number}")
    assert len(told) == 2
    end = time.monotonic() + 5
    while len(told) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert told[-1][0].doing == "step 99", "the newest is told in the end"
    board.end(row.id, state="done")
    assert (told[-1][0].state, told[-1][0].doing) == ("done", "")


def test_a_sub_agent_that_is_asked_for_after_the_end_is_stopped():
    board, scope = Board(lambda rows: None), CancelScope()
    board.close()
    board.add("worker", "late", scope)
    assert scope.cancelled


def test_of_many_the_oldest_that_have_ended_go():
    left = AgentRow("agent-7", "w", "t", "running", 0.0)
    board = Board(lambda rows: None, lambda: (left,))
    assert [row.state for row in board.rows] == ["interrupted"], "another board's"
    running = board.add("worker", "long", CancelScope())
    assert running.id == "agent-8"
    for _ in range(70):
        board.end(board.add("worker", "t", CancelScope()).id, state="done")
    assert len(board.rows) <= 51
    assert running.id in {row.id for row in board.rows}
    assert board.rows[-1].id == "agent-78"


def test_a_text_for_one_that_has_ended_comes_back_to_the_person():
    back = []
    board = Board(lambda rows: None, give_back=back.append)
    row = board.add("worker", "t", CancelScope())
    board.steer(row.id, "  ")
    board.steer(row.id, "more")
    assert board.take_steers(row.id) == ["more"]
    board.steer(row.id, "not taken")
    board.end(row.id, state="done")
    assert back == ["not taken"]
    board.steer(row.id, "late")
    board.steer(row.id, " ")
    board.steer("agent-99", "nobody")
    board.stop("agent-99")
    assert board.take_steers(row.id) == []
    assert back == ["not taken", "late", "nobody"]


def test_the_time_that_a_summary_takes_is_no_silence():
    with CancelScope() as scope, Quiet(0.2, scope) as quiet:
        quiet.heard(events.CompactionStarted(3))
        time.sleep(0.6)
        assert not scope.cancelled
        quiet.heard(events.CompactionFinished())
        assert not scope.cancelled, "its time begins anew"
        assert scope.wait(10)
    assert quiet.has_stopped


def test_a_long_silence_is_told_sooner_between_two_calls_than_inside_of_one_and_stops_nobody(monkeypatch):
    for name, seconds in (("AGENT_HEARTBEAT", 0.02), ("AGENT_STALE", 0.2), ("AGENT_STALE_TOOL", 60.0)):
        monkeypatch.setattr(limits, name, seconds)
    told: queue.SimpleQueue[float] = queue.SimpleQueue()
    with CancelScope() as scope, Quiet(0.0, scope, told.put) as quiet:
        assert abs(told.get(timeout=10) - time.time()) < 5
        quiet.heard(events.ToolStarted("c1"))
        assert told.get(timeout=10) == 0.0, "it lives again"
        time.sleep(0.5)
        assert told.empty(), "a call may take its time"
        quiet.heard(events.ToolFinished("c1", "grep", True, "", ""))
        assert told.get(timeout=10) > 0.0
    assert not scope.cancelled
