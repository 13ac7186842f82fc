"""Which files of a workspace commands must not read: found by a walk, and looked for again before each command.

The kernel hides files by their place, so the places have to be known. A small workspace is walked before every
command; a large one once, in a thread of its own, then only the folders that had such files, and the rest behind the
command's back.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.safety.hidden import IsHidden

# What package managers and compilers put there is nobody's secret, and it is most of a large workspace.
# fmt: off
_SKIPPED: Final = frozenset({
    "node_modules", "bower_components", "site-packages", "dist-packages", "__pycache__", ".git", ".hg", ".svn", ".jj",
    ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".gradle", ".terraform", ".yarn", ".pnpm-store",
})
# fmt: on
_CERTIFICATE: Final = b"-----BEGIN "
_PRIVATE: Final = b"PRIVATE KEY"


class SecretFiles:
    """What has to be hidden below some folders (`roots`: absolute, resolved). Safe to use from several threads."""

    def __init__(self, roots: Iterable[Path], hidden: Callable[[], IsHidden]) -> None:
        self._roots = tuple(map(str, roots))
        self._hidden = hidden
        self._looking = threading.Lock()
        self._first = threading.Event()
        self._found: dict[str, tuple[str, ...]] = {}
        """By folder: the hidden things in it, links resolved."""
        self._repositories: tuple[str, ...] | None = None
        self._seconds = 0.0
        self._next = 0.0
        self._complete = False
        self._closed = False

    @property
    def complete(self) -> bool:
        """Whether the last walk saw everything."""
        return self._complete

    @property
    def found(self) -> tuple[Path, ...]:
        """The files and folders to hide, resolved."""
        return tuple(Path(path) for path in sorted({path for paths in self._found.values() for path in paths}))

    @property
    def repositories(self) -> tuple[Path, ...]:
        """The `.git` entries that the first walk met: what commands make later is theirs anyway."""
        return tuple(map(Path, self._repositories or ()))

    def begin(self) -> None:
        """Walk in a thread of its own, unless one does so already."""
        if not self._looking.locked() and not self._closed:
            threading.Thread(target=self._look, name="secrets", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait for the first walk; whether it has ended."""
        return self._first.wait(seconds)

    def refresh(self) -> None:
        """See what is there now: all of it where that is quick, else the likely folders, and all in the background."""
        if not self._first.is_set():
            return
        if self._seconds <= limits.SECRETS_GLANCE:
            self._look()
            return
        self._glance()
        if time.monotonic() >= self._next:
            self.begin()

    def close(self) -> None:
        """Let a walk that still goes on end soon."""
        self._closed = True

    def _look(self) -> None:
        if not self._looking.acquire(blocking=False):
            self._looking.acquire()  # another one walks right now: what it finds is as new
            self._looking.release()
            return
        try:
            begun = time.monotonic()
            found, repositories, complete = self._walk(begun + limits.SECRETS_SECONDS)
            self._found, self._complete = found, complete
            if self._repositories is None:
                self._repositories = tuple(repositories)
            self._seconds = time.monotonic() - begun
            # Ten times as long as it took: never more than a tenth of one core.
            self._next = time.monotonic() + 10 * self._seconds
        finally:
            self._looking.release()
            self._first.set()

    def _walk(self, deadline: float) -> tuple[dict[str, tuple[str, ...]], list[str], bool]:
        hidden = self._hidden()
        found: dict[str, tuple[str, ...]] = {}
        repositories: list[str] = []
        todo, entries, kept = list(self._roots), 0, 0
        while todo:
            if self._closed or time.monotonic() > deadline:
                return found, repositories, False
            folder = todo.pop()
            here, below, count, has_repository = _read(folder, hidden)
            entries += count
            kept += len(here)
            todo += below
            if has_repository and len(repositories) < limits.SECRETS_REPOSITORIES:
                repositories.append(f"{folder.rstrip('/')}/.git")
            if here:
                found[folder] = here
            if entries > limits.SECRETS_ENTRIES or kept > limits.SECRETS_HIDDEN:
                return found, repositories, False
        return found, repositories, True

    def _glance(self) -> None:
        """Look again where such files lie most likely: at the top, and where some were."""
        with self._looking:
            hidden, found = self._hidden(), dict(self._found)
            for folder in {*self._roots, *found}:
                found[folder] = _read(folder, hidden)[0]
            self._found = {folder: here for folder, here in found.items() if here}


def _read(folder: str, hidden: IsHidden) -> tuple[tuple[str, ...], list[str], int, bool]:
    """Of one folder: what is to be hidden, the folders to go on with, how many entries, whether it is a repository."""
    here: list[str] = []
    below: list[str] = []
    count, repository = 0, False
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                name = entry.name
                if name == ".git":
                    repository = True
                elif entry.is_dir(follow_symlinks=False):
                    if hidden(entry.path, True):
                        here.append(entry.path)
                    elif name not in _SKIPPED:
                        below.append(entry.path)
                elif hidden(entry.path, False):
                    place = _to_hide(entry)
                    if place:
                        here.append(place)
    except OSError:  # closed to us, and so to commands; or gone
        pass
    return tuple(here), below, count, repository


def _to_hide(entry: os.DirEntry[str]) -> str:
    """Where the content of a hidden name really lies; "" when there is none, or when it is public."""
    try:
        status = entry.stat()
        if not stat.S_ISREG(status.st_mode):
            return ""  # a folder behind a link is no file of secrets, nor is a pipe
        if entry.name.casefold().endswith(".pem") and _is_public(entry.path, status.st_size):
            return ""
        return os.path.realpath(entry.path)
    except OSError:  # a link that leads nowhere
        return ""


def _is_public(path: str, size: int) -> bool:
    """Whether it holds certificates or public keys, and no private one."""
    if size > limits.SECRETS_PEM:
        return False
    with open(path, "rb") as file:
        data = file.read(limits.SECRETS_PEM + 1)
    return data.count(_CERTIFICATE) > 0 and _PRIVATE not in data.upper()
