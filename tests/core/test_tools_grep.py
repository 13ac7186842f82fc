"""grep: both engines find the same, within bounds, and refuse what they do not share."""

from __future__ import annotations

import functools
import itertools
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.errors import Interrupted, ToolFailure
from agent_core.safety.paths import may_read_found
from agent_core.text.pattern import UnsupportedPattern, compile_pattern
from agent_core.text.printable import printable
from agent_core.tools import base, grep, grep_files
from agent_core.workspace import scan
from agent_core.workspace.walk import Walk

from .tool_support import call, context, later

RIPGREP = shutil.which("rg")
needs_ripgrep = pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")


@pytest.fixture(params=["ripgrep", "own"])
def ctx(request, tmp_path, monkeypatch):
    if request.param == "ripgrep" and RIPGREP is None:
        pytest.skip("ripgrep is not installed")
    use(monkeypatch, RIPGREP if request.param == "ripgrep" else None)
    return context(tmp_path)


def use(monkeypatch, program):
    monkeypatch.setattr(grep, "find_ripgrep", lambda env, workspace: program)


def plant(ctx, **files):
    for name, content in files.items():
        place = ctx.workspace / name.replace("__", "/").replace("_dot_", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_matches_come_by_file_with_line_numbers(ctx):
    plant(ctx, b_dot_py="x = 1\nfoo(x)\n", a__c_dot_py="def foo():\n    pass\n", a__d_dot_txt="food\r\n")
    plant(ctx, bar_dot_log="10%\r40%\r99%\ndone\nfoo failed\n")  # returns draw a line anew, they end none
    result = call(ctx, "grep", pattern=r"foo\b")
    assert result.text == "a/c.py\n1:def foo():\nb.py\n2:foo(x)\nbar.log\n3:foo failed"
    assert result.outcome == "3 matches in 3 files"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"pattern": "a.c"}, "f.txt\n1:abc\n3:a.c"),
        ({"pattern": "a.c", "fixed": True}, "f.txt\n3:a.c"),
        ({"pattern": "ABC", "ignore_case": True}, "f.txt\n1:abc"),
        ({"pattern": "(?i)ABC"}, "f.txt\n1:abc"),
        ({"pattern": "xyz"}, "No match."),
        ({"pattern": "b", "path": "f.txt"}, "f.txt\n1:abc\n5:b"),
        ({"pattern": "a", "files_only": True}, "f.txt"),
        ({"pattern": "4", "context": 1}, "f.txt\n3-a.c\n4:4\n5-b"),
        ({"pattern": "abc|4", "context": 1}, "f.txt\n1:abc\n2-\n3-a.c\n4:4\n5-b"),
        ({"pattern": "^$"}, "f.txt\n2:"),
        ({"pattern": "c$"}, "f.txt\n1:abc\n3:a.c"),
        ({"pattern": "{"}, "g/h.md\n1:{ x }"),
        ({"pattern": "x", "glob": "*.txt"}, "No match."),
        ({"pattern": "x", "glob": "g/*.{md,rs}"}, "g/h.md\n1:{ x }"),
        ({"pattern": "x", "path": "g"}, "g/h.md\n1:{ x }"),
        ({"pattern": "x", "path": "g/h.md"}, "g/h.md\n1:{ x }"),
        ({"pattern": "out"}, "No match."),
        ({"pattern": "out", "ignored": True}, "o.log\n1:out"),
    ],
)
def test_options(ctx, args, text):
    plant(ctx, f_dot_txt="abc\n\na.c\r\n4\nb", g__h_dot_md="{ x }\n", o_dot_log="out\n", _dot_gitignore="*.log\n")
    assert call(ctx, "grep", **args).text == text


def test_groups_of_context_are_parted(ctx):
    plant(ctx, f="\n".join("abcdefghij"))
    assert call(ctx, "grep", pattern="[bh]", context=1).text == "f\n1-a\n2:b\n3-c\n--\n7-g\n8:h\n9-i"


