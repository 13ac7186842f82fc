"""An edit of which the person leaves hunks out: what is written, what the model is told, and what goes on record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_core.messages import DiffLine, FileDiff, Hunk, ToolCall
from agent_core.ports.actions import EditAction, Effect
from agent_core.ports.asking import Reply
from agent_core.ports.tools import Prepared, Tool, ToolOutput
from agent_core.safety import redact
from agent_core.text.diff import hunks_of
from agent_core.tools.call import run_call
from agent_core.tools.refused_hunks import told_of

from .test_deciding import Desk

OLD = [f"line {n}" for n in range(1, 41)]
EDITS = [{"old_text": f"line {n}\n", "new_text": f"LINE {n}\n"} for n in (5, 20, 35)]
PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-line 5
+LINE 5
*** Add File: new.txt
+hello
*** Update File: b.txt
@@
-line 20
+LINE 20
*** Delete File: gone.txt
*** End Patch"""


class Edits(Desk):
    """A desk with three files that have been read."""

    def __init__(self, tmp_path, *replies, **parts):
        super().__init__(tmp_path, replies=replies, **parts)
        self.person.replies = list(replies)
        for name in ("a.txt", "b.txt", "gone.txt"):
            (self.context.workspace / name).write_text("".join(f"{line}\n" for line in OLD))
            self.run("read_file", path=name)
        self.decided.clear()

    def lines(self, name="a.txt"):
        return (self.context.workspace / name).read_text().splitlines()

    def exists(self, name):
        return (self.context.workspace / name).exists()


def changed(*numbers):
    return [line.upper() if int(line.split()[1]) in numbers else line for line in OLD]


@pytest.mark.parametrize("decision", ["once", "session"])
@pytest.mark.parametrize(
    ("refused", "left", "outcome"),
    [
        ((), (5, 20, 35), "+3 -3"),
        (("0.1",), (5, 35), "+2 -2, 1 hunk refused"),
        (("0.2", "0.0"), (20,), "+1 -1, 2 hunks refused"),
        # What there is no hunk for refuses nothing.
        (("0.7", "1.0", "x", "0.", ".1", ""), (5, 20, 35), "+3 -3"),
        (("0.7", "0.0"), (20, 35), "+2 -2, 1 hunk refused"),
        (("0.0", "0.1", "0.2"), (), "refused"),
    ],
)
def test_what_is_written_is_the_hunks_that_were_not_refused(tmp_path, decision, refused, left, outcome):
    desk = Edits(tmp_path, Reply(decision, refused=refused))
    result = desk.run("edit_file", path="a.txt", edits=EDITS)
    assert desk.lines() == changed(*left)
    assert (result.outcome, result.ok) == (outcome, bool(left))
    written = [line.text for diff in result.diffs for hunk in diff.hunks for line in hunk.lines if line.kind == "add"]
    assert written == [f"LINE {n}" for n in left]


def test_the_model_is_told_exactly_which_lines_were_refused_and_knows_the_file_as_it_is(tmp_path):
    desk = Edits(tmp_path, Reply("once", refused=("0.1",)), Reply("once"))
    text = desk.run("edit_file", path="a.txt", edits=EDITS).text
    assert "refused 1 of 3 hunks. The others were applied, these were not:\n" in text
    assert "not applied, a.txt, line 20:\n-line 20\n+LINE 20\n" in text
    assert "LINE 5" not in text
    assert "another way" in text
    # It may go on without reading the file again.
    assert desk.run("edit_file", path="a.txt", old_text="LINE 35\n", new_text="last\n").ok
    assert desk.lines()[34] == "last"


def test_what_the_person_says_of_a_refused_hunk_is_told(tmp_path):
    desk = Edits(tmp_path, Reply("once", "a.txt:20: keep it small", refused=("0.1",)))
    text = desk.run("edit_file", path="a.txt", edits=EDITS).text
    assert "\nThe user says: a.txt:20: keep it small\n" in text
    assert desk.lines() == changed(5, 35)


def test_keys_in_what_the_person_says_of_a_hunk_are_not_told():
    key = "sk-ant-api03-" + "a1B2" * 20
    text = told_of({}, 1, redact.redact, f"keep it small, not {key}")
    assert "keep it small" in text
    assert key not in text


def test_all_hunks_refused_is_a_refusal_of_the_call(tmp_path):
    desk = Edits(tmp_path, Reply("once", refused=("0.0", "0.1", "0.2")))
    result = desk.run("edit_file", path="a.txt", edits=EDITS)
    assert "The user refused this call. It was not run." in result.text
    assert desk.order[-1] == "person"
    assert desk.said == [("refuse", "mode ask", "person")]


