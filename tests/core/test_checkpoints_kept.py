"""What is kept of the changes of turns: what is not is named, what is old goes, a kill or a damage loses no more."""

import os
import stat
import subprocess
import time
import tracemalloc

import pytest

from agent_core import limits
from agent_core.checkpoints import put_back
from agent_core.checkpoints import tree as tree_room
from agent_core.checkpoints.keeper import Options
from agent_core.checkpoints.records import open_database
from agent_core.errors import StoreError
from tests.core.checkpoint_support import WRITING, Slow, desks, fill, snapshot, tick


@pytest.fixture
def desk(tmp_path):
    with desks(tmp_path) as make:
        yield make


NOT_KEPT = {
    "a pipe": ("mkfifo p", "p", "not a regular file"),
    "a large file": ("echo x >> big", "big", "not kept: the file is too big"),
    "a file that is made large": ("head -c 3000 /dev/zero > a.txt", "a.txt", "not kept: the file is too big"),
    "a file of keys": ("echo KEY=1 >> .env", ".env", "not kept: it may hold keys"),
    "a large file that goes": ("rm big", "big", "not kept: the file is too big"),
}


@pytest.mark.parametrize("case", NOT_KEPT)
def test_what_cannot_be_undone_is_named_with_its_reason(desk, case):
    command, path, why = NOT_KEPT[case]
    d = desk(Options(file=2000))
    fill(d.ws)
    (d.ws / "big").write_bytes(b"x" * 2001)
    (d.ws / ".env").write_text("KEY=0\n")
    tick()
    d.command(command, "u1")
    assert (path, "leave", why) in d.plan("u1")
    assert [f.state for point in d.kept.list("s") for f in point.files if f.path == path] == ["not_kept"]
    assert d.kept.roll_back("s", "u1").shown == ()


