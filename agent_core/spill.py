"""Output too long for a result, kept in a file of our own home that the model may read back."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import IO

from agent_core import limits


class Spill:
    """Takes text as it comes; only what passes limits.TOOL_RESULT makes a file, of at most limits.SPILL_FILE bytes.

    The file is readable by its owner only. A disk that cannot take it costs the file, never the caller.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self.path: Path | None = None
        """The file, once there is one."""
        self.cut = False
        """More came than was kept."""

    def add(self, text: str) -> None:
        if self.cut:
            return
        data = text.encode("utf-8", "replace")
        room = limits.SPILL_FILE - self._size
        if len(data) > room:
            self.cut = True
            while room and data[room] & 0xC0 == 0x80:
                room -= 1
            data = data[:room]
        if not data:
            return
        self._size += len(data)
        self._held.append(data)
        if self._size > limits.TOOL_RESULT:
            self._flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _flush(self) -> None:
        try:
            if self.path is None:
                self._open()
            if self._file is not None:
                self._file.write(b"".join(self._held))
        except OSError:  # a full disk: the result itself still has head and tail
            self.close()
        self._held.clear()

    def _open(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _prune(self._folder)
        path = self._folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.txt"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(descriptor, "wb")
        self.path = path


def _prune(folder: Path) -> None:
    """Make room for one more file; names begin with their time, so the first are the oldest."""
    files = sorted(entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False))
    for name in files[: max(len(files) - limits.SPILL_FILES + 1, 0)]:
        try:
            (folder / name).unlink()
        except OSError:  # another session was faster
            pass