def test_protected_files_are_left_out_unless_named(ctx):
    plant(ctx, _dot_env="KEY=1\n", id_rsa="KEY\n", a="KEY\n")
    result = call(ctx, "grep", pattern="KEY")
    assert result.text == "a\n1:KEY\n[2 protected files (keys, .env) not searched]"
    assert call(ctx, "grep", pattern="KEY", path=".env").text == ".env\n1:KEY=1"
    with pytest.raises(ToolFailure):
        call(ctx, "grep", pattern="KEY", path="/etc/shadow")


def test_binary_and_large_files_are_left_out_and_counted(ctx):
    plant(ctx, a=b"word\0\xff", b="word\n", c=b"word\n" + b"x" * limits.GREP_FILE)
    result = call(ctx, "grep", pattern="word")
    assert result.text.startswith("b\n1:word\n[1 file over 4 MB not searched]")


def test_old_encodings_are_searched(ctx):
    plant(ctx, g="第一行\n中文内容，你好\n".encode("gb18030"), u="中文\n".encode("utf-16"), b="\ufeff中文\n".encode())
    assert call(ctx, "grep", pattern="^中文").text == "b\n1:中文\ng\n2:中文内容，你好\nu\n1:中文"


def test_text_in_two_bytes_a_character_is_searched_without_a_mark_too(ctx):
    plant(ctx, le="one\ntwo words\n".encode("utf-16-le"), be="two\r\n".encode("utf-16-be"), no=b"\0\1two\xff" * 9)
    assert call(ctx, "grep", pattern="^two").text == "be\n1:two\nle\n2:two words"


def test_plain_text_is_found_as_text_in_every_encoding(ctx):
    plant(ctx, a="x two\n", u="a\ntwo\n".encode("utf-16"), g="第\ntwo 行\n".encode("gb18030"), no=b"\0\xd8two\n" * 3)
    plant(
        ctx, w="a\ntwo\n".encode("utf-16-le"), trail="丂\n".encode("gb18030")
    )  # its second byte is an @, which is no character here
    assert call(ctx, "grep", pattern="two").text == "a\n1:x two\ng\n2:two 行\nu\n2:two\nw\n2:two"
    assert call(ctx, "grep", pattern="@").text == "No match."


def test_odd_names_are_no_options_and_no_paths(ctx):
    plant(ctx, **{"-e": "x\n", "a b": "x\n", "é": "x\n"})
    (ctx.workspace / os.fsdecode(b"\xff.txt")).write_text("x\n")
    (ctx.workspace / "new\nline").write_text("x\n")
    assert call(ctx, "grep", pattern="x", files_only=True).text == "-e\na b\n\u00e9\n\\udcff.txt"


def test_links_are_not_followed(ctx, tmp_path):
    (tmp_path / "outside").write_text("x\n")
    (ctx.workspace / "link").symlink_to(tmp_path / "outside")
    assert call(ctx, "grep", pattern="x").text == "No match."


# -- bounds -------------------------------------------------------------------------------------------------------


def test_two_hundred_matches_and_a_notice(ctx):
    plant(ctx, f="x\n" * 201)
    result = call(ctx, "grep", pattern="x")
    assert result.text.count(":x") == 200
    assert "[the first 200 matches only, there are more" in result.text
    assert result.outcome == "200+ matches in 1+ files"
    plant(ctx, f="x\n" * 200)
    assert "[" not in call(ctx, "grep", pattern="x").text


def test_the_result_fits_whatever_is_found(ctx):
    plant(ctx, f="中" * 100_000 + "\n", **{f"g{i}": ("x" * 300 + "中\n") * 20 for i in range(20)})
    result = call(ctx, "grep", pattern="中")
    assert len(result.text.encode()) <= limits.TOOL_RESULT
    assert "99,500 more characters" in result.text
    assert result.text.endswith("use files_only]")


def test_many_files_are_searched_in_order(ctx):
    for i in range(2000):
        (ctx.workspace / f"f{i:04}").write_text("needle\n" if i % 150 == 0 else "hay\n")
    result = call(ctx, "grep", pattern="needle", files_only=True)
    assert result.text.split("\n") == [f"f{i:04}" for i in range(0, 2000, 150)]


