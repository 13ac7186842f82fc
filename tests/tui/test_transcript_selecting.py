"""Selecting in the transcript by mouse and by keys: what is taken, copied, and told from the rest."""

from __future__ import annotations

import pytest
from textual import events
from textual.geometry import Region

from agent_core import events as ev
from agent_core.messages import Message
from tests.tui.transcript_helpers import Stage, conversation, look, run, shown, staged


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


# -- selecting by keys ------------------------------------------------------------------------------------------------


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
