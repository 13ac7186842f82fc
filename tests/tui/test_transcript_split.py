"""Markdown that arrives in pieces comes to the same blocks as Markdown that arrives whole."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from nanoherm_tui import limits
from nanoherm_tui.transcript.blocks import Code, Prose
from nanoherm_tui.transcript.split import Splitter, chunks, split
from tests.rows import each_row

PIECES = [
    *("word ", "你好，世界。", "🙂", "👩\u200d💻 ", "\n", "\n", "\n\n", "\r\n", "\t", " ", "x" * 70),
    *("- item ", "  - nested\n", "1. one\n", "> quote\n", "# Head\n", "---\n", "    indented\n"),
    *("```py\n", "```\n", "  ```\n", "~~~\n", "| a | b |\n|---|---|\n", "| 1 | 2 |\n", "`code`", "**b**"),
    *("\x1b[2J", "[/", "\x9b", "tag<b>", "&#27;[2J"),
    *(
        "\u2764\ufe0f",
        "\u2600",
        "\ufe0f",
        "\u200d",
        "👨\u200d👩\u200d👧",
        "🇨🇳",
        "e\u0301",
        "ｗｉｄｅ",
        "한국어 ",
        "1\ufe0f\u20e3",
    ),
    *(
        "- 列表项\n  ```py\n  x = '值'\n\n  ```\n  after\n",
        "  1. nested\n     - deeper\n       more\n",
        "- \n",
        ">> deep\n",
    ),
    "| 名称 | a column of many words | value |\n|:--|:-:|--:|\n| 一 | " + "words and words " * 6 + "| 1 |\n",
]
SOURCES = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
LARGE = st.tuples(SOURCES, st.integers(20, 200)).map(lambda pair: pair[0] * pair[1])


def streamed(source: str, size: int) -> list[Prose | Code]:
    splitter, out = Splitter(), []
    for at in range(0, len(source), size):
        out += splitter.feed(source[at : at + size])
        splitter.tail()  # looking at the tail changes nothing
    return out + splitter.finish()


@settings(max_examples=150, deadline=None)
@given(SOURCES, st.sampled_from([1, 2, 7, 40]))
def test_the_blocks_do_not_depend_on_how_the_text_arrives(source, size):
    assert streamed(source, size) == split(source)


@settings(max_examples=25, deadline=None)
@given(LARGE, st.sampled_from([97, 400, 5000]))
def test_nor_do_they_when_they_grow_too_large(source, size):
    blocks = split(source)
    assert streamed(source, size) == blocks
    for block in blocks:
        assert len(block.text) <= limits.BLOCK_HARD + 2 * limits.BLOCK


@settings(max_examples=100, deadline=None)
@given(SOURCES)
def test_keys_grow_from_block_to_block(source):
    keys = [block.key for block in split(source)]
    assert keys == sorted(set(keys))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(["word ", "你好。", "\n", "\n\n", "- item\n", "1. one\n", "> q\n", "# Head\n"]), max_size=60
    )
)
def test_no_word_is_lost(parts):
    source = "".join(parts)
    letters = "".join(block.text for block in split(source))
    assert re.sub(r"\s", "", letters) == re.sub(r"\s", "", source)


@settings(max_examples=50, deadline=None)
@given(SOURCES, st.integers(1, 60))
def test_the_tail_is_what_the_text_so_far_would_end_with(source, size):
    splitter, closed = Splitter(), []
    for at in range(0, len(source), size):
        closed += splitter.feed(source[at : at + size])
        so_far = closed + splitter.tail()
        whole = split(source[: at + size])
        assert [(b.key, b.text) for b in so_far] == [(b.key, b.text) for b in whole]


def shape(source: str) -> list[tuple[str, str, bool]]:
    return [(type(b).__name__, b.text, b.gap) for b in split(source)]


@each_row(
    ("source", "blocks"),
    [
        ("", []),
        ("\n \n\n", []),
        ("one\ntwo", [("Prose", "one\ntwo", False)]),
        ("one\n\ntwo", [("Prose", "one", False), ("Prose", "two", True)]),
        ("# Head\n\ntext", [("Prose", "# Head", False), ("Prose", "text", False)]),
        ("a\n# Head\nb", [("Prose", "a", False), ("Prose", "# Head", True), ("Prose", "b", False)]),
        ("a\n```py\nx\n\ny\n```\nb", [("Prose", "a", False), ("Code", "x\n\ny", True), ("Prose", "b", True)]),
        ("```\nnever closed", [("Code", "never closed", False)]),
        ("````\n```\n````\n", [("Code", "```", False)]),
        ("```a`b\nc", [("Prose", "```a`b\nc", False)]),
        ("~~~\n```\n~~~", [("Code", "```", False)]),
        ("- a\n\n- b\n\nc", [("Prose", "- a\n\n- b", False), ("Prose", "c", True)]),
        (
            "- a\n\n  ```py\n  x\n\n  y\n  ```\n\n  more\n\nafter",
            [("Prose", "- a\n\n  ```py\n  x\n\n  y\n  ```\n\n  more", False), ("Prose", "after", True)],
        ),
        ("1. a\n\n   b\n2. c", [("Prose", "1. a\n\n   b\n2. c", False)]),
        ("  ```\n  x\n    y\n  ```", [("Code", "x\n  y", False)]),
        ("a\r\n\r\nb", [("Prose", "a", False), ("Prose", "b", True)]),
    ],
)
def test_where_blocks_end(source, blocks):
    assert shape(source) == blocks


def test_a_long_list_goes_on_with_its_numbers():
    source = "\n".join(f"1. point {n} of many" for n in range(1, 800))
    blocks = split(source)
    assert len(blocks) > 3
    assert blocks[0].number == 0
    counted = 0
    for block in blocks:
        assert block.number in (0, counted + 1)
        assert not block.gap
        counted += block.text.count("1. ")


def test_a_long_table_goes_on_in_the_columns_of_its_first_part():
    source = "| a | b |\n|---|---|\n" + "| first | second |\n" * 800
    first, *others = split(source)
    assert len(others) > 3
    assert all(block.head == first.text and not block.gap for block in others)
    assert "".join(b.text + "\n" for b in (first, *others)) == source


def test_a_long_line_is_cut_at_blanks_and_nothing_of_it_is_lost():
    source = "word " * 3000
    blocks = split(source)
    assert len(blocks) > 2
    assert all(b.text.endswith(" ") for b in blocks[:-1])
    assert all(b.join == "" for b in blocks[1:])
    assert "".join(b.text for b in blocks) == source


def test_a_long_fence_comes_in_chunks_of_whole_lines():
    code = "\n".join(f"line {n}" for n in range(1000))
    blocks = split(f"```py\n{code}\n```")
    assert len(blocks) == 1000 // limits.CODE_CHUNK_LINES
    assert [b.first for b in blocks] == [True] + [False] * (len(blocks) - 1)
    assert {b.lang for b in blocks} == {"py"}
    assert "\n".join(b.text for b in blocks) == code


def test_a_fence_inside_a_list_that_never_ends_stays_bounded():
    source = "- item\n  ```py\n" + "  value = 1\n" * 5000 + "  ```\n- next\n"
    blocks = split(source)
    assert max(len(b.text) for b in blocks) <= limits.BLOCK_HARD + limits.BLOCK
    assert "\n".join(b.text for b in blocks).count("value = 1") == 5000
    assert blocks[-1].text == "- next"


def test_text_is_cleaned_but_code_keeps_its_tabs():
    assert [b.text for b in split("a\x1b[2Jb\n\n```make\nall:\n\tcc\x07\n```")] == ["a␛[2Jb", "all:\n\tcc␇"]


@given(st.text(alphabet="ab \n", max_size=300).map(lambda s: s * 60))
def test_plain_text_in_chunks_is_whole_again_when_joined(text):
    parts = chunks(text)
    assert "".join((join if number else "") + piece for number, (_, piece, join) in enumerate(parts)) == text
    assert all(len(piece) <= limits.BLOCK for _, piece, _ in parts)