def test_a_search_can_be_stopped(ctx):
    plant(ctx, **{f"f{i}": "a" * 40_000 + "\n" for i in range(200)})
    later(0.2, ctx.cancel.cancel)
    begun = time.monotonic()
    # Quadratic for the one engine, quick for the other: either way there is an answer or a stop, soon.
    try:
        call(ctx, "grep", pattern="a*a*a*b")
    except Interrupted:
        pass
    assert time.monotonic() - begun < 5


def test_a_search_without_end_is_refused_in_time(tmp_path, monkeypatch):
    ctx = context(tmp_path)
    monkeypatch.setattr(limits, "GREP_SECONDS", 0.5)
    use(monkeypatch, None)
    plant(ctx, f="a" * 60 + "\n")
    with pytest.raises(ToolFailure, match="took longer"):
        call(ctx, "grep", pattern="(a|aa)+b")


def test_a_folder_without_end_is_cut(ctx, monkeypatch):
    monkeypatch.setattr(limits, "WALK_FILES", 50)
    monkeypatch.setattr(limits, "SCAN_BATCH_BYTES", 100)
    plant(ctx, **{f"f{i:03}": "x\n" for i in range(60)})
    result = call(ctx, "grep", pattern="x", files_only=True)
    assert result.text.count("f0") == 50
    assert result.text.endswith("[stopped after 50 files; give a path to look in less]")


# -- one look at whole folders ------------------------------------------------------------------------------------

LINES = [
    "*.log", "/build", "build/", "!x.log", "a/", "**/b", "src/**", "a/**/x.log", "*.py", "!foo.py", "[a-c]", "\\[z\\]",
    "[!a]*", "d\\*r", "# c", "", "a b", "/src/*.py", "**/", "foo.*", "?", "!src/", "src/*", "!/src/a", "a/b", "??",
    "**", "x.log ", "x.log\t", "[]-]", "[z-a]", "x[", "/*", "\\#x", "\\!x", "a\\ ", "**foo.py", "{a,b}", "!{a,b}", "/",
    "é", "FOO.PY", "[[:alpha:]]", "\udcff*", "#x", ".*", "!.hid", "!*", "*/",
]  # fmt: skip
NAMES = [
    "a", "b", "src", "foo.py", "x.log", "build", "[z]", "a b", "d*r", "-n", "é", "a ", "#x", "!x", ".hid", "{a,b}",
    "Foo.py", "\udcffx", "名", "node_modules", "x.log\t", ".env", "k[1].pem", "new\nline",
]  # fmt: skip


def overgrown(root: Path, dice: random.Random) -> None:
    """Folders with ignore files of every kind, those of other programs too, and repositories inside repositories."""
    folders = [root]
    root.mkdir()
    for _ in range(dice.randint(10, 40)):
        place = dice.choice(folders) / dice.choice(NAMES)
        if os.path.lexists(place):
            continue
        if dice.random() < 0.5:
            place.mkdir()
            folders.append(place)
        elif dice.random() < 0.1:
            place.symlink_to(dice.choice(["a", ".", "..", "nowhere"]))
        else:
            place.write_text("x\n")
    for folder in folders:
        if dice.random() < (0.9 if folder == root else 0.2):
            lines = dice.choice(["\n", "\r\n"]).join(dice.choice(LINES) for _ in range(dice.randint(1, 4)))
            mark = dice.choice(["", "", "", "\ufeff"]) if lines.isprintable() else ""  # with one, all is UTF-8
            (folder / ".gitignore").write_bytes((mark + lines + "\n").encode("utf-8", "surrogateescape") + b"#x\n")
        if dice.random() < 0.1:
            (folder / dice.choice([".ignore", ".rgignore"])).write_text("*\n")
        if dice.random() < 0.2:
            (folder / ".git").mkdir()
            (folder / ".git/x").write_text("x\n")
            if dice.random() < 0.5:
                (folder / ".git/info").mkdir()
                (folder / ".git/info/exclude").write_text(dice.choice(LINES[:20]) + "\n")
        elif dice.random() < 0.1:
            (folder / ".git").write_text("gitdir: x\n")


