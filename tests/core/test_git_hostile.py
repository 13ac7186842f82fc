"""A repository that means harm: nothing that it names is run, and nothing of it is taken for another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent_core.errors import ToolFailure
from agent_core.names import GIT_COMMIT, GIT_DIFF, GIT_STATUS
from tests.core.git_support import git, repository
from tests.core.git_tool_support import confined_context, confining, needs_git, refusal
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
