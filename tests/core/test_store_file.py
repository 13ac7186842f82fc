"""The database as a file: who may read it, what damages it, and many that write it at once."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from contextlib import ExitStack, closing
from functools import partial

import pytest

from agent_core import limits
from agent_core.errors import StoreError
from agent_core.messages import user
from agent_core.store import db
from agent_core.store.bodies import snapshot
from agent_core.store.db import Database, latest_version
from agent_core.store.sessions import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "state.db"


@pytest.fixture
def store(path):
    opened = Store.open(path)
    yield opened
    opened.close()


# -- the file -----------------------------------------------------------------------------------------------------


def test_the_files_are_private(path, store):
    store.create("/w")
    files = sorted(path.parent.iterdir())
    assert {f.name for f in files} == {"state.db", "state.db-shm", "state.db-wal"}
    for file in (*files, path.parent):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


def test_a_file_open_to_others_is_closed_to_them(path):
    path.parent.mkdir()
    path.touch()
    path.chmod(0o644)
    Store.open(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_commits_are_durable_and_the_journal_is_wal(path, store):
    store.create("/w")
    with store._db.read() as c:
        assert c.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._db._writer.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_reader_cannot_write(store):
    with pytest.raises(StoreError), store._db.read() as c:
        c.execute("DELETE FROM sessions")


def test_one_that_could_not_be_kept_from_writing_is_lent_to_nobody(store, monkeypatch):
    class Failing(sqlite3.Connection):
        def execute(self, sql, *parameters):
            if "query_only" in sql:
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *parameters)

    def connect(path):
        return sqlite3.connect(path, factory=Failing, isolation_level=None, check_same_thread=False)

    with monkeypatch.context() as patch:
        patch.setattr(db, "_connect", connect)
        with pytest.raises(StoreError, match="disk I/O error"), store.database.read():
            pass
    with store.database.read() as c, pytest.raises(sqlite3.OperationalError, match="readonly"):
        c.execute("DELETE FROM sessions")


def test_what_ends_a_snapshot_is_told_also_when_sqlite_has_ended_it(store):
    def spoiled(c):
        with snapshot(c):
            c.execute("ROLLBACK")
            raise RuntimeError("the disk")

    with store.database.read() as c, pytest.raises(RuntimeError, match="the disk"):
        spoiled(c)


def test_of_the_connections_that_many_readers_at_once_need_a_few_stay_open(path, store):
    def opened() -> int:
        """Each has the journal open. Of the file itself SQLite keeps descriptors for the next ones."""
        links = [
            os.readlink(fd) for fd in map("/proc/self/fd/{}".format, os.listdir("/proc/self/fd")) if os.path.lexists(fd)
        ]
        return links.count(f"{path}-wal")

    store.create("/ws", title="one")
    for _ in range(2):
        with ExitStack() as readers:
            for _ in range(12):
                connection = readers.enter_context(store.database.read())
                assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
            assert opened() == 1 + 12
        assert opened() == 1 + limits.READERS_KEPT


def test_the_journal_does_not_grow_for_ever(path, store):
    session = store.create("/w").id
    for number in range(3 * limits.CHECKPOINT_EVERY):
        store.append(session, user(f"{number} " + "x" * 20_000))
    assert path.with_name("state.db-wal").stat().st_size < 6_000_000
    assert len(store.messages(session)) == 3 * limits.CHECKPOINT_EVERY


def test_a_database_of_a_newer_version_is_refused_and_left_alone(path):
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("PRAGMA user_version = 999")
    c.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="schema 999, this program knows") as refused:
        Store.open(path)
    assert refused.value.code == "store_newer"
    assert str(path) in str(refused.value)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("CREATE TABLE theirs (a)")
    c.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as refused:
        Store.open(path)
    assert refused.value.code == "store_foreign"
    assert path.read_bytes() == before


def test_a_new_database_has_the_latest_schema(path, store):
    with store._db.read() as c:
        assert c.execute("PRAGMA user_version").fetchone() == (latest_version(),)
        assert c.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def spoil_header(data: bytearray) -> None:
    data[:500] = b"\0" * 500


def spoil_pages(data: bytearray) -> None:
    data[4096:] = os.urandom(len(data) - 4096)


def spoil_middle(data: bytearray) -> None:
    data[len(data) // 2 : len(data) // 2 + 5000] = b"\0" * 5000


def spoil_end(data: bytearray) -> None:
    del data[len(data) // 2 :]


@pytest.mark.parametrize("spoil", [spoil_header, spoil_pages, spoil_middle, spoil_end])
def test_a_damaged_database_is_kept_and_a_fresh_one_started(path, spoil):
    first = Store.open(path)
    session = first.create("/w").id
    for _ in range(40):
        first.append(session, user("x" * 3000))
    first.close()
    data = bytearray(path.read_bytes())
    spoil(data)
    path.write_bytes(data)
    store = Store.open(path)
    assert store.list() == []
    store.append(store.create("/w").id, user("works"))
    [aside] = (p for p in path.parent.glob("state.db.corrupt-*") if not p.name.endswith(("-wal", "-shm")))
    assert aside.read_bytes() == bytes(data)
    [warning] = store.warnings
    assert str(path) in warning
    assert aside.name in warning
    store.close()
    again = Store.open(path)
    assert again.warnings == ()
    again.close()


def test_damage_found_while_reading_names_the_file(path, monkeypatch):
    monkeypatch.setattr(limits, "STORE_CHECK", 0)
    first = Store.open(path)
    session = first.create("/w").id
    for _ in range(40):
        first.append(session, user("x" * 30_000))
    first.close()
    data = bytearray(path.read_bytes())
    half = len(data) // 8192 * 4096  # behind the tables' first pages
    data[half:] = b"\xff" * (len(data) - half)
    path.write_bytes(data)
    store = Store.open(path)
    with pytest.raises(StoreError, match="damaged") as found:
        store.messages(session)
    assert found.value.code == "store_damaged"
    assert str(path) in str(found.value)
    store.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_named(path):
    path.parent.mkdir(mode=0o500)
    with pytest.raises(StoreError, match="NANOHERMES_HOME"):
        Store.open(path)


def test_a_home_that_is_a_file_is_named(tmp_path):
    (tmp_path / "home").write_text("not a folder")
    with pytest.raises(StoreError) as refused:
        Store.open(tmp_path / "home" / "state.db")
    assert refused.value.code == "store_unwritable"


# -- many at once -------------------------------------------------------------------------------------------------


def test_two_programs_and_many_threads_write_one_file(path):
    stores = [Store.open(path), Store.open(path)]
    sessions = [stores[0].create("/w").id for _ in range(3)]
    failures: list[BaseException] = []

    def run(worker: int) -> None:
        try:
            for number in range(15):
                stores[worker % 2].append(sessions[number % 3], user(f"{worker}:{number}"))
                stores[worker % 2].messages(sessions[number % 3])
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    texts = sorted(m.text for s in sessions for m in stores[1].messages(s))
    assert texts == sorted(f"{w}:{n}" for w in range(6) for n in range(15))
    for opened in stores:
        opened.close()


def test_a_writer_waits_for_another_program(path, store):
    session = store.create("/w").id
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    done = threading.Event()

    def write() -> None:
        store.append(session, user("patient"))
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    assert not done.wait(limits.SQLITE_BUSY + 0.5), "the file is held, longer than one try takes"
    assert store.get(session).messages == 0, "a reader does not wait"
    other.execute("COMMIT")
    thread.join(10)
    assert [m.text for m in store.messages(session)] == ["patient"]
    other.close()


def test_a_write_that_cannot_be_made_says_so_and_leaves_nothing(path, store, monkeypatch):
    monkeypatch.setattr(limits, "TRANSCRIPT_BUDGET", 0.2)
    session = store.create("/w").id
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="held by another program") as locked:
        store.append(session, user("lost"))
    assert locked.value.code == "session_persistence_failed:locked"
    other.execute("ROLLBACK")
    other.close()
    assert store.messages(session) == []
    store.append(session, user("kept"))
    assert len(store.messages(session)) == 1


def test_a_transaction_that_fails_leaves_nothing(path):
    database = Database.open(path)

    def work(c: sqlite3.Connection) -> None:
        c.execute("INSERT INTO sessions (id, workspace, created, updated) VALUES ('a', '/w', 0, 0)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.write(work)
    with database.read() as c:
        assert c.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
    database.close()
    database.close()
    writes = [partial(database.write, work, budget) for budget in ("normal", "transcript", "activity")]
    for use in (*writes, lambda: database.read().__enter__()):
        with pytest.raises(StoreError) as closed:
            use()
        assert closed.value.code == "store_closed"


def test_a_lease_that_could_not_be_stored_is_not_ours_and_stands_in_no_ones_way(path, store):
    session = store.create("/w").id

    def full(moment):
        raise sqlite3.OperationalError("database or disk is full")

    database = store.database
    database.at_write = full
    with pytest.raises(StoreError, match="disk is full"):
        store.leases.acquire(session)
    database.at_write = lambda moment: None
    assert not store.leases.is_ours(session)
    store.append(session, user("there is room again"))
    held = store.leases.acquire(session)
    database.at_write = full
    with pytest.raises(StoreError, match="disk is full"):
        store.leases.acquire(session)
    database.at_write = lambda moment: None
    assert store.leases.renew(held), "the one before it holds on"


def test_a_full_disk_is_told_and_costs_only_the_new_message(store):
    session = store.create("/w").id
    store.append(session, user("before"))
    store._db._writer.execute("PRAGMA max_page_count = 20")
    with pytest.raises(StoreError) as full:
        store.append(session, user("x" * 1_000_000))
    assert full.value.code == "store_full"
    assert [m.text for m in store.messages(session)] == ["before"]


@pytest.mark.parametrize("vacuum", [2, 0])
def test_the_room_of_what_was_purged_goes_back_to_the_disk(path, vacuum):
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as c:
        c.execute(f"PRAGMA auto_vacuum = {vacuum}")
        c.execute("CREATE TABLE t (a)")
        c.execute("DROP TABLE t")
    store = Store.open(path)
    kept, gone = store.create("/w").id, store.create("/w").id
    for number in range(60):
        store.append(gone, user(f"{number} " + "x" * 100_000))
        store.append(kept, user(f"{number} " + "y" * 10_000))
    store.delete(gone)
    store.purge(time.time() + 1, 0.0)
    store.shrink()
    assert [len(m.text) > 10_000 for m in store.messages(kept)] == [True] * 60
    store.close()
    assert (path.stat().st_size < 2_000_000) == bool(vacuum), "a file of another kind stays as it is"


@pytest.mark.parametrize("what", ["deleted", "replaced"])
def test_nothing_is_written_into_a_file_that_is_not_there_any_more(path, store, what):
    session = store.create("/w").id
    if what == "replaced":
        path.with_name("other.db").write_bytes(path.read_bytes())
        path.with_name("other.db").replace(path)
    else:
        path.unlink()
    for use in (lambda: store.append(session, user("lost without a word")), store.list):
        with pytest.raises(StoreError, match="start the program again") as gone:
            use()
        assert gone.value.code == "store_gone"
    store.close()