@needs_ripgrep
@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 200), marks=pytest.mark.long)], ids=str)
def test_ripgrep_is_shown_what_the_walk_finds_in_overgrown_trees(tmp_path, monkeypatch, seeds):
    use(monkeypatch, RIPGREP)
    ctx = context(tmp_path)
    ctx.env["XDG_CONFIG_HOME"] = str(tmp_path)  # a list of the user's own says nothing either
    (tmp_path / "git").mkdir()
    (tmp_path / "git/ignore").write_text("*\n")
    rules = base.rules(ctx)
    total = 0
    for seed in seeds:
        dice = random.Random(seed)
        overgrown(ctx.workspace / f"t{seed}", dice)
        for name, most in (("LOOK_FIRST_FOLDERS", 20), ("LOOK_SIZED", 40), ("SCAN_BATCH_BYTES", 2_000)):
            monkeypatch.setattr(limits, name, dice.randint(1, most))
        monkeypatch.setattr(limits, "LOOK_STEP", seed % 5 + 1)
        ignored = dice.random() < 0.2
        top = ctx.workspace / f"t{seed}"
        below = [top, top, *(place for place in top.iterdir() if place.is_dir() and not place.is_symlink())]
        place = dice.choice(below)
        walk = [file for file in Walk(str(place), ctx.cancel, ignored=ignored) if "\n" not in file]
        open_ = [file for file in walk if may_read_found(f"{place}/{file}", rules)]
        wanted = [file for file in open_ if b"x" in (place / file).read_bytes()]
        result = call(ctx, "grep", pattern=dice.choice(["x", "x|y"]), path=str(place), files_only=True, ignored=ignored)
        notes = [line for line in result.text.split("\n") if line.startswith("[") and " " in line]
        shown = [line for line in result.text.split("\n") if line not in notes and line != "No match."]
        assert shown == [printable(f"{place.relative_to(ctx.workspace)}/{file}") for file in wanted], (seed, place)
        hidden = len(walk) - len(open_)
        assert any(f"{hidden} protected" in note for note in notes) == (hidden > 0), seed
        total += len(wanted)
    assert total > 2 * len(seeds)


def test_what_a_file_of_keys_holds_is_not_told_by_the_notes(ctx):
    plant(
        ctx, _dot_env="KEY=right\n", a="x\n", sub__k_dot_pem="right\n", sub__o_dot_log="y\n", _dot_gitignore="*.pem\n"
    )
    right, wrong = (call(ctx, "grep", pattern=f"KEY={guess}").text for guess in ("right", "wrong"))
    assert right == wrong == "No match.\n[1 protected file (keys, .env) not searched]"


