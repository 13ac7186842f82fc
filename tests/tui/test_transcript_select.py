"""Selecting in the conversation: what stays selected through every change of the window, and what copying gives."""

from __future__ import annotations

import time

import pytest

from agent_core import events as ev
from agent_core.messages import Message
from nanoherm_tui import i18n, limits
from nanoherm_tui.transcript.layout import Layout
from nanoherm_tui.transcript.lines import Place
from nanoherm_tui.transcript.select import Selected, code_near, source_of
from nanoherm_tui.transcript.spots import (
    Point,
    all_rows,
    chars_at,
    moved,
    path_in,
    point_of,
    rows_away,
    spot_of,
    word_at,
)
from tests.rows import each_row
from tests.tui.transcript_helpers import LOOK, call_events, conversation, model

PROSE = "The parser drops the offset when the string ends early, so 每一行都会向后移动一个小时 and nobody sees why."
CODE = "def f(first_argument, second_argument, third_argument): return first_argument + second_argument\n\n    x = 1\ny"
TABLE = """\
| Name | What it means |
|---|---:|
| `alpha` | a long cell that is wrapped when the pane is narrow |
| 乙 | 2 |"""


def laid_out(*messages, width=60, height=20, events=()):
    transcript = model()
    transcript.load(messages)
    for event in events:
        transcript.apply(event)
    layout = Layout(transcript, LOOK, width)
    layout.window(height)
    return layout


def places(layout):
    """Every row of text, in order."""
    return [
        (Place(index, number, at), row)
        for index, entry in enumerate(layout.model.entries)
        for number in range(len(entry.blocks))
        for at, row in enumerate(layout.rows_of(index, number))
        if row.indent
    ]


def everything(layout):
    selected = Selected(layout)
    rows = places(layout)
    selected.set(Point(rows[0][0], 0), Point(rows[-1][0], len(rows[-1][1].text)))
    return selected


def find(layout, words):
    """The selection of some words, wherever rows cut them."""
    rows = places(layout)
    text, starts = "", []
    for place, row in all_rows(layout, rows[0][0], rows[-1][0]):
        text += row.join if text else ""
        starts.append((len(text), place))
        text += row.text
    assert text.count(words) == 1
    at = text.index(words)
    ends = [max(start for start in starts if start[0] <= index) for index in (at, at + len(words))]
    selected = Selected(layout)
    selected.set(
        *(Point(place, index - start) for (start, place), index in zip(ends, (at, at + len(words)), strict=True))
    )
    assert selected.text() == words
    return selected


@pytest.mark.parametrize("width", [23, 40, 60, 200])
def test_everything_selected_is_what_was_written_at_any_width(width):
    answer = f"{PROSE}\n\n```py\n{CODE}\n```\n\nDone."
    layout = laid_out(Message("user", f"{PROSE}\nsecond line"), Message("assistant", answer), width=width)
    assert everything(layout).text() == f"{PROSE}\nsecond line\n\n{PROSE}\n\n{CODE}\n\nDone."


@pytest.mark.parametrize("width", [34, 44, 60, 90])
def test_a_tables_row_is_copied_with_its_cells_whole_however_they_are_wrapped(width):
    text = everything(laid_out(Message("assistant", TABLE), width=width)).text()
    lines = [" ".join(line.split()) for line in text.split("\n")]
    assert lines == [
        "Name What it means",
        "alpha a long cell that is wrapped when the pane is narrow",
        "乙 2",
    ]


def test_tabs_of_code_are_copied_as_tabs():
    rule = "all: a.c\n\tcc\t-o a a.c\n\n\t./a"
    layout = laid_out(Message("assistant", f"```make\n{rule}\n```\n\nDone."))
    assert everything(layout).text() == f"{rule}\n\nDone."
    rows = [(place, row) for place, row in places(layout) if row.whole]
    selected = Selected(layout)
    selected.set(Point(rows[0][0], 8), Point(rows[0][0], 10))
    assert selected.text() == "cc"


