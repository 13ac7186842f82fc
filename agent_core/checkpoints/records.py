"""What turns changed in files, on disk: <home>/checkpoints/changes.db, which may be deleted at any time.

A change is stored with the content that it is about to replace in one transaction, so that there is no record without
its content. Two programs may work with the file at once: the one with the screen, and the one that looks at files
(child.py). Standard library only.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.records import dataclass
from agent_core.rollback import ChangeBy

VERSION: Final = 2
"""Of the schema: a file of another version is made anew."""

ANY_MODE: Final = -1
"""Of a file that is about to be made: what the umask leaves."""


@dataclass(frozen=True, slots=True)
class State:
    """What is at a path."""

    what: str
    """"" nothing, "f:DIGEST" a file, "l:DIGEST" a link (of its target's text), "d" a folder, "?" not known."""
    mode: int = ANY_MODE
    """Permissions of a file."""

    @property
    def digest(self) -> str:
        return self.what[2:]

    @property
    def is_known(self) -> bool:
        return self.what != "?"

    def same(self, other: State) -> bool:
        modes = self.mode, other.mode
        return self.what == other.what and self.is_known and (ANY_MODE in modes or modes[0] == modes[1])


NOTHING: Final = State("")
FOLDER: Final = State("d")
UNKNOWN: Final = State("?")


def file_state(data: bytes, mode: int | None) -> State:
    return State(f"f:{hashlib.sha256(data).hexdigest()}", ANY_MODE if mode is None else mode & 0o7777)


def link_state(target: bytes) -> State:
    return State(f"l:{hashlib.sha256(target).hexdigest()}")


@dataclass(frozen=True, slots=True)
class Change:
    id: int
    turn: int
    path: bytes
    """Absolute, as the kernel has it."""
    by: ChangeBy
    before: State
    after: State
    why: str
    """Why the state before is not known, or what is doubtful of one that is: a key of rollback.REASONS."""
    rollback: int
    """Which one took it back; 0: none."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    id: int
    session: str
    uid: str
    workspace: str
    text: str
    created: float


@dataclass(frozen=True, slots=True)
class Window:
    """The time in which a command of a turn ran, in nanoseconds since the epoch."""

    turn: int
    begun: int
    ended: int | None
    doubt: str = ""
    """Why what changed in it may not be the command's alone: a key of rollback.REASONS."""


@dataclass(frozen=True, slots=True)
class Moved:
    """One path of a rollback: what was there when it began, and what was to be there at its end."""

    path: bytes
    was: State
    now: State


@dataclass(frozen=True, slots=True)
class RollbackRow:
    id: int
    uid: str
    done: bool
    moved: tuple[Moved, ...]


NamedTurn = tuple[str, str, str, str]
"""A turn by what names it: session, uid of the message that began it, workspace, what was asked for."""


_SCHEMA: Final = (
    "CREATE TABLE turns (id INTEGER PRIMARY KEY, session TEXT NOT NULL, uid TEXT NOT NULL, workspace TEXT NOT NULL, "
    "text TEXT NOT NULL, created REAL NOT NULL, thin INTEGER NOT NULL DEFAULT 0, UNIQUE (session, uid))",
    "CREATE TABLE changes (id INTEGER PRIMARY KEY, turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE, "
    "path BLOB NOT NULL, by TEXT NOT NULL, before TEXT NOT NULL, before_mode INTEGER NOT NULL, after TEXT NOT NULL, "
    "after_mode INTEGER NOT NULL, why TEXT NOT NULL, rollback INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX changes_by_turn ON changes (turn)",
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL)",
    # What this program knows to be at a path since the workspace was looked at: in nanoseconds since the epoch.
    "CREATE TABLE latest (path BLOB PRIMARY KEY, what TEXT NOT NULL, mode INTEGER NOT NULL, at INTEGER NOT NULL)",
    "CREATE TABLE windows (id INTEGER PRIMARY KEY, turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE, "
    "owner TEXT NOT NULL, begun INTEGER NOT NULL, ended INTEGER, doubt TEXT NOT NULL)",
    "CREATE TABLE rollbacks (id INTEGER PRIMARY KEY, session TEXT NOT NULL, uid TEXT NOT NULL, created REAL NOT NULL, "
    "done INTEGER NOT NULL)",
    "CREATE TABLE moved (rollback INTEGER NOT NULL REFERENCES rollbacks ON DELETE CASCADE, path BLOB NOT NULL, "
    "was TEXT NOT NULL, was_mode INTEGER NOT NULL, now TEXT NOT NULL, now_mode INTEGER NOT NULL, "
    "PRIMARY KEY (rollback, path)) WITHOUT ROWID",
)


