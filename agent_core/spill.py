"""Output too long for a result, kept in a file of our own home that the model may read back.

The result holds a `<persisted-output>` block in its place: where the file is, how long the output was, and its head
and tail. Sources: LIM-12, LIM-17, ERR-03.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from agent_core import limits, names, plain_files
from agent_core.errors import AgentError
from agent_core.ports.tools import ResultBounds
from agent_core.records import dataclass
from agent_core.safety.redact import Redactor, redact
from agent_core.text.ansi import strip_ansi
from agent_core.text.clamp import clamp, clamp_characters

_BLOCK: Final = re.compile(
    r'^<persisted-output path="/.*/(?P<name>\d{8}-\d{6}-[0-9a-f]{8}\.txt)" bytes="\d+"(?P<cut> kept="\d+")?>$',
    re.MULTILINE,
)
_OLD_NOTE: Final = re.compile(
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

    def __init__(self, folder: Path, keys: Iterable[str] = (), room: int = limits.TOOL_RESULT) -> None:
        """`room`: bytes of the result that is to hold it."""
        self._folder = folder
        self._keys = tuple(keys)
        self._redactor = Redactor(self._keys)
        self._room = room
        self._held: list[bytes] = []
        self._size = 0
        self._total = 0
        self._file: IO[bytes] | None = None
        self.path: Path | None = None
        """The file, once there is one."""
        self.cut = False
        """More came than was kept."""

    @property
    def head(self) -> str:
        """The first lines of the block that tells where the output is; empty while there is no file."""
        if self.path is None:
            return ""
        kept = f' kept="{self._size}"' if self.cut else ""
        what = f"The first {self._size // limits.MB} MB are" if self.cut else "All of it is"
        return (
            f'<persisted-output path="{self.path}" bytes="{self._total}"{kept}>\n'
            f"[{what} in this file: read_file and grep can look at it. Head and tail:]"
        )

    def without_keys(self, text: str) -> str:
        """`text`, by itself, as it would be kept."""
        return redact(text, self._keys)

    def add(self, text: str) -> None:
        self._count(text)
        if not self.cut:
            self._keep(self._redactor.feed(text))

    def put(self, text: str) -> None:
        """Take text that is free of keys already: looking for them in a long one takes seconds."""
        self._count(text)
        if not self.cut:
            self._keep(strip_ansi(text))

    def _count(self, text: str) -> None:
        self._total += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))

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
        if self._size > self._room - 2 * limits.NOTE_BYTES:
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


BLOCK_START: Final = "<persisted-output "
BLOCK_END: Final = "</persisted-output>"


def block(spilled: Spill, preview: str) -> str:
    """What a result says of an output that is in a file, with a part of it."""
    return f"{spilled.head}\n{preview}\n{BLOCK_END}"


# -- results that are too long ------------------------------------------------------------------------------------


NANO: Final = ResultBounds(limits.TOOL_RESULT, limits.TOOL_RESULT)
HERMES: Final = ResultBounds(
    limits.HERMES_RESULT, limits.HERMES_PREVIEW, limits.HERMES_TURN, limits.HERMES_MCP_RESULT, characters=True
)
PROFILES: Final = {"nano": NANO, "hermes": HERMES}


class Results:
    """Bounds the results of one turn. Used by its tools' threads."""

    def __init__(self, bounds: ResultBounds, folder: Path) -> None:
        self.bounds = bounds
        self._folder = folder
        self._lock = threading.Lock()
        self._used = 0

    def fit(self, text: str, tool: str) -> str:
        """`text`, free of keys, when there is room for it; else a preview of it, and all of it in a file.

        What `read_file` gives is only cut: it can be had again, and may come from such a file.
        """
        bounds, keep = self.bounds, tool != names.READ_FILE
        most = bounds.mcp if bounds.mcp and tool.startswith(names.MCP_PREFIX) else bounds.most
        size = bounds.size(text)
        with self._lock:
            fits = size <= most and not (keep and bounds.turn and self._used + size > bounds.turn)
            shown = text if fits else (self._persisted(text) if keep else "") or _cut(text, most, bounds)
            self._used += bounds.size(shown)
        return shown

    def _persisted(self, text: str) -> str:
        """The block in place of `text`; empty when it is no longer than that, or could not be kept."""
        if self.bounds.size(text) <= self.bounds.preview:
            return ""
        spilled = Spill(self._folder, room=0)
        spilled.put(text)
        spilled.close()
        if spilled.path is None:
            return ""
        frame = self.bounds.size(block(spilled, "")) if self.bounds.preview == self.bounds.most else 0
        return block(spilled, _cut(text, self.bounds.preview - frame, self.bounds))


def _cut(text: str, most: int, bounds: ResultBounds) -> str:
    return clamp_characters(text, most) if bounds.characters else clamp(text, most, "both")


# -- reading one back ---------------------------------------------------------------------------------------------


def find_note(text: str) -> Spilled | None:
    """The file that `text`, a tool's result, says its output is in.

    A block's head stands before what the tool gave, the note of older records behind it; so the first of the one and
    the last of the other are meant. Output may imitate both. So only a name is taken from them, and only files of our
    own folder are opened by it.
    """
    if found := _BLOCK.search(text):
        return Spilled(found["name"], found["cut"] is not None)
    notes = list(_OLD_NOTE.finditer(text))
    return Spilled(notes[-1]["name"], notes[-1]["what"] != "whole") if notes else None


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
