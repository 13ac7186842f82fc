"""The transcript on a screen: keys, mouse, selection, and what a stream repaints."""

from __future__ import annotations

import time

import pytest
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
from tests.tui.transcript_helpers import Stage, call_events, conversation, look, model, shown


async def staged(pilot, messages=(), batch=()):
    transcript = model()
    transcript.load(messages)
    pilot.app.view.show(transcript)
    pilot.app.view.apply(list(batch))
    pilot.app.view.focus()
    await pilot.pause()
    return pilot.app.view


def run(size=(80, 24)):
    return Stage().run_test(size=size)


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
    width, mark = 50, " ▾ 2 new lines "
    strip = Strip([Segment(row + " " * (width - cell_len(row)))])
    shown = with_mark(strip, mark, width, look()).text
    assert cell_len(shown) == width
    assert shown.partition(mark)[0].rstrip() == left
    assert shown.partition(mark)[1:] == (mark, "  ")


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


async def drag(pilot, start, end, *, button=1):
    await pilot.mouse_down("TranscriptView", offset=start)
    await drag_on(pilot, end, button)
    await pilot.mouse_up("TranscriptView", offset=end)
    await pilot.pause()


async def drag_on(pilot, to, button=1):
    """The mouse moves with its button held; Pilot's own moves hold none."""
    x, y = to
    moved = events.MouseMove(None, x, y, 1, 1, button, False, False, False, screen_x=x, screen_y=y)
    pilot.app.screen._forward_event(moved)
    await pilot.pause()


async def test_dragging_selects_text_without_marks_and_joins_wrapped_rows():
    async with run(size=(40, 12)) as pilot:
        view = await staged(
            pilot,
            [
                Message("user", "one two three four five six seven eight nine ten"),
                Message("assistant", "- 你好 `code`\n- b"),
            ],
        )
        await drag(pilot, (4, 0), (20, 5))
        text = pilot.app.screen.get_selected_text()
        assert text == "one two three four five six seven eight nine ten\n\n你好 code\nb"
        rows = view.render_lines(Region(0, 0, view._width, view.size.height))
        chosen = pilot.app.look.style("seltext", "selection")
        assert any(segment.style == chosen for segment in rows[0])


async def test_a_selection_stays_on_its_words_while_text_arrives_and_the_window_scrolls():
    async with run() as pilot:
        view = await staged(pilot, conversation(10))
        await drag(pilot, (4, 16), (30, 21))
        text = pilot.app.screen.get_selected_text()
        assert text
        before = shown(view)
        view.apply([ev.TextDelta(f"paragraph {n}\n\n") for n in range(30)])
        assert shown(view)[:-1] == before[:-1], "nothing moves under an open selection"
        await pilot.press("pageup")
        assert pilot.app.screen.get_selected_text() == text


async def test_dragging_over_the_edge_scrolls_and_selects_on():
    async with run() as pilot:
        view = await staged(pilot, conversation(30))
        await pilot.press("g")
        await pilot.mouse_down("TranscriptView", offset=(4, 2))
        for y in (12, 23):
            await drag_on(pilot, (30, y))
        for _ in range(100):
            await pilot.pause(0.02)
            if view.scroll_y >= 10:
                break
        await pilot.mouse_up("TranscriptView", offset=(30, 23))
        selected = pilot.app.screen.get_selected_text()
        assert view.scroll_y >= 10
        assert selected.count("\n") > 22, "more than the screen holds"
        assert selected.startswith("Thought")


async def test_when_the_selection_is_gone_the_end_is_followed_again():
    async with run() as pilot:
        view = await staged(pilot, conversation(10))
        await drag(pilot, (4, 16), (30, 21))
        view.apply([ev.TextDelta("newest words")])
        assert not view.at_end
        pilot.app.screen.clear_selection()
        await pilot.pause()
        assert view.at_end
        assert shown(view)[-1] == "    newest words"


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


# -- selecting by keys ------------------------------------------------------------------------------------------------


def selected(pilot):
    return pilot.app.screen.get_selected_text() or ""


def caret(view):
    """Where the caret is painted, as (row, column)."""
    found = []
    for y, strip in enumerate(view.render_lines(Region(0, 0, view._width, view.size.height))):
        x = 0
        for segment in strip:
            if segment.style and segment.style.reverse:
                found.append((y, x))
            x += segment.cell_length
    return found


