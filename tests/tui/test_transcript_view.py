"""The transcript's widget: what it paints, when, and where its keys and the mouse lead."""

from __future__ import annotations

import time

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.strip import Strip

from agent_core import events as ev
from agent_core.messages import Message
from nanoherm_tui import symbols
from nanoherm_tui.transcript.painting import with_mark
from tests.rows import each_row
from tests.tui.transcript_helpers import call_events, conversation, look, model, run, shown, staged


async def test_a_stored_session_opens_at_its_end():
    async with run() as pilot:
        view = await staged(pilot, conversation(30))
        assert shown(view)[-1] == "    Done 29."
        assert view.at_end


async def test_every_row_is_painted_at_the_width_of_the_pane_at_any_size():
    async with run() as pilot:
        view = await staged(pilot, conversation(10), [*call_events("c"), ev.ReasoningDelta("hm"), ev.TextDelta("你好")])
        for size in ((40, 10), (23, 7), (200, 60), (1, 1), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            strips = view.render_lines(Region(0, 0, view._width, view.size.height))
            assert {strip.cell_length for strip in strips} <= {view._width}


async def test_a_hidden_reader_is_not_disturbed_and_a_mark_counts_what_is_new():
    async with run() as pilot:
        view = await staged(pilot, conversation(30))
        await pilot.press("g")
        await pilot.pause()
        assert not view.at_end
        before, paints, top = shown(view), view.counters.paints, view.scroll_y
        view.apply([ev.TextDelta("line 0\n\n")])
        await pilot.pause()
        assert "2 new lines" in shown(view)[-1]
        for n in range(1, 100):
            view.apply([ev.TextDelta(f"line {n}\n\n")])
            await pilot.pause(0)
        assert view.counters.paints - paints <= 3, "the mark appears; deltas paint nothing more"
        view.tick()
        await pilot.pause()
        after = shown(view)
        assert after[:-1] == before[:-1]
        assert "200 new lines" in after[-1]
        assert view.scroll_y == top == 0
        await pilot.press("end")
        await pilot.pause()
        assert view.at_end
        assert shown(view)[-1] == "    line 99"


@each_row(
    ("row", "left"),
    [
        ("    Done.", "    Done."),
        ("    prose that goes on under the mark as words", "    prose that goes on under ⋯"),
        ("    prose that just ends before it", "    prose that just ends before ⋯"),
        ("  ✓ read_file    a.py         53 lines   0.0 s", "  ✓ read_file    a.py ⋯"),
        ("  ✓ read_file    src/a.py   1,053 lines   0.0 s", "  ✓ read_file    src/a.py ⋯"),
        ("  ✗ run_command  pytest/⋯   2 failed, 14 passed", "  ✗ run_command  pytest/⋯"),
        ("  ▐ Where is it? Which modules            10:38 ", "  ▐ Where is it? Which modules ⋯"),
        ("    中文字一行接着一行写下去，一直写到标记下面", "    中文字一行接着一行写下去， ⋯"),
        ("    `code`  with gaps in it goes on below it", "    `code`  with gaps in it ⋯"),
    ],
)
def test_of_a_row_under_the_mark_whole_words_are_left_and_no_part_of_a_figure(row, left):
    width, mark = 51, "▐ ▾ 2 new lines "
    strip = Strip([Segment(row + " " * (width - cell_len(row)))])
    shown = with_mark(strip, mark[1:], width, look()).text
    assert cell_len(shown) == width
    assert shown.partition(mark)[0].rstrip() == left
    assert shown.partition(mark)[1:] == (mark, "  ")


def test_where_the_mark_leaves_no_word_it_is_said_in_the_column_of_the_text_that_there_is_more():
    for width in (23, 24):
        strip = Strip([Segment("    " + "prose" * 9)]).crop(0, width)
        assert with_mark(strip, " ▾ 2 new lines ", width, look()).text.partition("▐")[0].rstrip() == "    ⋯"


async def test_the_mark_takes_a_click_to_the_end():
    async with run() as pilot:
        view = await staged(pilot, conversation(30))
        await pilot.press("home")
        view.apply([ev.TextDelta("a\n\nb\n\nc")])
        await pilot.pause()
        assert "6 new lines" in shown(view)[-1]
        await pilot.click("TranscriptView", offset=(view._width - 5, view.size.height - 1))
        await pilot.pause()
        assert view.at_end


async def test_one_batch_is_one_sync():
    async with run() as pilot:
        view = await staged(pilot, conversation(3))
        before = view.counters.syncs
        view.apply([ev.TextDelta("a"), ev.TextDelta("b"), *call_events("c1"), *call_events("c2"), ev.Notice("n", "x")])
        assert view.counters.syncs == before + 1
        view.apply([ev.ModeChanged("plan"), ev.TitleChanged("t")])
        assert view.counters.syncs == before + 1


async def test_a_stream_repaints_only_the_rows_that_change():
    async with run() as pilot:
        view = await staged(pilot, [Message("user", "hi")], [ev.TextDelta("word")])
        await pilot.pause()
        before = view.counters.rows
        for _ in range(10):
            view.apply([ev.TextDelta(" word")])
            await pilot.pause()
        assert view.counters.rows - before == 10


async def test_running_marks_step_together_and_seconds_count():
    async with run() as pilot:
        transcript = model()
        view = pilot.app.view
        view.show(transcript)
        view.apply([ev.UserMessage("u", "hi")])
        for call in ("a", "b"):
            view.apply([ev.ToolQueued(call, "run_command", "sleep"), ev.ToolStarted(call)])
        await pilot.pause()
        for _ in range(3):
            transcript.clock.now += 1
            view.tick()
        marks = [line[2] for line in shown(view) if "run_command" in line]
        assert marks == [symbols.SPINNER[3]] * 2
        assert all(line.endswith("3 s") for line in shown(view) if "run_command" in line)
        await pilot.pause()
        before = view.counters.rows
        view.tick()
        await pilot.pause()
        assert view.counters.rows - before == 2


async def test_a_tick_with_nothing_running_paints_nothing():
    async with run() as pilot:
        view = await staged(pilot, conversation(3))
        before = view.counters.paints
        for _ in range(5):
            view.tick()
        await pilot.pause()
        assert view.counters.paints == before


async def test_keys_move_the_cursor_fold_open_and_copy():
    async with run() as pilot:
        view = await staged(pilot, conversation(1))
        for _ in range(6):
            await pilot.press("k")
        await pilot.pause()
        app = pilot.app
        assert [row for row in shown(view) if row.startswith("▐")] == [row for row in shown(view) if "Thought" in row]
        await pilot.press("space")
        await pilot.pause()
        assert any(row.endswith("more of it") for row in shown(view))
        await pilot.press("j")
        await pilot.press("enter")
        await pilot.press("o")
        await pilot.press("j", "j", "j", "y")
        await pilot.pause()
        assert app.posted.count(("open", "call-0")) == 2
        assert app.posted[-1] == ("copy", "x = 0")


async def test_the_cursors_bar_shows_only_with_the_focus():
    async with run() as pilot:
        view = await staged(pilot, [Message("user", "hi"), Message("assistant", "hello")])
        await pilot.press("k")
        assert shown(view)[2] == "▐   hello"
        view.blur()
        await pilot.pause()
        assert shown(view)[2] == "    hello"


async def test_page_keys_wheel_and_scrollbar_move_by_rows():
    async with run() as pilot:
        view = await staged(pilot, conversation(40))
        bottom = view.scroll_y
        await pilot.press("pageup")
        assert view.scroll_y <= bottom - 20
        await pilot.press("pagedown")
        assert view.at_end
        view.post_message(events.MouseScrollUp(view, 5, 5, 0, 0, 0, False, False, False))
        await pilot.pause()
        assert not view.at_end
        await pilot.press("G")
        assert view.at_end
        await pilot.click(view.vertical_scrollbar, offset=(0, 0))
        await pilot.pause()
        assert not view.at_end


async def test_a_click_on_a_card_opens_it_and_on_a_thought_unfolds_it():
    async with run() as pilot:
        view = await staged(pilot, conversation(1))
        rows = shown(view)
        card = next(n for n, row in enumerate(rows) if "read_file" in row)
        thought = next(n for n, row in enumerate(rows) if "Thought" in row)
        await pilot.click("TranscriptView", offset=(10, card))
        await pilot.pause()
        assert ("open", "call-0") in pilot.app.posted
        await pilot.click("TranscriptView", offset=(10, thought))
        await pilot.pause()
        assert "▾" in shown(view)[thought]
        assert "more of it" in shown(view)[thought + 2]


async def test_switching_sessions_keeps_each_place():
    async with run() as pilot:
        view = await staged(pilot, conversation(30))
        first = view.model
        await pilot.press("pageup", "pageup")
        before = shown(view)
        second = model()
        second.load([Message("user", "another session")])
        view.show(second)
        await pilot.pause()
        assert "another session" in shown(view)[0]
        for event in (ev.UserMessage("u", "meanwhile"), ev.TextDelta("an answer")):
            first.apply(event)
        view.show(first)
        await pilot.pause()
        assert shown(view)[:-1] == before[:-1]
        assert "new lines" in shown(view)[-1]


async def test_a_pane_that_is_hidden_and_shown_again_is_where_it_was():
    async with run() as pilot:
        view = await staged(pilot, conversation(30))
        await pilot.press("pageup", "pageup")
        before = shown(view)
        view.display = False
        await pilot.pause()
        view.apply([ev.UserMessage("u", "meanwhile")])
        await pilot.resize_terminal(60, 24)
        view.display = True
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert shown(view)[:-1] == before[:-1]


async def test_a_session_reset_while_hidden_or_shown_is_drawn_from_its_start():
    async with run() as pilot:
        view = await staged(pilot, conversation(30))
        await pilot.press("g")
        view.model.load([Message("user", "only this")])
        view.show(view.model)
        await pilot.pause()
        assert "only this" in shown(view)[0]


async def test_details_unfold_and_fold_everything_at_once():
    async with run(size=(80, 100)) as pilot:
        view = await staged(pilot, conversation(2))
        before = shown(view)
        view.toggle_details()
        await pilot.pause()
        unfolded = "\n".join(shown(view))
        assert unfolded.count("more of it") == 2
        assert unfolded.count("10 more lines") == 2
        view.apply([*call_events("late", ok=False, text="", preview=("why",)), ev.ReasoningDelta("one\ntwo")])
        rows = [row for row in shown(view) if row]
        assert rows[-4:] == ["    why", "  ⠋ Thinking, 0 s", "    one", "    two"], "what comes later too"
        view.toggle_details()
        view.apply([ev.PartialDropped()])
        await pilot.pause()
        folded = [row for row in before if row]
        assert [row for row in shown(view) if row][: len(folded)] == folded


async def test_another_theme_draws_everything_anew_in_place():
    async with run() as pilot:
        view = await staged(pilot, conversation(10))
        await pilot.press("pageup")
        before = shown(view)
        pilot.app.look = look("nanoherm-light")
        view.refresh_look()
        await pilot.pause()
        assert shown(view) == before
        ground = pilot.app.look.style().bgcolor
        strips = view.render_lines(Region(0, 0, view._width, view.size.height))
        assert ground in {segment.style.bgcolor for strip in strips for segment in strip}


async def test_control_bytes_and_markup_reach_no_cell():
    nasty = "[/ [b + 1 \x1b[2J\x1b]0;t\x07\x9bc\x00 [r"
    async with run() as pilot:
        batch = [
            ev.UserMessage("u", nasty),
            ev.TextDelta(nasty + "\n\n```\n" + nasty + "\n```\n"),
            ev.AssistantMessage("a", nasty, nasty),
            *call_events("c", name=nasty, subject=nasty, ok=False, outcome=nasty, text=nasty, preview=(nasty,)),
            ev.ToolQueued("d", nasty, nasty),
            ev.ToolStarted("d"),
            ev.ToolProgress("d", nasty),
            ev.Notice("n", nasty),
            ev.ErrorRaised("e", nasty),
        ]
        view = await staged(pilot, batch=batch)
        everything = "".join(shown(view))
        assert not [char for char in everything if ord(char) < 32 or 127 <= ord(char) < 160]
        assert everything.count("[b + 1") >= 5


async def test_twenty_thousand_messages_open_fast_with_no_widget_each():
    async def opening(turns):
        async with run(size=(120, 40)) as pilot:
            view = await staged(pilot, [Message("user", "warm up")])
            transcript = model()
            transcript.load(conversation(turns))
            began = time.process_time()
            view.show(transcript)
            await pilot.pause()
            spent = time.process_time() - began
            split = sum(entry.is_split for entry in transcript.entries)
            began = time.process_time()
            await pilot.press("home", "end", "pageup", "pageup", "pagedown")
            return spent, split, len(pilot.app.query("*")), time.process_time() - began

    small = await opening(50)
    large = await opening(5000)
    assert large[0] < 1.5, "seconds; measured 0.1"
    assert large[1] == small[1] < 40, "only what is near the window is parsed"
    assert large[2] == small[2]
    assert large[3] < 4 * small[3] + 0.2
