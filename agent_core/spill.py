"""Output too long for a result, kept in a file of our own home that the model may read back."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from agent_core import limits, plain_files
from agent_core.errors import AgentError
from agent_core.safety.redact import Redactor

_NOTE: Final = re.compile(
    r"^\[the (?P<what>whole|first \d+ MB of the) output is in (?P<folder>/.*)/(?P<name>\d{8}-\d{6}-[0-9a-f]{8}\.txt);"
    r" read_file and grep can look at it\]$",
    re.MULTILINE,
)
_NAME: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}\.txt")
FOLDER: Final = "spill"
"""Of our home; models may read what lies there."""
PRIVATE: Final = "spill-private"
"""For commands that the model is not told of; closed to its tools (safety.protected)."""


@dataclass(frozen=True, slots=True)
class Spilled:
    """What a result says of the file that holds all of its output."""

    name: str
    """The file's name in the spill folder, never a path."""
    cut: bool
    """The output was longer than the file."""


@dataclass(frozen=True, slots=True)
class SpillPage:
    """A part of a spill file: whole lines, but of one that is longer than a page."""

    name: str
    page: int
    text: str
    size: int
    """Of the whole file, in bytes."""
    continues: bool
    """The first line is the rest of the last one of the page before."""


class Spill:
    """Takes text as it comes; only what no result can hold makes a file, of at most limits.SPILL_FILE bytes.

    The file is readable by its owner only, and holds no keys, `keys` among them: the text is redacted as it comes. A
    disk that cannot take it costs the file, never the caller.
    """

    def __init__(self, folder: Path, keys: Iterable[str] = ()) -> None:
        self._folder = folder
        self._redactor = Redactor(keys)
        self._held: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self.path: Path | None = None
        """The file, once there is one."""
        self.cut = False
        """More came than was kept."""

    @property
    def note(self) -> str:
        """A line that tells where the output is; empty while there is no file."""
        if self.path is None:
            return ""
        what = f"first {limits.SPILL_FILE // limits.MB} MB of the" if self.cut else "whole"
        return f"[the {what} output is in {self.path}; read_file and grep can look at it]"

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
            with suppress(OSError):  # a disk that has become read-only
                self.path.unlink()
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


# -- reading one back ---------------------------------------------------------------------------------------------


def find_note(text: str) -> Spilled | None:
    """The file that `text`, a tool's result, says its output is in: the last such note, since a note stands at the end.

    Output may imitate a note. So only a name is taken from it, and only files of our own folder are opened by it.
    """
    notes = list(_NOTE.finditer(text))
    if not notes:
        return None
    found = notes[-1]
    return Spilled(found["name"], found["what"] != "whole")


def is_name(name: str) -> bool:
    """Whether a spill file may be called so; no path is."""
    return _NAME.fullmatch(name) is not None


def read_page(folder: Path, name: str, page: int) -> SpillPage:
    """One page of a spill file, limits.TEXT_PAGE bytes but for whole lines; behind the end an empty one.

    A page begins behind the first line end at or after its nominal start, so that each can be read without the others.
    Raises AgentError with code "spill_gone" or "spill_unreadable".
    """
    before = max(0, page * limits.TEXT_PAGE - 1)
    data, size = _part(folder, name, before, 2 * limits.TEXT_PAGE + 1)
    begin, continues = (0, False) if page == 0 else _page_start(data, 1)
    end, _ = _page_start(data, (page + 1) * limits.TEXT_PAGE - before)
    return SpillPage(name, page, data[begin:end].decode("utf-8", "replace"), size, continues)


def read_all(folder: Path, name: str) -> str:
    """The whole of a spill file. Raises AgentError like `read_page`."""
    return _part(folder, name, 0, limits.SPILL_FILE)[0].decode("utf-8", "replace")


def _part(folder: Path, name: str, start: int, length: int) -> tuple[bytes, int]:
    """Bytes of a spill file, and the size of all of it."""
    if not is_name(name):
        raise AgentError("spill_gone", "That is not the name of a kept output.")
    try:
        data = plain_files.read_part(folder / name, start, length)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise AgentError("spill_unreadable", f"The kept output could not be read: {reason}.", reason=reason) from error
    if data is None:
        raise AgentError("spill_gone", "The file with the whole output is not there any more.")
    return data


def _page_start(data: bytes, nominal: int) -> tuple[int, bool]:
    """Where the page with this nominal start begins in `data`, and whether that is inside a line."""
    line_end = data.find(b"\n", nominal - 1, nominal - 1 + limits.TEXT_PAGE)
    if line_end >= 0:
        return line_end + 1, False
    at = min(nominal, len(data))
    while at < len(data) and data[at] & 0xC0 == 0x80:  # not inside a character
        at += 1
    return at, at < len(data)
