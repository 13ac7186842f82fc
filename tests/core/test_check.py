"""What is damaged is named and mended, whatever is spoiled; the original stays as it was."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from agent_core import limits
from agent_core.errors import StoreError
from agent_core.messages import Message, ToolResult, tool, user
from agent_core.store import check, pages
from agent_core.store.check import Where, examine, repair
from agent_core.store.db import Database
from agent_core.store.notes import Draft, Waiting
from agent_core.store.search import Search
from agent_core.store.sessions import Store

SPILL = "20260101-120000-0123abcd.txt"


@pytest.fixture
def home(tmp_path):
    return Where(tmp_path / "state.db", tmp_path / "cache" / "search.db", (tmp_path / "spill",))


def fill(where, sessions=3, messages=40, size=1):
    """A database with some of everything; gives the ids of its sessions."""
    store = Store.open(where.state)
    ids = []
    for number in range(sessions):
        session = store.create("/w", title=f"session {number}").id
        ids.append(session)
        for place in range(messages):
            store.append(session, user(f"message {number} {place} " + "filler 填料 " * 8 * size))
        store.append(session, Message("assistant", "a long one " * 1000))
    store.close()
    return ids


def change(where, statement, *values):
    with closing(sqlite3.connect(where.state)) as c:
        c.execute("PRAGMA foreign_keys = OFF")
        c.execute(statement, values)
        c.commit()


def codes(report):
    return sorted(problem.code for problem in report.problems)


def said(where):
    """The texts of every session, by its id."""
    store = Store.open(where.state)
    found = {row.id: [m.text for m in store.messages(row.id)] for row in store.list()}
    assert store.warnings == ()
    store.close()
    return found


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_sound_home_has_no_problems_and_one_without_a_database_neither(home):
    assert examine(home).problems == ()
    fill(home)
    report = examine(home)
    assert (report.sessions, report.messages, report.problems, report.is_sound) == (3, 123, (), True)
    before = digest(home.state)
    done = repair(home)
    assert (done.done, done.copy) == ([], None)
    assert digest(home.state) == before


def test_each_problem_is_named_with_its_place_and_mended_in_a_copy_of_the_state(home):
    first, second, third = fill(home)
    with closing(sqlite3.connect(home.state)) as c:
        uid = c.execute("SELECT uid FROM messages WHERE session_id = ? AND position = 3", (first,)).fetchone()[0]
    change(home, "UPDATE messages SET body = '{half' WHERE uid = ?", uid)
    change(home, "UPDATE sessions SET turn_count = 7 WHERE id = ?", second)
    change(home, "DELETE FROM sessions WHERE id = ?", third)
    problems = {problem.code: problem for problem in examine(home).problems}
    assert set(problems) == {"unreadable", "counts", "orphans"}
    assert (problems["unreadable"].session, problems["unreadable"].uid) == (first, uid)
    assert problems["counts"].session == second
    assert "says 7 turns; there are 40" in problems["counts"].text
    assert problems["orphans"].session == third
    before = said(home)
    done = repair(home)
    assert codes(done.report) == ["kept_out"]
    assert done.report.is_sound
    assert len(done.done) == 3
    after = said(home)
    assert len(after[first]) == 40
    assert after[second] == before[second]
    assert len(after[third]) == 41
    with closing(sqlite3.connect(done.copy)) as c:
        assert c.execute("SELECT body FROM messages WHERE uid = ?", (uid,)).fetchone() == ("{half",)
        assert c.execute("SELECT count(*) FROM sessions").fetchone() == (2,)
    assert done.copy.stat().st_mode & 0o777 == 0o600


def test_texts_that_are_no_texts_any_more_stop_nothing(home, dictionary):
    first, second, _ = fill(home)
    change(home, "UPDATE sessions SET title = CAST(x'ff41' AS TEXT) WHERE id = ?", first)
    change(
        home,
        "UPDATE messages SET body = CAST(replace(CAST(body AS BLOB), 'filler', x'c3c3') AS TEXT) "
        "WHERE session_id = ? AND position = 2",
        second,
    )
    before = said(home)
    assert (len(before[first]), len(before[second])) == (41, 40), "nothing else is missing until it is mended"
    store = Store.open(home.state)
    with closing(Search(store, home.index, dictionary)) as search:
        assert len(search.find("message", limit=200, wait=20).hits) == 119
    store.close()
    assert {(p.code, p.session) for p in examine(home).problems} == {("unreadable", first), ("unreadable", second)}
    assert repair(home).report.is_sound
    after = said(home)
    assert (len(after[first]), len(after[second])) == (41, 40)
    store = Store.open(home.state)
    assert store.get(first).title == "\ufffdA"
    store.close()


def spoil_page(where, number, data=b"\xff" * 4096):
    with open(where.state, "r+b") as file:
        file.seek((number - 1) * 4096)
        file.write(data)


def roots(where):
    """Root pages of the tables and the kinds of all pages."""
    with closing(sqlite3.connect(where.state)) as c:
        tables = dict(c.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage").fetchall())
    data = where.state.read_bytes()
    kinds = {n + 1: data[n * 4096 + (100 if n == 0 else 0)] for n in range(len(data) // 4096)}
    return tables, kinds


@pytest.mark.parametrize("what", ["header", "root", "leaf", "schema", "half", "zeros"])
def test_of_a_damaged_file_everything_but_the_spoiled_rows_comes_back(home, what):
    ids = fill(home, messages=60)
    whole = said(home)
    tables, kinds = roots(home)
    root = tables["messages"]
    assert kinds[root] == 5  # an inner page: the rows lie below it
    leaves = [n for n, kind in kinds.items() if kind == 13 and n != tables["sessions"]]
    lost = 0
    if what == "header":
        with open(home.state, "r+b") as file:
            file.write(b"\0" * 100)
    elif what == "schema":
        spoil_page(home, 1)
    elif what == "root":
        spoil_page(home, root)
    elif what == "leaf":
        spoil_page(home, leaves[len(leaves) // 2])
        lost = 40
    elif what == "zeros":
        spoil_page(home, leaves[len(leaves) // 2], b"\0" * 4096)
        lost = 40
    else:
        size = home.state.stat().st_size
        with open(home.state, "r+b") as file:
            file.truncate(size // 2)
        lost = 183
    spoiled = digest(home.state)
    report = examine(home)
    assert "damaged" in codes(report)
    assert not report.is_sound
    assert digest(home.state) == spoiled
    done = repair(home)
    assert done.report.is_sound
    assert digest(done.copy) == spoiled
    after = said(home)
    assert set(after) <= set(ids)
    if what != "half":
        assert set(after) == set(ids)
    found = 0
    for session, texts in after.items():
        assert [text for text in whole[session] if text in set(texts)] == texts  # in order, none invented
        found += len(texts)
    assert found >= 183 - lost
    assert found or what == "half"
    if 0 < lost < 100:
        assert found < 183
        assert any("has lost" in line for line in done.done)
    # A second look finds nothing more to do, and what is deleted now stays so.
    assert repair(home).done == []


@pytest.mark.parametrize(
    ("at", "data"),
    [(0, b"\0" * 100), (0, b"x"), (16, b"\xff\xff"), (28, b"\0\0\0\1"), (47, b"\7"), (63, b"\1"), (63, b"\0"),
     (68, b"none"), (68, b"\0\0\0\0")],
)  # fmt: skip
def test_behind_a_spoiled_header_nothing_is_lost(home, at, data):
    ids = fill(home, messages=4)
    nowhere = "f" * 32
    store = Store.open(home.state)
    notes = Draft(ids[0], "/w", "half a"), Draft(nowhere, "/w", "never sent"), Waiting(ids[1], "/w", (("u", "x"),))
    store.notes.keep(notes)
    store.costs.add_seconds(ids[0], 2.5)
    store.close()

    def everything():
        with closing(sqlite3.connect(home.state)) as c:
            names = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = {name: c.execute(f"SELECT * FROM {name}").fetchall() for name in names if name != "state_meta"}
            rows["messages"] = [row[1:] for row in rows["messages"]]  # their numbers are new
            return {name: sorted(map(repr, found)) for name, found in rows.items()}

    whole = everything()
    with open(home.state, "r+b") as file:
        file.seek(at)
        file.write(data)
    assert "damaged" in codes(examine(home))
    assert repair(home).report.is_sound
    assert everything() == whole


def test_damage_anywhere_never_loses_more_than_it_hits_and_never_harms_the_original(home, tmp_path):
    fill(home, sessions=2, messages=30)
    whole = home.state.read_bytes()
    texts = {text for texts in said(home).values() for text in texts}
    whole = home.state.read_bytes()
    dice = random.Random(5)
    for turn in range(25):
        folder = tmp_path / str(turn)
        folder.mkdir()
        where = Where(folder / "state.db", folder / "search.db")
        spoiled = bytearray(whole)
        for _ in range(dice.randint(1, 3)):
            at, size = dice.randrange(len(spoiled)), dice.choice((1, 30, 700, 5000))
            size = min(size, len(spoiled) - at)
            spoiled[at : at + size] = dice.randbytes(size)
        where.state.write_bytes(spoiled)
        done = repair(where)
        if done.copy is not None:
            kept = done.copy.read_bytes()
            assert kept == bytes(spoiled) or "before-repair" in done.copy.name
        assert done.report.is_sound, (turn, done.report.problems)
        left = [text for texts in said(where).values() for text in texts]
        # Three spoiled stretches of at most 5,000 bytes lie on at most seven pages, of some twelve messages each.
        assert len(texts & set(left)) >= len(texts) - 7 * 15, turn


def test_a_row_that_tells_a_length_which_no_row_has_is_damage_and_no_failure_of_the_disk(home, monkeypatch):
    fill(home, messages=4)
    reading = check._reading

    def strict(file):
        c = reading(file)
        c.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 40)  # as SQLite says it of a spoiled row
        return c

    monkeypatch.setattr(check, "_reading", strict)
    assert "damaged" in codes(examine(home))


def test_what_a_killed_repair_left_is_cleared_by_the_next(home):
    fill(home, messages=4)
    spoil_page(home, 1)
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    left = home.state.with_name(f"state.db.new-{child.pid}"), home.state.with_name(f"state.db.new-{child.pid}-abc")
    left[0].write_text("half")
    left[1].mkdir()
    lives = home.state.with_name(f"state.db.new-{os.getppid()}")
    lives.write_text("another repair's")
    assert repair(home).report.is_sound
    names = {file.name for file in home.state.parent.iterdir() if ".new-" in file.name}
    assert names == {lives.name}


def test_pages_are_read_without_sqlite(tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.db")) as c:
        c.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)")
        values = [
            (None, 0), (1, -1), (127, 128), (-129, 2**31), (2**40, -(2**62)), (1.5, "ä" * 3), (b"\0\xff", ""),
            ("x" * 20_000, b"y" * 9_000),
        ]  # fmt: skip
        c.executemany("INSERT INTO t (a, b) VALUES (?, ?)", values)
        c.commit()
        c.execute("INSERT INTO t (a, b) VALUES ('gone', 1)")
        c.execute("DELETE FROM t WHERE a = 'gone'")
        c.commit()
    data = (tmp_path / "t.db").read_bytes()
    found = [tuple(row[1:]) for _, row in pages.rows(data) if len(row) == 3 and row[0] is None]
    assert found == values
    dice = random.Random(3)
    for _ in range(300):
        spoiled = bytearray(data)
        for _ in range(20):
            spoiled[dice.randrange(len(spoiled))] = dice.randrange(256)
        list(pages.rows(bytes(spoiled)))


def test_what_was_purged_does_not_come_back_from_free_pages(home):
    kept, purged, _ = fill(home)
    store = Store.open(home.state)
    store.delete(purged)
    store.purge(9e9, 0)
    store.close()
    tables, _ = roots(home)
    spoil_page(home, tables["messages"])
    repair(home)
    assert purged not in said(home)
    assert kept in said(home)


def test_a_file_that_opening_put_aside_is_brought_back_once(home):
    first, second, third = fill(home)
    tables, _ = roots(home)
    spoil_page(home, tables["messages"])
    store = Store.open(home.state)
    assert "sessions check --repair" in store.warnings[0]
    new = store.create("/w", title="begun since").id
    store.append(new, user("hello"))
    store.close()
    assert codes(examine(home)) == ["set_aside"]
    done = repair(home)
    assert codes(done.report) == []
    texts = said(home)
    assert set(texts) == {first, second, third, new}
    assert len(texts[second]) == 41
    assert (
        len([file for file in home.state.parent.glob("state.db.corrupt-*") if file.suffix[-4:] not in ("-wal", "-shm")])
        == 1
    )
    store = Store.open(home.state)
    store.delete(second)
    store.purge(9e9, 0)
    store.close()
    assert repair(home).done == []
    assert second not in said(home)


def test_a_journal_that_was_not_taken_in_yet_counts(home):
    fill(home)
    keeper = sqlite3.connect(home.state)  # so that closing the store does not take the journal in
    keeper.execute("SELECT count(*) FROM messages").fetchone()
    store = Store.open(home.state)
    session = store.create("/w", title="latest").id
    store.append(session, user("said last"))
    copy = {suffix: home.state.with_name(f"state.db{suffix}").read_bytes() for suffix in ("", "-wal")}
    store.close()
    keeper.close()
    for suffix, data in copy.items():
        home.state.with_name(f"state.db{suffix}").write_bytes(data)
    tables, _ = roots(home)
    for suffix, data in copy.items():
        home.state.with_name(f"state.db{suffix}").write_bytes(data)
    spoil_page(home, tables["sessions_by_use"])
    repair(home)
    assert said(home)[session] == ["said last"]


HOLDER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("SELECT count(*) FROM sessions").fetchone()
print("open", flush=True)
sys.stdin.read()
"""


