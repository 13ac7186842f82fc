"""What lies on the disk is told in full, and sessions go when they are older than the person wants to keep them."""

from __future__ import annotations

import time

import pytest

from agent_core import limits
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.messages import user
from agent_core.store.notes import Draft
from agent_core.store.sessions import Store

DAY = 86_400.0


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "state.db")
    yield opened
    opened.close()


def made(store, title, words, days_ago=0.0):
    session = store.create("/w", title=title).id
    for text in words:
        store.append(session, user(text))
    store.database.write(
        lambda c: c.execute("UPDATE sessions SET updated = ? WHERE id = ?", (time.time() - days_ago * DAY, session))
    )
    return session


def launch(tmp_path, settings=None):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    return Launch(work, {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}, settings or {}, demo=True)


def test_every_byte_of_our_home_is_in_one_part(tmp_path):
    host = Host(launch(tmp_path))
    home = host.places.data_home
    large = made(host.store, "large", ["文" * 10_000])
    small = made(host.store, "small", ["x"])
    gone = made(host.store, "gone", ["y" * 5_000])
    host.store.delete(gone)
    for name, size in {
        "spill/a.txt": 1000, "spill-private/b.txt": 500, "cache/deep/er/c": 300, "history": 200,
        "state.db.corrupt-20260101-000000-1": 70, "config.yaml": 40,
    }.items():  # fmt: skip
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(b"x" * size)
    (home / "cache" / "loop").symlink_to(home)
    report = host.disk_report()
    parts = dict(report.parts)
    assert parts["spill"] == 1500
    assert parts["history"] == 200
    assert parts["damaged"] == 70
    assert parts["other"] >= 40
    assert 300 <= parts["cache"] < 1000
    assert parts["database"] >= 35_000
    lying = sum(path.lstat().st_size for path in home.rglob("*") if path.is_symlink() or path.is_file())
    assert abs(report.total - lying) < 20_000, "the journal and the log may just have grown"
    assert [s.id for s in report.sessions] == [large, gone, small]
    assert [s.deleted for s in report.sessions] == [False, True, False]
    assert report.sessions[0].size > 30_000
    assert (report.sessions[0].title, report.sessions[0].messages) == ("large", 1)
    host.close()


def test_only_what_nobody_uses_any_more_expires(store):
    old = made(store, "old", ["x"], 40)
    kept = made(store, "open here", ["x"], 40)
    drafted = made(store, "half a sentence", ["x"], 40)
    store.notes.keep([Draft(drafted, "/w", "to be sent")])
    running = made(store, "a turn runs", ["x"], 40)
    store.leases.acquire(running)
    young = made(store, "young", ["x"], 20)
    assert store.expire(time.time() - 30 * DAY, keep=[kept]) == 1
    assert {row.id for row in store.list()} == {kept, drafted, running, young}
    assert store.restore(old).title == "old"
    assert store.expire(time.time() - 50 * DAY) == 0


@pytest.mark.parametrize(("days", "left"), [(0, {"old", "young"}), (30, {"young"})])
def test_sessions_are_kept_as_long_as_the_setting_says(tmp_path, monkeypatch, days, left):
    monkeypatch.setattr(limits, "RETENTION_DELAY", 0.05)
    first = Host(launch(tmp_path))
    made(first.store, "old", ["x"], 40)
    made(first.store, "young", ["x"], 20)
    first.close()
    host = Host(launch(tmp_path, {"sessions.retention_days": days}))
    end = time.monotonic() + 10
    while {row.title for row in host.sessions()} != left and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.2)
    assert {row.title for row in host.sessions()} == left
    host.close()
