"""What turns change in files: listed, taken back, redone; with real files, real shells and the real record."""

import os
import shutil
import stat
import subprocess
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import checkpoint_child, events, intents, limits, messages, put_back
from agent_core.checkpoints import Checkpoints, Options
from agent_core.conversation import for_the_record
from agent_core.errors import StoreError
from agent_core.line_child import Asked
from agent_core.safety.paths import PathRules
from agent_core.sandbox.policy import READ_ONLY, Box

WRITING = Box("workspace-write")


class Here:
    """Looks at files in this process: what the program of its own does, without the time that it takes to start."""

    def __init__(self, folder: Path):
        self.folder, self.looks = folder, 0

    def ask(self, look):
        self.looks += 1
        asked = Asked(answer=checkpoint_child.look(self.folder, look))
        asked.done.set()
        return asked

    def close(self):
        pass


class Slow:
    """Has not looked by the time that anybody waits for it."""

    def ask(self, look):
        return Asked()


class Desk:
    """A workspace with a record of what is changed in it."""

    def __init__(self, tmp_path: Path, options=None, add_dirs=(), here=True):
        self.ws, self.home = tmp_path / "ws", tmp_path / "home"
        self.own = self.home / ".nanohermes"
        for folder in (self.ws, self.own):
            folder.mkdir(parents=True, exist_ok=True)
        self.options, self.add_dirs, self.here = options or Options(), add_dirs, here
        self.number = 0
        self.kept = self.again()

    def again(self) -> Checkpoints:
        """The program starts anew."""
        kept = self.kept = Checkpoints(
            self.home,
            self.own,
            lambda: self.options,
            lambda ws: PathRules(ws, self.home, self.own, add_dirs=self.add_dirs),
            lambda text: text.replace("sk-secret", "[REDACTED]"),
        )
        if self.here:
            kept._looks._child = Here(kept.folder)
        return kept

    def turn(self, name="", session="s", workspace=None):
        self.number += 1
        return self.kept.turn(session, name or f"u{self.number}", workspace or self.ws, f"turn {self.number}")

    def run(self, turn, command, box=WRITING):
        """Run a shell command as a tool does, and let the clock of the files go on before and after."""
        end = turn.command(box)
        tick()
        subprocess.run(["sh", "-c", command], cwd=self.ws, check=True)
        end()
        tick()

    def command(self, command, name=""):
        """A turn with one command."""
        with self.turn(name) as turn:
            self.run(turn, command)

    def write(self, turn, path, content, mode=None):
        """What file tools do: told first, then done."""
        file = self.ws / path
        before = file.read_bytes() if file.exists() else None
        turn.file(file, before, content, mode if before is None else file.stat().st_mode)
        if content is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def plan(self, name, session="s"):
        return [(file.path, file.does, file.why) for file in self.kept.plan(session, name).files]

    def listed(self, session="s"):
        return [
            (point.turn_id, [(f.path, f.change, f.by, f.state) for f in point.files])
            for point in self.kept.list(session)
        ]


def tick():
    """The kernel counts the times of files in ticks; two things that tests want apart are some ticks apart."""
    time.sleep(3 * limits.CHECKPOINT_CLOCK / 1e9)


def snapshot(root: Path):
    """All that is below a folder: kinds, permissions, contents."""
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            found[str(path.relative_to(root))] = ("link", os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            found[str(path.relative_to(root))] = ("file", stat.S_IMODE(status.st_mode), path.read_bytes())
        else:
            found[str(path.relative_to(root))] = ("other", stat.S_IFMT(status.st_mode))
    return found


@pytest.fixture
def desk(tmp_path):
    made = []

    def make(*args, **options):
        made.append(Desk(tmp_path, *args, **options))
        return made[-1]

    yield make
    for one in made:
        one.kept.close()


def fill(ws):
    (ws / "a.txt").write_text("A\n")
    (ws / "b.txt").write_text("B\n" * 1000)
    (ws / "empty").write_bytes(b"")
    (ws / "sub" / "deep").mkdir(parents=True)
    (ws / "sub" / "one.py").write_bytes(b"one\r\n\xff\x00")
    (ws / "sub" / "deep" / "two.py").write_text("two")
    (ws / "to_a").symlink_to("a.txt")
    (ws / "字 \n.txt").write_text("odd name")
    (ws / "run.sh").write_text("#!/bin/sh\n")
    (ws / "run.sh").chmod(0o640)


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


NOT_KEPT = {
    "a pipe": ("mkfifo p", "p", "not a regular file"),
    "a large file": ("echo x >> big", "big", "not kept: larger than one file may be"),
    "a file that is made large": ("head -c 3000 /dev/zero > a.txt", "a.txt", "not kept: larger than one file may be"),
    "a file of keys": ("echo KEY=1 >> .env", ".env", "not kept: it may hold keys"),
    "a large file that goes": ("rm big", "big", "not kept: larger than one file may be"),
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


def test_what_the_person_runs_is_theirs(desk):
    d = desk()
    fill(d.ws)
    tick()
    d.command("echo x >> a.txt", "u1")
    subprocess.run(["sh", "-c", "echo y >> b.txt; echo new > own"], cwd=d.ws, check=True)
    tick()
    d.command("true", "u2")
    assert d.plan("u1") == [("a.txt", "restore", "")]


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


# -- in a session --------------------------------------------------------------------------------------------------


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
    assert "Read it first" in results[-1].text, "the model does not write over what it has not seen again"
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
