"""Linked worktrees: made beside the repository, removed without losing work, and committed in from the sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.cancel import CancelScope
from agent_core.confinement import Confinement, Options
from agent_core.errors import AgentError
from agent_core.git.linked_worktree import link_of
from agent_core.git.worktrees import Worktrees
from agent_core.process.command import LocalBackend
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox.policy import Box
from agent_core.sandbox.probe import Layers, layers
from tests.core.git_support import commit, git, repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
WRITE = Box("workspace-write")
WHOLE = Layers("x86_64", 7, "", 7, True, "root", "", "")
NO_VIEW = Layers("x86_64", 7, "", 7, True, "", "unshare: EPERM", "")


@pytest.fixture
def shop(tmp_path):
    return repository(tmp_path.resolve() / "shop", {"a.txt": "one\n", "sub/b.txt": "b\n"})


def trees(folder: Path) -> Worktrees:
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder.parent / "home")}
    return Worktrees(folder, env, CancelScope())


def refusal(call, *args, **more) -> AgentError:
    with pytest.raises(AgentError) as error:
        call(*args, **more)
    return error.value


# -- making, listing, removing ------------------------------------------------------------------------------------


def test_a_worktree_lies_beside_the_repository_on_a_branch_from_what_is_checked_out(shop):
    at = git(shop, "rev-parse", "HEAD").strip()
    one, folder = trees(shop).make()
    assert (one.branch, one.folder, folder, one.commit) == ("side-1", shop.parent / "shop-side-1", folder, at)
    assert (folder / "a.txt").read_text() == "one\n"
    assert git(shop, "status", "--porcelain") == ""  # nothing of it is among the repository's files
    # From within it the next one lies beside it, and a workspace below the top is found again in it.
    second, inner = trees(folder / "sub").make("fix/第一")
    assert (second.folder, inner) == (shop.parent / "shop-fix-第一", shop.parent / "shop-fix-第一/sub")
    assert trees(folder).make()[0].branch == "side-2"
    assert [tree.name for tree in trees(inner).list()] == ["fix/第一", "side-1", "side-2"]


def test_a_branch_that_exists_is_worked_on_and_a_folder_that_exists_is_left_alone(shop):
    git(shop, "branch", "old")
    assert trees(shop).make("old")[0].branch == "old"
    (shop.parent / "shop-taken").mkdir()
    assert refusal(trees(shop).make, "taken").code == "worktree_exists"
    assert not list((shop.parent / "shop-taken").iterdir())
    assert refusal(trees(shop).make, "main").code == "worktree_git"  # is checked out already


@pytest.mark.parametrize("name", ["-b", "--force", "a b", "..", "/", "a~1", "x" * 200, "a\nb", "@{-1}", "\x1b[31m"])
def test_what_no_branch_can_be_called_makes_nothing(shop, name):
    error = refusal(trees(shop).make, name)
    assert error.code == "worktree_name"
    assert "\x1b" not in error.text
    assert os.listdir(shop.parent) == ["shop"]
    assert git(shop, "branch", "--format=%(refname)") == "refs/heads/main\n"


def test_without_a_repository_or_a_commit_it_says_so(tmp_path):
    (tmp_path / "plain").mkdir()
    assert refusal(trees(tmp_path / "plain").list).code == "worktree_no_repository"
    assert refusal(trees(repository(tmp_path / "empty")).make).code == "worktree_empty"


def test_one_without_work_of_its_own_goes_with_its_branch(shop):
    _, folder = trees(shop).make("done")
    commit(folder, "merged", {"c.txt": "c\n"})
    git(shop, "merge", "-q", "done")
    removed = trees(shop).remove("done")
    assert (removed.stashed, removed.branch_deleted) == (False, True)
    assert not folder.exists()
    assert git(shop, "branch", "--format=%(refname)") == "refs/heads/main\n"


def test_changes_and_commits_are_told_and_survive_the_removal(shop):
    _, folder = trees(shop).make("work")
    tip = commit(folder, "only here", {"c.txt": "c\n"})
    (folder / "a.txt").write_text("changed\n")
    (folder / "new.txt").write_text("new\n")
    found = trees(shop).find("work")
    assert (found.changed, found.unmerged) == (2, 1)
    assert refusal(trees(shop).remove, "work").params == {"name": "work", "changed": 2, "commits": 1}
    assert folder.exists()
    removed = trees(shop).remove("work", sure=True)
    assert (removed.stashed, removed.branch_deleted) == (True, False)
    assert not folder.exists()
    assert git(shop, "rev-parse", "work").strip() == tip
    git(shop, "checkout", "-q", "work")
    git(shop, "stash", "pop", "-q")
    assert ((shop / "a.txt").read_text(), (shop / "new.txt").read_text()) == ("changed\n", "new\n")


def test_commits_on_no_branch_get_one(shop):
    git(shop, "worktree", "add", "-q", "--detach", str(shop.parent / "loose"))
    tip = commit(shop.parent / "loose", "on no branch", {"c.txt": "c\n"})
    trees(shop).remove("loose", sure=True)
    assert git(shop, "rev-parse", "loose").strip() == tip


def test_one_that_git_does_not_remove_keeps_its_changes(shop, tmp_path):
    part = repository(tmp_path.resolve() / "part", {"p.txt": "p\n"})
    allowed = ("-c", "protocol.file.allow=always", "submodule")
    git(shop, *allowed, "add", "-q", str(part), "part")
    git(shop, "commit", "-q", "-m", "with a part")
    _, folder = trees(shop).make("one")
    git(folder, *allowed, "update", "-q", "--init")
    (folder / "a.txt").write_text("changed\n")
    (folder / "new.txt").write_text("new\n")
    assert refusal(trees(shop).remove, "one", sure=True).code == "worktree_git"  # git: it contains submodules
    assert (folder / "a.txt").read_text() == "changed\n"
    assert (folder / "new.txt").exists()
    assert git(shop, "stash", "list") == ""


def test_a_branch_that_is_not_ours_stays_and_what_is_locked_or_unknown_too(shop):
    git(shop, "worktree", "add", "-q", "-b", "theirs", str(shop.parent / "elsewhere"))
    git(shop, "worktree", "lock", str(shop.parent / "elsewhere"))
    assert refusal(trees(shop).remove, "theirs", sure=True).code == "worktree_locked"
    git(shop, "worktree", "unlock", str(shop.parent / "elsewhere"))
    assert not trees(shop).remove("elsewhere").branch_deleted
    assert git(shop, "branch", "--list", "theirs").strip() == "theirs"
    assert refusal(trees(shop).remove, "main", sure=True).code == "worktree_unknown"  # the repository itself
    _, gone = trees(shop).make("gone")
    shutil.rmtree(gone)
    assert trees(shop).find("gone").is_missing
    assert trees(shop).remove("gone").worktree.name == "gone"
    assert trees(shop).list() == ()


def test_making_one_runs_no_program_that_the_repository_names(shop, tmp_path):
    canary, evil = tmp_path / "canary", tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {canary}\ncat\n")
    evil.chmod(0o755)
    (shop / ".git/hooks").mkdir(exist_ok=True)
    shutil.copy(evil, shop / ".git/hooks/post-checkout")
    git(shop, "config", "filter.x.smudge", str(evil))
    commit(shop, "attributes", {".gitattributes": "* filter=x\n"})
    canary.unlink(missing_ok=True)
    _, folder = trees(shop).make("quiet")
    trees(shop).list()
    assert not canary.exists()
    assert (folder / "a.txt").read_text() == "one\n"
    git(shop, "worktree", "add", "-q", str(tmp_path / "plain"))
    assert canary.exists(), "the repository of this test is harmless"


# -- the link -----------------------------------------------------------------------------------------------------


@pytest.fixture
def linked(shop):
    git(shop, "worktree", "add", "-q", "-b", "side", str(shop.parent / "side"))
    return shop.parent / "side"


def test_a_true_link_gives_what_a_commit_needs_and_keeps_what_steers_git(shop, linked):
    link = link_of(linked)
    mine, git_dir = shop / ".git/worktrees/side", shop / ".git"
    assert link.writable == (mine, git_dir / "objects", git_dir / "refs/heads", git_dir / "logs/refs/heads")
    kept = {mine / "gitdir", mine / "commondir", git_dir / "objects/info", git_dir / "objects/pack"}
    assert set(link.read_only) == kept
    git(shop, "config", "extensions.worktreeConfig", "true")
    assert set(link_of(linked).read_only) == {*kept, mine / "config.worktree"}
    (mine / "modules/part").mkdir(parents=True)
    assert mine / "modules" in link_of(linked).read_only
    assert link_of(shop) is None


def _cloned(shop, linked):
    """Somebody's folder whose `.git` names a worktree of ours."""
    other = shop.parent / "cloned"
    other.mkdir()
    shutil.copy(linked / ".git", other / ".git")
    return other


