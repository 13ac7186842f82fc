"""What is known of the terminal's colours: what its answers mean, what COLORFGBG says, which theme follows."""

import pytest

from nanoherm_tui.terminal import colours as terminal_colours
from nanoherm_tui.terminal.answers import ANSWER, BEGUN, is_whole
from nanoherm_tui.terminal.colours import GROUND, guess_light, is_light, read_colour, theme_for
from tests.rows import each_row

COLOURS = [
    ("rgb:ffff/ffff/ffff", "#ffffff"),
    ("rgb:ff/ff/ff", "#ffffff"),
    ("rgb:f/f/f", "#ffffff"),
    ("rgb:fff/000/7ff", "#ff007f"),
    ("rgb:1414/1616/1b1b", "#14161b"),
    ("RGB:FFFF/FDFD/FAFA", "#fffdfa"),
    ("rgba:0000/0000/0000/cccc", "#000000"),
    ("#ffffff", "#ffffff"),
    ("#fff", "#ffffff"),
    ("#ffff00008080", "#ff0080"),
    ("", None),
    ("?", None),
    ("white", None),
    ("rgb:ff/ff", None),
    ("rgb:fffff/ff/ff", None),
    ("rgb:gg/ff/ff", None),
    ("#ffff", None),
    ("rgb:ff/ff/ff/ff/ff", None),
]


@each_row(("told", "colour"), COLOURS)
def test_a_colour_is_read_as_terminals_write_it(told, colour):
    assert read_colour(told) == colour


@each_row(
    ("colour", "light"),
    [("#ffffff", True), ("#000000", False), ("#fdf6e3", True), ("#002b36", False), ("#eeeeee", True),
     ("#300a24", False), ("#bbbbbb", True), ("#555555", False)],
)  # fmt: skip
def test_a_ground_is_light_when_black_is_easier_to_read_on_it(colour, light):
    assert is_light(colour) == light


@each_row(
    ("value", "light"),
    [("15;0", False), ("0;15", True), ("0;default;15", True), ("7;8", False), ("0;7", True), ("12;9", True),
     ("0;default", None), ("15;16", None), ("", None), ("x", None)],
)  # fmt: skip
def test_colorfgbg_is_a_first_guess(value, light):
    assert guess_light({"COLORFGBG": value}) == light
    assert guess_light({}) is None


@each_row(
    ("colours", "light", "theme"),
    [("true", None, "nanoherm-dark"), ("true", False, "nanoherm-dark"), ("true", True, "nanoherm-light"),
     ("256", True, "nanoherm-light"), ("256", None, "nanoherm-dark"), ("16", True, "ansi"), ("16", None, "ansi")],
)  # fmt: skip
def test_auto_is_the_theme_that_suits_the_terminal(colours, light, theme):
    assert theme_for(colours, light) == theme


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("\x1b]11;rgb:ffff/ffff/ffff\x07", (GROUND, "rgb:ffff/ffff/ffff", "\x07", None)),
        ("\x1b]11;rgb:ffff/ffff/ffff\x1b\\", (GROUND, "rgb:ffff/ffff/ffff", "\x1b\\", None)),
        ("\x1bP>|kitty(0.35.2)\x1b\\", (None, None, None, "kitty(0.35.2)")),
    ],
)
def test_every_beginning_of_an_answer_may_become_one(answer, said):
    assert ANSWER.fullmatch(answer).groups() == said
    for cut in range(1, len(answer)):
        assert BEGUN.search("abc" + answer[:cut]), cut
        begun = ANSWER.search(answer[:cut])
        assert begun is None or not is_whole(begun)


@each_row(
    "keys",
    [
        "\x1b[A",
        "\x1b[1;5A",
        "\x1b[49;;20320:22909u",
        "\x1bOP",
        "\x1b]x",
        "\x1b]0;",
        "a",
        "\x1b\x1b[",
        "\x1b]11;rgb:ff\r",
        "\x1bPx",
        "\x1bP>x",
        "\x1bp",
    ],
)
def test_keys_are_no_beginning_of_an_answer(keys):
    assert not BEGUN.search(keys)


def test_no_color_does_not_change_how_many_colours_there_are(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "")
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal_colours.depth() == "256"
