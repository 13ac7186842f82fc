"""All MCP servers of a program: which there are, and how they end."""

import json
import sys
import time

import pytest

from agent_core import limits
from agent_core.errors import AgentError
from agent_core.extras.servers import offered_of
from agent_core.mcp.words import ServerConfig, ServerFailure, ToolInfo
from tests.core.server_support import BAD, ECHO, SCOPE, Asks, Many, Plan, desk, died, until


def test_servers_are_shared_and_one_that_has_changed_or_gone_is_ended(tmp_path):
    many = Many(tmp_path, a=Plan(), b=Plan())
    a, b = many.servers.of(tmp_path)
    assert many.servers.of(tmp_path) == (a, b)
    a.call(ECHO, {}, Asks(), SCOPE)
    b.call(ECHO, {}, Asks(), SCOPE)
    many.configs["a"] = ServerConfig("a", command="a", identity="a", timeout=9.0)
    del many.configs["b"]
    [new] = many.servers.of(tmp_path)
    assert new is not a
    until(lambda: many.plans["a"].closed == 1 and many.plans["b"].closed == 1)


def test_servers_of_a_folder_that_nobody_works_in_any_more_are_ended(tmp_path):
    many = Many(tmp_path, a=Plan())
    for folder in (tmp_path / "here", tmp_path / "there"):
        many.servers.of(folder)[0].call(ECHO, {}, Asks(), SCOPE)
    many.servers.forget(tmp_path / "there")
    until(lambda: many.plans["a"].closed == 1)
    assert many.servers.of(tmp_path / "here")[0].state == "ready"


def test_a_row_tells_how_a_server_is_whether_it_counts_or_not(tmp_path):
    many = Many(tmp_path, ran=Plan(), off=Plan(), wrong=Plan(), theirs=Plan(), dead=Plan(fails=[died("mcp_command")]))
    many.configs["off"] = ServerConfig("off", url="https://u:pw@h/x?k=1", type="http", enabled=False)
    many.configs["wrong"] = ServerConfig("wrong", problem="It is wrong.")
    many.held = frozenset({"theirs"})
    running = many.servers.of(tmp_path)
    assert [managed.config.name for managed in running] == ["ran", "dead"]
    running[0].call(ECHO, {}, Asks(), SCOPE)
    running[1].begin()
    until(lambda: many.states()["dead"] == "failed")
    rows = {row.name: row for row in many.servers.rows(tmp_path)}
    assert {name: row.state for name, row in rows.items()} == {
        "ran": "ready", "off": "off", "wrong": "invalid", "theirs": "untrusted", "dead": "failed",
    }  # fmt: skip
    assert (rows["ran"].title, rows["ran"].tools) == ("srv 1", 1)
    assert rows["off"].address == "https://h/x?…"
    assert (rows["wrong"].problem, rows["dead"].problem) == ("It is wrong.", "It has mcp_command.")
    assert 0 < rows["dead"].retry_at - time.time() <= limits.MCP_COOL_FIRST
    with pytest.raises(AgentError, match="There are: ran, dead"):
        many.servers.find(tmp_path, "theirs")


def test_the_end_takes_no_longer_than_its_bound_whatever_a_server_does(tmp_path):
    many = Many(tmp_path, a=Plan())
    [a] = many.servers.of(tmp_path)
    a.call(ECHO, {}, Asks(), SCOPE)
    many.plans["a"].peer.close = lambda: time.sleep(8.0)
    began = time.monotonic()
    many.servers.close()
    assert time.monotonic() - began < 7.0
    assert many.servers.of(tmp_path) == ()


def test_a_program_is_started_called_and_ended_and_a_project_is_asked_about_first(tmp_path):
    entry = {"command": sys.executable, "args": [str(BAD), "banner"], "startup_timeout": 20}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
    servers = desk(tmp_path, {"ours": entry})
    try:
        assert {row.name: row.state for row in servers.rows(tmp_path)} == {"ours": "idle", "theirs": "untrusted"}
        [managed] = servers.managed(tmp_path)
        assert managed.call(ECHO, {"text": "日本é"}, Asks(), SCOPE).text == "日本é"
        [view] = [view for view in servers.views(tmp_path) if view.row.name == "ours"]
        assert view.row.state == "ready"
        assert "echo" in [tool.name for tool in view.tools]
        assert len(view.noise) >= 5
        with pytest.raises(ServerFailure):
            managed.call(ToolInfo("crash"), {}, Asks(), SCOPE)
        assert managed.call(ECHO, {"text": "again"}, Asks(), SCOPE).text == "again"
    finally:
        servers.close()


def test_names_and_order_are_the_same_in_every_run(tmp_path):
    many = Many(tmp_path, b=Plan("x", "y z"), a=Plan("x"))
    for managed in many.servers.of(tmp_path):
        managed.call(ECHO, {}, Asks(), SCOPE)
    first = [one.name for one in offered_of(many.servers.of(tmp_path))]
    again = Many(tmp_path, b=Plan(), a=Plan())
    assert [one.name for one in offered_of(again.servers.of(tmp_path))] == first
    assert first[0] == "mcp_b_x"
    assert first[2] == "mcp_a_x"
