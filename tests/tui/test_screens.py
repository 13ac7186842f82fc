"""Every view of the program holds what every screen must, and the checks that say so find what is wrong."""

import asyncio

import pytest

from nanoherm_tui.i18n import LANGUAGES
from screenshots.checks import faults
from screenshots.frame import Frame, Pane, Run
from screenshots.make_screenshots import SIZES, THEMES, shoot
from screenshots.views import VIEWS
from tests.rows import each_row

USUAL, WIDE = (80, 24), (160, 45)
NAMES = tuple(VIEWS)


def wrong(name, language, sizes, themes):
    shots = asyncio.run(shoot(VIEWS[name], language, sizes, themes))
    return [fault for shot in shots for fault in shot.faults()]


def shown(number):
    """Every sixteenth view in the usual run: each is a program of its own."""
    return pytest.param(number, id=NAMES[number], marks=pytest.mark.long if number % 16 else ())


@pytest.mark.parametrize("number", [*map(shown, range(len(NAMES)))])
def test_every_view_is_whole_in_two_sizes(number):
    """In one language and theme each, by turns: `make screenshots` looks at all of them."""
    language, theme = LANGUAGES[number // 32 % len(LANGUAGES)], THEMES[number // 16 % len(THEMES)]
    assert wrong(NAMES[number], language, [WIDE, USUAL], [theme]) == []


def test_every_theme_is_whole_in_every_size():
    assert wrong("approval-edit", "zh", SIZES, THEMES) == []


# -- the checks ---------------------------------------------------------------------------------------------------


def found(*rows, panes=(), columns=12):
    return [str(fault) for fault in faults(Frame(columns, tuple((Run(row),) for row in rows), panes))]


LIST = Pane("sessions", 0, 0, 12, 2)


@each_row(
    ("row", "says"),
    [
        ("  a row     ", None),
        ("  中文一行  ", None),
        ("  short", "7 cells"),
        ("  中文太宽一行", "14 cells"),
        ("  bad \ufffd     ", "may have no glyph"),
        ("  tab \t     ", "control character U+0009"),
        ("  bidi\u202e      ", "control character U+202E"),
        ("  emoji 🙂  ", "may have no glyph"),
        ("  a…        ", "may have no glyph"),
        ("  ◦✓✗›⋯▾    ", None),
        ("  àé        ", "two cells wide in some terminals"),
    ],
)
def test_a_row_of_another_width_or_with_a_character_that_is_not_safe_is_found(row, says):
    faults = found(row)
    assert any(says in fault for fault in faults) if says else faults == []


@each_row(
    ("row", "fault"),
    [
        ("▐ title    ▐", False),
        ("| title    |", False),
        ("  title     ", False),
        (" ▐title     ", True),
        ("  title    x", True),
        ("  title   x ", True),
        ("x title     ", True),
    ],
)
def test_text_in_the_columns_at_a_panes_edge_is_found(row, fault):
    assert bool(found("            ", row, panes=(LIST,))) == fault


@each_row(
    ("rows", "fault"),
    [
        (("  Sessions  ", ""), False),  # a whole word of the interface
        (("  Sessio    ", ""), True),
        (("  Sess⋯     ", ""), False),
        (("  Sessio    ", "  ns        "), False),  # it goes on in the next row
        (("  Sessio 9  ", ""), False),  # something stands behind it: this is another word
        (("  unheard   ", ""), False),
        (("  没有找     ", ""), True),
    ],
)
def test_a_word_of_the_interface_that_ends_before_its_end_is_found(rows, fault):
    rows = [row.ljust(12 - sum(c > "\u2fff" for c in row)) for row in rows]
    assert bool(found(*rows, panes=(LIST,))) == fault


@pytest.mark.parametrize(("width", "fault"), [(12, False), (8, True)])
def test_panes_between_sessions_and_dock_that_are_not_equally_wide_are_found(width, fault):
    panes = (Pane("title", 0, 0, 12, 1), Pane("transcript", 0, 1, width, 1))
    assert bool(found("            ", "            ", panes=panes)) == fault