def test_a_file_that_another_program_has_open_is_looked_at_but_not_replaced(home):
    fill(home)
    tables, _ = roots(home)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home.state)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"open\n"
        spoil_page(home, tables["messages"])
        before = digest(home.state)
        assert "damaged" in codes(examine(home))
        with pytest.raises(StoreError) as error:
            repair(home)
        assert error.value.code == "store_in_use"
        assert digest(home.state) == before
        other.stdin.close()
        other.wait(10)
    assert repair(home).report.is_sound


def test_a_check_waits_for_no_write_lock(home):
    fill(home)
    with closing(sqlite3.connect(home.state, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE sessions SET title = 'x'")
        assert examine(home).is_sound
        other.execute("ROLLBACK")


def test_a_search_index_that_differs_is_named_and_made_anew(home, dictionary):
    fill(home)
    store = Store.open(home.state)
    search = Search(store, home.index, dictionary)
    assert search.find("message", wait=30.0).hits
    search.close()
    assert examine(home).problems == ()
    with closing(sqlite3.connect(home.index)) as c:
        c.execute("DELETE FROM docs WHERE id IN (SELECT id FROM docs WHERE uid != '' LIMIT 2)")
        c.commit()
    assert codes(examine(home)) == ["index"]
    assert repair(home).report.problems == ()
    search = Search(store, home.index, dictionary)
    assert len(search.find("message", wait=30.0, limit=500).hits) == 120
    search.close()
    store.close()
    assert examine(home).problems == ()


def test_long_outputs_that_are_gone_are_told_and_need_no_mending(home):
    first, _, _ = fill(home)
    store = Store.open(home.state)
    store.append(first, tool(ToolResult("c", "run_command", f"see spill/{SPILL}")))
    store.close()
    report = examine(home)
    assert [(p.code, p.session) for p in report.problems] == [("spill_missing", first)]
    assert report.is_sound
    home.spill_folders[0].mkdir()
    (home.spill_folders[0] / SPILL).write_text("all of it")
    assert examine(home).problems == ()


def test_files_that_are_not_ours_or_newer_are_left_alone(home):
    with closing(sqlite3.connect(home.state)) as c:
        c.execute("CREATE TABLE t (a)")
    before = digest(home.state)
    assert codes(examine(home)) == ["foreign"]
    with pytest.raises(StoreError):
        repair(home)
    assert digest(home.state) == before
    home.state.unlink()
    Database.open(home.state).close()
    with closing(sqlite3.connect(home.state)) as c:
        c.execute("PRAGMA user_version = 999")
    assert codes(examine(home)) == ["newer"]


def test_faults_are_named_up_to_a_bound(home):
    fill(home, messages=200)
    _, kinds = roots(home)
    for number, kind in kinds.items():
        if kind == 13 and number % 2 and number != 1:
            spoil_page(home, number)
    assert 1 <= len(examine(home).problems) <= limits.CHECK_PROBLEMS + 5
    assert repair(home).report.is_sound
    assert json.dumps(said(home))