@needs_ripgrep
def test_a_look_names_exactly_the_files_that_are_no_utf_8(tmp_path):
    ctx = context(tmp_path)
    edges = bytes.fromhex("00 41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")
    dice = random.Random(1)
    lines = [bytes(line) for length in (1, 2, 3) for line in itertools.product(edges, repeat=length)]
    lines += [bytes(dice.choice(edges) for _ in range(dice.randint(4, 9))) for _ in range(20_000)]
    lines += [
        "".join(dice.choice("Aé\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff") for _ in range(6)).encode()
    ]
    (ctx.workspace / "a").write_bytes(b"\n".join(lines) + b"\n")
    # One line a file would take long: ripgrep is asked for lines instead, with the same expression.
    argv = [RIPGREP, "--text", "--encoding=none", "--no-config", "--only-matching", "--replace=", "--line-number"]
    said = subprocess.run([*argv, "-e", scan.NOT_UTF8, "a"], cwd=ctx.workspace, capture_output=True, check=True).stdout
    assert {int(line.split(b":")[0]) for line in said.splitlines()} == {
        number for number, line in enumerate(lines, 1) if b"\0" in line or not is_utf8(line)
    }


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@needs_ripgrep
def test_ripgrep_does_not_read_files_of_keys_whatever_they_are_called(tmp_path):
    ctx = context(tmp_path)
    keys = ["a[b].pem", "!x.key", "sp ace.key", "{a,b}.pem", "*.key", "q?.pem", "b\\.key", "#.pem", ".env", "名.key"]
    others = ["ab.pem", "x.key", "a.pem", "b.pem", "qq.pem", "zz.key", "b.key", "sub/!x.key", "sub/.env"]
    plant(ctx, sub__x="x\n")
    for name in (*keys, *others):
        (ctx.workspace / name).write_text("x\n")
    search = scan.Search(compile_pattern("x"), ctx.workspace, ctx.env, ctx.cancel, RIPGREP)
    narrow = [grep_files.all_but(name) for name in keys]
    found = scan.worth_a_look(search, ["", "sub/"], narrow, time.monotonic() + 20, small=True)
    assert found is not None
    assert sorted(found) == sorted([*others, "sub/x"])
    assert [grep_files.all_but(name) for name in ("a.key ", "a\n.key", "\udcff.key")] == ["", "", ""]


@pytest.mark.parametrize("seconds", [0.0, 20.0])
def test_files_of_unknown_size_are_searched_for_a_while_only(tmp_path, monkeypatch, seconds):
    if RIPGREP is None:
        pytest.skip("ripgrep is not installed")
    use(monkeypatch, RIPGREP)
    monkeypatch.setattr(limits, "LOOK_SIZED", 1)
    monkeypatch.setattr(limits, "LOOK_UNSIZED_SECONDS", seconds)
    ctx = context(tmp_path)
    plant(ctx, a="x\n", b="x\n" + " " * limits.GREP_FILE, c="x\n")
    text = call(ctx, "grep", pattern="x").text
    assert text == "a\n1:x\nc\n1:x\n[files over 4 MB, if there are any, not searched]"


@needs_ripgrep
@pytest.mark.parametrize("lines", [3, 20_000])
def test_an_expression_is_found_in_files_of_all_encodings_in_their_order(tmp_path, monkeypatch, lines):
    monkeypatch.setattr(limits, "LOOK_LINES", lines)  # with few, a look names files alone
    monkeypatch.setattr(limits, "LOOK_FIRST_FOLDERS", 2)
    monkeypatch.setattr(limits, "SCAN_FIRST_BATCH", 3)
    ctx = context(tmp_path)
    for number in range(24):
        encoding = ("utf-8", "gb18030", "utf-8-sig", "utf-16", "latin-1", "utf-16-le")[number % 6]
        text = f"\u00e9\n\u00d7{number} word\nhay\nword {number} word\n"
        plant(ctx, **{f"{number % 5}__f{number:02}": text.encode(encoding), f"{number % 5}__g{number:02}": "hay\n"})
    answers = []
    for program in (RIPGREP, None):
        use(monkeypatch, program)
        answers.append(call(ctx, "grep", pattern=r"\bw[oa]rd \d+|\d+ word$"))
    assert answers[0] == answers[1]
    assert answers[0].outcome == "48 matches in 24 files"


@needs_ripgrep
def test_lines_that_are_found_without_end_are_not_all_named(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "LOOK_LINES", 50)
    ctx = context(tmp_path)
    plant(ctx, a="ab\n" * 60, b="ac\n")
    search = scan.Search(compile_pattern("a[bc]"), ctx.workspace, ctx.env, ctx.cancel, RIPGREP)
    look = functools.partial(scan.worth_a_look, search, [""], [], time.monotonic() + 20, small=True)
    with pytest.raises(scan.TooMany):
        look(lines=True)
    assert set(look() or ()) == {"a", "b"}