async def test_v_lets_keys_move_the_end_of_a_selection_and_y_copies_it():
    async with run() as pilot:
        view = await staged(pilot, [Message("user", "one two three"), Message("assistant", "第四 five\n\nsix")])
        await pilot.press("v")
        assert caret(view) == [(0, 4)]
        assert "Selecting" in shown(view)[-1]
        for keys, expected in (
            (("w",), "one "),
            (("e",), "one two"),
            (("l", "l"), "one two t"),
            (("h",), "one two "),
            (("b",), "one "),
            (("dollar_sign",), "one two three"),
            (("j",), "one two three\n\n第四 five"),
            (("0",), "one two three\n\n"),
            (("l",), "one two three\n\n第"),
            (("G",), "one two three\n\n第四 five\n\nsix"),
            (("g",), ""),
        ):
            await pilot.press(*keys)
            assert selected(pilot) == expected.rstrip("\n"), keys
        await pilot.press("G", "y")
        await pilot.pause()
        assert pilot.app.posted == [("copy", "one two three\n\n第四 five\n\nsix")]
        assert not selected(pilot)
        assert not caret(view)
        assert "Selecting" not in shown(view)[-1]


async def test_shifted_arrows_select_without_a_mode_before():
    async with run() as pilot:
        view = await staged(pilot, [Message("user", "one two"), Message("assistant", "three four")])
        await pilot.press("shift+right", "shift+right", "shift+down")
        assert selected(pilot) == "one two\n\nth"
        await pilot.press("shift+end")
        assert selected(pilot) == "one two\n\nthree four"
        await pilot.press("shift+home", "shift+up", "shift+left")
        await pilot.press("escape")
        assert not selected(pilot)
        assert not view.uses_letters


async def test_the_window_follows_the_end_of_a_selection_over_messages_that_were_never_drawn():
    async with run() as pilot:
        view = await staged(pilot, conversation(2000))
        await pilot.press("k", "v", *["pageup"] * 20)
        text = selected(pilot)
        assert text.endswith("x = 1999\n\n") or "Answer 1999" in text
        assert text.count("Question") >= 20
        assert len(caret(view)) == 1
        drawn = sum(entry.is_split for entry in view.model.entries)
        await pilot.press("g")
        assert shown(view)[0].startswith("▐   Question 0") or caret(view)[0][0] == 0
        assert view.scroll_y == 0
        assert sum(entry.is_split for entry in view.model.entries) < drawn + 40
        await pilot.press("G")
        assert view.at_end or caret(view)[0][0] == view.size.height - 1