def test_part_of_a_wrapped_table_row_is_what_is_marked():
    layout = laid_out(Message("assistant", TABLE), width=44)
    rows = [(place, row) for place, row in places(layout) if row.whole is not None]
    (first, head), (second, rest) = rows[0], rows[1]
    assert (bool(head.whole), rest.whole) == (True, "")
    selected = Selected(layout)
    selected.set(Point(second, 0), Point(second, len(rest.text)))
    assert selected.text() == rest.text
    selected.set(Point(first, 2), Point(first, len(head.text)))
    assert selected.text() == head.text[2:]


def test_marks_margins_and_times_are_not_copied():
    layout = laid_out(Message("user", "hi", created=1.0), Message("assistant", "> quoted\n\n- one\n- 二"))
    assert everything(layout).text() == "hi\n\nquoted\n\none\n二"


@pytest.mark.parametrize("words", ["offset when the string ends", "行都会向后移动", "y, so 每一行", "third_argument"])
def test_a_selection_stays_on_its_words_through_resize_theme_and_new_text(words):
    layout = laid_out(Message("user", "x"), Message("assistant", f"{PROSE}\n\n```py\n{CODE}\n```"), width=61)
    selected = find(layout, words)
    for width in (30, 200, 44, 23, 61):
        layout.configure(LOOK, width)
        layout.window(20)
        selected.resolve()
        assert selected.text() == words
    for event in (ev.TextDelta("and on\n\nand on"), *call_events("c"), ev.UserMessage("u", "more")):
        layout.update(layout.model.apply(event))
        layout.window(20)
        selected.resolve()
        assert selected.text() == words


def test_a_selection_in_text_that_is_still_arriving_stays_on_its_words():
    layout = laid_out(Message("user", "x"), events=[ev.TextDelta("The first words of ")])
    selected = find(layout, "first words")
    for piece in ["an answer that\n\ngoes", " on **and", "** on. ", "word " * 2000, "\n\n- a\n- b", "\n\nEnd."]:
        layout.update(layout.model.apply(ev.TextDelta(piece)))
        layout.window(20)
        selected.resolve()
        assert selected.text() == "first words"
    text = layout.model.entries[-1].text
    layout.update(layout.model.apply(ev.AssistantMessage("m", text)))
    selected.resolve()
    assert selected.text() == "first words"


def test_a_selection_far_into_a_paragraph_survives_its_being_cut_in_blocks():
    words = " ".join(f"w{n}" for n in range(900))
    layout = laid_out(Message("user", "x"), events=[ev.TextDelta(words[:4000])])
    selected = find(layout, "w700 w701")
    layout.update(layout.model.apply(ev.TextDelta(words[4000:] + " end")))
    selected.resolve()
    assert selected.text() == "w700 w701"


def test_what_is_gone_is_not_selected():
    layout = laid_out(Message("user", "x"), events=[ev.TextDelta("partial words")])
    selected = find(layout, "words")
    layout.update(layout.model.apply(ev.PartialDropped()))
    layout.window(20)
    selected.resolve()
    assert (selected.span, selected.text()) == (None, "")


def test_every_place_of_the_text_is_found_again_at_its_own_width():
    layout = laid_out(Message("user", PROSE), Message("assistant", f"{PROSE}\n\n```\n{CODE}\n```\n\n{TABLE}"), width=40)
    for place, row in places(layout):
        for char in range(len(row.text) + 1):
            point = Point(place, char)
            again = point_of(layout, spot_of(layout, point))
            if again != point:  # a row's end may be the start of the next one
                assert again == Point(place._replace(row=place.row + 1), 0)
                assert point_of(layout, spot_of(layout, point), ends=True) == point


# -- cells ----------------------------------------------------------------------------------------------------------


