"""git_status and git_diff over real repositories: what they tell, and what they keep to themselves."""

from __future__ import annotations

import os

import pytest

from agent_core import limits
from agent_core.names import GIT_DIFF, GIT_STATUS
from agent_core.ports.actions import ReadAction
from agent_core.sandbox.policy import READ_ONLY
from tests.core.git_support import commit, git, repository
from tests.core.git_tool_support import begin_merge, confined_context, confining, needs_git, refusal
from tests.core.tool_support import call, context, prepare

pytestmark = needs_git


@pytest.fixture
def ctx(tmp_path):
    return context(tmp_path)


@pytest.fixture
def ws(ctx):
    """A workspace that is a repository with one commit."""
    return repository(ctx.workspace, {"a.txt": "one\n", "b.txt": "b\n"})


@pytest.fixture
def confined(tmp_path, ctx):
    with confined_context(tmp_path, ctx) as held:
        yield held


# -- git_status ---------------------------------------------------------------------------------------------------


def test_a_folder_without_a_repository_and_one_without_commits_are_told_apart(ctx):
    assert "is in no git repository" in refusal(ctx, GIT_STATUS).text
    repository(ctx.workspace)
    assert call(ctx, GIT_STATUS).text == (
        "On branch main, which has no commit yet.\nNothing to commit, the work tree is clean."
    )
    assert call(ctx, GIT_DIFF, mode="log").text == "There is no commit yet."
    assert call(ctx, GIT_DIFF, mode="show").text == "There is no commit yet."


def test_every_name_is_told_as_it_is_and_in_its_part(ctx, ws):
    odd = ["with blank.txt", 'q"uote', "文件.txt", "line\nbreak", "-n", "*", "tab\there"]
    commit(ws, "odd", dict.fromkeys(odd, "x" * 40))
    (ws / "a.txt").write_text("two\n")
    git(ws, "add", "a.txt")
    (ws / "a.txt").write_text("three\n")
    git(ws, "mv", "with blank.txt", "moved 到.txt")
    (ws / "b.txt").unlink()
    for name in odd[1:]:
        (ws / name).write_text("y")
    (ws / "new").mkdir()
    (ws / "new/er").write_text("")
    output = call(ctx, GIT_STATUS)
    staged, unstaged, untracked = (
        output.text.split(f"{part} (")[1] for part in ("Staged", "Not staged", "Not tracked")
    )
    assert "modified: a.txt\n  renamed: with blank.txt -> moved 到.txt\n" in staged
    for name in ("a.txt", 'q"uote', "文件.txt", "line\\nbreak", "-n", "*", "tab\\there"):
        assert f"  modified: {name}\n" in unstaged, name
    assert "  deleted: b.txt\n" in unstaged
    assert untracked == "1):\n  new/"
    assert output.outcome == "10 changed"


def _begin(*words):
    def make(ws):
        begin_merge(ws)
        git(ws, *words, check=False)

    return make


UNDER_WAY = {
    "merge": (_begin("merge", "other"), "A merge is under way.\nConflicts (1):\n  both modified: a.txt"),
    "rebase": (_begin("rebase", "other"), "A rebase is under way.\nConflicts (1):\n  both modified: a.txt"),
    "cherry-pick": (_begin("cherry-pick", "other"), "A cherry-pick is under way.\nConflicts (1)"),
    "bisection": (_begin("bisect", "start"), "A bisection is under way.\n"),
    "detached": (lambda ws: git(ws, "checkout", "-q", "--detach"), "Detached at "),
}


@pytest.mark.parametrize("name", UNDER_WAY)
def test_what_is_under_way_is_said(ctx, ws, name):
    make, words = UNDER_WAY[name]
    make(ws)
    assert words in call(ctx, GIT_STATUS).text


def test_upstream_shallow_and_sparse_are_said(ctx, ws, tmp_path):
    commit(ws, "second", {"a.txt": "2\n", "deep/d.txt": "d\n"})
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{ws}", "copy")
    copy = context(tmp_path, workspace=(tmp_path / "copy").resolve())
    git(copy.workspace, "sparse-checkout", "set", "nowhere")
    commit(copy.workspace, "mine", {"mine.txt": "x"})
    said = call(copy, GIT_STATUS).text
    assert "upstream origin/main: 1 ahead." in said
    assert "The clone is shallow" in said
    assert "The checkout is sparse" in said


