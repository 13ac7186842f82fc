"""Searching all sessions from the screen: typed, ranked, marked, and gone to wherever the hit is."""

from __future__ import annotations

import os

import pytest

from agent_core.config.paths import find_places
from agent_core.errors import StoreError
from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.search_filters import read
from agent_core.store.search import Found
from nanoherm_tui.overlays.search import SearchScreen
from nanoherm_tui.overlays.search_fields import folder_words, shifted
from nanoherm_tui.overlays.search_hits import Answer, Hit, in_sessions, in_view, lines_around
from nanoherm_tui.text import width
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.overlay_app import OverlayApp, rows
from tests.tui.test_app import Stage

LONG_RESULT = "\n".join(f"line {n}" for n in range(400)) + "\nthe needle lies deep\n" + "tail\n" * 50


def fill(host):
    """Two stored sessions; gives their ids."""
    first = host.store.create(str(host.places.workspace), title="修复时区").id
    for number in range(50):
        host.store.append(first, user(f"question {number}"))
        text = "这里丢掉了时区偏移 in parse_date" if number == 7 else f"answer {number} " + "words " * 60
        thought = "pondering the marmalade" if number == 9 else ""
        host.store.append(first, Message("assistant", text, reasoning=thought))
    second = host.store.create(str(host.places.workspace), title="Other").id
    host.store.append(second, user("run it"))
    host.store.append(
        second,
        Message("assistant", "", tool_calls=(ToolCall("c1", "run_command", {"command": "make", "why": "a quagga"}),)),
    )
    host.store.append(second, tool(ToolResult("c1", "run_command", LONG_RESULT, outcome="exit 0")))
    return first, second


@pytest.fixture(autouse=True)
def words_are_known(tmp_path, dictionary):
    """The home of every test has the dictionary's cache."""
    places = find_places(tmp_path, {"HOME": str(tmp_path / "home")})
    places.jieba_dir.mkdir(parents=True)
    for file in dictionary.iterdir():
        os.link(file, places.jieba_dir / file.name)


async def opened(stage):
    """The search, opened with its key in the list of sessions."""
    stage.app.sessions_pane.focus()
    await stage.pilot.press("slash")
    await stage.until(lambda: isinstance(stage.app.screen, SearchScreen))
    return stage.app.screen


async def found(stage, screen, query, count):
    await stage.pilot.press(*query)
    await stage.until(lambda: screen.answer is not None and screen.answer.query == query
                      and len(screen.answer.hits) == count and not screen.answer.left)  # fmt: skip
    return screen.answer.hits


def shown(screen):
    return "\n".join(strip.text.rstrip() for strip in screen._list.rows(screen._list.size.width))


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_a_hit_far_up_in_another_session_is_found_marked_and_gone_to(tmp_path, size):
    async with Stage(tmp_path, [Reply(text="x")], size=size) as stage:
        first, _ = fill(stage.host)
        screen = await opened(stage)
        hits = await found(stage, screen, "时区", 2)
        assert sorted(hit.speaker for hit in hits) == ["assistant", "title"]
        rows = shown(screen).splitlines()
        assert rows[0].strip().startswith("修复时区  work")
        assert "answer" in rows[1]
        assert "丢掉了时区偏移" in rows[1]
        assert rows[1].startswith("▐")
        assert "title" in rows[2]
        assert all(width(row) <= screen._list.size.width for row in rows)
        await stage.pilot.press("down", "up", "enter")
        app = stage.app
        await stage.until(lambda: app.view.id == first and "时区偏移" in stage.transcript())
        assert app.transcript.has_focus
        assert "answer 49" not in stage.transcript()
        line = next(line for line in app.transcript.lines if "时区偏移" in line.row.text)
        find = app.transcript._page.find
        assert find.is_at(line)
        start, end = find.spans(line)[0]
        assert line.row.text[start:end] == "时区"
        # n and Esc work as in any find.
        await stage.pilot.press("escape")
        assert find.query == ""


