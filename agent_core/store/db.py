"""One SQLite file: a single writer, pooled readers, commits that are on disk before they return.

Source: SESS-12, SESS-16.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, TypeVar

from agent_core import limits
from agent_core.errors import StoreError
from agent_core.names import APP

T = TypeVar("T")

Budget = Literal["transcript", "normal", "activity"]
"""How long a write may wait for other programs: what a turn says and does; settings; what is noted again anyway."""

LOCKED: Final = frozenset({"store_locked", "session_persistence_failed:locked"})
"""Codes of a write whose budget was exhausted."""

APPLICATION_ID = 0x6E616E6F
"""Marks the file as ours ("nano"), so that another program's database is never migrated by mistake."""

_MIGRATIONS = Path(__file__).parent / "migrations"
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Database:
    """An open database file, safe to use from any thread.

    Writes go through one connection, one at a time. Reads borrow a connection from a pool, so that a reader never
    waits for a writer and the number of connections follows what runs at once rather than how many threads there were;
    of those that many readers at once have needed, a few are kept.
    """

    def __init__(self, path: Path, warnings: tuple[str, ...] = ()) -> None:
        self.path = path
        self.warnings = warnings
        """Sentences for the user about what opening had to do."""
        self.at_write: Callable[[str], None] = lambda moment: None
        """Called with "before" when a transaction is done but for its commit, and "after" that; tests kill us there."""
        self._lock = threading.Lock()
        self._waits = threading.local()
        self._held_up = False  # who writes waits for another program
        self._pool_lock = threading.Lock()
        self._pool: list[sqlite3.Connection] = []
        self._closed = False
        self._writes = 0
        self._writer = _connect(path)
        self._file = _identity(path)
        try:
            self._patiently(self._prepare)
        except BaseException:
            self._writer.close()
            raise

    @classmethod
    def open(cls, path: Path) -> Database:
        """Open `path`, making it (mode 0600) or bringing its schema up to date as needed.

        A damaged file is kept as `<name>.corrupt-<time>` and a fresh one takes its place; `warnings` then says so.
        Raises StoreError when the file is of a newer version, another program's, locked, or out of reach; it is
        untouched then. Source: SESS-04.
        """
        warnings: tuple[str, ...] = ()
        try:
            _make_private(path)
            _examine(path)
        except sqlite3.Error as e:
            if not is_damage(e):
                raise explain(path, e) from e
            try:
                aside = _set_aside(path)
                _make_private(path)
            except OSError as moved:
                raise _out_of_reach(path, moved) from moved
            warnings = (
                f"{path} was damaged ({e}). It is kept as {aside.name}; a new, empty one has been started. "
                f"`{APP} sessions check --repair` brings back what can be read of it.",
            )
        except OSError as e:
            raise _out_of_reach(path, e) from e
        return cls(path, warnings)

    def write(self, work: Callable[[sqlite3.Connection], T], budget: Budget = "normal") -> T:
        """Run `work` in one transaction that is durable when this returns; nothing of it stays when it raises.

        `work` may run more than once. Raises StoreError when it cannot be made durable within its budget (SESS-16);
        the code is "store_locked", for a transcript "session_persistence_failed:locked".
        """

        def attempt() -> T:
            connection = self._writer
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(connection)
                self.at_write("before")
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self.at_write("after")
            self._writes += 1
            if self._writes % limits.CHECKPOINT_EVERY == 0:
                self._checkpoint()
            return result

        return self._patiently(attempt, budget)

    def shrink(self, stopped: Callable[[], bool]) -> None:
        """Give the room of what was removed back to the disk, little by little. Raises StoreError."""

        def work(c: sqlite3.Connection) -> bool:
            before = _free_pages(c)
            if before < limits.SHRINK_FROM:
                return False
            for _ in range(limits.SHRINK_STEP):  # Python makes one step of the statement, which is a page
                c.execute("PRAGMA incremental_vacuum")
            return _free_pages(c) < before  # never in a file that was made without

        while not stopped() and self.write(work, "activity"):
            pass
        with self._lock:
            if not self._closed:
                self._checkpoint()

    def await_write(self) -> None:
        """Return when no write is under way that had begun before."""
        with self._lock:
            pass

    @contextmanager
    def while_not(self, stopped: Callable[[], bool]) -> Iterator[None]:
        """What this thread writes in the block waits for another program only until `stopped`.

        One try is made all the same, so what is to be stored after a stop is stored where nobody is in the way.
        """
        before: Callable[[], bool] = getattr(self._waits, "stopped", _never)
        self._waits.stopped = stopped
        try:
            yield
        finally:
            self._waits.stopped = before

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the last commit and cannot write. Raises StoreError for what goes wrong inside."""
        connection: sqlite3.Connection | None = None
        try:
            with self._pool_lock:
                self._check()
                connection = self._pool.pop() if self._pool else None
            if connection is None:
                connection = _reader(self.path)
            yield connection
        except sqlite3.Error as e:
            raise explain(self.path, e) from e
        finally:
            if connection is not None:
                with self._pool_lock:
                    keep = not self._closed and len(self._pool) < limits.READERS_KEPT
                    if keep:
                        self._pool.append(connection)
                if not keep:
                    connection.close()

    def close(self) -> None:
        """Close every connection; a second call does nothing."""
        with self._pool_lock:
            self._closed = True
            idle, self._pool = self._pool, []
        for connection in idle:
            connection.close()
        with self._lock:
            self._writer.close()

    def _patiently(self, attempt: Callable[[], T], budget: Budget = "normal") -> T:
        """`attempt` under the writer's lock, again and again while another program holds the file."""
        seconds = _seconds(budget)
        begun = time.monotonic()
        deadline = begun + seconds
        stopped: Callable[[], bool] = getattr(self._waits, "stopped", _never)
        while not self._lock.acquire(timeout=min(limits.WRITE_LOOK, max(deadline - time.monotonic(), 0.0))):
            now = time.monotonic()
            # Whoever has it is of this program and soon done, unless another program holds them up.
            hopeless = self._held_up or now >= begun + limits.WRITE_STOPPED
            if now >= deadline or (hopeless and stopped()):
                raise _locked(self.path, budget, stopped())
        try:
            self._check()
            hurried = seconds < limits.SQLITE_BUSY  # not even one try may take as long as others do
            if hurried:
                self._set_patience(seconds)
            try:
                while True:
                    try:
                        return attempt()
                    except sqlite3.Error as e:
                        if _code(e) not in _BUSY:
                            raise explain(self.path, e) from e
                        if time.monotonic() >= deadline or stopped():
                            raise _locked(self.path, budget, stopped()) from e
                        self._check()  # who closes it waits for one try, not for all of them
                        self._held_up = True
                    # Jitter, so that two programs that wait for each other do not meet again and again.
                    time.sleep(random.uniform(*limits.WRITE_RETRY))
            finally:
                self._held_up = False
                if hurried:
                    self._set_patience(limits.SQLITE_BUSY)
        finally:
            self._lock.release()

    def _set_patience(self, seconds: float) -> None:
        self._writer.execute(f"PRAGMA busy_timeout = {int(seconds * 1000):d}")

    def _checkpoint(self) -> None:
        try:
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error:
            pass  # what was written is safe in the WAL; the next checkpoint may have more luck

    def _check(self) -> None:
        """Raises StoreError when the database is closed, or its file is not the one that was opened.

        What is written into a file that was deleted would be gone with this program, without a word.
        """
        if self._closed:
            raise StoreError("store_closed", f"{self.path} is closed; the program is about to end.")
        if _identity(self.path) != self._file:
            raise StoreError(
                "store_gone",
                f"{self.path} was deleted or replaced while the program runs: nothing can be stored any more. "
                "Copy what you still need, put the file back or leave it, then start the program again.",
                path=str(self.path),
            )

    def _prepare(self) -> None:
        """Settings of the writer, and the migrations the file lacks."""
        writer = self._writer
        if writer.execute("PRAGMA page_count").fetchone() == (0,):
            writer.execute("PRAGMA auto_vacuum = INCREMENTAL")  # in a file that is there already this would be a write
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA synchronous = FULL")
        writer.execute("PRAGMA foreign_keys = ON")
        if _version(writer) == latest_version():
            return
        writer.execute("BEGIN IMMEDIATE")
        try:
            # Asked again inside the transaction: another program may have just done it.
            for number, script in _migrations():
                if number > _version(writer):
                    for statement in _statements(script):
                        writer.execute(statement)
                    writer.execute(f"PRAGMA user_version = {number:d}")
            writer.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
            writer.execute("COMMIT")
        except BaseException:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            raise


