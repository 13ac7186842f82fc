"""What was typed before: one file for all sessions, a JSON object a line, newest last.

Several programs may use it at once, so additions are appended under a lock and the file is cut to size by replacing it.
Lines that cannot be read are passed over and go when the file is next cut.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_core.limits import HISTORY_ENTRIES
from nanoherm_tui.limits import HISTORY_ENTRY, HISTORY_FILE


class History:
    """The entries, oldest first. A file that cannot be read or written costs the memory, never the message."""

    def __init__(self, path: Path | None, later: Callable[[Callable[[], None]], None] = lambda work: work()) -> None:
        """`path` None keeps the history in memory only. `later` is given what writes, which may wait for others."""
        self._path = path
        self._later = later
        self._entries: list[str] | None = None
        self.unreadable = 0
        """Lines of the file that were passed over."""

    @property
    def entries(self) -> list[str]:
        """The file is read for the first who asks."""
        if self._entries is None:
            self.load()
        return self._entries if self._entries is not None else []

    def load(self) -> None:
        """Read the file; what other sessions have added since is seen from then on."""
        if self._entries is None:
            self._entries = []
        if self._path is None:
            return
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - HISTORY_FILE))
                data = file.read(HISTORY_FILE)
        except OSError:
            return
        self._entries, self.unreadable = _parse(data)

    def add(self, text: str) -> None:
        """Remember `text`, unless it is blank, the same as the newest, or larger than limits.HISTORY_ENTRY."""
        if not text.strip() or (self.entries and self.entries[-1] == text):
            return
        if len(text) > HISTORY_ENTRY:
            return  # before it is looked through, character by character
        from agent_core.safety.redact import redact  # its tables are not what a first frame waits for
        from agent_core.text.image_refs import between

        line = json.dumps({"text": between(text, redact), "time": round(time.time(), 3)}).encode("ascii") + b"\n"
        if len(line) > HISTORY_ENTRY:
            return
        entries = self.entries
        entries.append(text)
        del entries[:-HISTORY_ENTRIES]
        if (path := self._path) is not None:
            self._later(lambda: self._write(path, line))

    def _write(self, path: Path, line: bytes) -> None:
        try:
            self._append(path, line)
        except OSError:  # a full or read-only disk; the message itself goes its way
            pass

    def _append(self, path: Path, line: bytes) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path) as fd:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line  # the last writer was cut off; the new line must not join its half
            os.write(fd, line)
            if size + len(line) > HISTORY_FILE:
                _cut_to_size(path, fd)


class Walk:
    """Up and down through the history, with the draft that was being typed as its newest end."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._at: int | None = None
        self._draft = ""

    def reset(self) -> None:
        """The draft was sent or cleared: the next step up starts at the newest entry."""
        self._at = None

    def previous(self, draft: str) -> str | None:
        """The entry before the one shown; `draft` is kept for the way back. None at the oldest."""
        entries = self._history.entries
        if self._at is None:
            self._draft = draft
        at = (len(entries) if self._at is None else min(self._at, len(entries))) - 1
        while at >= 0 and entries[at] == draft:  # a step that shows nothing new is no step
            at -= 1
        if at < 0:
            return None
        self._at = at
        return entries[at]

    def next(self) -> str | None:
        """The entry after the one shown, at last the draft itself. None when nothing is being walked."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._history.entries):
            self._at = None
            return self._draft
        return self._history.entries[self._at]


def _parse(data: bytes) -> tuple[list[str], int]:
    entries: list[str] = []
    unreadable = 0
    for line in data.split(b"\n"):
        if not line.strip(b"\0 \r"):
            continue
        try:
            text = json.loads(line.strip(b"\0"))["text"]
        except (ValueError, KeyError, TypeError):
            unreadable += 1
            continue
        if isinstance(text, str):
            entries.append(text)
        else:
            unreadable += 1
    return entries[-HISTORY_ENTRIES:], unreadable


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file, open for reading and appending and ours alone, even when another program replaces it meanwhile."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            try:
                ours = os.path.samestat(os.fstat(fd), os.stat(path))
            except FileNotFoundError:
                ours = False
            if ours:
                os.fchmod(fd, 0o600)
                yield fd
                return
        finally:
            os.close(fd)


def _cut_to_size(path: Path, fd: int) -> None:
    """Replace the file by its newest good lines, at most half of the bound so that this is rare."""
    size = os.fstat(fd).st_size
    entries, _ = _parse(os.pread(fd, HISTORY_FILE // 2, max(0, size - HISTORY_FILE // 2)))
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    out = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(out, "wb") as file:
            for text in entries:
                file.write(json.dumps({"text": text}).encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
