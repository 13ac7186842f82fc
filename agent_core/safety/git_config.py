"""Whether a repository's own configuration could make a reading git command run a program.

Even `git status` runs what the configuration names (fsmonitor, clean filters, textconv), and a repository's
configuration is data that came with it. Only keys known to be harmless are accepted; anything else counts as naming a
helper.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.plain_files import read_regular

from .shell_args import names

_SECTION: Final = re.compile(r'\[\s*([A-Za-z0-9-]+)(?:\s+"((?:[^"\\]|\\.)*)"|\.[^\]]*)?\s*\]\s*(.*)')
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")

_ANY_KEY: Final = names(
    """branch color advice column fetch gc gui help i18n index init lfs maintenance pack pull push rerere stash
    status"""
)
_KEYS: Final[dict[str, frozenset[str]]] = {
    "core": names(
        """repositoryformatversion filemode logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol
        safecrlf quotepath abbrev compression longpaths protecthfs protectntfs preloadindex commitgraph multipackindex
        whitespace untrackedcache trustctime checkstat sharedrepository splitindex bigfilethreshold"""
    ),
    "user": frozenset({"name", "email"}),
    "author": frozenset({"name", "email"}),
    "committer": frozenset({"name", "email"}),
    "remote": frozenset({"url", "fetch", "push", "pushurl", "tagopt", "prune", "prunetags", "mirror", "gh-resolved"}),
    "submodule": frozenset({"url", "active", "branch"}),
    "extensions": frozenset({"objectformat", "refstorage"}),
    "diff": frozenset({"algorithm", "renames", "renamelimit", "colormoved", "mnemonicprefix", "noprefix", "context"}),
    "merge": frozenset({"ff", "conflictstyle", "renames", "renamelimit", "stat", "log"}),
    "log": frozenset({"date", "decorate", "follow", "abbrevcommit", "mailmap"}),
    "commit": frozenset({"verbose", "status", "cleanup"}),
    "tag": frozenset({"sort"}),
    "rebase": frozenset({"autosquash", "autostash", "updaterefs"}),
}


def git_config_names_helpers(repo: Path) -> bool:
    """Whether git, run in `repo`, might start a helper because of the repository's configuration.

    False where no repository is found. True on anything unusual or unreadable: includes, unknown keys, submodules (each
    has a configuration of its own), per-worktree configuration, a bare repository, a file beyond the bound.
    """
    try:
        folder = _git_folder(repo)
        if folder is None:
            return False
        common = folder
        if os.path.lexists(folder / "commondir"):
            common = Path(os.path.realpath(folder / _read(folder / "commondir").strip()))
        if (
            (common / "modules").exists()
            or (common / "config.worktree").exists()
            or (folder / "config.worktree").exists()
        ):
            return True
        return not _harmless(_read(common / "config"))
    except (OSError, ValueError):
        return True


def _git_folder(repo: Path) -> Path | None:
    """The git folder of the work tree `repo` lies in; ValueError if it is one itself."""
    here = Path(os.path.realpath(repo))
    for place in (here, *here.parents):
        if (place / "HEAD").exists() and (place / "objects").exists():
            raise ValueError("a bare repository")
        entry = place / ".git"
        if entry.is_dir():
            return entry
        if os.path.lexists(entry):
            text = _read(entry)
            if not text.startswith("gitdir:"):
                raise ValueError("not a git file")
            return Path(os.path.realpath(place / text[7:].strip()))
    return None


def _read(path: Path) -> str:
    data = read_regular(path, limits.GIT_CONFIG)
    if data is None or len(data) > limits.GIT_CONFIG:
        raise ValueError("no file, or too large a one")
    return data.decode("utf-8")


def _harmless(text: str) -> bool:
    section = ""
    for line in text.splitlines():
        line = line.strip().removeprefix("\ufeff")
        if header := _SECTION.fullmatch(line):
            section = header[1].lower()
            if section not in _ANY_KEY and section not in _KEYS:
                return False
            line = header[3].strip()
        if not line or line[0] in "#;":
            continue
        if line.endswith("\\"):  # goes on in the next line
            return False
        entry = _KEY.fullmatch(line)
        if not entry or not section:
            return False
        key, value = entry[1].lower(), (entry[2] or "").strip().lower()
        if (section, key) == ("core", "bare") or (section, key) == ("core", "fsmonitor"):
            if value != "false":
                return False
        elif section in _KEYS and key not in _KEYS[section]:
            return False
    return True
