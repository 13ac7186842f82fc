"""The corpus runner counts, names and exits as its docstring says."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import pytest

from agent_core.errors import AgentError
from tests.corpus import Skip, runner
from tests.corpus.__main__ import main


def rows(folder: Path, *items: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def module(**names: Any) -> types.ModuleType:
    made = types.ModuleType("kind")
    vars(made).update(names)
    return made


def check(row: dict[str, Any]) -> str:
    match row["id"]:
        case "skip":
            raise Skip("no such kernel")
        case "known":
            raise AgentError("x", "explained")
        case "crash":
            raise KeyError("x")
    return str(row.get("wrong", ""))


def test_every_way_a_row_can_end(tmp_path: Path) -> None:
    path = rows(
        tmp_path, *({"id": name} for name in ("ok", "skip", "known", "crash", "loose")), {"id": "bad", "wrong": "no"}
    )
    kind = module(check=check, binds=lambda row: row["id"] != "loose")
    found = {outcome.id: (outcome.status, outcome.reason) for outcome in runner.outcomes(kind, path)}
    assert found == {
        "ok": ("passed", ""),
        "skip": ("skipped", "no such kernel"),
        "known": ("failed", "AgentError: explained"),
        "crash": ("crashed", "KeyError: 'x'"),
        "loose": ("skipped", ""),
        "bad": ("failed", "no"),
    }


def test_globs_pick_ids_and_one_that_picks_none_is_a_usage_error(tmp_path: Path) -> None:
    path = rows(tmp_path, {"id": "a-1"}, {"id": "b-1"}, {"id": "b-2"})
    kind = module(check=lambda row: "")
    assert [outcome.id for outcome in runner.outcomes(kind, path, ["b-*"])] == ["b-1", "b-2"]
    assert [outcome.id for outcome in runner.outcomes(kind, path, ["a-*", "*-2"])] == ["a-1", "b-2"]
    with pytest.raises(runner.UsageError):
        list(runner.outcomes(kind, path, ["c-*"]))


def test_a_folder_holds_one_row_a_file(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"id": name}))
    (tmp_path / "README.md").write_text("not a row")
    assert [row["id"] for row in runner.load(tmp_path)] == ["a", "b"]


def test_the_command_line_prints_the_count_last_and_says_by_its_exit_code_what_happened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"id": "t-1", "input": "ls", "expected": "trusted"}
    bad = {"id": "t-2", "input": "ls \x1b[2J;id", "expected": "trusted"}
    assert main(["trusted", str(rows(tmp_path, good))]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"
    assert main(["trusted", str(rows(tmp_path, good, bad))]) == 1
    out = capsys.readouterr().out
    assert "FAILED t-2" in out
    assert "\x1b" not in out
    assert out.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"
    assert main(["trusted", str(rows(tmp_path, good, bad)), "--only", "t-1"]) == 0
    assert main(["trusted", str(tmp_path / "missing")]) == 2
    assert main(["no_such_kind", str(tmp_path)]) == 2
    assert main(["runner", str(tmp_path)]) == 2
    (tmp_path / "rows.jsonl").write_text("{")
    assert main(["trusted", str(tmp_path / "rows.jsonl")]) == 2
    with pytest.raises(SystemExit) as usage:
        main(["trusted"])
    assert usage.value.code == 2
