"""Blocks become rows of exactly the width asked for, in the columns and roles of the design."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nanoherm_tui import i18n, symbols
from nanoherm_tui.transcript import highlight
from nanoherm_tui.transcript.blocks import Card, Code, Note, Prose, Thought, ThoughtText, UserText
from nanoherm_tui.transcript.render import Moment, render
from nanoherm_tui.transcript.split import split
from tests.rows import each_row
from tests.tui.test_transcript_split import SOURCES
from tests.tui.transcript_helpers import LOOK, NOON, look

NOW = Moment(0, NOON + 12)


def draw(block, width=60, theme=LOOK, moment=NOW):
    return render(block, width, theme, moment)


def lines(block, width=60):
    return [row.strip.text.rstrip() for row in draw(block, width)]


def style_of(row, words):
    """The style of the segment that holds `words`."""
    return next(segment.style for segment in row.segments if words in segment.text)


WIDTHS = (1, 2, 5, 9, 20, 39, 55, 89, 160)
BLOCKS = [
    UserText(0, "修好它 `parse_date`，请。\nand [b + 1 [/", NOON, images=2, hidden_lines=7),
    Thought(0, "the offset is read 先读偏移", 6.0),
    Thought(0, "newest", started=NOON),
    Thought(0, "x", summary=0, open=True),
    ThoughtText(0, "one\ntwo 三四五六七八九十" * 5),
    Card(0, "read_file", "src/ledger/dates.py:30-80", "done", "51 lines", 0.04),
    Card(0, "run_command", "pytest -q 测试一下", "running", started=NOON, progress="45 % of everything there is"),
    Card(
        0, "a_tool_with_a_long_name", "x" * 100, "failed", "2 failed", 3.1, rows=("E  assert", "y" * 200), more_lines=3
    ),
    Card(0, "apply_patch", "2 files", "asks"),
    Card(0, "grep", "", "lost"),
    Note(0, "Context is 80 % full. /compact makes room.", "warning"),
    Note(0, "No answer in 30 s. Check the network, then send again.", "error"),
    Note(0, "", word="transcript.stopped"),
    Code(0, "def f():\n\treturn 1\n\n# 注释" + "很长" * 40, "py"),
    Code(0, "", "py"),
]


@each_row("width", WIDTHS)
@each_row("block", BLOCKS, ids=lambda b: type(b).__name__)
def test_every_row_is_exactly_as_wide_as_the_pane(block, width):
    rows = draw(block, width)
    assert rows
    for row in rows:
        assert row.strip.cell_length == width
        assert sum(segment.cell_length for segment in row.strip) == width


@settings(max_examples=60, deadline=None)
@given(SOURCES, st.sampled_from(WIDTHS))
@example("👨\u200d👩\u200d👧\ufe0f", 5)
@example("- \n\t", 5)
def test_so_is_every_row_of_any_markdown_and_no_control_byte_gets_through(source, width):
    for block in split(source):
        for row in draw(block, width):
            assert sum(segment.cell_length for segment in row.strip) == width
            assert not re.search("[\x00-\x1f\x7f-\x9f]", row.strip.text)


@each_row("text", ["[/", "[0]", "[b + 1", "[r", "[data: /x?y=z-]", "[bold]x[/bold]", "<b>x</b>"])
def test_markup_is_text(text):
    for block in (UserText(0, text), Prose(0, text), Code(0, text), ThoughtText(0, text), Note(0, text)):
        assert any(text in line for line in lines(block))
    assert text in lines(Card(0, "grep", text, "failed", text, rows=(text,)))[0]


@pytest.mark.parametrize("source", ["&#27;[2J", "&#x9b;31m", "`a&#7;`", "[a&#27;](http://x&#27;y)", "a&#10;b"])
def test_character_references_do_not_smuggle_controls(source):
    for row in draw(Prose(0, source)):
        assert not re.search("[\x00-\x1f\x7f-\x9f]", row.strip.text)


def test_the_users_words_stand_beside_a_bar_with_the_time_at_the_right_edge():
    rows = draw(UserText(0, "first\nsecond", NOON), 60)
    assert [row.strip.text[:11] for row in rows] == ["  ▐ first  ", "  ▐ second "]
    assert re.search(r" \d\d:\d\d  \Z", rows[0].strip.text)
    assert style_of(rows[0], "▐") == LOOK.mark("accent")
    assert [row.text for row in rows] == ["first", "second"]


def test_a_card_is_one_row_of_fixed_columns():
    row = draw(Card(0, "read_file", "src/dates.py", "done", "51 lines", 0.04), 69)[0]
    assert row.strip.text == "  ✓ read_file    src/dates.py" + " " * 22 + "51 lines" + "   0.0 s" + "  "
    assert style_of(row, "✓") == LOOK.mark("ok", bold=True)
    assert style_of(row, "read_file") == LOOK.style("muted")


@each_row(
    ("card", "outcome", "role"),
    [
        (Card(0, "run_command", "x", "done", "16 passed", 1), "16 passed", "ok"),
        (Card(0, "grep", "x", "done", "3 matches", 1), "3 matches", "muted"),
        (Card(0, "grep", "x", "failed", "refused", 1), "refused", "fail"),
        (Card(0, "grep", "x", "waiting"), "waiting", "muted"),
        (Card(0, "grep", "x", "asks"), "asks you", "warn"),
        (Card(0, "grep", "x", "running", started=NOON), "running", "accent"),
        (Card(0, "grep", "x", "lost"), "no result", "warn"),
    ],
)
def test_a_cards_outcome_says_its_state_in_words_and_colour(card, outcome, role):
    row = draw(card, 80)[0]
    assert outcome in row.strip.text
    assert style_of(row, outcome) == LOOK.style(role)


def test_a_running_card_counts_seconds_and_shows_its_newest_line():
    card = Card(0, "run_command", "pytest", "running", started=NOON, progress="45 %")
    text = draw(card, 80, moment=Moment(3, NOON + 12.7))[0].strip.text
    assert text.startswith(f"  {symbols.SPINNER[3]} run_command  pytest   45 %")
    assert text.endswith("running    12 s  ")


def test_on_a_narrow_pane_the_time_gives_way_then_the_subject_never_the_outcome():
    card = Card(0, "edit_file", "src/ledger/dates.py", "done", "+7 −4", 1.0)
    wide, narrow, tiny = (draw(card, width)[0].strip.text for width in (60, 54, 36))
    assert "1.0 s" in wide
    assert "1.0 s" not in narrow
    assert "src/ledger/dates.py" in narrow
    assert "⋯/dates.py" in tiny
    assert "+7 −4" in tiny


@each_row(
    ("name", "subject", "width", "shown"),
    [
        ("mcp_everything_get-sum", "2", 79, "mcp_everything_get-sum 2"),
        ("mcp_everything_get-structured-content", "New York", 79, "mcp_everything_get-structured-content New York"),
        ("mcp_everything_get-structured-content", "x" * 99, 79, "everything_get-structured-content xxx"),
        ("mcp_everything_get-structured-content", "New York", 60, "everything⋯red-content New York"),
        ("mcp_list_resources", "git", 79, "mcp_list_resources git"),
        ("mcp_" + "s" * 30 + "_" + "t" * 29, "x", 79, "s" * 23 + "⋯" + "t" * 24 + " x"),
    ],
)
def test_a_long_name_goes_on_beyond_its_column_so_that_server_and_tool_can_be_read(name, subject, width, shown):
    row = draw(Card(0, name, subject, "done", "54 characters", 0.04), width)[0]
    assert row.strip.text.startswith(f"  ✓ {shown}")
    assert "54 characters" in row.strip.text


def test_a_failed_card_shows_its_preview_the_first_line_in_the_colour_of_failure():
    rows = draw(Card(0, "run_command", "pytest", "failed", "1 failed", rows=("E  assert 1 == 2", "FAILED x")))
    assert [row.strip.text.rstrip() for row in rows[1:]] == ["    E  assert 1 == 2", "    FAILED x"]
    assert style_of(rows[1], "assert") == LOOK.style("fail")
    assert style_of(rows[2], "FAILED") == LOOK.style("muted")


@pytest.mark.parametrize(
    ("thought", "start"),
    [
        (Thought(0, "why", 6.2), "  ▸ Thought for 6 s  why"),
        (Thought(0, "why"), "  ▸ Thought  why"),
        (Thought(0, "why", 6.2, open=True), "  ▾ Thought for 6 s"),
        (Thought(0, "why", started=NOON), "  ⠋ Thinking, 12 s  why"),
        (Thought(0, "why", summary=0), "  ▸ Summary of what came before  why"),
    ],
)
def test_a_thought_is_one_muted_row(thought, start):
    rows = draw(thought)
    assert len(rows) == 1
    assert rows[0].strip.text.rstrip() == start


def test_only_the_folded_thought_is_italic():
    assert style_of(draw(Thought(0, "why", 6))[0], "why").italic
    everything = [row for block in split("*em* **strong** `c`\n\n# H\n\n> q") for row in draw(block)]
    assert not any(segment.style.italic for row in everything for segment in row.segments)


def test_warnings_and_errors_carry_a_sign_beside_their_colour():
    warning, error = draw(Note(0, "Careful.", "warning"))[0], draw(Note(0, "Broken.", "error"))[0]
    assert warning.strip.text.startswith("  ! Careful.")
    assert style_of(warning, "Careful") == LOOK.style("warn")
    assert error.strip.text.startswith("  ✗ Broken.")
    assert style_of(error, "Broken") == LOOK.style("fail")


def test_notes_speak_the_interfaces_language_by_their_code(monkeypatch):
    i18n.set_language("zh")
    monkeypatch.setitem(i18n.texts("zh"), "errors.made_up", "没有回应，{seconds} 秒。")
    assert lines(Note(0, "No answer.", "error", "made_up", {"seconds": 30})) == ["  ✗ 没有回应，30 秒。"]


# -- Markdown -----------------------------------------------------------------------------------------------------


@each_row(
    ("source", "shown"),
    [
        ("- a\n- b\n  - c", ["    ∙ a", "    ∙ b", "      ∙ c"]),
        ("9. a\n10. b", ["    9. a", "    10. b"]),
        ("1. one\n\n   two", ["    1. one", "", "       two"]),
        ("> quoted\n> > deeper", ["    ▐ quoted", "    ▐ ▐ deeper"]),
        ("a [link](http://x.y) b", ["    a link http://x.y b"]),
        ("<http://x.y>", ["    http://x.y"]),
        ("![alt](pic.png)", ["    alt pic.png"]),
        ("one\ntwo", ["    one two"]),
        ("一\n二", ["    一二"]),
        ("one  \ntwo", ["    one", "    two"]),
        ("[a][1]\n\n[1]: http://x.y", ["    [a][1]", "    [1]: http://x.y"]),
        (">" * 30 + "deep", ["    " + ">" * 30 + "deep"]),
        ("*a* ~~b~~", ["    *a* ~~b~~"]),
        ("***", ["    ∙   ∙   ∙"]),
        ("- ```py\n  x\n  ```", ["    ∙", "        x" + " " * 45 + "py"]),
    ],
)
def test_markdown_without_its_marks(source, shown):
    assert [line for block in split(source) for line in lines(block, 60)] == shown


def test_wrapped_prose_hangs_under_its_bullet_and_is_copied_as_one_line():
    rows = draw(Prose(0, "- " + "word " * 12), 40)
    assert [row.strip.text[:6] for row in rows] == ["    ∙ ", "      "]
    joined = "".join((row.join if number else "") + row.text for number, row in enumerate(rows))
    assert joined == ("word " * 12).strip()


def test_a_table_has_an_underlined_header_and_no_lines():
    rows = draw(Prose(0, "| name | n |\n|:--|--:|\n| alpha | 1 |\n| 世 | 22 |"), 60)
    assert [row.strip.text.rstrip() for row in rows] == ["    name     n", "    alpha    1", "    世      22"]
    header = [s.style for s in rows[0].segments[1:-1]]
    assert all(style.underline for style in header)
    assert not any(s.style.underline for s in rows[1].segments)


def test_the_line_under_a_header_of_several_rows_is_one():
    rows = draw(Prose(0, "| a name of four words | n |\n|---|---|\n| " + "value " * 6 + "| " + "x " * 12 + "|"), 36)
    lined = [any(s.style.underline for s in row.segments[1:]) for row in rows]
    assert lined.index(True) > 0
    assert lined.count(True) == 1
    assert all(s.style.bold for row in rows[: lined.index(True)] for s in row.segments if s.text.strip())


def test_a_wide_table_wraps_its_cells():
    source = "| a | b |\n|---|---|\n| " + "word " * 10 + "| short |"
    rows = draw(Prose(0, source), 40)
    assert len(rows) > 2
    assert "".join(row.strip.text for row in rows).count("word") == 10


@pytest.mark.parametrize("width", [40, 36])
def test_a_narrow_table_breaks_no_word_while_there_is_room_for_all_of_them(width):
    head = "| Input | Before | After |\n|---|---|---|\n"
    shown = lines(Prose(0, head + "| day_bounds | 02:30 naive | 23 hours |\n| 中文一二三四五六 | x | y |"), width)
    for word in ("day_bounds", "Before", "naive", "hours"):
        assert any(word in line for line in shown)


def test_a_table_that_cannot_stand_in_columns_is_written_out():
    head = "| " + " | ".join(f"column{n}" for n in range(8)) + " |"
    source = head + "\n" + "|---" * 8 + "|\n" + "| value long enough " * 8 + "|"
    shown = lines(Prose(0, source), 30)
    assert "    column0: value long" in shown
    assert "".join(shown).count("enough") == 8


def test_code_stands_on_its_own_ground_with_the_language_at_its_right_top():
    rows = draw(Code(0, "def f():\n    return 'x'", "python"), 60)
    assert rows[0].strip.text == "      def f():" + " " * 36 + "python" + "    "
    assert [row.text for row in rows] == ["def f():", "    return 'x'"]
    assert style_of(rows[0], "def") == LOOK.style("keyword", "surface")
    assert style_of(rows[1], "'x'") == LOOK.style("string", "surface")
    assert rows[0].segments[0].style == LOOK.style("muted")


def test_code_that_is_still_being_written_has_no_colours():
    rows = draw(Code(0, "def f():", "python", open=True))
    assert style_of(rows[0], "def f") == LOOK.style("text", "surface")


def test_code_whose_colours_fail_is_shown_without_them(monkeypatch):
    class Broken:
        def get_tokens(self, code):
            raise RecursionError

    monkeypatch.setattr(highlight, "_lexer", lambda lang: Broken())
    assert draw(Code(0, "def fails():", "python"))[0].text == "def fails():"
    highlight.highlight.cache_clear()


def test_wrapped_code_is_copied_as_the_line_it_was():
    line = "    return datetime.fromisoformat(stamp).replace(tzinfo=None, fold=1)"
    rows = draw(Code(0, line, "python"), 50)
    assert len(rows) == 2
    assert rows[1].strip.text.startswith(" " * 14)
    assert rows[0].text + rows[1].join + rows[1].text == line


@pytest.mark.parametrize("theme", ["nanoherm-light", "high-contrast", "ansi"])
def test_every_theme_draws_the_same_characters(theme):
    for block in BLOCKS:
        plain = [row.strip.text for row in draw(block)]
        assert [row.strip.text for row in draw(block, theme=look(theme))] == plain


def test_ascii_terminals_get_ascii_marks():
    symbols.set_ascii(True)
    try:
        drawn = "".join(
            lines(Card(0, "grep", "x", "done", "y")) + lines(Prose(0, "- a\n\n> b")) + lines(Thought(0, "z"))
        )
    finally:
        symbols.set_ascii(False)
    assert drawn.isascii()


def test_a_path_that_a_notice_lists_and_that_goes_on_hangs_under_itself():
    left = (("docs/how-the-totals-are-made/notes.md", "changed since"),)
    note = Note(0, "", "warning", word="rollback.left", lines=left)
    assert lines(note, 40) == [
        "  ! Left as they are:",
        "      docs/how-the-totals-are-made",
        "        /notes.md: changed since",
    ]
