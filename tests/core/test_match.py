"""The edit ladder: what it forgives, what it refuses, and that nothing else changes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.text import match
from tests.rows import each_row


def edit(text: str, old: str, new: str, every: bool = False) -> tuple[str, str]:
    found = match.find(text, old, new, every)
    assert isinstance(found, match.Match), found
    return match.apply(text, found), found.how


@each_row(
    ("how", "text", "old", "new", "after"),
    [
        ("exact", "a = 1\nb = 2\n", "b = 2", "b = 3", "a = 1\nb = 3\n"),
        ("exact", "x = (1  +  2)\ny\n", "(1  +  2)", "(1 + 2)", "x = (1 + 2)\ny\n"),
        ("exact", "s = '\\t'\n", "'\\t'", "'\\tx'", "s = '\\tx'\n"),
        # Line ends: new lines take those of their place.
        ("line ends", "a\r\n\tb\r\nc\r\n", "a\n\tb", "x\n\tb", "x\r\n\tb\r\nc\r\n"),
        ("exact", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("exact", "a\nb\n", "a\r\nb", "a\r\nc\r\nb", "a\nc\nb\n"),
        ("line ends", "a\r\nb\nc\n", "a\nb", "a\nx\nb", "a\r\nx\nb\nc\n"),
        ("trailing blanks", "a\r\nb\r\n", "a\r", "c\r", "c\r\nb\r\n"),
        # Trailing blanks.
        ("trailing blanks", "a  \nb\t\nc\n", "a\nb\nc", "a\nx\nc", "a  \nx\nc\n"),
        ("trailing blanks", "a\nb\n", "a   \nb   ", "z", "z\n"),
        # Indentation: the file's own, whatever was quoted.
        ("indentation", "class A:\n    def f(self):\n        pass\n", "def f(self):\n    pass", "def g(self):\n    x()",
         "class A:\n    def g(self):\n        x()\n"),
        ("indentation", "if a:\n    b()\n", "    if a:\n        b()", "    if a:\n        c()\n\n        d()",
         "if a:\n    c()\n\n    d()\n"),
        ("indentation", "\tif a:\n\t\tb()\n", "    if a:\n        b()", "    if a:\n        if c:\n            d()",
         "\tif a:\n\t\tif c:\n\t\t\td()\n"),
        ("indentation", "f:\n\tx\n\t\ty\n", "f:\n  x\n    y", "f:\n  x\n    y\n      z", "f:\n\tx\n\t\ty\n\t\t\tz\n"),
        ("indentation", "if x:\n  y()\n  z()\n", "if x:\n    y()\n    z()", "if x:\n    y()\n    w()",
         "if x:\n  y()\n  w()\n"),
        ("indentation", "    foo()\n", "\tfoo()\n", "\tfoo()\n\tbar()\n", "    foo()\n    bar()\n"),
        # Look-alikes: the file's characters stay where the edit leaves the text alone.
        ("look-alike characters", "say \u201chello\u201d\n", 'say "hello"', 'say "bye"', "say \u201cbye\u201d\n"),
        ("look-alike characters", "it\u2019s 5\u00a0kg \u2013 ok\n", "it's 5 kg - ok", "it's 6 kg - ok",
         "it\u2019s 6\u00a0kg \u2013 ok\n"),
        ("look-alike characters", "a\u2014b\n", "a-b", "a-c", "a\u2014c\n"),
        ("look-alike characters", "wait\u2026 done\n", "wait... done", "wait... go", "wait\u2026 go\n"),
        ("look-alike characters", "名称：值\n", "名称:值", "名称:新值", "名称：新值\n"),
        ("look-alike characters", 'x = "a"\n', "x = \u201ca\u201d", "x = \u201cb\u201d", 'x = "b"\n'),
        # Escaped once too often.
        ("escapes", "f:\n\tg()\n", "f:\n\\tg()", "f:\n\\th()", "f:\n\th()\n"),
        ("escapes", "a\nb\n", "a\\nb", "c", "c\n"),
        # Blanks inside lines: only what is replaced changes.
        ("blanks inside lines", "x  =  1\ny  =  2\n", "x = 1", "x = 3", "x = 3\ny  =  2\n"),
        ("blanks inside lines", "f(a,b)\ng(a,  b)\n", "f(a, b)", "f(b)", "f(b)\ng(a,  b)\n"),
        ("blanks inside lines", "z = f(a,b) + 1\n", "f(a, b)", "f(b)", "z = f(b) + 1\n"),
        ("blanks inside lines", "\tx  =  1\n\ty = 2\n", "x = 1\ny = 2", "x = 1\nz = 2", "\tx  =  1\n\tz = 2\n"),
        # What never was in the file: numbers that read_file shows, blank lines around the quote.
        ("line numbers", "a\nb\nc\n", "2\tb\n3\tc", "2\tx\n3\tc", "a\nx\nc\n"),
        ("line numbers", "f:\n\tg()\n", "1\tf:\n2\t\tg()\n", "f:\n\th()\n", "f:\n\th()\n"),
        ("blank lines around it", "a\nb\nc\n", "\nb\n\n", "\nx\n\n", "a\nx\nc\n"),
        ("blank lines around it", "a\n\tb\nc\n", "\n    b\n\n", "x", "a\nx\nc\n"),
        # One misquoted line among several that are right.
        ("some words", "def f():\n    a = 1\n    b = 2\n    return a\n",
         "def f():\n    a = 1\n    b = 3\n    return a", "def f():\n    return 0", "def f():\n    return 0\n"),
    ],
)  # fmt: skip
def test_drift_is_forgiven_and_followed(how, text, old, new, after):
    assert edit(text, old, new) == (after, how)


@pytest.mark.parametrize(
    ("text", "old", "lines"),
    [
        ("x=1\nx=1\n", "x=1", [1, 2]),
        ("aaa\n", "aa", [1, 1]),
        ("\tfoo()\nbar\n\t\tfoo()\n", "    foo()", [1, 3]),
        ("a\u2014b\na\u2014b\n", "a--b", [1, 2]),
        ("x  = 1\nx  = 1\n", "x = 1", [1, 2]),
    ],
)
def test_several_places_are_refused_and_listed(text, old, lines):
    found = match.find(text, old, "new")
    assert isinstance(found, match.NoMatch)
    assert (found.reason, [place.line for place in found.places], found.count) == ("several", lines, len(lines))


@pytest.mark.parametrize(
    ("text", "old", "new", "after", "count"),
    [
        ("aaaa", "aa", "b", "bb", 2),
        ("a\r\nb\r\na\r\nb\r\n", "a\nb", "c\nb", "c\r\nb\r\nc\r\nb\r\n", 2),
        ("\tx\n  x\n", "    x", "    y", "\ty\n  y\n", 2),
        ("f(a,b) f(a,b)", "f(a, b)", "g", "g g", 2),
    ],
)
def test_every_place_is_changed_when_all_are_wanted(text, old, new, after, count):
    found = match.find(text, old, new, every=True)
    assert isinstance(found, match.Match)
    assert (match.apply(text, found), len(found.spans)) == (after, count)


@each_row(
    ("text", "old"),
    [
        ("", "a"),
        ("abc\n", "xyz"),
        ("a\nb\n", "   \n"),
        ("class A:\n    b = 1\n    c = 2\n    d = 3\n    pass\n",
         "class A:\n    x = 'u'\n    y = 'v'\n    z = 'w'\n    pass"),
        ("foobar\n", "foo bar"),
        ("a = 1\nsay('it is')\nsay('ok')\nb = 2\n", "a = 1\nsay(\\'it is\\')\nsay('ok')\nb = 2"),
        ("line\n    x = 1\nline", 'line\n  x = \\"a\\"\nline'),
    ],
)  # fmt: skip
def test_what_is_something_else_is_not_found(text, old):
    found = match.find(text, old, "new " + old)
    assert isinstance(found, match.NoMatch)
    assert found.reason == "missing"


def test_an_empty_old_text_is_no_place():
    assert match.find("abc", "", "x") == match.NoMatch("empty")


def test_a_miss_names_the_nearest_place():
    text = "import os\n\ndef load(path):\n    data = read(path)\n    return parse(data)\n\ndef save(path):\n    pass\n"
    found = match.find(text, "def load(path):\n    data = open(path).read()\n    return 5", "x")
    assert isinstance(found, match.NoMatch)
    assert found.places[0] == match.Place(3, "def load(path):\n    data = read(path)\n    return parse(data)")


LINES = st.lists(st.sampled_from(["", "a", "  b", "\tc", "d  ", "“e”", "f  g", "中文"]), min_size=1, max_size=12)


@given(LINES, st.lists(st.sampled_from(["\n", "\r\n"]), min_size=12, max_size=12), st.data())
def test_every_byte_outside_the_edit_stays(lines, ends, data):
    text = "".join(line + end for line, end in zip(lines, ends, strict=False))
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    old = "\n".join(line.strip() for line in lines[first : last + 1])
    found = match.find(text, old, "NEW\nNEW", every=data.draw(st.booleans()))
    if isinstance(found, match.NoMatch):
        return
    after = match.apply(text, found)
    kept_before, kept_after = [], []
    at = moved = 0
    for span in found.spans:
        assert at <= span.start <= span.end <= len(text)
        kept_before.append(text[at : span.start])
        kept_after.append(after[at + moved : span.start + moved])
        moved += len(span.new) - (span.end - span.start)
        at = span.end
    assert kept_before == kept_after
    assert text[at:] == after[at + moved :]


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=20), st.booleans())
def test_any_text_is_borne(text, old, new, every):
    found = match.find(text, old, new, every)
    if isinstance(found, match.Match):
        match.apply(text, found)


@given(
    st.text('ab \n\t\r(,\u2014"\u201c-', max_size=40),
    st.integers(0, 40),
    st.integers(1, 20),
    st.text("ab \n", max_size=8),
)
def test_a_quoted_piece_is_always_found(text, start, length, new):
    old = text[start : start + length]
    if old and text.count(old) == 1 and "\r" not in text:
        found = match.find(text, old, new)
        if isinstance(found, match.Match):  # "aa" in "aaa" is ambiguous although it counts once
            assert match.apply(text, found) == text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "old", "every"),
    [
        ("a \n" * 100_000, "a\n" * 500, False),
        ("a" * 1_000_000, "a" * 100, False),
        ("a" * 1_000_000, "a", True),
        ("}\n" * 100_000, "}\n}\n  }\n", False),
        ("“a” " * 50_000, '"a" ' * 20, False),
    ],
)
def test_much_of_the_same_takes_no_time(text, old, every):
    begun = time.thread_time()
    found = match.find(text, old, "x", every)
    assert isinstance(found, match.NoMatch)
    assert found.reason == "several"
    assert time.thread_time() - begun < 10


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("".join(f"  line {i}\n" for i in range(60_000)), "".join(f"\tline {i}\n" for i in range(9, 40_000))),
        ("".join(f"line {i}\n" for i in range(60_000)), "".join(f"line {i}\n" for i in range(9, 40_000)) + "no\n"),
        ("  x\n" * 40_000, "x \n" * 20_000 + "y\n"),
        ("a " * 200_000 + "b", "a  " * 5_000 + "b"),
        ("(," * 100_000 + "b", "( ," * 5_000 + " b"),
        ("“" + "a " * 500_000, '"' + "a " * 400_000),
    ],
)
def test_a_long_quote_takes_no_time(text, old):
    begun = time.process_time()
    match.find(text, old, "x")
    assert time.process_time() - begun < 5


def test_where_too_much_is_alike_nothing_is_chosen():
    letters = "abcdefghijklmnopqrstuvwxyz"
    blocks = [f"begin\n{letters[i % 26 :]}{letters}\nsame\n{letters[: i % 26]}\nsame\nend\n" * 3 for i in range(1_000)]
    begun = time.process_time()
    found = match.find("".join(blocks), f"begin\n{letters[::-1]}{letters}\nsame\n{letters[::-1]}\nsame\nend\n", "x")
    assert isinstance(found, match.NoMatch)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("x  =  1\ny  =  2\nz\n", "x = 1\ny = 2", "x = 5\ny = 2", "x = 5\ny  =  2\nz\n"),
        ("f( a )\n  g( b )\nh\n", "f(a)\n  g(b)\n", "f(a)\n  new()\n  g(b)\n", "f( a )\n  new()\n  g( b )\nh\n"),
        ("  “a”  b\n  c  d\n", "“a” b\nc d", "“a” b\ne", "  “a”  b\n  e\n"),
        (
            "begin\n  some words here\n  call(one, two)\n  more of the words\nend\n",
            "begin\n  some words here\n  call(one, twoo)\n  more of the words\nend",
            "begin\n  some words\n  call(one, twoo)\n  more of the words\nend",
            "begin\n  some words\n  call(one, two)\n  more of the words\nend\n",
        ),
        ("a\n", "a\n\n", "b\n\n", "b\n"),
    ],
)
def test_lines_that_are_only_quoted_stay_as_the_file_has_them(text, old, new, after):
    assert edit(text, old, new)[0] == after


def test_overlapping_places_are_ambiguous():
    assert isinstance(match.find("a \na \na \n", "a\na\n", "x"), match.NoMatch)
    assert isinstance(match.find("b \na \na \n", "a\na\n", "x"), match.Match)


def test_a_large_file_takes_no_time():
    text = "".join(f"    line {i} = {i % 7}  # some words\n" for i in range(30_000))
    assert len(text) > 900_000
    begun = time.thread_time()
    for old in ("line 15000 = 6 # sum words", "    line 99 =  1  # some words\n\tline 100", "nothing like it"):
        match.find(text, old, "x")
    edit(text, "line 15000  =  6  # some words", "x")
    assert time.thread_time() - begun < 3
