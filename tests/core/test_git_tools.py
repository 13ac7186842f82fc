"""git_status, git_diff, git_commit: what they say, what they commit, and what a repository cannot make them run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.confinement import Confinement
from agent_core.errors import ToolFailure
from agent_core.names import GIT_COMMIT, GIT_DIFF, GIT_STATUS
from agent_core.ports.actions import CommandAction, ReadAction
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox.policy import READ_ONLY, UNCONFINED
from agent_core.sandbox.probe import layers
from tests.core.git_support import commit, git, repository
from tests.core.tool_support import call, context, prepare

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
LACKS = "" if layers().can_confine else f"the kernel here cannot confine commands: {layers().why}"
confining = pytest.mark.skipif(bool(LACKS), reason=LACKS)


@pytest.fixture
def ctx(tmp_path):
    return context(tmp_path)


@pytest.fixture
def ws(ctx):
    """A workspace that is a repository with one commit."""
    return repository(ctx.workspace, {"a.txt": "one\n", "b.txt": "b\n"})


@pytest.fixture
def confined(tmp_path, ctx):
    """The same workspace in the real sandbox."""
    walls = Confinement(ctx.workspace, tmp_path / "home", tmp_path / "own", lambda: nothing_more)
    yield context(tmp_path, confine=walls.policy)
    walls.close()


def refusal(ctx, tool, **args) -> ToolFailure:
    with pytest.raises(ToolFailure) as error:
        call(ctx, tool, **args)
    return error.value


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


def _merge(ws):
    git(ws, "checkout", "-q", "-b", "other")
    commit(ws, "theirs", {"a.txt": "theirs\n"})
    git(ws, "checkout", "-q", "main")
    commit(ws, "ours", {"a.txt": "ours\n"})


def _begin(*words):
    def make(ws):
        _merge(ws)
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


# -- a repository that means harm ---------------------------------------------------------------------------------


class Hostile:
    """A repository whose settings name a program that leaves a canary outside the workspace."""

    def __init__(self, ws: Path, tmp_path: Path) -> None:
        self.ws = ws
        self.canary = tmp_path / "canary"
        self.program = tmp_path / "evil"
        self.program.write_text(f"#!/bin/sh\ntouch {self.canary}\ncat\n")
        self.program.chmod(0o755)
        (ws / "a.txt").write_text("two\n")

    def set(self, name: str, value: str = "") -> None:
        git(self.ws, "config", name, value or str(self.program))

    def attributes(self, text: str, place: str = ".gitattributes") -> None:
        path = self.ws / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def hook(self, name: str, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        shutil.copy(self.program, folder / name)


def _fsmonitor(h):
    h.set("core.fsmonitor")


def _clean(h):
    h.set("filter.x.clean")
    h.attributes("* filter=x\n")


def _required(h):
    h.set("filter.x.clean")
    h.set("filter.x.required", "true")
    h.attributes("* filter=x\n", ".git/info/attributes")


def _process(h):
    h.set("filter.x.process")
    h.attributes("* filter=x\n")


def _equals(h):
    h.set("filter.a=b.clean")
    h.attributes("* filter=a=b\n")


def _attributes_file(h):
    h.set("filter.x.clean")
    h.set("core.attributesFile", str(h.ws / "attr"))
    h.attributes("* filter=x\n", "attr")


def _textconv(h):
    h.set("diff.x.textconv")
    h.attributes("* diff=x\n")


def _external(h):
    h.set("diff.external")


def _driver(h):
    h.set("diff.x.command")
    h.attributes("* diff=x\n")


def _hooks_path(h):
    h.hook("post-index-change", h.ws / "my hooks")
    h.set("core.hooksPath", "my hooks")


def _hooks(h):
    h.hook("post-index-change", h.ws / ".git/hooks")


def _include(h):
    (h.ws / "more").write_text(f"[core]\nfsmonitor = {h.program}\n")
    h.set("include.path", "../more")


def _worktree_config(h):
    h.set("extensions.worktreeConfig", "true")
    (h.ws / ".git/config.worktree").write_text(f"[core]\nfsmonitor = {h.program}\n")


def _signature(h):
    h.set("log.showSignature", "true")
    h.set("gpg.program")
    signed = git(h.ws, "cat-file", "commit", "HEAD").replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n", 1)
    (h.ws / ".git/signed").write_text(signed.replace("\n \n", "\n -----END PGP SIGNATURE-----\n\n", 1))
    git(h.ws, "reset", "-q", "--soft", git(h.ws, "hash-object", "-t", "commit", "-w", ".git/signed").strip())


def _lazy_fetch(h):
    for name, value in {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "far", "remote.far.promisor": "true",
        "remote.far.partialCloneFilter": "blob:none", "remote.far.url": "ssh://far/away",
        "core.sshCommand": f"touch {h.canary} #",
    }.items():  # fmt: skip
        h.set(name, value)
    blob = git(h.ws, "rev-parse", "HEAD:a.txt").strip()
    (h.ws / ".git/objects" / blob[:2] / blob[2:]).unlink()


def _remote_helper(h):
    _lazy_fetch(h)
    h.set("remote.far.url", f"ext::touch {h.canary}")
    h.set("protocol.ext.allow", "always")


def _submodule(h):
    repository(h.ws.parent / "part", {"p.txt": "p\n"})
    git(h.ws, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(h.ws.parent / "part"), "part")
    git(h.ws / "part", "config", "core.fsmonitor", str(h.program))


HOSTILE = {
    "fsmonitor": (_fsmonitor, ["status"]),
    "a clean filter": (_clean, ["status"]),
    "a required filter": (_required, ["status"]),
    "a filter process": (_process, ["status"]),
    "a filter with an equals sign": (_equals, ["status"]),
    "a file of attributes": (_attributes_file, ["status"]),
    "textconv": (_textconv, ["diff"]),
    "an external diff": (_external, ["diff"]),
    "a diff driver": (_driver, ["diff"]),
    "a folder of hooks": (_hooks_path, ["add", "a.txt"]),
    "its own hooks": (_hooks, ["add", "a.txt"]),
    "an included file": (_include, ["status"]),
    "the configuration of a worktree": (_worktree_config, ["status"]),
    "a signature": (_signature, ["log"]),
    "a missing object": (_lazy_fetch, ["diff"]),
    "a helper for a remote": (_remote_helper, ["diff"]),
    "a submodule": (_submodule, ["status"]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_a_repository_names_is_run_by_reading_it(ctx, ws, tmp_path, name):
    make, plain = HOSTILE[name]
    hostile = Hostile(ws, tmp_path)
    make(hostile)
    hostile.canary.unlink(missing_ok=True)  # what made it was git, too
    for args in ((GIT_STATUS, {}), (GIT_DIFF, {}), (GIT_DIFF, {"mode": "show"})):
        try:
            call(ctx, args[0], **args[1])
        except ToolFailure:
            assert "object" in name or "remote" in name  # what is missing is missing
        assert not hostile.canary.exists(), args
    git(ws, *plain, check=False)  # who asks plainly does run it
    assert hostile.canary.exists(), "the repository of this case is harmless"


@confining
def test_in_the_sandbox_all_of_it_at_once_stays_silent_and_the_answer_is_right(confined, ws, tmp_path):
    hostile = Hostile(ws, tmp_path)
    for make in (_fsmonitor, _clean, _textconv, _external, _hooks, _signature, _include):
        make(hostile)
    hostile.canary.unlink()
    assert "modified: a.txt" in call(confined, GIT_STATUS).text
    assert "+two" in call(confined, GIT_DIFF).text
    assert "content filters were not run: x" in call(confined, GIT_STATUS).text
    assert not hostile.canary.exists()


def test_a_repository_that_says_its_files_are_elsewhere_is_not_read(ctx, ws, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.txt").write_text("of somebody else\n")
    git(ws, "config", "core.worktree", str(secret))
    for tool in (GIT_STATUS, GIT_DIFF):
        assert "core.worktree" in refusal(ctx, tool).text


def test_a_link_to_anothers_repository_is_asked_about_and_never_committed_to(ctx, tmp_path):
    other = repository(tmp_path / "other", {"a.txt": "of somebody else\n"})
    (ctx.workspace / ".git").write_text(f"gitdir: {other / '.git'}\n")
    for tool in (GIT_STATUS, GIT_DIFF):
        assert prepare(ctx, tool).path_verdict == "ask"
    assert "does not know this folder" in refusal(ctx, GIT_COMMIT, message="x", paths=["a.txt"]).text
    # A true worktree of it is asked about no more than any other.
    git(other, "worktree", "add", "-q", str(tmp_path / "linked"))
    linked = context(tmp_path, workspace=tmp_path / "linked")
    assert prepare(linked, GIT_STATUS).path_verdict == "allow"


def test_a_submodule_is_no_stranger(ctx, ws, tmp_path):
    _submodule(Hostile(ws, tmp_path))
    below = context(tmp_path, workspace=ws / "part")
    assert prepare(below, GIT_STATUS).path_verdict == "allow"


def test_a_bare_repository_among_the_files_is_none(ctx, ws, tmp_path):
    hostile = Hostile(ws, tmp_path)
    (ws / "sub").mkdir()
    for name in ("HEAD", "config", "objects", "refs"):
        source = ws / ".git" / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, ws / "sub" / name)
    git(ws, "config", "-f", "sub/config", "core.fsmonitor", str(hostile.program))
    git(ws, "config", "-f", "sub/config", "core.bare", "false")
    git(ws, "config", "-f", "sub/config", "core.worktree", "..")
    below = context(tmp_path, workspace=ws / "sub")
    refusal(below, GIT_STATUS)
    assert not hostile.canary.exists()


def test_a_git_in_the_workspace_is_never_the_one_that_is_run(ctx, ws, tmp_path):
    hostile = Hostile(ws, tmp_path)
    (ws / "bin").mkdir()
    shutil.copy(hostile.program, ws / "bin/git")
    led = context(tmp_path, env={**ctx.env, "PATH": f"{ws / 'bin'}:{ctx.env['PATH']}"})
    assert "modified: a.txt" in call(led, GIT_STATUS).text
    assert not hostile.canary.exists()


# -- git_commit ---------------------------------------------------------------------------------------------------


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
    _merge(ws)
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