def _names_the_repository(shop, linked):
    other = shop.parent / "cloned"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {shop / '.git'}\n")
    return other


def _brings_its_own(shop, linked):
    """A folder that brings both halves of a link, and leads on to the repository it wants."""
    other = shop.parent / "cloned"
    half = other / "store/worktrees/x"
    half.mkdir(parents=True)
    (other / ".git").write_text(f"gitdir: {half}\n")
    (half / "gitdir").write_text(f"{other / '.git'}\n")
    (half / "commondir").write_text(f"{shop / '.git'}\n")
    return other


def _links_inside(shop, linked):
    """The same with a repository of its own whose folders are links to ours."""
    other = shop.parent / "cloned"
    half = other / "store/worktrees/x"
    half.mkdir(parents=True)
    (other / ".git").write_text(f"gitdir: {half}\n")
    (half / "gitdir").write_text(f"{other / '.git'}\n")
    (half / "commondir").write_text("../..\n")
    (other / "store/HEAD").write_text("ref: refs/heads/main\n")
    (other / "store/config").write_text("")
    (other / "store/objects").symlink_to(shop / ".git/objects")
    (other / "store/refs").symlink_to(shop / ".git/refs")
    return other


def _git_is_a_link(shop, linked):
    other = shop.parent / "cloned"
    other.mkdir()
    (other / ".git").symlink_to(linked / ".git")
    return other


