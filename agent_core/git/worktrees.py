"""Linked worktrees, so that sessions can work beside one another on one repository.

A worktree of ours lies beside the repository's folder, as `shop-NAME` beside `shop`: on the same disk, where a person
finds it, and not among the files of the repository, where it would turn up in every search. What is removed loses no
work: commits stay on their branch, changes go into the repository's stash.

Nothing here belongs on a screen's thread. All raise AgentError with words for a person, and Interrupted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, ToolFailure
from agent_core.git.changes import changes
from agent_core.git.reader import Repository, Said, repository
from agent_core.records import dataclass
from agent_core.text.printable import printable

_USUAL: Final = "side"
"""What a worktree is called, with a number, that nobody has named."""
_HEADS: Final = "refs/heads/"
_UNKNOWN: Final = -1
_NO_NAME: Final = re.compile(r"[^\w.]+")
"""What a branch's name may have and a folder beside the repository's shall not."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """A linked worktree of a repository."""

    folder: Path
    branch: str
    """Empty: detached."""
    commit: str
    changed: int = 0
    """Files that have changed or are new; -1: it cannot be told."""
    unmerged: int = 0
    """Commits that are on no other branch, here or of a remote."""
    is_locked: bool = False
    is_missing: bool = False
    """Its folder is gone."""

    @property
    def name(self) -> str:
        return self.branch or self.folder.name

    @property
    def has_work(self) -> bool:
        """It holds what lies nowhere else."""
        return bool(self.changed or self.unmerged)


@dataclass(frozen=True, slots=True)
class Removed:
    worktree: Worktree
    stashed: bool
    branch_deleted: bool


@dataclass(frozen=True, slots=True)
class Worktrees:
    """Those of the repository that a workspace lies in."""

    workspace: Path
    """Absolute, resolved."""
    env: Mapping[str, str]
    cancel: CancelScope

    def list(self) -> tuple[Worktree, ...]:
        """All linked ones, with what is in them, at most limits.WORKTREES_LISTED."""
        repo = self._repository()
        return tuple(self._looked_at(one, repo) for one in _linked(repo)[: limits.WORKTREES_LISTED])

    def find(self, name: str) -> Worktree:
        """The one of this branch or folder, with what is in it. AgentError "worktree_unknown"."""
        repo = self._repository()
        return self._looked_at(self._named(name, repo), repo)

    def main(self) -> Path:
        """The folder of the repository itself."""
        return _main(self._repository())

    def make(self, name: str = "") -> tuple[Worktree, Path]:
        """A worktree on a new branch of this name, from what is checked out in the workspace; and where to work in it.

        With a branch of that name, on that one. Without a name one is made up. The second path is the folder in it that
        is what the workspace is in its own worktree. AgentError "worktree_name", "worktree_exists", "worktree_git".
        """
        repo = self._repository()
        if not repo.has_commits:
            raise AgentError("worktree_empty", "The repository has no commit yet; a worktree needs one to begin from.")
        main = _main(repo)
        name = _checked(name, repo) if name else _free(main, repo)
        folder = _place(main, name)
        if os.path.lexists(folder):
            raise AgentError(
                "worktree_exists", f"{folder} exists. Choose another name: /worktree NAME.", path=str(folder)
            )
        exists = _has_branch(name, repo)
        words = (str(folder), name) if exists else ("-b", name, str(folder), repo.commit("HEAD"))
        _change(repo, "worktree", "add", "--quiet", *words, seconds=limits.WORKTREE_SECONDS)
        inner = folder / self.workspace.relative_to(repo.top)
        return Worktree(folder, name, repo.commit(name)), inner if inner.is_dir() else folder

    def remove(self, name: str, *, sure: bool = False) -> Removed:
        """Remove one. AgentError "worktree_has_work" when it holds what lies nowhere else and nobody is `sure`.

        Its changes go into the stash; its branch goes when it is one of ours with nothing of its own, else it stays.
        Commits on no branch get one that is called like the folder. What is ignored (builds) goes with the folder.
        """
        repo = self._repository()
        one = self._looked_at(self._named(name, repo), repo)
        if one.is_locked:
            raise AgentError(
                "worktree_locked", f"{one.name} is locked: git worktree unlock {one.folder}", name=one.name
            )
        if one.has_work and not sure:
            raise AgentError(
                "worktree_has_work",
                f"{one.name} holds work that lies nowhere else ({one.changed} changed files, {one.unmerged} commits). "
                "It was not removed.",
                name=one.name,
                changed=one.changed,
                commits=one.unmerged,
            )
        if not one.branch and one.unmerged:  # nothing else would lead to its commits
            _change(repo, "branch", one.folder.name, one.commit, seconds=limits.GIT_SECONDS)
        stashed = one.changed != 0 and not one.is_missing and self._stashed(one, repo)
        try:
            _change(repo, "worktree", "remove", str(one.folder), seconds=limits.WORKTREE_SECONDS)
        except AgentError:
            if stashed:  # it stays, and so does what was changed in it
                words = ("stash", "pop", "--index", "--quiet")
                with suppress(AgentError):
                    _change(_opened(one.folder, self.env, self.cancel), *words, seconds=limits.WORKTREE_SECONDS)
            raise
        is_ours = bool(one.branch) and one.folder == _place(_main(repo), one.branch)
        deleted = is_ours and not one.unmerged and self._deleted(one, repo)
        return Removed(one, stashed, deleted)

    def _stashed(self, one: Worktree, repo: Repository) -> bool:
        """Put what was changed in it into the stash; whether there was something."""
        newest = ("rev-parse", "--verify", "--quiet", "refs/stash")
        before = repo.ask(*newest).text
        words = ("stash", "push", "--quiet", "--include-untracked", "--message", f"worktree {one.name}")
        _change(_opened(one.folder, self.env, self.cancel), *words, seconds=limits.WORKTREE_SECONDS)
        return repo.ask(*newest).text != before

    def _deleted(self, one: Worktree, repo: Repository) -> bool:
        with suppress(ToolFailure):  # it has moved meanwhile: then it has something of its own, and stays
            repo.change("update-ref", "-d", f"{_HEADS}{one.branch}", one.commit)
            return True
        return False

    def _repository(self) -> Repository:
        return _opened(self.workspace, self.env, self.cancel)

    def _named(self, name: str, repo: Repository) -> Worktree:
        found = [one for one in _linked(repo) if name in (one.branch, one.folder.name, str(one.folder))]
        if not found:
            raise AgentError(
                "worktree_unknown", f"There is no worktree {printable(name)}. Those there are: /worktree list",
                name=printable(name),
            )  # fmt: skip
        return found[0]

    def _looked_at(self, one: Worktree, repo: Repository) -> Worktree:
        others = (f"--exclude={one.branch}",) if one.branch else ()
        said = repo.ask("rev-list", "--count", one.commit, "--not", *others, "--branches", "--remotes")
        unmerged = int(said.text) if said.code == 0 and said.text.strip().isdigit() else _UNKNOWN
        changed = 0
        if not one.is_missing:
            try:
                there = _opened(one.folder, self.env, self.cancel)
                found = changes(there)
                changed = len(
                    {c.path for part in (found.staged, found.unstaged, found.conflicts, found.untracked) for c in part}
                )
            except (AgentError, OSError):
                changed = _UNKNOWN
        return Worktree(one.folder, one.branch, one.commit, changed, unmerged, one.is_locked, one.is_missing)


def _opened(folder: Path, env: Mapping[str, str], cancel: CancelScope) -> Repository:
    try:
        repo = repository(folder, env, cancel)
    except ToolFailure as failure:
        if failure.code == "no_repository":
            raise AgentError(
                "worktree_no_repository", f"{folder} is in no git repository, so it has no worktrees.", path=str(folder)
            ) from failure
        raise AgentError("worktree_git", failure.text) from failure
    if not repo.is_its_own:
        raise AgentError(
            "worktree_foreign",
            f"The repository's data lies in {repo.common}, which does not know {repo.top}. Nothing was changed there.",
            path=str(repo.common),
        )
    return repo


def _change(repo: Repository, *words: str, seconds: float) -> None:
    try:
        repo.change(*words, seconds=seconds)
    except ToolFailure as failure:
        raise AgentError("worktree_git", failure.text) from failure


def _linked(repo: Repository) -> list[Worktree]:
    """The linked worktrees as git lists them, without a look into them."""
    said = repo.ask("worktree", "list", "--porcelain", "-z")
    if said.code:
        raise AgentError("worktree_git", f"git worktree list failed: {said.complaint.strip()}")
    return [one for one in map(_read, _entries(said)[1:]) if one is not None]


def _entries(said: Said) -> list[dict[str, str]]:
    """Each worktree's words by their names; the repository's own comes first."""
    found: list[dict[str, str]] = [{}]
    for item in said.items:
        name, _, value = item.partition(" ")
        if name:
            found[-1][name] = value
        else:
            found.append({})
    return [entry for entry in found if entry]


def _read(entry: Mapping[str, str]) -> Worktree | None:
    if "worktree" not in entry or "HEAD" not in entry:
        return None
    return Worktree(
        Path(entry["worktree"]),
        entry.get("branch", "").removeprefix(_HEADS),
        entry["HEAD"],
        is_locked="locked" in entry,
        is_missing=not os.path.isdir(entry["worktree"]),
    )


def _main(repo: Repository) -> Path:
    """The folder of the repository that a worktree is linked to; of a submodule its own."""
    return repo.common.parent if repo.common.name == ".git" else repo.top


def _place(main: Path, name: str) -> Path:
    return main.parent / f"{main.name}-{_NO_NAME.sub('-', name).strip('-.')}"


def _has_branch(name: str, repo: Repository) -> bool:
    return repo.ask("show-ref", "--verify", "--quiet", f"{_HEADS}{name}").code == 0


def _checked(name: str, repo: Repository) -> str:
    """The name, when a branch can have it and a folder can be called after it."""
    name = name.strip()
    valid = len(name) <= limits.WORKTREE_NAME and printable(name) == name and not name.startswith("-")
    if not valid or repo.ask("check-ref-format", f"{_HEADS}{name}").code or not re.search(r"\w", name):
        raise AgentError(
            "worktree_name",
            f"No branch can be called {printable(name[: limits.WORKTREE_NAME])}: letters, digits, - and / make a name.",
            name=printable(name[: limits.WORKTREE_NAME]),
        )  # fmt: skip
    return name


def _free(main: Path, repo: Repository) -> str:
    for number in range(1, limits.WORKTREES_MADE + 1):
        name = f"{_USUAL}-{number}"
        if not os.path.lexists(_place(main, name)) and not _has_branch(name, repo):
            return name
    raise AgentError(
        "worktree_names_taken",
        f"{_USUAL}-1 to {_USUAL}-{limits.WORKTREES_MADE} are taken. Give a name: /worktree NAME.",
    )
