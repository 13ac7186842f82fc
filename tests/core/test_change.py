"""Changes of several files: all or none, hunks left out, and what the project's own commands make of them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core import files
from agent_core.errors import StoreError, ToolFailure
from agent_core.messages import diff_from_json, diff_to_json
from agent_core.ports.actions import EditAction, NoAction
from agent_core.ports.tools import Checked
from agent_core.sandbox.policy import UNCONFINED
from agent_core.text.diff import hunks_of

from .tool_support import TOOLS, call, context, prepare

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ctx(tmp_path):
    return context(tmp_path)


@pytest.fixture
def ws(ctx):
    return ctx.workspace


def known(ctx, **contents: bytes) -> None:
    """Files that the model has read; "__" in a name stands for "/", "_" for "."."""
    for name, data in contents.items():
        path = name.replace("__", "/").replace("_", ".")
        (ctx.workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (ctx.workspace / path).write_bytes(data)
        call(ctx, "read_file", path=path)


def tree(ws: Path) -> dict[str, bytes]:
    return {str(p.relative_to(ws)): p.read_bytes() for p in sorted(ws.rglob("*")) if p.is_file()}


def patch(*parts: str) -> str:
    return "*** Begin Patch\n" + "".join(parts) + "*** End Patch\n"


def update(path: str, body: str, to: str = "") -> str:
    return f"*** Update File: {path}\n" + (f"*** Move to: {to}\n" if to else "") + f"@@\n{body}"


def add(path: str, *lines: str) -> str:
    return f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in lines)


def move(path: str, to: str) -> str:
    return f"*** Move File: {path} -> {to}\n"


def delete(path: str) -> str:
    return f"*** Delete File: {path}\n"


def fails(ctx, code: str, *parts: str) -> ToolFailure:
    before = tree(ctx.workspace)
    with pytest.raises(ToolFailure) as caught:
        call(ctx, "apply_patch", patch=patch(*parts))
    assert caught.value.code == code
    assert tree(ctx.workspace) == before
    return caught.value


# -- several files --------------------------------------------------------------------------------------------------


def test_one_patch_changes_adds_moves_and_removes(ctx, ws):
    known(ctx, a_txt=b"1\n2\n3\n", b_txt=b"b\n", c_txt=b"c\nd\n", d_txt=b"gone\n")
    (ws / "b.txt").chmod(0o750)
    said = call(
        ctx,
        "apply_patch",
        patch=patch(
            update("a.txt", "-2\n+zwei\n"),
            "*** Update File: b.txt\n*** Move to: sub/b.txt\n",
            update("c.txt", "-d\n+D\n", "sub/deep/c.txt"),
            delete("d.txt"),
            add("e/f.txt", "new", ""),
        ),
    )
    assert tree(ws) == {
        "a.txt": b"1\nzwei\n3\n", "sub/b.txt": b"b\n", "sub/deep/c.txt": b"c\nD\n", "e/f.txt": b"new\n\n"
    }  # fmt: skip
    assert stat.S_IMODE((ws / "sub/b.txt").stat().st_mode) == 0o750
    assert said.text.split("\n") == [
        "Changed a.txt (+1 -1).",
        "Moved b.txt to sub/b.txt.",
        "Moved c.txt to sub/deep/c.txt (+1 -1).",
        "Removed d.txt (1 line).",
        "Created e/f.txt (2 lines).",
    ]
    shown = [(one.path, one.change, one.old_path) for one in said.diffs]
    assert shown == [
        ("a.txt", "edit", ""),
        ("sub/b.txt", "create", "b.txt"),
        ("b.txt", "delete", ""),
        ("sub/deep/c.txt", "edit", "c.txt"),
        ("d.txt", "delete", ""),
        ("e/f.txt", "create", ""),
    ]
    assert [diff_from_json(diff_to_json(one)) for one in said.diffs] == list(said.diffs)
    call(ctx, "edit_file", path="sub/deep/c.txt", old_text="D", new_text="E")  # the model knows what it has made


@pytest.mark.parametrize(
    ("parts", "after"),
    [
        ([update("a", "-1\n+one\n"), update("a", "-2\n+two\n")], {"a": b"one\ntwo\n"}),
        ([update("a", "-1\n+one\n"), update("a", "-one\n+uno\n")], {"a": b"uno\n2\n"}),
        ([delete("a"), add("a", "new")], {"a": b"new\n"}),
        ([add("b", "x"), update("b", "-x\n+y\n")], {"a": b"1\n2\n", "b": b"y\n"}),
        ([update("a", "-1\n+one\n"), delete("a"), add("b", "x")], {"b": b"x\n"}),
        ([update("a", "-1\n+one\n", "b"), update("b", "-2\n+two\n")], {"b": b"one\ntwo\n"}),
        ([update("a", "-1\n+one\n", "b"), delete("b"), add("c", "x")], {"c": b"x\n"}),
        ([add("b", "x"), update("b", "-x\n+y\n", "c")], {"a": b"1\n2\n", "c": b"y\n"}),
        ([update("a", "-1\n+one\n", "b"), update("b", "-one\n+uno\n", "c")], {"c": b"uno\n2\n"}),
        ([update("a", "-1\n+one\n", "b"), add("a", "new")], {"a": b"new\n", "b": b"one\n2\n"}),
        ([move("a", "b"), update("b", "-1\n+one\n")], {"b": b"one\n2\n"}),
        ([move("a", "b"), add("a", "new"), update("b", "-1\n+one\n")], {"a": b"new\n", "b": b"one\n2\n"}),
        ([move("a", "b"), move("b", "c"), update("c", "-1\n+one\n")], {"c": b"one\n2\n"}),
    ],
)
def test_parts_of_a_patch_about_one_file_build_on_each_other(ctx, ws, parts, after):
    known(ctx, a=b"1\n2\n")
    call(ctx, "apply_patch", patch=patch(*parts))
    assert tree(ws) == after


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("patch_not_found", [update("a", "-1\n+one\n"), update("b", "-missing\n+x\n")]),
        ("patch_ambiguous", [update("a", "-1\n+one\n"), update("b", "-b\n+x\n")]),
        ("missing", [update("a", "-1\n+one\n"), update("nowhere", "-x\n+y\n")]),
        ("missing", [add("n", "x"), delete("nowhere")]),
        ("stale_file", [add("n", "x"), add("a", "there already")]),
        ("stale_file", [update("a", "-1\n+one\n", "b")]),
        ("unseen_file", [add("n", "x"), update("unread", "-u\n+v\n")]),
        ("denied", [add("n", "x"), add("../out", "x")]),
        ("denied", [update("a", "-1\n+one\n", "~/.ssh/authorized_keys")]),
        ("denied", [delete("leads-out/o")]),
        ("denied", [delete("/etc/hostname")]),
        ("patch", [delete("a"), update("a", "-1\n+one\n")]),
        ("patch", ["*** Update File: a\n*** Move to: a\n"]),
        ("patch", ["*** Move File: a\n"]),
        ("patch", ["nothing\n"]),
        ("binary", [update("a", "-1\n+one\n"), update("bin", "-x\n+y\n")]),
        ("denied", [update("pipe", "-x\n+y\n")]),
        ("denied", [delete("sub")]),
        ("denied", [add("a/below", "x")]),
        ("redacted", [update("a", "-1\n+[REDACTED]\n")]),
    ],
)
def test_one_part_that_cannot_be_done_stops_all(ctx, ws, tmp_path, code, parts):
    known(ctx, a=b"1\n2\n", b=b"b\nc\nb\n")
    (ws / "unread").write_text("u\n")
    (ws / "bin").write_bytes(b"\0\1")
    (ws / "sub").mkdir()
    os.mkfifo(ws / "pipe")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/o").write_text("o\n")
    (ws / "leads-out").symlink_to(tmp_path / "out")
    fails(ctx, code, *parts)


def test_a_miss_names_file_hunk_and_nearest_place(ctx):
    known(ctx, a=b"1\n", b=b"def first(a):\n    pass\n\ndef other(b, c):\n    pass\n")
    body = "-def first(a):\n+def f(a):\n@@\n-def other(c, d):\n+def o(c):\n"
    text = fails(ctx, "patch_not_found", update("a", "-1\n+2\n"), update("b", body)).text
    assert text.startswith("b, hunk 2 of 2: its lines are not in the file. Nothing was changed, in no file.")
    assert "line 4:\ndef other(b, c):" in text


def test_nothing_is_removed_that_the_diff_does_not_quote(ctx, ws):
    known(ctx, d=b"one\ntwo\n")
    part = "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
    with pytest.raises(ToolFailure, match="not what the patch wants to remove"):
        call(ctx, "apply_patch", patch=part)
    call(ctx, "apply_patch", patch=part + "-two\n")
    assert tree(ws) == {}


def test_what_cannot_be_read_as_text_is_moved_and_removed_whole(ctx, ws, tmp_path):
    (ws / "a.bin").write_bytes(b"\0\xff" * 50)
    (ws / "b.bin").write_bytes(b"\0")
    (tmp_path / "kept").write_text("kept\n")
    (ws / "link").symlink_to(tmp_path / "kept")
    said = call(ctx, "apply_patch", patch=patch("*** Move File: a.bin -> c.bin\n", delete("b.bin"), delete("link")))
    assert tree(ws) == {"c.bin": b"\0\xff" * 50}
    assert (tmp_path / "kept").read_text() == "kept\n"
    assert "Removed the link link." in said.text
    (ws / "d.bin").write_bytes(b"\0\1\2\xff")
    assert call(ctx, "apply_patch", patch=patch(delete("d.bin"))).outcome == "removed"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("link", ("real", b"1\nzwei\n")),  # the link stays, what it leads to is changed
        ("hard", ("other", b"1\n2\n")),  # its other name keeps the old content
        ("setid", ("setid", b"1\nzwei\n")),
    ],
)
def test_links_and_modes_of_files_in_a_patch(ctx, ws, name, kept):
    (ws / "real").write_text("1\n2\n")
    (ws / "link").symlink_to("real")
    (ws / "other").write_text("1\n2\n")
    os.link(ws / "other", ws / "hard")
    (ws / "setid").write_text("1\n2\n")
    (ws / "setid").chmod(0o4755)
    call(ctx, "read_file", path=name)
    call(ctx, "apply_patch", patch=patch(update(name, "-2\n+zwei\n"), add("n", "x")))
    assert (ws / kept[0]).read_bytes() == kept[1]
    assert (ws / "link").is_symlink()
    assert stat.S_IMODE((ws / "setid").stat().st_mode) == (0o755 if name == "setid" else 0o4755)


def test_a_read_only_file_stops_the_patch_and_what_was_written_is_put_back(ctx, ws):
    known(ctx, a=b"1\n", b=b"1\n")
    (ws / "b").chmod(0o444)
    fails(ctx, "read_only", update("a", "-1\n+2\n"), add("n/m", "x"), update("b", "-1\n+2\n"))


@pytest.mark.parametrize("meanwhile", ["write", "remove", "link", "appear", "folder"])
def test_what_changes_between_the_look_and_the_writing_stops_all(ctx, ws, meanwhile):
    known(ctx, a=b"1\n", b=b"1\n")
    prepared = prepare(ctx, "apply_patch", patch=patch(update("a", "-1\n+2\n"), update("b", "-1\n+2\n"), add("n", "x")))
    if meanwhile == "write":
        (ws / "b").write_text("theirs\n")
    elif meanwhile == "appear":
        (ws / "n").write_text("theirs\n")
    else:
        (ws / "b").unlink()
        if meanwhile == "link":
            (ws / "b").symlink_to("a")
        elif meanwhile == "folder":
            (ws / "b").mkdir()
    before = tree(ws)
    with pytest.raises(ToolFailure):
        prepared.run(UNCONFINED)
    assert tree(ws) == before


@pytest.mark.parametrize(
    "parts", [["*** Update File: nowhere\n@@\n-x\n+y\n"], ["*** Delete File: nowhere\n"], ["*** Add File: ../x\n+y\n"]]
)
def test_whatever_stops_a_patch_is_told_with_what_became_of_it(ctx, ws, parts):
    known(ctx, a=b"1\n")
    with pytest.raises(ToolFailure, match="Nothing was changed, in no file"):
        prepare(ctx, "apply_patch", patch=patch(update("a", "-1\n+2\n"), *parts))


def test_a_save_after_the_yes_is_told_with_what_became_of_the_others(ctx, ws):
    known(ctx, a=b"1\n", b=b"1\n")
    prepared = prepare(ctx, "apply_patch", patch=patch(update("a", "-1\n+2\n"), update("b", "-1\n+2\n")))
    (ws / "b").write_bytes(b"saved\n")
    first = (ws / "a").stat()
    with pytest.raises(ToolFailure, match=r"b was not touched.* None of the files was changed"):
        prepared.run(UNCONFINED)
    assert (ws / "a").stat().st_ctime_ns == first.st_ctime_ns, "all are looked at before the first is written"
    assert tree(ws) == {"a": b"1\n", "b": b"saved\n"}


@pytest.mark.parametrize("moved", [False, True])
def test_a_link_in_the_place_of_what_was_judged_is_not_followed(ctx, ws, tmp_path, moved):
    known(ctx, d__f=b"1\n")
    prepared = prepare(ctx, "edit_file", path="d/f", old_text="1", new_text="2")
    (ws / "d").rename(tmp_path / "elsewhere")
    (ws / "d").symlink_to(tmp_path / "elsewhere") if moved else (ws / "d").mkdir()
    if not moved:
        (ws / "d" / "f").symlink_to(tmp_path / "elsewhere" / "f")
    with pytest.raises(ToolFailure, match="Nothing was changed"):
        prepared.run(UNCONFINED)
    assert (tmp_path / "elsewhere" / "f").read_bytes() == b"1\n"


def test_what_fails_in_the_middle_is_put_back_exactly(ctx, ws, monkeypatch):
    known(ctx, a=b"1\r\n2\r\n", b=b"b\n", c=b"c\n", d=b"d\n", kept__k=b"k\n")
    (ws / "d").chmod(0o640)
    (ws / "link").symlink_to("a")
    real = files.delete
    parts = [update("a", "-2\n+zwei\n"), "*** Move File: b -> x/y/b\n", add("kept/new/n", "x"), delete("link")]
    parts += [delete("d"), delete("c")]
    prepared = prepare(ctx, "apply_patch", patch=patch(*parts))
    before = tree(ws)

    def failing(verdict, rules, expect):
        if verdict.shown == "c":
            raise ToolFailure("c could not be deleted: No space left on device.", code="unwritable")
        real(verdict, rules, expect)

    monkeypatch.setattr(files, "delete", failing)
    with pytest.raises(ToolFailure, match="None of the files was changed"):
        prepared.run(UNCONFINED)
    assert tree(ws) == before
    assert sorted(place.name for place in ws.rglob("*") if place.is_dir()) == ["kept"]
    assert (ws / "link").readlink() == Path("a")
    assert stat.S_IMODE((ws / "d").stat().st_mode) == 0o640


def test_what_cannot_be_put_back_is_named(ctx, ws, monkeypatch):
    known(ctx, a=b"1\n", b=b"b\n")
    prepared = prepare(ctx, "apply_patch", patch=patch(update("a", "-1\n+2\n"), delete("b")))

    def failing(verdict, rules, expect):
        (ws / "a").write_text("somebody else's\n")
        raise ToolFailure("b could not be deleted: no.", code="unwritable")

    monkeypatch.setattr(files, "delete", failing)
    said = prepared.run(UNCONFINED)
    assert (said.ok, said.effect) == (False, "unknown")
    assert "could not be put back: a." in said.text
    assert (ws / "a").read_text() == "somebody else's\n"


def test_a_protected_file_makes_the_whole_patch_ask(ctx, ws):
    known(ctx, a=b"1\n")
    (ws / ".git/hooks").mkdir(parents=True)
    for parts in (
        [update("a", "-1\n+2\n"), add(".git/hooks/pre-commit", "x")],
        [update("a", "-1\n+2\n", ".git/hooks/a")],
    ):
        prepared = prepare(ctx, "apply_patch", patch=patch(*parts))
        assert prepared.path_verdict == "ask"
        assert prepared.path_rule
    assert prepare(ctx, "apply_patch", patch=patch(update("a", "-1\n+2\n"), add("b", "x"))).path_verdict == "allow"


def test_effect_and_subject_are_told_from_the_text_alone():
    tool = TOOLS["apply_patch"]
    args = {"patch": patch(update("a", "-1\n+2\n", "b"), add("c", "x"))}
    assert tool.effect(args).paths == ("a", "b", "c")
    assert tool.subject(args) == "a +2"
    assert tool.subject({"input": patch(add("c", "x"))}) == "c"
    for bad in ({}, {"patch": 3}, {"patch": "nonsense"}):
        assert (tool.effect(bad).kind, tool.subject(bad)) == ("write", "")


# -- hunks left out -------------------------------------------------------------------------------------------------

LONG = [f"line {n}" for n in range(1, 41)]


def test_hunks_are_left_out_exactly(ctx, ws):
    known(ctx, a=("\n".join(LONG) + "\n").encode(), b=b"b\n", c=b"c\n")
    body = "".join(f"@@\n-line {n}\n+LINE {n}\n" for n in (2, 20, 39))
    parts = [f"*** Update File: a\n{body}", "*** Move File: b -> d\n", delete("c"), add("e", "x")]
    prepared = prepare(ctx, "apply_patch", patch=patch(*parts))
    assert list(hunks_of(prepared.action.diffs)) == ["0.0", "0.1", "0.2", "1.0", "3.0", "4.0"]
    left = prepared.without(frozenset({"0.1", "1.0", "3.0"}))
    assert [(one.path, len(one.hunks)) for one in left.action.diffs] == [("a", 2), ("e", 1)]
    said = left.run(UNCONFINED)
    expected = "\n".join(f"LINE {n}" if n in (2, 39) else f"line {n}" for n in range(1, 41)) + "\n"
    assert tree(ws) == {"a": expected.encode(), "b": b"b\n", "c": b"c\n", "e": b"x\n"}
    assert said.diffs == left.action.diffs


def test_what_moves_or_goes_unread_is_shown_all_the_same(ctx, ws):
    (ws / "a").write_text("secret or not\n")
    (ws / "b").write_text("b\n")
    (ws / "bin").write_bytes(b"\0")
    parts = ["*** Move File: a -> c\n", delete("b"), "*** Move File: bin -> bin2\n"]
    diffs = prepare(ctx, "apply_patch", patch=patch(*parts)).action.diffs
    assert [(one.path, one.added, one.removed) for one in diffs] == [
        ("c", 1, 0), ("a", 0, 1), ("b", 0, 1), ("bin2", 0, 0), ("bin", 0, 0)
    ]  # fmt: skip


@pytest.mark.parametrize("refused", [{"0.0"}, {"1.0"}, {"0.0", "1.0"}])
def test_a_move_is_refused_as_one(ctx, ws, refused):
    known(ctx, a=b"a\n", b=b"b\n")
    prepared = prepare(ctx, "apply_patch", patch=patch("*** Move File: a -> c\n", update("b", "-b\n+B\n")))
    prepared.without(frozenset(refused)).run(UNCONFINED)
    assert tree(ws) == {"a": b"a\n", "b": b"B\n"}


@pytest.mark.parametrize(
    ("refused", "after"),
    [
        ({"0.0"}, {"c": "\n".join([*LONG[:-1], "end"])}),
        ({"0.1"}, {"c": "\n".join(["start", *LONG[1:]])}),
        ({"0.0", "0.1"}, None),
    ],
)
def test_a_move_with_changes_keeps_the_hunks_that_are_left(ctx, ws, refused, after):
    known(ctx, a="\n".join(LONG).encode())
    prepared = prepare(ctx, "apply_patch", patch=patch(update("a", "-line 1\n+start\n@@\n-line 40\n+end\n", "c")))
    if after is None:
        with pytest.raises(ToolFailure, match="Nothing is left"):
            prepared.without(frozenset(refused))
        return
    prepared.without(frozenset(refused)).run(UNCONFINED)
    assert tree(ws) == {name: text.encode() for name, text in after.items()}


@pytest.mark.parametrize("name", ["write_file", "edit_file"])
def test_every_tool_that_writes_can_leave_hunks_out(ctx, ws, name):
    known(ctx, a=("\r\n".join(LONG)).encode())
    new = [*LONG]
    new[0], new[-1] = "first", "last"
    edits = [{"old_text": "line 1\n", "new_text": "first\n"}, {"old_text": "line 40", "new_text": "last"}]
    args = {"content": "\n".join(new)} if name == "write_file" else {"edits": edits}
    prepared = prepare(ctx, name, path="a", **args)
    prepared.without(frozenset({"0.1"})).run(UNCONFINED)
    assert (ws / "a").read_bytes() == "\r\n".join(["first", *LONG[1:]]).encode()


# -- what is kept, and what the project's own commands do -----------------------------------------------------------


class Log:
    """Notes what is told before it is done, and how the file is then."""

    def __init__(self, ws: Path, failing: str = "") -> None:
        self.ws, self.failing = ws, failing
        self.told: list[tuple] = []

    def file(self, path, before, after, mode=None):
        if path.name == self.failing:
            raise StoreError("disk_full", "the disk is full")
        now = path.read_bytes() if path.exists() else None
        assert now == before
        self.told.append((str(path.relative_to(self.ws)), before, after, mode and stat.S_IMODE(mode)))

    def command(self, box, *, beside=False):
        return lambda: None


def test_every_change_is_kept_before_the_first_is_made(ctx, ws):
    known(ctx, a=b"1\n", b=b"b\n", c=b"c\n")
    (ws / "a").chmod(0o600)
    parts = [update("a", "-1\n+2\n"), add("n", "x"), delete("b"), "*** Move File: c -> d\n"]
    log = Log(ws)
    call(replace(ctx, changes=log), "apply_patch", patch=patch(*parts))
    assert sorted(log.told, key=lambda one: one[0]) == [
        ("a", b"1\n", b"2\n", 0o600), ("b", b"b\n", None, 0o644), ("c", b"c\n", None, 0o644),
        ("d", None, b"c\n", None), ("n", None, b"x\n", None),
    ]  # fmt: skip


def test_what_cannot_be_kept_is_not_changed(ctx, ws):
    known(ctx, a=b"1\n", b=b"b\n")
    with pytest.raises(StoreError):
        call(replace(ctx, changes=Log(ws, "b")), "apply_patch", patch=patch(update("a", "-1\n+2\n"), delete("b")))
    assert tree(ws) == {"a": b"1\n", "b": b"b\n"}


def formatter(ws: Path, long: bool = False):
    def after_edit(paths, ctx):
        for path in paths:
            text = path.read_text().replace("'", '"')
            path.write_text("\n".join(f"{n}" for n in range(300)) + text if long else text)
        return Checked(f"formatter: {len(list(paths))} files")

    return after_edit


@pytest.mark.parametrize("tool", ["write_file", "edit_file", "apply_patch"])
def test_a_file_that_a_formatter_rewrites_is_known_as_it_is_then(ctx, ws, tool):
    known(ctx, a=b"x = 1\n")
    ctx = replace(ctx, after_edit=formatter(ws))
    args = {
        "write_file": {"path": "a", "content": "x = 'y'\n"},
        "edit_file": {"path": "a", "old_text": "1", "new_text": "'y'"},
        "apply_patch": {"patch": patch(update("a", "-x = 1\n+x = 'y'\n"))},
    }
    said = call(ctx, tool, **args[tool])
    assert said.text.endswith("formatter: 1 files")
    assert "rewritten by the project's own commands:\n@@ line 1 @@\n-x = 'y'\n+x = \"y\"" in said.text
    assert [line.text for hunk in said.diffs[0].hunks for line in hunk.lines] == ["x = 1", 'x = "y"']
    call(ctx, "edit_file", path="a", old_text='"y"', new_text="z")
    assert (ws / "a").read_text() == "x = z\n"


def test_a_formatter_that_says_nothing_is_noticed_too(ctx, ws):
    known(ctx, a=b"x = 1\n", b=b"b\n")

    def quiet(paths, ctx):
        (ws / "a").write_text("x=2\n")
        return Checked()

    log = Log(ws)
    ctx = replace(ctx, after_edit=quiet, changes=log)
    log.file = lambda *told: log.told.append(told[1:3])
    said = call(ctx, "apply_patch", patch=patch(update("a", "-x = 1\n+x = 2\n"), update("b", "-b\n+c\n")))
    assert said.text.endswith("a was then rewritten by the project's own commands:\n@@ line 1 @@\n-x = 2\n+x=2")
    assert log.told[-1] == (b"x = 2\n", b"x=2\n")
    assert call(ctx, "edit_file", path="b", old_text="c", new_text="d").text == "Changed b (+1 -1)."
    call(ctx, "edit_file", path="a", old_text="2", new_text="3")


def test_a_long_rewriting_is_counted(ctx, ws):
    known(ctx, a=b"x = 1\n")
    said = call(replace(ctx, after_edit=formatter(ws, long=True)), "edit_file", path="a", old_text="1", new_text="2")
    assert "(+300 -1 lines); read it again" in said.text
    assert said.outcome == "+300 -1"


def test_of_a_file_that_had_to_be_asked_about_a_rewriting_shows_no_lines(ctx, ws):
    known(ctx, _envrc=b"x = 1\n")

    def quiet(paths, ctx):
        (ws / ".envrc").write_text("x=2 # found elsewhere\n")
        return Checked()

    said = call(replace(ctx, after_edit=quiet), "edit_file", path=".envrc", old_text="1", new_text="2")
    assert "own commands (+1 -1 lines); read it again" in said.text
    assert "found elsewhere" not in said.text


def test_a_change_that_changes_nothing_asks_nobody(ctx, ws):
    known(ctx, a=b"1\n")
    assert isinstance(prepare(ctx, "write_file", path="a", content="1\n").action, NoAction)
    with pytest.raises(ToolFailure, match="leaves every file as it is"):
        prepare(ctx, "apply_patch", patch=patch(update("a", "-1\n+1\n")))
    assert isinstance(prepare(ctx, "write_file", path="a", content="2\n").action, EditAction)


# -- bytes ----------------------------------------------------------------------------------------------------------

ENCODINGS = [("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
WORDS = st.sampled_from(["alpha", "    beta()", "\tgamma", "", "中文字", "δ = 1", "}", "trailing  "])


@given(
    st.lists(WORDS, max_size=8), st.lists(WORDS, max_size=8), st.sampled_from(ENCODINGS),
    st.lists(st.sampled_from(["\n", "\r\n"]), min_size=18, max_size=18), st.booleans(),
    st.sampled_from(["edit_file", "apply_patch"]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_byte_outside_the_edit_is_equal(above, below, encoding, ends, is_ended, tool):
    codec, mark = encoding
    lines = [*above, "the line 汉 itself", *below]
    rows = [f"{line}{end}" for line, end in zip(lines, ends, strict=False)]
    if not is_ended:
        rows[-1] = lines[-1]
    head, tail = (
        "".join(rows[: len(above)]),
        rows[len(above)][len("the line 汉 itself") :] + "".join(rows[len(above) + 1 :]),
    )
    with TemporaryDirectory() as folder:
        ctx = context(Path(folder))
        place = ctx.workspace / "f"
        place.write_bytes(mark + (head + "the line 汉 itself" + tail).encode(codec))
        call(ctx, "read_file", path="f")
        if tool == "edit_file":
            call(ctx, tool, path="f", old_text="line 汉 itself", new_text="new 汉 one")
        else:
            call(ctx, tool, patch=patch(update("f", "-the line 汉 itself\n+the new 汉 one\n")))
        assert place.read_bytes() == mark + (head + "the new 汉 one" + tail).encode(codec)


@pytest.mark.parametrize("tool", ["edit_file", "apply_patch"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("第一行汉字\n第二行汉字\n第三行汉字\n".encode("gb18030"), "第一行汉字\n第2行\n第三行汉字\n".encode("gb18030")),
        ("第一行汉字\r\n第二行汉字\r\n".encode("gb18030"), "第一行汉字\r\n第2行\r\n".encode("gb18030")),
    ],
)
def test_gb18030_is_edited_without_loss(ctx, ws, tool, before, after):
    known(ctx, f=before)
    if tool == "edit_file":
        call(ctx, tool, path="f", old_text="第二行汉字", new_text="第2行")
    else:
        call(ctx, tool, patch=patch(update("f", "-第二行汉字\n+第2行\n")))
    assert (ws / "f").read_bytes() == after


# -- a crash --------------------------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from tests.core.tool_support import call, context
ctx = context(Path(sys.argv[1]))
names = [f"f{n:03}" for n in range(30)]
for name in names:
    call(ctx, "read_file", path=name)
print("ready", flush=True)
parts = "".join(f"*** Update File: {name}\\n@@\\n-old\\n+new\\n" for name in names)
call(ctx, "apply_patch", patch=f"*** Begin Patch\\n{parts}*** End Patch")
"""


@pytest.mark.parametrize("after", [0, 20])
def test_a_kill_in_the_middle_leaves_each_file_old_or_new(tmp_path, after):
    ws = context(tmp_path).workspace
    old, new = ("x" * 40_000 + f"\n{word}\n" for word in ("old", "new"))
    for n in range(30):
        (ws / f"f{n:03}").write_text(old)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        env={**os.environ, "HOME": "/nowhere"},
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    end = time.monotonic() + 30
    while (ws / f"f{after:03}").read_text() != new:
        assert time.monotonic() < end
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    found = {(ws / f"f{n:03}").read_text() for n in range(30)}
    assert found <= {old, new}
    assert (ws / f"f{after:03}").read_text() == new
    left = [place.name for place in ws.iterdir() if not place.name.startswith("f")]
    assert len(left) <= 1