def _moved(shop, linked):
    return linked.rename(shop.parent / "moved")


def _another_owner(shop, linked):
    if os.geteuid():
        pytest.skip("only root can give a file away")
    os.chown(shop / ".git/worktrees/side/gitdir", 65534, 65534)
    return linked


def _loop(shop, linked):
    (linked / ".git").write_text("gitdir: .git\n")
    return linked


def _pipe(shop, linked):
    (linked / ".git").unlink()
    os.mkfifo(linked / ".git")
    return linked


UNTRUE = (
    _cloned, _names_the_repository, _brings_its_own, _links_inside, _git_is_a_link, _moved, _another_owner, _loop, _pipe
)  # fmt: skip


@pytest.mark.parametrize("make", UNTRUE, ids=lambda make: make.__name__.strip("_"))
def test_a_link_that_is_not_true_both_ways_gives_nothing(shop, linked, make):
    folder = make(shop, linked)
    assert link_of(folder) is None
    walls = Confinement(folder, shop.parent, shop.parent / "own", lambda: nothing_more, probe=lambda: WHOLE)
    assert walls.policy(WRITE).writable == (folder,)
    walls.close()


def test_the_repository_is_written_only_in_a_box_that_writes_under_a_mount_view_and_within_the_safe_roots(shop, linked):
    def writable(box=WRITE, probe=WHOLE, **options):
        walls = Confinement(
            linked, shop.parent, shop.parent / "own", lambda: nothing_more, Options(**options), probe=lambda: probe
        )
        try:
            return walls.policy(box).writable
        finally:
            walls.close()

    assert shop / ".git/objects" in writable()
    assert writable(Box("read-only")) == ()
    assert writable(probe=NO_VIEW) == (linked,)
    assert writable(safe_roots=(linked,)) == (linked,)
    assert writable(add_dirs=(shop,)) == (shop, linked)  # which is written as any repository that is worked in