@pytest.mark.parametrize(
    ("refused", "there"),
    [
        ((), {"a", "new", "b", "gone"}),
        (("0.0",), {"new", "b", "gone"}),
        (("1.0", "3.0"), {"a", "b"}),
        (("0.0", "1.0", "2.0"), {"gone"}),
        (("0.0", "1.0", "2.0", "3.0"), set()),
    ],
)
def test_of_several_files_those_are_left_alone_whose_hunks_are_all_refused(tmp_path, refused, there):
    desk = Edits(tmp_path, Reply("once", refused=refused))
    result = desk.run("apply_patch", patch=PATCH)
    done = {
        "a": desk.lines("a.txt") == changed(5),
        "new": desk.exists("new.txt"),
        "b": desk.lines("b.txt") == changed(20),
        "gone": not desk.exists("gone.txt"),
    }
    assert {name for name, is_done in done.items() if is_done} == there, result.text
    assert result.ok == bool(there)


def test_the_record_names_what_was_allowed_and_what_was_not(tmp_path):
    desk = Edits(tmp_path, Reply("once", refused=("0.0", "1.0")))
    desk.run("apply_patch", patch=PATCH)
    assert [(d.kind, d.what, d.verdict, d.by, d.call_id) for d in desk.decided] == [
        ("edit", "a.txt, line 5\nnew.txt", "refuse", "person", "c1"),
        ("edit", "b.txt\ngone.txt", "allow", "person", "c1"),
    ]


def test_a_move_is_one_hunk_and_refusing_it_leaves_the_file_where_it_is(tmp_path):
    move = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: moved.txt\n*** Delete File: gone.txt\n*** End Patch"
    desk = Edits(tmp_path, Reply("once", refused=("0.0",)))
    result = desk.run("apply_patch", patch=move)
    assert len(hunks_of(desk.person.questions[0].diffs)) == 2
    assert desk.exists("a.txt")
    assert not desk.exists("moved.txt")
    assert not desk.exists("gone.txt")
    assert "a.txt was not moved to moved.txt" in result.text
    assert "line 7" not in result.text


@pytest.mark.parametrize(
    ("patch", "title"),
    [
        ("*** Add File: x.txt\n+x", "Create x.txt"),
        ("*** Delete File: gone.txt", "Delete gone.txt"),
        ("*** Update File: a.txt\n@@\n-line 5\n+x", "Change a.txt"),
        ("*** Update File: a.txt\n*** Move to: m.txt", "Move a.txt to m.txt"),
        ("*** Update File: a.txt\n*** Move to: m.txt\n@@\n-line 5\n+x", "Move a.txt to m.txt"),
        ("*** Add File: x.txt\n+x\n*** Add File: y.txt\n+y", "Create 2 files"),
        ("*** Delete File: gone.txt\n*** Delete File: a.txt", "Delete 2 files"),
        ("*** Add File: x.txt\n+x\n*** Delete File: a.txt", "Change 2 files"),
    ],
)
def test_a_question_is_headed_by_the_verb_of_what_would_be_done(tmp_path, patch, title):
    desk = Edits(tmp_path)
    desk.run("apply_patch", patch=f"*** Begin Patch\n{patch}\n*** End Patch")
    assert [question.title for question in desk.person.questions] == [title]


# -- a tool of our own ---------------------------------------------------------------------------------------------


def change(*texts):
    hunks = tuple(Hunk(n, n, (DiffLine("add", text, None, n),)) for n, text in enumerate(texts, 1))
    return (FileDiff("k.txt", hunks, len(texts), 0),)


def tool_with(diffs, without=None):
    def prepare(args, ctx):
        return Prepared(EditAction(diffs), lambda box: ToolOutput("Done.", "", diffs=diffs), without=without)

    return Tool("own", "", {"type": "object", "properties": {}}, lambda a: EFFECT, lambda a: "", prepare)


EFFECT = Effect("write")


def run(desk, tool):
    box = replace(desk.toolbox, tools={"own": tool}, redact=redact.redact)
    return run_call(box, ToolCall("c1", "own", {}), desk.context.cancel, lambda call, effect: None)


def test_a_change_that_cannot_be_divided_is_refused_whole(tmp_path):
    desk = Edits(tmp_path, Reply("once", refused=("0.0",)))
    result = run(desk, tool_with(change("one", "two")))
    assert (result.outcome, result.ok) == ("refused", False)
    assert desk.said == [("refuse", "mode ask", "person")]


def test_keys_in_refused_lines_do_not_reach_the_model_and_long_ones_are_cut(tmp_path):
    key = "sk-proj-" + "abcd1234" * 6
    diffs = change(f"token = {key}", "kept", f"{key} " * 900)  # wherever it is cut, a key is there
    left = Prepared(EditAction(change("kept")), lambda box: ToolOutput("Done."))
    desk = Edits(tmp_path, Reply("once", refused=("0.0", "0.2")))
    result = run(desk, tool_with(diffs, lambda refused: left if refused == {"0.0", "0.2"} else None))
    assert "refused 2 of 3 hunks" in result.text
    assert "abcd" not in result.text
    assert "token = " in result.text
    assert len(result.text) < 6_000
    assert result.text.rstrip().endswith("ask if you do not see why.")
    assert result.outcome == "2 hunks refused"