async def test_a_selection_by_keys_stays_while_text_arrives_and_the_window_is_resized():
    async with run() as pilot:
        view = await staged(pilot, conversation(3))
        await pilot.press("k", "v", "k", "k", "k")
        text = selected(pilot)
        assert "\n" in text
        view.apply([ev.TextDelta(f"paragraph {n}\n\n") for n in range(30)])
        for size in ((40, 20), (120, 30), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert selected(pilot) == text
        await pilot.press("l")
        assert selected(pilot) == text[1:]


async def test_letters_of_the_mode_are_letters_again_outside_it():
    async with run() as pilot:
        view = await staged(pilot, [Message("user", "one two")])
        await pilot.press("v", "e", "alt+x", "v")
        assert not view.uses_letters
        await pilot.press("w", "h", "0")
        assert not selected(pilot)
        assert not caret(view)


async def test_the_keyboard_elsewhere_ends_the_mode_and_leaves_what_is_selected():
    async with run() as pilot:
        view = await staged(pilot, [Message("user", "one two")])
        await pilot.press("v", "e")
        view.blur()
        await pilot.pause()
        assert selected(pilot) == "one"
        assert not view.uses_letters
        view.focus()
        await pilot.press("v", "e")
        assert selected(pilot) == "one two"


async def test_nothing_selected_is_said_and_not_copied():
    async with run() as pilot:
        await staged(pilot, [Message("user", "one two")])
        await pilot.press("v", "y")
        await pilot.pause()
        assert pilot.app.posted == [("copy", "Nothing is selected yet.")]


async def test_c_copies_the_code_and_capital_y_the_message():
    code = "\n".join(f"line {n}" for n in range(250))
    answer = f"Look:\n\n```py\n{code}\n```\n\nThat is *all*."
    async with run() as pilot:
        await staged(pilot, [Message("user", "hi"), Message("assistant", answer)])
        await pilot.press("c", "k", "c", "Y")
        await pilot.press("g", "j", "c")
        await pilot.pause()
        assert pilot.app.posted == [
            ("copy", "No block chosen. j and k choose one."),
            ("copy", code),
            ("copy", answer),
            ("copy", "No code in this message."),
        ]


async def test_a_double_click_selects_a_word_and_a_triple_click_the_block():
    async with run() as pilot:
        await staged(pilot, [Message("user", "hi"), Message("assistant", "see src/app.py:7, or 别的 place.\n\nNext.")])
        await pilot.double_click("TranscriptView", offset=(10, 2))
        await pilot.pause()
        assert selected(pilot) == "src/app.py:7"
        await pilot.triple_click("TranscriptView", offset=(10, 2))
        await pilot.pause()
        assert selected(pilot) == "see src/app.py:7, or 别的 place."
        await pilot.click("TranscriptView", offset=(10, 4))
        await pilot.pause()
        assert not selected(pilot)


async def test_a_file_that_is_named_opens_by_ctrl_click_and_at_the_caret():
    async with run() as pilot:
        await staged(pilot, [Message("user", "hi"), Message("assistant", "see src/app.py:7 and words")])
        await pilot.click("TranscriptView", offset=(10, 2), control=True)
        await pilot.press("k", "v", "w", "o", "dollar_sign", "b", "enter")
        await pilot.pause()
        assert [posted for posted in pilot.app.posted if posted[0] == "path"] == [("path", "src/app.py:7")] * 2


async def test_a_release_that_was_lost_ends_the_drag():
    async with run() as pilot:
        await staged(pilot, [Message("user", "one two three four")])
        await pilot.mouse_down("TranscriptView", offset=(4, 0))
        await drag_on(pilot, (10, 0))
        text = selected(pilot)
        await drag_on(pilot, (15, 0), button=0)
        await drag_on(pilot, (20, 0), button=0)
        assert selected(pilot) == text == "one two"


async def test_an_empty_line_in_a_selection_shows():
    async with run() as pilot:
        view = await staged(pilot, [Message("user", "hi"), Message("assistant", "```\na\n\nb\n```")])
        await drag(pilot, (6, 2), (6, 4))
        assert selected(pilot) == "a\n\nb"
        chosen = pilot.app.look.style("seltext", "selection")
        strip = view.render_lines(Region(0, 3, view._width, 1))[0]
        assert sum(segment.cell_length for segment in strip if segment.style == chosen) == 1


# -- turns and what is unread -----------------------------------------------------------------------------------------


async def test_braces_go_from_one_message_of_the_users_to_the_next():
    async with run() as pilot:
        view = await staged(pilot, conversation(30))
        await pilot.press("left_curly_bracket")
        assert "Question 29" in "".join(shown(view)[:16])
        await pilot.press("left_curly_bracket", "left_curly_bracket")
        assert shown(view)[0].endswith("Question 27: 第 27 个问题。       22:13") or "Question 27" in shown(view)[0]
        await pilot.press("right_curly_bracket")
        assert "Question 28" in "".join(shown(view)[:12])
        await pilot.press("right_curly_bracket", "right_curly_bracket")
        assert view.at_end
        await pilot.press("g", "left_curly_bracket")
        assert view.scroll_y == 0


async def test_braces_find_the_users_message_far_away_in_no_time():
    messages = [Message("user", "the first"), *(Message("assistant", f"answer {n}") for n in range(20_000))]
    async with run() as pilot:
        view = await staged(pilot, messages)
        begun = time.process_time()
        await pilot.press("left_curly_bracket")
        assert "the first" in shown(view)[0]
        assert time.process_time() - begun < 1.5, "seconds; measured 0.05"
        assert sum(entry.is_split for entry in view.model.entries) < 100


def new_mark(view):
    return [y for y, row in enumerate(shown(view)) if row == "  ▾ new"]


async def left_and_back(pilot, view, happens):
    """Another session is shown while events come for this one; then this one is shown again."""
    first = view.model
    other = model()
    other.load([Message("user", "another session")])
    view.show(other)
    await pilot.pause()
    for event in happens:
        first.apply(event)
    view.show(first)
    await pilot.pause()


async def test_what_came_meanwhile_is_marked_and_stands_at_the_top_when_it_does_not_fit():
    async with run() as pilot:
        view = await staged(pilot, conversation(10))
        await left_and_back(pilot, view, [ev.UserMessage("u", "go on"), ev.TextDelta("a\n\n" * 40)])
        assert new_mark(view) == [0]
        assert shown(view)[1].startswith("  ▐ go on")
        assert not view.at_end
        assert view.last_seen == "u"
        await pilot.press("end")
        assert view.at_end
        await pilot.press("g", "end")
        assert not new_mark(view)


async def test_what_came_meanwhile_and_fits_is_marked_at_the_end_until_a_turn_is_sent():
    async with run() as pilot:
        view = await staged(pilot, conversation(10))
        await left_and_back(pilot, view, call_events("late"))
        assert view.at_end
        assert len(new_mark(view)) == 1
        view.apply([ev.UserMessage("u", "thanks")])
        await pilot.pause()
        assert not new_mark(view)


async def test_a_session_in_which_nothing_came_has_no_mark():
    async with run() as pilot:
        view = await staged(pilot, conversation(10))
        before = shown(view)
        await left_and_back(pilot, view, [])
        assert shown(view) == before


async def test_an_answer_that_grew_is_new_from_the_paragraph_that_grew():
    async with run() as pilot:
        view = await staged(pilot, conversation(2), [ev.UserMessage("u", "q"), ev.TextDelta("seen\n\npart of ")])
        await left_and_back(pilot, view, [ev.TextDelta("it\n\n" + "more\n\n" * 30)])
        assert shown(view)[:2] == ["  ▾ new", "    part of it"]
        assert view.last_seen == "u"


async def test_a_reader_who_was_not_at_the_end_finds_the_place_again():
    async with run() as pilot:
        view = await staged(pilot, conversation(10))
        await pilot.press("pageup")
        before = shown(view)
        await left_and_back(pilot, view, [ev.TextDelta("a\n\n" * 40)])
        assert shown(view)[:-1] == before[:-1]
        assert not new_mark(view)
        await pilot.press("u")
        assert shown(view)[1] == "    a"


async def test_u_goes_to_the_mark_and_does_nothing_when_all_is_read():
    async with run() as pilot:
        view = await staged(pilot, conversation(10))
        await pilot.press("u")
        assert view.at_end
        await left_and_back(pilot, view, [ev.TextDelta("a\n\n" * 60)])
        await pilot.press("pagedown", "pagedown")
        assert not new_mark(view)
        await pilot.press("u")
        assert new_mark(view) == [0]


async def test_a_stored_session_opens_after_the_last_message_that_was_seen():
    messages = conversation(10)
    async with run() as pilot:
        transcript = model()
        pilot.app.view.show(transcript, seen=messages[15].id)
        transcript_loaded = ev.HistoryChanged(tuple(messages))
        pilot.app.view.apply([transcript_loaded])
        view = pilot.app.view
        view.focus()
        await pilot.pause()
        assert new_mark(view) == [0]
        assert "Question 4" in shown(view)[1]
        await pilot.press("end")
        assert view.last_seen == messages[-1].id
    for seen in (messages[-1].id, "unknown", ""):
        async with run() as pilot:
            transcript = model()
            transcript.load(messages)
            pilot.app.view.show(transcript, seen=seen)
            await pilot.pause()
            assert pilot.app.view.at_end
            assert not new_mark(pilot.app.view)


@pytest.mark.parametrize("theme", ["nanoherm-dark", "high-contrast", "ansi"])
async def test_the_caret_behind_what_is_selected_is_told_from_it(theme):
    async with Stage(look(theme)).run_test(size=(80, 24)) as pilot:
        view = await staged(pilot, [Message("user", "one two three")])
        await pilot.press("v", "w")
        cells = [(c, s.style) for s in view.render_lines(Region(0, 0, view._width, 1))[0] for c in s.text]
        selected, caret, beyond = cells[4][1], cells[8][1], cells[9][1]
        assert "".join(c for c, _ in cells[4:11]) == "one two"
        seen = [(s.color, s.bgcolor, bool(s.reverse), bool(s.underline)) for s in (selected, caret, beyond)]
        assert len(set(seen)) == 3
        assert bool(caret.underline) == (theme != "nanoherm-dark")