def latest_version() -> int:
    """The schema version this program writes."""
    return max(number for number, _ in _migrations())


def explain(path: Path, error: sqlite3.Error) -> StoreError:
    """What SQLite reported, in words that name the file and the way out."""
    code = _code(error)
    if code in _BUSY:
        return _locked(path)
    if is_damage(error):
        return StoreError(
            "store_damaged",
            f"{path} is damaged ({error}). Close the program, then `{APP} sessions check --repair` saves what can be "
            "read of it in a new one; the damaged one is kept.",
            path=str(path),
        )
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_room(path)):
        return StoreError("store_full", f"The disk is full: {path} cannot grow. Free some space.", path=str(path))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreError(
            "store_unwritable",
            f"{path} cannot be opened for writing ({error}). Check the rights of the file and its folder.",
            path=str(path),
        )
    return StoreError("store_failed", f"{path}: {error}. Check the disk, then try again.", path=str(path))


def _no_room(path: Path) -> bool:
    """Whether the disk is full: the file beside the journal that cannot grow then is an I/O error to SQLite."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < limits.DISK_LEAST


def _seconds(budget: Budget) -> float:
    if budget == "transcript":
        return limits.TRANSCRIPT_BUDGET
    return limits.WRITE_BUDGET if budget == "normal" else limits.ACTIVITY_BUDGET


def _never() -> bool:
    return False


def _locked(path: Path, budget: Budget = "normal", stopped: bool = False) -> StoreError:
    if stopped:
        return StoreError(
            "store_locked_at_stop",
            f"When you stopped, {path} was held by another program; what was not stored yet is not kept. "
            "Close that program, then go on.",
            path=str(path),
        )
    return StoreError(
        "session_persistence_failed:locked" if budget == "transcript" else "store_locked",
        f"{path} was held by another program for {_seconds(budget):g} s. Close that program, then try again.",
        path=str(path),
    )


def _out_of_reach(path: Path, error: OSError) -> StoreError:
    return StoreError(
        "store_unwritable",
        f"{path} cannot be used: {error.strerror or error}. Check the rights of its folder, or set NANOHERMES_HOME.",
        path=str(path),
    )


def is_damage(error: sqlite3.Error) -> bool:
    """Whether what SQLite says of a file means that it is spoiled."""
    # The last is how it calls a header that names a form of file nobody has made yet.
    return _code(error) in _DAMAGED or str(error) == "unsupported file format"


def readable(data: bytes) -> str:
    """A connection's text_factory: one spoiled letter must not keep the rows around it from being read."""
    return data.decode("utf-8", "replace")


