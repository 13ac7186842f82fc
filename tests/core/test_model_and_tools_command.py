"""`nanoherm-tui model ...` and `nanoherm-tui tools ...` as a shell and a script use them."""

from __future__ import annotations

import json
import os

import pytest

from agent_core.toolsets import SHOWN, tools_named
from nanoherm_tui.subcommands import model, tools, trust
from nanoherm_tui.subcommands.tools import switched
from tests.fakes.model_server import ModelServer, Reply
from tests.rows import each_row


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder of its own, with a home of its own: (exit code, output, words for people)."""
    (tmp_path / "work" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in list(os.environ):
        if name.startswith("NANOHERMES_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)

    def made(command, *arguments: str) -> tuple[int, str, str]:
        code = command.main(arguments)
        return code, *capsys.readouterr()

    return made


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "home" / ".nanohermes" / "config.yaml"
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture
def server():
    with ModelServer([Reply("hi")]) as made:
        yield made


# -- tools --------------------------------------------------------------------------------------------------------

SWITCHED = [
    # (off now, what is switched, on, off then)
    ([], ["web"], False, ["web"]),
    (["web"], ["web"], False, ["web"]),
    (["web_search"], ["web"], False, ["web"]),
    (["web"], ["web_search"], False, ["web"]),
    (["web"], ["web_search"], True, ["web_fetch"]),
    (["web"], ["web"], True, []),
    (["no_such_set", "web"], ["git"], False, ["no_such_set", "web", "git"]),
    (["mcp:files", "git"], ["mcp:files"], True, ["git"]),
    ([], ["mcp:Files"], False, ["mcp:Files"]),
    ([], ["Terminal"], False, ["terminal"]),
]


@each_row(("now", "given", "on", "then"), SWITCHED)
def test_what_is_off_is_kept_by_sets_where_whole_ones_are(now, given, on, then):
    assert switched(now, given, on=on) == then


def test_of_everything_that_is_off_one_tool_is_switched_on_and_no_other():
    left = switched(["all"], ["grep"], on=True)
    assert tools_named(["all"]) - tools_named(left) == {"grep"}
    assert {"web", "git"} <= set(left)


def test_tools_are_switched_in_the_config_and_the_list_says_so(run, config):
    assert run(tools, "set", "web", "git_commit", "off")[:2] == (
        0,
        "~/.nanohermes/config.yaml: off are web, git_commit.\n",
    )
    _, out, _ = run(tools, "list")
    states = {line.split()[0]: line.split()[1] for line in out.splitlines()}
    assert (states["web"], states["web_fetch"], states["git"], states["git_commit"]) == ("off", "off", "partly", "off")
    assert (states["files"], states["git_diff"]) == ("on", "on")
    run(tools, "set", "web", "git", "on")
    assert "disabled_toolsets" not in config.read_text()


def test_the_bytes_that_are_told_are_those_of_the_schema(run):
    listed = {one["name"]: one for one in json.loads(run(tools, "list", "--json")[1])}
    assert set(listed) == {tool for one in SHOWN for tool in one.tools if tool in listed}
    shown = json.loads(run(tools, "show", "grep", "--json")[1])[0]
    text = json.dumps(shown["schema"], ensure_ascii=False)
    assert len(text.encode()) == listed["grep"]["size"]
    assert shown["schema"]["function"]["name"] == "grep"
    assert f"{listed['grep']['size']:,} bytes in a request" in run(tools, "show", "grep")[1]


def test_a_tool_that_only_some_sessions_have_is_listed_and_shown_without_a_size(run, config):
    config.write_text("agent:\n  disabled_toolsets: [memory_search]\n")
    rows = {line.split()[0]: line.split()[1:] for line in run(tools, "list")[1].splitlines()}
    assert (rows["memory_save"][:4], rows["memory_search"][0]) == (["on", "In", "some", "sessions:"], "off")
    assert (rows["delegate_task"][0], rows["agents"][0]) == ("off", "partly")  # until it is wanted
    code, out, err = run(tools, "show", "memory_search")
    assert (code, out) == (0, "memory_search: of the set memory, off. Search what is remembered.\n")
    assert "/tools" in err
    assert json.loads(run(tools, "show", "skill", "--json")[1]) == [{"name": "skill", "toolset": "skills", "on": True}]
    config.write_text("delegation:\n  background: true\n")
    assert json.loads(run(tools, "show", "delegate_task", "--json")[1])[0]["on"] is True
    code, _, err = run(tools, "show", "mcp_docs_search")
    assert (code, "mcp test" in err) == (2, True)


def test_a_tool_there_is_not_is_a_usage_error_and_nothing_is_written(run, config):
    for arguments in (("set", "wbe", "off"), ("show", "wbe")):
        code, out, err = run(tools, *arguments)
        assert (code, out) == (2, "")
        assert "Did you mean web?" in err
    assert not config.exists()


def test_a_tool_that_a_trusted_project_takes_away_stays_off_and_it_is_said(run, tmp_path):
    folder = tmp_path / "work" / ".nanohermes"
    folder.mkdir()
    (folder / "config.yaml").write_text("agent: {disabled_toolsets: [web_search]}\n")
    assert "stay off" not in run(tools, "set", "web", "on")[2]  # before it is trusted it takes nothing away
    assert run(trust, "--yes")[0] == 0
    code, _, err = run(tools, "set", "web", "on")
    assert code == 0
    assert "web_search stay off here" in err


# -- the model ----------------------------------------------------------------------------------------------------


def test_servers_are_listed_with_the_name_of_their_key_and_never_the_key(run, monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-0123456789abcdef0123456789abcdef")
    code, out, err = run(model, "list", "--offline")
    rows = {line.split()[1 if line.startswith("*") else 0]: line for line in out.splitlines()}
    assert code == 0
    assert rows["deepseek"].startswith("*")
    assert "key: DEEPSEEK_API_KEY" in rows["deepseek"]
    assert "no key: OPENAI_API_KEY" in rows["openai"]
    assert "needs none" in rows["ollama"]
    assert "sk-0123" not in out + err
    assert "sk-0123" not in run(model, "list", "--offline", "--json")[1]


def test_models_of_the_configured_server_are_listed_with_price_and_window(run, config, server):
    config.write_text(
        f"model: {{provider: mine}}\nproviders:\n  mine:\n    base_url: {server.base_url}\n"
        "    prices: {'*': {input: 1.5, output: 2}}\n"
    )
    told = json.loads(run(model, "list", "--json")[1])
    assert told["configured"] == "mine"
    assert told["models"]
    assert {(one["input"], one["output"], one["prices_of"]) for one in told["models"]} == {(1.5, 2.0, "config")}
    rows = [line.split() for line in run(model, "list")[1].splitlines()]
    for one in told["models"]:
        assert [one["name"], "1.5", "2", "?"] in rows


def test_show_says_who_is_asked_and_where_that_is_set(run, config, server):
    config.write_text(f"model:\n  default: some-model\n  base_url: {server.base_url}\n  context_length: 32000\n")
    code, out, _ = run(model, "show")
    assert code == 0
    assert "some-model" in out
    assert "~/.nanohermes/config.yaml:2: model.default" in out
    told = json.loads(run(model, "show", "--json")[1])
    assert (told["name"], told["window"], told["key"]) == ("some-model", 32000, "")


def test_mixtures_are_listed_shown_and_chosen_like_models(run, config, server):
    config.write_text(
        f"model: {{provider: mine, default: test-model}}\nproviders: {{mine: {{base_url: {server.base_url}}}}}\n"
        "moa:\n  presets:\n    deep:\n      aggregator: {provider: mine, model: test-model}\n      fanout: every_n:3\n"
        "      reference_models: [{provider: mine, model: a}, {provider: xai, model: b}]\n"
    )
    rows = [line.split() for line in run(model, "list", "--offline")[1].splitlines()]
    assert ["moa/deep", "mine/test-model", "mine/a,", "xai/b"] in rows
    assert json.loads(run(model, "show", "--json")[1])["mixture"] is None
    code, out, _ = run(model, "set", "moa/deep")
    assert (code, "Sessions to come ask moa/deep of Mixture of Agents." in out) == (0, True)
    _, out, _ = run(model, "show")
    assert "mine/a, xai/b (fanout every_n:3)" in out
    told = json.loads(run(model, "show", "--json")[1])
    assert (told["name"], told["mixture"]["name"], told["mixture"]["acts"]) == (
        "test-model", "moa/deep", "mine/test-model")  # fmt: skip
    assert json.loads(run(model, "list", "--json", "--offline")[1])["mixtures"] == [told["mixture"]]
    assert ["*", "moa/deep"] in [line.split()[:2] for line in run(model, "list", "--offline")[1].splitlines()]
    assert run(model, "set", "moa/shallow")[0] == 2


def test_without_any_model_show_says_the_way_out(run):
    code, out, err = run(model, "show")
    assert (code, out) == (1, "")
    assert "No model server is set up" in err


def test_a_model_that_its_server_does_not_list_is_taken_only_when_that_is_meant(run, config, server):
    config.write_text(f"model:\n  base_url: {server.base_url}\n")
    listed = json.loads(run(model, "list", "--json")[1])["models"][0]["name"]
    code, _, err = run(model, "set", f"{listed}x")
    assert code == 2
    assert f"It has {listed}" in err
    assert "default" not in config.read_text()
    assert run(model, "set", f"{listed}x", "--anyway")[0] == 0
    assert f"default: {listed}x" in config.read_text()
    assert run(model, "set", listed)[0] == 0
    assert f"Sessions to come ask {listed}" in run(model, "set", listed)[1]


def test_a_model_whose_key_is_to_come_is_taken_and_the_missing_key_is_named(run, config):
    code, _, err = run(model, "set", "anthropic/claude-sonnet-5")
    assert code == 0
    assert "ANTHROPIC_API_KEY" in err
    assert "default: anthropic/claude-sonnet-5" in config.read_text()
