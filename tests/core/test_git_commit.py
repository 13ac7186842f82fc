"""git_commit over real repositories: exactly the chosen files, and a message that is data."""

from __future__ import annotations

import os
import subprocess

import pytest

from agent_core.names import GIT_COMMIT, GIT_STATUS
from agent_core.ports.actions import CommandAction
from agent_core.sandbox.policy import READ_ONLY, UNCONFINED
from tests.core.git_support import commit, git, repository
from tests.core.git_tool_support import begin_merge, needs_git, refusal
from tests.core.tool_support import call, context, prepare

pytestmark = needs_git


@pytest.fixture
def ctx(tmp_path):
    return context(tmp_path)


@pytest.fixture
def ws(ctx):
    """A workspace that is a repository with one commit."""
    return repository(ctx.workspace, {"a.txt": "one\n", "b.txt": "b\n"})


def test_only_the_chosen_files_are_committed_and_what_was_staged_stays_staged(ctx, ws):
    commit(ws, "more", {"gone.txt": "x\n", "old.txt": "y\n" * 20})
    (ws / "b.txt").write_text("staged by the person\n")
    git(ws, "add", "b.txt")
    (ws / "a.txt").write_text("chosen\n")
    (ws / "gone.txt").unlink()
    git(ws, "mv", "old.txt", "renamed.txt")
    (ws / "文 件's.txt").write_text("new\n")
    (ws / "left.txt").write_text("not chosen\n")
    chosen = ["a.txt", "gone.txt", "renamed.txt", "文 件's.txt"]
    output = call(ctx, GIT_COMMIT, message="Some of it", paths=chosen)
    assert output.ok, output.text
    assert output.text.startswith("Committed ")
    named = git(ws, "-c", "core.quotePath=false", "show", "--format=", "--name-status", "--no-renames").split("\n")
    assert sorted(filter(None, named)) == [
        "A\trenamed.txt", "A\t文 件's.txt", "D\tgone.txt", "D\told.txt", "M\ta.txt"
    ]  # fmt: skip
    assert git(ws, "status", "--porcelain") == "M  b.txt\n?? left.txt\n"


MESSAGES = (
    "-m --amend",
    "plain",
    "主题\n\n正文 with 'quotes', \"more\", $HOME `id` \\ and\n# a line that is no remark\n! $(touch canary)",
    "#1 is mended",
    "it's `touch canary`",
    "it's \\ back",
    "it's\n!history",
)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_data(ctx, ws, message):
    (ws / "a.txt").write_text("two\n")
    assert call(ctx, GIT_COMMIT, message=message, all=True).ok
    assert git(ws, "log", "-1", "--format=%B").strip() == message
    assert git(ws, "rev-list", "--count", "HEAD") == "2\n"
    assert not (ws / "canary").exists()


@pytest.mark.parametrize("name", ["-a", "*", "[ab].txt", ":(top)a.txt", "line\nbreak", "$(touch canary)", "a b"])
def test_a_chosen_path_is_a_name(ctx, ws, name):
    (ws / name).write_text("new\n")
    (ws / "a.txt").write_text("not chosen\n")
    assert call(ctx, GIT_COMMIT, message="x", paths=[name]).ok
    assert git(ws, "show", "--format=", "--name-only", "-z") == f"{name}\0"
    assert not (ws / "canary").exists()


def test_a_folder_stands_for_its_changes_but_not_for_secrets(ctx, ws):
    for name in ("new/one.txt", "new/.env", "new/key.pem"):
        (ws / name).parent.mkdir(exist_ok=True)
        (ws / name).write_text("x\n")
    assert call(ctx, GIT_COMMIT, message="x", paths=["new"]).ok
    assert git(ws, "show", "--format=", "--name-only") == "new/one.txt\n"
    for args in ({"paths": ["new/.env"]}, {"paths": ["new/one.txt", "new/key.pem"]}):
        assert "protected" in refusal(ctx, GIT_COMMIT, message="x", **args).text
    commit(ws, "tracked by the person", {".env": "1\n"})
    (ws / ".env").write_text("2\n")
    assert ".env: protected" in refusal(ctx, GIT_COMMIT, message="x", all=True).text