def schema(c: sqlite3.Connection) -> set[tuple[str, str]]:
    """Names and definitions of what a database is made of."""
    return set(c.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())


def latest_schema() -> set[tuple[str, str]]:
    """The same of a new database."""
    with closing(sqlite3.connect(":memory:")) as c:
        for _, script in _migrations():
            c.executescript(script)
        return schema(c)


def _code(error: sqlite3.Error) -> int:
    """The primary SQLite result code; 0 for errors of the Python module itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _connect(path: Path, query: str = "mode=rw") -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?{query}",
            uri=True,
            timeout=limits.SQLITE_BUSY,
            isolation_level=None,
            check_same_thread=False,
        )
    except sqlite3.Error as e:
        raise explain(path, e) from e
    connection.text_factory = readable
    return connection


def _reader(path: Path) -> sqlite3.Connection:
    connection = _connect(path)
    try:
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()  # one that could write is lent to nobody
        raise
    return connection


def _make_private(path: Path) -> None:
    """Make the file if need be, readable by its owner alone. SQLite gives its -wal and -shm the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(fd).st_mode & 0o077:
            os.fchmod(fd, 0o600)
    finally:
        os.close(fd)


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from every other that is there; None: it is not."""
    try:
        there = os.stat(path)
    except OSError:
        return None
    return there.st_dev, there.st_ino


def _examine(path: Path) -> None:
    """Look at the file without changing it.

    Raises StoreError when it is not for us to open, sqlite3.DatabaseError when it is damaged.
    """
    size = path.stat().st_size
    if size == 0:
        return
    connection = _connect(path, "mode=ro")
    try:
        version = _version(connection)
        if version > latest_version():
            raise StoreError(
                "store_newer",
                f"{path} was written by a newer version (schema {version}, this program knows {latest_version()}). "
                "Update the program, or set NANOHERMES_HOME to another folder.",
                path=str(path),
            )
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION_ID and (application or version or tables):
            raise StoreError(
                "store_foreign",
                f"{path} is a database of another program. Move it away, or set NANOHERMES_HOME to another folder.",
                path=str(path),
            )
        if size <= limits.STORE_CHECK:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                damage = sqlite3.DatabaseError(str(verdict))
                damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise damage
    except UnicodeDecodeError as e:  # in SQLite's own words about a spoiled name
        damage = sqlite3.DatabaseError("a name in it is spoiled")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage from e
    finally:
        connection.close()


def _set_aside(path: Path) -> Path:
    """Rename a damaged database with its journal; both keep the name that a recovery tool expects."""
    aside = path.with_name(f"{path.name}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        journal = path.with_name(path.name + suffix)
        if journal.exists():
            journal.rename(aside.with_name(aside.name + suffix))
    return aside


def _free_pages(c: sqlite3.Connection) -> int:
    (number,) = c.execute("PRAGMA freelist_count").fetchone()
    return int(number)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


@lru_cache(maxsize=1)
def _migrations() -> tuple[tuple[int, str], ...]:
    """(schema version, script) of every migration, oldest first: `0001_sessions.sql` leads to version 1."""
    return tuple((int(file.name[:4]), file.read_text("utf-8")) for file in sorted(_MIGRATIONS.glob("[0-9]*.sql")))


def _statements(script: str) -> Iterator[str]:
    """The statements of `script` one by one: executescript() would commit between them."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