def test_of_many_files_some_are_named_and_all_are_counted(ctx, ws):
    for number in range(limits.GIT_NAMES + 5):
        (ws / f"f{number:04}").touch()
    text = call(ctx, GIT_STATUS).text
    assert f"Not tracked ({limits.GIT_NAMES + 5}):" in text
    assert text.endswith("[and 5 more]")


def test_a_workspace_below_the_top_sees_its_names_from_where_it_is(tmp_path):
    top = repository(tmp_path / "ws", {"sub/in.txt": "1\n", "out.txt": "1\n"})
    (top / "sub/in.txt").write_text("2\n")
    (top / "out.txt").write_text("2\n")
    below = context(tmp_path, workspace=(top / "sub").resolve())
    assert "  modified: ../out.txt\n  modified: in.txt" in call(below, GIT_STATUS).text
    shown = call(below, GIT_DIFF).text
    assert "sub/in.txt" in shown
    assert "out.txt" not in shown  # what lies outside is shown when it is asked for
    assert "+2" in call(below, GIT_DIFF, paths=["../out.txt"]).text


# -- git_diff -----------------------------------------------------------------------------------------------------


def test_each_mode_shows_its_own_difference(ctx, ws):
    second = commit(ws, "second\n\nand why", {"a.txt": "committed\n"})
    (ws / "a.txt").write_text("staged\n")
    git(ws, "add", "a.txt")
    (ws / "a.txt").write_text("worked on\n")
    (ws / "b.txt").write_bytes(b"\0\1\2")
    cases = {
        "-staged\n+worked on": {},
        "-committed\n+staged": {"mode": "staged"},
        "-one\n+worked on": {"revision": "HEAD~1"},
        "-one\n+committed": {"revision": "HEAD~1..HEAD"},
        f"commit {second}": {"mode": "show"},
        "second\n\nand why": {"mode": "show", "revision": "main"},
        " 1 file changed": {"mode": "show", "stat": True},
        "A: second\n": {"mode": "log"},
        "[the newest 1; there are more": {"mode": "log", "count": 1},
        "A: first": {"mode": "log", "revision": "HEAD~1"},
        "Binary files a/b.txt and b/b.txt differ": {"paths": ["b.txt"]},
        "No difference.": {"revision": "HEAD~1..HEAD", "paths": ["b.txt"]},
    }
    for words, args in cases.items():
        assert words in call(ctx, GIT_DIFF, **args).text, args
    assert "second" not in call(ctx, GIT_DIFF, mode="log", paths=["b.txt"]).text


BAD_REVISIONS = (
    "--output=canary", "-p", "--ext-diff", "HEAD:a.txt", ":a.txt", "nowhere", "HEAD^{tree}", "HEAD --output=canary",
    "a..--output=canary", "HEAD\n--output=canary", "x\0y", "@{-1}", "HEAD" + "~1" * 300,
)  # fmt: skip


def test_a_revision_is_a_commit_or_nothing(ctx, ws):
    for revision in BAD_REVISIONS:
        for mode in ("diff", "log"):
            refusal(ctx, GIT_DIFF, mode=mode, revision=revision)
    assert not (ws / "canary").exists()
    assert sorted(path.name for path in ws.iterdir()) == [".git", "a.txt", "b.txt"]


def test_a_path_is_a_name_and_neither_option_nor_pattern(ctx, ws):
    for name in ("-p", "--output=canary", "*", ":(exclude)a.txt", "[ab].txt"):
        (ws / name).write_text("1\n")
        git(ws, "--literal-pathspecs", "add", "--", name)
        (ws / name).write_text("2\n")
        (ws / "a.txt").write_text("changed\n")
        shown = call(ctx, GIT_DIFF, paths=[name]).text
        assert shown.count("diff --git") == 1, name
        assert "changed" not in shown
    assert not (ws / "canary").exists()


