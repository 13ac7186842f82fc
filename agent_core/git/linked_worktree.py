"""What a commit in a linked worktree has to write of the repository that the worktree belongs to.

A linked worktree has a file `.git` that names a folder in another place, where its index lies; objects and branches
lie beside that folder and are shared. Whoever can put a file into a workspace can let `.git` name anything, so the
link counts only when the repository, which cannot be written from the workspace, names the worktree too.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from agent_core import limits, plain_files
from agent_core.records import dataclass

_SHARED: Final = ("objects", "refs/heads", "logs/refs/heads")
"""Folders of the repository in which a commit makes files. Never its config, hooks, info, or another worktree's."""
_SHARED_KEPT: Final = ("objects/info", "objects/pack")
"""In there stays as it is: what leads to other objects, and the history that is packed."""
_OWN_KEPT: Final = ("gitdir", "commondir")
"""In the worktree's own folder stays as it is what links it, and by that says whose config and hooks hold."""


@dataclass(frozen=True, slots=True)
class Link:
    """A worktree whose link is true in both directions. All paths are absolute and resolved."""

    git_dir: Path
    """The worktree's own folder in the repository."""
    common: Path
    """The repository's git folder."""
    writable: tuple[Path, ...]
    read_only: tuple[Path, ...]


def link_of(root: Path) -> Link | None:
    """The link of the worktree `root` (resolved); None for what is none, and for one that is not true.

    True is: `root/.git` names COMMON/worktrees/NAME, the `gitdir` there names `root/.git`, its `commondir` names
    COMMON, that is a repository, all have the same owner, and nothing of it is a symbolic link.
    """
    entry = root / ".git"
    try:
        owner = _file_owner(entry)
        git_dir = Path(os.path.realpath(root / _line(entry).removeprefix("gitdir:").strip()))
        if not _line(entry).startswith("gitdir:") or git_dir.parent.name != "worktrees":
            return None
        common = git_dir.parent.parent
        back = git_dir / _line(git_dir / "gitdir")
        if Path(os.path.realpath(back.parent), back.name) != entry:
            return None
        if Path(os.path.realpath(git_dir / _line(git_dir / "commondir"))) != common:
            return None
        named = (common / "HEAD", git_dir / "gitdir", git_dir / "commondir")
        folders = (common, git_dir.parent, git_dir, common / "objects", common / "refs")
        if any(_file_owner(path) != owner for path in named) or not all(_is_own(path, owner) for path in folders):
            return None
        config = _text(common / "config").lower()
    except (OSError, ValueError):
        return None
    shared = tuple(common / name for name in _SHARED if _is_own(common / name, owner))
    kept = [*(git_dir / name for name in _OWN_KEPT), *(common / name for name in _SHARED_KEPT)]
    if "worktreeconfig" in config or (git_dir / "config.worktree").exists():  # else git never reads it
        kept.append(git_dir / "config.worktree")
    if (git_dir / "modules").exists():  # the repositories of its submodules, with a config and hooks each
        kept.append(git_dir / "modules")
    return Link(git_dir, common, (git_dir, *shared), tuple(kept))


def _file_owner(path: Path) -> int:
    """Raises ValueError when it is no file by itself, OSError when it is not there."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("no file")
    return status.st_uid


def _is_own(path: Path, owner: int) -> bool:
    """Whether it is a folder of `owner` that no symbolic link leads to."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == owner and os.path.realpath(path) == str(path)


def _line(path: Path) -> str:
    """The one line of a file by which git links folders."""
    return _text(path).rstrip("\r\n")


def _text(path: Path) -> str:
    data = plain_files.read_regular(path, limits.GIT_CONFIG, follow=False)
    if data is None or len(data) > limits.GIT_CONFIG:
        raise ValueError("missing or too large")
    return os.fsdecode(data)
