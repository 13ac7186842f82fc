"""What has changed in a repository, and what is under way in it, from git's porcelain as data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field
from typing import Final

from agent_core.errors import ToolFailure
from agent_core.git.reader import Repository
from agent_core.records import dataclass

_WORDS: Final = {
    "M": "modified", "T": "type changed", "A": "new", "D": "deleted", "R": "renamed", "C": "copied",
}  # fmt: skip
_CONFLICTS: Final = {
    "DD": "both deleted", "AU": "added by us", "UD": "deleted by them", "UA": "added by them", "DU": "deleted by us",
    "AA": "both added", "UU": "both modified",
}  # fmt: skip
_UNDER_WAY: Final = (
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisection"),
)
"""Names in the git folder and what each says is going on."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file in one part of a status."""

    path: str
    """Relative to the top of the work tree; bytes that are no UTF-8 as surrogates. A folder ends with a slash."""
    word: str
    """modified, new, deleted, renamed, ...; empty for what is not tracked."""
    before: str = ""
    """The name it had, of what was renamed or copied."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The state of a work tree."""

    commit: str
    """The hash of what is checked out; empty before the first commit."""
    branch: str
    """Empty: detached."""
    upstream: str
    ahead: int
    behind: int
    staged: tuple[Change, ...]
    unstaged: tuple[Change, ...]
    conflicts: tuple[Change, ...]
    untracked: tuple[Change, ...]
    under_way: tuple[str, ...]
    cut: bool
    """There is more that was not read."""

    @property
    def clean(self) -> bool:
        return not (self.staged or self.unstaged or self.conflicts or self.untracked or self.cut)


def changes(repo: Repository, pathspecs: Sequence[str] = (), *, each_untracked: bool = False) -> Changes:
    """What git status says, of `pathspecs` or of all. Raises ToolFailure, Interrupted.

    `each_untracked`: also the files of a folder of which nothing is tracked, one by one.
    """
    untracked = "all" if each_untracked else "normal"
    said = repo.must(
        "status", "--porcelain=v2", "-z", "--branch", f"--untracked-files={untracked}", "--ignore-submodules=dirty",
        "--", *pathspecs,
    )  # fmt: skip
    if said.cut and not said.items:
        raise ToolFailure(
            "git status took too long. Ask with run_command for a folder of it: git status -- FOLDER.",
            code="too_slow",
            outcome="too slow",
        )
    found = _parsed(said.items)
    return Changes(
        found.commit, found.branch, found.upstream, found.ahead, found.behind, tuple(found.staged),
        tuple(found.unstaged), tuple(found.conflicts), tuple(found.untracked), under_way(repo), said.cut,
    )  # fmt: skip


def under_way(repo: Repository) -> tuple[str, ...]:
    """What was begun and is neither finished nor given up: "merge", "rebase"."""
    return tuple(dict.fromkeys(word for name, word in _UNDER_WAY if os.path.lexists(os.path.join(repo.git_dir, name))))


@dataclass(slots=True)
class _Parsed:
    commit: str = ""
    branch: str = ""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    staged: list[Change] = field(default_factory=list)
    unstaged: list[Change] = field(default_factory=list)
    conflicts: list[Change] = field(default_factory=list)
    untracked: list[Change] = field(default_factory=list)


def _parsed(items: Sequence[str]) -> _Parsed:
    """The entries of `git status --porcelain=v2 -z --branch`."""
    found = _Parsed()
    rest = iter(items)
    for item in rest:
        kind, _, tail = item.partition(" ")
        if kind == "#":
            _header(tail, found)
        elif kind == "1":
            xy, sub, *_, path = tail.split(" ", 7)
            _tracked(xy, sub, path, "", found)
        elif kind == "2":
            xy, sub, *_, path = tail.split(" ", 8)
            _tracked(xy, sub, path, next(rest, ""), found)
        elif kind == "u":
            xy, *_, path = tail.split(" ", 9)
            found.conflicts.append(Change(path, _CONFLICTS.get(xy, "conflict")))
        elif kind == "?":
            found.untracked.append(Change(tail, ""))
    return found


def _header(tail: str, found: _Parsed) -> None:
    name, _, value = tail.partition(" ")
    if name == "branch.oid":
        found.commit = "" if value == "(initial)" else value
    elif name == "branch.head":
        found.branch = "" if value == "(detached)" else value
    elif name == "branch.upstream":
        found.upstream = value
    elif name == "branch.ab":
        ahead, _, behind = value.partition(" ")
        found.ahead, found.behind = int(ahead[1:]), int(behind[1:])


def _tracked(xy: str, sub: str, path: str, before: str, found: _Parsed) -> None:
    for mark, part in zip(xy, (found.staged, found.unstaged), strict=True):
        if mark != ".":
            word = _WORDS.get(mark, "changed")
            part.append(
                Change(path, f"{word} submodule" if sub.startswith("S") else word, before if mark in "RC" else "")
            )