def test_keys_are_never_copied_unless_a_tool_changes_their_file(desk):
    d = desk()
    (d.ws / ".env").write_text("KEY=very-secret-value\n")
    (d.ws / "a.txt").write_text("plain-to-see")
    tick()
    d.command("true", "u1")
    kept = b"".join(file.read_bytes() for file in d.kept.folder.rglob("*") if file.is_file())
    assert b"plain-to-see" in kept
    assert b"very-secret-value" not in kept
    for path in (d.kept.folder, *d.kept.folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_files_beyond_the_room_are_named_when_a_command_changes_them(desk):
    d = desk(Options(total=2_000))
    for number in range(10):
        (d.ws / f"f{number}").write_bytes(os.urandom(300))
    tick()
    d.command("for f in f*; do echo x >> $f; done", "u1")
    whys = [why for _, _, why in d.plan("u1")]
    assert len(whys) == 10
    assert whys.count("not kept: there was too much to keep") == 7


def test_what_was_not_looked_at_in_time_is_named_and_never_guessed(desk, monkeypatch):
    d = desk()
    fill(d.ws)
    tick()
    with d.turn("u1") as turn:
        here, d.kept._looks._child = d.kept._looks._child, Slow()
        monkeypatch.setattr(limits, "CHECKPOINT_WAIT", 0.05)
        end = turn.command(WRITING)
        tick()
        subprocess.run(["sh", "-c", "echo x >> a.txt; rm b.txt; rm sub/one.py"], cwd=d.ws, check=True)
        d.kept._looks._child = here
        end()
    plan = d.plan("u1")
    why = "not kept: it had not been looked at when the command ran"
    assert ("a.txt", "leave", why) in plan
    assert ("sub/", "leave", why) in plan, "that something came or went there is all that can be said"
    assert all(does == "leave" for _, does, _ in plan)


def test_in_a_home_folder_commands_are_not_followed_and_tools_are(desk):
    d = desk()
    ws = d.home
    file = ws / "notes.txt"
    file.write_text("mine")
    with d.kept.turn("s", "u1", ws, "do") as turn:
        end = turn.command(WRITING)
        file.write_text("by a command")
        end()
        turn.file(file, b"by a command", b"by a tool", 0o644)
        file.write_bytes(b"by a tool")
    why = "not looked at: the folder is a home folder or the whole machine"
    assert d.plan("u1") == [(".", "leave", why), ("notes.txt", "restore", "")]
    assert d.kept._looks._child.looks == 0


def test_what_git_ignores_and_what_git_keeps_is_not_looked_at(desk):
    d = desk()
    (d.ws / ".git").mkdir()
    (d.ws / ".gitignore").write_text("build/\n*.o\n")
    (d.ws / "a.c").write_text("int a;")
    tick()
    d.command("mkdir build; echo x > build/x; echo o > a.o; echo h > .git/HEAD; echo c >> a.c", "u1")
    assert d.plan("u1") == [("a.c", "restore", "")]


def test_a_file_that_was_ignored_until_now_is_not_taken_for_a_new_one(desk):
    d = desk()
    (d.ws / ".gitignore").write_text("*.log\n")
    (d.ws / "old.log").write_text("years of it")
    tick()
    d.command("echo more >> old.log; : > .gitignore", "u1")
    assert ("old.log", "leave", "not kept: it had not been looked at when the command ran") in d.plan("u1")
    d.kept.roll_back("s", "u1")
    assert (d.ws / "old.log").read_text() == "years of itmore\n"


def test_a_write_that_failed_is_no_change(desk):
    d = desk()
    fill(d.ws)
    with d.turn("u1") as turn:
        turn.file(d.ws / "a.txt", b"A\n", b"never written", (d.ws / "a.txt").stat().st_mode)
        turn.file(d.ws / "never.txt", None, b"never written")
    assert d.kept.list("s") == ()


def test_nothing_is_changed_when_it_cannot_be_kept(desk):
    d = desk()
    d.kept.folder.write_text("not a folder")
    with d.turn("u1") as turn:
        with pytest.raises(StoreError) as failure:
            turn.file(d.ws / "a.txt", None, b"x")
        turn.command(WRITING)()  # a command runs all the same
    assert failure.value.code == "changes_not_kept"


def test_what_programs_can_make_again_is_named_last(desk):
    d = desk()
    fill(d.ws)
    tick()
    before = snapshot(d.ws)
    d.command(
        "mkdir -p __pycache__ node_modules/x; echo 1 > __pycache__/m.pyc; echo 1 > node_modules/x/y.js; echo n > z"
    )
    assert [path for path, _, _ in d.plan("u1")] == ["z", "__pycache__/m.pyc", "node_modules/x/y.js"]
    assert [path for path, *_ in d.listed()[0][1]] == ["z", "__pycache__/m.pyc", "node_modules/x/y.js"]
    d.kept.roll_back("s", "u1")
    assert snapshot(d.ws) == before


def test_after_a_restart_the_list_is_there_and_a_killed_programs_command_counts(desk):
    d = desk()
    fill(d.ws)
    tick()
    before = snapshot(d.ws)
    turn = d.turn("u1").__enter__()  # a program that is killed leaves no turn
    turn._owner = f"{os.getpid()}:x:1:"  # whose number another process has by now
    turn.command(WRITING)
    tick()
    subprocess.run(["sh", "-c", "echo x >> a.txt; echo n > new"], cwd=d.ws, check=True)
    d.kept.close()
    d.again()
    assert d.plan("u1") == [("a.txt", "restore", ""), ("new", "remove", "")]
    d.kept.roll_back("s", "u1")
    assert snapshot(d.ws) == before


def test_a_rollback_that_was_killed_in_the_middle_can_be_ended_and_redone(desk, monkeypatch):
    d = desk()
    fill(d.ws)
    before = snapshot(d.ws)
    with d.turn("u1") as turn:
        for path in ("a.txt", "b.txt", "sub/one.py", "x/new.txt"):
            d.write(turn, path, b"agent")
    after = snapshot(d.ws)

    class Killed(BaseException):
        pass

    done = []
    real = put_back.put

    def put(*args, **options):
        if len(done) == 2:
            raise Killed
        done.append(args)
        return real(*args, **options)

    monkeypatch.setattr(put_back, "put", put)
    with pytest.raises(Killed):
        d.kept.roll_back("s", "u1")
    monkeypatch.setattr(put_back, "put", real)
    d.kept.close()
    d.again()
    assert len(d.plan("u1")) == 2, "the rest is still to be done"
    d.kept.roll_back("s", "u1")
    assert snapshot(d.ws) == before
    d.kept.redo("s")
    d.kept.redo("s")
    assert snapshot(d.ws) == after


def test_large_contents_are_held_in_memory_one_at_a_time(desk):
    d = desk()
    with d.turn("u1") as turn:
        for number in range(10):
            d.write(turn, f"f{number}", bytes([number]) * 3 * limits.MB)
    tracemalloc.start()
    try:
        assert len(d.kept.list("s")[0].files) == len(d.kept.plan("s", "u1").acts) == 10
        d.kept.roll_back("s", "u1")
        d.kept.redo("s")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 15 * limits.MB
    assert (d.ws / "f9").read_bytes() == bytes([9]) * 3 * limits.MB


def test_the_oldest_go_first_when_there_is_no_room(desk):
    d = desk(Options(total=40_000, file=10_000))
    for number in range(6):
        (d.ws / f"f{number}").write_bytes(os.urandom(3_000))
    for number in range(6):
        with d.turn() as turn:
            d.write(turn, f"f{number}", os.urandom(3_000))
    d.kept.prune(["s"])
    states = {f.path: (f.state, f.why) for point in d.kept.list("s") for f in point.files}
    gone = ("not_kept", "not kept any more: newer ones took its room")
    assert [states[f"f{number}"] for number in range(6)] == [gone] * 3 + [("undoable", "")] * 3
    records = d.kept._records()
    assert records.kept <= 20_000


def test_old_turns_sessions_that_are_gone_and_turns_too_many_are_forgotten(desk):
    d = desk(Options(turns=2))
    (d.ws / "f").write_bytes(b"0")
    for name, session in (("other", "gone"), ("u1", "s"), ("u2", "s"), ("u3", "s")):
        with d.turn(name, session) as turn:
            d.write(turn, "f", name.encode())
    d.kept.prune(["s"])
    assert d.kept.list("gone") == ()
    assert [f.state for point in d.kept.list("s") for f in point.files] != []
    assert d.plan("u1")[0][1:] == ("leave", "not kept any more: newer ones took its room")
    d.options = Options(days=1)
    d.kept._records()._db.execute("UPDATE turns SET created = created - 2 * 86400")
    d.kept.prune(["s"])
    assert d.kept.list("s") == ()


def test_what_a_session_changed_that_began_while_the_others_were_listed_is_kept(desk):
    d = desk()
    with d.turn("u1", "old") as turn:
        d.write(turn, "f", b"1")
    tick()
    listed = time.time()
    tick()
    with d.turn("u2", "new") as turn:
        d.write(turn, "g", b"2")
    d.kept.prune([], listed)
    assert (len(d.kept.list("old")), len(d.kept.list("new"))) == (0, 1)


def test_a_damaged_or_deleted_record_is_begun_anew(desk):
    d = desk()
    with d.turn("u1") as turn:
        d.write(turn, "f", b"x")
    d.kept.close()
    (d.kept.folder / "changes.db").write_bytes(b"no database at all" * 1000)
    for suffix in ("-wal", "-shm"):
        (d.kept.folder / f"changes.db{suffix}").unlink(missing_ok=True)
    d.again()
    assert d.kept.list("s") == ()
    with d.turn("u2") as turn:
        d.write(turn, "f", b"y")
    assert d.plan("u2") == [("f", "restore", "")]


def test_what_files_are_like_does_not_go_while_it_is_looked_at_and_what_went_is_no_failure(desk, monkeypatch):
    d = desk()
    d.command("echo x > f", "u1")
    (tree,) = (d.kept.folder / "trees").iterdir()
    d.options = Options(total=0)
    other = open_database(tree, (), tree_room.VERSION)
    other.execute("UPDATE kept SET bytes = 1")
    d.kept.prune(["s"])
    assert tree.exists(), "another program is at it"
    other.close()
    d.kept.prune(["s"])
    assert not tree.exists()
    monkeypatch.setattr(tree_room.Tree, "close", lambda self: tree.unlink())  # somebody deletes it just then
    asked = d.kept._looks._ask(str(d.ws))
    assert "error" not in asked.answer
