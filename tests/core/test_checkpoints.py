"""What turns change in files: listed, taken back, redone; with real files, real shells and the real record."""

import shutil
import time
from dataclasses import replace

import pytest

from agent_core import events, intents, messages
from agent_core.errors import StoreError
from agent_core.mind.conversation import for_the_record
from agent_core.sandbox.policy import READ_ONLY
from tests.core.checkpoint_support import desks, fill, snapshot, tick


@pytest.fixture
def desk(tmp_path):
    with desks(tmp_path) as make:
        yield make


COMMANDS = {
    "changes a file": ("echo more >> a.txt", {("a.txt", "restore")}),
    "changes one in its place": ("sed -i s/B/C/ b.txt", {("b.txt", "restore")}),
    "empties one": (": > a.txt", {("a.txt", "restore")}),
    "fills an empty one": ("echo x > empty", {("empty", "restore")}),
    "makes one": ("echo new > new.txt", {("new.txt", "remove")}),
    "makes an empty one in new folders": ("mkdir -p n/m && : > n/m/e", {("n/m/e", "remove")}),
    "removes one": ("rm sub/one.py", {("sub/one.py", "recreate")}),
    "removes a folder": ("rm -r sub", {("sub/one.py", "recreate"), ("sub/deep/two.py", "recreate")}),
    "renames one": ("mv a.txt z.txt", {("a.txt", "recreate"), ("z.txt", "remove")}),
    "renames a folder": (
        "mv sub bus",
        {("sub/one.py", "recreate"), ("sub/deep/two.py", "recreate"), ("bus/one.py", "remove"),
         ("bus/deep/two.py", "remove")},
    ),
    "changes permissions only": ("chmod 755 run.sh", {("run.sh", "restore")}),
    "turns a link": ("ln -sfn b.txt to_a", {("to_a", "restore")}),
    "puts a file in a link's place": ("rm to_a && echo file > to_a", {("to_a", "restore")}),
    "puts a folder in a file's place": (
        "rm a.txt && mkdir -p a.txt/in/void && echo x > a.txt/in/x && echo y > a.txt/y",
        {("a.txt", "restore"), ("a.txt/in/x", "remove"), ("a.txt/y", "remove")},
    ),
    "puts an empty folder in a link's place": ("rm to_a && mkdir to_a", {("to_a", "restore")}),
    "puts a file in a folder's place": (
        "rm -r sub && echo file > sub",
        {("sub", "restore"), ("sub/one.py", "recreate"), ("sub/deep/two.py", "recreate")},
    ),
    "puts a link in a folder's place": (
        "mv sub bus && ln -s bus sub",
        {("sub", "restore"), ("sub/one.py", "recreate"), ("sub/deep/two.py", "recreate"), ("bus/one.py", "remove"),
         ("bus/deep/two.py", "remove")},
    ),
    "makes a link that leads nowhere": ("ln -s /nowhere/at/all broken", {("broken", "remove")}),
    "changes one with an odd name": ("for f in *odd* 字*; do [ -f \"$f\" ] && echo x >> \"$f\"; done; true",
                                     {("字 \\n.txt", "restore")}),
    "makes one and removes it": ("echo x > t && rm t", set()),
    "only touches": ("touch a.txt sub/one.py", set()),
    "writes what is there already": ("cp -p a.txt t && cat t > a.txt && rm t", set()),
}  # fmt: skip


@pytest.mark.parametrize("case", COMMANDS)
def test_what_a_command_changes_is_planned_taken_back_and_redone_exactly(desk, case):
    command, expected = COMMANDS[case]
    d = desk()
    fill(d.ws)
    tick()
    before = snapshot(d.ws)
    d.command(command, "u1")
    after = snapshot(d.ws)
    assert {(path, does) for path, does, _ in d.plan("u1")} == expected
    assert snapshot(d.ws) == after, "a plan touches nothing"
    d.kept.roll_back("s", "u1")
    assert snapshot(d.ws) == before
    if expected:
        d.kept.redo("s")
        assert snapshot(d.ws) == after
        assert d.kept.redoable("s") is None


