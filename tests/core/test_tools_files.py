"""read_file, write_file, edit_file, list_dir and glob over real files."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import replace

import pytest

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.ports.actions import EditAction, NoAction, ReadAction
from agent_core.sandbox.policy import UNCONFINED

from .tool_support import TOOLS, call, context, later, prepare


@pytest.fixture
def ctx(tmp_path):
    return context(tmp_path)


@pytest.fixture
def ws(ctx):
    return ctx.workspace


def fails(ctx, name, code=None, **args) -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        call(ctx, name, **args)
    if code is not None:
        assert caught.value.code == code
    return caught.value


def known(ctx, path, data: bytes):
    """A file the model has read."""
    place = ctx.workspace / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    call(ctx, "read_file", path=path)
    return place


def wait_for(condition) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


PATCH_ONE = "*** Begin Patch\n*** Update File: f\n@@\n-one\n+1\n*** End Patch"


# -- read_file ----------------------------------------------------------------------------------------------------


def test_lines_are_numbered(ctx, ws):
    (ws / "a.txt").write_text("one\ntwo\r\n\tthree")
    result = call(ctx, "read_file", path="a.txt")
    assert (result.text, result.outcome) == ("1\tone\n2\ttwo\n3\t\tthree", "3 lines")


def test_a_part_says_how_to_go_on(ctx, ws):
    (ws / "a.txt").write_text("".join(f"line {i}\n" for i in range(1, 101)))
    result = call(ctx, "read_file", path="a.txt", offset=10, limit=2)
    assert result.text == "10\tline 10\n11\tline 11\n[lines 10-11 of 100; go on with offset=12]"
    assert "12\tline 12" in call(ctx, "read_file", path="a.txt", offset=12).text


def test_a_long_file_is_read_in_parts_that_miss_nothing(ctx, ws):
    lines = [f"line {i} " + "中" * 20 for i in range(1, 2001)]
    (ws / "a.txt").write_text("\n".join(lines))
    seen, offset = [], 1
    while offset:
        text = call(ctx, "read_file", path="a.txt", offset=offset).text
        assert len(text.encode()) <= limits.TOOL_RESULT
        numbered = [line.split("\t", 1) for line in text.split("\n") if "\t" in line]
        assert [int(number) for number, _ in numbered] == list(range(offset, offset + len(numbered)))
        seen += [line for _, line in numbered]
        offset = offset + len(numbered) if text.endswith("]") else 0
    assert seen == lines


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"\0\1\2\3", "binary", "binary"),
        (b"x" * (limits.READ_FILE + 1), "too_large", "4,194,304"),
        (None, "missing", "does not exist"),
    ],
)
def test_what_cannot_be_read_is_refused_with_words(ctx, ws, data, code, words):
    if data is not None:
        (ws / "f").write_bytes(data)
    failure = fails(ctx, "read_file", code, path="f")
    assert words in failure.text
    assert failure.text.startswith("f")


def test_who_looks_in_a_folder_that_is_not_there_is_told_of_the_one_near_it(ctx, ws):
    (ws / "src").mkdir()
    (ws / "src/f").touch()
    grep = {"pattern": "x", "path": "scr"}
    for name, args in (("list_dir", {"path": "scr"}), ("grep", grep), ("glob", {"pattern": "scr/*.py"})):
        assert fails(ctx, name, "missing", **args).text == "scr does not exist. Near it: src."
    for name, args in (("list_dir", {"path": "src/f"}), ("glob", {"pattern": "*", "path": "src/f"})):
        assert "src/f is a file" in fails(ctx, name, "not_a_folder", **args).text


def test_four_megabytes_are_read(ctx, ws):
    (ws / "f").write_bytes(b"x\n" * (limits.READ_FILE // 2))
    assert "of 2,097,152" in call(ctx, "read_file", path="f").text


def test_an_empty_file_a_long_line_and_a_line_behind_the_end(ctx, ws):
    (ws / "empty").write_text("")
    assert call(ctx, "read_file", path="empty").outcome == "empty"
    (ws / "min.js").write_text("x" * 50_000)
    assert call(ctx, "read_file", path="min.js").text.endswith(" ... [48,000 more characters]")
    assert "has 1 line" in fails(ctx, "read_file", path="min.js", offset=2).text


def test_folders_pipes_and_protected_files(ctx, ws):
    os.mkfifo(ws / "pipe")
    fails(ctx, "read_file", "directory", path=".")
    fails(ctx, "read_file", path="pipe")
    fails(ctx, "read_file", "denied", path="/etc/shadow")
    (ws / ".env").write_text("KEY=1")
    prepared = prepare(ctx, "read_file", path=".env")
    assert (prepared.path_verdict, prepared.action) == ("ask", ReadAction(".env"))
    assert prepared.run(UNCONFINED).text == "1\tKEY=1"


def test_other_encodings_are_read_and_named(ctx, ws):
    (ws / "gbk.txt").write_bytes("中文内容，你好世界\n".encode("gbk"))
    assert call(ctx, "read_file", path="gbk.txt").text == "1\t中文内容，你好世界\n[encoding gb18030]"


# -- write_file ---------------------------------------------------------------------------------------------------


def test_a_new_file_is_made_with_its_folders(ctx, ws):
    prepared = prepare(ctx, "write_file", path="a/b/new.txt", content="x\n中\n")
    assert isinstance(prepared.action, EditAction)
    assert prepared.action.diffs[0].change == "create"
    assert not (ws / "a").exists()
    result = prepared.run(UNCONFINED)
    assert (ws / "a/b/new.txt").read_text() == "x\n中\n"
    assert (result.effect, result.outcome, result.diffs) == ("done", "new, 2 lines", prepared.action.diffs)


def test_an_existing_file_must_have_been_read(ctx, ws):
    (ws / "f").write_text("old\n")
    assert "Read it first" in fails(ctx, "write_file", "unseen_file", path="f", content="new\n").text
    call(ctx, "read_file", path="f")
    call(ctx, "write_file", path="f", content="new\n")
    call(ctx, "write_file", path="f", content="newer\n")  # its own write counts as seen
    assert (ws / "f").read_text() == "newer\n"


def test_mode_line_ends_and_byte_order_mark_are_kept(ctx, ws):
    place = known(ctx, "f.sh", b"\xef\xbb\xbfhello\r\n\xe4\xb8\xad\r\n")
    place.chmod(0o751)
    call(ctx, "write_file", path="f.sh", content="hi\n文\n")
    assert place.read_bytes() == "\ufeffhi\r\n文\r\n".encode()
    assert stat.S_IMODE(place.stat().st_mode) == 0o751


def test_the_same_content_is_no_change_and_asks_nobody(ctx, ws):
    known(ctx, "f", b"same\n")
    prepared = prepare(ctx, "write_file", path="f", content="same\n")
    assert isinstance(prepared.action, NoAction)
    assert prepared.run(UNCONFINED).effect == "none"


@pytest.mark.parametrize("path", ["../out.txt", "/etc/passwd", "~/.ssh/authorized_keys", "", "a\0b", "."])
def test_places_that_are_not_ours_are_refused(ctx, path):
    fails(ctx, "write_file", path=path, content="x")


# -- what happens between reading and writing ---------------------------------------------------------------------


def test_a_users_save_is_never_overwritten_and_is_shown(ctx, ws):
    place = known(ctx, "f", b"one\ntwo\n")
    place.write_text("one\ntwo, by the user\n")
    failure = fails(ctx, "write_file", "stale_file", path="f", content="mine\n")
    assert "-two\n+two, by the user" in failure.text
    assert place.read_text() == "one\ntwo, by the user\n"
    call(ctx, "edit_file", path="f", old_text="one", new_text="1")  # it knows the content now
    assert place.read_text() == "1\ntwo, by the user\n"


def test_a_touch_is_no_change(ctx, ws):
    place = known(ctx, "f", b"one\n")
    os.utime(place, (1, 1))
    call(ctx, "edit_file", path="f", old_text="one", new_text="two")
    assert place.read_text() == "two\n"


def test_a_long_foreign_change_has_to_be_read(ctx, ws):
    place = known(ctx, "f", b"one\n")
    place.write_text("other\n" * 200)
    assert "Read it again" in fails(ctx, "edit_file", "stale_file", path="f", old_text="other", new_text="x").text
    fails(ctx, "edit_file", "stale_file", path="f", old_text="other", new_text="x")


def test_a_change_of_a_protected_file_is_not_shown(ctx, ws):
    place = known(ctx, ".env", b"A=1\n")
    place.write_text("A=2\n")
    failure = fails(ctx, "edit_file", "stale_file", path=".env", old_text="A=1", new_text="A=3")
    assert "A=2" not in failure.text


def test_a_file_that_would_be_too_large_is_refused_before_anybody_is_asked(ctx, ws):
    with pytest.raises(ToolFailure, match="4,194,304"):
        prepare(ctx, "write_file", path="f", content="x" * (limits.WRITE_FILE + 1))
    (ws / "sparse").touch()
    os.truncate(ws / "sparse", 2 * limits.GB)
    assert "rg for a search" in fails(ctx, "read_file", "too_large", path="sparse").text
    patch = "*** Begin Patch\n*** Delete File: sparse\n*** End Patch"
    pair = {"old_text": "a", "new_text": "b"}
    for name, args in (("edit_file", {"path": "sparse", **pair}), ("apply_patch", {"patch": patch})):
        assert "Use a command: sed -i" in fails(ctx, name, "too_large", **args).text


@pytest.mark.parametrize("name", ["edit_file", "apply_patch"])
def test_what_an_own_command_changed_is_noted_and_no_hindrance(ctx, ws, name):
    place = known(ctx, "f", b"one\ntwo\n")
    call(ctx, "run_command", command="sed -i s/two/2/ f")
    edit = {"path": "f", "old_text": "one", "new_text": "1"} if name == "edit_file" else {"patch": PATCH_ONE}
    said = call(ctx, name, **edit)
    assert "a command of yours" in said.text
    assert "-two\n+2" in said.text
    assert place.read_text() == "1\n2\n"
    assert "a command" not in call(ctx, "edit_file", path="f", old_text="2", new_text="zwei").text


@pytest.mark.parametrize("name", ["edit_file", "apply_patch", "write_file"])
def test_what_the_user_saved_after_an_own_command_is_refused_and_shown(ctx, ws, name):
    place = known(ctx, "f", b"one\ntwo\n")
    call(ctx, "run_command", command="sed -i s/two/2/ f")
    later(0.02, lambda: place.write_text("one\n2\nmine\n"))
    wait_for(lambda: b"mine" in place.read_bytes())
    change = {
        "edit_file": {"path": "f", "old_text": "one", "new_text": "1"},
        "apply_patch": {"patch": PATCH_ONE},
        "write_file": {"path": "f", "content": "1\n2\n"},
    }
    assert "+mine" in fails(ctx, name, "stale_file", **change[name]).text
    assert place.read_text() == "one\n2\nmine\n"


def test_a_whole_file_is_not_written_over_what_an_own_command_did(ctx, ws):
    place = known(ctx, "f", b"one\ntwo\n")
    call(ctx, "run_command", command="sed -i s/two/2/ f")
    assert "+2" in fails(ctx, "write_file", "stale_file", path="f", content="1\ntwo\n").text
    call(ctx, "write_file", path="f", content="1\n2\n")
    assert place.read_text() == "1\n2\n"


def test_a_change_after_the_approval_is_noticed(ctx, ws):
    place = known(ctx, "f", b"one\n")
    prepared = prepare(ctx, "edit_file", path="f", old_text="one", new_text="two")
    place.write_text("three\n")
    with pytest.raises(ToolFailure) as caught:
        prepared.run(UNCONFINED)
    assert caught.value.code == "stale_file"
    assert place.read_text() == "three\n"


def test_a_file_that_appears_after_the_approval_is_not_overwritten(ctx, ws):
    prepared = prepare(ctx, "write_file", path="f", content="mine\n")
    (ws / "f").write_text("theirs\n")
    with pytest.raises(ToolFailure):
        prepared.run(UNCONFINED)
    assert (ws / "f").read_text() == "theirs\n"


# -- edit_file ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "old", "new", "every", "after"),
    [
        (b"a\r\n\tb\r\nc\r\n", "a\n\tb", "x\n\tb", False, b"x\r\n\tb\r\nc\r\n"),
        (b"a\r\n\tb\r\nc\r\n", "a\n\tb", "x\n\tb", True, b"x\r\n\tb\r\nc\r\n"),
        ("\ufeffhello\n中文\n".encode(), "hello", "bye", False, "\ufeffbye\n中文\n".encode()),
        (b"x  =  1\ny  =  2\n", "x = 1", "x = 3", False, b"x = 3\ny  =  2\n"),
        (b"if a:\n\tb()\n", "if a:\n    b()", "if a:\n    b()\n    c()", False, b"if a:\n\tb()\n\tc()\n"),
        (b"no end", "end", "END", False, b"no END"),
        ("中文内容，你好\n第二行\n".encode("gbk"), "二", "三", False, "中文内容，你好\n第三行\n".encode("gbk")),
        ("a\u2028b\x0cc\n".encode(), "b", "x", False, "a\u2028x\x0cc\n".encode()),
        ("hi\n".encode("utf-16"), "hi", "ho", False, "ho\n".encode("utf-16")),
        (b"a\rb\rc\r", "a\nb", "a\nx\ny", False, b"a\rx\ry\rc\r"),
        (b"a\rb\rc\r", "b\rc", "x", False, b"a\rx\r"),
        (b"10%\r50%\r100%\nok\n", "ok", "well\ndone", False, b"10%\r50%\r100%\nwell\ndone\n"),
    ],
)  # fmt: skip
def test_only_the_edit_changes(ctx, before, old, new, every, after):
    place = known(ctx, "f", before)
    result = call(ctx, "edit_file", path="f", old_text=old, new_text=new, replace_all=every)
    assert place.read_bytes() == after
    assert (result.effect, len(result.diffs)) == ("done", 1)


def test_an_inexact_match_shows_what_stands_there_now(ctx):
    known(ctx, "f", b"a\nif x:\n\ty()\n")
    result = call(ctx, "edit_file", path="f", old_text="if x:\n    y()", new_text="if x:\n    z()")
    assert result.text.endswith("old_text differed from the file in indentation. It now reads:\n3\t\tz()")


def test_two_places_are_refused_and_named(ctx):
    place = known(ctx, "f", b"\tx()\na\n\t\tx()\n")
    failure = fails(ctx, "edit_file", "edit_ambiguous", path="f", old_text="    x()", new_text="y()")
    assert "2 times in f: lines 1, 3" in failure.text
    assert place.read_bytes() == b"\tx()\na\n\t\tx()\n"


def test_several_edits_are_made_in_order_or_not_at_all(ctx):
    place = known(ctx, "f", b"a\nb\nc\n")
    edits = [{"old_text": "a", "new_text": "A"}, {"old_text": "A\nb", "new_text": "AB"}]
    call(ctx, "edit_file", path="f", edits=edits)
    assert place.read_text() == "AB\nc\n"
    failure = fails(
        ctx, "edit_file", path="f", edits=[{"old_text": "AB", "new_text": "x"}, {"old_text": "nope", "new_text": "y"}]
    )
    assert failure.text.startswith("Edit 2 of 2:")
    assert place.read_text() == "AB\nc\n"


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"old_text": "a"},
        {"old_text": "", "new_text": "x"},
        {"old_text": "a", "new_text": "a"},
        {"old_text": "zzz", "new_text": "x"},
        {"edits": "x"},
        {"edits": [{"old_text": "a"}]},
        {"edits": [1]},
    ],
)
def test_an_edit_that_cannot_be_made_changes_nothing(ctx, args):
    place = known(ctx, "f", b"a\nb\n")
    said = fails(ctx, "edit_file", path="f", **args).text
    assert "old_text" in said or "edits" in said
    assert place.read_bytes() == b"a\nb\n"


def test_the_mark_of_a_hidden_key_never_takes_the_keys_place(ctx):
    """The model is shown [REDACTED] in place of a key and writes back what it saw."""
    before = b"user = u\nkey = fakeSecretValue99\nport = 1\nhost = h\n"
    place = known(ctx, "f", before)
    shown = before.decode().replace("fakeSecretValue99", "[REDACTED]").replace("port = 1", "port = 2")
    fails(ctx, "write_file", "redacted", path="f", content=shown)
    fails(ctx, "edit_file", "redacted", path="f", old_text="port = 1", new_text="key = [REDACTED]")
    hint = fails(ctx, "edit_file", "edit_not_found", path="f", old_text="key = [REDACTED]\nport = 1", new_text="x").text
    assert "a key you are not shown" in hint
    assert place.read_bytes() == before
    call(ctx, "edit_file", path="f", old_text="port = 1", new_text="port = 2")
    assert place.read_bytes() == before.replace(b"port = 1", b"port = 2")
    place = known(ctx, "notes", b"shown as [REDACTED]\n")
    call(ctx, "edit_file", path="notes", old_text="shown", new_text="seen")
    assert place.read_bytes() == b"seen as [REDACTED]\n"


def test_a_character_the_files_encoding_lacks_is_refused(ctx):
    latin = "Stra\u00dfe und Gr\u00fc\u00dfe, ganz gew\u00f6hnlicher Text in einer alten Datei\n".encode("latin-1")
    place = known(ctx, "f", latin)
    fails(ctx, "edit_file", "encoding", path="f", old_text="Text", new_text="中文")
    assert place.read_bytes() == latin


def test_a_missing_file_names_its_neighbours(ctx, ws):
    (ws / "dates.py").write_text("")
    assert "dates.py" in fails(ctx, "edit_file", "missing", path="date.py", old_text="a", new_text="b").text


def test_protected_places_inside_ask(ctx, ws):
    (ws / ".git").mkdir()
    (ws / ".git/config").write_text("[core]\n")
    call(ctx, "read_file", path=".git/config")
    prepared = prepare(ctx, "edit_file", path=".git/config", old_text="[core]", new_text="[x]")
    assert prepared.path_verdict == "ask"
    assert prepared.path_rule


# -- list_dir and glob --------------------------------------------------------------------------------------------


def tree(ws, *paths):
    for path in paths:
        place = ws / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(path)


def test_a_folder_is_listed_folders_first(ctx, ws):
    tree(ws, "b.txt", "a.log", "src/x.py", "zz/y", ".gitignore")
    (ws / ".gitignore").write_text("*.log\nzz/\n")
    (ws / "link").symlink_to("b.txt")
    result = call(ctx, "list_dir")
    assert result.text.split("\n") == [
        "src/", "zz/ (ignored)", ".gitignore  10 B", "a.log  5 B (ignored)", "b.txt  5 B", "link -> b.txt",
    ]  # fmt: skip
    assert result.outcome == "6 entries"
    assert call(ctx, "list_dir", path="src").text == "x.py  8 B"


def test_a_listing_is_bounded_and_its_names_are_harmless(ctx, ws):
    for i in range(limits.LIST_ENTRIES + 20):
        (ws / f"f{i:04}").touch()
    assert call(ctx, "list_dir").text.endswith("[500 of 520 entries; use glob to narrow it down]")
    (ws / "d").mkdir()
    (ws / "d/a\x1b[2J\nb").touch()
    assert call(ctx, "list_dir", path="d").text == "a\\x1b[2J\\nb  0 B"
    (ws / "e").mkdir()
    assert call(ctx, "list_dir", path="e").text == "(the folder is empty)"


def test_what_is_no_folder_is_not_listed(ctx, ws):
    (ws / "f").touch()
    assert "read_file" in fails(ctx, "list_dir", path="f").text
    fails(ctx, "list_dir", "missing", path="nowhere")
    fails(ctx, "list_dir", path="~/.ssh")


FILES = ("a.py", "b.txt", "src/a.py", "src/deep/c.py", "src/deep/c.ts", "out/x.py", "t/test_a.js", "[id]/p.ts")


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ({"pattern": "*.py"}, "a.py src/a.py src/deep/c.py"),
        ({"pattern": "/*.py"}, "a.py"),
        ({"pattern": "./*.py"}, "a.py"),
        ({"pattern": "src/*.py"}, "src/a.py"),
        ({"pattern": "src/**/*.py"}, "src/a.py src/deep/c.py"),
        ({"pattern": "**/*.{py,ts}"}, "[id]/p.ts a.py src/a.py src/deep/c.py src/deep/c.ts"),
        ({"pattern": "*.py", "path": "src"}, "src/a.py src/deep/c.py"),
        ({"pattern": "*.py", "ignored": True}, "a.py out/x.py src/a.py src/deep/c.py"),
        ({"pattern": "t/test_?.js"}, "t/test_a.js"),
        ({"pattern": "**/deep/*"}, "src/deep/c.py src/deep/c.ts"),
        ({"pattern": "src/**"}, "src/a.py src/deep/c.py src/deep/c.ts"),
        ({"pattern": "[ab].*"}, "a.py b.txt src/a.py"),
        ({"pattern": r"\[id\]/*"}, "[id]/p.ts"),
        ({"pattern": "*.rs"}, ""),
    ],
)
def test_glob_finds_by_name(ctx, ws, args, found):
    if args["pattern"] == "/*.py":
        args = {**args, "pattern": f"{ws}/*.py"}
    tree(ws, *FILES, ".git/a.py")
    (ws / ".gitignore").write_text("out/\n")
    assert call(ctx, "glob", **args).text == (found.replace(" ", "\n") or "No file matches.")


def test_where_gitignore_is_not_to_be_respected_it_is_left_out_of_account(ctx, ws):
    tree(ws, "out/x.py", "a.py")
    (ws / ".gitignore").write_text("out/\n")
    ctx = replace(ctx, respect_gitignore=False)
    assert call(ctx, "glob", pattern="*.py").text == "a.py\nout/x.py"
    assert call(ctx, "glob", pattern="*.py", ignored=False).text == "a.py"
    assert call(ctx, "grep", pattern="out").text == ".gitignore\n1:out/\nout/x.py\n1:out/x.py"
    assert "(ignored)" not in call(ctx, "list_dir").text


def test_glob_says_when_it_cuts(ctx, ws):
    for i in range(limits.GLOB_FILES + 1):
        (ws / f"f{i:04}.py").touch()
    result = call(ctx, "glob", pattern="*.py")
    lines = result.text.split("\n")
    assert (len(lines), lines[0], lines[499]) == (501, "f0000.py", "f0499.py")
    assert lines[500].startswith("[the first 500 only")
    (ws / "f0500.py").unlink()
    assert call(ctx, "glob", pattern="*.py").text.count("\n") == 499


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "~/*", "", "a/../../*", "{a,b}" * 10, "**/x/" * 9])
def test_glob_stays_in_the_workspace_and_bounded(ctx, pattern):
    fails(ctx, "glob", pattern=pattern)


def test_a_hostile_pattern_takes_no_time(ctx, ws):
    (ws / ("a" * 250)).touch()
    assert call(ctx, "glob", pattern="*a" * 60 + "b").text == "No file matches."


def test_a_whole_home_is_asked_about_before_it_is_searched(tmp_path):
    for workspace, verdict in ((tmp_path, "ask"), (tmp_path / "home", "ask"), (tmp_path / "home/project", "allow")):
        workspace.mkdir(parents=True, exist_ok=True)
        ctx = context(tmp_path, workspace=workspace)
        assert prepare(ctx, "glob", pattern="*").path_verdict == verdict
        assert prepare(ctx, "grep", pattern="x").path_verdict == verdict
        assert prepare(ctx, "list_dir").path_verdict == "allow"


# -- all of them --------------------------------------------------------------------------------------------------


def test_effects_are_told_from_arguments_alone():
    assert TOOLS["read_file"].effect({"path": "a"}).kind == "read"
    assert TOOLS["write_file"].effect({"path": "a"}).paths == ("a",)
    assert TOOLS["edit_file"].effect({"path": 3}).kind == "write"
    assert TOOLS["grep"].effect({}).paths == (".",)
    assert TOOLS["edit_file"].effect({"file_path": "a"}).paths == ("a",)
    assert TOOLS["edit_file"].subject({"file_path": "a"}) == "a"
