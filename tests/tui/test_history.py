"""The composer's history: one file for all sessions that survives bad lines, crashes and many writers."""

import json
import os
import stat
import subprocess
import sys
import threading

import pytest

from agent_core.limits import HISTORY_ENTRIES
from nanoherm_tui import history as history_module
from nanoherm_tui.history import History, Walk


def entries(path):
    history = History(path)
    history.load()
    return history.entries


def test_what_was_added_is_there_for_the_next_session_and_nobody_else_may_read_it(tmp_path):
    path = tmp_path / "home" / "history"
    history = History(path)
    for text in ("one", "两行\n二", "emoji 👩‍💻", "lone \ud83d surrogate \u2028 \x01"):
        history.add(text)
    assert entries(path) == ["one", "两行\n二", "emoji 👩‍💻", "lone \ud83d surrogate \u2028 \x01"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_is_called_up_again_but_not_written_down(tmp_path):
    key = "sk-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"
    history = History(tmp_path / "history")
    history.add(f"use {key}")
    assert history.entries == [f"use {key}"]
    assert entries(tmp_path / "history") == ["use [REDACTED]"]
    image = "token: [image 0123456789abcdef shot.png 8x8 PNG]"
    history.add(image)
    assert entries(tmp_path / "history")[-1] == image


@pytest.mark.parametrize("text", ["", "  \n "])
def test_blank_drafts_are_not_kept(tmp_path, text):
    history = History(tmp_path / "history")
    history.add(text)
    assert entries(tmp_path / "history") == []


def test_the_same_text_twice_in_a_row_is_kept_once(tmp_path):
    history = History(tmp_path / "history")
    for text in ("a", "a", "b", "a"):
        history.add(text)
    assert entries(tmp_path / "history") == ["a", "b", "a"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"not json\n" + data,
        lambda data: data[:30] + b"\0" * 500 + data[30:],
        lambda data: data[:-9],
        lambda data: data + b'{"text": 5}\n[]\n"x"\n',
        lambda data: data + b"\xff\xfe\n",
    ],
    ids=["first line", "nul block", "half a last line", "wrong shapes", "not utf-8"],
)
def test_a_spoiled_file_loses_only_its_spoiled_lines_and_the_next_entry_stands_alone(tmp_path, spoil):
    path = tmp_path / "history"
    history = History(path)
    for n in range(5):
        history.add(f"entry {n}")
    path.write_bytes(spoil(path.read_bytes()))
    after = History(path)
    after.load()
    assert 4 <= len(after.entries) <= 5
    assert after.unreadable >= 1
    after.add("new")
    assert entries(path)[-1] == "new"
    assert len(entries(path)) == len(after.entries)


def test_the_file_is_cut_to_its_newest_entries_when_it_grows_beyond_its_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(history_module, "HISTORY_FILE", 4000)
    path = tmp_path / "history"
    history = History(path)
    for n in range(200):
        history.add(f"entry {n}")
        assert path.stat().st_size <= 4000 + 100
    kept = entries(path)
    assert kept[-1] == "entry 199"
    assert kept == [f"entry {n}" for n in range(200 - len(kept), 200)]
    assert [p.name for p in tmp_path.iterdir()] == ["history"]


def test_no_more_than_the_bound_is_kept_in_memory(tmp_path):
    path = tmp_path / "history"
    path.write_text("".join(json.dumps({"text": str(n)}) + "\n" for n in range(HISTORY_ENTRIES + 50)))
    assert len(entries(path)) == HISTORY_ENTRIES
    history = History(None)
    for n in range(HISTORY_ENTRIES + 5):
        history.add(str(n))
    assert len(history.entries) == HISTORY_ENTRIES


def test_many_writers_lose_nothing_even_while_the_file_is_being_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(history_module, "HISTORY_FILE", 20_000)
    path = tmp_path / "history"

    def write(name):
        history = History(path)
        for n in range(100):
            history.add(f"{name}-{n}")

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = entries(path)
    for name in "abcd":
        own = [int(e.split("-")[1]) for e in kept if e.startswith(name)]
        assert own == list(range(own[0], 100)), "a writer's entries have a gap"


def test_another_program_sees_the_entries(tmp_path):
    path = tmp_path / "history"
    History(path).add("from here")
    code = f"from nanoherm_tui.history import History; h = History(__import__('pathlib').Path({str(path)!r}))"
    subprocess.run([sys.executable, "-c", f"{code}; h.load(); h.add(h.entries[0] + ' and there')"], check=True)
    assert entries(path) == ["from here", "from here and there"]


def test_a_place_that_cannot_be_written_costs_only_the_memory(tmp_path):
    path = tmp_path / "history"
    path.mkdir()
    history = History(path)
    history.load()
    history.add("kept here")
    assert history.entries == ["kept here"]


def test_a_link_is_not_followed_to_another_file(tmp_path):
    target = tmp_path / "other"
    target.write_text("")
    os.symlink(target, tmp_path / "history")
    History(tmp_path / "history").add("x")
    assert target.read_text() == ""


def test_walking_goes_back_and_forth_and_ends_at_the_draft():
    history = History(None)
    for text in ("one", "two", "three"):
        history.add(text)
    walk = Walk(history)
    assert walk.next() is None
    assert [walk.previous("draft"), walk.previous("three"), walk.previous("two")] == ["three", "two", "one"]
    assert walk.previous("one") is None
    assert [walk.next(), walk.next(), walk.next()] == ["two", "three", "draft"]
    assert walk.next() is None


def test_walking_an_empty_history_changes_nothing():
    assert Walk(History(None)).previous("draft") is None