def open_database(path: Path, schema: Iterable[str], version: int) -> sqlite3.Connection:
    """A private file that may be made anew: a damaged one, or one of another version, is.

    What is committed outlives the program; what must outlive the machine wants `synchronous = FULL`. Raises
    sqlite3.Error, OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for attempt in (1, 2):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(path, timeout=limits.CHECKPOINT_LOCKED, isolation_level=None, check_same_thread=False)
        try:
            (found,) = db.execute("PRAGMA user_version").fetchone()
            if found not in (0, version):
                raise sqlite3.DatabaseError("of another version")
            if found == 0:
                if db.execute("PRAGMA page_count").fetchone() == (0,):
                    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
                db.execute("PRAGMA journal_mode = WAL")
                with transaction(db):
                    if db.execute("PRAGMA user_version").fetchone() == (0,):  # else another program was faster
                        for statement in schema:
                            db.execute(statement)
                        db.execute(f"PRAGMA user_version = {version:d}")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            return db
        except sqlite3.DatabaseError as error:
            db.close()
            if attempt == 2 or isinstance(error, sqlite3.OperationalError):
                raise
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
    raise AssertionError


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _number(c: sqlite3.Connection, turn: NamedTurn) -> int:
    """The row of a turn, made if it has none: one that has recorded nothing is taken away by a look (`looked_at`)."""
    c.execute(
        "INSERT INTO turns (session, uid, workspace, text, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (*turn, time.time()),
    )
    found = c.execute("SELECT id FROM turns WHERE session = ? AND uid = ?", turn[:2]).fetchone()
    number: int = found[0]
    return number


class Records:
    """The open file. Safe to use from any thread. Methods raise sqlite3.Error."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self.path = path
        self._db = open_database(path, _SCHEMA, VERSION)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _writing(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """`durable`: it is on the disk when the block is left, also if the machine loses its power then."""
        with self._lock:
            if durable:
                self._db.execute("PRAGMA synchronous = FULL")
            try:
                with transaction(self._db):
                    yield self._db
            finally:
                if durable:
                    self._db.execute("PRAGMA synchronous = NORMAL")

    # -- turns and their commands -----------------------------------------------------------------------------------

    def turns(self, session: str) -> list[TurnRow]:
        """Those of a session that have changes, the oldest first."""
        with self._lock:
            rows = self._db.execute(
                "SELECT id, session, uid, workspace, text, created FROM turns WHERE session = ? "
                "AND EXISTS (SELECT 1 FROM changes WHERE turn = turns.id) ORDER BY id",
                (session,),
            ).fetchall()
        return [TurnRow(*row) for row in rows]

    def open_window(self, turn: NamedTurn, owner: str, doubt: str) -> int:
        with self._writing() as c:
            cursor = c.execute(
                "INSERT INTO windows (turn, owner, begun, doubt) VALUES (?, ?, ?, ?)",
                (_number(c, turn), owner, time.time_ns(), doubt),
            )
        return cursor.lastrowid or 0

    def close_window(self, window: int, ended: int) -> None:
        with self._writing() as c:
            c.execute("UPDATE windows SET ended = ? WHERE id = ?", (ended, window))

    def open_windows(self) -> list[tuple[int, str, int]]:
        """Those that have no end: (id, owner, begun)."""
        with self._lock:
            return self._db.execute("SELECT id, owner, begun FROM windows WHERE ended IS NULL").fetchall()

    def windows(self, workspace: str) -> list[Window]:
        """Those whose changes may not have been looked at, the one begun last first."""
        with self._lock:
            rows = self._db.execute(
                "SELECT turn, begun, ended, doubt FROM windows "
                "WHERE turn IN (SELECT id FROM turns WHERE workspace = ?) ORDER BY begun DESC",
                (workspace,),
            ).fetchall()
        return [Window(*row) for row in rows]

    def workspaces(self) -> list[str]:
        """Those in which commands have run since they were last looked at."""
        with self._lock:
            rows = self._db.execute("SELECT DISTINCT workspace FROM turns JOIN windows ON windows.turn = turns.id")
            return [workspace for (workspace,) in rows]

    def looked_at(self, workspace: str, since: int) -> None:
        """All that had happened in a workspace before this time is recorded."""
        with self._writing() as c:
            c.execute(
                "DELETE FROM windows WHERE ended < ? AND turn IN (SELECT id FROM turns WHERE workspace = ?)",
                (since, workspace),
            )
            c.execute(
                "DELETE FROM turns WHERE workspace = ? AND NOT EXISTS (SELECT 1 FROM changes WHERE turn = turns.id) "
                "AND NOT EXISTS (SELECT 1 FROM windows WHERE turn = turns.id)",
                (workspace,),
            )

    # -- changes ----------------------------------------------------------------------------------------------------

    def add(
        self,
        turn: int | NamedTurn,
        changes: Iterable[tuple[bytes, ChangeBy, State, State, str]],
        blobs: Mapping[str, bytes],
        *,
        durable: bool = False,
    ) -> list[int]:
        """Record changes (path, by, before, after, why), with contents by their digests."""
        with self._writing(durable=durable) as c:
            _put(c, blobs.items())
            ids = []
            number = turn if isinstance(turn, int) else _number(c, turn)
            for path, by, before, after, why in changes:
                cursor = c.execute(
                    "INSERT INTO changes (turn, path, by, before, before_mode, after, after_mode, why) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (number, path, by, before.what, before.mode, after.what, after.mode, why),
                )
                ids.append(cursor.lastrowid or 0)
                _know(c, path, after)
        return ids

    def forget(self, ids: Iterable[int]) -> None:
        """These changes never came about: what was known before them is so again."""
        with self._writing() as c:
            for id_ in ids:
                c.execute("DELETE FROM latest WHERE path = (SELECT path FROM changes WHERE id = ?)", (id_,))
                c.execute("DELETE FROM changes WHERE id = ?", (id_,))

    def changes(self, turns: Collection[int]) -> list[Change]:
        """Those of turns, in the order in which they came."""
        out: list[Change] = []
        with self._lock:
            for turn in sorted(turns):
                rows = self._db.execute(
                    "SELECT id, turn, path, by, before, before_mode, after, after_mode, why, rollback FROM changes "
                    "WHERE turn = ? ORDER BY id",
                    (turn,),
                )
                out += [
                    Change(row[0], row[1], row[2], row[3], State(*row[4:6]), State(*row[6:8]), *row[8:]) for row in rows
                ]
        return sorted(out, key=lambda change: change.id)

    def has_unknown(self, turn: int, path: bytes) -> bool:
        with self._lock:
            row = self._db.execute(
                "SELECT 1 FROM changes WHERE turn = ? AND path = ? AND before = '?'", (turn, path)
            ).fetchone()
        return row is not None

    def latest(self, path: bytes) -> tuple[State, int] | None:
        with self._lock:
            row = self._db.execute("SELECT what, mode, at FROM latest WHERE path = ?", (path,)).fetchone()
        return None if row is None else (State(row[0], row[1]), row[2])

    def content(self, digest: str) -> bytes | None:
        """A content that was kept; None when it was not, or is spoiled."""
        with self._lock:
            row = self._db.execute("SELECT data FROM blobs WHERE digest = ?", (digest,)).fetchone()
        return unpacked(digest, row[0]) if row is not None else None

    def has(self, digest: str) -> bool:
        with self._lock:
            return self._db.execute("SELECT 1 FROM blobs WHERE digest = ?", (digest,)).fetchone() is not None

    # -- rollbacks --------------------------------------------------------------------------------------------------

    def begin_rollback(self, session: str, uid: str, moved: Iterable[Moved], blobs: Iterable[tuple[str, bytes]]) -> int:
        """Note durably what is about to be done, with the contents that it takes away by their digests."""
        with self._writing(durable=True) as c:
            _put(c, blobs)
            cursor = c.execute(
                "INSERT INTO rollbacks (session, uid, created, done) VALUES (?, ?, ?, 0)", (session, uid, time.time())
            )
            number = cursor.lastrowid or 0
            c.executemany(
                "INSERT INTO moved VALUES (?, ?, ?, ?, ?, ?)",
                [(number, m.path, m.was.what, m.was.mode, m.now.what, m.now.mode) for m in moved],
            )
        return number

    def end_rollback(self, number: int, changes: Iterable[int], done: Collection[bytes]) -> None:
        """It has been done for these paths: their changes are taken back. Those of the others stand, and nothing
        else is kept of them."""
        with self._writing(durable=True) as c:
            for path, what, mode in c.execute(
                "SELECT path, now, now_mode FROM moved WHERE rollback = ?", (number,)
            ).fetchall():
                if path in done:
                    _know(c, path, State(what, mode))
                else:
                    c.execute("DELETE FROM moved WHERE rollback = ? AND path = ?", (number, path))
                    c.execute("UPDATE changes SET rollback = 0 WHERE rollback = ? AND path = ?", (number, path))
            c.executemany("UPDATE changes SET rollback = ? WHERE id = ?", [(number, id_) for id_ in changes])
            c.execute("UPDATE rollbacks SET done = 1 WHERE id = ?", (number,))
            c.execute("DELETE FROM rollbacks WHERE id = ? AND id NOT IN (SELECT rollback FROM moved)", (number,))

    def begin_redo(self, number: int) -> None:
        """Note durably that a rollback is about to be taken back: until that has ended, what is at its paths tells of
        which it still stands."""
        with self._writing(durable=True) as c:
            c.execute("UPDATE rollbacks SET done = 0 WHERE id = ?", (number,))

    def taken_back(self, number: int, paths: Collection[bytes]) -> None:
        """A rollback was taken back for these paths; for the rest it stands."""
        with self._writing(durable=True) as c:
            for path in paths:
                row = c.execute(
                    "SELECT was, was_mode FROM moved WHERE rollback = ? AND path = ?", (number, path)
                ).fetchone()
                if row is not None:
                    _know(c, path, State(*row))
                c.execute("DELETE FROM moved WHERE rollback = ? AND path = ?", (number, path))
                c.execute("UPDATE changes SET rollback = 0 WHERE rollback = ? AND path = ?", (number, path))
            c.execute("UPDATE rollbacks SET done = 1 WHERE id = ?", (number,))
            c.execute("DELETE FROM rollbacks WHERE id = ? AND id NOT IN (SELECT rollback FROM moved)", (number,))

    def rollbacks(self, session: str) -> list[RollbackRow]:
        """Those of a session that can be taken back, the newest first."""
        with self._lock:
            found = self._db.execute(
                "SELECT id, uid, done FROM rollbacks WHERE session = ? ORDER BY id DESC", (session,)
            ).fetchall()
            moved = {
                number: self._db.execute(
                    "SELECT path, was, was_mode, now, now_mode FROM moved WHERE rollback = ? ORDER BY path", (number,)
                ).fetchall()
                for number, _, _ in found
            }
        return [
            RollbackRow(
                number, uid, bool(done), tuple(Moved(m[0], State(*m[1:3]), State(*m[3:5])) for m in moved[number])
            )
            for number, uid, done in found
        ]

    # -- bounds -----------------------------------------------------------------------------------------------------

    def prune(
        self, sessions: Collection[str] | None, before: float, turns: int, size: int, listed: float = math.inf
    ) -> None:
        """Forget what sessions that are no more have changed (`sessions`: all there were at the time `listed`: what
        changed since may be another program's, in a session that began since), what is older than `before`, and the
        contents of the oldest turns until a workspace has at most `turns` of them and all are `size` bytes."""
        with self._writing() as c:
            if sessions is not None:
                begun = c.execute("SELECT session FROM turns GROUP BY session HAVING min(created) < ?", (listed,))
                known = {session for (session,) in begun}
                gone = [(session,) for session in known - set(sessions)]
                c.executemany("DELETE FROM turns WHERE session = ?", gone)
                c.executemany("DELETE FROM rollbacks WHERE session = ?", gone)
            c.execute("DELETE FROM turns WHERE created < ?", (before,))
            c.execute("DELETE FROM rollbacks WHERE created < ?", (before,))
            old = c.execute(
                "SELECT id FROM (SELECT id, thin, row_number() OVER (PARTITION BY workspace ORDER BY id DESC) AS place "
                "FROM turns) WHERE place > ? AND NOT thin",
                (turns,),
            ).fetchall()
            for (turn,) in old:
                _thin(c, turn)
            _drop_unused(c)
            while _kept(c) > size:
                (turn,) = c.execute("SELECT min(id) FROM turns WHERE NOT thin").fetchone()
                if turn is None:
                    c.execute("DELETE FROM rollbacks")  # what only they would bring back is too much
                else:
                    _thin(c, turn)
                _drop_unused(c)
                if turn is None:
                    break
            c.execute("DELETE FROM latest WHERE at < ?", (int(before * 1e9),))
        with self._lock:
            self._db.execute("PRAGMA incremental_vacuum").fetchall()

    @property
    def kept(self) -> int:
        """Bytes of all contents, packed."""
        with self._lock:
            return _kept(self._db)


_PLAIN: Final = b"="  # what is packed begins otherwise


def packed(data: bytes) -> bytes:
    """As it is stored: what is short gains nothing by packing."""
    return zlib.compress(data, 1) if len(data) > limits.CHECKPOINT_PLAIN else _PLAIN + data


def unpacked(digest: str, data: bytes) -> bytes | None:
    """None: it is not what it was."""
    try:
        plain = data[1:] if data.startswith(_PLAIN) else zlib.decompress(data)
    except zlib.error:
        return None
    return plain if hashlib.sha256(plain).hexdigest() == digest else None


def _put(c: sqlite3.Connection, blobs: Iterable[tuple[str, bytes]]) -> None:
    for digest, data in blobs:
        if c.execute("SELECT 1 FROM blobs WHERE digest = ?", (digest,)).fetchone() is None:
            c.execute("INSERT INTO blobs VALUES (?, ?, ?)", (digest, len(data), packed(data)))


def _know(c: sqlite3.Connection, path: bytes, state: State) -> None:
    c.execute("INSERT OR REPLACE INTO latest VALUES (?, ?, ?, ?)", (path, state.what, state.mode, time.time_ns()))


def _kept(c: sqlite3.Connection) -> int:
    size: int = c.execute("SELECT coalesce(sum(length(data)), 0) FROM blobs").fetchone()[0]
    return size


def _thin(c: sqlite3.Connection, turn: int) -> None:
    """Give the contents of a turn up: what it changed is still named."""
    c.execute(
        "UPDATE changes SET before = '?', why = 'made_room' WHERE turn = ? AND before NOT IN ('', 'd', '?')", (turn,)
    )
    c.execute("DELETE FROM rollbacks WHERE uid = (SELECT uid FROM turns WHERE id = ?)", (turn,))
    c.execute("UPDATE turns SET thin = 1 WHERE id = ?", (turn,))


def _drop_unused(c: sqlite3.Connection) -> None:
    c.execute(
        "DELETE FROM blobs WHERE digest NOT IN (SELECT substr(before, 3) FROM changes UNION SELECT substr(after, 3) "
        "FROM changes JOIN turns ON turns.id = turn WHERE NOT thin UNION SELECT substr(was, 3) FROM moved "
        "UNION SELECT substr(now, 3) FROM moved)"
    )
