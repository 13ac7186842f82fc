"""Changes of commands beside those of tools: at the same time, in the background, by the person."""

import subprocess

import pytest

from tests.core.checkpoint_support import WRITING, Desk, Slow, desks, fill, snapshot, tick


@pytest.fixture
def desk(tmp_path):
    with desks(tmp_path) as make:
        yield make


def test_a_tool_and_a_command_at_the_same_time_are_each_named(desk):
    d = desk()
    fill(d.ws)
    tick()
    before = snapshot(d.ws)
    with d.turn("u1") as turn:
        end = turn.command(WRITING)  # in the background
        tick()
        d.write(turn, "a.txt", b"by the tool")
        subprocess.run(["sh", "-c", "echo c >> b.txt"], cwd=d.ws, check=True)
        tick()
        end()
    by = {f.path: f.by for point in d.kept.list("s") for f in point.files}
    assert by == {"a.txt": "tool", "b.txt": "command"}
    d.kept.roll_back("s", "u1")
    assert snapshot(d.ws) == before


def test_a_command_in_the_background_belongs_to_the_turn_that_began_it(desk):
    d = desk()
    fill(d.ws)
    tick()
    with d.turn("u1") as turn:
        end = turn.command(WRITING)
    tick()
    with d.turn("u2") as turn:
        d.write(turn, "a.txt", b"second turn")
    (d.ws / "late.txt").write_text("from the background")
    tick()
    end()
    assert d.listed() == [
        ("u2", [("a.txt", "edit", "tool", "undoable")]),
        ("u1", [("late.txt", "create", "command", "undoable")]),
    ]


def test_what_changed_while_a_command_ran_in_the_background_is_left_unless_it_is_named(desk):
    d = desk()
    fill(d.ws)
    tick()
    with d.turn("u1") as turn:
        end = turn.command(WRITING, beside=True)  # a server, all day long
        d.write(turn, "b.txt", b"by the tool")
    tick()
    (d.ws / "a.txt").write_text("an edit of the person's own\n")
    (d.ws / "mine.txt").write_text("and a file of theirs\n")
    tick()
    edited = snapshot(d.ws)
    theirs = "may be your own change"
    plan = d.kept.plan("s", "u1")
    assert [(f.path, f.does, f.why, f.acts) for f in plan.files] == [
        ("a.txt", "restore", theirs, False), ("b.txt", "restore", "", True), ("mine.txt", "remove", theirs, False),
    ]  # fmt: skip
    assert [file.path for file in plan.acts] == ["b.txt"]
    rolled = d.kept.roll_back("s", "u1")
    assert rolled.shown == ("b.txt",)
    assert rolled.left == (("a.txt", theirs), ("mine.txt", theirs))
    assert (d.ws / "a.txt").read_text() == "an edit of the person's own\n"
    assert d.kept.roll_back("s", "u1", ["mine.txt"]).shown == ("mine.txt",)
    assert not (d.ws / "mine.txt").exists()
    d.kept.redo("s")
    d.kept.redo("s")
    assert snapshot(d.ws) == edited
    end()


def test_a_command_that_goes_on_in_the_background_is_one_from_then_on(desk):
    d = desk()
    fill(d.ws)
    tick()
    with d.turn("u1") as turn:
        end = turn.command(WRITING)
        tick()
        (d.ws / "a.txt").write_text("while it was waited for\n")
        tick()
        end_beside = turn.command(WRITING, beside=True)
        end()
    tick()
    (d.ws / "b.txt").write_text("later\n")
    tick()
    end_beside()
    assert [file.path for file in d.kept.plan("s", "u1").acts] == ["a.txt"]


def test_an_edit_right_before_a_command_is_kept_where_it_can_be_seen_and_else_what_is_restored_says_so(desk):
    d = desk()
    fill(d.ws)
    tick()
    with d.turn("u1") as turn:
        d.run(turn, "echo agent >> a.txt")
        (d.ws / "a.txt").write_text("the person's\n")
        tick()
        d.run(turn, "echo more >> a.txt; echo more >> b.txt")
    assert d.plan("u1") == [
        ("a.txt", "leave", "changed by somebody else between these turns"), ("b.txt", "restore", ""),
    ]  # fmt: skip
    with d.turn("u2") as turn:
        child, d.kept._looks._child = d.kept._looks._child, Slow()
        end = turn.command(WRITING)
        d.kept._looks._child = child
        tick()
        (d.ws / "sub" / "one.py").write_text("by the command\n")
        tick()
        end()
    assert d.plan("u2") == [("sub/one.py", "restore", "may lose an edit of yours")]


def test_what_the_person_runs_is_theirs(desk):
    d = desk()
    fill(d.ws)
    tick()
    d.command("echo x >> a.txt", "u1")
    subprocess.run(["sh", "-c", "echo y >> b.txt; echo new > own"], cwd=d.ws, check=True)
    tick()
    d.command("true", "u2")
    assert d.plan("u1") == [("a.txt", "restore", "")]


def test_the_program_that_looks_is_one_of_its_own_and_is_started_anew_when_it_ends(desk):
    d = desk(here=False)
    fill(d.ws)
    tick()
    before = snapshot(d.ws)
    d.command("echo x >> a.txt", "u1")
    assert d.plan("u1") == [("a.txt", "restore", "")]
    child = d.kept._looks._child._process
    assert child is not None
    child.kill()
    child.wait()
    d.command("echo y >> b.txt", "u2")
    assert d.plan("u1") == [("a.txt", "restore", ""), ("b.txt", "restore", "")]
    d.kept.roll_back("s", "u1")
    assert snapshot(d.ws) == before


def test_a_turn_goes_on_after_commands_that_changed_nothing(tmp_path):
    """Nothing is kept of such a turn once its files were looked at; another turn may have come in its place."""
    d = Desk(tmp_path)
    (d.ws / "a.txt").write_bytes(b"before")
    with d.turn("first") as first:
        d.run(first, "true")
        d.run(first, "true")
        with d.turn("other", session="elsewhere") as other:
            d.write(other, "b.txt", b"theirs")
        d.write(first, "a.txt", b"after")
        d.run(first, "echo x > c.txt")
    assert d.plan("first") == [("a.txt", "restore", ""), ("c.txt", "remove", "")]
    assert d.plan("other", session="elsewhere") == [("b.txt", "remove", "")]
