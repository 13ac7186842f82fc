"""Find in the conversation: hits in order, around the ends, across wraps and folds; marked where they stand."""

from __future__ import annotations

import pytest
from textual.events import Key
from textual.geometry import Region
from textual.widgets import Input

from agent_core import events as ev
from agent_core.messages import Message
from nanoherm_tui import limits
from nanoherm_tui.panes.find_input import FindInput
from nanoherm_tui.transcript.find import Find, _Source
from nanoherm_tui.transcript.find_bar import FindBar
from tests.rows import each_row
from tests.tui.overlay_app import OverlayApp
from tests.tui.test_transcript_layout import feed, opened, texts
from tests.tui.transcript_helpers import conversation, run, shown, staged


def known(find, answer):
    """Whether there is a hit, however many moments it takes to know."""
    while answer is None:
        answer = find.go_on()
    return answer


def hits(find, layout, step=1, most=50):
    """Where the find goes, until it comes back to where it was first."""
    out = []
    while len(out) < most:
        entry, block, row = find.at
        out.append((entry.index, block, row))
        assert any(find.is_at(line) for line in layout.window(20)), "the hit is on the screen"
        assert known(find, find.next(step))
        if (find.at[0].index, *find.at[1:]) == out[0]:
            return out
    raise AssertionError("it never came back")


def found(messages, query, width=80):
    layout = opened(messages, width=width)
    layout.go_home()
    layout.window(20)
    find = Find(layout)
    assert known(find, find.look_for(query))
    return layout, find


def test_every_hit_is_visited_in_order_and_around_the_end():
    layout, find = found(conversation(30), "done")
    forth = hits(find, layout)
    assert len(forth) == 30
    assert forth == sorted(forth)
    assert hits(find, layout, step=-1) == [forth[0], *forth[:0:-1]]


