"""/init: the facts that are found on the disk, and what the model is told to write."""

import json
import time

import pytest

from agent_core import limits
from agent_core.context_files import NAMES
from agent_core.desk import init_prompt
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.errors import AgentError
from agent_core.workspace.project_facts import gather
from agent_core.workspace.tree import nothing_hidden


def project(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


WORKFLOW = """\
jobs:
  test:
    steps:
      - uses: actions/checkout@v4
      - run: npm ci
      - name: all
        run: |
          # not this
          npm test

          npm run lint
      - run: |
          npm pack
        name: no command
      - run: npm ci
"""


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"a.py": "", "b.py": "", "c.go": ""}, "languages by files: Python 2, Go 1"),
        ({"src/a.ts": "", "README.md": ""}, "at the top: README.md, src/"),
        ({"tests/test_a.py": "", "tests/b_test.go": "", "src/x.test.ts": ""}, "test files: 2 in tests/, 1 in src/"),
        ({"CLAUDE.md": "x", ".github/copilot-instructions.md": ""}, "guidance that is there: CLAUDE.md, .github/"),
        (
            {"package.json": '{"scripts": {"test": "vitest run", "x": 1}}'},
            "package.json: scripts: test = vitest run; x = 1",
        ),
        ({"package.json": '{"packageManager": "pnpm@9"}'}, "package.json: package manager pnpm@9"),
        ({"web/package.json": '{"name": "web"}'}, "web/package.json: package web"),
        ({"pyproject.toml": '[project]\nname = "p"\nrequires-python = ">=3.11"'}, "package p, Python >=3.11"),
        ({"pyproject.toml": "[tool.ruff]\n[tool.mypy]"}, "pyproject.toml: tools configured: ruff, mypy"),
        ({"Makefile": ".PHONY: a\nX := 1\ntest: build\n\tpytest\nbuild:\n"}, "Makefile: targets: test, build"),
        ({"justfile": "set shell := ['sh']\n@test *args:\n  x\nlint:\n"}, "justfile: recipes: test, lint"),
        ({"Cargo.toml": '[package]\nname = "c"\nedition = "2021"'}, "Cargo.toml: crate c, edition 2021"),
        ({"go.mod": "module example.org/m\n\ngo 1.22\nrequire (\n)"}, "go.mod: module example.org/m, go 1.22"),
        ({"package.json": "[1"}, "package.json: cannot be read"),
        ({"package.json": "[1]"}, "package.json: cannot be read"),
        ({".github/workflows/ci.yml": WORKFLOW}, "ci.yml: npm ci; npm test; npm run lint; npm pack"),
        ({".github/workflows/ci.yml": "a:\n\n\n\n\n  run: |\n    x\n"}, "ci.yml: x"),
        ({"Makefile": "some words\nall:\n"}, "Makefile: targets: all"),
        ({".gitlab-ci.yml": "test:\n  script:\n    - make test\n    - a\n"}, "CI, .gitlab-ci.yml: make test"),
        ({"Makefile": "a\x1b[2J: \nok:\n"}, "targets: ok"),
    ],
)
def test_facts_are_those_of_the_files(tmp_path, files, line):
    assert line in gather(project(tmp_path, files))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Makefile", "a\n"),
        ("Makefile", "a "),
        ("justfile", "a\n"),
        ("justfile", " "),
        (".pre-commit-config.yaml", "\n"),
        (".github/workflows/ci.yml", "\n"),
        (".github/workflows/ci.yml", "run:\n"),
        (".gitlab-ci.yml", "\n"),
    ],
)
def test_no_file_of_a_project_keeps_the_search_for_facts_busy(tmp_path, name, text):
    project(tmp_path, {name: text * (limits.FACTS_FILE // len(text) // 4)})
    before = time.process_time()
    assert name in gather(tmp_path)
    assert time.process_time() - before < 3


def test_what_is_ignored_or_not_to_be_read_is_no_fact(tmp_path):
    project(tmp_path, {".gitignore": "out/\n", "out/x.go": "", "secret/package.json": '{"name": "s"}', "a.py": ""})

    def hidden(path, is_folder):
        return "deny" if path.endswith("/secret") else ""

    found = gather(tmp_path, hidden)
    assert "Go" not in found
    assert "package s" not in found
    assert "Python 1" in found


def test_a_large_project_stays_in_the_bound(tmp_path):
    scripts = {f"script-{number}": "x" * 500 for number in range(500)}
    files = {f"p{number}/package.json": json.dumps({"scripts": scripts}) for number in range(50)}
    found = gather(project(tmp_path, files))
    assert len(found.encode()) <= limits.FACTS
    assert "truncated" in found
    assert "and 476 more" in found


def test_a_link_out_of_the_project_is_not_read(tmp_path):
    (tmp_path / "out.json").write_text('{"name": "elsewhere"}')
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "package.json").symlink_to(tmp_path / "out.json")
    assert "elsewhere" not in gather(tmp_path / "ws")


@pytest.mark.parametrize(
    ("there", "written", "says"),
    [
        ((), "AGENTS.md", "There is none yet"),
        (("AGENTS.md",), "AGENTS.md", "It is there already"),
        (("CLAUDE.md",), "AGENTS.md", "There is CLAUDE.md"),
        ((".hermes.md", "AGENTS.md"), ".hermes.md", "It is there already"),
        ((".cursorrules", "AGENTS.md"), "AGENTS.md", "It is there already"),
    ],
)
def test_the_file_that_is_read_is_the_one_that_is_written(tmp_path, there, written, says):
    assert set(there) <= set(NAMES)
    told = init_prompt.text(project(tmp_path, dict.fromkeys(there, "x")), "be short", nothing_hidden)
    assert told.startswith(f"Write {written} at the top")
    assert says in told
    assert "The user adds: be short" in told
    assert told.rstrip().endswith("</facts>")
    assert "{" not in told.partition("<facts>")[0]


def test_the_demo_says_what_is_missing_and_a_key_in_a_manifest_is_not_told(tmp_path):
    (tmp_path / "ws").mkdir()
    env = {"HOME": str(tmp_path / "home"), "OPENAI_API_KEY": "sk-very-long-secret-key-0123456789"}
    for demo in (True, False):
        host = Host(Launch(tmp_path / "ws", env, {"model.default": "gpt-x", "model.provider": "openai"}, demo=demo))
        try:
            project(tmp_path / "ws", {"package.json": json.dumps({"scripts": {"x": env["OPENAI_API_KEY"]}})})
            expand = lambda: host.typed_commands.expand("", tmp_path / "ws", "/init")  # noqa: B023, E731
            if demo:
                with pytest.raises(AgentError) as caught:
                    expand()
                assert caught.value.code == "init_needs_model"
            else:
                told = expand().text
                assert "scripts: x =" in told
                assert env["OPENAI_API_KEY"] not in told
        finally:
            host.close()