@each_row(
    ("text", "x", "expected"),
    [
        ("你好ab", 0, (0, 1)),
        ("你好ab", 1, (0, 1)),
        ("你好ab", 2, (1, 2)),
        ("你好ab", 4, (2, 3)),
        ("你好ab", 5, (3, 4)),
        ("你好ab", 6, (4, 4)),
        ("你好ab", 50, (4, 4)),
        ("你好ab", -3, (0, 0)),
        ("e\u0301x", 0, (0, 2)),
        ("👩‍💻x", 1, (0, 3)),
    ],
)
def test_both_cells_of_a_wide_character_are_that_character(text, x, expected):
    layout = laid_out(Message("user", text))
    (_, row), *_ = places(layout)
    assert chars_at(row, 4 + x) == expected


def test_a_drag_takes_both_its_first_and_its_last_character_whichever_way():
    layout = laid_out(Message("user", "你好 world"))
    line = next(line for line in layout.lines if line.row.indent)
    for start, end in ((4, 5), (5, 4), (4, 4)):
        selected = Selected(layout)
        selected.press(line, start)
        selected.drag(line, end)
        assert selected.text() == "你"
    for start, end in ((5, 12), (12, 5)):
        selected = Selected(layout)
        selected.press(line, start)
        selected.drag(line, end)
        assert selected.text() == "你好 worl"


# -- motions --------------------------------------------------------------------------------------------------------


def walk(layout, motion, start, steps=200):
    point, seen = start, []
    for _ in range(steps):
        after = moved(layout, point, motion)
        if after == point:
            break
        point = after
        seen.append(point)
    return seen


def test_words_are_runs_of_letters_of_wide_letters_and_of_signs():
    layout = laid_out(Message("user", "foo_1.bar  每个 字!"))
    (place, row), *_ = places(layout)
    start = Point(place, 0)
    assert [row.text[p.char :] for p in walk(layout, "word", start)] == [
        ".bar  每个 字!",
        "bar  每个 字!",
        "每个 字!",
        "字!",
        "!",
        "",
    ]
    assert [row.text[: p.char] for p in walk(layout, "word_end", start)][:3] == ["foo_1", "foo_1.", "foo_1.bar"]
    back = walk(layout, "back", Point(place, len(row.text)))
    assert [row.text[p.char :] for p in back][:3] == ["!", "字!", "每个 字!"]
    assert back[-1] == start


def test_motions_reach_over_rows_and_messages_and_end_at_the_ends():
    layout = laid_out(*conversation(3), width=30)
    rows = places(layout)
    first, last = Point(rows[0][0], 0), Point(rows[-1][0], len(rows[-1][1].text))
    assert moved(layout, last, "first") == first
    assert moved(layout, first, "last") == last
    right = walk(layout, "right", first, 10_000)
    assert right[-1] == last
    assert walk(layout, "left", last, 10_000)[::-1][1:] == right[:-1]
    assert walk(layout, "word", first, 10_000)[-1] == last
    assert walk(layout, "back", last, 10_000)[-1] == first
    assert rows_away(layout, first, 10_000, 4).place == last.place
    assert rows_away(layout, last, -10_000, 4).place == first.place


def test_moving_by_rows_keeps_its_column_past_short_rows():
    layout = laid_out(Message("user", "a long first row\nx\nanother long row"))
    selected = Selected(layout)
    rows = places(layout)
    selected.begin(Point(rows[0][0], 10))
    selected.move_rows(1)
    assert selected.caret == Point(rows[1][0], 1)
    selected.move_rows(1)
    assert selected.caret == Point(rows[2][0], 10)
    assert selected.text() == "st row\nx\nanother lo"


# -- words, paths ---------------------------------------------------------------------------------------------------


@each_row(
    ("text", "under", "expected"),
    [
        ("see src/app/date.py:41, then", "app", "src/app/date.py:41"),
        ("see https://example.org/a?b=1.", "org", "https://example.org/a?b=1"),
        ("run git-log now", "log", "git-log"),
        ("函数parse_date在这里", "date", "parse_date"),
        ("函数parse_date在这里", "数", "函数"),
        ("a (b) c", "(", "("),
        ("a very_long_identifier_that_is_cut_by_the_width_of_this_pane_somewhere z", "cut", None),
    ],
)
def test_a_word_is_what_is_meant_by_it(text, under, expected):
    layout = laid_out(Message("user", text), width=40)
    whole = everything(layout).text()
    at = whole.index(under)
    point = Point(places(layout)[0][0], 0)
    for _ in range(at):
        point = moved(layout, point, "right")
    selected = Selected(layout)
    selected.set(*word_at(layout, point))
    assert selected.text() == (expected or "very_long_identifier_that_is_cut_by_the_width_of_this_pane_somewhere")


