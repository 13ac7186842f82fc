"""Patches as text: what they say, where their hunks belong, and what a file becomes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.errors import ToolFailure
from agent_core.text import diff, hunks, patch
from agent_core.text.hunks import NoPlace
from tests.rows import each_row


def update(body: str, path: str = "f") -> str:
    return f"*** Begin Patch\n*** Update File: {path}\n{body}*** End Patch\n"


def applied(text: str, said: str, newline: str = "\n") -> str | NoPlace:
    """The text after the one file of a patch."""
    (file,) = patch.parse(said).files
    made = hunks.apply(text, file.hunks, newline)
    return made if isinstance(made, NoPlace) else made.text


# -- what a patch says ----------------------------------------------------------------------------------------------

ADD = "*** Add File: n.txt\n+one\n"
DIFF = "--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-x\n+y\n"


def git(header: str, rest: str = "") -> str:
    return f"diff --git {header}\n{rest}"


@each_row(
    ("said", "files"),
    [
        ("", []),
        ("nothing of that kind\n", []),
        (f"*** Begin Patch\n{ADD}*** End Patch", [("add", "n.txt", "")]),
        (ADD, [("add", "n.txt", "")]),
        (f"Here it is:\n```\n*** Begin Patch\n{ADD}*** End Patch\n```\nDone.", [("add", "n.txt", "")]),
        (f"apply_patch <<'EOF'\n*** Begin Patch\n{ADD}*** End Patch\nEOF\n", [("add", "n.txt", "")]),
        (f"*** Begin Patch\r\n{ADD}*** End Patch".replace("\n", "\r\n"), [("add", "n.txt", "")]),
        (f"```diff\n{DIFF}```\n", [("update", "f.py", "")]),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Begin Patch\n*** Delete File: b\n*** End Patch",
            [("delete", "a", ""), ("delete", "b", "")],
        ),
        (update("*** Move to: g/h.py\n@@\n-x\n+y\n"), [("update", "f", "g/h.py")]),
        (update("*** Move to: g\n"), [("update", "f", "g")]),
        ("*** Begin Patch\n*** Move File: a b.py -> c d.py\n*** End Patch", [("move", "a b.py", "c d.py")]),
        (DIFF, [("update", "f.py", "")]),
        (f"Subject: a mail\n\nwith words\n---\n f.py | 2 +-\n\n{DIFF}-- \n2.39.0\n", [("update", "f.py", "")]),
        (f"{DIFF}--- a/g.py\n+++ b/g.py\n@@ -1 +1 @@\n-x\n+y\n", [("update", "f.py", ""), ("update", "g.py", "")]),
        ("--- f.py\n+++ f.py\n@@ -1 +1 @@\n-x\n+y\n", [("update", "f.py", "")]),
        ("--- a/f\n+++ a/f\n@@ -1 +1 @@\n-x\n+y\n", [("update", "a/f", "")]),
        ("--- i/f\n+++ w/f\n@@ -1 +1 @@\n-x\n+y\n", [("update", "f", "")]),
        (
            "--- f.py\t2026-01-02 03:04:05.000 +0000\n+++ f.py\t2026-01-02 03:04:06.000 +0000\n@@ -1 +1 @@\n-x\n+y\n",
            [("update", "f.py", "")],
        ),
        ("--- f.py.orig\n+++ f.py\n@@ -1 +1 @@\n-x\n+y\n", [("update", "f.py", "")]),
        ("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", [("add", "n", "")]),
        ("--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", [("delete", "n", "")]),
        (git("a/a b b/a b", "new file mode 100644\nindex 0..e\n"), [("add", "a b", "")]),
        (git("a/e b/e", "deleted file mode 100644\nindex e..0\n"), [("delete", "e", "")]),
        (git("a/x b/y", "similarity index 100%\nrename from x\nrename to y\n"), [("move", "x", "y")]),
        (
            git("a/x b/y", "rename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"),
            [("update", "x", "y")],
        ),
        (
            git(
                '"a/\\346\\226\\207 \\"q\\".txt" "b/\\346\\226\\207 \\"q\\".txt"',
                '--- "a/\\346\\226\\207 \\"q\\".txt"\n+++ "b/\\346\\226\\207 \\"q\\".txt"\n@@ -1 +1 @@\n-x\n+y\n',
            ),
            [("update", '文 "q".txt', "")],
        ),
    ],
)
def test_what_a_patch_says_of_files(said, files):
    assert [(one.does, one.path, one.new_path) for one in patch.parse(said).files] == files
    assert set(patch.paths(said)) == {path for _, *both in files for path in both if path}


@each_row(
    ("said", "words"),
    [
        (update(""), "no hunks"),
        (update("@@\n"), "no hunks"),
        (git("a/x b/x", "old mode 100644\nnew mode 100755\n"), "chmod"),
        (git("a/x b/x", "new file mode 120000\n"), "symbolic link"),
        (git("a/x b/x", "new file mode 100755\n"), "chmod"),
        (git("a/x b/x", "index 1..2\nGIT binary patch\nliteral 4\n"), "binary"),
        (git("a/x b/x", "index 1..2\nBinary files a/x and b/x differ\n"), "binary"),
        (git("a/x b/y", "copy from x\ncopy to y\n"), "copies"),
        ("@@ -1 +1 @@\n-x\n+y\n", "+++ path"),
        ("--- one\n+++ other\n@@ -1 +1 @@\n-x\n+y\n", "one or other"),
        ("--- a/f\n+++ b/f\n", "no hunks"),
    ],
)
def test_what_is_no_change_of_text_is_refused_in_words(said, words):
    with pytest.raises(ToolFailure, match="patch cannot be used") as caught:
        patch.parse(said)
    assert words in caught.value.text
    assert patch.paths(said) == ()


@pytest.mark.parametrize("line", ["*** Move File: src/a.py", "*** Patch the rest", "*** Change File: b"])
def test_a_line_that_only_looks_like_an_instruction_is_told(line):
    assert patch.parse(f"*** Begin Patch\n{line}\n*** End Patch").strays == (line,)


@pytest.mark.parametrize(
    ("head", "after"),
    [("@@", "z\n"), ("@@ ... @@", "z\n"), ("@@ @@ ", "z\n"), ("@@@", "z\n"), ("@@ -1,1 +1,1 @@", "z\n")],
)
def test_the_head_of_a_hunk_may_count_nothing(head, after):
    assert applied("x\n", f"--- a/f\n+++ b/f\n{head}\n-x\n+z\n") == after


def test_a_head_without_numbers_may_name_a_line_above():
    said = "--- a/f\n+++ b/f\n@@ class B: @@\n-        x = 1\n+        x = 2\n@@\n-class A:\n+class C:\n"
    assert applied(TWO, said) == "class C:" + TWO[8:].replace("1", "2").replace("2", "1", 1)


@each_row(
    ("said", "lines"),
    [
        ("*** Add File: f\n\\section{A}\ntext\n", ["\\section{A}", "text"]),
        ("*** Add File: f\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+one\n", ["one"]),
        ("*** Add File: f\n+- a\n+++ b\n", ["- a", "++ b"]),
        ("*** Update File: f\n\\begin{x}\n-a\n", ["\\begin{x}", "a"]),
        ("--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n-x\n\n z\n\\ No newline at end of file\n", ["x", "", "z"]),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-x\n\\end{x}\n", ["x", "\\end{x}"]),
    ],
)
def test_no_line_is_lost_and_none_invented(said, lines):
    (file,) = patch.parse(said).files
    assert [line.text for hunk in file.hunks for line in hunk.lines] == lines


def test_a_removed_line_that_looks_like_a_header_is_none_where_the_counts_say_so():
    said = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n x\n"
    assert applied("-- old\nx\n", said) == "++ new\nx\n"


@given(
    st.text(alphabet=st.sampled_from("*@+- \n\\ab/0,"), max_size=80), st.sampled_from(["", "*** Begin Patch\n", DIFF])
)
def test_any_text_is_borne(text, start):
    try:
        for one in patch.parse(start + text).files:
            hunks.apply("a\nb\n", one.hunks)
    except ToolFailure:
        pass


# -- where hunks belong, and what the file becomes ------------------------------------------------------------------

RUNS = "    def run(self):\n        x = 1\n        return x\n"
TWO = f"class A:\n{RUNS}\nclass B:\n{RUNS}"
RUN = "     def run(self):\n-        x = 1\n+        x = 2\n"


@each_row(
    ("text", "body", "after"),
    [
        ("a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
        ("a\nb\nc\n", " a\n-b\n", "a\nc\n"),
        ("a\nb\nc\n", "@@\n a\n+a2\n b\n@@\n-c\n+C\n+D\n", "a\na2\nb\nC\nD\n"),
        ("a\nb\nc\nd\n", "@@\n-c\n+C\n@@\n-a\n+A\n", "A\nb\nC\nd\n"),  # not in the file's order
        ("a\nb\nc\n", "@@\n-a\n+A\n b\n@@\n b\n-c\n+C\n", "A\nb\nC\n"),  # what both quote
        ("a\nb\nc\n", "@@\n-a\n+A\n@@\n A\n-b\n+B\n", "A\nB\nc\n"),  # quotes what the first has made
        ("a\nb\n", "@@\n-a\n-b\n", ""),
        ("", "@@\n+a\n", "a\n"),
        ("a\n\nb\n", "@@\n a\n\n-b\n+B\n", "a\n\nB\n"),  # an empty line that has lost its sign
        ("a\nb\n", "@@\n-a\n+A\n\n", "A\nb\n"),  # one that only parts hunks
        ("def f():\n    x\n", "@@\n def f():\n    x\n+    y\n", "def f():\n    x\n    y\n"),  # the sign is lost
        (TWO, f"@@ class B @@\n{RUN}", TWO[: TWO.index("class B")] + TWO[TWO.index("class B") :].replace("1", "2")),
        (TWO, f"@@ class A\n@@ def run\n{RUN}", TWO.replace("1", "2", 1)),
        (TWO, "@@ class B:\n+    y = 0\n", TWO.replace("class B:\n", "class B:\n    y = 0\n")),
        ("x\na\nx\n", "@@\n-x\n+y\n*** End of File\n", "x\na\ny\n"),
        ("a\nb\n", "@@\n+c\n*** End of File\n", "a\nb\nc\n"),
        ("a\nb", "@@\n+c\n", "a\nb\nc"),  # the file's end stays as it is
        ("one\ntwo", "@@\n-two\n+TWO\n", "one\nTWO"),
        ("one\ntwo", "@@\n-two\n", "one"),
        ("one\ntwo", "@@\n-one\n+ONE\n", "ONE\ntwo"),
    ],
)
def test_a_patch_is_applied(text, body, after):
    assert applied(text, update(body)) == after


@each_row(
    ("text", "body", "after"),
    [
        ("a  \nb\t\nc\n", "@@\n a\n-b\n+B\n", "a  \nB\nc\n"),  # quoted lines stay as they are
        ("  def f():\n    x\n", "@@\n def f():\n-  x\n+  y\n", "  def f():\n    y\n"),
        ("\tif x:\n\t\tgo()\n", "@@\n     if x:\n-        go()\n+        stop()\n", "\tif x:\n\t\tstop()\n"),
        ("say(“hi”)  # — yes\n", '@@\n-say("hi")  # - yes\n+say("ho")  # - yes\n', "say(“ho”)  # — yes\n"),
        ("x  =  1\ny = 2\n", "@@\n x = 1\n-y = 2\n+y = 3\n", "x  =  1\ny = 3\n"),
        ("f( a,b )\n", "@@\n-f(a, b)\n+f(a, c)\n", "f(a, c)\n"),
        ("\tone\n\ttwo\n", "@@\n \\tone\n-\\ttwo\n+\\tzwei\n", "\tone\n\tzwei\n"),
        (
            "a\nmostly this one\nsame\nsame too\nz\n",
            "@@\n a\n mostly this\n same\n same too\n-z\n+Z\n",
            "a\nmostly this one\nsame\nsame too\nZ\n",
        ),
        ("a\nsomething else\nnot this\nsame\nz\n", "@@\n a\n one\n two\n same\n-z\n+Z\n", None),
        ("  a\n  b\n", "@@\n  a\n+  x\n  b\n", "  a\n  x\n  b\n"),  # quoted lines without their sign
        (" a\n b\n", "@@\n a\n-b\n+x\n", " a\n x\n"),
        ("a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n+B2\n", "a\r\nB\r\nB2\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "@@\n-a\n+A\n@@\n-b\n+B\n@@\n-c\n+C\n", "A\r\nB\nC\r\n"),  # each line its own end
    ],
)
def test_drift_is_forgiven_and_the_file_keeps_its_ways(text, body, after):
    made = applied(text, update(body))
    if after is None:
        assert isinstance(made, NoPlace)
    else:
        assert made == after


def test_a_hunk_that_was_not_quoted_exactly_is_shown_as_it_is_now():
    (file,) = patch.parse(update("@@\n-a\n+A\n+A2\n@@\n   c\n-d\n+D\n")).files
    made = hunks.apply("a\nb\nc\nd\n", file.hunks)
    assert [(f.hunk, f.how, f.place) for f in made.forgiven] == [(2, "indentation", hunks.Place(4, "c\nD"))]


@each_row(
    ("text", "body", "reason", "lines"),
    [
        ("a\nb\n", "@@\n-x\n+y\n", "missing", []),
        ("def old(a, b):\n    pass\n", "@@\n-def old(a, c):\n+def new(a):\n", "missing", [1]),
        ("a\nb\na\n", "@@\n-a\n+A\n", "several", [1, 3]),
        ("aa\naa\naa\n", "@@\n-aa\n-aa\n+b\n", "several", [1, 2]),
        (TWO, f"@@ def run\n{RUN}", "several", [2, 7]),
        ("a\n", "@@ class C\n+x\n", "no such hint", []),
        (TWO, "@@ def run(self):\n+        y\n", "several hints", [2, 7]),
        ("a\nb\n", "@@\n a\n b\n", "no change", []),
        ("a\nb\nc\n", "@@\n-a\n+A\n@@\n-missing\n+x\n", "missing", []),
        ("a\nb\nc\n", "@@\n-a\n-b\n+A\n@@\n-b\n-c\n+C\n", "overlap", [2]),
        ("  x\n\tx\n", "@@\n-    x\n+    y\n", "several", [1, 2]),  # looser, and then not the only one
    ],
)
def test_a_hunk_without_one_place_changes_nothing(text, body, reason, lines):
    made = applied(text, update(body))
    assert isinstance(made, NoPlace)
    assert made.reason == reason
    assert [place.line for place in made.places] == lines


# -- unified diffs --------------------------------------------------------------------------------------------------


def unified(header: str, body: str) -> str:
    return f"--- a/f\n+++ b/f\n{header}\n{body}"


@each_row(
    ("text", "header", "body", "after"),
    [
        ("a\nb\nc\n", "@@ -1,3 +1,3 @@", " a\n-b\n+B\n c\n", "a\nB\nc\n"),
        ("a\nb\nc\n", "@@ -41,3 +57,3 @@", " a\n-b\n+B\n c\n", "a\nB\nc\n"),  # wrong numbers
        ("a\nb\nc\n", "@@ -1,9 +1,1 @@", " a\n-b\n+B\n c\n", "a\nB\nc\n"),  # wrong counts
        ("a\nb\nc\n", "@@ -1,1 +1,1 @@", " a\n-b\n+B\n c\n", "a\nB\nc\n"),
        (TWO, "@@ -7,2 +7,2 @@ class B:", RUN, TWO[::-1].replace("1", "2", 1)[::-1]),
        (TWO, "@@ -2,2 +2,2 @@", RUN, TWO.replace("1", "2", 1)),
        (TWO, "@@ -6,2 +6,2 @@", RUN, TWO[::-1].replace("1", "2", 1)[::-1]),  # the nearer of two equal places
        ("a\nb", "@@ -1,2 +1,2 @@", " a\n-b\n\\ No newline at end of file\n+B\n", "a\nB\n"),
        ("a\nb\n", "@@ -1,2 +1,2 @@", " a\n-b\n+B\n\\ No newline at end of file\n", "a\nB"),
        ("a\nb", "@@ -1,2 +1,3 @@", " a\n b\n\\ No newline at end of file\n", None),
        ("a\nb\nc\n", "@@ -1,2 +1,2 @@", "-a\n+A\n\\ No newline at end of file\n b\n", "A\nb\nc\n"),  # not the end
        ("", "@@ -0,0 +1,2 @@", "+a\n+b\n", "a\nb\n"),
        ("a\nb\n", "@@ -1,0 +2 @@", "+x\n", None),  # a number alone is no place
    ],
)
def test_a_unified_diff_goes_by_what_it_quotes(text, header, body, after):
    made = applied(text, unified(header, body))
    assert isinstance(made, NoPlace) if after is None else made == after


@each_row("number, after", [(1, "y a a a x"), (2, "y a a a x"), (3, None), (4, "x a a a y"), (25, None)])
def test_numbers_choose_a_place_that_they_are_clearly_nearer_to(number, after):
    made = applied("x\na\na\na\nx\n", unified(f"@@ -{number} +{number} @@", "-x\n+y\n"))
    if after is None:
        assert isinstance(made, NoPlace)
        assert [place.line for place in made.places] == [1, 5]
    else:
        assert made.split() == after.split()


def test_a_shift_of_earlier_hunks_is_taken_into_account():
    text = "top\n" + "x\n1\n" * 3 + "mid\nx\n2\nx\n2\n"
    said = "--- f\n+++ f\n@@ -11,1 +11,1 @@\n-mid\n+MID\n@@ -12,2 +12,2 @@\n x\n-2\n+3\n"
    assert applied(text, said) == "top\n" + "x\n1\n" * 3 + "MID\nx\n3\nx\n2\n"


LINES = st.lists(st.sampled_from(["a", "b", "c", "}", "", "中"]), max_size=25)
ENDS = st.lists(st.sampled_from(["\n", "\r\n"]), min_size=30, max_size=30)


def rendered(change) -> str:
    """A FileDiff as a unified diff."""
    signs = {"same": " ", "add": "+", "remove": "-"}
    out = ["--- a/f", "+++ b/f"]
    for hunk in change.hunks:
        old = sum(line.kind != "add" for line in hunk.lines)
        new = sum(line.kind != "remove" for line in hunk.lines)
        out.append(f"@@ -{hunk.old_start},{old} +{hunk.new_start},{new} @@")
        for line in hunk.lines:
            out.append(signs[line.kind] + line.text)
            if not line.end:
                out.append("\\ No newline at end of file")
    return "\n".join(out) + "\n"


@given(LINES, LINES, st.booleans(), st.booleans())
@settings(max_examples=100)
def test_a_right_unified_diff_makes_exactly_the_new_text(old, new, old_ends, new_ends):
    before, after = (
        "".join(f"{x}\n" for x in lines).removesuffix("" if ends else "\n")
        for lines, ends in ((old, old_ends), (new, new_ends))
    )
    change = diff.build("f", before, after)
    if not change.hunks:
        return
    assert applied(before, rendered(change)) == after


@given(LINES, st.integers(0, 24), st.integers(1, 4), LINES, ENDS, st.booleans())
@settings(max_examples=100)
def test_every_byte_outside_the_changed_lines_stays(lines, first, count, put, ends, is_ended):
    removed = lines[first : first + count]
    if not removed:
        return
    rows = [f"{line}{end}" for line, end in zip(lines, ends, strict=False)]
    if not is_ended and lines[-1]:
        rows[-1] = lines[-1]
    text = "".join(rows)
    body = "".join(f"-{line}\n" for line in removed) + "".join(f"+{line}\n" for line in put)
    made = applied(text, unified(f"@@ -{first + 1} +1 @@", body))
    if not text or isinstance(made, NoPlace):
        return
    head, tail = "".join(rows[:first]), "".join(rows[first + len(removed) :])
    if is_ended or tail:
        assert made.startswith(head)
    assert made.endswith(tail)
    assert [line.rstrip("\r") for line in made.split("\n")][: first + len(put)] == [*lines[:first], *put]


def test_a_patch_that_is_not_meant_for_the_file_is_soon_known():
    text = "".join(f"line {i}\n" for i in range(20_000))
    body = "".join(f"@@\n-nowhere {i}\n+new\n" for i in range(2_000))
    began = time.process_time()
    made = applied(text, update(body))
    assert isinstance(made, NoPlace)
    assert (made.reason, made.hunk) == ("missing", 1)
    assert time.process_time() - began < 5


def test_hunks_that_build_on_each_other_are_found_a_few_times_over():
    body = "".join(f"@@\n-a{i}\n+a{i + 1}\n" for i in range(3))
    assert applied("a0\nb\n", update(body)) == "a3\nb\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  x\n" * 200_000, update("@@\n" + " x\n" * 30_000 + "-x\n+z\n")),
        ("x\n" * 20_000, update("@@ x\n-x\n+z\n" * 50)),
        ("x", f"*** Update File: a{' ' * 50_000}b\n-x\n"),
        ("x", f"--- a{' ' * 50_000}b\n+++ a{' ' * 50_000}b\n@@{' @' * 50_000}\n-x\n+y\n"),
    ],
)
def test_much_of_the_same_takes_no_time(text, said):
    began = time.process_time()
    applied(text, said)
    assert time.process_time() - began < 5


def test_a_large_file_and_many_hunks_take_no_time():
    lines = [f"line {i % 5_000} {'}' if i % 3 else ''}" for i in range(60_000)]
    body = "".join(f"@@ -{at} +{at} @@\n-{lines[at - 1]}\n+new\n {lines[at]}\n" for at in range(1, 60_000, 600))
    began = time.process_time()
    made = applied("\n".join(lines), "--- f\n+++ f\n" + body)
    assert made.count("new\n") == 100
    assert time.process_time() - began < 5
