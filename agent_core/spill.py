"""Output too long for a result, kept in a file of our own home that the model may read back."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from agent_core import limits
from agent_core.safety.redact import Redactor


class Spill:
    """Takes text as it comes; only what no result can hold makes a file, of at most limits.SPILL_FILE bytes.

    The file is readable by its owner only, and holds no keys: the text is redacted as it comes. A disk that cannot
    take it costs the file, never the caller.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._redactor = Redactor()
        self._held: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self.path: Path | None = None
        """The file, once there is one."""
        self.cut = False
        """More came than was kept."""

    def add(self, text: str) -> None:
        if not self.cut:
            self._keep(self._redactor.feed(text))

    def close(self) -> None:
        if not self.cut:
            self._keep(self._redactor.flush())
        self._close_file()

    def _keep(self, text: str) -> None:
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
        # A result needs some of its bytes for other words, so less than a whole one may be cut already.
        if self._size > limits.TOOL_RESULT - 2 * limits.NOTE_BYTES:
            self._flush()

    def _flush(self) -> None:
        try:
            file = self._file or self._open()
            file.write(b"".join(self._held))
            file.flush()
        except OSError:  # a full disk: the result itself still has head and tail
            self._give_up()
        self._held.clear()

    def _give_up(self) -> None:
        """Leave no half of an output behind that would be taken for the whole."""
        self.cut = True
        self._close_file()
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path = None

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # what could not be written once
                file.close()

    def _open(self) -> IO[bytes]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _prune(self._folder)
        path = self._folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.txt"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self.path, self._file = path, os.fdopen(descriptor, "wb")
        return self._file


def _prune(folder: Path) -> None:
    """Make room for one more file; names begin with their time, so the first are the oldest."""
    files = sorted(entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False))
    for name in files[: max(len(files) - limits.SPILL_FILES + 1, 0)]:
        try:
            (folder / name).unlink()
        except OSError:  # another session was faster
            pass
