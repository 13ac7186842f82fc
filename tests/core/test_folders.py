"""What is remembered of folders is never older than they are."""

from __future__ import annotations

import os
import random
import shutil
import time

import pytest

from agent_core import limits
from agent_core.workspace import folders
from agent_core.workspace.folders import Listing, list_folder

ROOM = limits.WALK_FILES


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    monkeypatch.setattr(folders, "_memory", folders._Memory())


@pytest.fixture
def reads(monkeypatch):
    """The folders that were really read."""
    read, scandir = [], os.scandir
    monkeypatch.setattr(folders.os, "scandir", lambda folder: (read.append(os.fspath(folder)), scandir(folder))[1])
    return read


def settle(folder):
    """Let a folder's last change be long ago, as its times say. Only the clock can do that to the time of change."""
    now, racy = time.time_ns, int(limits.FOLDER_RACY * 1e9)
    return lambda: now() + 2 * racy


def names(found: Listing):
    return sorted(found.files), sorted(found.folders), sorted(found.links)


def there(folder):
    entries = list(os.scandir(folder))
    return (
        sorted(e.name for e in entries if e.is_file(follow_symlinks=False)),
        sorted(e.name for e in entries if e.is_dir(follow_symlinks=False)),
        sorted(e.name for e in entries if e.is_symlink()),
    )


def test_a_folder_that_stays_as_it_is_is_read_once(tmp_path, reads, monkeypatch):
    for name in ("b.py", "a\nb", "测试.txt", os.fsdecode(b"\xff")):
        (tmp_path / name).touch()
    (tmp_path / "below").mkdir()
    (tmp_path / "link").symlink_to("b.py")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(folders.time, "time_ns", settle(tmp_path))
    first = list_folder(str(tmp_path), ROOM)
    assert names(first) == there(tmp_path)
    assert first.seen == 7
    assert list_folder(str(tmp_path), ROOM) == first
    assert len([each for each in reads if each == str(tmp_path)]) == 2  # ours, and there()'s


def test_what_somebody_else_has_read_is_known(tmp_path, reads, monkeypatch):
    monkeypatch.setattr(folders.time, "time_ns", settle(tmp_path))
    (tmp_path / "a").touch()
    for folder in (str(tmp_path), f"{tmp_path}/"):
        folders.remember(folder, os.stat(folder), list(os.scandir(folder)))
    reads.clear()
    assert list_folder(f"{tmp_path}/", ROOM).files == list_folder(str(tmp_path), ROOM).files == ["a"]
    assert reads == []


def test_one_that_has_just_changed_is_read_again(tmp_path, reads):
    for _ in range(3):
        list_folder(str(tmp_path), ROOM)
    assert len(reads) == 3


def test_no_change_goes_unseen(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.time, "time_ns", settle(tmp_path))
    dice = random.Random(5)
    place = tmp_path / "place"
    place.mkdir()
    for _ in range(300):
        name = place / dice.choice("abcdef")
        # The times of a change are those of the kernel's last tick: two of one tick look alike, which is what
        # FOLDER_RACY is for, and what the clock of this test has switched off.
        time.sleep(0.011)
        times = place.stat()
        if name.is_symlink() or name.is_file():
            name.unlink()
        elif name.is_dir():
            name.rmdir() if dice.random() < 0.5 else name.rename(place / "z") if not (place / "z").exists() else None
        else:
            dice.choice((name.touch, name.mkdir, lambda at=name: at.symlink_to("nowhere")))()
        if dice.random() < 0.3:  # as rsync and tar leave folders
            os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
        if dice.random() < 0.1:
            place.rename(tmp_path / "old")
            place.mkdir()
            shutil.rmtree(tmp_path / "old")
        assert names(list_folder(str(place), ROOM)) == there(place)
        assert names(list_folder(str(place), ROOM)) == there(place)


def test_what_is_closed_or_gone_is_empty(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.time, "time_ns", settle(tmp_path))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").touch()
    assert list_folder(f"{tmp_path}/a/", ROOM).files == ["b"]
    (tmp_path / "a").rename(tmp_path / "c")
    assert list_folder(f"{tmp_path}/a/", ROOM) == Listing([], [], [], 0)


def test_no_more_than_there_is_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.time, "time_ns", settle(tmp_path))
    for number in range(9):
        (tmp_path / str(number)).touch()
    for room in (3, ROOM, 3):  # known as a whole, or not
        found = list_folder(str(tmp_path), room)
        assert (len(found.files), found.seen) == ((3, 4) if room == 3 else (9, 9))


def test_what_is_remembered_is_bounded_and_the_oldest_goes(tmp_path, reads, monkeypatch):
    monkeypatch.setattr(folders.time, "time_ns", settle(tmp_path))
    monkeypatch.setattr(limits, "FOLDERS_KEPT", 20)
    places = [tmp_path / str(number) for number in range(4)]
    for place in places:
        place.mkdir()
        for number in range(8):
            (place / str(number)).touch()
        list_folder(str(place), ROOM)
    reads.clear()
    for place in (places[3], places[2], places[0]):
        list_folder(str(place), ROOM)
    assert reads == [str(places[0])]


def test_other_file_systems_are_read_each_time(tmp_path, reads, monkeypatch):
    monkeypatch.setattr(folders.time, "time_ns", settle(tmp_path))
    mounts = tmp_path / "mounts"
    device = os.stat(tmp_path).st_dev
    line = f"21 1 {os.major(device)}:{os.minor(device)} / / rw,relatime shared:1 - {{}} server:/home rw\n"
    monkeypatch.setattr(folders, "_MOUNTS", mounts)
    for kind, count in (("nfs4", 2), ("fuse.sshfs", 2), ("9p", 2), ("ext4", 1), (None, 2)):
        mounts.write_text(line.format(kind)) if kind else mounts.unlink()
        monkeypatch.setattr(folders, "_memory", folders._Memory())
        reads.clear()
        place = tmp_path / "place"
        place.mkdir(exist_ok=True)
        for _ in range(2):
            list_folder(str(place), ROOM)
        assert len(reads) == count, kind