@pytest.mark.parametrize(
    "glob", ["*.py", "*.{py,pyi}", "a*", "**/*.py", "/*.py", "*.p[y]", "*", "{a.py,b.txt}", "*.P*"]
)
def test_globs_mean_the_same_to_both_engines(tmp_path, monkeypatch, glob):
    ctx = context(tmp_path)
    names = ("a.py", "s__a.py", "b.txt", "s__c.pyi", ".py", ".h.py", "s__a.PY", "s__.env")
    plant(ctx, **dict.fromkeys(names, "x\n"))
    answers = []
    for program in (RIPGREP, None):
        use(monkeypatch, program)
        answers.append(call(ctx, "grep", pattern="x", glob=glob, files_only=True))
    assert answers[0] == answers[1]
    assert answers[0].outcome != "no match"


@pytest.mark.parametrize("stopped", [True, False])
def test_a_ripgrep_that_never_ends_is_ended(tmp_path, monkeypatch, stopped):
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    use(monkeypatch, str(program))
    ctx = context(tmp_path)
    plant(ctx, a="x\n")
    if stopped:
        later(0.2, ctx.cancel.cancel)
    else:
        monkeypatch.setattr(limits, "GREP_SECONDS", 0.3)
    begun = time.monotonic()
    with pytest.raises(Interrupted if stopped else ToolFailure, match="Stopped" if stopped else "took longer"):
        call(ctx, "grep", pattern="x")
    assert time.monotonic() - begun < 10


# -- the engines agree --------------------------------------------------------------------------------------------

PARTS = [
    "a", "b", "foo", "Foo", "bar", r"\b", r"\w+", r"\d+", r"\s", r"\S*", "[a-c]", "[^a]", "[^ab]*", ".", "x*",
    "(foo|bar)", "(a|b)+", "é", "中文", "[中é]", r"\.", r"\(", "{", "}", "a{2}", "a{1,2}", r"\W", r"\D", "_", "-",
    r"[\w-]+", "[[:upper:]]", r"\t", " ", r"\x41", "[]a]", "(?:ab)?", '"', "/", "#", "&", "~", "[a&&b]", "[--/]",
    "²", "ſ", "K",
]  # fmt: skip
PIECES = [
    "a", "b", "ab", "foo", "Foo", "FOO", "bar", " ", "\t", "\n", "\n", "\n", "\r\n", "\r", "é", "中文", "_", "-", "1",
    "23", "A", ".", "(", "{", "}", '"', "/", "#", "&", "~", "²", "e\u0301", "ß", "ſ", "\u2028", "\x0b", "\x0c",
    "\u00a0", "k", "Ⅷ",
]  # fmt: skip


ENCODINGS = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "gb18030", "utf-16", "utf-16-le", "utf-16-be", "latin-1"]
IGNORES = ["*.log", "/s/", "!keep.log", "f1", "s/**/f2", "**/t", "a b", "#x", "[fk]3", "!f1"]


def tree(root: Path, dice: random.Random) -> None:
    """A few files as projects have them: in folders, ignored, hidden, linked, in any encoding, with any line ends."""
    root.mkdir()
    if dice.random() < 0.5:
        (root / ".git").mkdir()
    for i in range(dice.randint(2, 8)):
        folder = root / dice.choice(["", "", "s", "s/t", ".hid", "名 字"])
        folder.mkdir(parents=True, exist_ok=True)
        if dice.random() < 0.25:
            (folder / ".gitignore").write_text("\n".join(dice.sample(IGNORES, 3)))
        place = folder / dice.choice([f"f{i}", f"{i}.log", "keep.log", f".f{i}", f"文{i} x.py", ".env"])
        if dice.random() < 0.1:
            place.unlink(missing_ok=True)
            place.symlink_to(dice.choice(["f1", "../f1", "/etc/hostname", "nowhere", "."]))
            continue
        text = "".join(dice.choice(PIECES) for _ in range(dice.choice([0, 5, 30, 60])))
        if dice.random() < 0.1:
            text = (
                dice.choice(["foo", "中文", "x"]) * 500 + text
            )  # the engine of our own takes quadratic time for some patterns
        if dice.random() < 0.2:
            text = text.replace("\n", "\r\n")
        if not place.is_symlink():
            place.write_bytes(text.encode(dice.choice(ENCODINGS), "ignore") + dice.choice([b"", b"", b"", b"\0\xff"]))


