"""Cutting, cleaning and decoding text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.errors import ToolFailure
from agent_core.text.ansi import clean, strip_ansi
from agent_core.text.clamp import clamp
from agent_core.text.encoding import UTF8, decode, encode, fit_newlines
from tests.rows import each_row

# -- clamp --------------------------------------------------------------------------------------------------------


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def test_what_fits_is_not_touched():
    assert clamp("a" * 100, 100) == "a" * 100
    assert clamp("中" * 33, 99) == "中" * 33
    assert clamp("", 0) == ""


def test_a_cut_is_marked_inside_the_limit():
    assert clamp("x" * 1000, 100) == "x" * 56 + "\n... [truncated: showing 56 of 1000 bytes]"
    both = clamp("a" * 500 + "b" * 500, 100, "both")
    assert both == "a" * 27 + "\n... [truncated: showing 55 of 1000 bytes]\n" + "b" * 28


@given(st.text(), st.integers(0, 300), st.sampled_from(["head", "both"]))
def test_a_cut_never_passes_the_limit_nor_splits_a_character(text, limit, keep):
    text *= 5
    cut = clamp(text, limit, keep)
    assert size(cut) <= max(limit, 0)
    if size(text) <= limit:
        assert cut == text
    elif "... [truncated" in cut:
        head, tail = cut.split("\n... [truncated", 1)
        assert text.startswith(head)
        if keep == "both":
            assert text.endswith(tail.split("bytes]\n", 1)[1])


def test_file_names_that_are_no_text_do_not_make_cutting_fail():
    assert size(clamp("\udcff" * 100, 90)) <= 90


# -- ansi ---------------------------------------------------------------------------------------------------------


@each_row(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38:2:255:0:0mx\x1b[?25l", "x"),
        ("\x9b31mx", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;https://example.com\x1b\\click\x1b]8;;\x1b\\", "click"),
        ("\x9d0;title\x9cx", "x"),
        ("\x9d0;a\x9d0;b\x9cx", "0;ax"),
        ("\x1bP1;2|data\x1b\\x", "x"),
        ("\x1b_apc\x1b\\\x1b^pm\x1b\\x", "x"),
        ("\x1b(0x\x1b(B\x1b7\x1b8\x1b=\x1bM", "x"),
        ("end\x1b", "end"),
        ("end\x1b[31", "end"),
        ("\x1b]never ended, and the rest", "never ended, and the rest"),
        ("a\x1b[1\x1b[31mb", "a1b"),
        ("a\nb\tc\r\n", "a\nb\tc\r\n"),
    ],
)
def test_escape_sequences_go_and_text_stays(text, plain):
    assert strip_ansi(text) == plain


@each_row(
    ("text", "plain"),
    [
        ("a\r\nb\r\n", "a\nb\n"),
        (" 10%\r 50%\r100%\nok", "100%\nok"),
        ("100%\r\nok", "100%\nok"),
        ("done\r", "done"),
        ("a\rb\r\r\nc", "b\nc"),
        ("working...\rok\n", "working...\nok\n"),
        ("working...\rok        \n", "ok        \n"),
        ("10 left\r9 left\r8 left\rgone", "gone"),
        ("a\x1b[2J\x1b[Hb\x1b]0;t\x07\x9bc\x00\rd", "abc\nd"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("a\x00b\x07c\x7fd\x85e", "abcde"),
        ("\ud800x", "\ufffdx"),
        ("\x1b]0;owned\x07safe", "safe"),
    ],
)
def test_clean_text_is_what_a_person_would_have_seen_at_last(text, plain):
    assert clean(text) == plain


def test_clean_keeps_what_it_is_told_to():
    assert clean("a\tb\nc", keep="") == "abc"
    assert clean("a\r\nb\f", keep="\r\n\f") == "a\r\nb\f"


@given(st.text(alphabet=st.characters(categories=("Cc", "Cs", "Lu", "Zs"))))
def test_clean_text_holds_nothing_a_terminal_obeys(text):
    assert not any(
        (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" for c in clean(text)
    )


@pytest.mark.parametrize("piece", ["\x1b]", "\x1b[", "\x1bP", "\r", "a\r", "a\b", "\x9b1;", "\x90", "\x1b]\x9d0;"])
def test_hostile_text_is_cleaned_in_linear_time(piece):
    text = piece * 300_000
    begun = time.process_time()
    clean(text)
    assert time.process_time() - begun < 5


# -- encoding -----------------------------------------------------------------------------------------------------

CHINESE = "你好，世界。这是一个测试文件\r\n第二行：数据\r\n"


@each_row(
    ("data", "encoding", "bom", "newline"),
    [
        (b"", "utf-8", False, "\n"),
        (b"plain\n", "utf-8", False, "\n"),
        (b"\xef\xbb\xbfx\r\ny\r\nz\n", "utf-8", True, "\r\n"),
        (CHINESE.encode("utf-8"), "utf-8", False, "\r\n"),
        (CHINESE.encode("gb18030"), "gb18030", False, "\r\n"),
        ("朱镕基".encode("gbk"), "gb18030", False, "\n"),
        (b"# " + "注释".encode("gbk") + b"\nx = 1\n" * 100, "gb18030", False, "\n"),
        ("\ufeffa\r\nb".encode("utf-16-le"), "utf-16-le", True, "\r\n"),
        ("\ufeff\u4e2d".encode("utf-16-be"), "utf-16-be", True, "\n"),
        ("\ufeffx".encode("utf-32-le"), "utf-32-le", True, "\n"),
        ("Un résumé très court, où l'été\n".encode("latin-1"), "latin-1", False, "\n"),
        ("Größe für Müßiggänger".encode("latin-1"), "latin-1", False, "\n"),
        ("“smart” quotes – été".encode("cp1252"), "cp1252", False, "\n"),
        (b"\x1b[31mred\x1b[0m\n", "utf-8", False, "\n"),
        (b"old\rmac\r", "utf-8", False, "\r"),
        (b"10%\r50%\r100%\nok\n", "utf-8", False, "\n"),
    ],
)
def test_files_are_decoded_and_come_back_byte_for_byte(data, encoding, bom, newline):
    decoded = decode(data)
    assert (decoded.encoding, decoded.bom, decoded.newline) == (encoding, bom, newline)
    assert not decoded.text.startswith("\ufeff")
    assert encode(decoded.text, decoded) == data


@each_row(
    "data",
    [
        b"\x7fELF\x02\x01\x01\0\0",
        b"\x89PNG\r\n\x1a\n\0\0",
        bytes(range(1, 256)),
        b"\xff\xfe\x00",
        b"\x01\x02\x03\x04",
        b"a\0b",
        bytes([0x80, 0xFF, 0x81, 0xFE]) * 50,
    ],
    ids=repr,
)
def test_what_is_not_text_is_refused(data):
    with pytest.raises(ToolFailure) as caught:
        decode(data)
    assert caught.value.code == "binary"


@given(st.binary(max_size=200))
def test_whatever_decodes_encodes_to_the_same_bytes(data):
    try:
        decoded = decode(data)
    except ToolFailure:
        return
    assert encode(decoded.text, decoded) == data


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_a_beginning_may_end_inside_a_character(encoding):
    data = CHINESE.encode(encoding)
    for end in range(4, len(data)):
        assert CHINESE.startswith(decode(data[:end], cut=True).text)


def test_a_character_the_encoding_lacks_is_refused_not_lost():
    latin = decode("été".encode("latin-1"))
    with pytest.raises(ToolFailure) as caught:
        encode("中", latin)
    assert caught.value.code == "encoding"
    assert "latin-1" in caught.value.text


@pytest.mark.parametrize(
    ("before", "codec", "after"),
    [
        ("注释\nnaïve é\n", "gb18030", "naïve é\n"),  # would be read as Latin text next time
        ("注释\n\u2028\n", "gb18030", "\u2028\n"),  # as no text at all
        ("plain words\n", "utf-16-le", "汉字" * 40),
    ],
)
def test_a_change_that_would_hide_the_encoding_is_refused_before_it_is_lost(before, codec, after):
    like = decode(before.encode(codec))
    assert like.encoding == codec
    with pytest.raises(ToolFailure) as caught:
        encode(after, like)
    assert caught.value.code == "encoding"
    assert codec in caught.value.text
    assert encode("plain\n" * 3, like) == ("plain\n" * 3).encode(codec)


def test_new_text_takes_the_line_ends_of_the_file():
    windows = decode(b"a\r\nb\r\n")
    assert fit_newlines("x\ny\n", windows) == "x\r\ny\r\n"
    assert fit_newlines("x\r\ny\n", windows) == "x\r\ny\n"
    assert fit_newlines("x\n", UTF8) == "x\n"