def test_files_of_secrets_are_left_out_and_named_wherever_they_changed(ctx, ws):
    commit(ws, "keys", {".env": "KEY=hunter1\n", "c.txt": "seen\n"})
    git(ws, "mv", ".env", "deep.env")
    (ws / "deep").mkdir()
    git(ws, "mv", "deep.env", "deep/.env.local")
    (ws / "deep/.env.local").write_text("KEY=hunter2\n")
    (ws / "c.txt").write_text("worked on\n")
    for args in ({}, {"mode": "staged"}, {"revision": "HEAD"}, {"mode": "show"}, {"revision": "HEAD~1", "stat": True}):
        text = call(ctx, GIT_DIFF, **args).text
        assert "hunter" not in text, args
        assert "[not shown, protected (keys, .env): " in text, args
    # A person may let one be read.
    asked = prepare(ctx, GIT_DIFF, paths=["deep/.env.local"])
    assert (asked.path_verdict, asked.action) == ("ask", ReadAction("deep/.env.local"))
    assert "+KEY=hunter2" in asked.run(READ_ONLY).text
    assert "one of them at a time" in refusal(ctx, GIT_DIFF, paths=["deep/.env.local", ".env"]).text


def test_no_setting_of_a_repository_shows_a_secret_or_makes_it_wait(tmp_path):
    top = repository(tmp_path / "ws", {"sub/.env": "KEY=hunter1\n", "sub/in.txt": "1\n"})
    os.mkfifo(top / "pipe")
    for name, value in (("diff.relative", "true"), ("log.showRoot", "false")):
        git(top, "config", name, value)
    for name in ("diff.orderFile", "mailmap.file"):
        git(top, "config", name, str(top / "pipe"))
    (top / "sub/.env").write_text("KEY=hunter2\n")
    (top / "sub/in.txt").write_text("2\n")
    below = context(tmp_path, workspace=(top / "sub").resolve())
    for args in ({}, {"mode": "show"}, {"revision": "HEAD"}):
        text = call(below, GIT_DIFF, **args).text
        assert "hunter" not in text, args
        assert "diff --git a/sub/in.txt" in text, args
        assert text.endswith("[not shown, protected (keys, .env): .env]"), args
    assert "first" in call(below, GIT_DIFF, mode="log").text


def test_in_a_merge_secrets_are_left_out_too(ctx, ws):
    commit(ws, "keys", {".env": "KEY=hunter1\n"})
    git(ws, "checkout", "-q", "-b", "other")
    commit(ws, "theirs", {"a.txt": "theirs\n", ".env": "KEY=hunter2\n"})
    git(ws, "checkout", "-q", "main")
    commit(ws, "ours", {"a.txt": "ours\n", ".env": "KEY=hunter3\n"})
    git(ws, "merge", "other", check=False)
    during = call(ctx, GIT_DIFF).text
    commit(ws, "merged", {"a.txt": "both\n", ".env": "KEY=hunter4\n"})
    for text in (during, call(ctx, GIT_DIFF, mode="show").text, call(ctx, GIT_DIFF, revision="main~1...other").text):
        assert "theirs" in text
        assert "hunter" not in text
        assert "[not shown, protected (keys, .env): .env]" in text


@confining
def test_in_the_sandbox_secrets_are_neither_shown_nor_missed(confined, ws):
    commit(ws, "keys", {".env": "KEY=hunter1\n"})
    (ws / ".env").write_text("KEY=hunter2 and more\n")
    (ws / "a.txt").write_text("changed\n")
    text = call(confined, GIT_DIFF).text
    assert "+changed" in text
    assert "hunter" not in text
    assert "hunter" not in call(confined, GIT_DIFF, mode="show").text
    assert "+KEY=hunter2" in prepare(confined, GIT_DIFF, paths=[".env"]).run(READ_ONLY).text


def test_a_difference_that_is_too_long_says_what_is_missing_and_how_to_see_it(ctx, ws):
    commit(ws, "many", {f"f{n}.txt": "x\n" * 50 for n in range(60)})
    for n in range(60):
        (ws / f"f{n}.txt").write_text("y 变了\n" * 50)
    text = call(ctx, GIT_DIFF).text
    assert len(text.encode()) <= ctx.bounds.most
    assert "[cut here. Not shown, or not whole: " in text
    rest = text.rpartition("Not shown")[2]
    first = rest.split(": ")[1].split(",")[0]
    assert text.count("diff --git") == sorted(f"f{n}.txt" for n in range(60)).index(first) + 1  # it may be half shown
    assert " more. Give paths, stat=true" in rest
    assert "60 files changed" in call(ctx, GIT_DIFF, stat=True).text


def test_what_a_file_holds_is_data(ctx, ws):
    (ws / "a.txt").write_bytes(b"\x1b]0;title\x07 red\x1b[31m \xff end\r\n")
    text = call(ctx, GIT_DIFF).text
    assert "\x1b" not in text
    assert "+ red \ufffd end" in text
