"""What a workspace's files are like, kept to tell what commands change in them: <home>/checkpoints/trees/NAME.db.

A file's time of change (ctime) is the kernel's: nobody can set it. So what differs from how it was last seen is a
command's change when that time lies in one in which a command of a turn ran; all else is the person's and is only
noted. What is deleted is a command's when its folder has changed since one began. The file may be deleted at any time:
it is a cache. This runs in child.py.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.checkpoints.records import (
    ANY_MODE,
    FOLDER,
    NOTHING,
    UNKNOWN,
    Records,
    State,
    Window,
    link_state,
    open_database,
    packed,
    unpacked,
)
from agent_core.ports.tools import IsHidden
from agent_core.records import dataclass
from agent_core.rollback import ChangeBy
from agent_core.workspace.walk import NEVER, Ignore, ignore_for

VERSION: Final = 1
_RULES: Final = ".gitignore"

_SCHEMA: Final = (
    "CREATE TABLE folders (path BLOB PRIMARY KEY, above BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX folders_above ON folders (above)",
    # `why`: of what "?" is not known, a key of rollback.REASONS. `seen`: nanoseconds since the epoch.
    "CREATE TABLE files (folder BLOB NOT NULL, name BLOB NOT NULL, what TEXT NOT NULL, why TEXT NOT NULL, "
    "mode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, "
    "ino INTEGER NOT NULL, seen INTEGER NOT NULL, PRIMARY KEY (folder, name)) WITHOUT ROWID",
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE kept (bytes INTEGER NOT NULL)",
    "INSERT INTO kept VALUES (0)",
)


@dataclass(frozen=True, slots=True)
class Caps:
    file: int
    """Bytes of one file whose content is kept."""
    tree: int
    """Bytes of all contents kept of a workspace, packed."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was seen."""

    what: str
    why: str
    mode: int
    size: int
    mtime: int
    ctime: int
    ino: int
    seen: int = 0

    @property
    def state(self) -> State:
        return State(self.what, self.mode if self.what.startswith("f:") else ANY_MODE)

    def is_still(self, status: os.stat_result) -> bool:
        return (self.ctime, self.mtime, self.size, self.ino) == (
            status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Folder:
    """One that is to be looked into."""

    path: bytes
    """Relative, with a slash at its end; b"" is the workspace."""
    rules: Ignore
    born: bool
    """It was not there when the folder above it was last looked at, which was before."""
    when: int
    """Of a born one: the time of its last change, or of a born one above it."""
    unruled: bool
    """What is ignored here may have changed since."""


class Tree:
    """One workspace's file. Methods raise sqlite3.Error."""

    def __init__(self, file: Path, root: str, records: Records, hidden: IsHidden, caps: Caps, skip: str = "") -> None:
        """`skip`: a folder that is left out, absolute: our own home, should it lie in the workspace."""
        self._skip = skip
        self._db = open_database(file, _SCHEMA, VERSION)
        self._root = os.fsencode(root.rstrip("/"))
        self._workspace = root
        self._records = records
        self._hidden = hidden
        self._caps = caps
        self._kept = 0
        self._windows: list[Window] = []
        self._windows_read = 0
        self._found: list[tuple[int, bytes, State, State, str]] = []
        """Changes of turns that are not recorded yet: turn, path, before, after, why the state before is not known."""
        self._blobs: dict[str, bytes] = {}

    def close(self) -> None:
        self._db.close()

    def look(self) -> Iterator[None]:
        """Look at all files and record what commands of turns have changed. Yields between two folders.

        What is done stays done when it is ended in the middle: a change is recorded before it is noted as seen.
        """
        began = time.time_ns()
        (self._kept,) = self._db.execute("SELECT bytes FROM kept").fetchone()
        if self._kept > self._caps.tree * 0.9:
            self._drop_unused()
        entries = 0
        todo = [_Folder(b"", ignore_for(self._workspace), False, 0, False)]
        self._begin()
        slice_began = time.monotonic()
        while todo and entries < limits.CHECKPOINT_ENTRIES:
            folder = todo.pop()
            below, count = self._look_into(folder)
            todo += below
            entries += count
            if time.monotonic() - slice_began > limits.CHECKPOINT_SLICE:
                self._commit()
                yield
                self._begin()
                slice_began = time.monotonic()
        if todo:  # what lies there is not seen: each turn whose commands ran is told so once
            for window in self._windows:
                if not self._records.has_unknown(window.turn, self._root + b"/"):
                    self._found.append((window.turn, self._root + b"/", UNKNOWN, UNKNOWN, "too_many"))
        self._commit()
        self._records.looked_at(self._workspace, began)

    def _begin(self) -> None:
        self._read_windows()
        self._db.execute("BEGIN IMMEDIATE")

    def _read_windows(self) -> None:
        self._windows_read = time.time_ns()
        self._windows = self._records.windows(self._workspace)

    def _commit(self) -> None:
        """First what has changed, then that it was seen."""
        turns: dict[int, list[tuple[bytes, ChangeBy, State, State, str]]] = {}
        for turn, path, before, after, why in self._found:
            turns.setdefault(turn, []).append((path, "command", before, after, why))
        for turn, changes in turns.items():
            self._records.add(turn, changes, self._blobs)
        self._found, self._blobs = [], {}
        self._db.execute("UPDATE kept SET bytes = ?", (self._kept,))
        self._db.execute("COMMIT")

    # -- one folder -------------------------------------------------------------------------------------------------

    def _look_into(self, folder: _Folder) -> tuple[list[_Folder], int]:
        """Compare the files in a folder; gives the folders in it that are to be looked into, and how many names."""
        path = folder.path
        try:
            with os.scandir(self._root + b"/" + path) as scan:
                entries = list(scan)
            changed = os.stat(self._root + b"/" + path).st_ctime_ns
        except OSError:
            return [], 0  # gone, or closed to us; what was in it is compared when its name is seen to be gone
        was_listed = self._db.execute("SELECT 1 FROM folders WHERE path = ?", (path,)).fetchone() is not None
        if not was_listed:
            above = path[: path.rstrip(b"/").rfind(b"/") + 1] if path else b"."
            self._db.execute("INSERT INTO folders VALUES (?, ?)", (path, above))
        known = self._known(path) if was_listed else {}
        rules_file = next((e for e in entries if e.name == _RULES.encode()), None)
        unruled = folder.unruled or (was_listed and self._rules_changed(known.get(_RULES.encode()), rules_file))
        here, files, folders = self._sorted(folder, entries)
        for name in folders:
            if (seen := known.pop(name, None)) is not None:  # a file, before
                self._file_gone(path, name, seen, changed)
        below = self._folders(folder, folders, was_listed, here)
        for name, status in files.items():
            seen = known.pop(name, None)
            if seen is None or seen.ctime < 0 or not seen.is_still(status):
                self._compare(folder, name, seen, status, was_listed, unruled)
        for name, seen in known.items():
            self._file_gone(path, name, None if os.path.lexists(self._root + b"/" + path + name) else seen, changed)
        if not was_listed and not folder.born and (window := self._window(changed)) is not None and path:
            # It was looked at too late to know what may have been deleted here.
            self._found.append((window.turn, self._root + b"/" + path, UNKNOWN, UNKNOWN, "too_early"))
        return below, len(entries)

    def _known(self, path: bytes) -> dict[bytes, _Seen]:
        rows = self._db.execute(
            "SELECT name, what, why, mode, size, mtime, ctime, ino, seen FROM files WHERE folder = ?", (path,)
        )
        return {row[0]: _Seen(*row[1:]) for row in rows}

    def _rules_changed(self, seen: _Seen | None, entry: os.DirEntry[bytes] | None) -> bool:
        if seen is None or entry is None:
            return seen is not None or entry is not None
        try:
            return not seen.is_still(entry.stat(follow_symlinks=False))
        except OSError:
            return True

    def _sorted(
        self, folder: _Folder, entries: list[os.DirEntry[bytes]]
    ) -> tuple[Ignore, dict[bytes, os.stat_result], list[bytes]]:
        """The rules that hold here, the files that count and the folders that do."""
        text = os.fsdecode(self._root + b"/" + folder.path).rstrip("/")
        rules = folder.rules.deeper(text) if folder.path else folder.rules
        files: dict[bytes, os.stat_result] = {}
        folders: list[bytes] = []
        for entry in entries:
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                name = os.fsdecode(entry.name)
                if (is_folder and (name in NEVER or f"{text}/{name}" == self._skip)) or rules.ignores(
                    f"{text}/{name}", is_folder
                ):
                    continue
                if is_folder:
                    folders.append(entry.name)
                else:
                    files[entry.name] = entry.stat(follow_symlinks=False)
            except OSError:  # gone meanwhile
                continue
        return rules, files, folders

    def _folders(self, folder: _Folder, names: list[bytes], was_listed: bool, rules: Ignore) -> list[_Folder]:
        path = folder.path
        before = {row[0] for row in self._db.execute("SELECT path FROM folders WHERE above = ?", (path,))}
        below = []
        for name in names:
            full = path + name + b"/"
            is_new = (was_listed or folder.born) and full not in before and not folder.unruled
            born, when = folder.born or is_new, 0
            if born:
                try:
                    changed = os.stat(self._root + b"/" + full).st_ctime_ns
                except OSError:
                    continue
                window = self._window(changed)
                when = changed if window is not None else folder.when
                window = window or self._window(when)  # what was moved is as old as it was
                told = self._records.latest(self._root + b"/" + path + name)
                if window is not None and is_new and (told is None or told[0] != FOLDER):
                    self._found.append((window.turn, self._root + b"/" + path + name, NOTHING, FOLDER, ""))
            below.append(_Folder(full, rules, born, when, folder.unruled))
            before.discard(full)
        for full in before:
            if not _is_folder(self._root + b"/" + full.rstrip(b"/")):  # a file may stand there now
                self._folder_gone(full, self._time_above(full))
        return below

    def _time_above(self, path: bytes) -> int:
        try:
            return os.stat(self._root + b"/" + path.rstrip(b"/").rpartition(b"/")[0]).st_ctime_ns
        except OSError:
            return 0

    def _folder_gone(self, path: bytes, changed: int) -> None:
        for (below,) in self._db.execute("SELECT path FROM folders WHERE above = ?", (path,)).fetchall():
            self._folder_gone(below, changed)
        for name, seen in self._known(path).items():
            self._gone(path + name, seen, changed)
        full = self._root + b"/" + path.rstrip(b"/")
        told = self._records.latest(full)
        if (window := self._since(changed)) is not None and (told is None or told[0] != NOTHING):
            self._found.append((window.turn, full, FOLDER, NOTHING, ""))
        self._db.execute("DELETE FROM files WHERE folder = ?", (path,))
        self._db.execute("DELETE FROM folders WHERE path = ?", (path,))

    # -- one file ---------------------------------------------------------------------------------------------------

    def _compare(
        self, folder: _Folder, name: bytes, seen: _Seen | None, status: os.stat_result, was_listed: bool, unruled: bool
    ) -> None:
        """Look at a file that is new, or is not as it was seen."""
        relative = folder.path + name
        full = self._root + b"/" + relative
        window = self._window(status.st_ctime_ns)
        if window is None and folder.when:
            window = self._window(folder.when)
        now, data = self._read(full, status)
        if now is None:
            return  # it changed while it was read, or went: the next look has more luck
        if window is not None and not (now.state.is_known and self._is_told(full, now.state, seen)):
            before, why = self._before(full, seen, was_listed or folder.born, unruled)
            if not before.same(now.state) and not (seen and self._only_looked(seen, now)):
                why = why or now.why or window.doubt
                self._found.append((window.turn, full, before, now.state, why))
                self._keep_for_record(before)
        self._note(folder.path, name, now, data)

    def _only_looked(self, seen: _Seen, now: _Seen) -> bool:
        """Of a file without a kept content: its size and time are what they were, so it was renamed or the like."""
        return seen.what == "?" and (seen.mtime, seen.size, seen.mode) == (now.mtime, now.size, now.mode)

    def _before(self, full: bytes, seen: _Seen | None, was_listed: bool, unruled: bool) -> tuple[State, str]:
        """What was there before a command: what a turn has left since it was seen, else what was seen."""
        told = self._records.latest(full)
        if told is not None and (seen is None or told[1] > seen.seen):
            state, why = told[0], "too_early"
        elif seen is not None:
            state, why = seen.state, seen.why
        else:
            state, why = (NOTHING if was_listed and not unruled else UNKNOWN), "too_early"
        if state == FOLDER:  # that it went is told beside this
            state = NOTHING
        if state.what[:2] in ("f:", "l:") and not (self._has(state.digest) or self._records.has(state.digest)):
            return UNKNOWN, "too_much"
        return state, "" if state.is_known else why

    def _is_told(self, full: bytes, now: State, seen: _Seen | None) -> bool:
        told = self._records.latest(full)
        return told is not None and (seen is None or told[1] > seen.seen) and told[0].same(now)

    def _file_gone(self, folder: bytes, name: bytes, seen: _Seen | None, changed: int) -> None:
        """`seen`: None where the file is there, and only does not count any more."""
        if seen is not None:
            self._gone(folder + name, seen, changed)
        self._db.execute("DELETE FROM files WHERE folder = ? AND name = ?", (folder, name))

    def _gone(self, relative: bytes, seen: _Seen, changed: int) -> None:
        """`changed`: when the folder that it was in had last changed, which may have been later."""
        window = self._since(changed)
        if window is None:
            return
        full = self._root + b"/" + relative
        told = self._records.latest(full)
        if told is not None and told[1] > seen.seen and told[0] == NOTHING:
            return
        before, why = self._before(full, seen, True, False)
        self._found.append((window.turn, full, before, NOTHING, why or window.doubt))
        self._keep_for_record(before)

    def _window(self, changed: int) -> Window | None:
        """The command that ran at this time, the one begun last when there are several."""
        if changed >= self._windows_read - limits.CHECKPOINT_CLOCK:  # one may have begun, or ended, since
            self._read_windows()
        for window in self._windows:
            if window.begun - limits.CHECKPOINT_CLOCK <= changed and (window.ended is None or changed <= window.ended):
                return window
        return None

    def _since(self, changed: int) -> Window | None:
        """The command that may have removed what was in a folder that has last changed at a time.

        Better a deletion of the person's too many in a list than a command's too few.
        """
        begun = (w for w in self._windows if w.begun - limits.CHECKPOINT_CLOCK <= changed)
        return self._window(changed) or next(begun, None)

    # -- contents ---------------------------------------------------------------------------------------------------

    def _read(self, full: bytes, status: os.stat_result) -> tuple[_Seen | None, bytes | None]:
        """A file as it is, with its content when that is to be kept; None when it would not hold still."""
        began = time.time_ns()

        def seen(what: str, why: str = "") -> _Seen:
            racy = began - status.st_ctime_ns < limits.CHECKPOINT_RACY
            return _Seen(
                what, why, stat.S_IMODE(status.st_mode), status.st_size, status.st_mtime_ns,
                -1 if racy else status.st_ctime_ns, status.st_ino, began,
            )  # fmt: skip

        try:
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(full)
                return seen(link_state(target).what), target
            if not stat.S_ISREG(status.st_mode):
                return seen("?", "special"), None
            if self._hidden(os.fsdecode(full), False):
                return seen("?", "secret"), None
            if status.st_size > self._caps.file:
                return seen("?", "too_large"), None
            descriptor = os.open(full, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
            try:
                data = _content(descriptor, status.st_size)
                after = os.fstat(descriptor)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            return None, None
        except OSError:
            return seen("?", "unreadable"), None
        if (after.st_ino, after.st_ctime_ns, after.st_size) != (status.st_ino, status.st_ctime_ns, len(data)):
            return None, None
        return seen(f"f:{hashlib.sha256(data).hexdigest()}"), data

    def _note(self, folder: bytes, name: bytes, now: _Seen, data: bytes | None) -> None:
        if data is not None:
            pack = packed(data)
            if self._kept + len(pack) <= self._caps.tree:
                put = self._db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (now.what[2:], pack))
                self._kept += len(pack) if put.rowcount else 0
        self._db.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (folder, name, now.what, now.why, now.mode, now.size, now.mtime, now.ctime, now.ino, now.seen),
        )

    def _has(self, digest: str) -> bool:
        return self._db.execute("SELECT 1 FROM blobs WHERE digest = ?", (digest,)).fetchone() is not None

    def _keep_for_record(self, state: State) -> None:
        """A content that a change has replaced goes where changes are kept."""
        if state.what[:2] in ("f:", "l:"):
            row = self._db.execute("SELECT data FROM blobs WHERE digest = ?", (state.digest,)).fetchone()
            data = unpacked(state.digest, row[0]) if row is not None else None
            if data is not None:
                self._blobs[state.digest] = data

    def _drop_unused(self) -> None:
        with_use = "SELECT substr(what, 3) FROM files"
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(f"DELETE FROM blobs WHERE digest NOT IN ({with_use})")
        (self._kept,) = self._db.execute("SELECT coalesce(sum(length(data)), 0) FROM blobs").fetchone()
        self._db.execute("UPDATE kept SET bytes = ?", (self._kept,))
        self._db.execute("COMMIT")


def _is_folder(path: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _content(descriptor: int, size: int) -> bytes:
    """A file's content, of which `size` bytes are expected; one byte more when it is longer."""
    parts = [os.read(descriptor, size + 1)]
    while parts[-1] and (left := size + 1 - sum(map(len, parts))) > 0:
        parts.append(os.read(descriptor, left))
    return parts[0] if len(parts) <= 2 else b"".join(parts)
