"""Text becomes harmless, and is measured, cut and wrapped by cells."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nanoherm_tui import i18n, symbols
from nanoherm_tui.text import (
    age,
    clean,
    count,
    cut,
    cut_path,
    duration,
    fit,
    one_line,
    take,
    visible,
    width,
    wrap,
    wrap_code_spans,
    wrap_spans,
)
from tests.rows import each_row


@pytest.fixture(autouse=True)
def _glyphs_and_english():
    symbols.set_ascii(False)
    i18n.set_language("en")
    yield
    symbols.set_ascii(None)


MIXED = st.text(
    alphabet=st.sampled_from(list("abc de.,/-([ 你好世界，。（）「」、éü🙂é\u0301\u200d\ufe0f👩💻☎")), max_size=80
).map(clean)
ANY = st.text(max_size=60)


@each_row(
    ("dirty", "harmless"),
    [
        ("plain [b + 1 [/", "plain [b + 1 [/"),
        ("a\x1b[2J\x1b[Hb\x1b]0;t\x07\x9bc\x00d", "a␛[2J␛[Hb␛]0;t␇\\x9bc␀d"),
        ("a\rb\r\nc", "a\nb\nc"),
        ("\x1b[38;5;12mblue\x1b[0m", "␛[38;5;12mblue␛[0m"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "␛]8;;http://x␛\\link␛]8;;␛\\"),
        ("\x1b]0;never ends, this stays", "␛]0;never ends, this stays"),
        ("\x1bPq#0;2;0\x1b\\after", "␛Pq#0;2;0␛\\after"),
        ("lone \x1b escape", "lone ␛ escape"),
        ("cut \x1b[12;", "cut ␛[12;"),
        ("user\u202egnp.exe", "usergnp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("tag\U000e0041", "tag"),
        ("half \ud83d", "half \ufffd"),
        ("para\u2029graph", "para\ngraph"),
        ("a\tb", "a       b"),
        ("你好 👩\u200d💻", "你好 👩\u200d💻"),
    ],
)
def test_text_is_made_harmless(dirty, harmless):
    assert clean(dirty) == harmless


def test_in_ascii_control_bytes_are_written_with_a_caret():
    symbols.set_ascii(True)
    assert clean("a\x1b[1m\x00\x7f\x9b") == "a^[[1m^@^?\\x9b"


@pytest.mark.parametrize(
    ("variables", "ascii_only"),
    [
        ({"LANG": "en_US.UTF-8"}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "de_DE.utf8@euro"}, False),
        ({}, True),
        ({"LANG": "C"}, True),
        ({"LANG": "en_US.ISO-8859-1"}, True),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, True),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, False),
        ({"LANG": "en_US.UTF-8", "TERM": "linux"}, True),
    ],
)
def test_glyphs_are_ascii_where_the_locale_is_not_utf_8(monkeypatch, variables, ascii_only):
    for name in ("LC_ALL", "LC_CTYPE", "LANG", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert symbols.terminal_is_ascii() == ascii_only


@given(st.text(alphabet="ab\x1b\x07\x9b[]0;m\\\u202e\u200b中", max_size=30), st.integers(0, 30))
def test_a_text_cut_anywhere_is_cleaned_as_in_one_piece(text, at):
    assert clean(text[:at]) + clean(text[at:]) == clean(text)


def test_tabs_can_be_kept_for_copying():
    assert clean("a\tb\x07", tab_size=0) == "a\tb␇"


@given(ANY)
def test_nothing_a_terminal_obeys_survives(text):
    for char in clean(text):
        assert char == "\n" or unicodedata.category(char) not in ("Cc", "Cs")
        assert char not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(ANY)
def test_cleaning_twice_changes_nothing_more(text):
    assert clean(clean(text)) == clean(text)


def test_one_line_joins_lines_and_blanks():
    assert one_line(" a\n\n b\x1b[0m\t c ") == "a b␛[0m c"


@each_row(
    ("text", "cells", "shown"),
    [
        ("hello", 5, "hello"),
        ("hello", 4, "hel⋯"),
        ("你好世界", 8, "你好世界"),
        ("你好世界", 7, "你好世⋯"),
        ("你好世界", 6, "你好⋯ "),
        ("hello", 1, "⋯"),
        ("hello", 0, ""),
    ],
)
def test_a_cut_text_is_as_wide_as_asked(text, cells, shown):
    assert cut(text, cells) == shown


@pytest.mark.parametrize(
    ("path", "cells", "shown"),
    [
        ("src/ledger/dates.py:30-80", 25, "src/ledger/dates.py:30-80"),
        ("src/ledger/dates.py:30-80", 24, "src/ledg⋯/dates.py:30-80"),
        ("src/ledger/dates.py:30-80", 12, "⋯es.py:30-80"),
        ("文档/说明/日期.md", 13, "文档⋯/日期.md"),
        ("no_slash_at_all.py", 8, "⋯_all.py"),
    ],
)
def test_a_path_keeps_its_last_part(path, cells, shown):
    assert cut_path(path, cells) == shown


@given(MIXED, st.integers(0, 40))
def test_cut_texts_never_exceed_their_room(text, cells):
    for shown in (cut(text, cells), cut_path(text, cells)):
        assert width(shown) == min(cells, width(text))
    assert width(fit(text, cells)) == cells
    assert width(fit(text, cells, "right")) == cells
    assert width(take(text, cells)) <= cells


def test_figures_align_right():
    assert fit("12 s", 8, "right") == "    12 s"
    assert fit("你", 3, "right") == " 你"


@each_row(
    ("text", "cells", "rows"),
    [
        ("hello brave new world", 11, ["hello brave", "new world"]),
        ("a  b", 2, ["a", "b"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("", 5, [""]),
        ("一二三四五", 4, ["一二", "三四", "五"]),
        ("一二三，四五", 6, ["一二", "三，四", "五"]),
        ("一二（三四）", 6, ["一二", "（三", "四）"]),
        ("用 datetime 解析", 9, ["用", "datetime", "解析"]),
        ("先跑 pytest。再提交", 12, ["先跑", "pytest。再提", "交"]),
        ("a\nb", 5, ["a", "b"]),
    ],
)
def test_prose_wraps_by_words_and_by_the_rules_of_chinese_type(text, cells, rows):
    assert wrap(text, cells) == rows


@given(MIXED, st.integers(2, 30))
@example("[[ \u0301", 2)  # an accent on a blank is no blank
def test_wrapping_loses_only_blanks_and_fits(text, cells):
    spans = wrap_spans(text, cells)
    at = 0
    for start, end in spans:
        assert text[at:start].strip(" ") == ""
        assert start <= end
        assert width(text[start:end]) <= cells
        at = end
    assert text[at:].strip(" ") == ""


UNITS = st.lists(st.sampled_from(["一", "二三", "一，", "二。", "（三）", "「二」", "a", " "]), max_size=40).map(
    "".join
)


@settings(max_examples=200)
@given(UNITS, st.integers(6, 20))
def test_no_row_starts_with_closing_or_ends_with_opening_punctuation(text, cells):
    text = text.strip()
    rows = [text[a:b] for a, b in wrap_spans(text, cells)]
    for previous, row in itertools.pairwise(rows):
        assert row[:1] not in "，。）」"
        assert previous[-1:] not in "（「"


@each_row(
    ("line", "cells", "rows", "hang"),
    [
        ("x = 1", 20, ["x = 1"], 0),
        (
            "    return datetime.fromisoformat(stamp).replace(tzinfo=None)",
            40,
            ["    return datetime.fromisoformat(stamp)", ".replace(tzinfo=None)"],
            8,
        ),
        ("call(first, second, third)", 14, ["call(first, ", "second, ", "third)"], 4),
        ("three passed [100%]", 15, ["three passed ", "[100%]"], 4),
        ("aaaaaaaaaaaa", 5, ["aaaaa", "aaa", "aaa", "a"], 2),
        ("一二三四五。六七八九", 10, ["一二三四", "五。六", "七八九"], 4),
        ("一二三（四五六七八九", 8, ["一二三", "（四", "五六", "七八", "九"], 4),
    ],
)
def test_code_breaks_at_its_joints(line, cells, rows, hang):
    spans, got = wrap_code_spans(line, cells)
    assert [line[a:b] for a, b in spans] == rows
    assert got == hang


@given(MIXED, st.integers(4, 30))
def test_wrapped_code_is_whole_and_fits(line, cells):
    spans, hang = wrap_code_spans(line, cells)
    assert "".join(line[a:b] for a, b in spans) == line
    for number, (a, b) in enumerate(spans):
        assert width(line[a:b]) <= cells - (hang if number else 0)


@each_row(("seconds", "shown"), [(0, "now"), (59, "now"), (60, "1m"), (1080, "18m"), (7200, "2h"), (90000, "1d")])
def test_ages(seconds, shown):
    assert age(seconds) == shown


def test_ages_speak_chinese():
    i18n.set_language("zh")
    try:
        assert [age(5), age(120), age(86400)] == ["刚刚", "2分", "1天"]
    finally:
        i18n.set_language("en")


@each_row(
    ("seconds", "running", "shown"),
    [
        (0.04, False, "0.0 s"),
        (3.14, False, "3.1 s"),
        (12.9, True, "12 s"),
        (59.99, False, "1m 00s"),
        (75, True, "1m 15s"),
        (7500, False, "2h 05m"),
    ],
)
def test_durations(seconds, running, shown):
    assert duration(seconds, running=running) == shown


@each_row(
    ("n", "shown"), [(0, "0"), (999, "999"), (1000, "1.0k"), (12345, "12.3k"), (123456, "123k"), (999_999, "1.0M")]
)
def test_counts(n, shown):
    assert count(n) == shown


# -- what is approved ---------------------------------------------------------------------------------------------


@each_row(
    ("text", "shown"),
    [
        ("plain 中文 é 👩‍💻 e\u0301", "plain 中文 é 👩\\u200d💻 e\u0301"),
        ("a\x1b[2Jb\x07\x00\rc\x9b", "a\\x1b[2Jb\\x07\\x00\\x0dc\\x9b"),
        ("rm \u202egpj.exe\u2066 \u200b\ufeff", "rm \\u202egpj.exe\\u2066 \\u200b\\ufeff"),
        ("tab\there\u00a0nbsp\u2028line", "tab\\there\\xa0nbsp\\u2028line"),
        ("\U000e0041tag \ud83d half", "\\U000e0041tag \\ud83d half"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_what_does_not_show_itself_is_written_out(text, shown):
    assert visible(text) == shown


def test_tabs_are_blanks_where_lines_of_files_are_shown():
    assert visible("\ta\tb", tab_size=4) == "    a   b"
