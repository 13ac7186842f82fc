"""A terminal that is given frames shows them, and gets no more bytes than it takes."""

import random

import pyte
import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from nanoherm_tui.terminal.frames import Frames, _between
from nanoherm_tui.terminal.output import Backlog
from tests.rows import each_row

WIDTH, HEIGHT = 30, 6
STYLES = [
    None,
    Style.parse("#102030 on #a0b0c0"),
    Style.parse("bold #102030 on #a0b0c0"),
    Style.parse("underline red"),
    Style.parse("reverse"),
    Style.parse("#ffffff on #a0b0c0"),
]


def ansi(style):
    from rich.color import ColorSystem

    return Strip.render_ansi(style, ColorSystem.TRUECOLOR)


class Terminal:
    def __init__(self):
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self.stream = pyte.Stream(self.screen)

    def rows(self):
        buffer = self.screen.buffer
        cells = [[buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]
        return [[(c.data, c.fg, c.bg, c.bold, c.underscore, c.reverse) for c in row] for row in cells]


def whole(rows):
    """The bytes of a plain repaint of everything."""
    frames = Frames(ansi)
    return frames.frame((y, 0, row) for y, row in enumerate(rows))


def random_row(rng, wide):
    text, cells = [], 0
    while cells < WIDTH:
        char = rng.choice("ab  .漢字é" if wide else "ab   .")
        size = 2 if char in "漢字" else 1
        if cells + size > WIDTH:
            char, size = " ", 1
        text.append(char)
        cells += size
    segments, rest = [], "".join(text)
    while rest:
        cut = rng.randint(1, len(rest))
        segments.append(Segment(rest[:cut], rng.choice(STYLES)))
        rest = rest[cut:]
    return segments


@pytest.mark.parametrize("wide", [False, True])
def test_after_any_frames_the_terminal_shows_the_last_one(wide):
    rng = random.Random(7)
    for _ in range(60):
        frames, terminal = Frames(ansi), Terminal()
        rows = [random_row(rng, wide) for _ in range(HEIGHT)]
        terminal.stream.feed(frames.frame((y, 0, row) for y, row in enumerate(rows)))
        for _ in range(8):
            changed = {}
            for y in rng.sample(range(HEIGHT), rng.randint(1, HEIGHT)):
                if rng.random() < 0.5:  # scrolled: another row's content
                    changed[y] = rows[(y + 1) % HEIGHT]
                else:
                    changed[y] = random_row(rng, wide)
            for y, row in changed.items():
                rows[y] = row
            terminal.stream.feed(frames.frame((y, 0, row) for y, row in changed.items()))
            expected = Terminal()
            expected.stream.feed(whole(rows))
            assert terminal.rows() == expected.rows()


def test_a_piece_in_the_middle_of_a_row_leaves_the_rest_alone():
    frames, terminal = Frames(ansi), Terminal()
    terminal.stream.feed(frames.frame([(1, 0, [Segment("a" * WIDTH)])]))
    terminal.stream.feed(frames.frame([(1, 10, [Segment("bcd", STYLES[1])])]))
    assert terminal.screen.display[1] == "a" * 10 + "bcd" + "a" * (WIDTH - 13)


def test_what_is_shown_already_costs_nothing_and_neighbours_share_their_colours():
    frames = Frames(ansi)
    row = [Segment("one ", STYLES[1]), Segment("two", STYLES[1]), Segment(" " * 20, STYLES[1])]
    assert frames.frame([(0, 0, row)]).count("m") == 2  # the colours once, and off
    assert frames.frame([(0, 0, row)]) == ""
    row = [Segment("one ", STYLES[1]), Segment("two!", STYLES[1]), Segment(" " * 19, STYLES[1])]
    assert "one" not in frames.frame([(0, 0, row)])


def test_a_row_with_characters_of_disputed_width_is_written_whole():
    frames = Frames(ansi)
    frames.frame([(0, 0, [Segment("ab👩‍💻cd")])])
    assert frames.frame([(0, 0, [Segment("ab👩‍💻cX")])]).count("ab") == 1
    assert "ab" in frames.frame([(0, 0, [Segment("abcdefgX")])])
    assert "ab" not in frames.frame([(0, 0, [Segment("abcdefgY")])])


def test_when_another_program_has_written_everything_is_written_again():
    frames = Frames(ansi)
    frames.frame([(0, 0, [Segment("same")])])
    frames.forget()
    assert "same" in frames.frame([(0, 0, [Segment("same")])])


@each_row(
    ("last", "new", "written"),
    [
        ("", "1;38;2;1;2;3", "\x1b[1;38;2;1;2;3m"),
        ("38;2;1;2;3;48;5;7", "38;2;1;2;4;48;5;7", "\x1b[38;2;1;2;4m"),
        ("38;2;1;2;3", "38;2;1;2;3;48;5;7", "\x1b[48;5;7m"),
        ("1;31;42", "31;42", "\x1b[0;31;42m"),
        ("31", "1;31", "\x1b[1m"),
        ("97", "37", "\x1b[37m"),
        ("31", "", "\x1b[0m"),
        ("31", "31", ""),
    ],
)
def test_only_what_differs_between_two_styles_is_written(last, new, written):
    assert _between(last, new) == written


def test_room_is_told_of_once_when_all_is_written_and_only_to_who_found_none():
    backlog, told = Backlog(), []
    backlog.on_room = lambda: told.append(backlog.has_room())
    backlog.add(10)
    backlog.wrote(10)
    assert told == [], "nobody had asked"
    backlog.add(10)
    assert not backlog.has_room()
    backlog.wrote(4)
    assert told == []
    backlog.wrote(6)
    assert told == [True]
    backlog.add(1)
    backlog.wrote(1)
    assert told == [True]
