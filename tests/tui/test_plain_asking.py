"""Questions line by line: what is typed, and what comes of it. Enter alone allows nothing."""

import os
import tty
from contextlib import suppress

import pytest

from agent_core.messages import DiffLine, FileDiff, Hunk
from agent_core.ports.asking import Question
from agent_core.servers import FormField
from nanoherm_tui.i18n import set_language
from nanoherm_tui.plain import typing_in
from nanoherm_tui.plain.asking import Asked, asked_lines, take
from nanoherm_tui.plain.diffs import diff_lines
from tests.rows import each_row


@pytest.fixture(autouse=True)
def english():
    set_language("en")
    yield
    set_language("en")


def hunk(at):
    return Hunk(at, at, (DiffLine("remove", f"old {at}", at), DiffLine("add", f"new\x1b {at}", None, at)))


CHANGE = FileDiff("a.py", (hunk(1), hunk(9)), 2, 2)
COMMAND = Question(
    "command", "Run a command", "mode ask", command="rm x", cwd="/w", sandbox="workspace-write",
    decisions=("once", "session", "always", "refuse"), grant="this exact command, in this folder", pattern="rm", id="q",
)  # fmt: skip
EDIT = Question("edit", "Change a.py", "mode ask", diffs=(CHANGE,), id="q")
ASK = Question("ask_user", "", text="Which?", choices=("red", "blue"), decisions=("once",), id="q")
PLAN = Question("plan", "", text="1. do it", decisions=("once", "refuse"), id="q")
FORM = Question(
    "form", "", server="s", text="Who?", decisions=("once", "refuse"), id="q",
    form=(FormField("n", "Name", required=True), FormField("k", "Count", "whole"), FormField("f", "Sure", "flag"),
          FormField("c", "Colour", "choice", choices=(("r", "Red"), ("b", "Blue")))),
)  # fmt: skip


def say(question, *lines):
    """The answer that these lines come to, or None, and the question as it then stands."""
    asked = Asked(question, 1e12)
    for line in lines:
        taken = take(asked, line)
        if taken.answer is not None:
            return taken.answer, asked
        asked = taken.asked
    return None, asked


NO_ANSWERS = [
    (COMMAND, [""]), (COMMAND, ["   "]), (COMMAND, ["yy"]), (COMMAND, ["you may"]), (COMMAND, ["ok"]), (COMMAND, ["?"]),
    (COMMAND, ["w"]), (COMMAND, ["w", ""]), (COMMAND, ["w", "y"]), (COMMAND, ["e"]), (COMMAND, ["e", ""]),
    (COMMAND, ["e", "ls"]), (COMMAND, ["e", "ls", ""]), (EDIT, ["w"]), (EDIT, ["e"]), (EDIT, [""]), (EDIT, ["1 n"]),
    (EDIT, ["1 n", ""]), (EDIT, ["3 n"]), (PLAN, [""]), (PLAN, ["a"]), (ASK, [""]), (FORM, [""]), (FORM, ["y"]),
    (FORM, ["y", ""]), (FORM, ["y", "me", "x"]), (FORM, ["y", "me", "", "", ""]), (FORM, ["y", "me", "", "", "", ""]),
]  # fmt: skip


@each_row(("question", "lines"), NO_ANSWERS, ids=str)
def test_this_answers_nothing(question, lines):
    answer, _ = say(question, *lines)
    assert answer is None


