"""From turn to turn in the transcript, and what came while nobody looked."""

from __future__ import annotations

import time

from agent_core import events as ev
from agent_core.messages import Message
from tests.tui.transcript_helpers import call_events, conversation, model, run, shown, staged


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