@each_row(
    ("word", "expected"),
    [
        ("src/date.py:41", ("src/date.py", 41)),
        ("src/date.py:41:7", ("src/date.py", 41)),
        ("src/date.py:30-80", ("src/date.py", 30)),
        ("./run", ("./run", 0)),
        ("~/notes.md", ("~/notes.md", 0)),
        ("(README.md)", ("README.md", 0)),
        ("`a/b`", ("a/b", 0)),
        ("https://example.org/x", None),
        ("word", None),
        ("3.14", None),
        ("/", None),
        ("", None),
    ],
)
def test_a_path_is_known_by_its_slash_or_its_suffix(word, expected):
    assert path_in(word) == expected


# -- sources --------------------------------------------------------------------------------------------------------


def entry_of(layout, kind):
    return next(entry for entry in layout.model.entries if entry.kind == kind)


def test_the_code_that_is_copied_is_the_whole_fence_however_long():
    code = "\n".join(f"line {n}" for n in range(3 * limits.CODE_CHUNK_LINES))
    answer = f"Before.\n\n```py\n{code}\n```\n\nBetween.\n\n- step\n\n  ```sh\n  make\n  ```\n\nAfter."
    layout = laid_out(Message("assistant", answer))
    entry = entry_of(layout, "answer")
    near = {block.text[:7]: code_near(layout, entry, block) for block in entry.blocks}
    assert near["Before."] == code
    assert near["line 0\n"] == code
    assert near["Between"] == "make"
    assert near["After."] == "make"
    no_code = laid_out(Message("assistant", "Just words."))
    only = entry_of(no_code, "answer")
    assert code_near(no_code, only, only.blocks[0]) == ""


def test_what_a_message_a_card_and_a_note_give():
    layout = laid_out(
        Message("user", "q\twith tab"),
        Message("assistant", "# Title\n\n**bold**", reasoning="why\nso"),
        events=[
            *call_events("c", text="result\nlines"),
            *call_events("empty", subject="true", text="", outcome="exit 0"),
            ev.Notice("unknown", "Something was said."),
        ],
    )
    entries = {entry.id: entry for entry in layout.model.entries}
    sources = {entry.kind if entry.kind != "card" else entry.id: source_of(layout, entry) for entry in entries.values()}
    assert sources == {
        "user": "q\twith tab",
        "thought": "why\nso",
        "answer": "# Title\n\n**bold**",
        "c": "result\nlines",
        "empty": "run_command true   exit 0",
        "note": "Something was said.",
    }


def test_a_note_is_copied_in_the_language_it_is_shown_in():
    layout = laid_out(Message("assistant", "x", interrupted=True, finish="stopped"))
    assert source_of(layout, entry_of(layout, "note")) == "Stopped."
    i18n.set_language("zh")
    assert source_of(layout, entry_of(layout, "note")) == i18n.t("transcript.stopped") != "Stopped."


def test_thousands_of_messages_are_copied_without_drawing_them():
    layout = laid_out(*conversation(5000), height=40)
    selected = Selected(layout)
    selected.begin(Point(next(place for place, _ in places_near_end(layout)), 0))
    begun = time.process_time()
    selected.move("first")
    text = selected.text()
    assert time.process_time() - begun < 3, "seconds; measured 0.3"
    assert text.startswith("Question 0: 第 0 个问题。")
    assert "Answer 2500 with `code`.\n\n- a point" in text
    assert "read_file src/part/module2500.py   30 lines" in text
    assert sum(entry.is_split for entry in layout.model.entries) < 200


def places_near_end(layout):
    return [(line.place, line.row) for line in layout.lines if line.row.indent][-1:]
