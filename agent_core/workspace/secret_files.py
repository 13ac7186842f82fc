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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.safety.hidden import IsHidden, hides_none_of
from agent_core.workspace import folders

# What package managers and compilers put there is nobody's secret, and it is most of a large workspace.
# fmt: off
_SKIPPED: Final = frozenset({
    "node_modules", "bower_components", "site-packages", "dist-packages", "__pycache__", ".git", ".hg", ".svn", ".jj",
    ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".gradle", ".terraform", ".yarn", ".pnpm-store",
})
# fmt: on
WALKS: Final = "secrets"
"""The name of the threads that walk."""
_CERTIFICATE: Final = b"-----BEGIN "
_PRIVATE: Final = b"PRIVATE KEY"


class SecretFiles:
    """What has to be hidden below some folders (`roots`: absolute, resolved). Safe to use from several threads."""

    def __init__(self, roots: Iterable[Path], hidden: Callable[[], IsHidden]) -> None:
        self._roots = tuple(map(str, roots))
        self._hidden = hidden
        self._looking = threading.Lock()
        self._first = threading.Event()
        self._found: dict[str, dict[str, int]] = {}
        """By folder: the hidden things in it, links resolved, with their inode numbers."""
        self._repositories: tuple[str, ...] | None = None
        self._seconds = 0.0
        self._next = 0.0
        self._complete = False
        self._closed = False
        self._seen_moving = False
        """Something was missed where it had been: only a whole walk tells where it is now."""

    @property
    def complete(self) -> bool:
        """Whether the last walk saw everything."""
        return self._complete

    @property
    def found(self) -> tuple[Path, ...]:
        """The files and folders to hide, resolved."""
        return tuple(map(Path, sorted(self._known())))

    @property
    def inodes(self) -> dict[Path, int]:
        """The same with their inode numbers: by then another command may have put something else in their place."""
        return {Path(path): inode for path, inode in self._known().items()}

    def _known(self) -> dict[str, int]:
        return {path: inode for here in self._found.values() for path, inode in here.items()}

    @property
    def repositories(self) -> tuple[Path, ...]:
        """The `.git` entries that the first walk met: what commands make later is theirs anyway."""
        return tuple(map(Path, self._repositories or ()))

    def begin(self) -> None:
        """Walk in a thread of its own, unless one does so already."""
        if not self._looking.locked() and not self._closed:
            threading.Thread(target=self._look, name=WALKS, daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait for the first walk; whether it has ended."""
        return self._first.wait(seconds)

    def refresh(self) -> bool:
        """See what is there now: all of it where that is quick, else the likely folders, and all in the background.

        What is no longer where it was may have been moved, by a command that still runs or by one before: then all is
        walked until nothing is missed. False when things move about all the time.
        """
        if not self._first.is_set():
            return True
        for _ in range(limits.SECRETS_WALKS):
            before = self._known()
            self._look_again()
            if before.keys() <= self._known().keys():
                return True
            self._seen_moving = True
        return False

    def _look_again(self) -> None:
        moving, self._seen_moving = self._seen_moving, False
        if moving or self._seconds <= limits.SECRETS_GLANCE:
            self._look()
            return
        self._glance()
        if time.monotonic() >= self._next:
            # When the command that comes now has had its time: a walk holds the interpreter.
            self._next = time.monotonic() + limits.SECRETS_LATER + limits.SECRETS_SECONDS
            later = threading.Timer(limits.SECRETS_LATER, self._look)
            later.name, later.daemon = WALKS, True
            later.start()

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
            # Fifteen times as long as it took: hardly a fifteenth of one core.
            self._next = time.monotonic() + 15 * self._seconds
        finally:
            self._looking.release()
            self._first.set()

    def _walk(self, deadline: float) -> tuple[dict[str, dict[str, int]], list[str], bool]:
        hidden = self._hidden()
        found: dict[str, dict[str, int]] = {}
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


def _read(folder: str, hidden: IsHidden) -> tuple[dict[str, int], list[str], int, bool]:
    """Of one folder: what is to be hidden with its inode, the folders to go on with, the entries, is it a repository.

    By its descriptor, so that the numbers are those of this folder even if another one takes its name meanwhile.
    """
    here: dict[str, int] = {}
    below: list[str] = []
    count, repository = 0, False
    beginning = folder if folder.endswith("/") else f"{folder}/"
    try:
        with _opened(folder) as descriptor, os.scandir(descriptor) as scan:
            status = os.fstat(descriptor)  # before it is read
            while entries := list(islice(scan, limits.SECRETS_STEP)):
                count += len(entries)
                if len(entries) == count < limits.SECRETS_STEP:  # all of it: a search comes here next
                    folders.remember(folder, status, entries)
                files = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
                names = [entry.name for entry in files]
                repository |= ".git" in names
                for entry in entries if len(files) < len(entries) else ():
                    if not entry.is_dir(follow_symlinks=False):
                        continue
                    path = beginning + entry.name
                    if entry.name == ".git":
                        repository = True
                    elif hidden(path, True):
                        here[path] = entry.stat(follow_symlinks=False).st_ino
                    elif entry.name not in _SKIPPED:
                        below.append(path)
                for entry in files if not hides_none_of(names, hidden) else ():
                    path = beginning + entry.name
                    if entry.name != ".git" and hidden(path, False):
                        place, inode = _to_hide(entry, path)
                        if place:
                            here[place] = inode
    except OSError:  # closed to us, and so to commands; or gone
        pass
    return here, below, count, repository


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _to_hide(entry: os.DirEntry[str], path: str) -> tuple[str, int]:
    """Where the content of a hidden name really lies, and its inode; "" when there is none, or when it is public."""
    try:
        status = entry.stat()
        if not stat.S_ISREG(status.st_mode):
            return "", 0  # a folder behind a link is no file of secrets, nor is a pipe
        if entry.name.casefold().endswith(".pem") and _is_public(path, status.st_size):
            return "", 0
        return os.path.realpath(path), status.st_ino
    except OSError:  # a link that leads nowhere
        return "", 0


def _is_public(path: str, size: int) -> bool:
    """Whether it holds certificates or public keys, and no private one."""
    if size > limits.SECRETS_PEM:
        return False
    with open(path, "rb") as file:
        data = file.read(limits.SECRETS_PEM + 1)
    return data.count(_CERTIFICATE) > 0 and _PRIVATE not in data.upper()