def test_what_tools_change_is_undone_with_the_folders_they_made_and_redone(desk):
    d = desk()
    fill(d.ws)
    (d.ws / "run.sh").chmod(0o750)
    before = snapshot(d.ws)
    with d.turn("u1") as turn:
        d.write(turn, "a.txt", b"changed")
        d.write(turn, "a.txt", b"changed twice")
        d.write(turn, "run.sh", b"#!/bin/sh\nexit 1\n")
        d.write(turn, "x/y/z.txt", b"made")
        d.write(turn, "sub/one.py", None)
    after = snapshot(d.ws)
    assert {(path, does) for path, does, _ in d.plan("u1")} == {
        ("a.txt", "restore"), ("run.sh", "restore"), ("x/y/z.txt", "remove"), ("sub/one.py", "recreate"),
    }  # fmt: skip
    done = d.kept.roll_back("s", "u1")
    assert set(done.shown) == {"a.txt", "run.sh", "x/y/z.txt", "sub/one.py"}
    assert done.left == ()
    assert snapshot(d.ws) == before
    d.kept.redo("s")
    assert snapshot(d.ws) == after


def test_what_a_file_was_is_on_the_disk_before_a_tool_changes_it(desk):
    d = desk()
    with d.turn("u1") as turn:
        d.write(turn, "a.txt", b"first")
        said = []
        turn._records()._db.set_trace_callback(said.append)
        turn.file(d.ws / "a.txt", b"first", b"second")
        turn._records()._db.set_trace_callback(None)
    steps = [line for line in said if line.startswith(("PRAGMA synchronous", "COMMIT"))]
    assert steps == ["PRAGMA synchronous = FULL", "COMMIT", "PRAGMA synchronous = NORMAL"]


def test_a_turn_without_changes_leaves_no_trace(desk):
    d = desk()
    fill(d.ws)
    before = snapshot(d.ws)
    with d.turn("u1") as turn:
        d.run(turn, "cat a.txt", READ_ONLY)
    assert not d.kept.folder.exists()
    assert d.kept.list("s") == ()
    d.command("cat a.txt", "u2")
    assert d.kept.list("s") == ()
    assert d.plan("u2") == []
    assert d.kept.roll_back("s", "u2").shown == ()
    assert d.kept.redo("s") is None
    assert snapshot(d.ws) == before


def test_what_the_user_has_changed_since_is_left_and_said(desk):
    d = desk()
    fill(d.ws)
    tick()
    with d.turn("u1") as turn:
        d.write(turn, "a.txt", b"agent")
        d.run(turn, "echo agent >> b.txt; echo made > made.txt; rm empty")
    (d.ws / "a.txt").write_text("mine")
    (d.ws / "made.txt").write_text("mine too")
    (d.ws / "empty").write_text("there again")
    (d.ws / "own.txt").write_text("mine alone")
    assert d.plan("u1") == [
        ("a.txt", "leave", "changed since"),
        ("b.txt", "restore", ""),
        ("empty", "leave", "changed since"),
        ("made.txt", "leave", "changed since"),
    ]
    done = d.kept.roll_back("s", "u1")
    assert done.shown == ("b.txt",)
    assert done.left == (("a.txt", "changed since"), ("empty", "changed since"), ("made.txt", "changed since"))
    assert (d.ws / "a.txt").read_text() == "mine"
    assert (d.ws / "own.txt").read_text() == "mine alone"
    named = d.kept.roll_back("s", "u1", ("a.txt", "empty"))
    assert (named.shown, named.left) == ((), (("a.txt", "changed since"), ("empty", "changed since")))
    assert (d.ws / "a.txt").read_text() == "mine", "not by its name either"


def test_the_record_of_a_turn_has_no_keys(desk):
    d = desk()
    with d.kept.turn("s", "u1", d.ws, "\n use sk-secret for it\nand more") as turn:
        d.write(turn, "a.txt", b"agent")
    assert [point.text for point in d.kept.list("s")] == ["use [REDACTED] for it"]


