"""Rows: whatever the text and the width, exactly as wide as asked for and nothing lost in wrapping."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.messages import DiffLine, FileDiff, Hunk
from agent_core.ports.means import TodoItem
from nanoherm_tui.panes.bodies import Row, Span, paint_row
from nanoherm_tui.panes.diff import diff_rows
from nanoherm_tui.panes.output import Result, result_rows
from nanoherm_tui.panes.pages import Book
from nanoherm_tui.panes.plan import plan_rows
from nanoherm_tui.panes.wrapped import code_rows
from nanoherm_tui.text import clean, visible, width
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Look

LOOKS = [Look(theme, no_color=False) for theme in load_themes()[0].values()]

PIECES = st.sampled_from(
    [
        "中文",
        "，。",
        "（",
        "word",
        "a.b(c, d)",
        " ",
        "    ",
        "\t",
        "👩‍👩‍👧",
        "🇩🇪",
        "é",
        "\u202e",
        "\x1b[1m",
        "\x00",
        "[/b]",
        "ＡＢ",
        "़",
    ]
)
TEXT = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=40).map(lambda s: " ".join(s.splitlines()))
CELLS = st.integers(min_value=0, max_value=70)


def check(rows, cells):
    for row in rows:
        for look in LOOKS[:2]:
            strip = paint_row(row, cells, look)
            assert sum(width(s.text) for s in strip) == cells, row
            assert all(clean(s.text) == s.text for s in strip), row


@given(TEXT, TEXT, CELLS)
def test_a_row_is_painted_exactly_as_wide_as_asked_for(left, right, cells):
    check([Row((Span(visible(left)), Span(visible(right), bold=True)), (Span(visible(right)),))], cells)


@given(st.lists(TEXT, min_size=1, max_size=4), CELLS, st.booleans())
@settings(max_examples=60)
def test_changes_are_as_wide_as_the_pane(texts, cells, wrap):
    lines = tuple(DiffLine(("same", "remove", "add")[n % 3], text, n, n) for n, text in enumerate(texts))
    check(diff_rows([FileDiff(texts[0], (Hunk(1, 1, lines),), 1, 1)], cells, wrap=wrap), cells)


@given(TEXT, TEXT, CELLS)
@settings(max_examples=60)
def test_results_and_plans_are_as_wide_as_the_pane(subject, text, cells):
    check(result_rows(Result("tool", subject, text, True), Book(text), cells), cells)
    check(plan_rows([TodoItem(subject, "in_progress"), TodoItem(text)], cells), cells)


@given(TEXT, st.integers(min_value=8, max_value=60))
def test_the_pieces_of_a_wrapped_line_give_the_line_and_fit(text, cells):
    line = visible(text)
    pieces = code_rows(line, cells)
    assert "".join(("" if n == 0 else p.join) + line[p.start : p.end] for n, p in enumerate(pieces)) == line
    assert all(p.hang + width(line[p.start : p.end]) <= cells for p in pieces)


@given(st.text(max_size=60))
def test_what_is_shown_of_a_change_has_nothing_left_for_a_terminal_to_obey(text):
    shown = visible(text.replace("\n", " "))
    assert clean(shown) == shown