@each_row(
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
    find = Find(layout)
    assert not known(find, find.look_for("offset midnight"))
    assert layout.renders.total() == before


def test_marks_that_could_be_read_in_many_ways_take_no_time():
    layout = opened([Message("assistant", "a" + "]()" * 2_000 + " " + "a&#;](" * 2_000)])
    find = Find(layout)
    assert not known(find, find.look_for("a b"))


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
    assert not known(find, find.look_for("no such words"))
    assert not known(find, find.next(1))
    layout.window(20)
    assert texts(layout) == before
    assert layout.stick


def test_the_only_hit_stays_found():
    _layout, find = found([Message("assistant", "one needle")], "needle")
    assert known(find, find.next(1))
    assert known(find, find.next(-1))


def test_an_empty_session_holds_nothing():
    assert Find(opened([])).look_for("x") is False


def test_hits_in_text_that_is_still_arriving_are_found_and_marked():
    layout = opened(conversation(2))
    find = Find(layout)
    feed(layout, ev.TextDelta("a need"))
    layout.window(20)
    assert not known(find, find.look_for("needle"))
    feed(layout, ev.TextDelta("le in the hay"))
    layout.window(20)
    assert known(find, find.next(1))
    assert find.at[0].is_live


# -- a moment at a time -------------------------------------------------------------------------------------------


@pytest.fixture
def shortest_moments(monkeypatch):
    """A search that stops after each piece of work."""
    monkeypatch.setattr(limits, "FIND_SLICE", -1.0)


def moments(find, answer):
    """How many moments it takes to know, and what is known then."""
    count = 1
    while answer is None:
        count += 1
        answer = find.go_on()
    return count, answer


@pytest.mark.usefixtures("shortest_moments")
def test_a_search_that_stops_after_every_message_visits_every_hit_in_order():
    layout = opened(conversation(20))
    layout.go_home()
    layout.window(20)
    find = Find(layout)
    assert find.look_for("done") is None
    assert known(find, None)
    forth = hits(find, layout)
    assert len(forth) == 20
    assert forth == sorted(forth)
    assert hits(find, layout, step=-1) == [forth[0], *forth[:0:-1]]


@pytest.mark.usefixtures("shortest_moments")
def test_until_it_is_known_nothing_moves_and_turning_round_finds_the_hit_behind():
    layout, find = found(conversation(20), "question 9:")
    at, before = find.at, texts(layout)
    known(find, find.look_for("question"))
    assert find.at == at
    assert find.next(1) is None
    assert find.at == at
    assert texts(layout) == before
    assert find.is_searching
    assert known(find, find.next(-1))
    assert find.at[0].text.startswith("Question 8:")


@pytest.mark.usefixtures("shortest_moments")
def test_a_key_that_comes_while_it_searches_takes_the_search_further():
    layout = opened(conversation(20))
    layout.go_home()
    layout.window(20)
    find = Find(layout)
    answer = find.look_for("question 15:")
    while answer is None:
        answer = find.next(1)
    assert answer
    assert find.at[0].text.startswith("Question 15:")


@pytest.mark.usefixtures("shortest_moments")
def test_messages_that_come_and_go_while_it_searches_do_no_harm():
    layout = opened(conversation(20))
    layout.go_home()
    layout.window(20)
    find = Find(layout)
    assert find.look_for("needle") is None
    feed(layout, ev.ReasoningDelta("hm"), ev.TextDelta("a straw and a needle"))
    assert find.go_on() is None
    feed(layout, ev.PartialDropped())
    layout.model.load([*conversation(3), Message("assistant", "the needle")])
    layout.update(())
    layout.window(20)
    assert known(find, find.go_on())
    assert find.at[0].text == "the needle"
    assert find.at[0] is layout.model.entries[-1]


def test_a_longer_word_is_only_looked_for_where_the_shorter_one_was(monkeypatch):
    layout = opened([Message("user", f"number {n}") for n in range(400)])
    layout.go_home()
    layout.window(20)
    find = Find(layout)
    assert known(find, find.look_for("number 39"))
    assert known(find, find.next(1))
    looked = []
    may_be_in = _Source.may_be_in
    monkeypatch.setattr(_Source, "may_be_in", lambda self, text: looked.append(text) or may_be_in(self, text))
    assert known(find, find.look_for("number 399"))
    assert len(looked) < 20


def test_a_search_through_thousands_of_messages_leaves_time_for_keys(monkeypatch):
    monkeypatch.setattr(limits, "FIND_SLICE", 0.001)
    words = "the offset is read 然后被丢掉 and more of it " * 20
    layout = opened([Message("assistant", f"{words} {n}") for n in range(4_000)])
    find = Find(layout)
    count, answer = moments(find, find.look_for("nowhere to be found"))
    assert answer is False
    assert count > 2


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


async def test_keys_in_one_read_with_the_find_key_are_what_is_looked_for_and_slash_comes_back_to_an_open_bar():
    async with run() as pilot:
        view = await staged(pilot, conversation(40))
        await pilot.press("g")
        for key in ("slash", *"done", "space", *"1x", "backspace"):
            pilot.app.post_message(Key(key, {"slash": "/", "space": " ", "backspace": None}.get(key, key)))
        await pilot.pause()
        await pilot.pause()
        field = pilot.app.query_one(Input)
        assert field.value == "done 1"
        assert not field.cursor_blink
        assert any("Done 1." in row for row in shown(view))
        view.focus()
        await pilot.press("slash", *"done 21")
        assert field.value == "done 21"


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


async def test_a_long_search_lets_keys_through_and_says_so_until_it_knows(monkeypatch):
    monkeypatch.setattr(limits, "FIND_SLICE", 1e-4)
    async with run() as pilot:
        view = await staged(pilot, conversation(60))
        await pilot.press("g", "slash")
        await pilot.pause()
        bar = pilot.app.query_one(FindBar)
        said = []
        monkeypatch.setattr(bar, "tell", lambda found: said.append(found) or FindBar.tell(bar, found))
        bar.query_one(Input).value = "done 59"
        await pilot.pause(0)
        assert said == [None]
        assert str(bar.query_one("#found").render()) == "searching"
        await pilot.press("!")
        assert bar.query_one(Input).value == "done 59!", "the key had its turn"
        await pilot.press("backspace")
        while view._page.find.is_searching:
            await pilot.pause(0.01)
        assert any("Done 59." in row for row in shown(view))
        assert str(bar.query_one("#found").render()) == ""
        assert said[-1] is True


@pytest.mark.parametrize("theme", ["nanoherm-dark", "ansi"])
async def test_the_caret_is_seen_where_words_to_find_are_typed(theme):
    app = OverlayApp(theme)
    async with app.run_test(size=(40, 5)) as pilot:
        field = FindInput(placeholder="Find")
        await app.mount(field)
        field.focus()
        for typed in ("", "x"):  # on the words that say what belongs there, and after what was typed
            await pilot.press(*typed)
            await pilot.pause()
            styles = [segment.style for segment in field.render_line(0) if segment.style is not None]
            assert sum(bool(style.reverse) for style in styles) == 1
            assert not any(style.dim for style in styles)