@pytest.mark.parametrize("by", ["tool", "command"])
def test_what_the_user_changed_between_two_turns_is_never_lost(desk, by):
    """Rolling back the later turn brings the user's version back; rolling back the earlier one would lose it."""
    d = desk()
    fill(d.ws)
    tick()

    def change(turn, text):
        if by == "tool":
            d.write(turn, "a.txt", text.encode())
        else:
            d.run(turn, f"printf '{text}' > a.txt")

    with d.turn("u1") as turn:
        change(turn, "agent")
    (d.ws / "a.txt").write_text("user")
    tick()
    with d.turn("u2") as turn:
        change(turn, "agent again")
    assert d.plan("u1") == [("a.txt", "leave", "changed by somebody else between these turns")]
    assert d.plan("u2") == [("a.txt", "restore", "")]
    d.kept.roll_back("s", "u2")
    assert (d.ws / "a.txt").read_text() == "user"


def test_a_rollback_takes_all_later_turns_back_and_the_list_says_which_are(desk):
    d = desk()
    fill(d.ws)
    tick()
    before = snapshot(d.ws)
    with d.turn("u1") as turn:
        d.write(turn, "a.txt", b"one")
    d.command("echo two >> a.txt; echo t > two.txt", "u2")
    with d.turn("u3") as turn:
        d.write(turn, "a.txt", b"three")
    assert d.listed() == [
        ("u3", [("a.txt", "edit", "tool", "undoable")]),
        ("u2", [("a.txt", "edit", "command", "undoable"), ("two.txt", "create", "command", "undoable")]),
        ("u1", [("a.txt", "edit", "tool", "undoable")]),
    ]
    d.kept.roll_back("s", "u2")
    assert (d.ws / "a.txt").read_text() == "one"
    assert [(point.turn_id, point.undone) for point in d.kept.list("s")] == [("u3", True), ("u2", True), ("u1", False)]
    d.kept.roll_back("s", "u1")
    assert snapshot(d.ws) == before
    d.kept.redo("s")  # the newest rollback first
    assert (d.ws / "a.txt").read_text() == "one"
    d.kept.redo("s")
    assert (d.ws / "a.txt").read_text() == "three"


def test_a_folder_that_somebody_uses_does_not_give_way_to_the_file_it_took_the_place_of(desk):
    d = desk()
    (d.ws / "a").write_text("file")
    tick()
    d.command("rm a && mkdir a && echo x > a/x", "u1")
    assert d.listed() == [("u1", [("a", "edit", "command", "undoable"), ("a/x", "create", "command", "undoable")])]
    (d.ws / "a" / "mine").write_text("mine")
    done = d.kept.roll_back("s", "u1")
    assert (done.shown, done.left) == (("a/x",), (("a", "could not be written"),))
    assert snapshot(d.ws / "a").keys() == {"mine"}
    (d.ws / "a" / "mine").unlink()
    assert d.kept.roll_back("s", "u1").shown == ("a",)
    assert (d.ws / "a").read_text() == "file"


def test_a_folder_that_took_the_place_of_a_file_of_the_same_turn_goes_with_all_that_is_in_it(desk):
    d = desk()
    fill(d.ws)
    tick()
    before = snapshot(d.ws)
    with d.turn("u1") as turn:
        d.run(turn, "mkdir top; echo x > top/a")
        d.run(turn, "rm top/a; mkdir -p top/a/sub/deep; echo y > top/a/x; echo z > top/a/sub/z")
    after = snapshot(d.ws)
    done = d.kept.roll_back("s", "u1")
    assert (set(done.shown), done.left) == ({"top/a", "top/a/x", "top/a/sub/z"}, ())
    assert snapshot(d.ws) == before
    d.kept.redo("s")
    assert snapshot(d.ws) == after
    (d.ws / "top" / "a" / "mine").write_text("mine")
    assert d.kept.roll_back("s", "u1").left == (("top/a", "could not be written"),)
    assert [str(path) for path in snapshot(d.ws / "top")] == ["a", "a/mine"]


