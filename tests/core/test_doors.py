"""Every built-in file tool goes through the same door: outside, protected, beside the workspace, through links."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core import intents
from agent_core.errors import ToolFailure
from agent_core.session.services import Containment
from agent_core.tools.builtin import builtin_tools
from tests.core.session_support import Table, say
from tests.core.session_support import call as calls
from tests.core.tool_support import call, context, prepare

READ = {"read_file": {}, "list_dir": {}, "grep": {"pattern": "x"}, "glob": {"pattern": "*"}}
CHANGE = {
    "write_file": {"content": "new\n"},
    "edit_file": {"old_text": "old", "new_text": "new"},
    "apply_patch": {"patch": "*** Update File: {path}\n@@\n-old\n+new\n"},
}
NO_PATHS = {
    "run_command", "task_start", "task_list", "task_output", "task_kill", "todo_write", "todo_read", "ask_user",
    "exit_plan", "goal_done", "session_search", "web_fetch", "web_search", "git_status",
}  # fmt: skip
GIT = {"git_diff", "git_commit"}
"""What they read and commit is of a repository: see test_git_tools and test_git_commit."""


@pytest.fixture
def place(tmp_path: Path):
    root = tmp_path.resolve()
    for folder in ("ws/.git/hooks", "ws/sub", "beside/.git/hooks", "out", "home/.ssh", "own"):
        (root / folder).mkdir(parents=True)
    for name in ("ws/a.txt", "ws/.git/hooks/post-commit", "beside/a.txt", "beside/.git/hooks/x", "out/a.txt"):
        (root / name).write_text("old\n")
    (root / "home/.ssh/id_rsa").write_text("old\n")
    (root / "ws/leads-out").symlink_to(root / "out")
    (root / "ws/file-out").symlink_to(root / "out/a.txt")
    (root / "beside/leads-out").symlink_to(root / "out")
    return root


@pytest.fixture
def ctx(place):
    return context(place, add_dirs=(place / "beside",))


def outcome(ctx, tool: str, path: str, args: dict) -> str:
    """What becomes of a call: "allow", "ask" or "refused" by the door; other failures say their code."""
    if tool in CHANGE:
        try:
            call(ctx, "read_file", path=path)  # a change of what was not read is refused for that
        except ToolFailure:
            pass
    try:
        given = {name: value.replace("{path}", path) for name, value in args.items()}
        return prepare(ctx, tool, path=path, **given).path_verdict
    except ToolFailure as failure:
        return "refused" if failure.code == "denied" else failure.code


def test_the_table_below_knows_every_tool():
    assert {tool.name for tool in builtin_tools()} <= {*READ, *CHANGE, *NO_PATHS, *GIT}


@pytest.mark.parametrize("tool", CHANGE)
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.txt", "allow"),
        ("{root}/ws/a.txt", "allow"),
        ("{root}/beside/a.txt", "allow"),
        ("../beside/a.txt", "allow"),
        (".git/hooks/post-commit", "ask"),
        ("{root}/beside/.git/hooks/x", "ask"),
        ("../out/a.txt", "refused"),
        ("{root}/out/a.txt", "refused"),
        ("leads-out/a.txt", "refused"),
        ("file-out", "refused"),
        ("{root}/beside/leads-out/a.txt", "refused"),
        ("{root}/beside/../out/a.txt", "refused"),
        ("~/.ssh/id_rsa", "refused"),
        ("/etc/hosts", "refused"),
        ("/proc/self/environ", "refused"),
    ],
)
def test_what_changes_files_stays_inside(ctx, place, tool, path, expected):
    assert outcome(ctx, tool, path.format(root=place), CHANGE[tool]) == expected


@pytest.mark.parametrize("tool", READ)
@pytest.mark.parametrize(
    ("path", "expected"),
    [("sub", "allow"), ("{root}/beside", "allow"), ("~/.ssh", "refused"), ("/proc/self/fd", "refused")],
)
def test_what_reads_refuses_the_places_of_keys(ctx, place, tool, path, expected):
    assert outcome(ctx, tool, path.format(root=place), READ[tool]) == expected


def test_searches_by_name_stay_in_the_folders_of_the_session(ctx, place):
    assert outcome(ctx, "glob", str(place / "out"), {"pattern": "*"}) == "refused"
    assert "a.txt" in call(ctx, "glob", path=str(place / "beside"), pattern="*").text
    assert "old" in call(ctx, "grep", path=str(place / "beside"), pattern="old").text


def test_what_is_written_beside_the_workspace_is_really_written(ctx, place):
    call(ctx, "write_file", path=str(place / "beside/new/deep.txt"), content="hello\n")
    assert (place / "beside/new/deep.txt").read_text() == "hello\n"


def test_commands_may_begin_in_the_folders_beside_too(ctx, place):
    assert str(place / "beside") in call(ctx, "run_command", command="pwd", cwd=str(place / "beside")).text
    with pytest.raises(ToolFailure):
        prepare(ctx, "run_command", command="pwd", cwd=str(place / "out"))


def test_a_folder_that_becomes_a_link_after_the_judgement_is_not_followed(ctx, place):
    prepared = prepare(ctx, "write_file", path=str(place / "beside/sub/b.txt"), content="x\n")
    (place / "beside/sub").symlink_to(place / "out")
    with pytest.raises(ToolFailure):
        prepared.run(None)
    assert not (place / "out/b.txt").exists()


@pytest.mark.parametrize("tool", CHANGE)
def test_with_safe_roots_nothing_else_is_changed(place, tool):
    narrow = context(place, add_dirs=(place / "beside",), safe_roots=(place / "ws/sub", place / "out"))
    (place / "ws/sub/a.txt").write_text("old\n")
    assert outcome(narrow, tool, "sub/a.txt", CHANGE[tool]) == "allow"
    for path in ("a.txt", str(place / "beside/a.txt"), str(place / "out/a.txt")):
        assert outcome(narrow, tool, path, CHANGE[tool]) == "refused"
    assert outcome(narrow, "read_file", "a.txt", {}) == "allow"


@pytest.mark.parametrize(
    ("mode", "sandbox"),
    [("plan", "workspace-write"), ("auto", "read-only"), ("goal", "read-only"), ("ask", "read-only")],
)
def test_where_nothing_may_be_written_file_tools_write_nothing_either(tmp_path, mode, sandbox):
    contained = {"containment": lambda: Containment(sandbox=sandbox, kernel=True), "unattended": True}
    writing = calls(("write_file", {"path": "new.txt", "content": "x\n"}))
    table = Table(tmp_path, writing, say("done"), **contained)
    try:
        table.session.send(intents.SetMode(mode, confirmed=True))
        table.turn("go")
        (result,) = [m.result for m in table.store.messages(table.session.id) if m.result is not None]
        assert not result.ok
        assert not (table.workspace / "new.txt").exists()
    finally:
        table.session.close()
        table.session.join(5)
        table.store.close()


def test_in_auto_mode_they_write_in_the_workspace(tmp_path):
    contained = {"containment": lambda: Containment(kernel=True), "unattended": True}
    table = Table(tmp_path, calls(("write_file", {"path": "new.txt", "content": "x\n"})), say("done"), **contained)
    try:
        table.session.send(intents.SetMode("auto", confirmed=True))
        table.turn("go")
        assert (table.workspace / "new.txt").read_text() == "x\n"
    finally:
        table.session.close()
        table.session.join(5)
        table.store.close()
