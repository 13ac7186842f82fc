"""`nanoherm-tui skills ...` as a shell and a script use it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_core import limits
from nanoherm_tui.subcommands import skills

# In the manner of published skills: folded text, a list of platforms, Hermes' metadata, a colon in quotes.
PUBLISHED = """\
---
name: decide
description: >
  A frame for decisions: one problem,
  three options, one proposal.
version: 1.0.0
platforms: [macos]
metadata:
  hermes:
    tags: [decisions, "trade-offs: all"]
    related_skills: [plan]
---

# Decide

    ```
    ---
    ```
"""


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs the command in a folder of its own, with a home of its own."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NANOHERMES_HOME", raising=False)

    def made(*arguments: str) -> Done:
        code = skills.main(arguments)
        return Done(code, *capsys.readouterr())

    return made


def put(tmp_path: Path, name: str, text: str) -> Path:
    file = tmp_path / "home" / ".nanohermes" / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_skills_are_listed_shown_and_checked(run, tmp_path):
    empty = run("list")
    assert (empty.returncode, empty.stdout) == (0, "")
    assert "~/.nanohermes/skills/my-skill/SKILL.md" in empty.stderr
    file = put(tmp_path, "decide", PUBLISHED)
    listed = run("list")
    assert listed.stdout.splitlines()[1].split()[:2] == ["decide", "yours"]
    assert "[for macos only]" in listed.stdout
    shown = json.loads(run("show", "decide", "--json").stdout)
    assert shown["description"] == "A frame for decisions: one problem, three options, one proposal."
    assert shown["body"] == PUBLISHED.partition("---\n\n")[2]
    missing = run("show", "decid")
    assert (missing.returncode, "Did you mean decide?" in missing.stderr) == (1, True)
    checked = run("check")
    assert (checked.returncode, checked.stdout) == (0, f"{file}: ok (decide)\n")


def test_that_a_projects_skills_wait_for_trust_is_told(run, tmp_path, monkeypatch):
    folder = tmp_path / "project" / ".nanohermes" / "skills" / "mine"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("Do it.\n")
    monkeypatch.chdir(tmp_path / "project")
    listed = run("list")
    assert listed.stdout == ""
    assert "is not trusted: .nanohermes/skills/mine/SKILL.md does nothing" in listed.stderr
    assert run("show", "mine").returncode == 1


def test_a_file_that_cannot_be_loaded_is_named_and_hides_no_other(run, tmp_path):
    put(tmp_path, "good", PUBLISHED)
    put(tmp_path, "binary", "x").write_bytes(bytes(range(256)) * 8)
    put(tmp_path, "large", f"---\nname: large\ndescription: Much.\n---\n{'x' * limits.SKILL_FILE}")
    checked = run("check", "--json")
    told = {
        one["name"]: (bool(one["body"]), [problem["text"] for problem in one["problems"]])
        for one in json.loads(checked.stdout)
    }
    assert checked.returncode == 1
    assert told["decide"] == (True, [])
    assert told["binary"][0] is False
    assert told["binary"][1][0] == "is no text. Save it as UTF-8."
    assert [text.partition(",")[0] for text in told["large"][1]] == ["is larger than 256 KB"]


def test_a_check_names_file_and_line_and_fails(run, tmp_path):
    bad = tmp_path / "shared" / "one" / "SKILL.md"
    bad.parent.mkdir(parents=True)
    bad.write_text("---\nname: one\ndescription: Use when: asked\n---\nDo it.\n")
    for given in (bad, bad.parent, tmp_path / "shared"):
        checked = run("check", str(given))
        assert checked.returncode == 1
        assert checked.stdout.startswith(f"{bad}:3: ")
    assert run("check", str(tmp_path / "none")).returncode == 2