def test_an_empty_folder_in_the_place_of_a_file_of_the_same_turn_comes_and_goes(desk):
    d = desk()
    fill(d.ws)
    tick()
    before = snapshot(d.ws)
    with d.turn("u1") as turn:
        d.run(turn, "echo x > a")
        d.run(turn, "rm a; mkdir a")
    after = snapshot(d.ws)
    assert d.kept.roll_back("s", "u1").shown == ("a",)
    assert snapshot(d.ws) == before
    d.kept.redo("s")
    assert snapshot(d.ws) == after


def test_only_the_files_that_are_named_are_rolled_back(desk):
    d = desk()
    fill(d.ws)
    with d.turn("u1") as turn:
        d.write(turn, "a.txt", b"agent")
        d.write(turn, "b.txt", b"agent")
    assert d.kept.roll_back("s", "u1", ("b.txt",)).shown == ("b.txt",)
    assert (d.ws / "a.txt").read_text() == "agent"
    assert d.plan("u1") == [("a.txt", "restore", "")]


def test_what_one_turn_did_to_a_file_is_shown_whatever_later_turns_did(desk):
    d = desk()
    fill(d.ws)
    with d.turn("u1") as turn:
        d.write(turn, "a.txt", b"one\n")
        d.write(turn, "new.txt", b"made\n")
    with d.turn("u2") as turn:
        d.write(turn, "a.txt", b"two\n")
    d.kept.roll_back("s", "u1", ("new.txt",))

    def lines(turn, path):
        change = d.kept.change("s", turn, path)
        return change.change, [(line.kind, line.text) for hunk in change.hunks for line in hunk.lines]

    assert lines("u2", "a.txt") == ("edit", [("remove", "one"), ("add", "two")])
    assert lines("u1", "a.txt")[1][-1] == ("add", "one")
    assert lines("u1", "new.txt") == ("create", [("add", "made")]), "also of a file that is gone again"
    with pytest.raises(StoreError):
        d.kept.change("s", "u2", "new.txt")


def test_a_redo_leaves_what_was_changed_since_the_rollback(desk):
    d = desk()
    fill(d.ws)
    with d.turn("u1") as turn:
        d.write(turn, "a.txt", b"agent")
        d.write(turn, "b.txt", b"agent")
    d.kept.roll_back("s", "u1")
    (d.ws / "a.txt").write_text("mine")
    assert [(f.path, f.does) for f in d.kept.redoable("s").files] == [("a.txt", "leave"), ("b.txt", "restore")]
    assert d.kept.redo("s").left == (("a.txt", "changed since"),)
    assert (d.ws / "a.txt").read_text() == "mine"
    assert (d.ws / "b.txt").read_text() == "agent"


def test_in_a_folder_of_a_repository_nothing_outside_it_is_touched(desk, tmp_path):
    d = desk()
    (tmp_path / ".git").mkdir(exist_ok=True)
    outside = tmp_path / "outside.txt"
    outside.write_text("theirs")
    fill(d.ws)
    tick()
    d.command("echo x >> ../outside.txt; echo x >> a.txt", "u1")
    assert d.plan("u1") == [("a.txt", "restore", "")]
    d.kept.roll_back("s", "u1")
    assert outside.read_text() == "theirsx\n"


def test_a_link_planted_meanwhile_does_not_lead_out(desk, tmp_path):
    d = desk()
    fill(d.ws)
    other = tmp_path / "elsewhere"
    other.mkdir()
    tick()
    d.command("rm sub/one.py; echo x > sub/new", "u1")
    (other / "new").write_text("x\n")  # just what the command had left
    shutil.rmtree(d.ws / "sub")
    (d.ws / "sub").symlink_to(other)
    before = snapshot(other)
    done = d.kept.roll_back("s", "u1")
    assert done.shown == ()
    assert {path for path, _ in done.left} >= {"sub/new"} or done.left
    assert snapshot(other) == before


def test_folders_beside_the_workspace_are_undone_where_tools_changed_them(desk, tmp_path):
    beside = tmp_path / "beside"
    beside.mkdir()
    d = desk(add_dirs=(beside,))
    with d.turn("u1") as turn:
        file = beside / "f"
        turn.file(file, None, b"made")
        file.write_bytes(b"made")
    assert d.plan("u1") == [(str(file), "remove", "")]
    d.kept.roll_back("s", "u1")
    assert not file.exists()