async def test_a_hit_is_gone_to_once_the_transcript_has_a_size(tmp_path):
    """On a busy machine the history is there before the layout that makes room for it."""
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        first, _ = fill(stage.host)
        app = stage.app
        app.transcript.styles.width = 0
        screen = await opened(stage)
        await found(stage, screen, "丢掉", 1)
        await stage.pilot.press("enter")
        await stage.until(lambda: app.view.id == first and app.view.loaded and app.transcript.display)
        await stage.pilot.pause()
        assert not app.transcript.is_placed
        app.transcript.styles.width = "1fr"
        await stage.until(lambda: "丢掉了时区偏移" in stage.transcript())
        assert not app._hint


async def test_a_folded_thought_unfolds_for_its_hit_and_a_deep_result_opens_in_the_dock(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        first, _ = fill(stage.host)
        screen = await opened(stage)
        await found(stage, screen, "marmalade", 1)
        await stage.pilot.press("enter")
        await stage.until(lambda: "pondering the marmalade" in stage.transcript())
        screen = await opened(stage)
        (hit,) = await found(stage, screen, "needle deep", 1)
        assert (hit.speaker, hit.call) == ("run_command", "c1")
        await stage.pilot.press("enter")
        await stage.until(lambda: "run_command" in stage.transcript() and stage.app.dock.display)
        await stage.until(lambda: stage.app.dock._find is not None and stage.app.dock._find.total == 1)
        # What the tool was asked is no part of its result: nothing is said not to be there.
        screen = await opened(stage)
        (hit,) = await found(stage, screen, "quagga", 1)
        assert hit.call == "c1"
        await stage.pilot.press("enter")
        await stage.until(lambda: "what run_command was asked" in stage.app._hint)
        assert stage.app.dock._find is None
        # Enter right behind the words waits for the answer.
        stage.app.composer.focus()
        await stage.type("/search 时区偏移")
        await stage.until(lambda: isinstance(stage.app.screen, SearchScreen))
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.app.view.id == first and "时区偏移" in stage.transcript())


@pytest.mark.parametrize(
    ("size", "counted"),
    [
        ((80, 24), {"时区": (2, "2 hits in 1 session,"), "丢掉": (1, "1 hit,")}),
        ((40, 10), {"parse_date": (1, "1"), "时区": (2, "2")}),
    ],
)
async def test_how_many_were_found_stands_beside_what_is_typed_and_leaves_it_its_room(tmp_path, size, counted):
    async with Stage(tmp_path, [Reply(text="x")], size=size) as stage:
        fill(stage.host)
        await stage.type("/search")
        await stage.until(lambda: isinstance(stage.app.screen, SearchScreen))
        screen = stage.app.screen
        for query, (count, told) in counted.items():
            screen._field.text = ""
            await found(stage, screen, query, count)
            await stage.pilot.pause()
            line = next(row for row in rows(stage.app) if query in row)
            assert told in line.split(query)[1]
            assert (told == line.split(query)[1].split()[0]) == (size[0] < 50)