ANSWERS = [
    (COMMAND, ["y"], ("once", "", "", ())),
    (COMMAND, ["Yes"], ("once", "", "", ())),
    (COMMAND, ["a"], ("session", "", "", ())),
    (COMMAND, ["w", "w"], ("always", "", "rm", ())),
    (COMMAND, ["w", "x", "w"], ("always", "", "rm x", ())),
    (COMMAND, ["w", "n", "y"], ("once", "", "", ())),
    (COMMAND, ["n"], ("refuse", "", "", ())),
    (COMMAND, ["n use git rm"], ("refuse", "use git rm", "", ())),
    (COMMAND, ["no, 不要"], ("refuse", "不要", "", ())),
    (COMMAND, ["e", "ls", "y"], ("once", "ls", "", ())),
    (COMMAND, ["e", "rm x", "y"], ("once", "", "", ())),  # as it was
    (COMMAND, ["e", "ls", "n"], ("refuse", "", "", ())),
    (EDIT, ["1 n", "y"], ("once", "", "", ("0.0",))),
    (EDIT, ["1,2 n", "2 n", "y"], ("once", "", "", ("0.0",))),
    (EDIT, ["1, 2 n", "y"], ("refuse", "", "", ())),  # nothing is left that could be done
    (ASK, ["2"], ("once", "blue", "", ())),
    (ASK, ["3"], ("once", "3", "", ())),
    (ASK, ["neither"], ("once", "neither", "", ())),
    (ASK, ["n"], ("once", "n", "", ())),
    (PLAN, ["n smaller steps"], ("refuse", "smaller steps", "", ())),
]


@each_row(("question", "lines", "expected"), ANSWERS, ids=str)
def test_this_answers(question, lines, expected):
    answer, _ = say(question, *lines)
    assert (answer.decision, answer.text, answer.pattern, answer.refused) == expected
    assert answer.question_id == "q"


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (["y", "我", "3", "y", "Blue", "y"], {"n": "我", "k": 3, "f": True, "c": "b"}),
        (["y", "", "me", "x", "", "", "1", "y"], {"n": "me", "c": "r"}),  # what is needed is asked for again
        (["y", "me", "2", "n", "-", "n"], None),
    ],
)
def test_a_form_is_filled_in_field_by_field_and_sent_at_the_end(lines, values):
    answer, _ = say(FORM, *lines)
    assert answer.decision == ("refuse" if values is None else "once")
    assert dict(answer.values) == (values or {})


@pytest.mark.parametrize(("reads", "over_after"), [(500, None), (10**6, 20)])
def test_however_long_somebody_types_nothing_of_it_answers(monkeypatch, reads, over_after):
    """Keys come without a pause until there are no more, or until the question is closed."""
    master, terminal = os.openpty()
    looks = []

    def select(*given):
        looks.append(os.write(master, b"y\n"))
        return ([terminal], [], []) if len(looks) < reads else ([], [], [])

    monkeypatch.setattr(typing_in.select, "select", select)
    try:
        tty.setraw(terminal)
        os.set_blocking(terminal, False)
        typing_in.flush(terminal, 0.001, lambda: len(looks) == over_after)
        assert len(looks) == (over_after or reads)
        left = b""
        with suppress(BlockingIOError):
            left = os.read(terminal, 4096)
        assert len(left) <= 2, "only what came in the last moment"
    finally:
        os.close(master)
        os.close(terminal)


def test_a_question_says_all_that_is_to_be_known_and_hides_nothing():
    lines = asked_lines(Asked(COMMAND, 1000.0), waiting=3, now=940.0)
    assert lines[1] == "Question: Run this command?  1 of 3  1:00 left"
    assert {"  command: rm x", "  in: /w", "  sandbox: workspace-write, no network", "  rule: mode ask"} <= set(lines)
    assert lines[-5:] == ["  y: once", "  a: this session", "  w: always",
                          "  n: refuse; words behind it say why", "  e: edit first"]  # fmt: skip
    assert Asked(COMMAND, 0.0).prompt == "Answer (y/a/w/n/e): "


def test_a_change_is_unified_text_with_numbered_hunks():
    assert diff_lines((CHANGE,), {"0.1"}) == [
        "--- a.py", "+++ a.py", "@@ -1,1 +1,1 @@ hunk 1 of 2", "-old 1", "+new\\x1b 1",
        "@@ -9,1 +9,1 @@ hunk 2 of 2, left out", "-old 9", "+new\\x1b 9",
    ]  # fmt: skip
