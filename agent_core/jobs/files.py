"""What lies in the folder of one command in the background: its record, how it is, and what it has written.

The program writes "record" before anything is started, and "told" once the model knows the end; the relay
(relay.py) writes "state" and "output".
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from agent_core import limits, plain_files
from agent_core.background import Task, TaskOrigin
from agent_core.records import dataclass
from agent_core.safety.redact import redact
from agent_core.text.ansi import clean

_NAME: Final = re.compile(r"([0-9A-Za-z_-]{1,64})\.(t[1-9]\d{0,8})")
_HEAD: Final = 21  # bytes of the output's first line: how many went before
_SMALL: Final = 256 * limits.KB  # more than a record or a state ever holds


@dataclass(frozen=True, slots=True)
class Record:
    """What is known before it starts. Texts are free of keys and control bytes."""

    id: str
    session_id: str
    command: str
    cwd: str
    box: str
    origin: TaskOrigin
    started: float
    marker: str
    """By which what came from it is found when its relay was killed (process/guard.py MARKER)."""

    def task(self) -> Task:
        return Task(self.id, self.session_id, self.command, self.cwd, self.box, 0, self.started, origin=self.origin)


@dataclass(frozen=True, slots=True)
class State:
    """What the relay has said so far."""

    relay: str = ""
    """As in store.owner: whether it lives can be told by it."""
    pid: int = 0
    """Of the command's shell."""
    kept: bool = False
    wished: bool = False
    """Somebody wished its end."""
    closed: bool = False
    """It was to end because the program had, or had closed its session."""
    exit_code: int | None = None
    signal: int | None = None
    gone: float | None = None
    """When the last of it had ended."""

    @property
    def relay_pid(self) -> int:
        number = self.relay.partition(":")[0]
        return int(number) if number.isdigit() else 0


def folder_name(session_id: str, task_id: str) -> str:
    return f"{session_id}.{task_id}"


def all_folders(home: Path) -> Iterator[tuple[str, str, Path]]:
    """Session, task and folder of every task there is a folder of."""
    with suppress(OSError):
        for entry in sorted(os.scandir(home), key=lambda entry: entry.name):
            found = _NAME.fullmatch(entry.name)
            if found and entry.is_dir(follow_symlinks=False):
                yield found[1], found[2], Path(entry.path)


def write_record(folder: Path, record: Record) -> None:
    """Durably. Raises OSError."""
    plain_files.atomic_write(folder / "record", json.dumps(asdict(record)).encode("utf-8", "replace"))


def read_record(folder: Path) -> Record | None:
    """None when there is none that can be read."""
    try:
        data = plain_files.read_regular(folder / "record", _SMALL, follow=False)
        return Record(**json.loads(data)) if data else None
    except (OSError, ValueError, TypeError):
        return None


def read_state(folder: Path) -> State:
    """What is not said, or cannot be read, is as if it had not come about."""
    state = State()
    with suppress(OSError):
        for line in (plain_files.read_regular(folder / "state", _SMALL, follow=False) or b"").splitlines():
            with suppress(ValueError, IndexError):
                state = _told(state, line.decode("ascii", "replace").split(" "))
    return state


def _told(state: State, words: list[str]) -> State:
    match words[0]:
        case "relay":
            return replace(state, relay=f"{int(words[1])}::{words[2]}:{words[3]}")
        case "started":
            return replace(state, pid=int(words[1]))
        case "kept":
            return replace(state, kept=words[1] == "1")
        case "exit":
            return replace(state, exit_code=int(words[1]))
        case "signal":
            return replace(state, signal=int(words[1]))
        case "ended":
            return replace(state, wished=True)
        case "closed":
            return replace(state, closed=True)
        case "gone":
            return replace(state, gone=float(words[1]))
        case _:
            return state


def mark_told(folder: Path) -> None:
    """The model knows how it ended: who opens the session next need not say it again."""
    with suppress(OSError):  # it is said twice then
        (folder / "told").touch(mode=0o600)


def was_told(folder: Path) -> bool:
    return os.path.lexists(folder / "told")


def forget_output(folder: Path) -> None:
    """Nobody may read any more what it wrote; how it ended stays."""
    with suppress(OSError):
        (folder / "output").unlink(missing_ok=True)


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


# -- output -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """A part of an output as it was written."""

    base: int
    """How many bytes of all there was are no longer kept."""
    total: int
    quiet: bool
    """Nothing has come for a while."""
    data: bytes = b""


def written(folder: Path, start: int = 0, length: int = 0) -> Written:
    """At most `length` bytes from `start` on, both counted in all that was ever written."""
    try:
        file = os.open(folder / "output", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return Written(0, 0, True)
    try:
        status = os.fstat(file)
        head = os.pread(file, _HEAD, 0).strip()
        base = int(head) if head.isdigit() else 0
        total = base + max(0, status.st_size - _HEAD)
        at = min(max(start, base), total)
        data = os.pread(file, min(length, total - at), _HEAD + at - base) if length > 0 else b""
        return Written(base, total, abs(time.time() - status.st_mtime) > limits.TASK_QUIET, data)
    except OSError:
        return Written(0, 0, True)
    finally:
        os.close(file)


def piece(folder: Path, start: int, limit: int, keys: Iterable[str], *, running: bool) -> tuple[str, int, int]:
    """A piece of the output without keys and control bytes, where it begins, and where the next one does.

    While more may come a last word waits until it is whole, since a key may begin with it; not for ever.
    """
    known = written(folder)
    start = min(max(start, known.base), known.total)
    before = max(known.base, start - limits.TASK_CONTEXT)
    limit = max(4, min(limit, limits.TASK_PIECE))
    got = written(folder, before, start - before + limit)
    if got.base > before:  # cut down meanwhile
        start = before = max(start, got.base)
        got = written(folder, before, limit)
    context, data = got.data[: start - before], got.data[start - before :]
    skipped = len(data) - len(_from_character(data)) if not context else 0
    start, data = start + skipped, data[skipped:]
    more = start + len(data) < got.total
    data = data[: _whole_characters(data)] if more or running else data
    if more or (running and not got.quiet):
        end = max(data.rfind(b"\n"), data.rfind(b" "), data.rfind(b"\r")) + 1
        data = data[:end] if end or not more else data
    return _shown(context, data, tuple(keys)), start, start + len(data)


def _shown(context: bytes, data: bytes, keys: tuple[str, ...]) -> str:
    """`data` as a person may see it; `context` came before and tells what it is the rest of."""
    before, whole = _text(context), _text(context + data)
    if not context:
        return clean(redact(whole, keys))
    old, new = redact(before, keys), redact(whole, keys)
    same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return clean(new[same:])


def _text(data: bytes) -> str:
    return _from_character(data).decode("utf-8", "replace")


def _from_character(data: bytes) -> bytes:
    at = 0
    while at < min(3, len(data)) and data[at] & 0xC0 == 0x80:
        at += 1
    return data[at:]


def _whole_characters(data: bytes) -> int:
    """How much of it ends with a whole character; all of it where it is no UTF-8."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if back < needed else len(data)
        if byte & 0x80 == 0:
            break
    return len(data)


def newest_line(folder: Path, total: int, keys: Iterable[str]) -> str:
    """The last line that holds something."""
    text, _, _ = piece(folder, total - limits.TASK_NEWEST, limits.TASK_NEWEST, keys, running=False)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines[-1][: limits.SUBJECT_CHARS] if lines else ""
