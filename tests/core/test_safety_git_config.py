"""Which configurations of a repository name programs that git would run."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.safety.shell_trust import TrustContext, git_config_names_helpers, is_trusted_command
from tests.core.trust_support import SYSTEM_PATH

PLAIN_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
; a comment
[remote "origin"]
\turl = https://example.invalid/x.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
[user]
\tname = A
\temail = a@example.invalid
"""


HELPERS = [
    "[core]\n\tfsmonitor = ./x",
    "[core] pager = ./x",
    "[CORE]\n\tSSHCommand=./x",
    "[core]\nhooksPath = .githooks",
    "[core]\neditor = x",
    "[core]\nworktree = /elsewhere",
    '[filter "lfs"]\n\tclean = git-lfs clean -- %f',
    '[diff "pdf"]\n\ttextconv = pdftotext',
    "[diff]\n\texternal = ./x",
    "[alias]\n\tst = !./x",
    "[include]\n\tpath = ../x",
    '[includeIf "gitdir:/"]\n\tpath = x',
    "[gpg]\n\tprogram = ./x",
    "[log]\n\tshowSignature = true",
    "[pager]\n\tlog = ./x",
    "[credential]\n\thelper = ./x",
    '[remote "o"]\n\tuploadpack = ./x',
    '[remote "o"]\n\tpromisor = true',
    '[merge "m"]\n\tdriver = ./x',
    "[extensions]\n\tworktreeConfig = true",
    "[core]\n\tfile\\\nmode = ./x",
    "[something-new]\n\tkey = x",
    "[core\n\tfilemode = true",
    "filemode = true",
    "[core]\n\t= x",
]


def repository(folder: Path, config: str) -> Path:
    git = folder / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(config)
    return folder


def test_an_ordinary_repository_names_no_helper(tmp_path: Path) -> None:
    folder = repository(tmp_path / "a", PLAIN_CONFIG)
    (folder / "src" / "deep").mkdir(parents=True)
    assert not git_config_names_helpers(folder)
    assert not git_config_names_helpers(folder / "src" / "deep")


def test_a_repository_made_by_git_names_no_helper(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "made")], check=True, timeout=20)
    assert not git_config_names_helpers(tmp_path / "made")


@pytest.mark.parametrize("config", HELPERS)
def test_a_configuration_that_names_or_may_name_a_program_counts_as_one(config: str, tmp_path: Path) -> None:
    assert git_config_names_helpers(repository(tmp_path / "a", PLAIN_CONFIG + config))


def test_unusual_repositories_count_as_naming_a_helper(tmp_path: Path) -> None:
    modules = repository(tmp_path / "modules", PLAIN_CONFIG)
    (modules / ".git" / "modules").mkdir()
    assert git_config_names_helpers(modules)
    large = repository(tmp_path / "large", PLAIN_CONFIG + "#" * limits.GIT_CONFIG)
    assert git_config_names_helpers(large)
    bare = tmp_path / "bare"
    (bare / "objects").mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    assert git_config_names_helpers(bare)
    missing = repository(tmp_path / "missing", "")
    (missing / ".git" / "config").unlink()
    assert git_config_names_helpers(missing)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {repository(tmp_path / 'other', '[alias]') / '.git'}\n")
    assert git_config_names_helpers(linked)


@pytest.mark.parametrize("name", ["config", "commondir", ".git"])
@pytest.mark.parametrize("what", ["a pipe", "a link to itself", "a way to a link to itself"])
def test_what_cannot_be_read_counts_as_naming_a_helper_and_is_not_waited_for(
    tmp_path: Path, name: str, what: str
) -> None:
    folder = repository(tmp_path / "a", PLAIN_CONFIG)
    place = folder / ".git" / name
    if name == ".git":
        folder = folder / "below"
        place = folder / ".git"
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    if what == "a pipe":
        os.mkfifo(place)
    elif what == "a link to itself":
        place.symlink_to(place)
    else:
        (place.parent / "loop").symlink_to("loop")
        place.write_text("gitdir: loop" if name == ".git" else "loop")
    found: list[bool] = []
    asking = threading.Thread(target=lambda: found.append(git_config_names_helpers(folder)), daemon=True)
    asking.start()
    asking.join(10)
    assert found == [True]


def test_a_folder_below_with_a_repository_of_its_own_is_judged_by_that(tmp_path: Path) -> None:
    ctx = TrustContext(tmp_path, SYSTEM_PATH, tmp_path, git_is_plain=True)
    repository(tmp_path / "good", PLAIN_CONFIG)
    repository(tmp_path / "bad", HELPERS[0])
    (tmp_path / "away").symlink_to("/")
    assert is_trusted_command("git -C good status", ctx).ok
    assert not is_trusted_command("git -C bad status", ctx).ok
    assert not is_trusted_command("git -C away status", ctx).ok
