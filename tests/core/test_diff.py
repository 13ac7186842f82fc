"""Diffs as data: they rebuild the new text, stay readable, and are bounded."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core import limits
from agent_core.messages import FileDiff
from agent_core.text import diff
from tests.rows import each_row


def rebuilt(old: list[str], change: FileDiff) -> list[str]:
    """The new lines, made from the old ones and the hunks alone; checks every number on the way."""
    out: list[str] = []
    at = 0
    for hunk in change.hunks:
        start = hunk.old_start - any(line.old_line for line in hunk.lines)
        out += old[at:start]
        at = start
        assert hunk.new_start - any(line.new_line for line in hunk.lines) == len(out)
        for line in hunk.lines:
            if line.kind != "add":
                assert (old[at], line.old_line) == (line.text, at + 1)
                at += 1
            if line.kind != "remove":
                out.append(line.text)
                assert line.new_line == len(out)
    return out + old[at:]


LINES = st.lists(st.sampled_from(["a", "b", "c", "{", "}", ""]), max_size=30)


@given(LINES, LINES)
def test_a_diff_rebuilds_the_new_text(old, new):
    change = diff.build("f", "".join(f"{x}\n" for x in old), "".join(f"{x}\n" for x in new))
    assert rebuilt(old, change) == new
    assert change.added - change.removed == len(new) - len(old)
    assert change.lines_after == len(new)
    shown = [line.kind for hunk in change.hunks for line in hunk.lines]
    assert (shown.count("add"), shown.count("remove")) == (change.added, change.removed)


def test_hunks_have_three_lines_of_context_and_join_when_they_touch():
    old = [f"line {i}" for i in range(1, 41)]
    new = [*old]
    new[9], new[14], new[34] = "x", "y", "z"
    change = diff.build("f", "\n".join(old) + "\n", "\n".join(new) + "\n")
    assert [(h.old_start, len(h.lines)) for h in change.hunks] == [(7, 14), (32, 8)]
    assert diff.stat(change) == "+3 -3"


@each_row(
    ("old", "new", "kind", "added", "removed"),
    [
        (None, "a\nb\n", "create", 2, 0),
        ("a\nb\n", None, "delete", 0, 2),
        (None, "", "create", 0, 0),
        ("a", "a\n", "edit", 1, 1),
        ("a\r\nb\r\n", "a\nb\r\n", "edit", 1, 1),
        ("a\u2028b\n", "a\u2028c\n", "edit", 1, 1),
        ("same\n", "same\n", "edit", 0, 0),
    ],
)
def test_line_ends_and_missing_files_count(old, new, kind, added, removed):
    change = diff.build("f", old, new)
    assert (change.change, change.added, change.removed) == (kind, added, removed)


def test_functions_stay_whole():
    one = "def one():\n    if a:\n        return 1\n    return 2\n\n\n"
    two = "def two():\n    if b:\n        return 3\n    return 4\n\n\n"
    change = diff.build("f", one, two + one)
    assert [line.text for line in change.hunks[0].lines if line.kind == "add"] == two.split("\n")[:-1]


def test_a_long_diff_is_cut_and_counted():
    new = "".join(f"{i}\n" for i in range(limits.DIFF_LINES + 500))
    change = diff.build("f", "", new)
    assert (len(change.hunks[0].lines), change.omitted_lines) == (limits.DIFF_LINES, 500)
    assert change.added == limits.DIFF_LINES + 500


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{}\n" * 100_000, "}{\n" * 100_000),
        ("a\nb\n" * 499, "b\nb\na\n" * 333),
        ("".join("{}ab"[i * i % 4] + "\n" for i in range(100_000)), "{\n}\na\n" * 33_000),
        ("".join(f"line {i}\n" for i in range(50_000)), "".join(f"line {i * 2}\n" for i in range(50_000))),
    ],
)  # fmt: skip
def test_a_large_file_takes_no_time(old, new):
    begun = time.thread_time()
    diff.build("f", old, new)
    assert time.thread_time() - begun < 5
