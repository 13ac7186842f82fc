"""Sets of tools: what their names stand for, and that what is switched off is neither offered nor run."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from agent_core import events, intents
from agent_core.config import tighten
from agent_core.config.load import load
from agent_core.config.paths import find_places
from agent_core.config.schema import key_of
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.tools.builtin import builtin_tools
from agent_core.toolsets import FIXED, SHOWN, in_order, tools_named, tools_of
from tests.rows import each_row

from .session_support import Table, call, say

FILES = {"read_file", "write_file", "edit_file", "apply_patch", "list_dir", "grep", "glob"}


def test_every_tool_is_in_exactly_one_set_and_the_ways_out_of_a_mode_are_in_none():
    names = [name for one in SHOWN for name in one.tools]
    assert len(names) == len(set(names))
    assert {tool.name for tool in builtin_tools()} <= {*names, *FIXED}
    assert not FIXED & set(names)
    assert tools_of("all") == set(names)


@each_row(
    ("word", "tools"),
    [
        ("files", FILES),
        ("file", FILES),  # the name that Hermes has for it
        ("web", {"web_fetch", "web_search"}),
        ("git_commit", {"git_commit"}),
        ("terminal", {"run_command", "task_start", "task_list", "task_output", "task_kill"}),
        ("patch", {"edit_file", "apply_patch"}),
        ("clarify", {"ask_user"}),
        ("exit_plan", set()),
        ("goal_done", set()),
        ("browser", set()),
        ("", set()),
    ],
)
def test_a_name_stands_for_a_set_a_tool_or_what_hermes_calls_so(word, tools):
    assert tools_of(word) == tools


def test_names_are_joined_and_put_in_one_order():
    assert in_order(tools_named([" Web ", "git_commit", "nonsense", "web_search"])) == (
        "web_fetch",
        "web_search",
        "git_commit",
    )


# -- in a session -------------------------------------------------------------------------------------------------


def offered(request):
    return {schema.name for schema in request.tools}


def test_what_is_switched_off_is_gone_at_the_next_step_and_a_call_to_it_says_who_can_switch_it_on(tmp_path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("hello\n")

    def switch(request, sink, cancel):
        table.session.send(intents.SetOptions(tools_off=("read_file", "web")))
        return call(("list_dir", {}))

    table = Table(tmp_path, switch, call(("read_file", {"path": "a.txt"})), say("done"))
    assert table.turn("look").outcome == "completed"
    first, second, third = table.model.requests
    assert "read_file" in offered(first)
    assert offered(first) - offered(second) == {"read_file", "web_fetch", "web_search"} & offered(first)
    result = third.messages[-1].result
    assert (result.outcome, result.ok) == ("switched off", False)
    assert "/tools on read_file" in result.text
    assert "hello" not in result.text
    assert table.of(events.OptionsChanged)[-1].tools_off == ("read_file", "web_fetch", "web_search")
    table.session.close()


def test_what_was_chosen_for_a_session_is_there_again_and_wins_over_the_config(tmp_path):
    table = Table(tmp_path, say("hi"), tools_off=("git",))
    table.turn("hi")
    assert not any(name.startswith("git_") for name in offered(table.model.requests[-1]))
    table.session.send(intents.SetOptions(tools_off=("todo_write",)))
    table.turn("hi again", count=2)
    table.session.close()
    table.session = table.open(table.session.id, stored=True)
    table.turn("and again", count=3)
    found = offered(table.model.requests[-1])
    assert "todo_write" not in found
    assert {"git_status", "git_diff", "git_commit"} <= found
    forked = table.store.fork(table.session.id)
    assert json.loads(table.store.get(forked.id).model_config) == {"tools_off": ["todo_write"]}
    table.session.send(intents.SetOptions())  # as configured
    table.turn("last", count=4)
    assert "todo_write" in offered(table.model.requests[-1])
    assert "git_status" not in offered(table.model.requests[-1])
    table.session.close()


@pytest.mark.parametrize(
    "kept",
    ["{", "[1]", '{"tools_off": "web"}', '{"tools_off": [1, null, "exit_plan"]}', '"x"', '{"max_iterations": 9}'],
)
def test_nonsense_in_the_store_switches_nothing_off_and_another_programs_settings_stay(tmp_path, kept):
    table = Table(tmp_path, say("hi"))
    table.turn("hi")
    table.session.close()
    with closing(sqlite3.connect(tmp_path / "state.db")) as db, db:
        db.execute("UPDATE sessions SET model_config = ?", (kept,))
    table.session = table.open(table.session.id, stored=True)
    table.turn("again", count=2)
    assert offered(table.model.requests[0]) == offered(table.model.requests[-1])
    table.session.send(intents.SetOptions(tools_off=("web_fetch",)))
    table.turn("again", count=3)
    now = json.loads(table.store.get(table.session.id).model_config)
    assert now["tools_off"] == ["web_fetch"]
    assert ("max_iterations" in now) == ("max_iterations" in kept)
    table.session.close()


def test_the_tools_that_are_switched_off_cost_no_tokens_of_the_window(tmp_path):
    table = Table(tmp_path, say("hi"))
    table.turn("hi")
    prompt = table.session._turns.prompt
    key = table.session._turns.model.prompt_key
    whole, less = (prompt.fixed("ask", key, off)["tools"] for off in (frozenset(), tools_of("files")))
    assert 0 < less < whole
    table.session.close()


# -- the config ---------------------------------------------------------------------------------------------------


def test_a_project_can_switch_off_but_not_on():
    key = key_of(("agent", "disabled_toolsets"))
    assert key.danger == "tighten"
    assert tighten.tightened(key, ["git"], ["web"]) == (True, ["web", "git"])
    assert tighten.tightened(key, [], ["web"]) == (True, ["web"])


def test_the_config_says_what_a_session_begins_without(tmp_path):
    home = tmp_path / "home" / ".nanohermes"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("agent:\n  disabled_toolsets: [web, todo_read]\n")
    host = Host(Launch(tmp_path, {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}, {}, demo=True))
    try:
        assert tools_named(host.config.get("agent.disabled_toolsets")) == {"web_fetch", "web_search", "todo_read"}
        assert not host.config.warnings
    finally:
        host.close()


def test_a_name_that_switches_nothing_off_is_told_with_its_line_but_not_of_hermes_own_config(tmp_path):
    places = find_places(tmp_path, {"HOME": str(tmp_path)})
    for folder in (places.data_home, places.hermes_home):
        folder.mkdir()
        (folder / "config.yaml").write_text("agent:\n  disabled_toolsets: [web, wbe_fetch, Terminal, browser]\n")
    config = load(places, {}, {})
    there = f"{places.config_file}:2: agent.disabled_toolsets: there is no tool and no set of tools called"
    assert [warning.text for warning in config.warnings] == [
        f"{there} wbe_fetch. Did you mean web_fetch?",
        f"{there} browser. Sets: files, commands, web, git, planning, talk, memory, skills, agents.",
    ]
