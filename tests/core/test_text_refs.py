"""Mentions of files: where one is being written, how a path is written, which lines are meant."""

import time

import pytest

from agent_core.text.refs import Lines, Mention, mention_before, parse_lines, references, write
from tests.rows import each_row


@each_row(
    ("before", "start", "path", "lines"),
    [
        ("@", 0, "", None),
        ("@da", 0, "da", None),
        ("look at @src/date.py", 8, "src/date.py", None),
        ("(@a", 1, "a", None),
        ("看看@源/日", 2, "源/日", None),
        ("@src/date.py#", 0, "src/date.py", ""),
        ("@src/date.py#20", 0, "src/date.py", "20"),
        ("@src/date.py#20-45", 0, "src/date.py", "20-45"),
        ("@C#/main.cs", 0, "C#/main.cs", None),
        ('@"my ', 0, "my ", None),
        ('@"my notes.md"#3-', 0, "my notes.md", "3-"),
    ],
)
def test_a_mention_is_being_written(before, start, path, lines):
    assert mention_before(before + " behind", len(before)) == Mention(start, path, lines, closed='"#' in before)


def test_behind_closed_quotes_only_lines_can_follow():
    assert mention_before('@"my notes.md"', 14) == Mention(0, "my notes.md", None, closed=True)


@each_row(
    "before",
    [
        "",
        "a",
        "me@example",
        "me.you@example",
        "pkg@1",
        "@a b",
        "@a，",
        "@src 的",
        '@"a" b',
        "@@",
        "@a#x#1 ",
        "@diff",
        "@staged",
        "@git:",
        "@url:h",
        "@file:a",
    ],
)
def test_no_mention_is_being_written(before):
    assert mention_before(before, len(before)) is None


@each_row(
    ("path", "written"),
    [
        ("src/date.py", "@src/date.py"),
        ("源/日期.py", "@源/日期.py"),
        ("my notes.md", '@"my notes.md"'),
        ("a#b", '@"a#b"'),
        ("会议（一）.md", '@"会议（一）.md"'),
        ("src/", "@src/"),
    ],
)
def test_a_written_path_is_read_as_it_was(path, written):
    assert write(path) == written
    read = mention_before(written, len(written))
    assert read is not None
    assert read.path == path
    opened = write(path, open_end=True)
    assert mention_before(opened + "x", len(opened) + 1).path == path + "x"


@each_row(
    ("text", "lines"),
    [
        ("20-45", Lines(20, 45)),
        ("20", Lines(20, 20)),
        ("20-", Lines(20, None)),
        ("45-20", Lines(45, 20)),
        ("", None),
        ("-5", None),
        ("1-2-3", None),
        ("x", None),
    ],
)
def test_lines_are_read(text, lines):
    assert parse_lines(text) == lines


def test_a_word_of_many_brackets_is_read_at_once():
    before = time.process_time()
    assert [one.target for one in references("@a" + ")" * 100_000 + " @b(" + ")" * 100_000)] == ["a", "b()"]
    assert time.process_time() - before < 3


@pytest.mark.parametrize("fence", ["```", "`````"])
def test_quoted_lines_of_a_change_refer_to_nothing(fence):
    text = f"see @a.py\na.py:3-4\n{fence}diff\n @url:http://x\n+    @diff\n{fence}\nand @b.py"
    assert [one.raw for one in references(text)] == ["@a.py", "@b.py"]
    assert [one.raw for one in references(text.replace("diff\n @url", "\n @url"))][1] == "@url:http://x"


def test_a_fence_ends_lines_that_were_quoted_with_one_as_long_or_shorter():
    begun = "````diff\n @a\n```diff\n @b\n"
    assert [one.raw for one in references(f"{begun}```\n @c\n")] == ["@a", "@c"]
    assert [one.raw for one in references(f"{begun}```\n @c\n`````\n @d")] == ["@d"]


def test_many_quotes_that_are_never_ended_are_read_at_once():
    before = time.process_time()
    assert [one.target for one in references("```diff\n" * 50_000 + "@a")] == ["a"]
    assert time.process_time() - before < 3
