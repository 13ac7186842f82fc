"""`nanoherm-tui config ...` as a shell and a script use it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nanoherm_tui.subcommands import config


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs the command in a folder of its own, with a home of its own: (exit code, output, words for people)."""
    (tmp_path / "work" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in list(os.environ):
        if name.startswith("NANOHERMES_"):
            monkeypatch.delenv(name)

    def made(*arguments: str) -> tuple[int, str, str]:
        code = config.main(arguments)
        return code, *capsys.readouterr()

    return made


def file_of(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".nanohermes" / "config.yaml"


def put(tmp_path: Path, text: str) -> None:
    file_of(tmp_path).parent.mkdir(parents=True, exist_ok=True)
    file_of(tmp_path).write_text(text)


def test_a_setting_is_set_shown_listed_and_taken_out_and_other_lines_stay(run, tmp_path):
    put(tmp_path, "# mine\ndisplay:\n  ascii: true  # for the old terminal\n")
    assert run("set", "display.theme", "ansi")[:2] == (0, "~/.nanohermes/config.yaml:4: display.theme = ansi\n")
    assert run("set", "sandbox.add_dirs", "~/a", "~/b c")[0] == 0
    assert file_of(tmp_path).read_text() == (
        "# mine\ndisplay:\n  ascii: true  # for the old terminal\n  theme: ansi\nsandbox:\n  add_dirs: [~/a, ~/b c]\n"
    )
    _, out, _ = run("list", "--changed")
    assert [line.split()[0] for line in out.splitlines()] == [
        "KEY",
        "sandbox.add_dirs",
        "display.theme",
        "display.ascii",
    ]
    code, out, _ = run("show", "display.theme", "--json")
    told = json.loads(out)
    assert (code, told["value"], told["line"], told["source"]) == (0, "ansi", 4, str(file_of(tmp_path)))
    assert run("unset", "display.theme")[0] == 0
    assert "theme" not in file_of(tmp_path).read_text()
    assert "from default" in run("show", "display.theme")[1]


REFUSED = [
    (("set", "agent.max_turns", "many"), "agent.max_turns must be a whole number"),
    (("set", "display.languages", "zh"), "Did you mean display.language?"),
    (("set", "display.theme", "a", "b"), "takes one value"),
    (("set", "display.theme", "nosuch"), "display.theme must be one of auto, ansi, high-contrast, nanoherm-dark, "),
    (("set", "web.search_backend", "altavista"), 'must be one of "", searxng, brave, tavily, duckduckgo.'),
    (("show", "model.tempratur"), "Did you mean model.temperature?"),
    (("unset", "nothing.like.it"), "There is no setting nothing.like.it"),
    (("list", "dispaly"), "Did you mean display?"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED)
def test_what_there_is_not_and_what_is_not_taken_is_a_usage_error_that_names_the_way_out(
    run, tmp_path, arguments, words
):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert not file_of(tmp_path).exists()


def test_no_key_is_printed(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ODD_TOKEN", "oddly-named-42")
    put(
        tmp_path,
        "providers:\n  mine: {api_key: hunter2hunter2, base_url: 'http://h/v1'}\nmodel: {default: oddly-named-42}\n",
    )
    told = "".join(
        run(*arguments)[at]
        for arguments in (("list",), ("list", "--json"), ("show", "providers"), ("show", "providers.mine.api_key"),
                          ("set", "providers.mine.api_key", "hunter2hunter3"))
        for at in (1, 2)
    )  # fmt: skip
    assert "hunter2" not in told
    assert "oddly" not in told
    assert "http://h/v1" in told
    assert "hunter2hunter3" in file_of(tmp_path).read_text()


def test_a_setting_that_does_not_hold_here_is_written_and_said_so(run, monkeypatch):
    monkeypatch.setenv("NANOHERMES_MODEL", "mine/other")
    code, _, err = run("set", "model.default", "some/model")
    assert code == 0
    assert "here model.default is mine/other, as environment says." in err


def test_check_names_each_line_that_does_not_count(run, tmp_path):
    assert run("check")[:2] == (0, "There is no config file; every setting is at its default.\n")
    put(tmp_path, "dispaly:\n  theme: ansi\nagent:\n  max_turns: many\n")
    code, out, _ = run("check")
    assert code == 1
    file = file_of(tmp_path)
    assert [line.split(" ")[0] for line in out.splitlines()] == [f"{file}:1:", f"{file}:4:"]
    told = json.loads(run("check", "--json")[1])
    assert [(one["line"], one["code"]) for one in told["problems"]] == [(1, "unknown_key"), (4, "bad_value")]


def test_check_names_what_of_its_servers_does_not_count_at_any_depth(run, tmp_path):
    put(
        tmp_path,
        "mcp_servers:\n  git:\n    command: a\n    tools: {inclde: [b], prompts: false}\n"
        "    oauth:\n      scopes: [x]\n      redirect_port: 9\n      clientid: c\n  none: {}\nui:\n",
    )
    code, out, _ = run("check")
    file = file_of(tmp_path)
    assert code == 1
    assert out.splitlines() == [
        f"{file}:4: mcp_servers.git.tools.inclde is not known. Did you mean include?",
        f"{file}:8: mcp_servers.git.oauth.clientid is not known. Did you mean client_id?",
        f"{file}:9: the MCP server none names neither a command nor a url. Write one of them.",
        f"{file}:10: there is no setting ui. Check its spelling and its indentation.",
    ]


def test_a_theme_of_ones_own_and_another_name_of_an_engine_are_taken_and_check_names_what_is_gone(run, tmp_path):
    own = tmp_path / "home" / ".nanohermes" / "themes" / "dusk.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("base: nanoherm-dark\n")
    assert run("set", "display.theme", "dusk")[0] == run("set", "web.search_backend", "ddg")[0] == 0
    assert run("check")[0] == 0
    assert "Takes one of auto, ansi, " in run("show", "display.theme")[1]
    own.write_text("base: [\n")
    code, out, _ = run("check")
    assert code == 1
    assert out.startswith(f"{file_of(tmp_path)}:2: display.theme must be one of auto, ansi, ")
    assert f"{own}:" in out  # why it is none
    assert run("set", "display.theme", "auto")[0] == run("check")[0] == 0


def test_the_path_is_that_of_the_file_that_is_written(run, tmp_path):
    assert run("path")[1].strip() == str(file_of(tmp_path))
    run("set", "display.ascii", "on")
    rows = dict(line.split("  ", 1) if "  " in line else (line, "") for line in run("path", "--all")[1].splitlines())
    assert rows[str(file_of(tmp_path))].strip() == ""
    assert "not there" in rows[str(tmp_path / "home" / ".hermes" / "config.yaml")]
