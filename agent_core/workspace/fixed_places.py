"""Places that commands must leave alone wherever they run: what steers git, editors and us, and what holds keys.

`protected.py` knows their names; this looks which of them there are. Sources: S11, rules 4 and 5 of the path door.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from agent_core import limits, plain_files
from agent_core.safety import protected
from agent_core.safety.protected import Parts, fold

ALSO_ABSENT: Final = (".nanohermes", ".hermes", ".mcp.json", ".vscode", ".envrc")
"""Kept from being made, too: whoever finds them later believes them."""
# fmt: off
_STARTUP: Final = (
    ".ssh", ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
    ".inputrc", ".vimrc", ".pythonrc.py", ".gitconfig", ".config/git", ".config/fish", ".config/autostart",
    ".config/systemd", ".config/environment.d", ".local/bin",
)
# fmt: on
"""The same in a home that is worked in."""
IN_GIT: Final = ("hooks", "config", "info/attributes")
_HOOKS_PATH: Final = re.compile(r"^\s*hookspath\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_INCLUDED: Final = re.compile(r"^\s*path\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_NOT_TEXT: Final = re.compile(r'^"|"$')


def kept_places(root: Path, home: Path, data_home: Path) -> tuple[Path, ...]:
    """What stays as it is below a folder that commands may write (absolute, resolved), present or not (S11)."""
    found: list[Path] = [root / name for name in ALSO_ABSENT]
    found += git_places(root / ".git", root)
    if (root / "HEAD").is_file() and (root / "objects").is_dir():  # a repository without a work tree, or that of others
        found += git_places(root, root)
    # Its own repository is seen to above: most of it has to be written.
    found += [
        root / name
        for name in _names(root)
        if name not in ALSO_ABSENT and fold(name) != ".git" and protected.control_place((fold(name),))
    ]
    if home.is_relative_to(root):
        found += [home / name for name in _STARTUP]
        found += _matching(home, lambda parts: protected.runs_later(parts) is not None, lambda parts: len(parts) < 3)
    if data_home.is_relative_to(root):
        found.append(data_home)
    return tuple(dict.fromkeys(place for place in found if place != root))


def git_places(entry: Path, root: Path) -> list[Path]:
    """What names programs in the repository of a `.git` entry. One that is missing must not be made either."""
    folder = entry
    if entry.is_symlink() or not entry.is_dir():
        found = [entry]
        target = _git_target(entry)
        if target is None or not target.is_relative_to(root):
            return found
        folder = target
    else:
        found = []
    common = folder
    if pointer := _text(folder / "commondir").strip():
        common = Path(os.path.realpath(folder / pointer))
        found += [folder / "commondir", *_configs(folder)]
    found += [common / name for name in IN_GIT]
    config = _text(common / "config")
    found += [place for name in _HOOKS_PATH.findall(config) if (place := _hooks(name, entry.parent, root)) is not None]
    included = (common / _NOT_TEXT.sub("", name) for name in _INCLUDED.findall(config))
    found += [Path(os.path.realpath(place)) for place in included if place.is_file()]
    trees = [common, *(common / "worktrees" / name for name in _names(common / "worktrees"))]
    for tree in trees:
        found += _configs(tree)
        if (tree / "commondir").exists():  # where the configuration of a worktree lies
            found.append(tree / "commondir")
        if "worktreeconfig" in config.lower():  # else git never reads it
            found.append(tree / "config.worktree")
    for module in _modules(common / "modules"):
        found += [module / name for name in IN_GIT]
    return [place for place in dict.fromkeys(found) if place == entry or place.is_relative_to(root)]


def _git_target(entry: Path) -> Path | None:
    if entry.is_dir():  # a link to one
        return Path(os.path.realpath(entry))
    text = _text(entry)
    if not text.startswith("gitdir:"):
        return None
    return Path(os.path.realpath(entry.parent / text[len("gitdir:") :].strip()))


def _hooks(value: str, work_tree: Path, root: Path) -> Path | None:
    path = Path(os.path.realpath(work_tree / _NOT_TEXT.sub("", value)))
    return path if path != root and path.is_relative_to(root) else None


def _configs(folder: Path) -> list[Path]:
    return [folder / name for name in _names(folder) if name.startswith("config") and not name.endswith(".lock")]


def _modules(top: Path) -> Iterator[Path]:
    """The repositories of submodules, whose names may have slashes and which have submodules themselves."""
    todo, seen = [top], 0
    while todo and seen < limits.SECRETS_REPOSITORIES:
        folder = todo.pop()
        names = _names(folder)
        seen += 1
        if "HEAD" in names:
            yield folder
            todo.append(folder / "modules")
        else:
            todo += [folder / name for name in names if (folder / name).is_dir()]


def secret_places(home: Path, data_home: Path) -> tuple[Path, ...]:
    """What of a person's, of this program's and of the system's secrets there is on this machine, links resolved."""
    found: list[Path] = []
    for place in _homes(home):
        found += _matching(
            place,
            lambda parts: protected.credential_place(parts) or protected.history_place(parts),
            protected.secrets_below_home,
        )
    for own in dict.fromkeys((data_home, home / ".nanohermes", home / ".hermes")):
        found += _matching(
            own,
            lambda parts: protected.own_keys(parts) or protected.own_records(parts),
            lambda parts: parts[0] == "profiles" and len(parts) < 3,
        )
    found += _matching(Path("/"), _system_secret, _may_hold_system_secrets)
    real = (Path(os.path.realpath(place)) for place in found)
    return tuple(dict.fromkeys(place for place in real if place.exists()))


def _homes(home: Path) -> tuple[Path, ...]:
    """The homes that can be looked into: the person's by each of its names, and others of this machine."""
    found = [home]
    try:
        found.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    except KeyError:  # a user without an entry
        pass
    found.append(Path("/root"))
    found += [Path("/home", name) for name in _names(Path("/home"))[: limits.SECRETS_HOMES]]
    return tuple(dict.fromkeys(Path(os.path.realpath(place)) for place in found if place != Path("/")))


def _system_secret(parts: Parts) -> bool:
    return parts[0] not in ("proc", "dev") and protected.system_secret(parts)


def _may_hold_system_secrets(parts: Parts) -> bool:
    return parts[0] not in ("proc", "dev", "sys", "home", "root", "users") and protected.secrets_below(parts)


def _matching(top: Path, wanted: Callable[[Parts], bool], below: Callable[[Parts], bool]) -> list[Path]:
    """The places under `top` whose folded components are `wanted`; folders are entered where some lie `below`."""
    found: list[Path] = []
    todo: list[tuple[Path, Parts]] = [(top, ())]
    while todo:
        folder, parts = todo.pop()
        for name in _names(folder):
            here = (*parts, fold(name))
            if wanted(here):
                found.append(folder / name)
            elif below(here):
                todo.append((folder / name, here))
    return found


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # missing, closed to us, or no folder
        return []


def _text(path: Path) -> str:
    try:
        data = plain_files.read_regular(path, limits.GIT_CONFIG, follow=True)
    except OSError:
        return ""
    return data.decode("utf-8", "replace") if data else ""