TRIES = """
cd {git}
for it in config hooks/post-commit info/attributes HEAD index packed-refs refs/tags/t logs/HEAD worktrees/other/HEAD \\
    worktrees/other/commondir worktrees/side/gitdir worktrees/side/commondir objects/info/alternates objects/pack/x
do (echo x >> $it) 2>/dev/null && echo wrote $it; done
mv worktrees/side worktrees/mine 2>/dev/null && echo moved
mv objects/info objects/old 2>/dev/null && echo moved info
rm -rf objects/pack 2>/dev/null && echo removed
cd {ws} && rm -f .git 2>/dev/null && echo unlinked
cd {ws} && echo two > a.txt && git commit -qam "from the side" && git checkout -q -b deep/er && git rm -q a.txt \\
    && git commit -qm "on another" && git reset -q --hard HEAD~1 && git status --porcelain && echo committed
"""

AS_NOBODY = """
import os, sys
from tests.corpus.sandbox_user import become
become()
os.execv(sys.executable, [sys.executable, "-c", {then!r}])
"""
THEN = """
from pathlib import Path
from tests.core.test_worktrees import confined
print(confined(Path({ws!r}), Path({git!r})))
"""


def confined(ws: Path, git_dir: Path) -> str:
    """What a command says that tries to do more than commit, in the sandbox of a session in `ws`."""
    walls = Confinement(ws, ws.parent, ws.parent / "own", lambda: nothing_more)
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(ws), "LC_ALL": "C.UTF-8"}
    try:
        done = LocalBackend(walls.policy).execute(
            TRIES.format(ws=ws, git=git_dir), ws, box=WRITE, timeout=60, env=env, cancel=CancelScope()
        )
    finally:
        walls.close()
    return done.stdout + done.stderr


@pytest.mark.skipif(not layers().can_confine, reason=f"the kernel here cannot confine commands: {layers().why}")
@pytest.mark.skipif(not layers().mount_view, reason="without a mount view nothing of the repository is written")
@pytest.mark.parametrize("user", ["ours", "nobody"])
def test_in_the_sandbox_a_linked_worktree_commits_and_can_do_no_more_to_its_repository(shop, linked, user, tmp_path):
    git(shop, "worktree", "add", "-q", "-b", "other", str(shop.parent / "other"))
    git(shop, "gc", "-q")
    before = {path: path.read_bytes() for path in (shop / ".git").glob("*") if path.is_file()}
    if user == "ours":
        said = confined(linked, shop / ".git")
    elif os.geteuid():
        pytest.skip("only root can become another user")
    else:
        top = Path("/tmp") / f"nht-link-{os.getpid()}"
        try:
            said = _as_nobody(top, shop.parent)
        finally:
            shutil.rmtree(top, ignore_errors=True)
    assert said.splitlines()[-1:] == ["committed"], said
    assert not any(word in said for word in ("wrote", "moved", "removed", "unlinked")), said
    if user == "ours":
        assert {path: path.read_bytes() for path in before} == before
        assert git(shop, "log", "-1", "--format=%s", "side") == "from the side\n"
        assert git(shop, "fsck", "--strict") == ""


def _as_nobody(top: Path, source: Path) -> str:
    """The same for who is not root, in a copy that belongs to them."""
    top.mkdir()
    for name in ("shop", "side", "other"):
        shutil.copytree(source / name, top / name, symlinks=True)
        link = top / name / ".git"
        if link.is_file():
            link.write_text(link.read_text().replace(str(source), str(top)))
            back = top / "shop/.git/worktrees" / name / "gitdir"
            back.write_text(back.read_text().replace(str(source), str(top)))
    for path in (top, *top.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    then = THEN.format(ws=str(top / "side"), git=str(top / "shop/.git"))
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY.format(then=then)], cwd=Path(__file__).parents[2], check=False,
        capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(top / "home")},
    )  # fmt: skip
    return (done.stdout + done.stderr).strip()
