"""A session works in a repository as a person would watch it: status, edit, diff, commit, in the real sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.sandbox.probe import layers
from tests.core.git_support import git, repository
from tests.fakes.model_server import ModelServer, Reply

pytestmark = [
    pytest.mark.skipif(not layers().can_confine, reason=f"the kernel here cannot confine commands: {layers().why}"),
    pytest.mark.skipif(shutil.which("git") is None, reason="there is no git"),
]


def results(tmp_path: Path, workspace: Path, calls, mode: str = "auto") -> list[events.ToolFinished]:
    """What a session in `workspace` gives a model that makes these calls, one a step."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "HOME": str(tmp_path / "user")}
    (tmp_path / "user").mkdir(exist_ok=True)
    with ModelServer([*(Reply(calls=[call]) for call in calls), Reply(text="done")]) as server:
        env |= {"NANOHERMES_HOME": str(tmp_path / "own"), "NANOHERMES_BASE_URL": server.base_url}
        host = Host(Launch(workspace, env | {"NANOHERMES_MODEL": "m"}, {}, unattended=True, mode=mode))
        try:
            session, seen = host.new(), []
            session.send(intents.Submit("go"))
            end = time.monotonic() + 60
            while time.monotonic() < end and not any(isinstance(e, events.TurnFinished) for e in seen):
                seen += [envelope.event for envelope in session.mailbox.drain()]
                time.sleep(0.02)
        finally:
            host.close()
        assert server.violations == []
    return [event for event in seen if isinstance(event, events.ToolFinished)]


def test_status_edit_diff_commit_status_and_log_follow_one_another(tmp_path, workspace):
    repository(workspace, {"a.txt": "one\n"})
    hook = workspace / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hook-ran\ntouch ../outside 2>/dev/null && echo escaped\nexit 0\n")
    hook.chmod(0o755)
    calls = [
        ("git_status", {}),
        ("read_file", {"path": "a.txt"}),
        ("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "二"}),
        ("write_file", {"path": "新 file.txt", "content": "new\n"}),
        ("git_diff", {}),
        ("git_commit", {"message": "Say 二\n\nIt's more.", "paths": ["a.txt", "新 file.txt"]}),
        ("git_status", {}),
        ("git_diff", {"mode": "log"}),
    ]
    done = results(tmp_path, workspace, calls)
    assert [event.name for event in done] == [name for name, _ in calls]
    clean, _, _, _, difference, committed, after, listed = (event.text for event in done)
    assert "the work tree is clean" in clean
    assert "-one\n+二" in difference
    assert "Say 二" in committed
    assert "Files: a.txt, 新 file.txt" in committed
    assert "escaped" not in committed
    assert not (workspace.parent / "outside").exists()
    assert "Not tracked (1):\n  hook-ran" in after  # the hook was run, in the box
    assert [line.partition(": ")[2] for line in listed.splitlines()] == ["Say 二", "first"]
    assert git(workspace, "log", "-1", "--format=%B").strip() == "Say 二\n\nIt's more."


def test_in_a_linked_worktree_the_same_works_and_in_plan_mode_nothing_is_committed(tmp_path, workspace):
    repository(workspace, {"a.txt": "one\n"})
    git(workspace, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side/a.txt").write_text("two\n")
    commit = ("git_commit", {"message": "On the side", "all": True})
    (refused,) = results(tmp_path, tmp_path / "side", [commit], mode="plan")
    assert not refused.ok
    (made,) = results(tmp_path, tmp_path / "side", [commit])
    if not layers().mount_view:
        assert not made.ok, "without a mount view nothing of the repository is written"
        return
    assert made.ok, made.text
    assert git(workspace, "log", "-1", "--format=%s", "side") == "On the side\n"
    assert (
        subprocess.run(["git", "-C", workspace, "fsck", "--strict"], check=False, capture_output=True).returncode == 0
    )