def test_what_is_asked_about_is_exactly_what_runs(ctx, ws):
    (ws / "a.txt").write_text("two\n")
    prepared = prepare(ctx, GIT_COMMIT, message="it's", paths=["a.txt"])
    assert prepared.action == CommandAction("""git commit -m "it's" --only -- a.txt""", str(ws))
    (ws / "new").write_text("x")
    both = prepare(ctx, GIT_COMMIT, message="x", paths=["a.txt", "new"])
    assert both.action.command == "git add --intent-to-add -- new && git commit -m x --only -- a.txt new"
    git(ws, "add", "a.txt")
    assert prepare(ctx, GIT_COMMIT, message="x").action.command == "git commit -m x"
    assert prepared.seal(READ_ONLY) != prepare(ctx, GIT_COMMIT, message="y", all=True).seal(READ_ONLY)
    # What the person makes of it is what runs then.
    edited = prepare(ctx, GIT_COMMIT, message="x", command="git commit -m 'as the person says'")
    assert edited.run(UNCONFINED).text.startswith("Committed ")
    assert git(ws, "log", "-1", "--format=%s") == "as the person says\n"


def _no_identity(ws, home):
    for name in ("user.name", "user.email"):
        git(ws, "config", "--unset", name)
    git(ws, "config", "user.useConfigOnly", "true")


def _locked(ws, home):
    (ws / ".git/index.lock").touch()


def _hook(ws, home):
    hook = ws / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'line 3: 太长'\nexit 1\n")
    hook.chmod(0o755)


def _unsigned(ws, home):
    signer = home / "gpg"
    signer.write_text("#!/bin/sh\necho 'no pinentry' >&2\nexit 2\n")
    signer.chmod(0o755)
    git(ws, "config", "commit.gpgSign", "true")
    git(ws, "config", "gpg.program", str(signer))


FAILURES = {
    "no identity": (_no_identity, "git config --global user.name NAME"),
    "locked": (_locked, "Another git command is at work"),
    "exit 1": (_hook, "line 3: 太长"),
    "not signed": (_unsigned, "nobody can type a passphrase here"),
}


@pytest.mark.parametrize("outcome", FAILURES)
def test_a_commit_that_fails_says_why_and_changes_nothing(ctx, ws, tmp_path, outcome):
    spoil, words = FAILURES[outcome]
    (ws / "a.txt").write_text("two\n")
    spoil(ws, tmp_path / "home")
    before = git(ws, "rev-parse", "HEAD")
    output = call(ctx, GIT_COMMIT, message="x", paths=["a.txt"])
    assert not output.ok
    assert words in output.text
    assert output.outcome == outcome
    assert git(ws, "rev-parse", "HEAD") == before


def test_the_hooks_of_the_repository_see_the_commit(ctx, ws):
    hook = ws / ".git/hooks/commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho "Checked-by: hook" >> "$1"\n')
    hook.chmod(0o755)
    (ws / "a.txt").write_text("two\n")
    assert call(ctx, GIT_COMMIT, message="x", all=True).ok
    assert "Checked-by: hook" in git(ws, "log", "-1", "--format=%B")


def test_where_there_is_nothing_to_commit_it_says_what_there_is(ctx, ws):
    assert "the work tree is clean" in refusal(ctx, GIT_COMMIT, message="x").text
    (ws / "new.txt").write_text("x")
    assert "Not tracked: new.txt" in refusal(ctx, GIT_COMMIT, message="x", all=True).text
    (ws / "a.txt").write_text("two\n")
    assert "Nothing is staged. Changed: a.txt, new.txt" in refusal(ctx, GIT_COMMIT, message="x").text
    assert "b.txt: there is no change to commit" in refusal(ctx, GIT_COMMIT, message="x", paths=["a.txt", "b.txt"]).text
    assert "message is empty" in refusal(ctx, GIT_COMMIT, message=" \n", all=True).text
    assert "outside the repository" in refusal(ctx, GIT_COMMIT, message="x", paths=["../elsewhere"]).text


def test_a_merge_is_committed_as_a_whole_once_it_has_no_conflicts(ctx, ws):
    begin_merge(ws)
    git(ws, "merge", "other", check=False)
    assert "conflicts in a.txt" in refusal(ctx, GIT_COMMIT, message="merged", all=True).text
    (ws / "a.txt").write_text("both\n")
    git(ws, "add", "a.txt")
    assert "A merge is under way" in refusal(ctx, GIT_COMMIT, message="merged", paths=["a.txt"]).text
    assert call(ctx, GIT_COMMIT, message="merged").ok
    assert len(git(ws, "log", "-1", "--format=%P").split()) == 2


def test_another_users_repository_is_told_with_the_way_out(ctx, ws):
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    for path in (ws, ws / ".git"):
        os.chown(path, 65534, 65534)
    assert "safe.directory" in refusal(ctx, GIT_STATUS).text


def test_without_git_it_says_so(tmp_path, ws):
    assert "git is not installed" in refusal(context(tmp_path, env={"PATH": str(tmp_path)}), GIT_STATUS).text
    assert subprocess.run(["git", "--version"], check=False, capture_output=True).returncode == 0
