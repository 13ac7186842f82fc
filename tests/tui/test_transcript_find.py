"""Find in the conversation: hits in order, around the ends, across wraps and folds; marked where they stand."""

from __future__ import annotations

import pytest
from textual.geometry import Region
from textual.widgets import Input

from agent_core import events as ev
from agent_core.messages import Message
from nanoherm_tui.transcript.find import Find
from nanoherm_tui.transcript.find_bar import FindBar
from tests.tui.test_transcript_layout import feed, opened, texts
from tests.tui.test_transcript_view import run, staged
from tests.tui.transcript_helpers import conversation, shown


def hits(find, layout, step=1, most=50):
    """Where the find goes, until it comes back to where it was first."""
    out = []
    while len(out) < most:
        entry, block, row = find.at
        out.append((entry.index, block, row))
        assert any(find.is_at(line) for line in layout.window(20)), "the hit is on the screen"
        assert find.next(step)
        if (find.at[0].index, *find.at[1:]) == out[0]:
            return out
    raise AssertionError("it never came back")


def found(messages, query, width=80):
    layout = opened(messages, width=width)
    layout.go_home()
    layout.window(20)
    find = Find(layout)
    assert find.look_for(query)
    return layout, find


def test_every_hit_is_visited_in_order_and_around_the_end():
    layout, find = found(conversation(30), "done")
    forth = hits(find, layout)
    assert len(forth) == 30
    assert forth == sorted(forth)
    assert hits(find, layout, step=-1) == [forth[0], *forth[:0:-1]]


@pytest.mark.parametrize(
    ("source", "query"),
    [
        ("Plain Words here", "words"),
        ("some **bold** text", "bold text"),
        ("用 `parse_date` 修复时区", "修复时区"),
        ("```py\nvalue = 1\n```", "VALUE ="),
        ("| a | b |\n|---|---|\n| x | needle |", "needle"),
        ("straße", "STRASSE"[:4]),
        ("[b + 1 [/", "[b + 1"),
        ("see [the page](http://host/x_1) now", "page http://host/x_1 now"),
        ("<http://host/a> then", "host/a then"),
        ("a &lt; b and A&amp;B -&gt; c", "< b and a&b -> c"),
    ],
)
def test_what_is_shown_can_be_found(source, query):
    _layout, find = found([Message("user", "hi"), Message("assistant", source)], query)
    assert find.at[0].index == 1


def test_what_has_all_the_words_but_not_together_is_not_drawn_to_find_out():
    layout = opened([Message("assistant", f"offset {n} of the day ends at midnight") for n in range(200)])
    before = layout.renders.total()
    assert not Find(layout).look_for("offset midnight")
    assert layout.renders.total() == before


def test_marks_that_could_be_read_in_many_ways_take_no_time():
    layout = opened([Message("assistant", "a" + "]()" * 2_000 + " " + "a&#;](" * 2_000)])
    assert not Find(layout).look_for("a b")


def test_a_hit_across_a_wrap_is_marked_on_both_rows():
    layout, find = found([Message("assistant", "word " * 6 + "first second " + "word " * 6)], "first second", width=45)
    layout.window(20)
    marked = [line.row.text[start:end] for line in layout.lines for start, end in find.spans(line)]
    assert marked == ["first", "second"]


def test_cards_are_found_by_tool_subject_and_outcome():
    for query in ("read_file", "module7.py", "30 lines"):
        _layout, find = found(conversation(10), query)
        assert find.at[0].kind == "card"


def test_a_folded_thought_or_message_unfolds_for_its_hit():
    long = "\n".join(f"row {n}" for n in range(60)) + "\nthe needle"
    thoughts = Message("assistant", "answer", reasoning="first line\nhidden needle in it")
    for messages in ([Message("user", long)], [thoughts]):
        layout, _find = found(messages, "needle")
        layout.window(20)
        assert any("needle" in text for text in texts(layout))


def test_nothing_found_moves_nothing():
    layout = opened(conversation(10))
    before = texts(layout)
    find = Find(layout)
    assert not find.look_for("no such words")
    assert not find.next(1)
    layout.window(20)
    assert texts(layout) == before
    assert layout.stick


def test_the_only_hit_stays_found():
    _layout, find = found([Message("assistant", "one needle")], "needle")
    assert find.next(1)
    assert find.next(-1)


def test_an_empty_session_holds_nothing():
    assert not Find(opened([])).look_for("x")


def test_hits_in_text_that_is_still_arriving_are_found_and_marked():
    layout = opened(conversation(2))
    find = Find(layout)
    feed(layout, ev.TextDelta("a need"))
    layout.window(20)
    assert not find.look_for("needle")
    feed(layout, ev.TextDelta("le in the hay"))
    layout.window(20)
    assert find.next(1)
    assert find.at[0].is_live


# -- on the screen ------------------------------------------------------------------------------------------------


async def test_slash_asks_and_goes_to_the_hit_while_it_is_typed():
    async with run() as pilot:
        view = await staged(pilot, conversation(40))
        await pilot.press("g", "slash")
        await pilot.pause()
        await pilot.press(*"answer 21")
        await pilot.pause()
        assert any("Answer 21" in row for row in shown(view))
        chosen = pilot.app.look.style("seltext", "selection")
        strips = view.render_lines(Region(0, 0, view._width, view.size.height))
        assert [s.text for strip in strips for s in strip if s.style == chosen] == ["Answer 21"]
        await pilot.press("enter")
        await pilot.pause()
        assert view.has_focus
        assert not pilot.app.query(FindBar)
        await pilot.press("y")
        await pilot.pause()
        assert pilot.app.posted[-1] == ("copy", "Answer 21 with `code`.")


async def test_n_and_shift_n_go_on_until_escape():
    async with run() as pilot:
        view = await staged(pilot, conversation(40))
        await pilot.press("g", "slash", *"done 1", "enter")
        await pilot.pause()
        assert any("Done 1." in row for row in shown(view))
        await pilot.press("n")
        assert any("Done 10." in row for row in shown(view))
        await pilot.press("n", "N", "N")
        await pilot.pause()
        assert any("Done 1." in row for row in shown(view))
        await pilot.press("escape")
        await pilot.pause()
        strips = view.render_lines(Region(0, 0, view._width, view.size.height))
        assert not any(s.style and s.style.underline for strip in strips for s in strip)


async def test_the_bar_says_when_there_is_nothing_and_escape_closes_it():
    async with run() as pilot:
        view = await staged(pilot, conversation(5))
        await pilot.press("slash", *"zzz")
        await pilot.pause()
        assert str(pilot.app.query_one("#found").render()) == "No hits."
        await pilot.press("escape")
        await pilot.pause()
        assert view.has_focus
        assert not pilot.app.query(Input)
        assert view.at_end


async def test_a_hit_on_the_last_screen_does_not_run_away_from_its_reader():
    async with run() as pilot:
        view = await staged(pilot, conversation(40))
        await pilot.press("slash", *"done 39", "enter")
        await pilot.pause()
        before = shown(view)
        view.apply([ev.TextDelta("a\n\n" * 30)])
        await pilot.pause()
        assert shown(view)[:-1] == before[:-1]
        await pilot.press("escape")
        await pilot.pause()
        assert view.at_end
        assert shown(view)[-1] == "    a"


async def test_another_session_closes_the_bar():
    async with run() as pilot:
        view = await staged(pilot, conversation(5))
        await pilot.press("slash")
        await pilot.pause()
        view.show(view.model)
        await pilot.pause()
        assert not pilot.app.query(FindBar)