def test_the_difference_that_a_rollback_would_make_is_shown_without_keys(desk):
    d = desk()
    (d.ws / "f").write_text("one\ntoken sk-secret\n")
    with d.turn("u1") as turn:
        d.write(turn, "f", b"one\ntwo\n")
        d.write(turn, "raw", b"\x00\x01\xff")
    shown = d.kept.diff("s", "u1", "f")
    assert [(line.kind, line.text) for line in shown.hunks[0].lines] == [
        ("same", "one"), ("remove", "two"), ("add", "token [REDACTED]"),
    ]  # fmt: skip
    assert d.kept.diff("s", "u1", "raw").change == "delete"
    with pytest.raises(StoreError):
        d.kept.diff("s", "u1", "../etc/passwd")


# -- in a session -------------------------------------------------------------------------------------------------


def test_a_session_rolls_back_tells_the_model_and_takes_it_back(table, desk):
    from tests.core.session_support import call, say

    d = desk()
    t = table(
        call(("write_file", {"path": "a.txt", "content": "agent\n"})), say("done"),
        call(("write_file", {"path": "a.txt", "content": "again\n"})), say("refused, I think"), say("end"),
        policy="never", checkpoints=lambda: d.kept,
    )  # fmt: skip
    t.session.send(intents.SetMode("auto", confirmed=True))
    t.turn("make it")
    file = t.workspace / "a.txt"
    assert file.read_text() == "agent\n"
    (point,) = d.kept.list(t.session.id)
    assert point.text == "make it"
    assert t.session.message(point.turn_id).text == "make it"

    t.session.send(intents.Rollback(point.turn_id))
    told = t.wait(events.FilesRolledBack)
    assert (told.paths, told.left, told.redo) == (("a.txt",), (), False)
    assert not file.exists()
    wait_idle(t)
    t.session.send(intents.RollbackRedo())
    assert t.wait(events.FilesRolledBack, count=2).redo
    assert file.read_text() == "agent\n"
    wait_idle(t)

    t.turn("and now?", count=2)
    notes = [m for m in t.model.requests[2].messages if m.rollback is not None]
    assert [(m.rollback.paths, m.rollback.redo) for m in notes] == [(("a.txt",), False), (("a.txt",), True)]
    assert all("a.txt" in m.text for m in notes)
    results = [m.result for m in t.model.requests[3].messages if m.result is not None]
    assert "the user rolled it back" in results[-1].text, "the model does not write over what it has not seen again"
    assert "you have not read it" not in results[-1].text
    assert file.read_text() == "agent\n"


def test_what_is_kept_of_a_rollback_has_no_keys():
    done = messages.Rollback(("sk-secret.txt", "a.py"), ("sk-secret.md: changed since",), more=(0, 2))
    note = replace(messages.user("sk-secret.txt", origin="note"), rollback=done)
    kept = for_the_record(note, lambda text: text.replace("sk-secret", "***"))
    assert kept.rollback == messages.Rollback(("***.txt", "a.py"), ("***.md: changed since",), more=(0, 2))


def wait_idle(t):
    end = time.monotonic() + 10
    while t.session.state != "idle":
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nothing_is_rolled_back_under_a_running_turn_or_where_nothing_is_recorded(table, desk):
    from tests.core.session_support import say

    d = desk()
    held = []

    def slow(request, sink, cancel):
        held.append(1)
        while not cancel.cancelled:
            time.sleep(0.01)
        return say("stopped")

    t = table(slow, checkpoints=lambda: d.kept)
    t.session.send(intents.Rollback("no such turn"))
    t.wait(events.Notice)
    assert [n.code for n in t.of(events.Notice)] == ["nothing_to_roll_back"]
    wait_idle(t)
    t.session.send(intents.Submit("go"))
    while not held:
        time.sleep(0.01)
    t.session.send(intents.RollbackRedo())
    assert t.wait(events.Notice, count=2).code == "busy"
    t.session.send(intents.Interrupt())
    t.wait(events.TurnFinished)
