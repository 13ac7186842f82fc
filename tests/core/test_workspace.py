"""The walk: what git would list, sorted, bounded, without following links."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.text.globs import compile_glob, compile_names
from agent_core.workspace.walk import FolderWalk, Walk

NAMES = ["a", "b", "src", "foo.py", "x.log", "build", "[z]", "a b", "d*r", "-n"]
PATTERNS = [
    "*.log", "/build", "build/", "!x.log", "a/", "**/b", "src/**", "a/**/x.log", "*.py", "!foo.py", "[a-c]", "\\[z\\]",
    "[!a]*", "d\\*r", "# c", "", "a b", "/src/*.py", "**/", "foo.*", "?", "!src/", "src/*", "!/src/a", "*/b/*", "a/b",
    "**", "x.log ", "[]-]", "[z-a]", "x[", "/*", "\\#x", "a\\ ", "**foo.py", "b/**/**/a",
]  # fmt: skip


def plant(root, rng):
    folders = [""]
    for _ in range(rng.randint(3, 25)):
        path = os.path.join(rng.choice(folders), rng.choice(NAMES))
        place = root / path
        if place.exists():
            continue
        if rng.random() < 0.5:
            place.mkdir()
            folders.append(path)
        else:
            place.write_text("x\n")
    for folder in ["", *(f for f in folders if rng.random() < 0.2)]:
        (root / folder / ".gitignore").write_text("\n".join(rng.choice(PATTERNS) for _ in range(rng.randint(1, 4))))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the reference")
def test_the_walk_lists_what_git_lists(tmp_path):
    for seed in range(120):
        root = tmp_path / str(seed)
        root.mkdir()
        subprocess.run(["git", "init", "-q", root], check=True)
        plant(root, random.Random(seed))
        listed = subprocess.check_output(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], text=True)
        assert sorted(Walk(str(root), CancelScope())) == sorted(listed.split("\0")[:-1]), seed


GLOBS = [
    "*", "**", "*.py", "a", "a/*", "/a", "src/**", "**/b", "{a,*.log}", "{a/b,src}", "[ab]*", "**/src/*", "a\\/b", "*/",
    "./x.log", "?", "[!a]", "**/**/a", "{a/**,b}", "**a", "d\\*r", "[z]", "\\[z\\]", "src/*.{py,log}",
]  # fmt: skip


def test_files_passed_over_by_their_names_are_none_that_a_glob_means(tmp_path):
    passed_over = 0
    for seed in range(30):
        dice = random.Random(seed)
        root = tmp_path / str(seed)
        root.mkdir()
        plant(root, dice)
        (root / dice.choice(["a", "link.py", "src"])).with_suffix(".py").symlink_to("nowhere")
        every = list(Walk(str(root), CancelScope(), links=True))
        for glob in GLOBS:
            meant = compile_glob(glob).fullmatch
            met = list(Walk(str(root), CancelScope(), links=True, names=compile_names(glob)))
            assert [path for path in met if meant(path)] == [path for path in every if meant(path)], (seed, glob)
            passed_over += len(every) - len(met)
    assert passed_over > 500


def test_order_is_name_by_name_and_links_are_not_followed(tmp_path):
    for path in ("b/x", "a.txt", "a/y", "c"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "pipe")
    assert list(Walk(str(tmp_path), CancelScope())) == ["a/y", "a.txt", "b/x", "c"]
    assert list(Walk(str(tmp_path), CancelScope(), links=True)) == ["a/y", "a.txt", "b/x", "c", "loop"]


def test_rules_above_the_folder_count_up_to_the_repository(tmp_path):
    (tmp_path / ".gitignore").write_text("x\n")
    repo = tmp_path / "repo"
    (repo / ".git/info").mkdir(parents=True)
    (repo / ".git/info/exclude").write_text("z\n")
    (repo / ".gitignore").write_text("/sub/y\n")
    (repo / "sub").mkdir()
    for name in "wxyz":
        (repo / "sub" / name).touch()
    assert list(Walk(str(repo / "sub"), CancelScope())) == ["w", "x"]
    assert list(Walk(str(repo / "sub"), CancelScope(), ignored=True)) == ["w", "x", "y", "z"]


def test_a_walk_is_bounded_and_can_be_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "WALK_FILES", 50)
    for i in range(60):
        (tmp_path / f"{i:03}").touch()
    walk = Walk(str(tmp_path), CancelScope())
    assert len(list(walk)) == 50
    assert walk.cut
    scope = CancelScope()
    scope.cancel()
    with pytest.raises(Interrupted):
        list(Walk(str(tmp_path), scope))


class Endless:
    """A folder that never ends, as a file system in a program may show one; it counts what is taken of it."""

    def __init__(self):
        self.taken = 0

    def __call__(self, path):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __iter__(self):
        while True:
            self.taken += 1
            yield Entry(f"{self.taken:07}")


class Entry:
    def __init__(self, name):
        self.name = name

    def is_file(self, *, follow_symlinks):
        return True


@pytest.mark.parametrize("walk", [Walk, FolderWalk])
def test_of_a_folder_without_end_no_more_is_read_than_is_told(tmp_path, monkeypatch, walk):
    endless = Endless()
    monkeypatch.setattr(os, "scandir", endless)
    monkeypatch.setattr(limits, "WALK_FILES", 5_000)
    made = walk(str(tmp_path), CancelScope())
    found = list(made)
    files = len(found) if walk is Walk else len(found[0].names)
    assert (files, made.seen, made.cut, endless.taken) == (limits.WALK_FILES, limits.WALK_FILES, True, files + 1)
