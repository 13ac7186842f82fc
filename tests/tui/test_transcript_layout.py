"""The reader's place: heights, scrolling, following, and the cursor, without a screen."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core import events as ev
from agent_core.messages import Message
from nanoherm_tui import limits
from nanoherm_tui.transcript import highlight
from nanoherm_tui.transcript.cursor import Cursor
from nanoherm_tui.transcript.find import Find
from nanoherm_tui.transcript.heights import Heights
from nanoherm_tui.transcript.layout import Layout
from nanoherm_tui.transcript.lines import Place
from nanoherm_tui.transcript.render import Moment
from tests.rows import each_row
from tests.tui.test_transcript_split import SOURCES
from tests.tui.transcript_helpers import LOOK, call_events, conversation, model

TABLE = (
    "| 名称 | value |\n|---|---:|\n| a `code` | 12 |\n\n- one\n  1. two\n     ```py\n     x = 1\n     ```\n> > quoted"
)


def opened(messages, width=80, height=20):
    transcript = model()
    transcript.load(messages)
    layout = Layout(transcript, LOOK, width)
    layout.window(height)
    return layout


def texts(layout):
    return [line.row.strip.text.rstrip() for line in layout.lines]


def feed(layout, *batch):
    changed = set()
    for event in batch:
        changed |= layout.model.apply(event)
    return layout.update(changed)


def every_row(layout):
    """All rows from the top, read screen by screen."""
    layout.go_home()
    seen = {}
    while True:
        layout.window(layout.height)
        seen |= {line.place: line.row.strip.text for line in layout.lines}
        if layout.stick:
            return [seen[key] for key in sorted(seen)]
        layout.scroll(layout.height - 1)


# -- heights ------------------------------------------------------------------------------------------------------


def test_heights_agree_with_plain_sums_through_any_changes():
    rng = random.Random(5)
    plain: list[int] = []
    tree = Heights()
    for _ in range(600):
        what = rng.random()
        if what < 0.5 or not plain:
            value = rng.randrange(6)
            plain.append(value)
            tree.append(value)
        else:
            at, value = rng.randrange(len(plain)), rng.randrange(9)
            assert tree.set(at, value) == value - plain[at]
            plain[at] = value
        assert tree.total == sum(plain)
        assert len(tree) == len(plain)
        at = rng.randrange(len(plain) + 1)
        assert tree.before(at) == sum(plain[:at])
        if tree.total:
            row = rng.randrange(tree.total)
            index, rest = tree.find(row)
            assert sum(plain[:index]) + rest == row
            assert rest < plain[index]
    assert Heights(plain).before(len(plain)) == sum(plain)
    assert tree.find(tree.total) == (len(plain), 0)


# -- scrolling ----------------------------------------------------------------------------------------------------


def test_a_session_opens_at_its_end():
    layout = opened(conversation(50))
    assert layout.stick
    assert texts(layout)[-1] == "    Done 49."
    assert len(layout.lines) == 20


def test_a_short_session_stands_at_the_top():
    layout = opened([Message("user", "hello")])
    assert texts(layout)[0].startswith("  ▐ hello")
    assert layout.stick


@pytest.mark.parametrize("steps", [(-1, 1), (-19, 19), (-300, 300), (-7, -30, 22, 15)])
def test_scrolling_there_and_back_shows_the_same_rows(steps):
    layout = opened(conversation(50))
    layout.scroll(-40)
    layout.window(20)
    before = texts(layout)
    for step in steps:
        layout.scroll(step)
        layout.window(20)
    assert texts(layout) == before


def test_home_and_end():
    layout = opened(conversation(50))
    layout.go_home()
    layout.window(20)
    assert texts(layout)[0].startswith("  ▐ Question 0")
    assert layout.top == 0
    layout.go_end()
    assert texts(opened(conversation(50))) == [line.row.strip.text.rstrip() for line in layout.window(20)]


def test_reading_down_to_the_last_row_follows_the_end_again():
    layout = opened(conversation(10))
    layout.scroll(-5)
    layout.window(20)
    assert not layout.stick
    layout.scroll(5)
    layout.window(20)
    assert layout.stick


def test_every_row_can_be_reached_and_rows_are_the_same_from_both_ends():
    down = every_row(opened(conversation(30)))
    layout = opened(conversation(30))
    up: dict[Place, str] = {}
    while True:
        layout.window(20)
        up |= {line.place: line.row.strip.text for line in layout.lines}
        if layout.top == 0 and not layout.stick:
            break
        layout.scroll(-13)
    assert [up[key] for key in sorted(up)] == down


def test_known_heights_add_up_to_the_rows_there_are():
    layout = opened(conversation(30))
    rows = every_row(layout)
    assert layout.total == len(rows)


@pytest.mark.parametrize("row", [0, 3, 57, 200])
def test_dragging_the_scrollbar_goes_to_that_row(row):
    layout = opened(conversation(30))
    rows = every_row(layout)
    layout.go_to_row(row)
    layout.window(20)
    assert layout.lines[0].row.strip.text == rows[row]
    assert layout.top == row


# -- while a reply streams ----------------------------------------------------------------------------------------


def test_the_end_is_followed():
    layout = opened(conversation(10))
    for n in range(40):
        assert feed(layout, ev.TextDelta(f"paragraph {n}\n\n"))
        layout.window(20)
    assert texts(layout)[-1] == "    paragraph 39"


def test_a_reader_who_has_scrolled_up_is_not_moved():
    layout = opened(conversation(10))
    layout.scroll(-30)
    layout.window(20)
    before = texts(layout)
    for n in range(200):
        assert not feed(layout, ev.TextDelta(f"paragraph {n}\n\n")), "the window does not change"
    feed(layout, *call_events("c"), ev.Notice("n", "note"))
    assert [line.row.strip.text.rstrip() for line in layout.window(20)] == before
    assert layout.new_rows > 100
    layout.go_end()
    layout.window(20)
    assert layout.new_rows == 0


def test_nor_when_the_growing_answer_itself_is_in_the_window():
    layout = opened(conversation(3))
    for n in range(40):
        feed(layout, ev.TextDelta(f"paragraph {n}\n\n"))
        layout.window(20)
    layout.scroll(-8)
    layout.window(20)
    before = texts(layout)
    for n in range(40, 90):
        feed(layout, ev.TextDelta(f"paragraph {n}\n\n"))
        assert [line.row.strip.text.rstrip() for line in layout.window(20)] == before
    assert layout.new_rows == 100


def test_from_the_top_too():
    layout = opened(conversation(10))
    layout.go_home()
    layout.window(20)
    before = texts(layout)
    for n in range(1000):
        feed(layout, ev.TextDelta(f"chunk {n} "))
    assert [line.row.strip.text.rstrip() for line in layout.window(20)] == before
    assert layout.top == 0


def test_only_the_open_tail_is_drawn_again():
    layout = opened(conversation(5))
    before = dict(layout.renders)
    for n in range(60):
        feed(layout, ev.TextDelta(f"paragraph {n} "), ev.TextDelta("goes on\n\n"))
        layout.window(20)
    for block, count in before.items():
        assert layout.renders[block] == count, "blocks of other entries"
    live = layout.model.entries[-1].id
    counts = [count for (entry, _), count in layout.renders.items() if entry == live]
    assert len(counts) == 60
    assert max(counts) <= 2, "once as the tail, once closed"


@pytest.fixture
def coloured(monkeypatch):
    """The first lines of the pieces of code that were coloured."""
    seen = []
    lexer = highlight._lexer

    class Watched:
        def __init__(self, lang):
            self._lexer = lexer(lang)

        def get_tokens(self, code):
            seen.append(code.split("\n")[0])
            return self._lexer.get_tokens(code)

    highlight.highlight.cache_clear()
    monkeypatch.setattr(highlight, "_lexer", Watched)
    return seen


def test_code_is_coloured_once_and_not_before_it_is_seen(coloured):
    lines = [f"line{n} = {n}" for n in range(350)]
    layout = opened([Message("assistant", "```py\nold = 1\n```\n\n" + "more\n\n" * 40)])
    for n, line in enumerate(["```py", *lines]):
        feed(layout, ev.TextDelta(line + "\n"))
        layout.window(20)
        assert len(coloured) * limits.CODE_CHUNK_LINES <= n, "code that is being written has no colours"
    feed(layout, ev.TextDelta("```\n\nend"))
    layout.window(20)
    chunks = [f"line{n} = {n}" for n in range(0, 350, limits.CODE_CHUNK_LINES)]
    assert coloured == chunks
    for width in (50, 80):
        layout.configure(LOOK, width)
        layout.window(20)
    assert coloured == chunks, "another width has the same colours"
    for _ in range(60):
        layout.scroll(-19)
        layout.window(20)
    assert coloured == [*chunks, "old = 1"]


def test_code_inside_a_list_is_coloured_once_too(coloured):
    layout = opened([])
    for line in ["- item", "  ```py", *(f"  line{n} = {n}" for n in range(50))]:
        feed(layout, ev.TextDelta(line[:9]), ev.TextDelta(line[9:] + "\n"))
        layout.window(20)
    assert not coloured
    for line in ["  ```", "- next"]:
        feed(layout, ev.TextDelta(line + "\n"))
        layout.window(20)
    assert coloured == ["line0 = 0"]


def test_code_that_is_never_seen_is_never_coloured(coloured):
    layout = opened([Message("assistant", f"```py\nx = {n}\n```") for n in range(500)], height=9)
    assert len(coloured) == 5
    layout.go_home()
    layout.window(9)
    assert len(coloured) == 10


def test_finishing_a_reply_draws_nothing_again():
    layout = opened([])
    source = "# Head\n\ntext\n\n- a\n- b\n\n```py\nx = 1\n```\n\nend"
    for at in range(0, len(source), 3):
        feed(layout, ev.TextDelta(source[at : at + 3]))
        layout.window(20)
    before = sum(layout.renders.values())
    feed(layout, ev.AssistantMessage("a", source))
    layout.window(20)
    assert sum(layout.renders.values()) == before


def test_a_dropped_partial_leaves_the_screen():
    layout = opened(conversation(2))
    before = texts(layout)
    feed(layout, ev.ReasoningDelta("hm"), ev.TextDelta("wrong"))
    layout.window(20)
    assert texts(layout) != before
    feed(layout, ev.PartialDropped())
    layout.window(20)
    assert texts(layout) == before


# -- width --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [30, 50, 130])
def test_a_resize_keeps_the_row_that_is_being_read(width):
    words = [f"word{n}" for n in range(2000)]
    layout = opened([Message("assistant", " ".join(words))], width=80)
    layout.scroll(-100)
    layout.window(20)
    first = texts(layout)[0].split()[0]
    layout.configure(LOOK, width)
    layout.window(20)
    assert first in texts(layout)[0].split()


def test_a_resize_at_the_end_stays_at_the_end():
    layout = opened(conversation(20))
    layout.configure(LOOK, 40)
    layout.window(20)
    assert texts(layout)[-1] == "    Done 19."
    assert all(line.row.strip.cell_length == 40 for line in layout.lines)


def test_all_rows_are_those_of_a_fresh_layout_after_any_resizes():
    layout = opened(conversation(15))
    for width in (33, 120, 57):
        layout.configure(LOOK, width)
        layout.window(20)
    assert every_row(layout) == every_row(opened(conversation(15), width=57))


# -- thousands of messages ---------------------------------------------------------------------------------------


def session(turns):
    """Like a conversation, with answers from one line to forty, so that no two turns are as high."""
    rng = random.Random(7)
    out = conversation(turns)
    for number in range(3, len(out), 4):
        out[number] = replace(out[number], text="some words 和一些字 " * rng.randrange(1, 90) + "\n\n- end")
    return out


@pytest.mark.parametrize("width", [40, 80, 160])
def test_the_height_of_what_nobody_has_seen_is_guessed_well(width):
    layout = opened(session(300), width=120)
    layout.configure(LOOK, width)
    layout.window(20)
    guessed = layout.total
    drawn(layout)
    assert 0.8 < guessed / layout.total < 1.25


def test_dragging_the_scrollbar_leads_to_that_part_of_the_session():
    layout = opened(session(500))
    for part in (0.25, 0.5, 0.9):
        layout.go_to_row(round(part * layout.total))
        layout.window(20)
        assert abs(layout.lines[0].entry.index / len(layout.model.entries) - part) < 0.1
        assert abs(layout.top / layout.total - part) < 0.1


def test_opening_and_resizing_read_few_texts_and_make_few_blocks(monkeypatch):
    reads = []
    monkeypatch.setattr("nanoherm_tui.transcript.estimates.text_rows", lambda text, width: reads.append(text) or 1)
    layout = opened(session(1_000))
    for width in (160, 80, 160, 40):
        layout.configure(LOOK, width)
        layout.window(20)
    assert len(reads) < 6 * limits.ESTIMATED_ENTRIES
    assert sum(entry.is_split for entry in layout.model.entries) < 60


@pytest.mark.parametrize("width", [30, 50, 160])
def test_in_a_long_session_too_a_resize_keeps_what_is_being_read(width):
    layout = opened(session(500))
    layout.go_to_row(layout.total // 3)
    layout.window(20)
    entry, start = layout.lines[0].entry, layout.lines[0].place.block
    for _ in range(3):
        for other in (width, 80):
            layout.configure(LOOK, other)
            layout.window(20)
            assert (layout.lines[0].entry, layout.lines[0].place.block) == (entry, start)


# -- streamed and cold ---------------------------------------------------------------------------------------------


def drawn(layout):
    """Every row as it is painted, block by block, and its text."""
    rows, unit = [], layout.unit_after(-1, 0)
    while unit is not None:
        rows += layout.rows_of(*unit)
        unit = layout.unit_after(*unit)
    return [row.segments for row in rows], ["".join(s.text for s in row.segments) for row in rows]


@settings(max_examples=40, deadline=None)
@given(SOURCES, st.integers(1, 30), st.lists(st.sampled_from([1, 7, 19, 44, 100]), max_size=4), st.randoms())
def test_what_streams_in_is_drawn_as_if_it_had_been_there_through_any_resizes(source, size, widths, rng):
    layout = opened(conversation(1), width=60)
    at, so_far = sorted(rng.randrange(len(source) + 1) for _ in widths), ""
    while so_far != source:
        piece = source[len(so_far) : len(so_far) + rng.randint(1, size)]
        so_far += piece
        feed(layout, ev.TextDelta(piece))
        layout.window(20)
        while at and at[0] <= len(so_far):
            at.pop(0)
            layout.configure(LOOK, widths.pop())
            window = [line.row.segments for line in layout.window(20)]
            cold = opened([*conversation(1), Message("assistant", so_far)], width=layout.width)
            assert drawn(layout)[1] == drawn(cold)[1], "the open tail too"
            assert window == drawn(layout)[0][-20:]
    feed(layout, ev.AssistantMessage("a", source))
    layout.window(20)
    cold = opened([*conversation(1), Message("assistant", source)], width=layout.width)
    rows = drawn(layout)[0]
    assert rows == drawn(cold)[0]
    assert texts(layout) == texts(cold)
    assert layout.total == len(rows)


@each_row("height", [1, 2, 10])
@each_row("width", [*range(1, 13), 40])
def test_the_smallest_panes_show_rows_of_their_width_and_every_key_works(width, height):
    messages = [
        *conversation(2),
        Message("user", "很长的一行 " * 30 + "👩\u200d💻"),
        Message("assistant", TABLE, interrupted=True),
    ]
    layout = opened(messages, width=width, height=height)
    feed(layout, *call_events("c", ok=False, preview=("E  assert 1 == 2",)), ev.Notice("n", "a note"))
    feed(layout, ev.ReasoningDelta("hm"), ev.TextDelta("text 文字\n```py\nx = 1\n"))
    cursor, find = Cursor(layout), Find(layout)
    for entry in layout.model.entries:
        layout.model.toggle(entry)
        layout.toggled(entry)
    for step in (
        layout.go_end,
        lambda: cursor.move(-1),
        lambda: layout.scroll(-height),
        layout.go_home,
        lambda: cursor.move(1),
        lambda: layout.go_to_row(layout.total // 2),
        lambda: find.look_for("o"),
        lambda: layout.scroll(height),
        lambda: layout.configure(LOOK, max(1, width - 1)),
        lambda: layout.configure(LOOK, width),
        lambda: feed(layout, ev.TurnFinished("t", "interrupted", 1, 1.0)),
    ):
        step()
        lines = layout.window(height)
        assert lines
        assert len(lines) <= height
        for line in lines:
            assert sum(segment.cell_length for segment in line.row.strip) == layout.width
        assert 0 <= layout.top <= layout.total
        layout.tick(Moment(1, 0.0))


# -- the cursor ---------------------------------------------------------------------------------------------------


def test_the_cursor_visits_every_block_up_and_down():
    layout = opened(conversation(6))
    cursor = Cursor(layout)

    def walk(step):
        seen = []
        while True:
            before = cursor.at
            cursor.move(step)
            if cursor.at == before:
                return seen
            assert any(cursor.is_on(line) for line in layout.lines), "the selected block is on the screen"
            entry, block = cursor.block()
            seen.append((entry.id, block.key))

    blocks = [(e.id, b.key) for e in layout.model.entries for b in e.blocks]
    assert walk(-1) == blocks[::-1]
    assert walk(1) == blocks[1:]


def test_a_block_that_fits_is_shown_whole():
    layout = opened(conversation(20))
    cursor = Cursor(layout)
    for step, times in ((-1, 40), (1, 25), (-1, 7)):
        for _ in range(times):
            cursor.move(step)
            entry, block = cursor.block()
            number = list(entry.blocks).index(block)
            on = [line for line in layout.lines if cursor.is_on(line)]
            assert len(on) == len(layout.rows_of(entry.index, number))


def test_a_block_higher_than_the_window_is_read_before_the_cursor_leaves_it():
    long = "\n".join(f"line {n}" for n in range(250))
    layout = opened([Message("assistant", f"Before.\n\n```\n{long}\n```\n\nAfter.", id="a")])
    cursor = Cursor(layout)
    for step, last in ((-1, "Before."), (1, "After."), (-1, "Before.")):
        seen = set()
        while cursor.at is None or cursor.block()[1].text != last:
            cursor.move(step)
            seen |= set(texts(layout))
        assert all(f"      line {n}" in seen for n in range(250))


def test_a_cursor_that_is_out_of_sight_comes_back_at_the_edge():
    layout = opened(conversation(30))
    cursor = Cursor(layout)
    cursor.move(-1)
    layout.scroll(-100)
    layout.window(20)
    cursor.move(1)
    assert cursor.is_on(layout.lines[0])


def test_a_cursor_whose_block_was_taken_out_is_nowhere():
    layout = opened([Message("user", "hi")])
    cursor = Cursor(layout)
    feed(layout, ev.TextDelta("gone soon"))
    layout.window(20)
    cursor.move(-1)
    assert cursor.block()[1].text == "gone soon"
    feed(layout, ev.PartialDropped())
    layout.window(20)
    assert cursor.block() is None


def test_unfolding_keeps_the_window_where_it_is():
    layout = opened([*conversation(3)])
    layout.scroll(-22)
    layout.window(20)
    row = next(n for n, line in enumerate(layout.lines) if "read_file" in line.row.text)
    entry = layout.lines[row].entry
    before = texts(layout)
    layout.model.toggle(entry)
    layout.toggled(entry)
    layout.window(20)
    assert texts(layout)[: row + 1] == before[: row + 1]
    assert texts(layout)[row + 1] == "    line"
    assert layout.new_rows == 0