async def test_fields_narrow_the_search_down_and_say_what_the_words_of_the_query_say(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        other = tmp_path / "other"
        other.mkdir()
        stage.host.store.append(stage.host.store.create(str(other)).id, user("above\nonly elsewhere\nbelow"))
        screen = await opened(stage)
        await found(stage, screen, "elsewhere", 1)
        assert [line.strip() for line in around(screen).splitlines()[1:4]] == ["above", "only elsewhere", "below"]
        await stage.pilot.press("tab", "right")
        await stage.until(lambda: "No hits for elsewhere there." in shown(screen))
        assert not screen._foot.has_hits
        assert screen._field.text == "elsewhere in:here"
        assert "in this folder" in fields(screen)
        await stage.until(lambda: bool(screen._folders))
        await stage.pilot.press("right")
        await stage.until(lambda: "only elsewhere" in shown(screen))
        assert screen._field.text in ("elsewhere in:other", "elsewhere in:work")
        if screen._field.text == "elsewhere in:work":
            await stage.pilot.press("right")
        await stage.until(lambda: "only elsewhere" in shown(screen) and screen._field.text == "elsewhere in:other")
        # Tab goes on through them all and back to the words; what is typed on a field is a word of the query.
        await stage.pilot.press("tab", "right", "tab", "tab", "right", "tab")
        assert screen._field.text == "elsewhere in:other since:today by:user"
        assert screen._field.has_focus
        await stage.pilot.press("shift+tab", "backspace", "!")
        assert screen._field.text == "elsewhere in:other since:today!"
        assert "since:today! ?" in fields(screen)
        before = stage.app.view.id
        await stage.pilot.press("escape")
        await stage.until(lambda: not isinstance(stage.app.screen, SearchScreen))
        assert stage.app.view.id == before


@pytest.mark.parametrize(
    ("size", "named", "shown"),
    [((79, 24), True, 2), ((200, 60), True, 1), ((40, 30), True, 3), ((40, 10), False, 1)],
)
async def test_fields_keep_their_names_in_more_rows_and_lose_them_only_on_a_short_screen(size, named, shown):
    app = OverlayApp()
    async with app.run_test(size=size) as pilot:
        screen = SearchScreen()
        app.push_screen(screen)
        await pilot.pause()
        screen._fields.show(read("parse in:here since:30d by:model before:2026-"))
        await pilot.pause()
        assert len(screen._fields.rows(screen._fields.size.width)) == screen._fields.size.height == shown
        words = all_fields(screen)
        assert ("in this folder when 30 days model any by the model" in words) is named
        assert "before:2026- ?" in words
        screen._fields.show(read("parse since:2026-0"))
        said = all_fields(screen)
        assert said.endswith("since:2026-0 ?")  # none of it is cut
        assert "⋯" not in said
        screen._fields.focus()
        await pilot.pause()
        said = all_fields(screen)
        assert said.endswith("?")
        assert "⋯" not in said


def all_fields(screen):
    rows = screen._fields.rows(screen._fields.size.width)
    return " ".join(" ".join(strip.text for strip in rows).split())


def fields(screen):
    return screen._fields.rows(screen._fields.size.width)[0].text


def around(screen):
    return "\n".join(strip.text.rstrip() for strip in screen._around.rows(screen._around.size.width))


async def test_how_many_more_there_are_is_told_and_chinese_text_of_an_input_method_is_typed_as_it_comes(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        fill(stage.host)
        screen = await opened(stage)
        screen._field.type_in("时区")
        await stage.until(lambda: screen.answer is not None and screen.answer.query == "时区" and screen.answer.hits)
        screen._field.text = ""
        await found(stage, screen, "question", 50)
        session = stage.host.store.create("/elsewhere").id
        for number in range(3):
            stage.host.store.append(session, user(f"question of another kind {number}"))
        screen._field.type_in(" ")
        await stage.until(lambda: screen.answer.query == "question " and screen.answer.total == 53)
        assert screen._count.words.startswith("50 of 53 hits, ")


@each_row(
    ("text", "name", "step", "after"),
    [
        ("x", "when", 1, "x since:today"),
        ("x since:30d", "when", -1, "x since:7d"),
        ("x since:2026-01-01 before:2026-02-01", "when", 1, "x"),
        ("x", "in", 1, "x in:here"),
        ("x", "in", -1, "x in:/c/app"),
        ("x in:elsewhere", "in", 1, "x"),
        ("x", "model", -1, "x model:qwen"),
        ("x by:tool", "by", 1, "x"),
    ],
)
def test_a_field_goes_round_its_choices(text, name, step, after):
    assert shifted(text, read(text), name, step, ("lib", "/c/app"), ("gpt", "qwen")) == after


def test_a_span_is_put_there_to_be_typed_over():
    text = shifted("x since:30d", read("x since:30d"), "when", 1, (), ())
    asked = read(text)
    assert [key for key, _ in asked.typed] == ["since", "before"]
    assert 30 <= round((asked.filters.before - asked.filters.since) / 86_400) <= 31
    assert not asked.unread


def test_a_folder_is_named_by_its_path_where_its_name_says_too_little():
    assert folder_words(("/a/lib", "/b/app", "/c/app-old", "/d/here", "/")) == (
        "lib",
        "/b/app",
        "app-old",
        "/d/here",
        "/",
    )


def test_the_lines_around_a_hit_keep_it_in_view():
    hit = Hit("s", "", "/w", "m", "", "user", 0.0, "", (), "",
              around="\n\none\ntwo\nthe hit\nfour\n\n", around_marks=((14, 17),))  # fmt: skip
    assert [text for text, _ in lines_around(hit, 3, 40)] == ["two", "the hit", "four"]
    assert [text for text, _ in lines_around(hit, 9, 40)] == ["one", "two", "the hit", "four"]
    ((text, ((start, end),)),) = lines_around(hit, 1, 40)
    assert text[start:end] == "hit"


async def test_what_cannot_be_searched_says_why_and_a_growing_index_is_asked_again(tmp_path, monkeypatch):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        fill(stage.host)
        search = stage.host.searching
        real, calls = search.find, []

        def find(query, **options):
            calls.append(query)
            if query.startswith("behind"):
                return Found(real("时区", wait=20.0).hits if query == "behind" else (), 0, True)
            if query == "broken":
                raise StoreError("search_missing", "This Python cannot search.")
            return Found((), 1234) if len(calls) < 3 else real(query, wait=20.0)

        monkeypatch.setattr(search, "find", find)
        await stage.type("/search 时区偏移")
        await stage.until(lambda: isinstance(stage.app.screen, SearchScreen))
        screen = stage.app.screen
        await stage.until(lambda: "丢掉了时区偏移" in shown(screen))
        assert len(calls) >= 3
        screen._field.text = "broken"
        await stage.until(lambda: "This Python cannot search." in shown(screen))
        screen._field.text = "behind"
        await stage.until(lambda: "the newest may lack" in screen._count.words)
        screen._field.text = "behind and empty"
        await stage.until(lambda: "could not be brought up to date" in shown(screen))


async def test_a_message_that_is_gone_meanwhile_is_told(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        first, _ = fill(stage.host)
        screen = await opened(stage)
        await found(stage, screen, "时区偏移", 1)
        stage.host.store.reset(first)
        stage.host.store.append(first, user("begun anew"))
        await stage.pilot.press("enter")
        await stage.until(lambda: "begun anew" in stage.transcript())
        await stage.until(lambda: "not in the conversation any more" in stage.app._hint)


def test_a_late_answer_to_an_older_query_is_passed_over():
    screen = SearchScreen()
    screen._asked = "new"
    screen.show(Answer("old", "old", (), 5))
    assert screen.answer is None


@pytest.mark.parametrize(
    ("snippet", "marks", "room", "text"),
    [
        ("the hit", ((4, 7),), 40, "the hit"),
        ("a very long way to the hit and on", ((23, 26),), 24, "⋯ to the hit and on"),
        ("\u22ef中文字符在前面很多很多然后命中了", ((12, 14),), 18, "⋯多很多然后命中了"),
        ("no marks at all", (), 4, "no marks at all"),
    ],
)
def test_the_first_hit_of_a_passage_is_in_view(snippet, marks, room, text):
    shown_text, ranges = in_view(snippet, marks, room)
    assert shown_text == text
    if marks:
        (start, end), *_ = ranges
        assert shown_text[start:end] == snippet[slice(*marks[0])]
        assert width(shown_text[:end]) <= room


def test_sessions_stand_in_the_order_of_their_best_hits(tmp_path):
    hits = [Hit(id_, "", "/w", str(n), "", "user", 0.0, "", (), "") for n, id_ in enumerate("babca")]
    assert [[hit.message for hit in group] for group in in_sessions(hits)] == [["0", "2"], ["1", "4"], ["3"]]