@needs_ripgrep
@pytest.mark.parametrize("seeds", [range(7), pytest.param(range(7, 25), marks=pytest.mark.long)], ids=str)
def test_both_engines_find_the_same_in_eight_random_trees_a_seed(tmp_path, monkeypatch, seeds):
    found = 0
    for seed in seeds:
        dice = random.Random(seed)
        (tmp_path / str(seed)).mkdir()
        ctx = context(tmp_path / str(seed))
        for number in range(8):
            tree(ctx.workspace / f"t{number}", dice)
        for _ in range(2):
            body = "".join(dice.choice(PARTS) for _ in range(dice.randint(1, 3)))
            args = {
                "pattern": dice.choice(["", "^"]) + body + dice.choice(["", "", "$"]),
                "ignore_case": dice.random() < 0.3,
                "fixed": dice.random() < 0.1,
                "context": dice.choice([0, 1]),
                "ignored": dice.random() < 0.2,
                "files_only": dice.random() < 0.2,
            }
            answers = []
            for program in (RIPGREP, None):
                use(monkeypatch, program)
                answers.append(call(ctx, "grep", **args))
            assert answers[0] == answers[1], (seed, args)
            found += answers[0].outcome != "no match"
    assert found > len(seeds) * 3 // 4


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(?=a)", "look-around"), ("(?<!a)b", "look-around"), (r"(a)\1", r"\1 is not supported"), (r"\p{L}", r"\p"),
        (r"\Aa", "use ^"), (r"a\Z", "use $"), (r"\<a", r"use \b"), (r"\Ba", r"use \b"), ("a**", "nothing to repeat"),
        ("*a", r"write \*"), ("a*+", "nothing to repeat"), ("a{3,2}", "wrong way round"), ("a{5000}", "more than 1000"),
        ("(a", "not closed"), ("a)", "has no ("), ("[a", "not closed"), ("a\\", "ends with a backslash"), ("", "empty"),
        (r"a\nb", "one by one"), ("a\nb", "one by one"), ("[z-a]", "not a valid"), (r"[\W]", "inside []"),
        ("a^b", r"write \^"),
        ("a$b", r"write \$"), ("[[:nope:]]", "[:nope:]"), (r"\ud800", "U+D800"), ("(?x)a b", "look-around"),
        ("x" * 2000, "longer than"),
    ],
)  # fmt: skip
def test_what_the_engines_do_not_share_is_refused_with_words(tmp_path, pattern, words):
    with pytest.raises(UnsupportedPattern) as caught:
        compile_pattern(pattern)
    assert words in str(caught.value)
    with pytest.raises(ToolFailure, match="fixed=true"):
        call(context(tmp_path), "grep", pattern=pattern)


@pytest.mark.parametrize("body", ["echo 'error: unexpected argument' >&2; exit 2", "", None])
def test_a_ripgrep_that_does_not_work_is_replaced(tmp_path, monkeypatch, body):
    ctx = context(tmp_path)
    plant(ctx, f="x\n")
    program = tmp_path / "rg"
    if body is not None:
        program.write_text(f"#!/bin/sh\n{body}\n" if body else "not a program")
        program.chmod(0o755)
    use(monkeypatch, str(program))
    assert call(ctx, "grep", pattern="x").text == "f\n1:x"


def test_a_ripgrep_in_the_workspace_is_not_run(tmp_path):
    inside, outside = tmp_path / "ws", tmp_path / "bin"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "rg").write_text("#!/bin/sh\n")
        (folder / "rg").chmod(0o755)
    path = f"relative:{inside}:{outside}"
    assert scan.find_ripgrep({"PATH": path}, inside) == str(outside / "rg")
    assert scan.find_ripgrep({"PATH": str(inside)}, inside) is None
    assert scan.find_ripgrep({}, inside) is None
